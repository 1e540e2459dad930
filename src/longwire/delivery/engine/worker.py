"""A channel in this process: its claimed deliveries, their leases, its window, its breaker."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import SystemRandom

from longwire.clock import SECOND, Moment
from longwire.delivery.channel_handlers import BuildMessage, ComputedBuilder
from longwire.delivery.destinations.base import (
    FailureCode,
    Outcome,
    Sender,
    Unreachable,
    get_requested_pause_s,
    is_receiver_failing,
)
from longwire.delivery.engine.request_rate import RequestRate
from longwire.delivery.retry_policy import RETRY_AFTER_MAX_S
from longwire.model import Channel
from longwire.store.database import Database
from longwire.store.delivery.delivery_leases import ClaimedDelivery
from longwire.work.leases import Lease
from longwire.work.turns import CallerKey

LEASE_S = 30
SEND_TIMEOUT_S = 15.0
# An attempt that could outlive its lease is not started.
LEASE_LEFT_MIN_S = SEND_TIMEOUT_S + 2.0

WINDOW_MIN = 16
WINDOW_MAX = 512
WINDOW_CHARACTERS_MAX = 4 * 1024 * 1024
# The breaker opens after so many batches in a row at which the receiver has failed.
PROBE_AFTER = 5
# A response says something about its message, too. Only so many in a row speak for all messages.
REFUSALS_FOR_ALL = 32
# The pause before a probe, for each batch that has failed in a row.
PAUSE_STEP_S = 0.01
PAUSE_MAX_S = 1.0

_RANDOM = SystemRandom()


@dataclass(slots=True)
class LeasedDelivery:
    """A delivery that this process has claimed."""

    channel: Channel
    claimed: ClaimedDelivery
    lease: Lease  # of all that were claimed with it
    slot: int = 0


def has_lease_left(
    database: Database, leased: LeasedDelivery, left_min_s: float = LEASE_LEFT_MIN_S
) -> bool:
    """Whether a lease lasts so much longer, and this process still counts as alive."""
    held_since, lease = database.held_since, leased.lease
    if held_since is None or lease.asked_at_s < held_since:
        return False  # this process was taken for dead, and others have what it had claimed
    return lease.get_left_s(database.context.clock.now(), time.monotonic()) >= left_min_s


class Released:
    """Not attempted; the lease is given back."""


RELEASED = Released()


@dataclass(slots=True)
class AttemptRecord:
    """An attempt that is not settled yet."""

    leased: LeasedDelivery
    outcome: Outcome | Released
    at: Moment = 0  # when it began; 0 if that is not known
    duration_ms: int = 0
    is_by_proxy: bool = False  # another message was sent, and the outcome holds for this one

    @property
    def sending_ms(self) -> int | None:
        """How long it took, if it was sent at all."""
        return self.duration_ms if self.at else None


@dataclass(slots=True, eq=False)
class ChannelWorker:
    """Claims and sends for one channel, apart from all others."""

    channel: Channel
    build_message: BuildMessage
    sender: Sender
    caller: CallerKey  # the owner of its group, and the group
    pending: deque[LeasedDelivery] = field(default_factory=deque)
    in_flight: int = 0  # batches
    window: int = WINDOW_MIN
    window_max: int = WINDOW_MAX
    failing_count: int = 0  # batches in a row at which the receiver has failed
    is_paused: bool = False  # claims and sends nothing until it is resumed
    resumes_at_monotonic: float = 0.0
    requested_until: Moment = 0  # the receiver has asked for so much time
    more_in: set[int] = field(default_factory=set)  # slots that may have more that is due
    is_stale: bool = False
    build_s: float = 0.0  # CPU time of a message, in the last batch built by an expression
    throttled_at: float | None = None  # when it was last reported that its budget is used up
    rate: RequestRate | None = field(init=False)  # if its requests are limited

    def __post_init__(self) -> None:
        max_per_s = self.channel.max_per_s
        self.rate = None if max_per_s is None else RequestRate(max_per_s)

    @property
    def is_computed(self) -> bool:
        """Whether its messages are built by a user's expression."""
        return isinstance(self.build_message, ComputedBuilder)

    @property
    def next_build_s(self) -> float:
        """The CPU time that the next message is expected to take."""
        build = self.build_message
        return self.build_s + (build.compile_s if isinstance(build, ComputedBuilder) else 0.0)

    @property
    def is_probing(self) -> bool:
        return self.failing_count >= PROBE_AFTER

    @property
    def is_special(self) -> bool:
        """Whether it is claimed for in another way than most."""
        return self.channel.is_ordered or self.rate is not None

    @property
    def capacity(self) -> int:
        if self.is_paused or (self.rate is not None and not self.rate.may_claim):
            return 0
        return max(0, self.window - len(self.pending) - self.in_flight)

    def count_senders(self, in_flight_max: int) -> int:
        """Among how many processes its attempts are divided, at most.

        One sends while it has to be found out whether the receiver responds, or if the rate of
        requests is limited.
        """
        return 1 if self.is_probing or self.rate is not None else in_flight_max

    @property
    def is_full(self) -> bool:
        return self.is_paused or self.capacity * 2 < self.window

    @property
    def wants_claim(self) -> bool:
        return bool(self.more_in) and not self.is_full

    def adjust(self, outcome: Outcome, now: Moment) -> None:
        """Grow while batches succeed; shrink, pause, and open the breaker, when they do not."""
        if is_receiver_failing(outcome):
            # Whoever floods is not tried four times more: each attempt costs everybody.
            is_flood = isinstance(outcome, Unreachable) and (
                outcome.code is FailureCode.LIMIT_EXCEEDED
            )
            self.failing_count += PROBE_AFTER if is_flood else 1
            # The outcome of a probe that speaks for all is applied to all that are claimed, so
            # claim many.
            self.window = self.window_max if self.speaks_for_all(outcome) else WINDOW_MIN
            if self.is_probing:
                pause_s = min(PAUSE_MAX_S, self.failing_count * PAUSE_STEP_S)
                self.resumes_at_monotonic = time.monotonic() + pause_s
                self.is_paused = True
            requested_s = get_requested_pause_s(outcome)
            if requested_s:
                self.request_pause(now + requested_s * SECOND)
        elif not self._get_requested_s(now):  # else it was sent before the receiver asked for time
            self.failing_count = 0
            self.requested_until = 0
            self.window = self.window * 2
        self.window = min(self.window, self.window_max)

    def request_pause(self, until: Moment) -> None:
        """Send nothing until then, and one message after it."""
        self.failing_count = max(self.failing_count, PROBE_AFTER)
        self.requested_until = max(self.requested_until, until)
        self.is_paused = True

    def speaks_for_all(self, outcome: Outcome | Released) -> bool:
        """Whether what a probe has ended with holds for the messages that wait behind it."""
        if isinstance(outcome, Released) or not is_receiver_failing(outcome):
            return False
        failures = PROBE_AFTER if isinstance(outcome, Unreachable) else REFUSALS_FOR_ALL
        return self.failing_count >= failures

    def get_pause_left_s(self, now: Moment) -> float:
        """Zero if the pause has ended."""
        return max(self._get_requested_s(now), self.resumes_at_monotonic - time.monotonic())

    def _get_requested_s(self, now: Moment) -> float:
        """What is left of the time that it wants. A clock that has jumped makes it no longer."""
        left_s = (self.requested_until - now) / SECOND
        return left_s if 0 < left_s <= RETRY_AFTER_MAX_S else 0.0

    def add_claimed(self, slot: int, leased: Sequence[LeasedDelivery], *, is_more: bool) -> None:
        """`is_more` if more may be due in the slot."""
        if is_more:
            self.more_in.add(slot)
        else:
            self.more_in.discard(slot)
        self.pending.extend(leased)
        if leased:
            # Large messages are claimed in small numbers, to bound memory.
            average = sum(len(each.claimed.body) for each in leased) // len(leased) + 1
            self.window_max = max(1, min(WINDOW_MAX, WINDOW_CHARACTERS_MAX // average))
            self.window = min(self.window, self.window_max)

    def take_batch(self) -> list[LeasedDelivery]:
        size = min(self.sender.batch_max, len(self.pending))
        if self.is_probing and len(self.pending) > size:
            self._move_probe_to_front()
        return [self.pending.popleft() for _ in range(size)]

    def _move_probe_to_front(self) -> None:
        """Of those with the fewest attempts, so that no message which is refused each time is the
        probe each time; drawn by lot from all, if a refusal is to hold for the others.
        """
        if self.failing_count + 1 >= REFUSALS_FOR_ALL:
            probe = _RANDOM.choice(self.pending)
        else:
            probe = min(self.pending, key=lambda each: each.claimed.attempts)
        self.pending.remove(probe)
        self.pending.appendleft(probe)
