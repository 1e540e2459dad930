"""Rate limiting with token buckets: failed token requests, and requests per caller."""

import math
from collections import OrderedDict
from collections.abc import Hashable

from longwire.clock import SECOND, Clock, Moment
from longwire.errors import TooManyRequests

DEBT_MAX = 60.0


class RateLimiter:
    """A token bucket per key: `burst` at once, `per_minute` on average.

    The least recently used keys are evicted; by then their bucket is nearly always full again.
    """

    def __init__(self, clock: Clock, *, burst: int, per_minute: float, keys_max: int = 50_000):
        self._clock = clock
        self._burst = burst
        self._per_moment = per_minute / (60 * SECOND)
        self._keys_max = keys_max
        self._buckets: OrderedDict[Hashable, tuple[float, Moment]] = OrderedDict()

    def acquire(self, key: Hashable) -> None:
        """Consume one token, or raise TooManyRequests."""
        retry_after_s = self.get_retry_after_s(key)
        if retry_after_s:
            raise TooManyRequests(retry_after_s=retry_after_s)
        self.consume(key)

    def get_retry_after_s(self, key: Hashable) -> int:
        """Seconds until a token is available; 0 if one is."""
        lacking = 1 - self._level(key)
        return 0 if lacking <= 0 else max(1, math.ceil(lacking / self._per_moment / SECOND))

    def consume(self, key: Hashable) -> None:
        """Consume one token, even below zero: concurrent requests that passed the check together
        go into debt, so that the average rate holds."""
        self._buckets[key] = (max(-DEBT_MAX, self._level(key) - 1), self._clock.now())
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._keys_max:
            self._buckets.popitem(last=False)

    def _level(self, key: Hashable) -> float:
        level, since = self._buckets.get(key, (float(self._burst), 0))
        passed = max(0, self._clock.now() - since)
        return min(float(self._burst), level + passed * self._per_moment)
