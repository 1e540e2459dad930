"""The queue of ingest: requests wait for their commit, owners and their callers take turns.

Whoever has a few records does not wait for those with many. While several owners are there, single
records have commits of their own, before batches; a commit takes no more than is stored in
`COMMIT_S`; and a batch that takes longer is followed by no other one for as long as it took.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from longwire.work.budgets import SharedBudget
from longwire.work.turns import CallerKey, OwnerPresence, Turns

Request = TypeVar("Request")

# How much of the queue one owner may fill.
OWNER_SHARE = 0.5
# The reserve of the queue is for owners with no more than so many records in it.
LITTLE_RECORDS = 100

# A message of a network has a few records.
SINGLE_RECORDS_MAX = 10
# What others have to wait for a commit, while there are any.
COMMIT_S = 0.02
# While nobody else came for so long, there is nobody to wait for.
ALONE_AFTER_S = 5.0
# How long a record takes, until that was measured in commits of at least so many.
RECORD_S = 50e-6
MEASURED_RECORDS_MIN = 50
MEASURED_WEIGHT = 0.2
# A commit is worth its price with so many records, however slow the disk is.
COMMIT_RECORDS_MIN = 50


class RecordBudget:
    """How many records may wait, of all owners and of each; queues may share it, and its lock.

    However many owners fill it with large requests, something is left for those with few records.
    """

    def __init__(self, records_max: int, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self.lock = threading.Lock()
        self.monotonic_s = monotonic_s
        self.presence = OwnerPresence(ALONE_AFTER_S, monotonic_s)
        owner_max = int(records_max * OWNER_SHARE)
        self._budget = SharedBudget(records_max, owner_max, little=LITTLE_RECORDS)

    @property
    def records(self) -> int:
        return self._budget.used

    def take(self, owner: str, size: int) -> bool:
        """False if there is no room, or the share of the owner is used up; with the lock held."""
        self.presence.note(owner)
        return self._budget.take(owner, size) is None

    def release(self, owner: str, size: int) -> None:
        self._budget.release(owner, size)


class IngestQueue(Generic[Request]):
    """Bounded in records. Any thread may use it.

    Somebody's many requests, or large ones, are in nobody else's way: a request that does not fit
    waits for the next commit, and is its first.
    """

    def __init__(self, budget: RecordBudget, size_of: Callable[[Request], int]) -> None:
        self._budget = budget
        self._lock = budget.lock
        self._size_of = size_of
        self._singles: Turns[Request] = Turns()
        self._batches: Turns[Request] = Turns()
        self.records = 0  # waiting, or taken and not released
        self._record_s = RECORD_S
        self._had_singles = False  # the commit before
        # The first of a commit that takes longer than others should wait, when it began, and when
        # there may be another.
        self._long: tuple[CallerKey, Request] | None = None
        self._long_since = 0.0
        self._batches_due = 0.0

    def __bool__(self) -> bool:
        return bool(self._singles) or bool(self._batches)

    def put(self, key: CallerKey, request: Request) -> bool:
        """False if the queue is full, or the owner's share of it is."""
        size = self._size_of(request)
        with self._lock:
            if not self._budget.take(key.owner, size):
                return False
            turns = self._singles if size <= SINGLE_RECORDS_MAX else self._batches
            turns.put(key, request)
            self.records += size
        return True

    def count(self, taken: Sequence[tuple[CallerKey, Request]]) -> int:
        """How many records these are."""
        return sum(self._size_of(request) for _, request in taken)

    def get_delay_s(self) -> float:
        """How long it takes until something may be taken, if there is anything."""
        with self._lock:
            if self._singles or self._budget.presence.is_single:
                return 0.0
            return max(0.0, self._batches_due - self._budget.monotonic_s())

    def take(
        self, records_max: int, *, takes_batches: bool = True
    ) -> list[tuple[CallerKey, Request]]:
        """The next requests for one commit, up to a number of records; one at least, if any is due.

        Without batches, if something else is in the same commit.
        """
        with self._lock:
            now = self._budget.monotonic_s()
            self._end_long(now)
            if self._budget.presence.is_single:
                return self._take_both(records_max)
            most = min(records_max, max(COMMIT_RECORDS_MIN, int(COMMIT_S / self._record_s)))
            is_due = takes_batches and bool(self._batches) and now >= self._batches_due
            if self._singles and not (is_due and self._had_singles):
                self._had_singles = True
                return self._take_from(self._singles, most)
            if not is_due:
                return []
            self._had_singles = False
            taken = self._take_from(self._batches, most)
            if self.count(taken) > most:
                self._long, self._long_since = taken[0], now
            return taken

    def note_committed(self, taken: Sequence[tuple[CallerKey, Request]]) -> None:
        with self._lock:
            if taken and taken[0] is self._long:
                self._end_long(self._budget.monotonic_s())

    def note_duration(self, records: int, seconds: float) -> None:
        """So many records were stored in this time."""
        if records >= MEASURED_RECORDS_MIN:
            self._record_s += (seconds / records - self._record_s) * MEASURED_WEIGHT

    def take_all(self) -> list[tuple[CallerKey, Request]]:
        with self._lock:
            return self._singles.take_all() + self._batches.take_all()

    def release(self, taken: Sequence[tuple[CallerKey, Request]]) -> None:
        """These are committed, or failed."""
        with self._lock:
            for key, request in taken:
                size = self._size_of(request)
                self.records -= size
                self._budget.release(key.owner, size)

    def _take_both(self, most: int) -> list[tuple[CallerKey, Request]]:
        """As much as fits, beginning with what the commit before did not begin with."""
        first, second = self._singles, self._batches
        if not first or (second and self._had_singles):
            first, second = second, first
        self._had_singles = first is self._singles
        taken = self._take_from(first, most)
        return taken + self._take_from(second, most - self.count(taken), needs_one=False)

    def _end_long(self, now: float) -> None:
        """A long commit ends when its requests are reported, or when the next one begins."""
        if self._long is not None:
            self._batches_due = now + (now - self._long_since)
            self._long = None

    def _take_from(
        self, turns: Turns[Request], most: int, *, needs_one: bool = True
    ) -> list[tuple[CallerKey, Request]]:
        """What fits, in turns; the first one in any case."""
        taken: list[tuple[CallerKey, Request]] = []
        room = most

        def fits(key: CallerKey, request: Request) -> bool:
            return self._size_of(request) <= room or (needs_one and not taken)

        while room > 0 or (needs_one and not taken):
            found = turns.take(fits)
            if found is None:
                break
            taken.append(found)
            room -= self._size_of(found[1])
        return taken
