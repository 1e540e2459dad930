"""The engine for many processes and machines: PostgreSQL, one pooled connection a thread.

A commit that PostgreSQL confirmed is on its disk: a server configured not to flush is refused. A
connection lost before the commit was sent means that nothing happened; one lost while waiting for
its response means an unknown outcome, which the caller gets as an error. So does one that was cut
because the server hangs, or because the deadline of the work has passed.

Reads and writes have their own threads and connections: commits that wait for a standby keep nobody
from reading.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
import structlog
from psycopg.adapt import Dumper
from psycopg.pq import Format

from longwire.errors import DatabaseUnreachable, OutcomeUnknown, Unavailable
from longwire.store.database import (
    Cluster,
    DatabaseContext,
    NodeRole,
    NotOnStandby,
    StandbyStatus,
    Tx,
    UnsafeServer,
    Work,
    may_lag,
)
from longwire.store.engines.binary_arrays import BigintArray
from longwire.store.engines.node_lease import NodeLease
from longwire.store.engines.postgres_connections import (
    ConnectionWatch,
    ServerConnector,
    raise_commit_warnings,
)
from longwire.store.engines.postgres_errors import (
    is_lost,
    is_outage,
    is_retryable,
    translate,
)
from longwire.store.engines.postgres_pipeline import Prepared, StatementPipeline
from longwire.store.engines.postgres_standbys import StandbyReads
from longwire.store.engines.postgres_timelines import COMPARE_INTERVAL_S, Address
from longwire.store.engines.workers import QueuedWork, RunJobs, TimedWork, WorkerPool
from longwire.store.statement import Statement, join
from longwire.work.turns import current_caller

T = TypeVar("T")

WAITING_MAX = 5_000
ATTEMPTS_MAX = 4
LEASE_TIMEOUT_S = 5.0
PREPARED = "prepared"  # noted at a connection: the statements that it has
UPGRADE_LOCK = 7_105_511_993  # any number, the same in every process

# The server gives up so much earlier than we do, so that it can say why.
STATEMENT_TIMEOUT_EARLIER_S = 5


IS_PREPARED = "select to_regclass('instance') is not null"
GET_SLOTS = "select value from instance where name = 'slots'"

SESSION = {
    "lock_timeout": "5s",
    "idle_in_transaction_session_timeout": "10s",
    "timezone": "UTC",
    "client_min_messages": "warning",  # those of a commit, whatever the role or database has
}

NOT_WRITABLE = "the database cannot be written"
STANDBY_STALLED = "commits wait for a standby"

log = structlog.get_logger()


class _BigintArrayDumper(Dumper):
    """Sends what is encoded already; the driver would visit each element."""

    format = Format.BINARY
    oid = psycopg.adapters.types["int8"].array_oid

    def dump(self, obj: BigintArray) -> BigintArray:
        return obj


psycopg.adapters.register_dumper(BigintArray, _BigintArrayDumper)


class Postgres:
    engine_name = "postgresql"
    cursor_class: type[psycopg.Cursor[Any]] = psycopg.Cursor
    write_failure: str | None = None

    def __init__(
        self,
        url: str,
        context: DatabaseContext,
        *,
        connections: int = 8,
        timeout_s: float = 35.0,
        is_pooled: bool = False,
        standbys_url: str = "",
        standbys_lag_s: float = 0.0,
    ) -> None:
        """`timeout_s` is that of a work, with the time that it waits for a thread.

        With `is_pooled`, a pooler may give every transaction another session of the server. Reads
        that may lag go to the standbys of `standbys_url`, if any.
        """
        self.context = context
        # Only a number that another process has breaks it: a lost server may come back.
        self.broken: str | None = None
        self._timeout_s = timeout_s
        self._node_lease: NodeLease | None = None
        self._left_at: dict[Address, float] = {}
        self._is_pooled = is_pooled
        statement_timeout_s = max(1, timeout_s - STATEMENT_TIMEOUT_EARLIER_S)
        self._session = {**SESSION, "statement_timeout": f"{statement_timeout_s:.0f}s"}
        self._set_configs = Statement(
            "select {configs}",
            configs=join(", ", [f"set_config('{name}', :{name}, true)" for name in self._session]),
        )
        options: dict[str, Any] = {"cursor_factory": self.cursor_class}
        if is_pooled:
            options["prepare_threshold"] = None
        else:
            settings = self._session.items()
            options["options"] = " ".join(f"-c {name}={value}" for name, value in settings)
        self._connector = ServerConnector(url, options)
        readers = max(1, connections // 2)
        writers = max(1, connections - readers)
        self._engine = self._create_engine(writers, self._connector)
        self._reading = self._create_engine(readers, self._connector, isolation_level="AUTOCOMMIT")
        self._watch = ConnectionWatch(self._connector.responds, self._leave_hung_server)
        self._connector.timelines.on_superseded = self._leave_old_primary
        self._comparer = threading.Thread(
            target=self._compare_timelines, name="primary-watch", daemon=True
        )
        self._closing = threading.Event()
        self._readers = self._create_workers("read", readers)
        self._writers = self._create_workers("write", writers)
        self._standbys: StandbyReads | None = None
        if standbys_url:
            self._standbys = StandbyReads(
                standbys_url,
                options,
                context,
                self._read_primary,
                connections=readers,
                timeout_s=timeout_s,
                lag_s=standbys_lag_s,
            )

    def _create_engine(
        self, connections: int, connector: ServerConnector, **options: Any
    ) -> sa.Engine:
        engine = sa.create_engine(
            "postgresql+psycopg://",
            pool_size=connections,
            max_overflow=1,
            # A session of the server is fast only when it has seen a statement some times.
            pool_use_lifo=True,
            hide_parameters=True,  # an error that is logged must not carry what was to be stored
            **options,
        )

        @sa.event.listens_for(engine, "do_connect")
        def connect(dialect: Any, record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
            record.info["opened_at"] = time.monotonic()
            return connector.open(**parameters)

        @sa.event.listens_for(engine, "checkout")
        def discard_left(connection: psycopg.Connection[Any], record: Any, proxy: Any) -> None:
            if self._is_left(connection, record.info["opened_at"]):
                raise sa.exc.DisconnectionError

        return engine

    def _create_workers(self, name: str, threads: int) -> WorkerPool:
        return WorkerPool(
            name,
            self._open_worker,
            threads=threads,
            batch_max=1,
            waiting_max=WAITING_MAX,
            on_death=lambda error: self._break(f"a worker died: {error!r}"),
        )

    def start(self) -> None:
        with self._reading.connect() as connection:
            _refuse_unsafe(connection)
        self._read_slots()
        self._watch.start()
        if self._connector.has_several:
            self._comparer.start()
        self._readers.start()
        self._writers.start()
        if self._standbys is not None:
            self._standbys.start()

    def close(self) -> None:
        self._closing.set()
        if self._comparer.is_alive():
            self._comparer.join()
        if self._standbys is not None:
            self._standbys.close()
        self._readers.close()
        self._writers.close()
        if self._node_lease is not None:
            self._node_lease.close()
            self._node_lease = None
        self._watch.close()
        self._engine.dispose()
        self._reading.dispose()

    def _leave_hung_server(self, address: Address) -> None:
        """Use none of the connections to it any more, also those that nobody waits for."""
        log.error("database server does not respond", host=address[0], port=address[1])
        self._left_at[address] = time.monotonic()

    def _leave_old_primary(self, address: Address) -> None:
        """The same; what waits there waits for a standby that it does not have any more."""
        log.error("database server is an old primary", host=address[0], port=address[1])
        self._left_at[address] = time.monotonic()
        self._watch.cut_all(address, "server is an old primary")

    def _is_left(self, connection: psycopg.Connection[Any], opened_at: float) -> bool:
        """Whether its server was left since it was opened."""
        address = connection.info.host, connection.info.port
        return bool(self._left_at) and opened_at < self._left_at.get(address, 0.0)

    def _compare_timelines(self) -> None:
        while not self._closing.wait(COMPARE_INTERVAL_S):
            try:
                self._connector.compare()
            except Exception:
                log.exception("comparing timelines failed")

    async def read(self, work: Work[T]) -> T:
        if self._standbys is not None and may_lag.get():
            with suppress(NotOnStandby):
                return await self._standbys.read(work)
        return await self._read_primary(work)

    async def _read_primary(self, work: Work[T]) -> T:
        return await self._readers.submit_for_caller(self._build_job(work, is_read=True))

    async def write(self, work: Work[T]) -> T:
        try:
            return await self._writers.submit_for_caller(self._build_job(work))
        finally:  # also if its outcome is unknown
            self.note_writes((current_caller.get().owner,))

    def note_writes(self, owners: Iterable[str]) -> None:
        if self._standbys is not None:
            self._standbys.note_writes(owners)

    @property
    def standby_status(self) -> StandbyStatus | None:
        return self._standbys.status if self._standbys is not None else None

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        return self._writers.submit(self._build_job(work))

    def _build_job(self, work: Work[T], *, is_read: bool = False) -> "_PrimaryWork[T]":
        return _PrimaryWork(work, time.monotonic() + self._timeout_s, is_read)

    @property
    def waiting(self) -> Mapping[str, int]:
        waiting = {"read": self._readers.waiting, "write": self._writers.waiting}
        if self._standbys is not None:
            waiting["standby"] = self._standbys.waiting
        return waiting

    def upgrade(self, work: Work[T]) -> T:
        try:
            with self._engine.connect() as connection, connection.begin() as transaction:
                _refuse_unsafe(connection)
                if self._is_pooled:
                    connection.execute(sa.text("set local client_min_messages = 'warning'"))
                connection.execute(sa.text("set local statement_timeout = 0"))
                connection.execute(sa.text("set local idle_in_transaction_session_timeout = 0"))
                connection.execute(sa.text("set local lock_timeout = '10min'"))
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(UPGRADE_LOCK)))
                tx = self._tx(connection, is_write=True)
                result = work(tx)
                _commit(connection, transaction, tx)
                return result
        except sa.exc.OperationalError as error:
            reason = str(error.orig).strip().replace("\n", " ")
            raise Unavailable(f"The database cannot be used: {reason}") from error

    def hold_writer_number(self, first: int, count: int, role: NodeRole) -> int:
        lease = NodeLease(self._open_session, self._break, self._watch, self._is_left)
        try:
            number = lease.acquire(first, count, role)
        except Exception as error:
            raise translate(error) from error
        self._node_lease = lease
        self._read_slots()  # they are not changed any more: a process lives
        return number

    def _read_slots(self) -> None:
        with self._reading.connect() as connection:
            if connection.execute(sa.text(IS_PREPARED)).scalar():
                found = connection.execute(sa.text(GET_SLOTS)).scalar()
                self.context.slots = int(found or 1)

    @property
    def slots(self) -> int:
        return self.context.slots

    @property
    def cluster(self) -> Cluster:
        return self._node_lease.cluster if self._node_lease is not None else Cluster(0)

    @property
    def held_since(self) -> float | None:
        return self._node_lease.held_since if self._node_lease is not None else 0.0

    def _open_session(self) -> psycopg.Connection[Any]:
        """A connection beside the pools, for the lease of this process."""
        return self._connector.open(autocommit=True)

    def _break(self, reason: str) -> None:
        self.broken = reason
        log.critical("database broken", error=reason)

    def _require_node_lease(self) -> None:
        lease = self._node_lease
        if lease is not None and not lease.wait(LEASE_TIMEOUT_S) and not self.broken:
            raise DatabaseUnreachable
        if self.broken:
            raise Unavailable("This process may not write any more; nothing was changed.")

    @contextmanager
    def _open_worker(self) -> Iterator[RunJobs]:
        yield self._run

    def _run(self, jobs: Iterable[QueuedWork[Any]]) -> None:
        for job in jobs:
            timed = job.work
            assert isinstance(timed, _PrimaryWork)
            run = self._read_one if timed.is_read else self._write_one
            try:
                job.result = self._retried(partial(run, timed), timed.deadline)
            except Exception as error:
                job.error = translate(error)
                if not timed.is_read and is_outage(error):
                    is_stalled = self.cluster.is_standby_stalled
                    self.write_failure = STANDBY_STALLED if is_stalled else NOT_WRITABLE

    def _retried(self, attempt: Callable[[], T], deadline: float) -> T:
        """Retry on serialization failure, deadlock or lost connection, until the deadline."""
        attempts_max = ATTEMPTS_MAX
        # After a cut, every connection of the pool is found to be lost, one after the other; after
        # rollbacks, to be without its prepared statements.
        lost_max = self._engine.pool.size() + 1  # type: ignore[attr-defined]
        while True:
            if time.monotonic() >= deadline:
                raise DatabaseUnreachable
            try:
                return attempt()
            except (sa.exc.DBAPIError, psycopg.Error) as error:
                if not is_retryable(error):
                    raise
                is_stale = isinstance(error, psycopg.errors.InvalidSqlStatementName)
                if (is_stale or is_lost(error)) and lost_max:
                    lost_max -= 1
                    continue
                attempts_max -= 1
                if not attempts_max:
                    raise

    def _read_one(self, timed: "_PrimaryWork[T]") -> T:
        with self._reading.connect() as connection:
            tx = self._tx(connection, is_write=False)
            with self._watch.watch(tx.driver, timed.deadline):
                return _run_work(connection, timed.work, tx)

    def _write_one(self, timed: "_PrimaryWork[T]") -> T:
        self._require_node_lease()
        with self._engine.connect() as connection:
            tx = self._tx(connection, is_write=True)
            with self._watch.watch(tx.driver, timed.deadline) as lift_deadline:
                if tx.statements is not None:
                    tx.statements.lift_deadline = lift_deadline
                # Explicit: a work whose statements all go to the driver would begin a transaction
                # that SQLAlchemy does not know of, and does not commit.
                transaction = connection.begin()
                if self._is_pooled:
                    _run_work(connection, self._set_session, tx)
                result = _run_work(connection, timed.work, tx)
                _run_work(connection, Tx.finish, tx)
                _commit(connection, transaction, tx)
            if self._standbys is not None and (
                tx.cache.changes_auth or tx.cache.changed_config_groups
            ):
                self._standbys.note_change_for_all()
            tx.committed()
            return result

    def _set_session(self, tx: Tx) -> None:
        """What else the session has from its start, for one transaction."""
        tx.fetch(self._set_configs, **self._session)

    def _tx(self, connection: sa.Connection, *, is_write: bool) -> Tx:
        tx = Tx(connection, self.context, is_write=is_write)
        if is_write:
            prepared = None if self._is_pooled else connection.info.setdefault(PREPARED, Prepared())
            tx.statements = StatementPipeline(tx.driver, prepared)
        return tx


def _run_work(connection: sa.Connection, work: Work[T], tx: Tx) -> T:
    """Run a work; discard a connection that was lost."""
    try:
        return work(tx)
    except psycopg.Error as error:
        if tx.driver.closed:
            connection.invalidate(error)
        raise


def _commit(connection: sa.Connection, transaction: sa.RootTransaction, tx: Tx) -> None:
    try:
        with raise_commit_warnings(tx.driver):
            if tx.statements is not None:
                tx.statements.commit()
            transaction.commit()
    except (sa.exc.DBAPIError, psycopg.Error) as error:
        if isinstance(error, psycopg.Error) and tx.driver.closed:
            connection.invalidate(error)
        if is_retryable(error) and not is_lost(error):
            raise
        reason = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        log.error("commit with unknown outcome", error=str(reason))
        raise OutcomeUnknown from error


@dataclass(slots=True)
class _PrimaryWork(TimedWork[T]):
    is_read: bool


def _refuse_unsafe(connection: sa.Connection) -> None:
    for name in ("fsync", "full_page_writes", "synchronous_commit"):
        if connection.execute(sa.text(f"show {name}")).scalar() == "off":
            raise UnsafeServer(
                f"PostgreSQL runs with {name} = off, so it may lose what it has confirmed. "
                f"Switch {name} on; longwire acknowledges only what is on disk."
            )
