"""The interface of both engines: `read(work)` and `write(work)`.

A work is a plain function on an open transaction. The thread it runs on, the works it is committed
with, retries and the driver's errors are the engine's business. A write is durable when its call
returns.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import starmap
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from longwire.clock import Clock, Moment
from longwire.errors import OperatorError
from longwire.group_limits import ServiceLimits
from longwire.ids import GroupIds
from longwire.model import LOCAL, Origin
from longwire.seal import Keyring
from longwire.store.cache.cache import Caches, TransactionCache
from longwire.store.statement import Statement

T = TypeVar("T")

# A commit that waits for a standby for longer than this makes it a stalled one.
COMMIT_STALLED_S = 3.0

# Whether what the current request reads may be somewhat old: set by its route, inherited by tasks.
may_lag: ContextVar[bool] = ContextVar("may_lag", default=False)


@dataclass(slots=True)
class StandbyPosition:
    """How far the standby is that serves a read."""

    settled_seq: int | None = None  # arrivals up to this number are there; None if not known


@dataclass(slots=True)
class TransactionEnding:
    """What is done when a work is done: before its commit, and after it."""

    changes: list[Any] = field(default_factory=list)  # to forward before it
    calls: list[Callable[[], None]] = field(default_factory=list)  # to call after it


class StatementQueue(Protocol):
    """Statements that wait to be sent to PostgreSQL together."""

    is_held: bool  # until whoever adds some has all of them
    # For a work that takes as long as it takes, and for which nobody waits.
    lift_deadline: Callable[[], None]

    def add(
        self,
        sql: str,
        values: Sequence[Any],
        on_rows: Callable[[list[Any]], None] | None = None,
    ) -> None:
        """A statement with `$1`; its values are numbers, texts and encoded arrays."""

    def run(self) -> int:
        """Send all; how many rows the last one has changed."""

    def commit(self) -> None:
        """Send all, and commit."""


class Tx:
    """An open transaction, its time, and what a work needs with it."""

    __slots__ = (
        "_driver",
        "_ending",
        "cache",
        "connection",
        "context",
        "find_traceparent",
        "is_postgres",
        "is_write",
        "now",
        "origin",
        "shares_commit",
        "slot",
        "standby",
        "statements",
    )

    def __init__(
        self, connection: sa.Connection, context: "DatabaseContext", *, is_write: bool
    ) -> None:
        self.connection = connection
        self.context = context
        self.now: Moment = context.clock.now()
        self.cache = TransactionCache(context.caches, is_write=is_write)
        self.is_write = is_write
        self.is_postgres = connection.dialect.name == "postgresql"
        self.origin: Origin = LOCAL
        self.slot = 0  # that this transaction counts in, if it belongs to one
        # By the number of an arrival: the span that it belongs to, if anything here is traced.
        self.find_traceparent: Callable[[int], str | None] | None = None
        # Whether other works are in the same transaction, before this one.
        self.shares_commit = False
        self.standby: StandbyPosition | None = None  # of a read that a standby serves
        self.statements: StatementQueue | None = None  # of a write on PostgreSQL
        self._ending = TransactionEnding()
        self._driver: Any = None

    @property
    def caches(self) -> Caches:
        return self.context.caches

    @property
    def keyring(self) -> Keyring:
        return self.context.keyring

    @property
    def slots(self) -> int:
        """How many there are."""
        return self.context.slots

    def rows(
        self, statement: sa.Executable, params: Mapping[str, Any] | None = None
    ) -> Sequence[sa.Row[Any]]:
        return self.connection.execute(statement, params).all()

    def row(
        self, statement: sa.Executable, params: Mapping[str, Any] | None = None
    ) -> sa.Row[Any] | None:
        return self.connection.execute(statement, params).first()

    def execute(
        self,
        statement: sa.Executable,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> int:
        """Run a statement; how many rows it changed."""
        return self.connection.execute(statement, params).rowcount

    def count(self, *conditions: sa.ColumnElement[bool]) -> int:
        """How many rows of a table fulfil the conditions."""
        return int(self.rows(sa.select(sa.func.count()).where(*conditions))[0][0])

    # --- statements ---

    def fetch(self, statement: Statement[T], /, **values: Any) -> list[T]:
        """Run a statement; what its rows become."""
        rows: list[Any] = self._run(statement, values).fetchall()
        return rows if statement.into is None else list(starmap(statement.into, rows))

    def first(self, statement: Statement[T], /, **values: Any) -> T | None:
        """The same of the first row; None if there is none."""
        found = self.fetch(statement, **values)
        return found[0] if found else None

    def run(self, statement: Statement[Any], /, **values: Any) -> int:
        """Run a statement; how many rows it changed."""
        return int(self._run(statement, values).rowcount)

    def run_many(self, statement: Statement[Any], values: Sequence[Mapping[str, Any]], /) -> None:
        """Run a statement without arrays with the values of each of many rows."""
        text = statement.psycopg if self.is_postgres else statement.sqlite
        self.driver.cursor().executemany(text, values)

    def _run(self, statement: Statement[Any], values: Mapping[str, Any]) -> Any:
        driver = self._driver or self.driver
        if self.is_postgres:
            if statement.postgres_arrays:
                values = statement.encode(values, is_postgres=True)
            return driver.execute(statement.psycopg, values, **statement.postgres_options)
        if statement.sqlite_arrays:
            values = statement.encode(values, is_postgres=False)
        return driver.execute(statement.sqlite, values)

    # --- hot paths: the driver without SQLAlchemy ---

    @property
    def driver(self) -> Any:
        """The driver's own connection."""
        if self._driver is None:
            self._driver = self.connection.connection.dbapi_connection
        return self._driver

    # --- for the commits of records on PostgreSQL: several statements in one round trip ---

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """Send what is inserted in bulk in this block together; nobody learns how many rows."""
        queue = self.statements
        if queue is None:
            yield
            return
        queue.is_held = True
        yield
        queue.is_held = False
        queue.run()

    def insert_raw(self, sql: str, arrays: Sequence[bytes]) -> int:
        """Run a statement with `$1` on encoded arrays; how many rows it changed."""
        assert self.statements is not None
        self.statements.add(sql, arrays)
        return 0 if self.statements.is_held else self.statements.run()

    def queue(
        self, statement: Statement[T], on_rows: Callable[[list[T]], None], /, **values: Any
    ) -> None:
        """Run a statement with the next one that is queued, or at once where there is no queue.

        Its values are numbers, texts and encoded arrays.
        """
        if self.statements is None:
            on_rows(self.fetch(statement, **values))
            return
        text, names = statement.numbered
        into: Any = statement.into or _make_tuple
        self.statements.add(
            text, [values[name] for name in names], lambda rows: on_rows(list(starmap(into, rows)))
        )

    def fetch_queued(self, statement: Statement[T], /, **values: Any) -> list[T]:
        """Run what is queued and a statement; what its rows become."""
        found: list[T] = []
        self.queue(statement, found.extend, **values)
        if self.statements is not None:
            self.statements.run()
        return found

    def on_commit(self, call: Callable[[], None]) -> None:
        """Have something called after the commit, on any thread; it must not fail."""
        self._ending.calls.append(call)

    def note(self, changes: Iterable[Any]) -> None:
        """Have changes forwarded to the connectors that ask for them, in this transaction."""
        self._ending.changes += changes

    def take_noted(self) -> list[Any]:
        """The changes that are to be forwarded, by who forwards them."""
        changes, self._ending.changes = self._ending.changes, []
        return changes

    def finish(self) -> None:
        """Called by the engine when the work is done, before the commit."""
        if self._ending.changes:
            self.context.forward_changes(self)

    def committed(self) -> None:
        """Called by the engine when the commit is durable, before anyone sees its result."""
        self.cache.publish()
        for call in self._ending.calls:
            call()


