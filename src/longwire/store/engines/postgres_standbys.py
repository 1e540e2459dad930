"""Reads that may lag, on standbys of PostgreSQL.

A read names what it has to see: everything that was committed until some moment. That is the
present less the lag that is allowed, or the last write of its caller if that is later. The primary
is asked how much it had written at such a moment, once for all who wait; a standby that has
replayed as much may serve the read. So a caller sees their own writes through this process always,
and with no lag allowed, those through any process.

Authorization is as recent as that of the caches: a standby must know the epochs that they have.

Whatever a standby cannot do, the primary does: it is unreachable, behind, promoted or cut off from
its primary, a statement was cancelled by its recovery, or it responds with an error, which may be
one of the past.

How much was written is compared without the timeline, which only some roles may read on a standby.
One that is ahead of a new primary is connected to it only for the moment of each attempt to stream,
and one that is connected to nobody serves nothing.
"""

import asyncio
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from enum import StrEnum
from typing import Any, TypeVar

import psycopg
import sqlalchemy as sa
import structlog

from longwire.clock import SECOND
from longwire.dataclass import dataclass
from longwire.errors import LongwireError
from longwire.store.cache.cache_epochs import AUTH, CONFIG
from longwire.store.database import (
    DatabaseContext,
    NotOnStandby,
    StandbyPosition,
    StandbyStatus,
    Tx,
    Work,
)
from longwire.store.engines.postgres_connections import ConnectionWatch, ServerConnector
from longwire.store.engines.postgres_timelines import Address
from longwire.store.engines.workers import QueuedWork, RunJobs, TimedWork, WorkerPool
from longwire.store.records import arrival_horizon
from longwire.store.statement import Statement
from longwire.work.turns import current_caller

T = TypeVar("T")

WAITING_MAX = 5_000
PROBE_INTERVAL_S = 1.0
PROBE_TIMEOUT_S = 5.0
# How long a read waits for a standby that is just behind, and how often it looks.
WAIT_S = 0.02
LOOK_INTERVAL_S = 0.002
CALLERS_MAX = 50_000
POSITIONS_MAX = 64
POSITIONS_PER_LAG = 8
# Asking which transactions are under way costs more than asking how much was written.
HORIZON_INTERVAL_S = 0.5
HORIZON_BEHIND = 5 * SECOND

GET_WRITTEN = Statement("""
select cast(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') as bigint)
""")

# The epochs are those of a snapshot that is no newer than what was replayed.
CHECK = Statement("""
select
    pg_is_in_recovery(),
    exists (select from pg_stat_wal_receiver),
    cast(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') as bigint),
    name,
    epoch
from cache_epoch
""")

# One that receives nothing has replayed all it has received, and is behind nevertheless.
PROBE = """
select
    pg_is_in_recovery(),
    exists (select from pg_stat_wal_receiver),
    case
        when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
            and exists (select from pg_stat_wal_receiver)
            then 0
        else extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())
    end::float8
"""

log = structlog.get_logger()


class StandbyState(StrEnum):
    OK = "ok"
    BEHIND = "behind"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class WalPosition:
    """How much the primary had written when it was asked, or more."""

    asked_at: float  # monotonic
    written: int
    settled_seq: int | None = None  # arrivals up to this number are there


class WalPositions:
    """The latest positions; one question at a time, whose answer all get who waited for it."""

    def __init__(self, read_primary: Callable[[Work[Any]], Awaitable[Any]]) -> None:
        self._read_primary = read_primary
        self._known: deque[WalPosition] = deque(maxlen=POSITIONS_MAX)
        self._running: asyncio.Task[WalPosition] | None = None
        self._next: asyncio.Task[WalPosition] | None = None
        self._horizon_at = -math.inf

    def find(self, since: float) -> WalPosition | None:
        """The oldest position of this moment or later."""
        return next((each for each in list(self._known) if each.asked_at >= since), None)

    def find_settled_seq(self, replayed: int) -> int | None:
        """Up to which number a standby that has replayed so much has all arrivals."""
        for each in reversed(list(self._known)):
            if each.settled_seq is not None and each.written <= replayed:
                return each.settled_seq
        return None

    def refresh(self, interval_s: float) -> None:
        """Ask for the next position, if the last one is older than this."""
        if self._next is None and self.find(time.monotonic() - interval_s) is None:
            self._begin()

    async def ask(self) -> WalPosition:
        """A position of this moment or later."""
        return await asyncio.shield(self._next or self._begin())

    def _begin(self) -> "asyncio.Task[WalPosition]":
        # In a context of its own: it is nobody's request, and goes to the primary.
        self._next = asyncio.create_task(self._ask_after(self._running), context=Context())
        # Should nobody wait for it any more, its error is of no interest.
        self._next.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._next

    async def _ask_after(self, running: "asyncio.Task[WalPosition] | None") -> WalPosition:
        if running is not None and not running.done():
            await asyncio.wait([running])
        self._running, self._next = self._next, None
        asked_at = time.monotonic()
        is_due = asked_at - self._horizon_at >= HORIZON_INTERVAL_S
        try:
            written, settled = await self._read_primary(_read_horizon if is_due else _read_written)
        except LongwireError:
            self._known.clear()  # the next primary may have written less
            raise
        if is_due:
            self._horizon_at = asked_at
        position = WalPosition(asked_at, written, settled)
        self._known.append(position)
        return position


