"""The manifest of the archive: which files have which records, and which of these are deleted.

A file is listed before its records are read from the tables, and counts once it is published.
Whoever deletes a record leaves a tombstone for the files that are listed then. So nothing that is
deleted while a file is written is published: see `publish`.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from enum import IntEnum
from typing import Any

from longwire.clock import SECOND, Moment
from longwire.dataclass import dataclass
from longwire.records import KIND_NAMES
from longwire.store.database import Tx
from longwire.store.statement import Statement

ARCHIVE_LOCK = 7_105_511_995  # any number, the same in every process


class FileState(IntEnum):
    WRITING = 0
    PUBLISHED = 1  # some of its records may be in the tables as well
    MOVED = 2
    DROPPING = 3


IS_WRITING = f"state = {FileState.WRITING:d}"
IS_READABLE = f"state in ({FileState.PUBLISHED:d}, {FileState.MOVED:d})"


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


def _build_file(number: int, name: str, kind: int, *rest: Any) -> ArchiveFile:
    return ArchiveFile(number, name, KIND_NAMES[kind], *rest)


def _build_totals(kind: int, begin: Moment, files: int, records: Any, size: Any) -> MonthTotals:
    return MonthTotals(KIND_NAMES[kind], begin, files, int(records), int(size))


# --- statements ---

# Both for PostgreSQL.
WAIT_FOR_DELETIONS = Statement("select pg_advisory_xact_lock(:lock)")
ANNOUNCE_DELETION = Statement("select pg_advisory_xact_lock_shared(:lock)")

_COLUMNS = "id, name, kind, state, begin_ts, end_ts, first_device, last_device, records, digest"

INSERT_FILE = Statement("""
insert into archive_file
    (name, kind, state, begin_ts, end_ts, first_device, last_device, records, bytes, digest)
values (:name, :kind, :state, :begin, :end_ts, :first, :last, 0, 0, '')
returning id
""")

PUBLISH_FILE = Statement(f"""
update archive_file
set state = :state,
    first_device = :first,
    last_device = :last,
    records = :records,
    bytes = :bytes,
    digest = :digest
where id = :id
    and {IS_WRITING}
""")

SET_STATE = Statement("""
update archive_file
set state = :after
where id = :id
    and state = :before
""")

GET_STATE = Statement("""
select state
from archive_file
where id = :id
""")

DELETE_FILE = Statement("""
delete from archive_file
where id = :id
""")

LIST_FILES = Statement(
    f"""
select {_COLUMNS}
from archive_file
where kind = :kind
    and {IS_READABLE}
    and begin_ts < :end_ts
    and end_ts > :begin
    and first_device <= :last
    and last_device >= :first
order by begin_ts, id
""",
    into=_build_file,
)

LIST_IN_STATE = Statement(
    f"""
select {_COLUMNS}
from archive_file
where state = :state
order by id
""",
    into=_build_file,
)

LIST_EXPIRED = Statement(
    f"""
select {_COLUMNS}
from archive_file
where kind = :kind
    and {IS_READABLE}
    and end_ts <= :oldest
order by id
""",
    into=_build_file,
)

SUM_MONTHS = Statement(
    f"""
select kind, begin_ts, count(*), sum(records), sum(bytes)
from archive_file
where {IS_READABLE}
group by kind, begin_ts
order by begin_ts, kind
""",
    into=_build_totals,
)

EXISTS_ANY = Statement(f"""
select 1
from archive_file
where {IS_READABLE}
limit 1
""")

# Of any state: also of a file that is being written.
FIND_LAST = Statement("""
select max(id)
from archive_file
where kind = :kind
    and begin_ts <= :ts
    and end_ts > :ts
""")

INSERT_TOMBSTONE = Statement("""
insert into archive_tombstone (kind, device_number, stay, ts, file_id)
values (:kind, :device, :stay, :ts, :file)
on conflict (kind, device_number, stay, ts) do update
set file_id = excluded.file_id
""")

LIST_TOMBSTONES = Statement("""
select device_number, stay, ts, file_id
from archive_tombstone
where kind = :kind
    and device_number {in:devices}
    and ts >= :begin
    and ts < :end_ts
""")

# Of records that a file may have.
EXISTS_TOMBSTONE = Statement("""
select 1
from archive_tombstone
where kind = :kind
    and device_number >= :first
    and device_number <= :last
    and ts >= :begin
    and ts < :end_ts
    and file_id >= :id
