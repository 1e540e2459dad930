"""Pages of records that were put together lately, for whoever looks again.

Devices speak rarely and people look often: a dashboard asks for the same page every few seconds.
A page is remembered together with how many commits the process knew of when its transaction began,
and used only while no later commit touched its device, so that it is never older than an answer
somebody already got. Only the process that alone writes its database can know that, so this is for
the embedded one.
"""

import threading
from collections.abc import Hashable, Iterable
from typing import Any

CHARACTERS_MAX = 32 * 1024 * 1024
DEVICES_MAX = 50_000


class Pages:
    def __init__(self) -> None:
        self.commits = 0
        self._touched: dict[int, int] = {}  # device -> the last commit that changed its records
        self._forgotten = 0  # what was touched up to this commit is not known one by one
        self._kept: dict[Hashable, tuple[int, int, Any]] = {}
        self._characters = 0
        self._lock = threading.Lock()

    def find(self, device_number: int, key: Hashable) -> Any | None:
        found = self._kept.get((device_number, key))
        if found is None or found[0] < self._touched.get(device_number, self._forgotten):
            return None
        return found[2]

    def keep(
        self, device_number: int, key: Hashable, page: Any, characters: int, *, as_of: int
    ) -> None:
        """Remember a page that a transaction saw which began when there were so many commits."""
        with self._lock:
            self._drop((device_number, key))
            self._kept[(device_number, key)] = (as_of, characters, page)
            self._characters += characters
            while self._characters > CHARACTERS_MAX:
                self._drop(next(iter(self._kept)))

    def touched(self, device_numbers: Iterable[int]) -> None:
        """Tell that a commit changed records of these devices; before anyone hears of it."""
        with self._lock:
            self.commits += 1
            self._touched.update(dict.fromkeys(device_numbers, self.commits))
            if len(self._touched) > DEVICES_MAX:
                self._forgotten = self.commits
                self._touched.clear()

    def _drop(self, key: Hashable) -> None:
        dropped = self._kept.pop(key, None)
        if dropped is not None:
            self._characters -= dropped[1]
