"""Records of the archive among those of the tables.

Files are not read while a transaction waits. A work that needs some raises `ArchiveNeeded` with
what it needs; its engine has that read elsewhere, and runs the work again with the result. A work
looks into the tables first and at the manifest then: records leave the tables only after the
manifest has their file, so whatever is missing in the tables is in one of the files. What is in
both is shown once.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from longwire.clock import Moment
from longwire.errors import Unavailable
from longwire.store.archive import archive_files
from longwire.store.archive.archive_files import ArchiveFile
from longwire.store.database import Tx, Work

T = TypeVar("T")

# A work may need several things, one after the other.
ROUNDS_MAX = 100
DIGEST_AFTER_ALL = b"\xff" * 64

STAY_EXISTS = """
select 1
from device_stay
where device_number = :device
    and stay = :stay
"""


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Archived records of some stays of a device, by timestamp and digest."""

    files: tuple[ArchiveFile, ...]
    kind: str
    device_number: int
    stays: tuple[int, ...]
    begin: Moment
    end: Moment
    after: tuple[Moment, bytes] | None  # behind this key
    most: int  # about so many, without those of the next
    uncounted_ts: Moment | None
    ascending: bool


@dataclass(frozen=True, slots=True)
class ArchivedRecord:
    file_id: int
    device_number: int
    stay: int
    ts: Moment
    digest: bytes
    seq: int
    body: str


@dataclass(frozen=True, slots=True)
class ArchivedRange:
    """Records in order; if there are more, all of the last timestamp are among these."""

    records: list[ArchivedRecord]
    is_complete: bool
    last_ts: Moment = 0  # if it is not complete


# Device, stay, timestamp and number of an arrival.
RecordKey = tuple[int, int, Moment, int]


@dataclass(frozen=True, slots=True)
class PointQuery:
    """Archived records by their arrivals."""

    files: tuple[ArchiveFile, ...]
    keys: tuple[RecordKey, ...]


ArchiveQuery = RangeQuery | PointQuery


class ArchiveNeeded(Exception):
    """A work needs something of the archive that was not read yet."""

    def __init__(self, query: ArchiveQuery) -> None:
        super().__init__()
        self.query = query


class ArchiveSource(Protocol):
    async def fetch(self, query: ArchiveQuery) -> Any:
        """An `ArchivedRange`, or a list of `ArchivedRecord`, of those that are in the files."""


async def run_with_archive(
    reader: ArchiveSource, read: Callable[[Work[T]], Awaitable[T]], work: Work[T]
) -> T:
    """Run a work that reads, with what it needs of the archive."""
    fetched: dict[ArchiveQuery, Any] = {}
    for _ in range(ROUNDS_MAX):
        try:
            return await read(partial(_run_with, work, fetched))
        except ArchiveNeeded as needed:
            fetched[needed.query] = await reader.fetch(needed.query)
    raise Unavailable("The archive changes too often; try again.")


def _run_with(work: Work[T], fetched: Mapping[ArchiveQuery, Any], tx: Tx) -> T:
    tx.archived = fetched
    return work(tx)


def _get(tx: Tx, query: ArchiveQuery) -> Any:
    assert tx.archived is not None
    found = tx.archived.get(query)
    if found is None:
        raise ArchiveNeeded(query)
    return found


def find_range(
    tx: Tx,
    kind: str,
    device_number: int,
    stays: Sequence[int],
    begin: Moment,
    end: Moment,
    most: int,
    *,
    after: tuple[Moment, bytes] | None = None,
    uncounted_ts: Moment | None = None,
    ascending: bool = True,
) -> ArchivedRange | None:
    """Archived records of a device in a period, without the deleted ones; None if there are none.

    Call it after the tables were read.
    """
    end = min(end, archive_files.archivable_before(tx.now))
    if tx.archived is None or begin >= end or not stays:
        return None
    devices = (device_number, device_number)
    files = archive_files.list_files(tx, kind, devices, begin, end)
    if not files:
        return None
    query = RangeQuery(
        files,
        kind,
        device_number,
        tuple(stays),
        begin,
        end,
        after,
        most,
        uncounted_ts,
        ascending,
    )
    found: ArchivedRange = _get(tx, query)
    return replace(found, records=_drop_deleted(tx, kind, found.records))


def find_records(tx: Tx, kind: str, keys: Sequence[RecordKey]) -> dict[int, ArchivedRecord]:
    """Those of some records that are in the archive and not deleted, by their numbers.

    Call it for what is not in the tables, and whose stays exist.
    """
    horizon = archive_files.archivable_before(tx.now)
    old = tuple(key for key in keys if key[2] < horizon)
    if tx.archived is None or not old:
        return {}
    devices, moments = [key[0] for key in old], [key[2] for key in old]
    period = (min(moments), max(moments) + 1)
    files = archive_files.list_files(tx, kind, (min(devices), max(devices)), *period)
    if not files:
        return {}
    found: list[ArchivedRecord] = _get(tx, PointQuery(files, old))
    return {each.seq: each for each in _drop_deleted(tx, kind, found)}


def find_record(tx: Tx, kind: str, key: RecordKey) -> ArchivedRecord | None:
    """One archived record, unless its stay was erased."""
    return find_existing(tx, kind, [key]).get(key[3])


def find_existing(tx: Tx, kind: str, keys: Sequence[RecordKey]) -> dict[int, ArchivedRecord]:
    """The same as `find_records`, whether or not the stays exist."""
    if tx.archived is None:
        return {}
    stays = {key[:2] for key in keys}
    known = {
        stay for stay in stays if tx.fetch_raw(STAY_EXISTS, {"device": stay[0], "stay": stay[1]})
    }
    return find_records(tx, kind, [key for key in keys if key[:2] in known])


def _drop_deleted(tx: Tx, kind: str, records: Sequence[ArchivedRecord]) -> list[ArchivedRecord]:
    """Of a record that is in several files, because it was decoded again, the last one."""
    if not records:
        return []
    moments = [each.ts for each in records]
    period = (min(moments), max(moments) + 1)
    devices = {each.device_number for each in records}
    deleted = archive_files.list_tombstones(tx, kind, devices, period)
    latest: dict[RecordKey, ArchivedRecord] = {}
    for each in records:
        if each.file_id <= deleted.get((each.device_number, each.stay, each.ts), -1):
            continue
        key = (each.device_number, each.stay, each.ts, each.seq)
        if key not in latest or each.file_id > latest[key].file_id:
            latest[key] = each
    return list(latest.values())
