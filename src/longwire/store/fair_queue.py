"""A queue that shares what is scarce among callers, one after the other.

A caller with a thousand requests gets as many turns as one with a single request. At most
`running_max` requests of one caller run at a time, so that slow ones leave threads to the others.
The service itself, the caller `SERVICE`, has its turns like everybody, but no such limit.
"""

import queue
import threading
from collections import deque
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")

SERVICE = ""

# Who causes the work that is submitted: set for each request, inherited by its tasks.
current_caller: ContextVar[str] = ContextVar("current_caller", default=SERVICE)


class FairQueue(Generic[T]):
    """Items by caller, taken by several threads."""

    def __init__(self, running_max: int) -> None:
        self._running_max = running_max
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[T]] = {}
        self._running: dict[str, int] = {}
        # The callers whose turn it is, each once, and a ticket for each: threads wait for tickets,
        # because that needs no lock of Python's.
        self._turns: deque[str] = deque()
        self._has_turn: set[str] = set()
        self._tickets: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def count_waiting(self, caller: str) -> int:
        return len(self._waiting.get(caller, ()))

    def put(self, caller: str, item: T) -> None:
        with self._lock:
            items = self._waiting.get(caller)
            if items is None:
                items = self._waiting[caller] = deque()
            items.append(item)
            self._size += 1
            has_turn = self._give_turn(caller)
        if has_turn:
            self._tickets.put(True)  # without the lock, which is what the thread needs next

    def get(self, timeout_s: float | None) -> tuple[str, T] | None:
        """The next item, to be followed by `release`; raises `queue.Empty` after the timeout.

        None for one of the threads for each call of `stop`.
        """
        if timeout_s is None:
            is_item = self._tickets.get_nowait()
        else:
            is_item = self._tickets.get(timeout=timeout_s)
        if not is_item:
            return None
        with self._lock:
            caller = self._turns.popleft()
            self._has_turn.discard(caller)
            items = self._waiting[caller]
            item = items.popleft()
            if not items:
                del self._waiting[caller]
            self._size -= 1
            self._running[caller] = self._running.get(caller, 0) + 1
            has_turn = self._give_turn(caller)
        if has_turn:
            self._tickets.put(True)
        return caller, item

    def release(self, caller: str) -> None:
        """The item of this caller is done."""
        with self._lock:
            running = self._running.pop(caller) - 1
            if running:
                self._running[caller] = running
            has_turn = self._give_turn(caller)
        if has_turn:
            self._tickets.put(True)

    def stop(self) -> None:
        """Have one thread get None."""
        self._tickets.put(False)

    def _give_turn(self, caller: str) -> bool:
        """Whether there is one more turn, which needs a ticket."""
        if caller not in self._waiting or caller in self._has_turn:
            return False
        if caller != SERVICE and self._running.get(caller, 0) >= self._running_max:
            return False
        self._turns.append(caller)
        self._has_turn.add(caller)
        return True
