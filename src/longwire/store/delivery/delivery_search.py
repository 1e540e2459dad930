"""Searches among the deliveries of several channels, by the time of their last change.

Only the changes of one channel have an index, so each channel is read on its own and the results
are merged. A page reads no more than a certain number of entries of each, however few match.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Page, PageRequest
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery.deliveries import CANCEL_MANY, MAKE_MANY_DUE, RESEND_MANY
from longwire.store.delivery.delivery_history import EVENT_COLUMNS, DeliveryEvent, to_event
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.statement import Statement

# Entries that one page reads, of all channels together; and of each, however many there are.
SCANNED_MAX = 10_000
SCANNED_PER_CHANNEL_MIN = 100
COUNTED_MAX = 20_000
COUNTED_PER_CHANNEL_MIN = 500

COUNT_SOME_BY_STATE = Statement("""
select state, count(*)
from (
    select state
    from delivery
    where channel_number = :channel
        and changed_at >= :begin
        and changed_at < :until
    order by changed_at
    limit :most
) counted
group by state
""")

# Not by `exists`, which PostgreSQL may turn into a join that reads all deliveries; and in the order
# of an index, or it reads them until it finds one.
LIST_ACTIVE = Statement(
    """
select c.number
from {rows:numbers c.number}
where (
        select d.seq
        from delivery d
        where d.channel_number = c.number
            {slot:d}
            and d.changed_at >= :begin
            and d.changed_at < :until
        order by d.changed_at
        limit 1
    ) is not null
""",
    into=int,
)

_table = schema.delivery

_Key = tuple[int, int, int]  # last change, seq, channel; negative when the newest come first


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries: those that last changed in a period, and more."""

    begin: Moment
    end: Moment
    states: frozenset[DeliveryState] | None = None
    device_id: str | None = None
    kind: int | None = None

    @property
    def selects(self) -> bool:
        """Whether it leaves out some of what changed in the period."""
        return not (self.states is None and self.device_id is None and self.kind is None)


@dataclass(frozen=True, slots=True)
class StateCounts:
    """How many deliveries there are in each state; at least so many if it is not complete."""

    counts: Mapping[DeliveryState, int]
    is_complete: bool


def list_active(tx: Tx, numbers: Sequence[int], begin: Moment, end: Moment) -> list[int]:
    """Those of some channels with a delivery that last changed in a period."""
    values = {"numbers": numbers, "begin": begin, "until": end}
    slots = range(tx.slots)
    return sorted({each for slot in slots for each in tx.fetch(LIST_ACTIVE, **values, slot=slot)})


