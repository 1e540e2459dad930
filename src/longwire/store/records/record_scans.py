"""Reads many records in bounded steps, each by the key of its table."""

from collections.abc import Collection, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.records import KIND_NAMES
from longwire.store import slots
from longwire.store.archive import archive_reads
from longwire.store.archive.archive_reads import ArchivedRange, NeedsArchive, RecordKey
from longwire.store.database import Tx
from longwire.store.records.records import for_each_kind
from longwire.store.statement import ByEngine, Sql, Statement

# A larger body is read on its own, so that a step of a thousand records stays small.
LARGE_CHARACTERS = 16_384

LIST_STAY = for_each_kind(
    """
select ts, digest, seq,
    case when length(body) <= {large} then body end
from {table}
where device_number = :device
    and stay = :stay
    {slot}
    and ts >= :ts
    and ts < :end
    and (ts > :ts or digest > :digest)
order by ts, digest
limit :most
""",
    large=str(LARGE_CHARACTERS),
)

GET_BODY = for_each_kind(
    """
select body
from {table}
where device_number = :device
    and stay = :stay
    {slot}
    and ts = :ts
    and digest = :digest
""",
    into=str,
)

# The first arrival among the next records of a stay.
FIND_FIRST_ARRIVAL = for_each_kind(
    """
select min(seq)
from (
    select seq
    from {table}
    where device_number = :device
        and stay = :stay
        {slot}
        and ts >= :begin
        and ts < :end
    order by ts, digest
    limit :most
) next_records
"""
)

# How far the next arrivals of a group reach, whatever their kinds.
FIND_WINDOW = Statement("""
select max(seq)
from (
    select seq
    from arrival
    where group_id = :home
        and seq > :after
        and seq < :until
    order by seq
    limit :most
) w
""")

# The stay is gone when the records of it were erased, and they are hidden until they are deleted.
# Each arrival leads to one record by its key. SQLite joins in this order because of the cross
# joins; with `a.ts` as it is, without the plus, it would read all of a stay that has not expired,
# for each of them. PostgreSQL might read a whole table for a few rows if it knows little of it.
_ARRIVED = """
select a.seq, case when length(r.body) <= :large then r.body end
from arrival a
cross join device_stay s
cross join {record} r
where a.group_id = :home
    and a.seq > :after
    and a.seq <= :last
    and a.kind = :kind
    and +a.ts >= :oldest
    and +a.ts < :newest
    and s.device_number = a.device_number
    and s.stay = a.stay
    {slot:s=a}
    {is_its_record}
order by a.seq
"""
_IS_ITS_RECORD = """and r.device_number = a.device_number
    and r.stay = a.stay
    {slot:r=a}
    and r.ts = a.ts
    and r.seq = a.seq"""
_ITS_RECORD = """lateral (
    select r.body
    from {table} r
    where true
        {is_its_record}
    limit 1
)"""
LIST_ARRIVED = {
    kind: Statement(
        _ARRIVED,
        record=ByEngine(
            sqlite=table, postgres=Sql(_ITS_RECORD, table=table, is_its_record=_IS_ITS_RECORD)
        ),
        is_its_record=ByEngine(sqlite=_IS_ITS_RECORD),
    )
    for kind, table in ((kind, f"record_{kind}") for kind in KIND_NAMES)
}
# The same without the records.
LIST_ARRIVED_KEYS = Statement("""
select a.device_number, a.stay, a.ts, a.seq
from arrival a
cross join device_stay s
where a.group_id = :home
    and a.seq > :after
    and a.seq <= :last
    and a.kind = :kind
    and +a.ts >= :oldest
    and +a.ts < :newest
    and s.device_number = a.device_number
    and s.stay = a.stay
    {slot:s=a}
""")

# Where a record is, by its arrival.
FIND_ARRIVAL = Statement("""
select device_number, kind, stay, ts
from arrival
where group_id = :home
    and seq = :seq
""")

