"""Slots for attempts in flight, shared by the owners.

Every attempt has a connection, and descriptors are scarce. An owner may use as many slots as are
still free: one that wants all of them gets half, two get a third each, and something is always left
for an owner that comes later. Who has to wait is served in turn, owner by owner, and their groups.

Attempts share the event loop with the requests of everybody. While it is late, there are fewer
slots, so that nobody waits for a crowd of responses that all have to be read.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from longwire.work.turns import CallerKey, Turns

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
        self._turns: Turns[W] = Turns()
        self._waiting: set[W] = set()  # each once

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

    def take(self, caller: CallerKey) -> bool:
        """Take a slot; returns False if the caller has to wait."""
        if not self._may_take(caller.owner):
            return False
        self._used[caller.owner] = self._used.get(caller.owner, 0) + 1
        self._free -= 1
        return True

    def release(self, caller: CallerKey) -> None:
        self._free += 1
        left = self._used[caller.owner] - 1
        if left:
            self._used[caller.owner] = left
        else:
            del self._used[caller.owner]

    def wait(self, caller: CallerKey, waiter: W) -> None:
        """`pop_next` returns the waiter when it is its turn."""
        if waiter not in self._waiting:
            self._waiting.add(waiter)
            self._turns.put(caller, waiter)

    def pop_next(self) -> W | None:
        """The next one that waits and whose owner may take a slot now."""
        if self._free <= 0:
            return None
        found = self._turns.take(may_serve=self._may_take)
        if found is None:
            return None
        self._waiting.discard(found[1])
        return found[1]

    def clear_waiting(self) -> None:
        self._turns.take_all()
        self._waiting.clear()

    def _may_take(self, owner: str) -> bool:
        return self._used.get(owner, 0) < self._free