def search(
    tx: Tx,
    numbers: Sequence[int],
    wanted: DeliveryFilter,
    request: PageRequest,
    *,
    ascending: bool,
) -> Page[DeliveryEvent]:
    """A page of the deliveries of some channels; it may have fewer than asked for, and a key."""
    scanned_max = max(SCANNED_PER_CHANNEL_MIN, SCANNED_MAX // max(1, len(numbers)))
    scan = _Scan(wanted, request, scanned_max, 1 if ascending else -1)
    found: list[tuple[_Key, DeliveryEvent]] = []
    horizons: list[_Key] = []
    for number in numbers:
        events, horizon = scan.read_channel(tx, number)
        found += events
        if horizon is not None:
            horizons.append(horizon)
    # Beyond the nearest horizon some channel has not been read yet.
    horizon = min(horizons, default=None)
    seen = sorted(
        (each for each in found if horizon is None or each[0] <= horizon), key=lambda each: each[0]
    )
    items = [event for _, event in seen[: request.limit]]
    if len(seen) > request.limit:
        horizon = seen[request.limit - 1][0]
    return Page(items, None if horizon is None else tuple(each * scan.sign for each in horizon))


@dataclass(frozen=True, slots=True)
class _Scan:
    """One page's way through the changes of each channel."""

    wanted: DeliveryFilter
    request: PageRequest
    scanned_max: int
    sign: int  # -1 when the newest come first

    def read_channel(
        self, tx: Tx, number: int
    ) -> tuple[list[tuple[_Key, DeliveryEvent]], _Key | None]:
        """The matching deliveries of a channel, and how far it was read; None: to its end."""
        conditions = self._conditions(number)
        boundary = self._find_boundary(tx, conditions)
        if boundary is not None:
            conditions = self._conditions(number, boundary)
        limit = self.request.limit + 1
        statement = sa.select(*EVENT_COLUMNS).where(*conditions, *self._selection())
        rows = tx.rows(statement.order_by(*self._order()).limit(limit))
        events = [(self._key(number, row.changed_at, row.seq), to_event(row)) for row in rows]
        if len(events) == limit:
            return events, events[-1][0]
        return events, None if boundary is None else self._key(number, *boundary)

    def _find_boundary(
        self, tx: Tx, conditions: Sequence[sa.ColumnElement[bool]]
    ) -> tuple[Moment, int] | None:
        """The last entry that may be read, if there are more of them."""
        if not self.wanted.selects:
            return None
        statement = sa.select(_table.c.changed_at, _table.c.seq).where(*conditions)
        statement = statement.order_by(*self._order()).limit(1).offset(self.scanned_max - 1)
        row = tx.row(statement)
        return None if row is None else (row.changed_at, row.seq)

    def _conditions(
        self, number: int, boundary: tuple[Moment, int] | None = None
    ) -> list[sa.ColumnElement[bool]]:
        """One range of the index: SQLite would use either of two bounds on the same side."""
        begin, end, after = self.wanted.begin, self.wanted.end, self.request.after
        conditions: list[sa.ColumnElement[bool]] = []
        if after is not None:
            changed_at, seq, last_number = (int(each) for each in after)
            # Several channels may have the same arrival, changed in one transaction.
            is_behind = (number - last_number) * self.sign > 0
            conditions = [self._compare((changed_at, seq), ">=" if is_behind else ">")]
            if self.sign > 0:
                begin = max(begin, changed_at)
            else:
                end = min(end, changed_at + 1)
        if boundary is not None:
            conditions.append(self._compare(boundary, "<="))
            if self.sign > 0:
                end = min(end, boundary[0] + 1)
            else:
                begin = max(begin, boundary[0])
        return [
            _table.c.channel_number == number,
            _table.c.changed_at >= begin,
            _table.c.changed_at < end,
            *conditions,
        ]

    def _compare(self, there: tuple[Moment, int], operator: str) -> sa.ColumnElement[bool]:
        """Whether an entry comes before or after another one in the order of the page."""
        here = sa.tuple_(_table.c.changed_at, _table.c.seq)
        if self.sign < 0:
            operator = operator.translate(str.maketrans("<>", "><"))
        values = [sa.literal(each, sa.BigInteger) for each in there]
        return here.op(operator, is_comparison=True)(sa.tuple_(*values))

    def _selection(self) -> list[sa.ColumnElement[bool]]:
        wanted = self.wanted
        selection: list[sa.ColumnElement[bool]] = []
        if wanted.states is not None:
            selection.append(_table.c.state.in_(sorted(wanted.states)))
        if wanted.device_id is not None:
            selection.append(_table.c.device_id == wanted.device_id)
        if wanted.kind is not None:
            selection.append(_table.c.kind == wanted.kind)
        return selection

    def _order(self) -> list[sa.UnaryExpression[Any]]:
        columns = (_table.c.changed_at, _table.c.seq)
        return [each.asc() if self.sign > 0 else each.desc() for each in columns]

    def _key(self, number: int, changed_at: Moment, seq: int) -> _Key:
        return changed_at * self.sign, seq * self.sign, number * self.sign


def list_by_seq(
    tx: Tx, number: int, after_seq: int, until_seq: int, most: int
) -> list[DeliveryEvent]:
    """The next deliveries of a channel in the order of their records."""
    statement = sa.select(*EVENT_COLUMNS).where(
        _table.c.channel_number == number, _table.c.seq > after_seq, _table.c.seq < until_seq
    )
    return [to_event(row) for row in tx.rows(statement.order_by(_table.c.seq).limit(most))]


def count_by_state(tx: Tx, numbers: Sequence[int], begin: Moment, end: Moment) -> StateCounts:
    """How many deliveries of some channels last changed in a period, counted up to a bound."""
    most = max(COUNTED_PER_CHANNEL_MIN, COUNTED_MAX // max(1, len(numbers)))
    counts: Counter[DeliveryState] = Counter()
    is_complete = True
    for number in numbers:
        values = {"channel": number, "begin": begin, "until": end, "most": most + 1}
        found = {DeliveryState(row[0]): row[1] for row in tx.fetch(COUNT_SOME_BY_STATE, **values)}
        is_complete = is_complete and sum(found.values()) <= most
        counts.update(found)
    return StateCounts(counts, is_complete)


# --- change many ---


def retry_many(tx: Tx, number: int, seqs: Sequence[int]) -> set[int]:
    """Make those due that are queued, and queue those that are kept for a resend; which."""
    values = {"channel": number, "seqs": seqs, "now": tx.now}
    return {*tx.fetch(MAKE_MANY_DUE, **values), *tx.fetch(RESEND_MANY, **values)}


def cancel_many(tx: Tx, number: int, seqs: Sequence[int], why: str) -> dict[int, int]:
    """Cancel those that are queued; the generation of each."""
    values = {"channel": number, "seqs": seqs, "now": tx.now, "why": why}
    return dict(tx.fetch(CANCEL_MANY, **values))
