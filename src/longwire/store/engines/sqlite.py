"""The embedded engine: one thread writes, a few read, all in one file.

Every commit is flushed to disk before its result is published (`synchronous=FULL`), and works that
queued up during one flush share the next. The one writer is also the only connection that
checkpoints: SQLite up to 3.51.2 can corrupt a file when two do it at the same instant.
"""

import asyncio
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import sqlalchemy as sa
import structlog

from longwire.errors import Conflict, LongwireError, OutcomeUnknown, Unavailable
from longwire.store.database import (
    Cluster,
    DatabaseContext,
    NodeRole,
    StandbyStatus,
    Tx,
    Work,
)
from longwire.store.engines.workers import IDLE_S, QueuedWork, RunJobs, WorkerPool
from longwire.store.fleet.reporting_devices import watch_changes

T = TypeVar("T")

READERS = 2
READS_PER_BATCH_MAX = 8
WRITES_PER_COMMIT_MAX = 256
WAITING_MAX = 5_000
BUSY_TIMEOUT_MS = 5_000
CHECKPOINT_AFTER_CHANGES = 48_000  # of 16,000 records, some 160 MiB of the log
CHECKPOINT_AFTER_BYTES = 64 * 1024 * 1024
TRUNCATE_AT_BYTES = 256 * 1024 * 1024
# A record goes to the page of its device, so what is written lately lies all over the file.
WRITER_CACHE_KIB = 64 * 1024
READER_CACHE_KIB = 16 * 1024
CACHES_KIB = WRITER_CACHE_KIB + READERS * READER_CACHE_KIB

# After one of these the file or the disk cannot be trusted: what the last commits did is unknown.
FATAL = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

# What the operator can mend before a start: a folder, a disk, another process, a file.
UNUSABLE = FATAL | {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}

log = structlog.get_logger()


