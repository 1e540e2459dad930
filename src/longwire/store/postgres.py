"""The engine for many processes and machines: PostgreSQL, one pooled connection a thread.

A commit that PostgreSQL confirmed is on its disk: a server configured not to flush is refused. A
connection lost before the commit was sent means that nothing happened; one lost while waiting for
its response means an unknown outcome, which the caller gets as an error.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
import structlog

from longwire.errors import BadInput, Conflict, OutcomeUnknown, Unavailable
from longwire.store.database import DatabaseContext, Tx, UnsafeServer, Work
from longwire.store.workers import Job, RunJobs, WorkerPool
from longwire.store.writer_lock import WriterLock

T = TypeVar("T")

WAITING_MAX = 5_000
ATTEMPTS_MAX = 4
WRITER_NUMBER_TIMEOUT_S = 5.0
UPGRADE_LOCK = 7_105_511_993  # any number, the same in every process

SESSION = {
    "statement_timeout": "30s",
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "10s",
    "timezone": "UTC",
}

# The server is unreachable, overloaded or read-only (a standby, a full disk).
UNAVAILABLE = (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction, sa.exc.TimeoutError)

log = structlog.get_logger()


class Postgres:
    engine_name = "postgresql"
    cursor_class: type[psycopg.Cursor[Any]] = psycopg.Cursor
    write_failure: str | None = None

    def __init__(self, url: str, context: DatabaseContext, *, connections: int = 8) -> None:
        self.context = context
        # Only a lost writer number breaks it: a lost server may come back.
        self.broken: str | None = None
        self._connections = connections
        self._writer_lock: WriterLock | None = None
        self._connect_args = {
            "application_name": "longwire",
            "cursor_factory": self.cursor_class,
            "connect_timeout": 5,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
            "options": " ".join(f"-c {name}={value}" for name, value in SESSION.items()),
        }
        self._engine = sa.create_engine(
            _url(url),
            pool_size=connections,
            max_overflow=1,
            hide_parameters=True,  # an error that is logged must not carry what was to be stored
            connect_args=self._connect_args,
        )
        sa.event.listen(self._engine, "connect", make_session_tables)
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._pool = WorkerPool(
            "database",
            self._open_worker,
            threads=connections,
            batch_max=1,
            waiting_max=WAITING_MAX,
        )

    def start(self) -> None:
        with self._reading.connect() as connection:
            _refuse_unsafe(connection)
        self._pool.start()

    def close(self) -> None:
        self._pool.close()
        if self._writer_lock is not None:
            self._writer_lock.close()
            self._writer_lock = None
        self._engine.dispose()

    async def read(self, work: Work[T]) -> T:
        return await self._pool.submit_for_caller(_ReadWork(work))

    async def write(self, work: Work[T]) -> T:
        return await self._pool.submit_for_caller(work)

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        return self._pool.submit(work)

    @property
    def waiting(self) -> Mapping[str, int]:
        return {"database": self._pool.waiting}

    def upgrade(self, work: Work[T]) -> T:
        try:
            with self._engine.begin() as connection:
                _refuse_unsafe(connection)
                connection.execute(sa.text("set local statement_timeout = 0"))
                connection.execute(sa.text("set local lock_timeout = '10min'"))
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(UPGRADE_LOCK)))
                return work(self._tx(connection, is_write=True))
        except sa.exc.OperationalError as error:
            reason = str(error.orig).strip().replace("\n", " ")
            raise Unavailable(f"The database cannot be used: {reason}") from error

    def hold_writer_number(self, first: int, count: int) -> int:
        lock = WriterLock(self._open_session, self._break)
        try:
            number = lock.acquire(first, count)
        except Exception as error:
            lock.close()
            raise _translate(error) from error
        self._writer_lock = lock
        return number

    def _open_session(self) -> psycopg.Connection[Any]:
        """A connection beside the pool, for a lock of this process."""
        arguments, options = self._engine.dialect.create_connect_args(self._engine.url)
        return psycopg.connect(*arguments, **{**options, **self._connect_args}, autocommit=True)

    def _break(self, reason: str) -> None:
        self.broken = reason
        log.critical("database broken", error=reason)

    def _require_writer_number(self) -> None:
        lock = self._writer_lock
        if self.broken or (lock is not None and not lock.wait(WRITER_NUMBER_TIMEOUT_S)):
            raise Unavailable("This process may not write at present; nothing was changed.")

    @contextmanager
    def _open_worker(self) -> Iterator[RunJobs]:
        yield self._run

    def _run(self, jobs: list[Job[Any]]) -> None:
        for job in jobs:
            work = job.work
            try:
                if isinstance(work, _ReadWork):
                    job.result = self._retried(partial(self._read_one, work.work))
                else:
                    job.result = self._retried(partial(self._write_one, work))
            except Exception as error:
                job.error = _translate(error)
                if not isinstance(work, _ReadWork) and _is_outage(error):
                    self.write_failure = "the database cannot be written"

    def _retried(self, attempt: Callable[[], T]) -> T:
        """Retry on serialization failure, deadlock or lost connection."""
        attempts_max = ATTEMPTS_MAX
        # After a cut, every connection of the pool is found to be lost, one after the other.
        lost_max = self._connections + 1
        while True:
            try:
                return attempt()
            except (sa.exc.DBAPIError, psycopg.Error) as error:
                if not _is_retryable(error):
                    raise
                if _is_lost(error) and lost_max:
                    lost_max -= 1
                    continue
                attempts_max -= 1
                if not attempts_max:
                    raise

    def _read_one(self, work: Work[T]) -> T:
        with self._reading.connect() as connection:
            return _run_work(connection, work, self._tx(connection, is_write=False))

    def _write_one(self, work: Work[T]) -> T:
        self._require_writer_number()
        with self._engine.connect() as connection:
            # Explicit: a work whose statements all go to the driver would begin a transaction
            # that SQLAlchemy does not know of, and does not commit.
            transaction = connection.begin()
            tx = self._tx(connection, is_write=True)
            result = _run_work(connection, work, tx)
            try:
                transaction.commit()
            except sa.exc.DBAPIError as error:
                if _is_retryable(error) and not error.connection_invalidated:
                    raise
                log.error("commit with unknown outcome", error=str(error.orig))
                raise OutcomeUnknown from error
            tx.committed()
            return result

    def _tx(self, connection: sa.Connection, *, is_write: bool) -> Tx:
        return Tx(connection, self.context, is_write=is_write)


def _run_work(connection: sa.Connection, work: Work[T], tx: Tx) -> T:
    """Run a work; discard a connection that was lost, or that lacks its session table."""
    try:
        return work(tx)
    except psycopg.Error as error:
        if tx.driver.closed or isinstance(error, psycopg.errors.UndefinedTable):
            connection.invalidate(error)
        raise


class _ReadWork:
    """A work that only reads; it runs without a transaction around it."""

    __slots__ = ("work",)

    def __init__(self, work: Work[Any]) -> None:
        self.work = work

    def __call__(self, tx: Tx) -> Any:
        return self.work(tx)


def make_session_tables(connection: psycopg.Connection[Any], record: object) -> None:
    """Where COPY puts records before they are checked against those that are there."""
    connection.autocommit = True
    try:
        # A temporary table is no write on a server that is set read-only.
        connection.execute("set session characteristics as transaction read write")
        connection.execute(
            "create temp table incoming (kind smallint, device_number bigint, stay integer,"
            " ts bigint, digest bytea, seq bigint, body text) on commit delete rows"
        )
    except psycopg.errors.ReadOnlySqlTransaction:
        pass  # a standby; should it be promoted, `_run_work` discards the connection
    finally:
        connection.execute("reset default_transaction_read_only")
        connection.autocommit = False


def _url(url: str) -> sa.URL:
    try:
        return sa.make_url(url).set(drivername="postgresql+psycopg")
    except (ValueError, sa.exc.ArgumentError) as error:
        # Not repeated here: there may be a password in it.
        raise BadInput("The URL of the database is invalid.") from error


def _refuse_unsafe(connection: sa.Connection) -> None:
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if connection.execute(sa.text(f"show {name}")).scalar() == "off":
            raise UnsafeServer(
                f"PostgreSQL runs with {name} = off, so it may lose what it has confirmed. "
                f"Switch {name} on; longwire acknowledges only what is on disk."
            )


def _is_retryable(error: sa.exc.DBAPIError | psycopg.Error) -> bool:
    """Nothing was committed, and another attempt or a new connection may succeed."""
    passing = (
        psycopg.errors.SerializationFailure,
        psycopg.errors.DeadlockDetected,
        # Nothing here has a check but partitions: a row's month was made while it came in.
        psycopg.errors.CheckViolation,
    )
    if isinstance(error, sa.exc.DBAPIError):
        return isinstance(error.orig, passing) or error.connection_invalidated
    if isinstance(error, psycopg.errors.UniqueViolation):
        # A sequence number that is in use: the next attempt takes another.
        return (error.diag.table_name or "").startswith(("arrival", "delivery"))
    return _is_lost(error) or isinstance(error, (*passing, psycopg.errors.UndefinedTable))


def _is_lost(error: sa.exc.DBAPIError | psycopg.Error) -> bool:
    if isinstance(error, sa.exc.DBAPIError):
        return error.connection_invalidated
    # What the driver raises without a code of the server's is a connection that went away.
    is_gone = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    return is_gone or isinstance(error, psycopg.errors.AdminShutdown)


def _is_outage(error: Exception) -> bool:
    """Whether any write would fail now: the server is away, its disk is full, or it only reads."""
    if isinstance(error, OutcomeUnknown):
        return True
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction | sa.exc.TimeoutError):
        return True
    # Without a code the connection was lost; 53 is a lack of disk or memory, 57P a server that
    # starts or stops. A timeout of one statement has another one.
    return isinstance(cause, psycopg.OperationalError) and (
        cause.sqlstate is None or cause.sqlstate.startswith(("53", "57P"))
    )


def _translate(error: Exception) -> Exception:
    """The domain's error for one of the driver."""
    cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
    if isinstance(cause, psycopg.errors.IntegrityError):
        return Conflict("This conflicts with something that was stored meanwhile; read again.")
    if isinstance(cause, UNAVAILABLE):
        log.warning("database unavailable", error=str(cause).strip())
        return Unavailable("The database does not answer; nothing was changed.")
    return error
