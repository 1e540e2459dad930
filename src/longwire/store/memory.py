"""What a process remembers of the rows that decide who may do what.

Tokens, memberships, paths and roles are asked for on every request and change rarely. They are
remembered together and forgotten together: whatever changes one of them moves the epoch in the same
transaction, and the process that did it forgets before it answers; the others see the epoch move
within a second.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")

ENTRIES_PER_SHELF_MAX = 50_000

_NOTHING = object()


class Memory:
    def __init__(self) -> None:
        self.generation = 0
        self.epoch = -1
        self.is_trusted = True
        self._shelves: dict[str, dict[Hashable, Any]] = {}
        self._lock = threading.Lock()

    def known(self, shelf: str, key: Hashable) -> Any | None:
        """What is remembered, or None; the quick look that needs no database."""
        return self._shelves.get(shelf, {}).get(key) if self.is_trusted else None

    def recall(
        self, shelf: str, key: Hashable, load: Callable[[], T], *, since: int, keep: bool
    ) -> T:
        """What is remembered, else what `load` says, which is kept if nothing moved `since` then.

        `since` is the generation in which the transaction began: it may see the database as it was
        at that time, however late it looks.
        """
        if self.is_trusted:
            found = self._shelves.get(shelf, {}).get(key, _NOTHING)
            if found is not _NOTHING:
                return cast(T, found)
        value = load()
        if keep:
            self._keep(shelf, key, value, since)
        return value

    def forget(self) -> None:
        with self._lock:
            self.generation += 1
            self._shelves = {}

    def saw_epoch(self, epoch: int) -> None:
        """The database says this is the epoch; anything remembered under another one is stale."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.forget()
        self.is_trusted = True

    def distrust(self) -> None:
        """The epoch could not be read for too long: ask the database every time from now on."""
        self.is_trusted = False

    def _keep(self, shelf: str, key: Hashable, value: object, generation: int) -> None:
        with self._lock:
            if generation != self.generation:
                return
            entries = self._shelves.setdefault(shelf, {})
            if len(entries) >= ENTRIES_PER_SHELF_MAX:
                entries.clear()
            entries[key] = value
