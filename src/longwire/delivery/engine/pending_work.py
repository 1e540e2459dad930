"""What the next transaction of the engine has to do: attempts to settle, channels to claim for.

Whoever sends adds to it, and wakes the engine with that. The engine takes a part of it for each
transaction, in which groups take turns.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from longwire.clock import Moment
from longwire.delivery.destinations.base import Outcome
from longwire.delivery.engine.channel_turns import ChannelTurns
from longwire.delivery.engine.leases import RELEASED, AttemptRecord, LeasedDelivery, Released
from longwire.work.turns import CallerKey

DueChannel = tuple[int, int]  # a channel that may have something due, and in which slot


@dataclass(frozen=True, slots=True)
class SlotPart:
    """What there is to do in a slot: attempts to settle, and channels to claim for."""

    slot: int = 0
    attempts: list[AttemptRecord] = field(default_factory=list)
    channels: set[int] = field(default_factory=set)


class PendingWork:
    """Attempts that are not settled, channels with something due, and throttled ones to report."""

    def __init__(self, turns: ChannelTurns) -> None:
        self.attempts: list[AttemptRecord] = []
        self.due: set[DueChannel] = set()
        self.throttled: set[int] = set()
        self.is_added = asyncio.Event()
        self._turns = turns
        self._turn = 0

    def add_attempts(
        self,
        leased: Iterable[LeasedDelivery],
        outcome: Outcome | Released,
        at: Moment = 0,
        duration_ms: int = 0,
    ) -> None:
        self.attempts += [AttemptRecord(each, outcome, at, duration_ms) for each in leased]
        self.is_added.set()

    def release_for_later(self, leased: Sequence[LeasedDelivery]) -> None:
        """Release what could not be sent in its time, and claim it again."""
        self.add_attempts(leased, RELEASED)
        self.due.update((each.channel.number, each.slot) for each in leased)

    def add_throttled(self, number: int) -> None:
        """The owner of this channel is to be notified."""
        self.throttled.add(number)
        self.is_added.set()

    def take_throttled(self) -> set[int]:
        taken, self.throttled = self.throttled, set()
        return taken

    def take_turn(
        self,
        claiming: Collection[DueChannel],
        get_caller: Callable[[int], CallerKey],
        *,
        takes_all: bool,
    ) -> tuple[list[AttemptRecord], set[DueChannel]]:
        """What to settle, and the channels to claim for; the rest is left to the next one."""
        attempts, self.attempts = self.attempts, []
        due, self.due = self.due.union(claiming), set()
        numbers = {each.leased.channel.number for each in attempts}
        wanting = {number: get_caller(number) for number in numbers}
        for number in {number for number, _ in due} - numbers:
            wanting[number] = get_caller(number)
        chosen = wanting.keys() if takes_all else self._turns.choose(wanting)
        if len(chosen) < len(wanting):
            self.attempts = [each for each in attempts if _number(each) not in chosen]
            self.due = {each for each in due if each[0] not in chosen}
            attempts = [each for each in attempts if _number(each) in chosen]
            due -= self.due
            self.is_added.set()
        return attempts, due

    def divide(
        self, attempts: Sequence[AttemptRecord], due: Collection[DueChannel]
    ) -> list[SlotPart]:
        """What there is to do in each slot, another one first each time; at least one part."""
        parts: defaultdict[int, SlotPart] = defaultdict(SlotPart)
        for each in attempts:
            parts[each.leased.slot].attempts.append(each)
        for number, slot in due:
            parts[slot].channels.add(number)
        in_order = sorted(parts or {0: SlotPart()})
        self._turn += 1
        turn = self._turn % len(in_order)
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
