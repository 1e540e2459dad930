"""Searches among the deliveries of several channels, by the time of their last change.

Only the changes of one channel have an index, so each channel is read on its own and the results
are merged. A page reads no more than a certain number of entries of each, however few match.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from longwire.clock import Moment
from longwire.model import Page, PageRequest
from longwire.store.database import Tx
from longwire.store.delivery.deliveries import MAKE_MANY_DUE, RESEND_MANY
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

_EVENT = ", ".join(EVENT_COLUMNS)

LIST_BY_SEQ = Statement(f"""
select {_EVENT}
from delivery
where channel_number = :channel
    and seq > :after
    and seq < :until
order by seq
limit :most
""")

# Texts, and the values that each of them is about.
_Conditions = dict[str, Mapping[str, Any]]
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


@cache
def _list_changed(columns: str, sign: int, *conditions: str) -> Statement[Any]:
    """What changed in a period and fulfils more conditions, in the order of a page."""
    direction = "asc" if sign > 0 else "desc"
    return Statement(f"""
select {columns}
from delivery
where channel_number = :channel
    and changed_at >= :begin
    and changed_at < :until
    {" ".join(f"and {each}" for each in conditions)}
order by changed_at {direction}, seq {direction}
limit :most
offset :skipped
""")


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
        bounds = self._find_bounds(number)
        boundary = self._find_boundary(tx, bounds)
        if boundary is not None:
            bounds = self._find_bounds(number, boundary)
        limit = self.request.limit + 1
        chosen = {**bounds, **self._selection()}
        rows = self._fetch(tx, _EVENT, chosen, most=limit)
        found = [to_event(row) for row in rows]
        events = [(self._key(number, each.changed_at, each.seq), each) for each in found]
        if len(events) == limit:
            return events, events[-1][0]
        return events, None if boundary is None else self._key(number, *boundary)

    def _find_boundary(self, tx: Tx, bounds: _Conditions) -> tuple[Moment, int] | None:
        """The last entry that may be read, if there are more of them."""
        if not self.wanted.selects:
            return None
        skipped = self.scanned_max - 1
        rows = self._fetch(tx, "changed_at, seq", bounds, most=1, skipped=skipped)
        return rows[0] if rows else None

    def _fetch(
        self, tx: Tx, columns: str, conditions: _Conditions, *, most: int, skipped: int = 0
    ) -> list[Any]:
        statement = _list_changed(columns, self.sign, *filter(None, conditions))
        values = {name: each for some in conditions.values() for name, each in some.items()}
        return tx.fetch(statement, **values, most=most, skipped=skipped)

    def _find_bounds(self, number: int, boundary: tuple[Moment, int] | None = None) -> _Conditions:
        """One range of the index: SQLite would use either of two bounds on the same side."""
        begin, end, after = self.wanted.begin, self.wanted.end, self.request.after
        bounds: _Conditions = {}
        if after is not None:
            changed_at, seq, last_number = (int(each) for each in after)
            # Several channels may have the same arrival, changed in one transaction.
            is_behind = (number - last_number) * self.sign > 0
            sign = (">" if self.sign > 0 else "<") + ("=" if is_behind else "")
            place = {"after_at": changed_at, "after_seq": seq}
            bounds[f"(changed_at, seq) {sign} (:after_at, :after_seq)"] = place
            if self.sign > 0:
                begin = max(begin, changed_at)
            else:
                end = min(end, changed_at + 1)
        if boundary is not None:
            sign = "<=" if self.sign > 0 else ">="
            place = {"last_at": boundary[0], "last_seq": boundary[1]}
            bounds[f"(changed_at, seq) {sign} (:last_at, :last_seq)"] = place
            if self.sign > 0:
                end = min(end, boundary[0] + 1)
            else:
                begin = max(begin, boundary[0])
        return {"": {"channel": number, "begin": begin, "until": end}, **bounds}

    def _selection(self) -> _Conditions:
        wanted = self.wanted
        selection: _Conditions = {}
        if wanted.states is not None:
            selection["state {in:states}"] = {"states": [int(each) for each in wanted.states]}
        if wanted.device_id is not None:
            selection["device_id = :device"] = {"device": wanted.device_id}
        if wanted.kind is not None:
            selection["kind = :kind"] = {"kind": wanted.kind}
        return selection

    def _key(self, number: int, changed_at: Moment, seq: int) -> _Key:
        return changed_at * self.sign, seq * self.sign, number * self.sign


def list_by_seq(
    tx: Tx, number: int, after_seq: int, until_seq: int, most: int
) -> list[DeliveryEvent]:
    """The next deliveries of a channel in the order of their records."""
    values = {"channel": number, "after": after_seq, "until": until_seq, "most": most}
    return [to_event(row) for row in tx.fetch(LIST_BY_SEQ, **values)]


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
