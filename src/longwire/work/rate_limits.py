"""How often something may be done: by a caller, and by all of an owner; token buckets."""

import functools
import math
from collections.abc import Callable, Hashable
from ipaddress import IPv6Address, IPv6Network, ip_address

from longwire.clock import Clock
from longwire.errors import TooManyRequests
from longwire.work.budgets import RefillingBudgets
from longwire.work.turns import CallerKey

# How many callers' worth of requests in a minute an owner has.
RATE_OF_OWNER = 4
# A site mostly has a /64, and changes addresses in it at will; providers give away up to a /48.
SITE_BITS, PROVIDER_BITS = 64, 48
NETWORKS_CACHED_MAX = 10_000  # one is looked up for each request


class RateLimiter:
    """A token bucket per key: `burst` at once, `per_minute` on average; divided by `nodes`."""

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
        self._budgets: RefillingBudgets[Hashable] = RefillingBudgets(
            clock, burst=burst, per_s=per_minute / 60, keys_max=keys_max, nodes=nodes
        )

    def acquire(self, key: Hashable) -> None:
        """Consume one token, or raise TooManyRequests."""
        retry_after_s = self.get_retry_after_s(key)
        if retry_after_s:
            raise TooManyRequests(retry_after_s=retry_after_s)
        self.consume(key)

    def get_retry_after_s(self, key: Hashable) -> int:
        """Seconds until a token is available; 0 if one is."""
        return math.ceil(self._budgets.get_wait_s(key, 1))

    def consume(self, key: Hashable) -> None:
        """Consume one token, if there is one."""
        self._budgets.use(key, 1, debt_max=0)

    def give_back(self, key: Hashable) -> None:
        """Undo `consume`."""
        self._budgets.use(key, -1)

    def refill(self, key: Hashable) -> None:
        """Forget what was consumed."""
        self._budgets.refill(key)


class OperationRateLimiter:
    """How often an operation may be called in a minute: by one caller, and by all of an owner."""

    def __init__(self, clock: Clock, per_minute: int) -> None:
        of_owner = per_minute * RATE_OF_OWNER
        self._by_caller = RateLimiter(clock, burst=per_minute, per_minute=per_minute)
        self._by_owner = RateLimiter(clock, burst=of_owner, per_minute=of_owner)

    def acquire(self, caller: CallerKey) -> None:
        self._by_caller.acquire(caller)
        self._by_owner.acquire(caller.owner)


def get_site(address: str) -> str:
    """What a caller cannot change at will: its IPv4 address, or the first 64 bits of IPv6."""
    return _get_network(address, SITE_BITS)


def get_provider(address: str) -> str:
    """The same with 48 bits of IPv6."""
    return _get_network(address, PROVIDER_BITS)


@functools.lru_cache(NETWORKS_CACHED_MAX)
def _get_network(address: str, bits: int) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((int(parsed), bits), strict=False))