limit 1
""")

DELETE_TOMBSTONES = Statement("""
delete from archive_tombstone
where kind = :kind
    and ts < :oldest
""")


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
    return int(tx.fetch(INSERT_FILE, **values)[0][0])


def publish(tx: Tx, file: ArchiveFile, size: int) -> bool:
    """Have a file count; False if some of its records were deleted while it was written.

    Also if another run has abandoned it meanwhile.
    """
    _wait_for_deletions(tx)
    which = {"id": file.id, "first": file.first_device, "last": file.last_device}
    period = {"begin": file.begin, "end_ts": file.end}
    if tx.fetch(EXISTS_TOMBSTONE, kind=KIND_NAMES.index(file.kind), **which, **period):
        return False
    values = {
        **which,
        "state": FileState.PUBLISHED.value,
        "records": file.records,
        "bytes": size,
        "digest": file.digest,
    }
    return bool(tx.run(PUBLISH_FILE, **values))


def set_state(tx: Tx, file_id: int, before: FileState, after: FileState) -> bool:
    """False if it is not in the first state any more."""
    return bool(tx.run(SET_STATE, id=file_id, before=before.value, after=after.value))


def is_published(tx: Tx, file_id: int) -> bool:
    return tx.fetch(GET_STATE, id=file_id) == [(FileState.PUBLISHED,)]


def delete_file(tx: Tx, file_id: int) -> None:
    """Remove a file from the list, once nothing of it is in the store."""
    tx.run(DELETE_FILE, id=file_id)


def list_files(
    tx: Tx, kind: str, devices: tuple[int, int], begin: Moment, end: Moment
) -> tuple[ArchiveFile, ...]:
    """Published files that may have records of these devices in a period, by month."""
    first, last = devices
    number = KIND_NAMES.index(kind)
    return tuple(tx.fetch(LIST_FILES, kind=number, first=first, last=last, begin=begin, end_ts=end))


def list_in_state(tx: Tx, state: FileState) -> list[ArchiveFile]:
    return tx.fetch(LIST_IN_STATE, state=state.value)


def expire(tx: Tx, kind: str, oldest: Moment) -> int:
    """Have files with nothing but what has expired dropped; how many."""
    # Of whole months: the file of the month that is expiring needs its tombstones.
    values = {"kind": KIND_NAMES.index(kind), "oldest": month_start(oldest)}
    files = tx.fetch(LIST_EXPIRED, **values)
    for file in files:
        set_state(tx, file.id, FileState(file.state), FileState.DROPPING)
    if files:
        tx.run(DELETE_TOMBSTONES, **values)
    return len(files)


def sum_months(tx: Tx) -> list[MonthTotals]:
    return tx.fetch(SUM_MONTHS)


def exists_any(tx: Tx) -> bool:
    return bool(tx.fetch(EXISTS_ANY))


def _wait_for_deletions(tx: Tx) -> None:
    """On SQLite there is one writer at a time anyway."""
    if tx.is_postgres:
        tx.fetch(WAIT_FOR_DELETIONS, lock=ARCHIVE_LOCK)


# --- deletions ---


def bury(tx: Tx, kind: str, device_number: int, stays: Iterable[int], ts: Moment) -> None:
    """Hide the archived records of a device at a timestamp, if there may be any."""
    if ts >= archivable_before(tx.now):
        return
    if tx.is_postgres:
        tx.fetch(ANNOUNCE_DELETION, lock=ARCHIVE_LOCK)
    number = KIND_NAMES.index(kind)
    last = tx.fetch(FIND_LAST, kind=number, ts=ts)[0][0]
    if last is None:
        return
    for stay in stays:
        tx.run(INSERT_TOMBSTONE, kind=number, device=device_number, stay=stay, ts=ts, file=last)


def list_tombstones(
    tx: Tx, kind: str, devices: Collection[int], period: tuple[Moment, Moment]
) -> dict[tuple[int, int, Moment], int]:
    """By device, stay and timestamp: the last file whose records are deleted."""
    begin, end = period
    number = KIND_NAMES.index(kind)
    rows = tx.fetch(LIST_TOMBSTONES, kind=number, devices=devices, begin=begin, end_ts=end)
    return {(device, stay, ts): file_id for device, stay, ts, file_id in rows}
