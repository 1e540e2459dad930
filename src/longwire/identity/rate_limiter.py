"""Rate limiting with token buckets: failed attempts to authenticate, and requests per caller."""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable

from longwire.clock import SECOND, Clock, Moment
from longwire.errors import TooManyRequests

DEBT_MAX = 60.0
SUCCEEDED_MAX = 50_000


class RateLimiter:
    """A token bucket per key: `burst` at once, `per_minute` on average; divided by `nodes`.

    The least recently used keys are evicted; by then their bucket is nearly always full again.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        burst: int,
        per_minute: float,
        keys_max: int = 50_000,
        nodes: Callable[[], int] = lambda: 1,
    ):
        """`nodes` is how many processes share the limit; each gets a part of the requests."""
        self._clock = clock
        self._burst_of_all = burst
        self._per_moment_of_all = per_minute / (60 * SECOND)
        self._nodes = nodes
        self._keys_max = keys_max
        self._buckets: OrderedDict[Hashable, tuple[float, Moment]] = OrderedDict()

    @property
    def _burst(self) -> float:
        return max(1.0, self._burst_of_all / max(1, self._nodes()))

    @property
    def _per_moment(self) -> float:
        return self._per_moment_of_all / max(1, self._nodes())

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
        burst = self._burst
        level, since = self._buckets.get(key, (burst, 0))
        passed = max(0, self._clock.now() - since)
        return min(burst, level + passed * self._per_moment)


class FailureThrottle:
    """Bounds how often an address fails to authenticate: for one account, and for all of them.

    Who succeeded lately from an address is not locked out by failures of others there.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        per_account: int,
        per_address: int,
        nodes: Callable[[], int] = lambda: 1,
    ) -> None:
        self._per_account = RateLimiter(
            clock, burst=per_account, per_minute=per_account, nodes=nodes
        )
        self._per_address = RateLimiter(
            clock, burst=per_address, per_minute=per_address, nodes=nodes
        )
        self._succeeded: OrderedDict[tuple[str, str], None] = OrderedDict()

    def acquire(self, address: str, account: str) -> None:
        """Raise TooManyRequests after too many failures."""
        retry_after_s = self.get_retry_after_s(address, account)
        if retry_after_s:
            raise TooManyRequests(
                f"Too many failed attempts; retry after {retry_after_s} seconds.",
                retry_after_s=retry_after_s,
            )

    def get_retry_after_s(self, address: str, account: str) -> int:
        """Seconds until another attempt is allowed; 0 if one is."""
        wait_s = self._per_account.get_retry_after_s((address, account))
        if (address, account) not in self._succeeded:
            wait_s = max(wait_s, self._per_address.get_retry_after_s(address))
        return wait_s

    def note_failure(self, address: str, account: str) -> None:
        self._per_address.consume(address)
        self._per_account.consume((address, account))

    def note_success(self, address: str, account: str) -> None:
        self._succeeded[address, account] = None
        self._succeeded.move_to_end((address, account))
        if len(self._succeeded) > SUCCEEDED_MAX:
            self._succeeded.popitem(last=False)
