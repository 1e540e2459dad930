"""The queue of ingest: requests wait for their commit, and senders take turns."""

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Request = TypeVar("Request")

# How much of the queue one sender may fill.
SENDER_SHARE = 0.5
# The last part of the queue is for senders with no more than so many records in it.
LIGHT_SHARE = 0.1
LIGHT_RECORDS_MAX = 100


class RecordBudget:
    """How many records may wait, of all senders and of each; queues may share it, and its lock.

    However many senders fill it with large requests, something is left for those with few records.
    """

    def __init__(self, records_max: int) -> None:
        self.lock = threading.Lock()
        self.records = 0
        self._records_max = records_max
        self._by_sender: dict[str, int] = {}

    def take(self, sender: str, size: int) -> bool:
        """False if there is no room, or the sender's share of it is used up; with the lock held."""
        mine = self._by_sender.get(sender, 0)
        is_share_full = mine > 0 and mine + size > self._records_max * SENDER_SHARE
        is_light = mine + size <= LIGHT_RECORDS_MAX or not self.records
        room = self._records_max * (1 if is_light else 1 - LIGHT_SHARE)
        if is_share_full or self.records + size > room:
            return False
        self._by_sender[sender] = mine + size
        self.records += size
        return True

    def release(self, sender: str, size: int) -> None:
        self.records -= size
        self._by_sender[sender] -= size
        if not self._by_sender[sender]:
            del self._by_sender[sender]


class IngestQueue(Generic[Request]):
    """Bounded in records. Any thread may use it.

    A commit takes one request of each sender in turn. Somebody's many requests, or large ones, are
    in nobody else's way: a request that does not fit waits for the next commit, and is its first.
    """

    def __init__(self, budget: RecordBudget, size_of: Callable[[Request], int]) -> None:
        self._budget = budget
        self._lock = budget.lock
        self._size_of = size_of
        self._senders: OrderedDict[str, deque[Request]] = OrderedDict()
        self.records = 0  # waiting, or taken and not released

    def __bool__(self) -> bool:
        return bool(self._senders)

    def put(self, sender: str, request: Request) -> bool:
        """False if the queue is full, or the sender's share of it is."""
        size = self._size_of(request)
        with self._lock:
            if not self._budget.take(sender, size):
                return False
            waiting = self._senders.get(sender)
            if waiting is None:
                waiting = self._senders[sender] = deque()
            waiting.append(request)
            self.records += size
        return True

    def count(self, taken: Sequence[tuple[str, Request]]) -> int:
        """How many records these are."""
        return sum(self._size_of(request) for _, request in taken)

    def take(self, records_max: int) -> list[tuple[str, Request]]:
        """The next requests for one commit: at least one, up to a number of records."""
        taken: list[tuple[str, Request]] = []
        size = 0
        with self._lock:
            postponed: list[tuple[str, deque[Request]]] = []
            while self._senders and size < records_max:
                sender, waiting = self._senders.popitem(last=False)
                some, more = self._take_turn(waiting, records_max - size, is_first=not taken)
                taken += [(sender, request) for request in some]
                size += more
                if not some:
                    postponed.append((sender, waiting))
                elif waiting:
                    self._senders[sender] = waiting  # behind the others
            for sender, waiting in reversed(postponed):
                self._senders[sender] = waiting
                self._senders.move_to_end(sender, last=False)
        return taken

    def _take_turn(
        self, waiting: deque[Request], room: int, *, is_first: bool
    ) -> tuple[list[Request], int]:
        """What one sender has in its turn and how large that is; all that fits if it is alone."""
        some: list[Request] = []
        size = 0
        while waiting and (not some or (not self._senders and size < room)):
            more = self._size_of(waiting[0])
            if size + more > room and (some or not is_first):
                break
            some.append(waiting.popleft())
            size += more
        return some, size

    def take_all(self) -> list[tuple[str, Request]]:
        with self._lock:
            taken = [
                (sender, each) for sender, waiting in self._senders.items() for each in waiting
            ]
            self._senders.clear()
        return taken

    def release(self, taken: Sequence[tuple[str, Request]]) -> None:
        """These are committed, or failed."""
        with self._lock:
            for sender, request in taken:
                size = self._size_of(request)
                self.records -= size
                self._budget.release(sender, size)
