"""Which channels a transaction of the engine serves.

It settles and claims channel by channel, and everybody's messages wait for its end. So it serves a
few channels at a time, and groups take turns: one with a thousand connectors, or with receivers
that all fail, is not in the way of the others.
"""

from collections import deque
from collections.abc import Container, Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")

# Of one transaction. On PostgreSQL each channel takes several round trips.
CHANNELS_MAX = {"sqlite": 64, "postgresql": 3}


class ChannelTurns:
    def __init__(self, channels_max: int) -> None:
        self._channels_max = channels_max
        self._turn = 0
        # The last turns of channels and groups that still want another.
        self._served: dict[int, int] = {}
        self._served_groups: dict[str, int] = {}

    def choose(self, wanting: Mapping[int, str]) -> set[int]:
        """The next ones of these channels, given with their groups; whoever waited longest first.

        One of each group, then a second one of each, and so on.
        """
        if len(wanting) <= self._channels_max:
            self._served.clear()
            self._served_groups.clear()
            return set(wanting)
        by_group: dict[str, deque[int]] = {}
        for number in sorted(wanting, key=lambda number: self._served.get(number, 0)):
            by_group.setdefault(wanting[number], deque()).append(number)
        # By groups first: one with many channels always has one that has waited for long.
        queue = deque(sorted(by_group, key=lambda group: self._served_groups.get(group, 0)))
        chosen: set[int] = set()
        served_groups: set[str] = set()
        while len(chosen) < self._channels_max:
            group = queue.popleft()
            chosen.add(by_group[group].popleft())
            served_groups.add(group)
            if by_group[group]:
                queue.append(group)
        self._turn += 1
        self._served = _note(self._served, wanting, chosen, self._turn)
        self._served_groups = _note(self._served_groups, by_group, served_groups, self._turn)
        return chosen


def _note(
    turns: Mapping[T, int], wanting: Container[T], served: Iterable[T], turn: int
) -> dict[T, int]:
    """The last turns of those that still want one."""
    kept = {each: last for each, last in turns.items() if each in wanting}
    return kept | dict.fromkeys(served, turn)