def _read_written(tx: Tx) -> tuple[int, int | None]:
    return int(tx.fetch(GET_WRITTEN)[0][0]), None


def _read_horizon(tx: Tx) -> tuple[int, int | None]:
    # In this order: who is not under way any more has written all.
    settled = arrival_horizon.get_settled_seq(tx, HORIZON_BEHIND)
    return _read_written(tx)[0], settled


class WriteTimes:
    """When each caller last wrote, as far back as it matters; bounded."""

    def __init__(self, kept_s: float) -> None:
        self._kept_s = kept_s
        self._times: OrderedDict[str, float] = OrderedDict()
        self._floor = -math.inf

    def note(self, callers: Iterable[str]) -> None:
        if not self._kept_s:
            return
        now = time.monotonic()
        for caller in callers:
            self._times[caller] = now
            self._times.move_to_end(caller)
        while self._times:
            oldest = next(iter(self._times.values()))
            is_old = oldest < now - self._kept_s
            if not is_old and len(self._times) <= CALLERS_MAX:
                break
            self._times.popitem(last=False)
            if not is_old:
                self._floor = max(self._floor, oldest)

    def note_all(self) -> None:
        """Something was written that concerns everybody."""
        self._floor = time.monotonic()

    @property
    def floor(self) -> float:
        """Before this, anybody may have written."""
        return self._floor

    def get(self, caller: str) -> float:
        return max(self._times.get(caller, -math.inf), self._floor)


@dataclass(slots=True)
class _StandbyWork(TimedWork[T]):
    required: WalPosition  # what the standby must have replayed


