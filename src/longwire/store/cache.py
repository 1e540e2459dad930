"""What a process remembers of the rows that decide who may do what.

Tokens, memberships, paths and roles are asked for on every request and change rarely. They are
remembered together and forgotten together: whatever changes one of them moves the epoch in the same
transaction, and the process that did it forgets before it answers; the others see the epoch move
within a second. Answers that were given by such rights lie in `pages` and are worth as little once
those are forgotten.
"""

import threading
from collections.abc import Hashable, Iterable
from typing import Any

from longwire.clock import Moment
from longwire.store.response_cache import Pages

ENTRIES_PER_SHELF_MAX = 50_000

NOTHING: Any = object()
_EMPTY: dict[Hashable, Any] = {}


class Memory:
    def __init__(self) -> None:
        self.generation = 0
        self.epoch = -1
        self.is_trusted = True
        self.pages = Pages()
        self.noted: set[Hashable] = set()  # what is in the database, and stays there
        self._shelves: dict[str, dict[Hashable, Any]] = {}
        self._lock = threading.Lock()

    def known(self, shelf: str, key: Hashable) -> Any | None:
        """What is remembered, or None; the quick look that needs no database."""
        found = self.find(shelf, key)
        return None if found is NOTHING else found

    def find(self, shelf: str, key: Hashable) -> Any:
        """What is remembered, or NOTHING."""
        if not self.is_trusted:
            return NOTHING
        return self._shelves.get(shelf, _EMPTY).get(key, NOTHING)

    def answer(self, question: Hashable, now: Moment) -> bytes | None:
        """What was answered to the same question, if it would be answered again."""
        if not self.is_trusted:
            return None
        return self.pages.find(question, generation=self.generation, now=now)

    def keep(self, shelf: str, key: Hashable, value: object, *, since: int) -> None:
        """Remember something, unless anything moved `since` that generation.

        It is the one in which the transaction began: it may see the database as it was at that
        time, however late it looks.
        """
        with self._lock:
            if since != self.generation:
                return
            entries = self._shelves.setdefault(shelf, {})
            if len(entries) >= ENTRIES_PER_SHELF_MAX:
                entries.clear()
            entries[key] = value

    def note(self, kept: Iterable[Hashable]) -> None:
        """Remember that these are in the database and need not be written again."""
        if len(self.noted) >= ENTRIES_PER_SHELF_MAX:
            self.noted = set()
        self.noted.update(kept)

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
