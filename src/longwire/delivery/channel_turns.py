"""Which channels a transaction of the engine serves.

It settles and claims channel by channel, and everybody's messages wait for its end. So it serves a
few channels at a time, and groups take turns: one with a thousand connectors, or with receivers
that all fail, is not in the way of the others.
"""

from collections import deque
from collections.abc import Mapping

# Of one transaction. On PostgreSQL each channel takes several round trips.
CHANNELS_MAX = {"sqlite": 64, "postgresql": 8}


class ChannelTurns:
    def __init__(self, channels_max: int) -> None:
        self._channels_max = channels_max
        self._turn = 0
        self._served: dict[int, int] = {}  # the last turn of channels that still want another

    def choose(self, wanting: Mapping[int, str]) -> set[int]:
        """The next ones of these channels, given with their groups; whoever waited longest first.

        One of each group, then a second one of each, and so on.
        """
        if len(wanting) <= self._channels_max:
            self._served.clear()
            return set(wanting)
        by_group: dict[str, deque[int]] = {}
        for number in sorted(wanting, key=lambda number: self._served.get(number, 0)):
            by_group.setdefault(wanting[number], deque()).append(number)
        queues = deque(by_group.values())
        chosen: set[int] = set()
        while len(chosen) < self._channels_max:
            queue = queues.popleft()
            chosen.add(queue.popleft())
            if queue:
                queues.append(queue)
        self._turn += 1
        served = {number: turn for number, turn in self._served.items() if number in wanting}
        self._served = served | dict.fromkeys(chosen, self._turn)
        return chosen