class StandbyReads:
    """Threads with connections to standbys, and what a standby must have replayed."""

    def __init__(
        self,
        url: str,
        options: dict[str, Any],
        context: DatabaseContext,
        read_primary: Callable[[Work[Any]], Awaitable[Any]],
        *,
        connections: int,
        timeout_s: float,
        lag_s: float,
    ) -> None:
        self._context = context
        self._timeout_s = timeout_s
        self._lag_s = lag_s
        self._connector = ServerConnector(url, {**options, "target_session_attrs": "standby"})
        self._watch = ConnectionWatch(self._connector.responds, self._leave)
        self._engine = self._create_engine(connections)
        self._workers = WorkerPool(
            "standby",
            self._open_worker,
            threads=connections,
            batch_max=1,
            waiting_max=WAITING_MAX,
        )
        self._positions = WalPositions(read_primary)
        self._writes = WriteTimes(lag_s)
        self._closing = threading.Event()
        self._prober = threading.Thread(target=self._probe, name="standby-probe", daemon=True)
        self._state = StandbyState.UNREACHABLE
        self._replay_lag_s = 0.0
        self._no_waiting_until = -math.inf
        self._served = self._declined = 0

    def _create_engine(self, connections: int) -> sa.Engine:
        engine = sa.create_engine(
            "postgresql+psycopg://",
            pool_size=connections,
            max_overflow=1,
            hide_parameters=True,
            isolation_level="AUTOCOMMIT",
        )

        @sa.event.listens_for(engine, "do_connect")
        def connect(dialect: Any, record: Any, arguments: Any, parameters: dict[str, Any]) -> Any:
            return self._connector.open(**parameters)

        return engine

    def start(self) -> None:
        self._watch.start()
        self._workers.start()
        self._prober.start()

    def close(self) -> None:
        self._closing.set()
        self._workers.close()
        if self._prober.is_alive():
            self._prober.join()
        self._watch.close()
        self._engine.dispose()

    @property
    def status(self) -> StandbyStatus:
        return StandbyStatus(self._state.value, self._replay_lag_s, self._served, self._declined)

    @property
    def waiting(self) -> int:
        return self._workers.waiting

    def note_writes(self, owners: Iterable[str]) -> None:
        self._writes.note(owners)

    def note_change_for_all(self) -> None:
        """Authorization or configuration was changed here, which the caches do not show yet."""
        self._writes.note_all()

    async def read(self, work: Work[T]) -> T:
        """Run a work on a standby; NotOnStandby if none can do it now."""
        if self._state is StandbyState.UNREACHABLE:
            self._declined += 1
            raise NotOnStandby
        try:
            required = await self._find_required()
        except LongwireError:
            raise NotOnStandby from None
        deadline = time.monotonic() + self._timeout_s
        timed = _StandbyWork(work, deadline, required)
        try:
            submitted = self._workers.submit_for_caller(timed)
        except LongwireError:
            raise NotOnStandby from None
        return await submitted

    async def _find_required(self) -> WalPosition:
        """What a standby must have replayed for the current caller."""
        since = max(time.monotonic() - self._lag_s, self._writes.get(current_caller.get().owner))
        found = self._positions.find(since)
        if found is None:
            return await self._positions.ask()
        self._positions.refresh(self._lag_s / POSITIONS_PER_LAG)
        return found

    # --- in a thread ---

    @contextmanager
    def _open_worker(self) -> Iterator[RunJobs]:
        yield self._run

    def _run(self, jobs: Iterable[QueuedWork[Any]]) -> None:
        for job in jobs:
            timed = job.work
            assert isinstance(timed, _StandbyWork)
            try:
                job.result = self._read_one(timed)
                self._served += 1
            except Exception as error:
                self._declined += 1
                job.error = self._decline(error)

    def _decline(self, error: Exception) -> Exception:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        if isinstance(cause, psycopg.OperationalError) and (
            cause.sqlstate is None or cause.sqlstate.startswith("57P")
        ):
            self._set_unreachable(str(cause).strip())
        elif isinstance(cause, psycopg.Error):
            log.info("read declined by a standby", error=str(cause).strip())
        return NotOnStandby()

    def _read_one(self, timed: _StandbyWork[T]) -> T:
        pool = self._engine.pool
        with self._engine.connect() as connection:
            tx = Tx(connection, self._context, is_write=False)
            tx.standby = StandbyPosition()
            try:
                with self._watch.watch(tx.driver, timed.deadline):
                    self._admit(tx, timed.required)
                    return timed.work(tx)
            finally:
                # A pool that was disposed meanwhile would not close it.
                if tx.driver.closed or self._engine.pool is not pool:
                    connection.invalidate()

    def _admit(self, tx: Tx, required: WalPosition) -> None:
        """Return when the standby has replayed enough; raise if it does not soon."""
        if required.asked_at < self._writes.floor:
            raise NotOnStandby  # what was changed meanwhile is not to be cached as it was before
        started = time.monotonic()
        may_wait = started >= self._no_waiting_until
        while True:
            rows = tx.fetch(CHECK)
            is_standby, is_streaming, replayed, *_ = rows[0]
            if not is_standby:
                self._set_unreachable("it is a primary now")
            if not (is_standby and is_streaming):
                raise NotOnStandby
            is_recent = (replayed or 0) >= required.written
            if is_recent and self._knows_epochs({name: epoch for *_, name, epoch in rows}):
                tx.standby = StandbyPosition(self._positions.find_settled_seq(replayed))
                return
            if not may_wait or self._state is not StandbyState.OK:
                raise NotOnStandby
            now = time.monotonic()
            if now >= started + WAIT_S:
                self._no_waiting_until = now + PROBE_INTERVAL_S
                raise NotOnStandby
            time.sleep(LOOK_INTERVAL_S)

    def _knows_epochs(self, epochs: dict[str, int]) -> bool:
        auth, config = self._context.caches.auth, self._context.caches.config
        return (
            auth.is_trusted
            and 0 <= auth.epoch <= epochs[AUTH]
            and 0 <= config.epoch <= epochs[CONFIG]
        )

    # --- whether it is there ---

    def _leave(self, address: Address) -> None:
        self._set_unreachable("it does not respond")

    def _set_unreachable(self, reason: str) -> None:
        if self._state is not StandbyState.UNREACHABLE:
            log.warning("standby unreachable; the primary serves its reads", reason=reason)
        self._state = StandbyState.UNREACHABLE
        self._engine.dispose()  # those that are in use are closed when they are given back

    def _probe(self) -> None:
        session: psycopg.Connection[Any] | None = None
        while not self._closing.is_set():
            try:
                session = session or self._connector.open(autocommit=True)
                self._probe_once(session)
            except psycopg.Error as error:
                self._set_unreachable(str(error).strip())
                _close(session)
                session = None
            self._closing.wait(PROBE_INTERVAL_S)
        _close(session)

    def _probe_once(self, session: psycopg.Connection[Any]) -> None:
        with self._watch.watch(session, time.monotonic() + PROBE_TIMEOUT_S):
            is_standby, is_streaming, lag_s = session.execute(PROBE).fetchall()[0]
        if not is_standby:
            raise psycopg.OperationalError("it is a primary now")
        self._replay_lag_s = lag_s or 0.0
        is_recent = self._replay_lag_s <= max(self._lag_s, PROBE_INTERVAL_S)
        is_ok = is_streaming and is_recent
        self._state = StandbyState.OK if is_ok else StandbyState.BEHIND


def _close(session: psycopg.Connection[Any] | None) -> None:
    if session is not None:
        with suppress(psycopg.Error):
            session.close()
