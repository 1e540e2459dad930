"""Walks through all records of a month in the tables, and deletes those that were archived.

By stay, because the key of a record begins with its device and stay: no index by time is needed.
"""

from collections.abc import Sequence
from typing import Any

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.store import slots
from longwire.store.database import Tx
from longwire.store.identity import group_storage
from longwire.store.records.record_scans import ScannedRecord, StayCursor, scan_table
from longwire.store.records.records import for_each_kind

STAYS_PER_STEP = 200

# The oldest record of each of some stays, from a moment on.
FIND_OLDEST = for_each_kind("""
select s.device_number, s.stay, (
    select r.ts
    from {table} r
    where r.device_number = s.device_number
        and r.stay = s.stay
        {slot:r}
        and r.ts >= :begin
        and r.ts < :end_ts
    order by r.ts
    limit 1
)
from (
    select *
    from device_stay
    where (device_number, stay) > (:device, :stay)
        {slot}
    order by device_number, stay
    limit :most
) s
order by s.device_number, s.stay
""")

# Only if it is as it was when it was archived: what was changed meanwhile stays, and is shown.
DELETE_ROW = for_each_kind("""
delete from {table}
where device_number = :device
    and stay = :stay
    {slot}
    and ts = :ts
    and digest = {sqlite::digest}{postgres:decode(:digest, 'hex')}
    and seq = :seq
    and body = :body
returning device_number, stay, length(body)
""")


@dataclass(frozen=True, slots=True)
class WalkPosition:
    """Where a walk through all stays is: behind a stay, or in it behind a record."""

    device: int = 0
    stay: int = -1
    cursor: StayCursor | None = None


FIRST_POSITION = WalkPosition()
# Device, stay, and the record as it is stored.
WalkedRecord = tuple[int, int, Moment, bytes, int, str]


@dataclass(frozen=True, slots=True)
class WalkStep:
    records: list[WalkedRecord]
    position: WalkPosition | None  # None at the end


def find_oldest(
    tx: Tx, kind: str, period: tuple[Moment, Moment], position: WalkPosition
) -> tuple[Moment | None, WalkPosition | None]:
    """The oldest timestamp in a period of the next stays, and where to continue."""
    rows, has_more = _list_stays(tx, kind, period, position)
    found = [ts for _, _, ts in rows if ts is not None]
    following = WalkPosition(*rows[-1][:2]) if has_more else None
    return min(found, default=None), following


def walk(
    tx: Tx,
    kind: str,
    period: tuple[Moment, Moment],
    position: WalkPosition,
    most: int,
    before_seq: int,
) -> WalkStep:
    """The next records of a period, by device, stay, timestamp and digest; about `most`.

    Without those that arrived later than others, with this number or a higher one.
    """
    found: list[WalkedRecord] = []
    if position.cursor is not None:
        scan = scan_table(
            tx, kind, position.device, position.stay, position.cursor, period[1], most
        )
        found += _with_stay(position.device, position.stay, scan.items, before_seq)
        following = WalkPosition(position.device, position.stay, scan.cursor)
        return WalkStep(found, following)
    rows, has_more = _list_stays(tx, kind, period, position)
    for device, stay, ts in rows:
        position = WalkPosition(device, stay)
        if ts is None:
            continue
        scan = scan_table(tx, kind, device, stay, StayCursor(ts), period[1], most)
        found += _with_stay(device, stay, scan.items, before_seq)
        if scan.cursor is not None:
            return WalkStep(found, WalkPosition(device, stay, scan.cursor))
        if len(found) >= most or scan.has_large:
            return WalkStep(found, position)
    return WalkStep(found, position if has_more else None)


def _list_stays(
    tx: Tx, kind: str, period: tuple[Moment, Moment], position: WalkPosition
) -> tuple[list[tuple[Any, ...]], bool]:
    """The next stays of all slots, in order, and whether there may be more."""
    # A slot has its part of the next ones, and sometimes more.
    most = STAYS_PER_STEP if tx.slots == 1 else 1 + 2 * STAYS_PER_STEP // tx.slots
    values = {
        "device": position.device,
        "stay": position.stay,
        "begin": period[0],
        "end_ts": period[1],
        "most": most,
    }
    by_slot = [tx.fetch(FIND_OLDEST[kind], **values, slot=slot) for slot in range(tx.slots)]
    # Behind the last one of a slot that has more, not all are known.
    ends = [rows[-1][:2] for rows in by_slot if len(rows) == most]
    found = sorted(row for rows in by_slot for row in rows if not ends or row[:2] <= min(ends))
    return found, bool(ends)


def _with_stay(
    device: int, stay: int, items: Sequence[ScannedRecord], before_seq: int
) -> list[WalkedRecord]:
    return [(device, stay, *item) for item in items if item[3] and item[2] < before_seq]


def delete_moved(tx: Tx, kind: str, rows: Sequence[WalkedRecord]) -> int:
    """Delete records that are in a published file, unless they were changed; how many."""
    names = ("device", "stay", "ts", "digest", "seq", "body")
    gone: list[tuple[Any, ...]] = []
    for row in rows:
        values: dict[str, Any] = dict(zip(names, row, strict=True)) | slots.key_of(tx, row[0])
        if tx.is_postgres:
            values["digest"] = row[3].hex()
        tx.queue(DELETE_ROW[kind], gone.extend, **values)
    if tx.statements is not None:
        tx.statements.run()
    sizes: dict[tuple[int, int], list[int]] = {}
    for device, stay, size in gone:
        sizes.setdefault((device, stay), []).append(size)
    for (device, stay), some in sorted(sizes.items()):
        group_storage.add_for_stay(tx, device, stay, -len(some), -sum(some))
    return len(gone)