FIND_DIGEST = for_each_kind(
    """
select digest
from {table}
where device_number = :device
    and stay = :stay
    {slot}
    and ts = :ts
    and seq = :seq
""",
    into=bytes,
)


class StayCursor(msgspec.Struct, frozen=True):
    """Where to continue in a stay: behind the record of this key, which need not exist."""

    ts: Moment
    digest: bytes = b""


# Timestamp, digest, seq and JSON of a record as it is stored; the JSON is empty if it was deleted
# meanwhile.
ScannedRecord = tuple[Moment, bytes, int, str]


class StayScan(msgspec.Struct, frozen=True):
    """Some records of a stay in the order of their key, and where to continue."""

    items: list[ScannedRecord]
    has_large: bool
    cursor: StayCursor | None  # None at the end


def scan_stay(
    tx: Tx, kind: str, device_number: int, stay: int, cursor: StayCursor, end: Moment, most: int
) -> StayScan | NeedsArchive[StayScan]:
    """The next records of a stay before a moment; fewer when one of them is large."""
    scan = scan_table(tx, kind, device_number, stay, cursor, end, most)
    after = (cursor.ts, cursor.digest)
    query = archive_reads.plan_range(
        tx, kind, device_number, [stay], cursor.ts, end, most, after=after
    )
    return scan if query is None else NeedsArchive(query, partial(_merge_scans, scan))


def _merge_scans(scan: StayScan, tx: Tx, archived: ArchivedRange) -> StayScan:
    """As far as both reach; of a record that is in both, the one that arrived first."""
    merged = {(ts, digest): (ts, digest, seq, body) for ts, digest, seq, body in scan.items}
    stored = {(ts, seq) for ts, _, seq, body in scan.items if body}
    for each in archived.records:
        if (each.ts, each.seq) in stored:
            continue  # decoded again, it may be another one than in its file
        known = merged.get((each.ts, each.digest))
        if known is None or not known[3] or each.seq < known[2]:
            merged[each.ts, each.digest] = (each.ts, each.digest, each.seq, each.body)
    ends = [] if scan.cursor is None else [scan.cursor]
    if not archived.is_complete:
        ends.append(StayCursor(archived.last_ts, archive_reads.DIGEST_AFTER_ALL))
    end = min(ends, key=lambda cursor: (cursor.ts, cursor.digest), default=None)
    items = [merged[key] for key in sorted(merged) if end is None or key <= (end.ts, end.digest)]
    is_large = sum(len(body) for *_, body in items) > len(items) * LARGE_CHARACTERS
    return StayScan(items, scan.has_large or is_large, end)


def scan_table(
    tx: Tx, kind: str, device_number: int, stay: int, cursor: StayCursor, end: Moment, most: int
) -> StayScan:
    """The same without what is in the archive."""
    key = slots.key_of(tx, device_number)
    where = {"ts": cursor.ts, "digest": cursor.digest}
    rows = tx.fetch(LIST_STAY[kind], **key, **where, stay=stay, end=end, most=most)
    for index, (ts, digest, seq, body) in enumerate(rows):
        if body is None:
            found = tx.first(GET_BODY[kind], **key, stay=stay, ts=ts, digest=digest)
            large = (ts, digest, seq, found or "")
            return StayScan([*rows[:index], large], True, StayCursor(ts, digest))
    last = StayCursor(rows[-1][0], rows[-1][1]) if len(rows) == most else None
    return StayScan(rows, False, last)


def find_first_arrival(
    tx: Tx, kind: str, device_number: int, stay: int, begin: Moment, end: Moment, most: int
) -> int | None:
    """The first arrival among the next records of a stay, without what is in the archive."""
    key = slots.key_of(tx, device_number)
    values = {"stay": stay, "begin": begin, "end": end, "most": most}
    found: int | None = tx.fetch(FIND_FIRST_ARRIVAL[kind], **key, **values)[0][0]
    return found


class ArrivalScan(msgspec.Struct, frozen=True):
    """(seq, body) of some records of a group in order of arrival, and how far they reach."""

    rows: list[tuple[int, str]]
    has_large: bool
    last_seq: int | None  # None at the end


