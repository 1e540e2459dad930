"""Moves records of old months out of the tables, one file at a time.

A file is listed in the manifest, written, read again and compared; then it is published, and then
its records are deleted from the tables, in small steps. Whatever ends this in between, nothing is
lost and nothing is shown twice: until a file is published it does not count, and what is in a
published file and in the tables is shown once. The next run deletes what was not published, and
goes on with what was.
"""

import asyncio
import hashlib
import io
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from longwire.archive.files import (
    FILE_BYTES_MAX,
    FileContent,
    FileWriter,
    ParquetFile,
    digest_records,
)
from longwire.blobs import BlobStore
from longwire.clock import DAY, SECOND, Moment
from longwire.errors import LongwireError, OperatorError
from longwire.records import KIND_NAMES
from longwire.store.archive import archive_files, archive_walk
from longwire.store.archive.archive_files import ArchiveFile, FileState
from longwire.store.archive.archive_walk import FIRST_POSITION, WalkedRecord, WalkPosition
from longwire.store.database import Database, Tx
from longwire.store.engines import partitions
from longwire.store.leases import NAMED_LEASES, StoredLeases
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.records.records import ALL_TIME
from longwire.work.leases import HeldLeases

# What arrived later stays in the tables, where it is recognised when it is sent again: a client may
# repeat what it has kept while it was cut off.
REPEATED_WITHIN: Moment = 30 * DAY
LEASE = "archive"
LEASE_S = 300.0
NOT_HELD = "Another process is archiving, or was killed some minutes ago."
RECORDS_PER_READ = 1_000
RECORDS_PER_DELETION = 500
CHARACTERS_PER_DELETION = 1024 * 1024
PAUSE_S = 0.01
# A file some of whose records were deleted while it was written is written again, so often.
ATTEMPTS_MAX = 5


class ArchiveError(OperatorError):
    """Records cannot be archived; the message says why."""


@dataclass(slots=True)
class ArchiveTotals:
    files: int = 0
    records: int = 0
    bytes: int = 0


