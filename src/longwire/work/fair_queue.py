"""A queue from which threads take what callers wait for, in turns.

At most `running_max` items of one caller, and of one owner, run at a time, so that slow ones leave
threads to the others. Several callers of an owner may have more while nobody else comes. The
service itself has its turns like everybody, but no such limit.
"""

import queue
import threading
import time
from collections import Counter
from typing import Generic, TypeVar

from longwire.work.turns import SERVICE, CallerKey, OwnerPresence, Turns

T = TypeVar("T")

# An owner is alone when nobody else has come for so long.
ALONE_AFTER_S = 1.0


class FairQueue(Generic[T]):
    """Items by owner and caller, taken by several threads."""

    def __init__(self, running_max: int, running_alone_max: int | None = None) -> None:
        """`running_alone_max` is for the callers of an owner together, while they are alone."""
        self._running_max = running_max
        self._running_alone_max = running_alone_max or running_max
        self._lock = threading.Lock()
        self._turns: Turns[T] = Turns()
        self._presence = OwnerPresence(ALONE_AFTER_S)
        self._running: Counter[CallerKey] = Counter()
        self._running_owners: Counter[str] = Counter()
        # A lock for each idle thread, which waits for its release: only the thread that became idle
        # last is woken, and the others sleep.
        self._idle: list[threading.Lock] = []
        self._stops = 0  # calls of stop that no thread has answered yet

    def __len__(self) -> int:
        return len(self._turns)

    def count_waiting(self, key: CallerKey) -> int:
        return self._turns.count(key)

    def count_waiting_of_owner(self, owner: str) -> int:
        return self._turns.count_of_owner(owner)

    def put(self, key: CallerKey, item: T) -> None:
        with self._lock:
            self._presence.note(key.owner)
            self._turns.put(key, item)
            if self._idle and self._may_serve(key.owner) and self._may_run(key, item):
                self._wake_thread()

    def get(self, timeout_s: float | None) -> tuple[CallerKey, T] | None:
        """The next item, to be followed by `release`; raises `queue.Empty` after the timeout.

        With None for the timeout it does not wait. Returns None to one of the threads for each call
        of `stop`, once nobody has a turn.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            with self._lock:
                found = self._turns.take(self._may_run, self._may_serve)
                if found is not None:
                    self._running[found[0]] += 1
                    self._running_owners[found[0].owner] += 1
                    return found
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

    def take_all(self) -> list[tuple[CallerKey, T]]:
        """What waits, whose turn it is or not; not to be followed by `release`."""
        with self._lock:
            return self._turns.take_all()

    def release(self, key: CallerKey) -> None:
        """The item of this caller is done."""
        with self._lock:
            _decrement(self._running, key)
            _decrement(self._running_owners, key.owner)
            if self._idle and self._turns.find(self._may_run, self._may_serve) is not None:
                self._wake_thread()

    def stop(self) -> None:
        """Have one thread get None."""
        with self._lock:
            self._stops += 1
            self._wake_thread()

    def _may_run(self, key: CallerKey, item: T) -> bool:
        return key == SERVICE or self._running[key] < self._running_max

    def _may_serve(self, owner: str) -> bool:
        running = self._running_owners[owner]
        if owner == SERVICE.owner or running < self._running_max:
            return True
        return running < self._running_alone_max and self._presence.is_single

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


K = TypeVar("K")


def _decrement(counter: "Counter[K]", key: K) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
