"""A queue that shares what is scarce among callers, one after the other.

A caller with a thousand requests gets as many turns as one with a single request. At most
`running_max` requests of one caller run at a time, so that slow ones leave threads to the others.
The service itself, the caller `SERVICE`, has its turns like everybody, but no such limit.
"""

import queue
import threading
import time
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
        # The callers whose turn it is, each once: they have something waiting, and may run it.
        self._turns: deque[str] = deque()
        self._has_turn: set[str] = set()
        # A lock for each idle thread, which waits for its release: only the thread that became idle
        # last is woken, and the others sleep.
        self._idle: list[threading.Lock] = []
        self._stops = 0  # calls of stop that no thread has answered yet
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
            self._give_turn(caller)

    def get(self, timeout_s: float | None) -> tuple[str, T] | None:
        """The next item, to be followed by `release`; raises `queue.Empty` after the timeout.

        With None for the timeout it does not wait. Returns None to one of the threads for each call
        of `stop`, once nobody has a turn.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                if self._turns:
                    return self._take_turn()
                if self._stops:
                    self._stops -= 1
                    return None
                if deadline is None:
                    raise queue.Empty
                wakeup = threading.Lock()
                wakeup.acquire()
                self._idle.append(wakeup)
            left_s = max(0.0, deadline - time.monotonic())
            if not wakeup.acquire(timeout=left_s) and self._give_up(wakeup):
                raise queue.Empty

    def release(self, caller: str) -> None:
        """The item of this caller is done."""
        with self._lock:
            running = self._running.pop(caller) - 1
            if running:
                self._running[caller] = running
            self._give_turn(caller)

    def stop(self) -> None:
        """Have one thread get None."""
        with self._lock:
            self._stops += 1
            self._wake_thread()

    def _take_turn(self) -> tuple[str, T]:
        caller = self._turns.popleft()
        self._has_turn.discard(caller)
        items = self._waiting[caller]
        item = items.popleft()
        if not items:
            del self._waiting[caller]
        self._size -= 1
        self._running[caller] = self._running.get(caller, 0) + 1
        self._give_turn(caller)
        return caller, item

    def _give_turn(self, caller: str) -> None:
        """One more turn for a caller who has something waiting and may run it."""
        if caller not in self._waiting or caller in self._has_turn:
            return
        if caller != SERVICE and self._running.get(caller, 0) >= self._running_max:
            return
        self._turns.append(caller)
        self._has_turn.add(caller)
        self._wake_thread()

    def _give_up(self, wakeup: threading.Lock) -> bool:
        """Stop waiting after the timeout; False if the thread has been woken meanwhile."""
        with self._lock:
            is_idle = wakeup in self._idle
            if is_idle:
                self._idle.remove(wakeup)
        return is_idle

    def _wake_thread(self) -> None:
        """Wake the thread that became idle last, if any.

        Threads that are busy look for turns before they become idle.
        """
        if self._idle:
            self._idle.pop().release()
