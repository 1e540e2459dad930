"""Two verbs for everything that is kept: `read(work)` and `write(work)`.

A work is a plain function on an open transaction. Which engine runs it, on which thread, with which
others it is committed, what is retried and what an error of the driver means: all that stays here
and in the two engines beside. A write has been stored durably when its call returns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import sqlalchemy as sa

from longwire.clock import Clock, Moment
from longwire.model import LOCAL, Origin
from longwire.seal import Keyring
from longwire.store.memory import Memory

T = TypeVar("T")


class Tx:
    """An open transaction, the moment it counts as, and what a work may need beside it."""

    __slots__ = (
        "changes_rights",
        "connection",
        "generation",
        "is_write",
        "keyring",
        "memory",
        "now",
        "origin",
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
        self.is_write = is_write
        self.origin: Origin = LOCAL
        self.changes_rights = False

    def rows(
        self, statement: sa.Executable, params: Mapping[str, Any] | None = None
    ) -> Sequence[sa.Row[Any]]:
        return self.connection.execute(statement, params).all()

    def row(
        self, statement: sa.Executable, params: Mapping[str, Any] | None = None
    ) -> sa.Row[Any] | None:
        return self.connection.execute(statement, params).first()

    def change(
        self,
        statement: sa.Executable,
        params: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    ) -> int:
        """Run a statement that changes rows; how many it changed."""
        return self.connection.execute(statement, params).rowcount

    def recall(self, shelf: str, key: str | bytes, load: Callable[[], T]) -> T:
        """Something that decides who may do what, from memory when it is there.

        A transaction that is itself changing such things looks at its own rows, and what a write
        reads is never kept: it might yet be rolled back.
        """
        if self.changes_rights:
            return load()
        return self.memory.recall(shelf, key, load, since=self.generation, keep=not self.is_write)

    def committed(self) -> None:
        """The engine tells that the commit is durable."""
        if self.changes_rights:
            self.memory.forget()


Work = Callable[[Tx], T]


@dataclass(frozen=True, slots=True)
class Tools:
    """What an engine hands to every transaction."""

    clock: Clock
    keyring: Keyring
    memory: Memory


class Database(Protocol):
    """Either engine."""

    @property
    def engine_name(self) -> str: ...

    @property
    def tools(self) -> Tools: ...

    def start(self) -> None:
        """Open connections; raises when the database cannot be used safely."""

    def close(self) -> None:
        """Finish what was accepted and close."""

    async def read(self, work: Work[T]) -> T: ...

    async def write(self, work: Work[T]) -> T: ...

    def upgrade(self, work: Work[T]) -> T:
        """Run a migration or the filling of an empty database alone, before serving."""

    @property
    def waiting(self) -> Mapping[str, int]:
        """How many works wait, by lane."""

    @property
    def broken(self) -> str | None:
        """Why this database must not be used any more, if so."""
