"""Which channels a transaction of the engine serves.

It settles and claims channel by channel, and everybody's messages wait for its end. So it serves a
few channels at a time, and owners and their groups take turns: one with a thousand connectors, or
with receivers that all fail, is not in the way of the others.
"""

from collections.abc import Container, Iterable, Mapping
from typing import TypeVar

from longwire.work.turns import CallerKey, Turns

T = TypeVar("T")

# Of one transaction. On PostgreSQL each channel takes several round trips.
CHANNELS_MAX = {"sqlite": 64, "postgresql": 3}


class ChannelTurns:
    def __init__(self, channels_max: int) -> None:
        self._channels_max = channels_max
        self._turn = 0
        # The last turns of channels, groups and owners that still want another.
        self._served: dict[int, int] = {}
        self._served_groups: dict[CallerKey, int] = {}
        self._served_owners: dict[str, int] = {}

    def choose(self, wanting: Mapping[int, CallerKey]) -> set[int]:
        """The next ones of these channels, given with whose they are; who waited longest first.

        One of each owner, then a second one of each, and so on.
        """
        if len(wanting) <= self._channels_max:
            self._served.clear()
            self._served_groups.clear()
            self._served_owners.clear()
            return set(wanting)

        def last_turns(number: int) -> tuple[int, int, int]:
            caller = wanting[number]
            return (
                self._served_owners.get(caller.owner, 0),
                self._served_groups.get(caller, 0),
                self._served.get(number, 0),
            )

        # By owners and groups first: one with many channels always has one that waited for long.
        turns: Turns[int] = Turns()
        for number in sorted(wanting, key=last_turns):
            turns.put(wanting[number], number)
        taken = [turns.take() for _ in range(self._channels_max)]
        chosen = {found[1]: found[0] for found in taken if found is not None}
        self._turn += 1
        callers = set(wanting.values())
        owners = {caller.owner for caller in callers}
        self._served = _note(self._served, wanting, chosen, self._turn)
        self._served_groups = _note(self._served_groups, callers, chosen.values(), self._turn)
        served_owners = {caller.owner for caller in chosen.values()}
        self._served_owners = _note(self._served_owners, owners, served_owners, self._turn)
        return set(chosen)


def _note(
    turns: Mapping[T, int], wanting: Container[T], served: Iterable[T], turn: int
) -> dict[T, int]:
    """The last turns of those that still want one."""
    kept = {each: last for each, last in turns.items() if each in wanting}
    return kept | dict.fromkeys(served, turn)
