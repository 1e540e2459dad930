"""The manifest of the archive: which files have which records, and which of these are deleted.

A file is listed before its records are read from the tables, and counts once it is published.
Whoever deletes a record leaves a tombstone for the files that are listed then. So nothing that is
deleted while a file is written is published: see `publish`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from longwire.clock import SECOND, Moment
from longwire.records import KIND_NAMES
from longwire.store.database import Tx
from longwire.store.engines.dialects import array_param, dialect_sql, in_array

ARCHIVE_LOCK = 7_105_511_995  # any number, the same in every process


class FileState(IntEnum):
    WRITING = 0
    PUBLISHED = 1  # some of its records may be in the tables as well
    MOVED = 2
    DROPPING = 3


IS_WRITING = f"state = {FileState.WRITING:d}"
IS_READABLE = f"state in ({FileState.PUBLISHED:d}, {FileState.MOVED:d})"

# --- statements ---

WAIT_FOR_DELETIONS = "select pg_advisory_xact_lock(:lock)"
ANNOUNCE_DELETION = "select pg_advisory_xact_lock_shared(:lock)"

_COLUMNS = "id, name, kind, state, begin_ts, end_ts, first_device, last_device, records, digest"

INSERT_FILE = """
insert into archive_file
    (name, kind, state, begin_ts, end_ts, first_device, last_device, records, bytes, digest)
values (:name, :kind, :state, :begin, :end_ts, :first, :last, 0, 0, '')
returning id
"""

PUBLISH_FILE = f"""
update archive_file
set state = :state,
    first_device = :first,
    last_device = :last,
    records = :records,
    bytes = :bytes,
    digest = :digest
where id = :id
    and {IS_WRITING}
"""

SET_STATE = """
update archive_file
set state = :after
where id = :id
    and state = :before
"""

GET_STATE = """
select state
from archive_file
where id = :id
"""

DELETE_FILE = """
delete from archive_file
where id = :id
"""

LIST_FILES = f"""
select {_COLUMNS}
from archive_file
where kind = :kind
    and {IS_READABLE}
    and begin_ts < :end_ts
    and end_ts > :begin
    and first_device <= :last
    and last_device >= :first
order by begin_ts, id
"""

LIST_IN_STATE = f"""
select {_COLUMNS}
from archive_file
where state = :state
order by id
"""

LIST_EXPIRED = f"""
select {_COLUMNS}
from archive_file
where kind = :kind
    and {IS_READABLE}
    and end_ts <= :oldest
order by id
"""

SUM_MONTHS = f"""
select kind, begin_ts, count(*), sum(records), sum(bytes)
from archive_file
where {IS_READABLE}
group by kind, begin_ts
order by begin_ts, kind
"""

EXISTS_ANY = f"""
select 1
from archive_file
where {IS_READABLE}
limit 1
"""

# Of any state: also of a file that is being written.
FIND_LAST = """
select max(id)
from archive_file
where kind = :kind
    and begin_ts <= :ts
    and end_ts > :ts
"""

INSERT_TOMBSTONE = """
insert into archive_tombstone (kind, device_number, stay, ts, file_id)
values (:kind, :device, :stay, :ts, :file)
on conflict (kind, device_number, stay, ts) do update
set file_id = excluded.file_id
"""

LIST_TOMBSTONES = dialect_sql(
    """
select device_number, stay, ts, file_id
from archive_tombstone
where kind = :kind
    and device_number {listed}
    and ts >= :begin
    and ts < :end_ts
""",
    listed=in_array("devices"),
)

# Of records that a file may have.
EXISTS_TOMBSTONE = """
select 1
from archive_tombstone
where kind = :kind
    and device_number >= :first
    and device_number <= :last
    and ts >= :begin
    and ts < :end_ts
    and file_id >= :id
limit 1
"""

DELETE_TOMBSTONES = """
delete from archive_tombstone
where kind = :kind
    and ts < :oldest
