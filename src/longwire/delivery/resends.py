"""Resends: the dead letters of a channel are queued once more, at a bounded rate.

A pass queues as many messages of every running resend as it may in a second. What there is to do is
found by reading, so that a resend which only waits for its last messages writes nothing. What a
transaction queues is bounded over all resends; they take turns.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice

from longwire.dataclass import dataclass
from longwire.store.database import Database, Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import dead_letters as store_dead_letters
from longwire.store.delivery.channels import Resend
from longwire.store.pacing import write_and_pause
from longwire.store.records.arrival_numbers import AFTER_ANY_ARRIVAL, BEFORE_ANY_ARRIVAL

# Over all resends.
DELIVERIES_PER_STEP_MAX = 300
# Of which there may be nothing to queue any more.
RESENDS_PER_STEP_MAX = 100


@dataclass(frozen=True, slots=True)
class ResendState:
    """Where the dead letters begin that are still to be queued.

    `AFTER_ANY_ARRIVAL` if there are none. What was queued may have failed again, so those before
    may be many.
    """

    resend: Resend
    first_seq: int
    is_over: bool = False  # nothing is to be queued, and nothing that was queued is open


@dataclass(frozen=True, slots=True)
class ResendTurn:
    """How many more messages of a resend may be queued in this pass."""

    state: ResendState
    left: int

    @property
    def number(self) -> int:
        return self.state.resend.number


class Resender:
    """Advances the running resends of all channels."""

    def __init__(self, database: Database, per_s: int) -> None:
        self._database = database
        self._per_s = per_s
        self._last: list[ResendState] = []

    async def advance(self, wake: Callable[[Collection[int]], None]) -> None:
        """One pass; `wake` gets the channels that have something due."""
        self._last = await self._database.read(partial(find_states, self._last))
        turns = deque(begin_turns(self._last, self._per_s))
        while turns:
            some = list(islice(turns, RESENDS_PER_STEP_MAX))
            on_result = partial(_wake_queued, wake, some)
            counts = await write_and_pause(self._database, partial(run_turns, some), on_result)
            advance_turns(turns, counts)


def _wake_queued(
    wake: Callable[[Collection[int]], None], turns: Sequence[ResendTurn], counts: Sequence[int]
) -> None:
    """Wake the channels of which something was queued in the first turns."""
    woken = {turn.number for turn, count in zip(turns, counts, strict=False) if count}
    if woken:
        wake(woken)


def begin_turns(states: Iterable[ResendState], left: int) -> Iterator[ResendTurn]:
    """Turns of those that have something to do."""
    for each in states:
        if each.is_over or each.first_seq != AFTER_ANY_ARRIVAL:
            yield ResendTurn(each, left)


def advance_turns(turns: deque[ResendTurn], counts: Sequence[int]) -> None:
    """Remove the turns in which so many were queued; one that was interrupted becomes the last."""
    last = [turns.popleft() for _ in counts][-1]
    if sum(counts) >= DELIVERIES_PER_STEP_MAX and counts[-1] < last.left:
        turns.append(replace(last, left=last.left - counts[-1]))


# --- on a transaction ---


def find_states(last: Iterable[ResendState], tx: Tx) -> list[ResendState]:
    """What is to be done for the running resends, if they were last seen so."""
    first_seqs = {each.resend: each.first_seq for each in last}
    return [
        _find_state(tx, each, first_seqs.get(each, BEFORE_ANY_ARRIVAL))
        for each in store_channels.list_resends(tx)
    ]


def _find_state(tx: Tx, resend: Resend, first_seq: int) -> ResendState:
    """Look from the first one on, and before the end at all of them."""
    first_seq = _find_first(tx, resend, first_seq)
    if first_seq != AFTER_ANY_ARRIVAL:
        return ResendState(resend, first_seq)
    if store_dead_letters.is_resending(tx, resend.number, resend.before):
        return ResendState(resend, first_seq)
    first_seq = _find_first(tx, resend, BEFORE_ANY_ARRIVAL)
    return ResendState(resend, first_seq, is_over=first_seq == AFTER_ANY_ARRIVAL)


def _find_first(tx: Tx, resend: Resend, from_seq: int) -> int:
    """The first dead letter that is to be queued, `AFTER_ANY_ARRIVAL` if there is none."""
    if from_seq == AFTER_ANY_ARRIVAL:
        return AFTER_ANY_ARRIVAL
    found = store_dead_letters.find_first(tx, resend.number, resend.before, from_seq)
    return AFTER_ANY_ARRIVAL if found is None else found


def run_turns(turns: Sequence[ResendTurn], tx: Tx) -> list[int]:
    """Queue messages of some resends, until they are enough for a transaction; how many of each.

    The resends whose turn did not come are not counted.
    """
    running = store_channels.lock_resends(tx, [each.number for each in turns])
    counts: list[int] = []
    for turn in turns:
        left = DELIVERIES_PER_STEP_MAX - sum(counts)
        if left <= 0:
            break
        is_ours = turn.state.resend in running
        counts.append(_run_turn(tx, turn, left) if is_ours else 0)
    return counts


def _run_turn(tx: Tx, turn: ResendTurn, most: int) -> int:
    resend, first_seq = turn.state.resend, turn.state.first_seq
    if not turn.state.is_over:
        return store_dead_letters.resend(
            tx, resend.number, resend.before, first_seq, min(turn.left, most)
        )
    if not store_dead_letters.is_resending(tx, resend.number, resend.before):
        store_channels.end_resend(tx, resend.number)
    return 0
