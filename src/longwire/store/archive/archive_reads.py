"""Records of the archive among those of the tables: for lists, exports and series.

Files are not read while a transaction waits. A work reads the tables first, and the list of files
then: records leave the tables only after the manifest has their file, so whatever is missing in the
tables is in one of the files. If there are some, it returns `NeedsArchive` instead of its result,
and `read_with_archive` has them read before it finishes. What is in both is shown once.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, Protocol, TypeVar

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.store.archive import archive_files
from longwire.store.archive.archive_files import ArchiveFile
from longwire.store.database import Database, Tx, Work
from longwire.store.statement import Statement

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
U = TypeVar("U")

# Of records that are asked for one by one: each may be large.
POINTS_MAX = 50
DIGEST_AFTER_ALL = b"\xff" * 64

STAY_EXISTS = Statement("""
select 1
from device_stay
where device_number = :device
    and stay = :stay
""")


@dataclass(frozen=True, slots=True)
class RangeQuery:
    """Archived records of some stays of a device, by timestamp and digest."""

    files: tuple[ArchiveFile, ...]  # of one kind
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


# Kind, device, stay, timestamp and number of an arrival.
RecordKey = tuple[str, int, int, Moment, int]


@dataclass(frozen=True, slots=True)
class PointQuery:
    """Archived records by their arrivals."""

    files: tuple[ArchiveFile, ...]
    keys: tuple[RecordKey, ...]


ArchiveQuery = RangeQuery | PointQuery


class ArchiveSource(Protocol):
    async def fetch(self, query: ArchiveQuery) -> ArchivedRange:
        """Those that are in the files; also the deleted ones."""


@dataclass(frozen=True, slots=True)
class NeedsArchive(Generic[T_co]):
    """What a work needs of the archive, and what it will do with it."""

    query: ArchiveQuery
    finish: Callable[[Tx, ArchivedRange], T_co]


async def read_with_archive(database: Database, work: Work[T | NeedsArchive[T]]) -> T:
    """Run a work that reads, with what it needs of the archive."""
    result = await database.read(work)
    if not isinstance(result, NeedsArchive):
        return result
    archived = await database.context.archive.fetch(result.query)
    return await database.read(partial(_finish, result, archived))


def _finish(needed: NeedsArchive[T], archived: ArchivedRange, tx: Tx) -> T:
    kept = _drop_deleted(tx, needed.query.files, archived.records)
    return needed.finish(tx, replace(archived, records=kept))


def convert_result(result: T | NeedsArchive[T], convert: Callable[[T], U]) -> U | NeedsArchive[U]:
    """What becomes of the result of a work, now or when the archive was read."""
    if not isinstance(result, NeedsArchive):
        return convert(result)
    finish = result.finish
    return NeedsArchive(result.query, lambda tx, archived: convert(finish(tx, archived)))


def convert_result_in(
    tx: Tx, result: T | NeedsArchive[T], convert: Callable[[Tx, T], U]
) -> U | NeedsArchive[U]:
    """The same, by a function that reads as well."""
    if not isinstance(result, NeedsArchive):
        return convert(tx, result)
    finish = result.finish
    return NeedsArchive(result.query, lambda tx, archived: convert(tx, finish(tx, archived)))


def plan_range(
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
) -> RangeQuery | None:
    """For the archived records of a device in a period; None if there are none.

    Call it after the tables were read, in the same transaction.
    """
    end = min(end, archive_files.archivable_before(tx.now))
    if tx.context.archive is None or begin >= end or not stays:
        return None
    devices = (device_number, device_number)
    files = archive_files.list_files(tx, kind, devices, begin, end)
    if not files:
        return None
    return RangeQuery(
        files,
        device_number,
        tuple(stays),
        begin,
        end,
        after,
        most,
        uncounted_ts,
        ascending,
    )


@dataclass(frozen=True, slots=True)
class PointPlan:
    query: PointQuery
    cut_at: int | None  # the number of the last one that fits, if not all do


def plan_points(
    tx: Tx, missing: Sequence[RecordKey], exists: Callable[[RecordKey], bool] | None = None
) -> PointPlan | None:
    """For the first of some records that are not in the tables; None if there are none.

    Call it after the tables were read, in the same transaction. Those that do not exist any more
    are left out.
    """
    if tx.context.archive is None:
        return None
    files = _list_files(tx, missing)
    keys: list[RecordKey] = []
    for key in missing if files else ():
        _, device, _, ts, _ = key
        if any(each.may_have(key[0], device, ts) for each in files) and (not exists or exists(key)):
            if len(keys) == POINTS_MAX:
                return PointPlan(PointQuery(files, tuple(keys)), cut_at=keys[-1][4])
            keys.append(key)
    return PointPlan(PointQuery(files, tuple(keys)), cut_at=None) if keys else None


def _list_files(tx: Tx, keys: Sequence[RecordKey]) -> tuple[ArchiveFile, ...]:
    """Those that may have some of these records."""
    horizon = archive_files.archivable_before(tx.now)
    found: list[ArchiveFile] = []
    for kind in sorted({key[0] for key in keys}):
        of_kind = [key for key in keys if key[0] == kind and key[3] < horizon]
        if of_kind:
            devices, moments = [key[1] for key in of_kind], [key[3] for key in of_kind]
            period = (min(moments), max(moments) + 1)
            found += archive_files.list_files(tx, kind, (min(devices), max(devices)), *period)
    return tuple(found)


def stay_exists(tx: Tx, device_number: int, stay: int) -> bool:
    """Records of a stay that does not are deleted, wherever they are."""
    return bool(tx.fetch(STAY_EXISTS, device=device_number, stay=stay))


def _drop_deleted(
    tx: Tx, files: Sequence[ArchiveFile], records: Sequence[ArchivedRecord]
) -> list[ArchivedRecord]:
    """Of a record that is in several files, because it was decoded again, the last one."""
    kinds = {file.id: file.kind for file in files}
    latest: dict[RecordKey, ArchivedRecord] = {}
    for kind in sorted(set(kinds.values())):
        of_kind = [each for each in records if kinds[each.file_id] == kind]
        if not of_kind:
            continue
        moments = [each.ts for each in of_kind]
        period = (min(moments), max(moments) + 1)
        devices = {each.device_number for each in of_kind}
        deleted = archive_files.list_tombstones(tx, kind, devices, period)
        for each in of_kind:
            if each.file_id <= deleted.get((each.device_number, each.stay, each.ts), -1):
                continue
            key = (kind, each.device_number, each.stay, each.ts, each.seq)
            if key not in latest or each.file_id > latest[key].file_id:
                latest[key] = each
    return list(latest.values())
