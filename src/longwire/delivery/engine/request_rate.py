"""How many requests a channel may send in a second, over all processes.

Requests are evenly spaced. Whoever claims takes them from the channel's row, a second ahead at
most, and claims no more messages than they can carry: the others stay in the queue, with no lease,
no slot and no memory. One process sends for such a channel, so that what is late there does not
meet what another one sends.
"""

import time
from dataclasses import dataclass, field

from longwire.clock import SECOND, Moment

AHEAD_S = 1.0
# A timer of a busy event loop is late by so much, and the next request need not be. For that the
# distance between two is a little larger than the rate says.
LATE_S = 0.02
# When another process takes requests, look again after so long.
BUSY_DELAY_S = 0.1


@dataclass(frozen=True, slots=True)
class TakenRequests:
    """Requests that may be sent from a moment on; none if there are 0."""

    first_at: Moment
    count: int


def get_interval_s(max_per_s: float) -> float:
    """The distance of two requests; of all in a second, or in the time of one, none is too many."""
    window_s = max(1.0, 1 / max_per_s)
    return (window_s + LATE_S) / (max_per_s * window_s)


def plan_requests(max_per_s: float, taken_until: Moment, now: Moment, most: int) -> TakenRequests:
    """The next requests, as far as they are not further ahead than may be taken."""
    interval = int(get_interval_s(max_per_s) * SECOND)
    ahead = int(AHEAD_S * SECOND)
    # Further ahead only after the clock was turned back, or the rate was a lower one.
    first_at = min(max(now, taken_until), now + ahead + interval)
    left = now + ahead - first_at
    return TakenRequests(first_at, 0 if left < 0 else min(most, left // interval + 1))


def get_end(max_per_s: float, taken: TakenRequests, used: int) -> Moment:
    """From when on there are others, if so many are used."""
    return taken.first_at + used * int(get_interval_s(max_per_s) * SECOND)


@dataclass(slots=True)
class RequestRate:
    """The rate of a channel in the process that sends for it."""

    max_per_s: float
    claims_at: float = 0.0  # nothing can be claimed before; by the monotonic clock, as all here
    sends_at: float = 0.0
    has_timer: bool = False
    _interval_s: float = field(init=False)

    def __post_init__(self) -> None:
        self._interval_s = get_interval_s(self.max_per_s)

    @property
    def may_claim(self) -> bool:
        return time.monotonic() >= self.claims_at

    def get_wait_s(self) -> float:
        """Until the next request may be sent."""
        return max(0.0, self.sends_at - time.monotonic())

    def take(self) -> None:
        """A request is sent now."""
        now = time.monotonic()
        self.sends_at = max(self.sends_at, now - LATE_S) + self._interval_s

    def delay(self, first_in_s: float, next_in_s: float, *, is_idle: bool) -> None:
        """Requests were taken: when the first may be sent, and when others may be claimed."""
        now = time.monotonic()
        if is_idle:  # what waits was taken before, and these are behind it
            self.sends_at = max(self.sends_at, now + first_in_s)
        self.claims_at = now + next_in_s
