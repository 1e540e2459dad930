"""How many requests callers may send: each by the settings, or a group with those below it."""

from collections.abc import Callable

from longwire.clock import Clock
from longwire.errors import TooManyRequests
from longwire.model import Actor
from longwire.work.rate_limits import RateLimiter

RATES_MAX = 1_000  # different ones, of groups


class CallerRateLimiter:
    """What the operator has said of a caller's group holds in place of the settings."""

    def __init__(
        self, clock: Clock, *, burst: int, per_s: float, nodes: Callable[[], int] = lambda: 1
    ) -> None:
        """`per_s` is 0 for no limit of each caller."""

        def build(rate: float) -> RateLimiter:
            return RateLimiter(clock, burst=burst, per_minute=rate * 60, nodes=nodes)

        self._build = build
        self._by_caller = build(per_s) if per_s else None
        self._by_rate: dict[float, RateLimiter] = {}

    def is_limited(self, actor: Actor) -> bool:
        return bool(actor.rates) or self._by_caller is not None

    def acquire(self, actor: Actor) -> None:
        """Count a request, or raise TooManyRequests."""
        if not actor.rates:
            if self._by_caller is not None:
                self._by_caller.acquire(actor.id)
            return
        limiters = [(self._get_limiter(rate), group) for group, rate in actor.rates if rate]
        retry_after_s = max((each.get_retry_after_s(group) for each, group in limiters), default=0)
        if retry_after_s:
            raise TooManyRequests(retry_after_s=retry_after_s)
        for limiter, group in limiters:
            limiter.consume(group)

    def _get_limiter(self, rate: float) -> RateLimiter:
        """Of all groups with this rate: another rate begins with a full bucket."""
        found = self._by_rate.get(rate)
        if found is None:
            if len(self._by_rate) >= RATES_MAX:
                self._by_rate.clear()
            found = self._by_rate[rate] = self._build(rate)
        return found
