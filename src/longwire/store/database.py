"""Two verbs for everything that is kept: `read(work)` and `write(work)`.

A work is a plain function on an open transaction. Which engine runs it, on which thread, with which
others it is committed, what is retried and what an error of the driver means: all that stays here
and in the two engines beside. A write has been stored durably when its call returns.
"""

import asyncio
import functools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from longwire.clock import Clock, Moment
from longwire.model import LOCAL, Actor, Origin
from longwire.seal import Keyring
from longwire.store.cache import NOTHING, Memory
from longwire.store.response_cache import Page

T = TypeVar("T")

Question = tuple[Actor, str, bytes]  # who asks, where, and with which parameters


class Tx:
    """An open transaction, the moment it counts as, and what a work may need beside it."""

    __slots__ = (
        "_driver",
        "_loaded",
        "_on_commit",
        "as_of",
        "changes_rights",
        "connection",
        "generation",
        "is_postgres",
        "is_write",
        "keyring",
        "memory",
        "now",
        "origin",
        "touched_devices",
    )

    def __init__(
        self,
        connection: sa.Connection,
        now: Moment,
        keyring: Keyring,
        memory: Memory,
        *,
        is_write: bool,
    ) -> None:
        self.connection = connection
        self.now = now
        self.keyring = keyring
        self.memory = memory
        self.generation = memory.generation  # before the first look at the database
        self.as_of = memory.pages.commits
        self.is_write = is_write
        self.origin: Origin = LOCAL
        self.changes_rights = False
        self.touched_devices: set[int] = set()  # whose records or stays come or go
        self.is_postgres = connection.dialect.name == "postgresql"
        self._on_commit: list[Callable[[], None]] = []
        self._driver: Any = None
        self._loaded: dict[tuple[str, str | bytes], Any] = {}

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
        """Run a statement that changes rows; how many it changed."""
        return self.connection.execute(statement, params).rowcount

    # --- for hot paths: the driver itself ---

    @property
    def driver(self) -> Any:
        """The driver's own connection."""
        if self._driver is None:
            self._driver = self.connection.connection.dbapi_connection
        return self._driver

    def to_driver_sql(self, sql: str) -> str:
        """SQL with `:name` for its values, as the driver wants it."""
        return _for_psycopg(sql) if self.is_postgres else sql

    def fetch_raw(self, sql: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """The rows of a query with `:name` for its values, as plain tuples."""
        return self.driver.execute(self.to_driver_sql(sql), values).fetchall()  # type: ignore[no-any-return]

    def pipeline(self) -> AbstractContextManager[Any]:
        """What is changed in here, without asking for anything back, goes in one round trip."""
        pipeline: AbstractContextManager[Any] = (
            self.driver.pipeline() if self.is_postgres else nullcontext()
        )
        return pipeline

    def cached(self, namespace: str, key: str | bytes, load: Callable[[], T]) -> T:
        """Something that decides who may do what, from memory when it is there.

        A transaction that is itself changing such things looks at its own rows. What a write reads
        is remembered only once it is committed: what it saw might yet be rolled back.
        """
        if self.changes_rights:
            return load()
        found = self.memory.find(namespace, key)
        if found is NOTHING:
            found = self._loaded.get((namespace, key), NOTHING)
        if found is not NOTHING:
            return found  # type: ignore[no-any-return]
        value = load()
        if self.is_write:
            self._loaded[(namespace, key)] = value
        else:
            self.memory.keep(namespace, key, value, since=self.generation)
        return value

    def remember(
        self, question: Question, answer: bytes, *, device_number: int, until: Moment
    ) -> None:
        """Let whoever asks the same again have the same answer, without a transaction.

        It must rest on nothing but rights, one device with its stays and records, and the time.
        Other processes write to PostgreSQL, so there it would soon be wrong.
        """
        if not self.is_postgres and not self.is_write:
            page = Page(answer, device_number, until, self.generation, self.as_of)
            self.memory.pages.keep(question, page, len(question[-1]))

    def on_commit(self, call: Callable[[], None]) -> None:
        """Have something called once this is committed, from whichever thread; it must not fail."""
        self._on_commit.append(call)

    def committed(self) -> None:
        """The engine tells that the commit is durable."""
        for call in self._on_commit:
            call()
        if self.touched_devices:
            self.memory.pages.touched(self.touched_devices)
        if self.changes_rights:
            self.memory.forget()
            return
        for (namespace, key), value in self._loaded.items():
            self.memory.keep(namespace, key, value, since=self.generation)


@functools.cache
def _for_psycopg(sql: str) -> str:
    return re.sub(r":([a-z_]+)", r"%(\1)s", sql)


Work = Callable[[Tx], T]


class UnsafeServer(Exception):
    """The server was told not to flush what it confirms."""


@dataclass(frozen=True, slots=True)
class DatabaseContext:
    """What an engine hands to every transaction."""

    clock: Clock
    keyring: Keyring
    memory: Memory


class Database(Protocol):
    """Either engine."""

    @property
    def engine_name(self) -> str: ...

    @property
    def context(self) -> DatabaseContext: ...

    def start(self) -> None:
        """Open connections; raises when the database cannot be used safely."""

    def close(self) -> None:
        """Finish what was accepted and close."""

    async def read(self, work: Work[T]) -> T: ...

    async def write(self, work: Work[T]) -> T: ...

    def submit(self, work: Work[T]) -> asyncio.Future[T]:
        """The same as `write`, begun at once; for whoever has something to do meanwhile."""

    def upgrade(self, work: Work[T]) -> T:
        """Run a migration or the filling of an empty database alone, before serving."""

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many works wait, by lane."""

    @property
    def broken(self) -> str | None:
        """Why this database must not be used any more, if so."""
