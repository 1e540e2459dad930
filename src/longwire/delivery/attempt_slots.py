"""Slots for attempts in flight, shared by the groups.

Every attempt has a connection, and descriptors are scarce. A group may use as many slots as are
still free: one that wants all of them gets half, two get a third each, and something is always left
for a group that comes later. Who has to wait is served in turn, group by group.

Attempts share the event loop with the requests of everybody. While it is late, there are fewer
slots, so that nobody waits for a crowd of responses that all have to be read.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

W = TypeVar("W", bound=Hashable)

# An event loop that is later than this has too much to do.
LATE_S = 0.02
# So many slots there are at least: slow receivers need them, and cost the event loop little.
SLOTS_MIN = 64


class AttemptSlots(Generic[W]):
    def __init__(self, slots_max: int) -> None:
        self._slots_max = slots_max
        self._slots = slots_max
        self._free = slots_max  # below zero after the number of slots was reduced
        self._used: dict[str, int] = {}
        # Those who wait, by group; both in the order of their turns.
        self._waiting: OrderedDict[str, OrderedDict[W, None]] = OrderedDict()

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def adapt(self, late_s: float) -> None:
        """Have fewer slots than are used while the event loop is late, and more when it is not."""
        if late_s > LATE_S:
            in_use = self._slots - self._free
            slots = min(self._slots, max(SLOTS_MIN, in_use * 4 // 5))
        else:
            slots = min(self._slots_max, self._slots + self._slots // 10 + 1)
        self._free += slots - self._slots
        self._slots = slots

    def take(self, group_id: str) -> bool:
        """Take a slot for the group; returns False if it has to wait."""
        used = self._used.get(group_id, 0)
        if used >= self._free:
            return False
        self._used[group_id] = used + 1
        self._free -= 1
        return True

    def release(self, group_id: str) -> None:
        self._free += 1
        left = self._used[group_id] - 1
        if left:
            self._used[group_id] = left
        else:
            del self._used[group_id]

    def wait(self, group_id: str, waiter: W) -> None:
        """`pop_next` returns the waiter when it is its turn."""
        self._waiting.setdefault(group_id, OrderedDict())[waiter] = None

    def pop_next(self) -> W | None:
        """The next one that waits and whose group may take a slot now."""
        if self._free <= 0:
            return None
        for group_id in self._waiting:
            if self._used.get(group_id, 0) < self._free:
                return self._pop(group_id)
        return None

    def clear_waiting(self) -> None:
        self._waiting.clear()

    def _pop(self, group_id: str) -> W:
        waiters = self._waiting.pop(group_id)
        waiter, _ = waiters.popitem(last=False)
        if waiters:
            self._waiting[group_id] = waiters  # behind the other groups
        return waiter
