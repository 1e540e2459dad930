"""Pages of a device's records, by timestamp.

A hot path, so this uses the driver directly.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.model import PageRequest
from longwire.store import slots
from longwire.store.database import Tx
from longwire.store.records.records import ALL_TIME
from longwire.store.statement import Sql, Statement

# A record can be nearly as large as a request. The size of a page of more than a hundred is checked
# first, that of others afterwards, and the page ends early rather than exhaust the memory.
ITEMS_UNCHECKED_MAX = 100
PAGE_CHARACTERS_MAX = 16 * 1024 * 1024

_PAGE = """from {table}
where device_number = :device
    and stay = :stay
    {slot}
    and ts >= :begin
    and ts < :end
    {beyond}"""
# The first half lets the key find the place, the second leaves out what was seen.
_BEYOND = """and ts {later}= :ts
    and (ts {later} :ts or seq {later} :seq)"""

_LIST_SIZES = """
select length(body)
{page}
order by {order}
limit :most
"""

_LIST_PAGE = """
select body, ts, seq
{page}
order by {order}
limit :most
"""

# SQLite takes `body` from the row that has the largest or smallest `ts`.
_JOIN_PAGE = """
select group_concat(body), group_concat(ts), group_concat(seq), body, {last}
from (
    select body, ts, seq
    {page}
    order by {order_by_key}
    limit :most
)
"""

_ASCENDING: Mapping[str, Any] = {"order": "ts, seq", "order_by_key": "ts", "last": "max(ts)"}
_DESCENDING: Mapping[str, Any] = {
    "order": "ts desc, seq desc",
    "order_by_key": "ts desc",
    "last": "min(ts)",
}


class RecordPage(msgspec.Struct, frozen=True):
    """A page of records as a JSON array without its brackets."""

    device_number: int
    text: str
    oldest: Moment | None  # of those in it and of the next one
    last_key: tuple[int, int] | None = None


def list_page(
    tx: Tx,
    kind: str,
    device_number: int,
    begins: Mapping[int, Moment],
    end: Moment | None,
    request: PageRequest,
    *,
    ascending: bool,
) -> RecordPage:
    """Bodies by timestamp, ties in order of arrival; the other way round when not ascending.

    Of some stays, from a moment of each on.
    """
    wanted = [
        _PageQuery(
            kind,
            device_number,
            stay,
            begin,
            ALL_TIME[1] if end is None else end,
            request.limit,
            request.after,
            ascending,
        )
        for stay, begin in begins.items()
    ]
    if request.limit <= ITEMS_UNCHECKED_MAX:
        unchecked = _read_page(tx, wanted, device_number, request.limit, ascending=ascending)
        if len(unchecked.text) <= PAGE_CHARACTERS_MAX:
            return unchecked
    limit = min(each.count_that_fit(tx) for each in wanted)
    wanted = [msgspec.structs.replace(each, limit=limit) for each in wanted]
    return _read_page(tx, wanted, device_number, limit, ascending=ascending)


def _read_page(
    tx: Tx, wanted: Sequence["_PageQuery"], device_number: int, limit: int, *, ascending: bool
) -> RecordPage:
    if len(wanted) == 1 and not tx.is_postgres:
        joined = _joined_page(tx, wanted[0])
        if joined is not None:
            return joined
    found = [row for each in wanted for row in each.rows(tx)]
    if len(wanted) > 1:
        found.sort(key=lambda row: (row[1], row[2]), reverse=not ascending)
    if not found:
        return RecordPage(device_number, "", None)
    text = ",".join(row[0] for row in found[:limit])
    oldest = min(found[0][1], found[-1][1])
    if len(found) <= limit:
        return RecordPage(device_number, text, oldest)
    last = found[limit - 1]
    return RecordPage(device_number, text, oldest, (last[1], last[2]))


@functools.cache
def _build_statement(
    text: str, kind: str, ascending: bool, has_predecessor: bool
) -> Statement[tuple[Any, ...]]:
    beyond = Sql(_BEYOND, later=">" if ascending else "<") if has_predecessor else ""
    page = Sql(_PAGE, table=f"record_{kind}", beyond=beyond)
    return Statement(text, page=page, **(_ASCENDING if ascending else _DESCENDING))


class _PageQuery(msgspec.Struct, frozen=True):
    """Which records of one stay, in which order, and after which."""

    kind: str
    device_number: int
    stay: int
    begin: Moment
    end: Moment
    limit: int
    after: tuple[int | str, ...] | None
    ascending: bool

    def count_that_fit(self, tx: Tx) -> int:
        """How many of the records fit into a page; at least one."""
        size = 0
        for index, (length,) in enumerate(self._fetch(tx, _LIST_SIZES)):
            size += length
            if size > PAGE_CHARACTERS_MAX:
                return max(1, index)
        return self.limit

    def rows(self, tx: Tx) -> list[tuple[Any, ...]]:
        """(body, ts, seq) of one more than wanted."""
        return self._fetch(tx, _LIST_PAGE)

    def joined(self, tx: Tx) -> tuple[str | None, str | None, str | None, str | None]:
        """The bodies, instants and seqs of one more than wanted, joined, and the last body."""
        bodies, instants, seqs, body, _ = self._fetch(tx, _JOIN_PAGE)[0]
        return bodies, instants, seqs, body

    def _fetch(self, tx: Tx, text: str) -> list[tuple[Any, ...]]:
        has_predecessor = self.after is not None
        statement = _build_statement(text, self.kind, self.ascending, has_predecessor)
        return tx.fetch(statement, **self._values(tx))

    def _values(self, tx: Tx) -> dict[str, Any]:
        values: dict[str, Any] = {
            "device": self.device_number,
            "slot": slots.get_slot_by_number(tx, self.device_number),
            "stay": self.stay,
            "begin": self.begin,
            "end": self.end,
            "most": self.limit + 1,
        }
        if self.after is not None:
            values["ts"], values["seq"] = self.after
        return values


def _joined_page(tx: Tx, wanted: _PageQuery) -> RecordPage | None:
    """A page that SQLite concatenates, when no two of its records share a timestamp; else None.

    One row is fetched instead of a hundred, each of which would release and take the interpreter
    lock: a quarter of the CPU time of a page. The order of records of one timestamp is not known
    here.
    """
    bodies, instants, seqs, last_body = wanted.joined(tx)
    if bodies is None or instants is None or seqs is None or last_body is None:
        return RecordPage(wanted.device_number, "", None)
    at = instants.split(",")
    if len(set(at)) != len(at):
        return None
    oldest = min(int(at[0]), int(at[-1]))
    if len(at) <= wanted.limit:
        return RecordPage(wanted.device_number, bodies, oldest)
    # The last one only shows that there is another page.
    key = (int(at[-2]), int(seqs.split(",")[-2]))
    return RecordPage(wanted.device_number, bodies[: -len(last_body) - 1], oldest, key)


def list_page_rows(
    tx: Tx,
    kind: str,
    device_number: int,
    begins: Mapping[int, Moment],
    period: tuple[Moment, Moment],
    request: PageRequest,
    *,
    ascending: bool,
) -> tuple[list[tuple[str, Moment, int]], int]:
    """(body, ts, seq) in no order of one more than a page has, and how many fit into it."""
    limit, after = request.limit, request.after
    first, end = period
    wanted = [
        _PageQuery(kind, device_number, stay, max(first, begin), end, limit, after, ascending)
        for stay, begin in begins.items()
    ]
    limit = min(each.count_that_fit(tx) for each in wanted)
    fitting = [msgspec.structs.replace(each, limit=limit) for each in wanted]
    return [(body, ts, seq) for each in fitting for body, ts, seq in each.rows(tx)], limit
