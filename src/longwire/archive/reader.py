"""Reads archived records for the service: in its own threads, callers taking turns.

What was read lately is kept: the ends of files, and row groups, up to some megabytes.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from heapq import merge
from itertools import groupby
from typing import Any, Generic, TypeVar

import structlog

from longwire import extras
from longwire.archive.files import BlobFile, ParquetFile, find_row_groups
from longwire.archive.mover import drop_files
from longwire.blobs import BlobError, BlobStore, open_store
from longwire.clock import Moment
from longwire.errors import Unavailable
from longwire.store.archive import archive_files
from longwire.store.archive.archive_files import ArchiveFile
from longwire.store.archive.archive_reads import (
    ArchivedRange,
    ArchivedRecord,
    ArchiveQuery,
    PointQuery,
    RangeQuery,
    RecordKey,
)
from longwire.store.archive.archive_walk import WalkedRecord
from longwire.store.database import Database, Tx
from longwire.store.engines.workers import QueuedWork, RunJobs, WorkerPool

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

THREADS = 2
WAITING_MAX = 500
KEYS_PER_JOB = 20
FETCH_TIMEOUT_S = 30
# A store that does not respond keeps a thread for little longer than a request waits.
RETRY_S = 5
FILES_KEPT = 64
CHARACTERS_KEPT = 16 * 1024 * 1024
# Of one query; and of the records at one timestamp, which are read together.
QUERY_CHARACTERS = 4 * 1024 * 1024
INSTANT_CHARACTERS_MAX = 64 * 1024 * 1024

log = structlog.get_logger()


class ArchiveReader:
    """Serves what works need of the archive; see `store.archive_reads`."""

    def __init__(self, place: str) -> None:
        extras.require("parquet")
        self._store = open_store(place, retry_s=RETRY_S)
        self._files = ArchiveFiles(self._store)
        self._workers = WorkerPool(
            "archive",
            self._open_worker,
            threads=THREADS,
            batch_max=1,
            waiting_max=WAITING_MAX,
        )

    def start(self) -> None:
        self._workers.start()

    def close(self) -> None:
        self._workers.close()

    @property
    def waiting(self) -> int:
        return self._workers.waiting

    async def fetch(self, query: ArchiveQuery) -> ArchivedRange:
        try:
            async with asyncio.timeout(FETCH_TIMEOUT_S):
                if isinstance(query, RangeQuery):
                    return await self._submit(partial(find_range, self._files, query))
                return await self._fetch_points(query)
        # Also when it took too long: that error is one of the system's, too.
        except (BlobError, OSError) as error:
            log.error("archive unavailable", error=str(error))
            raise Unavailable("Archived records cannot be read now; try again later.") from error

    async def _fetch_points(self, query: PointQuery) -> ArchivedRange:
        """A few at a time: each may need files of its own, and others take their turns."""
        found: list[ArchivedRecord] = []
        keys = sorted(query.keys)
        for start in range(0, len(keys), KEYS_PER_JOB):
            some = replace(query, keys=tuple(keys[start : start + KEYS_PER_JOB]))
            found += await self._submit(partial(find_points, self._files, some))
        return ArchivedRange(found, is_complete=True)

    def _submit(self, work: Callable[[], T]) -> asyncio.Future[T]:
        return self._workers.submit_for_caller(work)  # type: ignore[arg-type]

    async def drop_expired(self, database: Database, oldest: Mapping[str, Moment]) -> None:
        """Drop files with nothing but what is older, by kind."""

        def expire(tx: Tx) -> int:
            return sum(archive_files.expire(tx, *each) for each in oldest.items())

        await database.write(expire)
        try:
            dropped = await drop_files(database, self._store)
        except (BlobError, OSError) as error:  # the next round tries again
            log.error("archive unavailable", error=str(error))
        else:
            if dropped:
                log.info("archived files dropped", files=dropped)

    @contextmanager
    def _open_worker(self) -> Iterator[RunJobs]:
        yield _run


def _run(jobs: Iterable[QueuedWork[Any]]) -> None:
    for job in jobs:
        if job.future.cancelled():
            continue  # whoever waited has given up
        try:
            job.result = job.work()  # type: ignore[call-arg]
        except Exception as error:
            job.error = error


class ArchiveFiles:
    """The files of an archive, opened when they are needed."""

    def __init__(self, store: BlobStore) -> None:
        self._store = store
        self._opened: _Recent[str, ParquetFile] = _Recent(FILES_KEPT, lambda file: 1)
        self._row_groups: _Recent[tuple[str, int], list[WalkedRecord]] = _Recent(
            CHARACTERS_KEPT, lambda rows: sum(300 + len(row[5]) for row in rows)
        )

    def open(self, name: str) -> ParquetFile:
        return self._opened.get(name, lambda: ParquetFile(BlobFile(self._store, name)))

    def read_row_group(self, name: str, number: int) -> list[WalkedRecord]:
        file = self.open(name)
        return self._row_groups.get((name, number), lambda: file.read_row_group(number))


class _Recent(Generic[K, V]):
    """Values that were used last, up to a size."""

    def __init__(self, size_max: int, measure: Callable[[V], int]) -> None:
        self._size_max = size_max
        self._measure = measure
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def get(self, key: K, load: Callable[[], V]) -> V:
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
                return found[0]
        value = load()
        size = self._measure(value)
        with self._lock:
            _, replaced = self._values.pop(key, (None, 0))
            self._values[key] = value, size
            self._size += size - replaced
            while self._size > self._size_max and len(self._values) > 1:
                _, (_, gone) = self._values.popitem(last=False)
                self._size -= gone
        return value


# --- by time ---


def find_range(files: ArchiveFiles, query: RangeQuery) -> ArchivedRange:
    """Month by month; it ends between two timestamps."""
    taken: list[ArchivedRecord] = []
    counted = characters = 0
    for record in _iterate_range(files, query):
        is_next_instant = bool(taken) and record.ts != taken[-1].ts
        is_enough = counted >= query.most or characters >= QUERY_CHARACTERS
        if is_next_instant and counted and is_enough:
            return ArchivedRange(taken, is_complete=False, last_ts=taken[-1].ts)
        if is_next_instant and not counted:
            characters = 0  # a page may show nothing of these
        counted += record.ts != query.uncounted_ts
        characters += len(record.body)
        if characters > INSTANT_CHARACTERS_MAX:
            raise Unavailable("There are too many archived records with one timestamp.")
        taken.append(record)
    return ArchivedRange(taken, is_complete=True)


def _iterate_range(files: ArchiveFiles, query: RangeQuery) -> Iterator[ArchivedRecord]:
    months = sorted(query.files, key=lambda file: file.begin, reverse=not query.ascending)
    for _, of_month in groupby(months, key=lambda file: file.begin):
        parts = [
            _iterate_stay(files, file, query, stay) for file in of_month for stay in query.stays
        ]
        yield from merge(*parts, key=_time_and_digest, reverse=not query.ascending)


def _time_and_digest(record: ArchivedRecord) -> tuple[Moment, bytes]:
    return record.ts, record.digest


def _iterate_stay(
    files: ArchiveFiles, file: ArchiveFile, query: RangeQuery, stay: int
) -> Iterator[ArchivedRecord]:
    device = query.device_number
    numbers = find_row_groups(files.open(file.name).index, device, stay, query.begin, query.end)
    for number in numbers if query.ascending else reversed(numbers):
        rows = files.read_row_group(file.name, number)
        for row in rows if query.ascending else reversed(rows):
            if row[:2] != (device, stay) or not query.begin <= row[2] < query.end:
                continue
            if query.after is not None and row[2:4] <= query.after:
                continue
            yield ArchivedRecord(file.id, *row)


# --- by arrival ---


def find_points(files: ArchiveFiles, query: PointQuery) -> list[ArchivedRecord]:
    """Each row group is read once, whatever the order of the keys."""
    wanted: dict[tuple[str, int], set[tuple[int, int, Moment, int]]] = {}
    ids = {file.name: file.id for file in query.files}
    for key in query.keys:
        for name, number in _locate(files, query.files, key):
            wanted.setdefault((name, number), set()).add(key[1:])
    found: list[ArchivedRecord] = []
    for (name, number), keys in sorted(wanted.items()):
        for row in files.read_row_group(name, number):
            if (row[0], row[1], row[2], row[4]) in keys:
                found.append(ArchivedRecord(ids[name], *row))
    return found


def _locate(
    files: ArchiveFiles, among: Iterable[ArchiveFile], key: RecordKey
) -> Iterator[tuple[str, int]]:
    kind, device, stay, ts, _ = key
    for file in among:
        if file.may_have(kind, device, ts):
            index = files.open(file.name).index
            for number in find_row_groups(index, device, stay, ts, ts + 1):
                yield file.name, number
