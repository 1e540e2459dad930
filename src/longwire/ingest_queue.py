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


class IngestQueue(Generic[Request]):
    """Bounded in records, as a whole and for each sender. Any thread may use it.

    However many senders fill it with large requests, something is left for those with few records.

    A commit takes one request of each sender in turn. Somebody's many requests, or large ones, are
    in nobody else's way: a request that does not fit waits for the next commit, and is its first.
    """

    def __init__(self, records_max: int, size_of: Callable[[Request], int]) -> None:
        self._records_max = records_max
        self._size_of = size_of
        self._senders: OrderedDict[str, deque[Request]] = OrderedDict()
        self._records: dict[str, int] = {}
        self._lock = threading.Lock()
        self.records = 0  # waiting, or taken and not released

    def __bool__(self) -> bool:
        return bool(self._senders)

    def put(self, sender: str, request: Request) -> bool:
        """False if the queue is full, or the sender's share of it is."""
        size = self._size_of(request)
        with self._lock:
            mine = self._records.get(sender, 0)
            is_share_full = mine > 0 and mine + size > self._records_max * SENDER_SHARE
            is_light = mine + size <= LIGHT_RECORDS_MAX or not self.records
            queue_max = self._records_max * (1 if is_light else 1 - LIGHT_SHARE)
            if is_share_full or self.records + size > queue_max:
                return False
            waiting = self._senders.get(sender)
            if waiting is None:
                waiting = self._senders[sender] = deque()
            waiting.append(request)
            self._records[sender] = mine + size
            self.records += size
        return True

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
                self._records[sender] -= size
                if not self._records[sender]:
                    del self._records[sender]