"""


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    id: int
    name: str
    kind: str
    state: int
    begin: Moment
    end: Moment
    first_device: int
    last_device: int
    records: int
    digest: str  # of the file, SHA-256 in hex

    def may_have(self, kind: str, device_number: int, ts: Moment) -> bool:
        return (
            self.kind == kind
            and self.begin <= ts < self.end
            and self.first_device <= device_number <= self.last_device
        )


@dataclass(frozen=True, slots=True)
class MonthTotals:
    kind: str
    begin: Moment
    files: int
    records: int
    bytes: int


# --- months ---


def month_start(moment: Moment, offset: int = 0) -> Moment:
    """The begin of the month of a moment, or of one so many months later."""
    day = datetime.fromtimestamp(moment / SECOND, UTC)
    index = day.year * 12 + day.month - 1 + offset
    return int(datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC).timestamp()) * SECOND


def archivable_before(now: Moment) -> Moment:
    """Nothing of this moment or later is ever in the archive."""
    return month_start(now)


# --- files ---


def insert_file(tx: Tx, name: str, kind: str, begin: Moment, end: Moment) -> int:
    """List a file that is about to be written; its id. All deletions from now on know of it."""
    _wait_for_deletions(tx)
    values = {
        "name": name,
        "kind": KIND_NAMES.index(kind),
        "state": FileState.WRITING.value,
        "begin": begin,
        "end_ts": end,
        "first": 0,
        "last": -1,
    }
    return int(tx.fetch_raw(INSERT_FILE, values)[0][0])


def publish(tx: Tx, file: ArchiveFile, size: int) -> bool:
    """Have a file count; False if some of its records were deleted while it was written.

    Also if another run has abandoned it meanwhile.
    """
    _wait_for_deletions(tx)
    which = {"id": file.id, "first": file.first_device, "last": file.last_device}
    period = {"begin": file.begin, "end_ts": file.end}
    if tx.fetch_raw(EXISTS_TOMBSTONE, {"kind": KIND_NAMES.index(file.kind), **which, **period}):
        return False
    values = {
        **which,
        "state": FileState.PUBLISHED.value,
        "records": file.records,
        "bytes": size,
        "digest": file.digest,
    }
    return bool(tx.execute_raw(PUBLISH_FILE, values))


def set_state(tx: Tx, file_id: int, before: FileState, after: FileState) -> bool:
    """False if it is not in the first state any more."""
    values = {"id": file_id, "before": before.value, "after": after.value}
    return bool(tx.execute_raw(SET_STATE, values))


def is_published(tx: Tx, file_id: int) -> bool:
    found = tx.fetch_raw(GET_STATE, {"id": file_id})
    return bool(found) and found[0][0] == FileState.PUBLISHED


def delete_file(tx: Tx, file_id: int) -> None:
    """Remove a file from the list, once nothing of it is in the store."""
    tx.execute_raw(DELETE_FILE, {"id": file_id})


def list_files(
    tx: Tx, kind: str, devices: tuple[int, int], begin: Moment, end: Moment
) -> tuple[ArchiveFile, ...]:
    """Published files that may have records of these devices in a period, by month."""
    values = {
        "kind": KIND_NAMES.index(kind),
        "first": devices[0],
        "last": devices[1],
        "begin": begin,
        "end_ts": end,
    }
    return tuple(map(_file, tx.fetch_raw(LIST_FILES, values)))


def list_in_state(tx: Tx, state: FileState) -> list[ArchiveFile]:
    return [_file(row) for row in tx.fetch_raw(LIST_IN_STATE, {"state": state.value})]


def expire(tx: Tx, kind: str, oldest: Moment) -> int:
    """Have files with nothing but what has expired dropped; how many."""
    # Of whole months: the file of the month that is expiring needs its tombstones.
    values = {"kind": KIND_NAMES.index(kind), "oldest": month_start(oldest)}
    files = [_file(row) for row in tx.fetch_raw(LIST_EXPIRED, values)]
    for file in files:
        set_state(tx, file.id, FileState(file.state), FileState.DROPPING)
    if files:
        tx.execute_raw(DELETE_TOMBSTONES, values)
    return len(files)


def sum_months(tx: Tx) -> list[MonthTotals]:
    return [
        MonthTotals(KIND_NAMES[kind], begin, files, int(records), int(size))
        for kind, begin, files, records, size in tx.fetch_raw(SUM_MONTHS, {})
    ]


def exists_any(tx: Tx) -> bool:
    return bool(tx.fetch_raw(EXISTS_ANY, {}))


def _file(row: tuple[Any, ...]) -> ArchiveFile:
    number, name, kind, *rest = row
    return ArchiveFile(number, name, KIND_NAMES[kind], *rest)


def _wait_for_deletions(tx: Tx) -> None:
    """On SQLite there is one writer at a time anyway."""
    if tx.is_postgres:
        tx.fetch_raw(WAIT_FOR_DELETIONS, {"lock": ARCHIVE_LOCK})


# --- deletions ---


def bury(tx: Tx, kind: str, device_number: int, stays: Iterable[int], ts: Moment) -> None:
    """Hide the archived records of a device at a timestamp, if there may be any."""
    if ts >= archivable_before(tx.now):
        return
    if tx.is_postgres:
        tx.fetch_raw(ANNOUNCE_DELETION, {"lock": ARCHIVE_LOCK})
    number = KIND_NAMES.index(kind)
    last = tx.fetch_raw(FIND_LAST, {"kind": number, "ts": ts})[0][0]
    if last is None:
        return
    values = {"kind": number, "device": device_number, "ts": ts, "file": last}
    for stay in stays:
        tx.execute_raw(INSERT_TOMBSTONE, {**values, "stay": stay})


def list_tombstones(
    tx: Tx, kind: str, devices: Collection[int], period: tuple[Moment, Moment]
) -> dict[tuple[int, int, Moment], int]:
    """By device, stay and timestamp: the last file whose records are deleted."""
    values = {
        "kind": KIND_NAMES.index(kind),
        "devices": array_param(tx, devices),
        "begin": period[0],
        "end_ts": period[1],
    }
    rows = tx.fetch_raw(LIST_TOMBSTONES, values)
    return {(device, stay, ts): file_id for device, stay, ts, file_id in rows}
