"""A few slots, shared by many groups: whose work is next.

When slots are scarce, the group that has used the least time is next, so a group that waits gets
its share however much others queue. Groups whose work takes long on average leave one slot to all
others, who then never wait for such work to end. Pure bookkeeping: not thread-safe, waits for
nothing.
"""

import itertools
from collections import deque
from dataclasses import field
from typing import Generic, TypeVar

from longwire.dataclass import dataclass

# Ten times what an ordinary codec takes.
SLOW_S = 0.005
# The weight of the last work in the average of a group.
AVERAGE_WEIGHT = 0.2
GROUPS_MAX = 10_000
GROUPS_CHECKED = 100

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class GroupShare(Generic[T]):
    """What a group has used, comparable among groups, what it runs and what it waits for."""

    group: str
    used_s: float
    average_s: float = 0.0
    running: int = 0
    is_slow: bool = False
    waiting: deque[T] = field(default_factory=deque)


class TimeSharingQueue(Generic[T]):
    """Starts work of groups in a few slots."""

    def __init__(self, slots: int, slots_per_group: int | None = None) -> None:
        self._free = slots
        self._free_slow = max(1, slots - 1)
        self._slots_per_group = slots_per_group or slots
        self._waiting: dict[str, GroupShare[T]] = {}
        self._shares: dict[str, GroupShare[T]] = {}  # the oldest first
        self._started_s = 0.0  # what the group that started last had used before

    def share(self, group: str) -> GroupShare[T]:
        share = self._shares.get(group)
        if share is None:
            share = self._shares[group] = GroupShare(group, self._started_s)
            if len(self._shares) > GROUPS_MAX:
                self._forget_oldest()
        elif not share.running and not share.waiting and share.used_s < self._started_s:
            share.used_s = self._started_s  # time that was not used is gone
        return share

    def start(self, share: GroupShare[T]) -> bool:
        """Take a slot at once, if one is free for this group and nobody waits."""
        if self._waiting or not self._may_start(share):
            return False
        self._begin(share)
        return True

    def add(self, share: GroupShare[T], work: T) -> None:
        """Wait for a slot; `next` returns the work when there is one."""
        share.waiting.append(work)
        self._waiting[share.group] = share

    def remove(self, share: GroupShare[T], work: T) -> None:
        """Give up waiting, if the work still does."""
        if work in share.waiting:
            share.waiting.remove(work)
            self._drop_if_empty(share)

    def next(self) -> tuple[GroupShare[T], T] | None:
        """The work to start now, whose slot is taken; None if there is none or no slot for it."""
        if not self._free or not self._waiting:
            return None
        chosen = None
        for share in self._waiting.values():
            if (chosen is None or share.used_s < chosen.used_s) and self._may_start(share):
                chosen = share
        if chosen is None:
            return None
        work = chosen.waiting.popleft()
        self._drop_if_empty(chosen)
        self._begin(chosen)
        return chosen, work

    def finish(self, share: GroupShare[T], spent_s: float) -> None:
        """Give a slot back, after so much time."""
        self._free += 1
        self._free_slow += share.is_slow
        share.running -= 1
        share.used_s += spent_s
        share.average_s += (spent_s - share.average_s) * AVERAGE_WEIGHT
        if (share.average_s > SLOW_S) is not share.is_slow:
            self._free_slow += share.running if share.is_slow else -share.running
            share.is_slow = not share.is_slow

    def _may_start(self, share: GroupShare[T]) -> bool:
        return (
            self._free > 0
            and share.running < self._slots_per_group
            and (not share.is_slow or self._free_slow > 0)
        )

    def _begin(self, share: GroupShare[T]) -> None:
        self._free -= 1
        self._free_slow -= share.is_slow
        share.running += 1
        if share.used_s > self._started_s:
            self._started_s = share.used_s

    def _drop_if_empty(self, share: GroupShare[T]) -> None:
        if not share.waiting:
            del self._waiting[share.group]

    def _forget_oldest(self) -> None:
        for group, share in itertools.islice(self._shares.items(), GROUPS_CHECKED):
            if not share.running and not share.waiting:
                del self._shares[group]
                return
