"""Failed tries at the token endpoint, and callers in a hurry: buckets that refill with time."""

import math
from collections import OrderedDict
from collections.abc import Hashable

from longwire.clock import SECOND, Clock, Moment
from longwire.errors import TooManyRequests

DEBT_MAX = 60.0


class Throttle:
    """Each key may take `burst` at once and `per_minute` in the long run.

    Only so many keys are remembered; the ones unused for longest are forgotten first, by when their
    bucket is nearly always full again.
    """

    def __init__(self, clock: Clock, *, burst: int, per_minute: float, keys_max: int = 50_000):
        self._clock = clock
        self._burst = burst
        self._per_moment = per_minute / (60 * SECOND)
        self._keys_max = keys_max
        self._buckets: OrderedDict[Hashable, tuple[float, Moment]] = OrderedDict()

    def let_in(self, key: Hashable) -> None:
        """Take one, or raise TooManyRequests."""
        wait_s = self.wait_s(key)
        if wait_s:
            raise TooManyRequests(retry_after_s=wait_s)
        self.take(key)

    def wait_s(self, key: Hashable) -> int:
        """How many seconds until the key may take again; 0 for at once."""
        lacking = 1 - self._level(key)
        return 0 if lacking <= 0 else max(1, math.ceil(lacking / self._per_moment / SECOND))

    def take(self, key: Hashable) -> None:
        """Take one; those that were let in at the same time may run into debt, which is waited off.

        So many guesses made at once are paid for later, and the long run stays what it should be.
        """
        self._buckets[key] = (max(-DEBT_MAX, self._level(key) - 1), self._clock.now())
        self._buckets.move_to_end(key)
        if len(self._buckets) > self._keys_max:
            self._buckets.popitem(last=False)

    def _level(self, key: Hashable) -> float:
        level, since = self._buckets.get(key, (float(self._burst), 0))
        passed = max(0, self._clock.now() - since)
        return min(float(self._burst), level + passed * self._per_moment)