def _make_tuple(*columns: Any) -> tuple[Any, ...]:
    return columns


Work = Callable[[Tx], T]


class NotOnStandby(Exception):
    """A standby cannot serve a read; the primary can."""


class UnsafeServer(OperatorError):
    """The server is configured not to flush commits."""


@dataclass(slots=True)
class DatabaseContext:
    """What an engine gives to every transaction."""

    clock: Clock
    keyring: Keyring
    caches: Caches = field(default_factory=Caches)
    group_ids: GroupIds = field(default_factory=GroupIds)
    # For records that were moved out of the tables; set by whoever assembles the process.
    archive: Any = None
    slots: int = 1  # into which devices are divided; known once the database is started
    limits: ServiceLimits = field(default_factory=ServiceLimits)  # set by the same
    # Inserts the deliveries of what a transaction has noted; set by the same.
    forward_changes: Callable[["Tx"], None] = field(default=lambda tx: None)


class NodeRole(StrEnum):
    """What a process does for all of them."""

    SERVE = "serve"
    API = "api"  # the same without a delivery engine
    DELIVER = "deliver"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The processes that live, by their numbers; this one among them. And how commits do."""

    number: int
    roles: Mapping[int, NodeRole] = field(default_factory=dict)
    standbys: int | None = 0  # that confirm commits; None if the server does not say
    commit_wait_s: float = 0.0  # how long a commit has waited for them, at most
    delivering: tuple[int, ...] = field(init=False)
    serving: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        roles = self.roles.items()
        delivering = tuple(number for number, role in roles if role != NodeRole.API)
        serving = tuple(number for number, role in roles if role != NodeRole.DELIVER)
        object.__setattr__(self, "delivering", delivering)
        object.__setattr__(self, "serving", serving)

    @property
    def is_standby_stalled(self) -> bool:
        return self.commit_wait_s >= COMMIT_STALLED_S

    @property
    def is_leader(self) -> bool:
        """Whether this process does what one of them has to do; for a moment two may think so."""
        return not self.serving or min(self.serving) == self.number

    def get_share(self, channel_number: int, total: int) -> int:
        """How many of `total` attempts of a channel this process may have in flight.

        Remainders go to another process with each channel. With a total of 1, one process has it.
        """
        nodes = self.delivering
        if len(nodes) < 2 or self.number not in nodes:
            return total
        rank = (nodes.index(self.number) + channel_number) % len(nodes)
        return total // len(nodes) + (rank < total % len(nodes))

    def list_slots(self, channel_number: int, total: int, slots: int) -> Collection[int]:
        """The slots in which this process sends the messages of a channel.

        They are divided among those that have a share of `total`; where these are more than there
        are slots, several have the same. While processes come and go, two may think that they have
        one, or nobody for some seconds; what was claimed belongs to who has claimed it.
        """
        if not self.get_share(channel_number, total):
            return ()
        nodes = self.delivering
        if slots == 1 or len(nodes) < 2 or self.number not in nodes:
            return range(slots)
        place = nodes.index(self.number)
        if total < len(nodes):
            place = (place + channel_number) % len(nodes)
        step = min(len(nodes), total, slots)
        return range(place % step, slots, step)


@dataclass(frozen=True, slots=True)
class StandbyStatus:
    """How reads on standbys do, seen by this process."""

    state: str  # ok, behind or unreachable
    lag_s: float
    served: int
    declined: int  # and served by the primary


class Database(Protocol):
    """Either engine."""

    @property
    def engine_name(self) -> str: ...

    @property
    def context(self) -> DatabaseContext: ...

    @property
    def slots(self) -> int:
        """Into how many slots devices are divided; known once it is started."""

    def start(self) -> None:
        """Open connections; raises when the database cannot be used safely."""

    def close(self) -> None:
        """Finish the queued works and close."""

    async def read(self, work: Work[T]) -> T:
        """Run a work that only reads; in the turn of the current caller, as a write.

        If it `may_lag`, it is run on a standby where there is one, and perhaps again.
        """

    async def write(self, work: Work[T]) -> T: ...

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        """Start a write of the service itself at once; await the future later."""

    def note_writes(self, owners: Iterable[str]) -> None:
        """Have the reads for these owners see what was submitted for them and is committed."""

    @property
    def standby_status(self) -> StandbyStatus | None:
        """None if nothing is read from standbys."""

    def upgrade(self, work: Work[T]) -> T:
        """Run a migration or the first fill of a database, alone, before serving."""

    def hold_writer_number(self, first: int, count: int, role: NodeRole) -> int:
        """Hold a free number of `count`, from `first` on, until closed; no other process has it.

        If it is lost to another process, nothing is written any more, and `broken` says so.
        """

    @property
    def cluster(self) -> Cluster:
        """Which processes live, as of some seconds ago."""

    @property
    def held_since(self) -> float | None:
        """Since when this process is one of them without a pause, monotonic; None if it is not."""

    # Why a write failed that could have been any: a full disk, a lost server. Set by the engine,
    # cleared by whoever has seen a write succeed.
    write_failure: str | None

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many works are queued, by worker pool."""

    @property
    def broken(self) -> str | None:
        """Why this database must not be used any more; None while it may."""