class Mover:
    """One run of `longwire archive`."""

    def __init__(self, database: Database, store: BlobStore) -> None:
        self._database = database
        self._store = store
        stored = StoredLeases(database, NAMED_LEASES)
        self._leases = HeldLeases(stored, database.context.clock, LEASE_S)
        self.totals = ArchiveTotals()

    async def run(self, months: int) -> ArchiveTotals:
        """Move what is older than so many whole months."""
        async with self._lease():
            await self.finish_interrupted()
            before = archive_files.month_start(self._database.context.clock.now(), -months)
            for kind in KIND_NAMES:
                since = ALL_TIME[0]
                while (begin := await self._find_month(kind, since, before)) is not None:
                    since = archive_files.month_start(begin, 1)
                    await self._move_month(kind, (begin, since))
                await self._drop_partitions(kind, before)
        return self.totals

    # --- one at a time ---

    @asynccontextmanager
    async def _lease(self) -> AsyncIterator[None]:
        if await self._leases.claim(LEASE) is None:
            raise ArchiveError(NOT_HELD)
        try:
            yield
        finally:
            await self._leases.release_all()

    async def _renew(self) -> None:
        if await self._leases.renew([LEASE]):
            raise ArchiveError(NOT_HELD)

    # --- what an earlier run left ---

    async def finish_interrupted(self) -> None:
        for file in await self._list(FileState.WRITING):
            await self._abandon(file)
        await drop_files(self._database, self._store)
        for file in await self._list(FileState.PUBLISHED):
            await self._renew()
            content = await self._read_again(file)
            await self._delete_moved(file, content)

    async def _list(self, state: FileState) -> list[ArchiveFile]:
        return await self._database.read(partial(archive_files.list_in_state, state=state))

    async def _abandon(self, file: ArchiveFile) -> bool:
        """False if it is not being written any more: whoever changed that goes on with it."""
        is_ours = await self._set_state(file, FileState.WRITING, FileState.DROPPING)
        if is_ours:
            await asyncio.to_thread(self._store.delete, [file.name])
            await self._database.write(partial(archive_files.delete_file, file_id=file.id))
        return is_ours

    async def _set_state(self, file: ArchiveFile, before: FileState, after: FileState) -> bool:
        return await self._database.write(
            partial(archive_files.set_state, file_id=file.id, before=before, after=after)
        )

    # --- months ---

    async def _find_month(self, kind: str, begin: Moment, before: Moment) -> Moment | None:
        """The first month from a moment on that has records, and is old enough."""
        oldest: Moment | None = None
        position: WalkPosition | None = FIRST_POSITION
        while position is not None:
            period = (begin, before if oldest is None else oldest)
            step = partial(archive_walk.find_oldest, kind=kind, period=period, position=position)
            found, position = await self._database.read(step)
            oldest = found if found is not None else oldest
        return None if oldest is None else archive_files.month_start(oldest)

    async def _move_month(self, kind: str, period: tuple[Moment, Moment]) -> None:
        position: WalkPosition | None = FIRST_POSITION
        while position is not None:
            position = await self._move_file(kind, period, position)

    async def _drop_partitions(self, kind: str, before: Moment) -> None:
        """Give the space of what was moved back, where months have tables of their own."""
        list_months = partial(partitions.list_months, kind=kind, before=before)
        for name in await self._database.read(list_months):
            # Somebody uses it for long: the next run tries again.
            with suppress(LongwireError):
                await self._database.write(partial(partitions.drop_if_empty, name=name))

    async def _move_file(
        self, kind: str, period: tuple[Moment, Moment], position: WalkPosition
    ) -> WalkPosition | None:
        """Move the next records; where to continue, None at the end of the month."""
        for _ in range(ATTEMPTS_MAX):
            await self._renew()
            file = await self._list_new(kind, period)
            written, following = await self._write(kind, period, position)
            if written is None:
                await self._abandon(file)
                return None
            file = replace(
                file,
                first_device=written.first_device,
                last_device=written.last_device,
                records=written.records,
                digest=written.digest,
            )
            await asyncio.to_thread(self._store.put, file.name, written.content)
            content = await self._read_again(file, written.digest_of_records)
            size = len(content)
            await self._renew()
            if await self._database.write(partial(archive_files.publish, file=file, size=size)):
                self.totals.files += 1
                self.totals.records += file.records
                self.totals.bytes += size
                await self._delete_moved(file, content)
                return following
            if not await self._abandon(file):
                # Nobody can publish it now, and nobody may know that it was stored.
                await asyncio.to_thread(self._store.delete, [file.name])
                raise ArchiveError("Another process has taken over; this one was too slow.")
        raise ArchiveError("Records are deleted all the time while they are archived; try again.")

    async def _list_new(self, kind: str, period: tuple[Moment, Moment]) -> ArchiveFile:
        month = datetime.fromtimestamp(period[0] / SECOND, UTC)
        # Never a name that was used before, also after a backup of the database was restored.
        name = f"records/{kind}/{month:%Y-%m}/{secrets.token_hex(12)}.parquet"

        def insert(tx: Tx) -> int:
            return archive_files.insert_file(tx, name, kind, *period)

        number = await self._database.write(insert)
        return ArchiveFile(number, name, kind, FileState.WRITING, *period, 0, -1, 0, "")

    async def _write(
        self, kind: str, period: tuple[Moment, Moment], position: WalkPosition | None
    ) -> tuple[FileContent | None, WalkPosition | None]:
        writer = FileWriter()
        before_seq = first_seq(self._database.context.clock.now() - REPEATED_WITHIN)
        while position is not None and not writer.is_full:
            step = await self._database.read(
                partial(
                    archive_walk.walk,
                    kind=kind,
                    period=period,
                    position=position,
                    most=RECORDS_PER_READ,
                    before_seq=before_seq,
                )
            )
            writer.add(step.records)
            position = step.position
        return (writer.finish() if writer.records else None), position

    async def _read_again(self, file: ArchiveFile, digest_of_records: str | None = None) -> bytes:
        """The content of a file as the store has it, which is what was written."""
        content = await asyncio.to_thread(self._store.get, file.name, FILE_BYTES_MAX)
        if hashlib.sha256(content).hexdigest() != file.digest:
            raise ArchiveError(f"{file.name} is not as it was written; its records are kept.")
        if digest_of_records is not None:
            digest, count = hashlib.sha256(), 0
            for rows in _open(content).iterate():
                digest_records(rows, digest)
                count += len(rows)
            if (digest.hexdigest(), count) != (digest_of_records, file.records):
                raise ArchiveError(f"{file.name} does not have the records that were written.")
        return content

    async def _delete_moved(self, file: ArchiveFile, content: bytes) -> None:
        for rows in _open(content).iterate():
            for some in _split(rows):
                await self._database.write(partial(_delete_some, file, some))
                await asyncio.sleep(PAUSE_S)
        await self._renew()
        await self._set_state(file, FileState.PUBLISHED, FileState.MOVED)


def _delete_some(file: ArchiveFile, rows: list[WalkedRecord], tx: Tx) -> None:
    if not archive_files.is_published(tx, file.id):
        raise ArchiveError(f"{file.name} does not count any more; its records are kept.")
    archive_walk.delete_moved(tx, file.kind, rows)


def _open(content: bytes) -> ParquetFile:
    return ParquetFile(io.BytesIO(content))


def _split(rows: list[WalkedRecord]) -> list[list[WalkedRecord]]:
    """In parts that are deleted at once."""
    parts: list[list[WalkedRecord]] = [[]]
    characters = 0
    for row in rows:
        if len(parts[-1]) >= RECORDS_PER_DELETION or characters > CHARACTERS_PER_DELETION:
            parts.append([])
            characters = 0
        parts[-1].append(row)
        characters += len(row[5])
    return parts


async def drop_files(database: Database, store: BlobStore) -> int:
    """Delete files whose records have expired; how many."""
    dropping = await database.read(partial(archive_files.list_in_state, state=FileState.DROPPING))
    for file in dropping:
        await asyncio.to_thread(store.delete, [file.name])
        await database.write(partial(archive_files.delete_file, file_id=file.id))
    return len(dropping)