def scan_arrivals(
    tx: Tx,
    group_number: int,
    kind: str,
    after_seq: int,
    until_seq: int,
    timestamps: tuple[Moment, Moment],
    most: int,
) -> ArrivalScan | NeedsArchive[ArrivalScan]:
    """The records of a kind among the next arrivals of a group; fewer when one is large.

    Those whose timestamps are in a period.
    """
    values: dict[str, Any] = {"home": group_number, "after": after_seq}
    last = tx.fetch(FIND_WINDOW, **values, until=until_seq, most=most)[0][0]
    if last is None:
        return ArrivalScan([], False, None)
    oldest, newest = timestamps
    values |= {"kind": KIND_NAMES.index(kind), "oldest": oldest, "newest": newest, "last": last}
    rows = tx.fetch(LIST_ARRIVED[kind], **values, large=LARGE_CHARACTERS)
    for index, (seq, body) in enumerate(rows):
        if body is None:
            alone = {**values, "after": seq - 1, "last": seq, "large": 2**31 - 1}
            found = tx.fetch(LIST_ARRIVED[kind], **alone)
            rows, last = rows[:index] + found, seq
            return _add_archived(tx, kind, {**values, "last": last}, ArrivalScan(rows, True, last))
    return _add_archived(tx, kind, values, ArrivalScan(rows, False, last))


def _add_archived(
    tx: Tx, kind: str, values: dict[str, Any], scan: ArrivalScan
) -> ArrivalScan | NeedsArchive[ArrivalScan]:
    """With those of the arrivals whose records are in the archive; it may end earlier."""
    if tx.context.archive is None:
        return scan
    known = {seq for seq, _ in scan.rows}
    listed = tx.fetch(LIST_ARRIVED_KEYS, **values)
    missing = ((kind, *key) for key in listed if key[3] not in known)
    plan = archive_reads.plan_points(tx, sorted(missing, key=itemgetter(4)))
    if plan is None:
        return scan
    rows, last = scan.rows, scan.last_seq
    if plan.cut_at is not None:
        last = plan.cut_at
        rows = [row for row in rows if row[0] <= last]
    has_large = scan.has_large or plan.cut_at is not None

    def finish(tx: Tx, archived: ArchivedRange) -> ArrivalScan:
        found = ((each.seq, each.body) for each in archived.records)
        return ArrivalScan(sorted([*rows, *found]), has_large, last)

    return NeedsArchive(plan.query, finish)


def find_stay_cursor(
    tx: Tx, kind: str, device_number: int, group_numbers: Collection[int], seq: int
) -> tuple[int, StayCursor] | NeedsArchive[tuple[int, StayCursor]] | None:
    """The stay and the key of a record that arrived for a device in one of some groups."""
    for group_number in group_numbers:
        arrivals = tx.fetch(FIND_ARRIVAL, home=group_number, seq=seq)
        for number, kind_number, stay, ts in arrivals:
            if (number, KIND_NAMES[kind_number]) == (device_number, kind):
                return _find_cursor(tx, (kind, number, stay, ts, seq))
    return None


def _find_cursor(
    tx: Tx, key: RecordKey
) -> tuple[int, StayCursor] | NeedsArchive[tuple[int, StayCursor]]:
    """The key of a record in the tables or in the archive."""
    kind, number, stay, ts, seq = key

    def build(digests: Sequence[bytes]) -> tuple[int, StayCursor]:
        # Without the record, the others of its instant come again.
        return stay, StayCursor(ts, digests[0] if digests else b"")

    stored = tx.fetch(FIND_DIGEST[kind], **slots.key_of(tx, number), stay=stay, ts=ts, seq=seq)
    plan = None
    if not stored and archive_reads.stay_exists(tx, number, stay):
        plan = archive_reads.plan_points(tx, [key])
    if plan is None:
        return build(stored)
    return NeedsArchive(plan.query, lambda _, found: build([each.digest for each in found.records]))
