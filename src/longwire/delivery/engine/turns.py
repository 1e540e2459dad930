"""Whose turn it is in the engine: which channels a transaction serves, and who may send.

A transaction settles and claims channel by channel, and everybody's messages wait for its end. So
it serves a few channels at a time, and owners and their groups take turns: one with a thousand
connectors, or with receivers that all fail, is not in the way of the others. Attempts in flight
are shared in the same way.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Generic, TypeVar

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.delivery.destinations.base import Outcome
from longwire.delivery.engine.worker import RELEASED, AttemptRecord, LeasedDelivery, Released
from longwire.work.turns import CallerKey, Turns

T = TypeVar("T")
W = TypeVar("W", bound=Hashable)

# Of one transaction. On PostgreSQL each channel takes several round trips.
CHANNELS_MAX = {"sqlite": 64, "postgresql": 3}

# An event loop that is later than this has too much to do.
LATE_S = 0.02
# So many slots there are at least: slow receivers need them, and cost the event loop little.
SLOTS_MIN = 64

DueChannel = tuple[int, int]  # a channel that may have something due, and in which slot


@dataclass(frozen=True, slots=True)
class SlotPart:
    """What there is to do in a slot: attempts to settle, and channels to claim for."""

    slot: int = 0
    attempts: list[AttemptRecord] = field(default_factory=list)
    channels: set[int] = field(default_factory=set)


@dataclass(slots=True)
class ReceiverBack:
    """A receiver is back, so what waits for a retry is brought forward: each message once."""

    since: Moment = 0  # of what was changed before; known with the first step
    steps: int = 0


class PendingWork:
    """What the next transaction has to do: settle, claim, report what is throttled.

    Whoever sends adds to it, and wakes the engine with that. The engine takes a part of it for each
    transaction.
    """

    def __init__(self, turns: "ChannelTurns") -> None:
        self.attempts: list[AttemptRecord] = []
        self.due: set[DueChannel] = set()
        self.throttled: set[int] = set()  # whose owners are to be notified
        self.recovered: dict[int, ReceiverBack] = {}  # by channel
        self.is_added = asyncio.Event()
        self._turns = turns
        self._turn = 0

    def add_attempts(
        self,
        leased: Iterable[LeasedDelivery],
        outcome: Outcome | Released,
        at: Moment = 0,
        duration_ms: int = 0,
        *,
        is_by_proxy: bool = False,
    ) -> None:
        self.attempts += [
            AttemptRecord(each, outcome, at, duration_ms, is_by_proxy) for each in leased
        ]
        self.is_added.set()

    def release_for_later(self, leased: Sequence[LeasedDelivery]) -> None:
        """Release what could not be sent in its time, and claim it again."""
        self.add_attempts(leased, RELEASED)
        self.due.update((each.channel.number, each.slot) for each in leased)

    def take_turn(
        self,
        claiming: Collection[DueChannel],
        get_caller: Callable[[int], CallerKey],
        *,
        takes_all: bool,
    ) -> list[SlotPart]:
        """What to settle and to claim in each slot; the rest is left to the next turn.

        Another slot is first each time. There is a part whenever there is anything to do.
        """
        attempts, self.attempts = self.attempts, []
        due, self.due = self.due.union(claiming), set()
        numbers = {_number(each) for each in attempts} | {number for number, _ in due}
        wanting = {number: get_caller(number) for number in numbers}
        chosen = wanting.keys() if takes_all else self._turns.choose(wanting)
        if len(chosen) < len(wanting):
            self.attempts = [each for each in attempts if _number(each) not in chosen]
            self.due = {each for each in due if each[0] not in chosen}
            self.is_added.set()
        parts: defaultdict[int, SlotPart] = defaultdict(SlotPart)
        for each in attempts:
            if _number(each) in chosen:
                parts[each.leased.slot].attempts.append(each)
        for number, slot in due - self.due:
            parts[slot].channels.add(number)
        if self.throttled and not parts:
            parts[0] = SlotPart()
        self._turn += 1
        in_order = sorted(parts)
        turn = self._turn % max(1, len(in_order))
        return [replace(parts[slot], slot=slot) for slot in in_order[turn:] + in_order[:turn]]

    def restore(self, part: SlotPart) -> None:
        """Put back what a transaction could not do; its attempts come first."""
        self.attempts = part.attempts + self.attempts
        self.due.update((number, part.slot) for number in part.channels)

    def discard_first(self, count: int) -> None:
        """So many attempts are settled."""
        self.attempts = self.attempts[count:]


def _number(attempt: AttemptRecord) -> int:
    return attempt.leased.channel.number


class ChannelTurns:
    """Which channels the next transaction serves."""

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


class AttemptSlots(Generic[W]):
    """Slots for attempts in flight, shared by the owners.

    Every attempt has a connection, and descriptors are scarce. An owner may use as many slots as
    are still free: one that wants all of them gets half, two get a third each, and something is
    always left for an owner that comes later. Who has to wait is served in turn, owner by owner,
    and their groups.

    Attempts share the event loop with the requests of everybody. While it is late, there are fewer
    slots, so that nobody waits for a crowd of responses that all have to be read.
    """

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