class SQLite:
    engine_name = "sqlite"
    connection_class: type[sqlite3.Connection] = sqlite3.Connection

    def __init__(
        self,
        path: Path,
        context: DatabaseContext,
        *,
        synchronous: str = "FULL",
        is_secondary: bool = False,
        pool_class: type[WorkerPool] = WorkerPool,
    ) -> None:
        """A guest works beside the process that serves the file, and leaves checkpoints to it.

        `pool_class` runs the works, on threads unless somebody wants to decide when each one runs.
        """
        self.context = context
        self._is_guest = is_secondary
        self.broken: str | None = None
        self.cluster = Cluster(0)
        self.write_failure: str | None = None
        self._changes_in_file = 0
        self._log_after = 0
        self._last_commit = 0.0
        self._path = path
        self._wal = path.with_name(path.name + "-wal")
        self._synchronous = synchronous
        self._engine = sa.create_engine(
            "sqlite://",
            creator=self._connect,
            poolclass=sa.pool.NullPool,
            isolation_level="AUTOCOMMIT",  # BEGIN and COMMIT are written out below
            hide_parameters=True,  # an error that is logged must not carry what was to be stored
        )
        self._writer = pool_class(
            "write",
            self._open_writer,
            threads=1,
            batch_max=WRITES_PER_COMMIT_MAX,
            waiting_max=WAITING_MAX,
            is_atomic=True,
            on_death=self._break,
        )
        self._readers = pool_class(
            "read",
            self._open_reader,
            threads=READERS,
            batch_max=READS_PER_BATCH_MAX,
            waiting_max=WAITING_MAX,
            on_death=self._break,
        )

    def start(self) -> None:
        self._writer.start()
        self._readers.start()

    def close(self) -> None:
        # The writer goes last, because the connection that closes last empties the log.
        self._readers.close()
        self._writer.close()
        self._engine.dispose()

    async def read(self, work: Work[T]) -> T:
        return await self._readers.submit_for_caller(work)

    async def write(self, work: Work[T]) -> T:
        self._require_intact()
        return await self._writer.submit_for_caller(work)

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        self._require_intact()
        return self._writer.submit(work)

    def note_writes(self, owners: Iterable[str]) -> None:
        pass  # a read sees all

    @property
    def standby_status(self) -> StandbyStatus | None:
        return None

    def _require_intact(self) -> None:
        if self.broken:
            raise OutcomeUnknown

    @property
    def slots(self) -> int:
        return self.context.slots

    def hold_writer_number(self, first: int, count: int, role: NodeRole) -> int:
        self.cluster = Cluster(first, {first: role})
        return first  # the folder is locked for one process

    @property
    def held_since(self) -> float | None:
        return 0.0

    @property
    def waiting(self) -> Mapping[str, int]:
        return {"read": self._readers.waiting, "write": self._writer.waiting}

    def upgrade(self, work: Work[T]) -> T:
        try:
            with self._engine.connect() as connection:
                return self._upgrade_on(connection, work)
        except (sa.exc.DBAPIError, sqlite3.Error) as error:
            cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
            if isinstance(cause, sqlite3.Error) and _primary_code(cause) in UNUSABLE:
                raise Unavailable(f"The database {self._path} cannot be used: {cause}.") from error
            raise

    def _upgrade_on(self, connection: sa.Connection, work: Work[T]) -> T:
        driver = _driver(connection)
        # A step changes a table by dropping it once it is copied, which must not count as removing
        # what others point to. Inside a transaction this pragma does nothing, so it comes first.
        driver.execute("pragma foreign_keys = off")
        driver.execute("begin immediate")
        try:
            shape = _one(driver, "pragma schema_version")
            result = work(self._tx(connection, is_write=True))
            if _one(driver, "pragma schema_version") != shape:
                _require_whole_references(driver)
            driver.execute("commit")
            return result
        except BaseException:
            if driver.in_transaction:
                driver.execute("rollback")
            raise

    # --- the two kinds of thread ---

    @contextmanager
    def _open_reader(self) -> Iterator[RunJobs]:
        with self._engine.connect() as connection:
            _driver(connection).execute("pragma query_only = on")

            def run(jobs: Iterable[QueuedWork[Any]]) -> None:
                for job in jobs:
                    self._read_one(connection, job)

            yield run

    @contextmanager
    def _open_writer(self) -> Iterator[RunJobs]:
        with self._engine.connect() as connection:
            _driver(connection).execute(f"pragma cache_size = {WRITER_CACHE_KIB * -1}")
            watch_changes(_driver(connection), self.context.caches.devices)

            def run(jobs: Iterable[QueuedWork[Any]]) -> None:
                batch = iter(jobs)
                first = next(batch, None)
                if first is not None:
                    self._commit_batch(connection, first, batch)
                elif not self._is_guest:
                    self._maybe_checkpoint(_driver(connection))

            yield run

    def _read_one(self, connection: sa.Connection, job: QueuedWork[Any]) -> None:
        driver = _driver(connection)
        try:
            driver.execute("begin")
            try:
                job.result = job.work(self._tx(connection, is_write=False))
            finally:
                if driver.in_transaction:  # a disk that fails has rolled back already
                    driver.execute("rollback")
        except Exception as error:
            job.error = self._translate(error)

    def _commit_batch(
        self, connection: sa.Connection, first: QueuedWork[Any], more: Iterator[QueuedWork[Any]]
    ) -> None:
        """Commit all works of a batch in one transaction; each may fail alone."""
        driver = _driver(connection)
        done: list[Tx] = []

        def run_one(job: QueuedWork[Any]) -> None:
            tx = self._tx(connection, is_write=True)
            tx.shares_commit = job is not first
            if self._run_in_savepoint(driver, tx, job):
                done.append(tx)

        taken = [first]
        try:
            self._begin(driver)
            second = next(more, None)
            if second is None:
                # Nobody else's work is in danger: what fails takes the transaction with it.
                tx = self._tx(connection, is_write=True)
                first.result = first.work(tx)
                tx.finish()
                done.append(tx)
            else:
                taken.append(second)
                run_one(first)
                run_one(second)
            for job in more:
                taken.append(job)
                run_one(job)
            self._commit(driver)
        except Exception as error:
            failure = self._translate(error)
            for job in (*taken, *more):
                job.error = failure
            self._roll_back(driver)
            return
        self._last_commit = time.monotonic()
        for tx in done:
            tx.committed()

    def _run_in_savepoint(self, driver: sqlite3.Connection, tx: Tx, job: QueuedWork[Any]) -> bool:
        """Run one of several works; whether it succeeded. Raises what fails for all of them."""
        driver.execute("savepoint work")
        try:
            job.result = job.work(tx)
            tx.finish()
        except Exception as error:
            if not driver.in_transaction:
                raise  # a full disk has rolled everything back already
            driver.execute("rollback to work")
            job.error = self._translate(error)
        driver.execute("release work")
        return job.error is None

    def _begin(self, driver: sqlite3.Connection) -> None:
        if self.broken:
            raise OutcomeUnknown  # what was queued before it broke must not seem to succeed
        driver.execute("begin immediate")

    def _commit(self, driver: sqlite3.Connection) -> None:
        try:
            driver.execute("commit")
        except sqlite3.Error as error:
            if _primary_code(error) != sqlite3.SQLITE_FULL:
                self._break(error)
            raise

    def _roll_back(self, driver: sqlite3.Connection) -> None:
        try:
            if driver.in_transaction:
                driver.execute("rollback")
        except sqlite3.Error as error:
            self._break(error)  # the next commit might include what was to be rolled back

    def _translate(self, error: Exception) -> Exception:
        """The domain's error for one of the driver."""
        if isinstance(error, LongwireError):
            return error
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        if not isinstance(cause, sqlite3.Error):
            return error
        code = _primary_code(cause)
        if code in FATAL:
            self._break(cause)
            return OutcomeUnknown()
        if code == sqlite3.SQLITE_CONSTRAINT:
            return Conflict("This conflicts with something that was stored meanwhile; read again.")
        if code == sqlite3.SQLITE_FULL:
            log.error("disk full", error=str(cause))
            self.write_failure = "the disk is full"
            return Unavailable("The disk is full; nothing was changed.")
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT}:
            return Unavailable()
        return error

    def _break(self, error: BaseException) -> None:
        self.broken = f"{type(error).__name__}: {error}"
        log.critical("database broken", error=self.broken)

    def _maybe_checkpoint(self, driver: sqlite3.Connection) -> None:
        """Checkpoint the WAL when enough has changed, or when idle.

        Rarely, because writers wait for it. The WAL file keeps its size, because overwriting costs
        less to flush than growing a file. So its size alone does not show how much there is to
        checkpoint, but growth does. Only a WAL that a long read has made huge is truncated.
        """
        changes = driver.total_changes - self._changes_in_file
        if not changes:
            return
        size = self._log_bytes()
        if size > TRUNCATE_AT_BYTES:
            self._checkpoint(driver, "truncate")
        elif (
            changes > CHECKPOINT_AFTER_CHANGES
            or size > self._log_after + CHECKPOINT_AFTER_BYTES
            or time.monotonic() - self._last_commit >= IDLE_S
        ):
            self._checkpoint(driver, "passive")

    def _log_bytes(self) -> int:
        try:
            return os.stat(self._wal).st_size
        except OSError:
            return 0

    def _checkpoint(self, driver: sqlite3.Connection, mode: str) -> None:
        """Writers wait behind this, so it waits for no reader; the next one continues."""
        try:
            driver.execute("pragma busy_timeout = 0")
            driver.execute(f"pragma wal_checkpoint({mode})")
            self._changes_in_file = driver.total_changes
            self._log_after = self._log_bytes()
        except sqlite3.Error as error:
            if _primary_code(error) in FATAL:
                self._break(error)
        finally:
            driver.execute(f"pragma busy_timeout = {BUSY_TIMEOUT_MS}")

    def _tx(self, connection: sa.Connection, *, is_write: bool) -> Tx:
        return Tx(connection, self.context, is_write=is_write)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path,
            isolation_level=None,
            timeout=BUSY_TIMEOUT_MS / 1_000,
            cached_statements=512,
            factory=self.connection_class,
        )
        for pragma in (
            "journal_mode = wal",
            f"synchronous = {self._synchronous}",
            f"busy_timeout = {BUSY_TIMEOUT_MS}",
            "wal_autocheckpoint = 0",
            "journal_size_limit = -1",  # the log's file is used again as it is
            "foreign_keys = on",
            "trusted_schema = off",
            "cell_size_check = on",
            "temp_store = memory",
            f"cache_size = {READER_CACHE_KIB * -1}",
        ):
            connection.execute(f"pragma {pragma}")
        return connection


def _driver(connection: sa.Connection) -> sqlite3.Connection:
    return cast(sqlite3.Connection, connection.connection.dbapi_connection)


def _one(driver: sqlite3.Connection, pragma: str) -> Any:
    return driver.execute(pragma).fetchone()[0]


def _require_whole_references(driver: sqlite3.Connection) -> None:
    broken = driver.execute("pragma foreign_key_check").fetchone()
    if broken is not None:
        raise RuntimeError(f"a step left rows of {broken[0]} that point to nothing in {broken[2]}")


def _primary_code(error: sqlite3.Error) -> int:
    """The error code without its extension: SQLITE_IOERR_FSYNC is an SQLITE_IOERR."""
    return int(getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
