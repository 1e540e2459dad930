"""A channel in this process: its claimed deliveries, their leases, its window, its breaker."""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from longwire.clock import SECOND, Moment
from longwire.delivery.channel_handlers import BuildMessage, ComputedBuilder
from longwire.delivery.destinations.base import FailureCode, Outcome, Sender, Unreachable
from longwire.model import Channel
from longwire.store.database import Database
from longwire.store.delivery.delivery_leases import ClaimedDelivery
from longwire.work.turns import CallerKey

LEASE_S = 30
SEND_TIMEOUT_S = 15.0
# An attempt that could outlive its lease is not started.
LEASE_LEFT_MIN_S = SEND_TIMEOUT_S + 2.0

WINDOW_MIN = 16
WINDOW_MAX = 512
WINDOW_CHARACTERS_MAX = 4 * 1024 * 1024
# The breaker opens after so many unreachable batches in a row.
PROBE_AFTER = 5


@dataclass(slots=True)
class LeasedDelivery:
    """A delivery that this process has claimed.

    Other processes compare a lease with the wall clock, which may jump, after a suspended machine
    wakes up for instance; the monotonic clock may stand still then. So a lease is checked by both.
    """

    channel: Channel
    claimed: ClaimedDelivery
    token: int
    expires_at: Moment
    expires_at_monotonic: float
    slot: int = 0


def has_lease_left(
    database: Database, leased: LeasedDelivery, left_min_s: float = LEASE_LEFT_MIN_S
) -> bool:
    """Whether a lease lasts so much longer, and this process still counts as alive."""
    held_since = database.held_since
    if held_since is None or leased.expires_at_monotonic - LEASE_S < held_since:
        return False  # this process was taken for dead, and others have what it had claimed
    by_wall_clock = (leased.expires_at - database.context.clock.now()) / SECOND
    left_s = min(by_wall_clock, leased.expires_at_monotonic - time.monotonic())
    return left_s >= left_min_s


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
    unreachable_count: int = 0  # batches in a row
    more_in: set[int] = field(default_factory=set)  # slots that may have more that is due
    is_stale: bool = False
    build_s: float = 0.0  # CPU time of a message, in the last batch built by an expression
    throttled_at: float | None = None  # when it was last reported that its budget is used up

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
        return self.unreachable_count >= PROBE_AFTER

    @property
    def capacity(self) -> int:
        return max(0, self.window - len(self.pending) - self.in_flight)

    @property
    def is_full(self) -> bool:
        return self.capacity * 2 < self.window

    @property
    def wants_claim(self) -> bool:
        return bool(self.more_in) and not self.is_full

    def adjust_window(self, outcome: Outcome) -> None:
        """Grow while batches succeed; shrink, and finally open the breaker, when they do not."""
        if isinstance(outcome, Unreachable):
            # Whoever floods is not tried four times more: each attempt costs everybody.
            is_flood = outcome.code is FailureCode.LIMIT_EXCEEDED
            self.unreachable_count += PROBE_AFTER if is_flood else 1
            # The outcome of a probe is applied to all that are claimed, so claim many.
            self.window = self.window_max if self.is_probing else WINDOW_MIN
        else:
            self.unreachable_count = 0
            self.window = self.window * 2
        self.window = min(self.window, self.window_max)

    def add_claimed(self, slot: int, leased: Sequence[LeasedDelivery], requested: int) -> None:
        if len(leased) >= requested:
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
        return [self.pending.popleft() for _ in range(size)]
