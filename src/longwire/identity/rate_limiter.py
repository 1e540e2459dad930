"""Rate limiting with token buckets: failed attempts to authenticate, and requests per caller."""

import asyncio
import functools
import math
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager
from ipaddress import IPv6Address, IPv6Network, ip_address

from longwire.clock import Clock
from longwire.errors import NotAuthenticated, TooManyRequests, TotpRequired
from longwire.work.budgets import RefillingBudgets
from longwire.work.turns import CallerKey

# How many callers' worth of requests in a minute an owner has.
RATE_OF_OWNER = 4
SUCCEEDED_MAX = 50_000
# A site mostly has a /64, and changes addresses in it at will; providers give away up to a /48.
SITE_BITS, PROVIDER_BITS = 64, 48
# A /48 may belong to many customers, so that it may fail so many times as often as a /64.
PROVIDER_FACTOR = 4
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


class AttemptLimiter:
    """Bounds how many attempts with a key fail, however many are made at once.

    Each consumes a token before anything is checked, and gets it back unless it fails. While the
    last tokens are with attempts whose outcome is open, the next one waits for it: whoever succeeds
    many times at once is not refused.
    """

    def __init__(self, limiter: RateLimiter) -> None:
        self._limiter = limiter
        self._open: Counter[Hashable] = Counter()
        self._next_outcome: dict[Hashable, asyncio.Future[None]] = {}

    @asynccontextmanager
    async def attempt(
        self, key: Hashable, failures: tuple[type[Exception], ...] = (NotAuthenticated,)
    ) -> AsyncIterator[None]:
        """Raises TooManyRequests after too many failures; a missing code is none."""
        await self._begin(key)
        has_failed = False
        try:
            yield
        except failures as error:
            has_failed = not isinstance(error, TotpRequired)
            raise
        finally:
            self._end(key, has_failed=has_failed)

    def acquire(self, key: Hashable) -> None:
        """Count something that is limited whatever comes of it."""
        self._limiter.acquire(key)

    def note_failure(self, key: Hashable) -> None:
        """Count an attempt that was not limited by this."""
        self._limiter.consume(key)

    def refill(self, key: Hashable) -> None:
        self._limiter.refill(key)

    async def _begin(self, key: Hashable) -> None:
        while wait_s := self._limiter.get_retry_after_s(key):
            if not self._open[key]:
                raise TooManyRequests(
                    f"Too many failed attempts; retry after {wait_s} seconds.",
                    retry_after_s=wait_s,
                )
            if key not in self._next_outcome:
                self._next_outcome[key] = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._next_outcome[key])
        self._limiter.consume(key)
        self._open[key] += 1

    def _end(self, key: Hashable, *, has_failed: bool) -> None:
        if not has_failed:
            self._limiter.give_back(key)
        self._open[key] -= 1
        if not self._open[key]:
            del self._open[key]
        if key in self._next_outcome:
            self._next_outcome.pop(key).set_result(None)


class AddressLimiter:
    """Bounds how often an address fails; of IPv6 all addresses of a site, as they are free."""

    def __init__(
        self, clock: Clock, *, per_minute: int, nodes: Callable[[], int] = lambda: 1
    ) -> None:
        def build(most: int) -> AttemptLimiter:
            return AttemptLimiter(RateLimiter(clock, burst=most, per_minute=most, nodes=nodes))

        self._sites = build(per_minute)
        self._providers = build(per_minute * PROVIDER_FACTOR)

    @asynccontextmanager
    async def attempt(
        self, address: str, failures: tuple[type[Exception], ...] = (NotAuthenticated,)
    ) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for limiter, key in self._levels(address):
                await stack.enter_async_context(limiter.attempt(key, failures))
            yield

    def acquire(self, address: str) -> None:
        for limiter, key in self._levels(address):
            limiter.acquire(key)

    def note_failure(self, address: str) -> None:
        for limiter, key in self._levels(address):
            limiter.note_failure(key)

    def _levels(self, address: str) -> list[tuple[AttemptLimiter, str]]:
        site, provider = get_site(address), get_provider(address)
        levels = [(self._sites, site)]
        return levels if provider == site else [*levels, (self._providers, provider)]


class OperationRateLimiter:
    """How often an operation may be called in a minute: by one caller, and by all of an owner."""

    def __init__(self, clock: Clock, per_minute: int) -> None:
        of_owner = per_minute * RATE_OF_OWNER
        self._by_caller = RateLimiter(clock, burst=per_minute, per_minute=per_minute)
        self._by_owner = RateLimiter(clock, burst=of_owner, per_minute=of_owner)

    def acquire(self, caller: CallerKey) -> None:
        self._by_caller.acquire(caller)
        self._by_owner.acquire(caller.owner)


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
        self._per_account = AttemptLimiter(
            RateLimiter(clock, burst=per_account, per_minute=per_account, nodes=nodes)
        )
        self._per_address = AddressLimiter(clock, per_minute=per_address, nodes=nodes)
        self._succeeded: OrderedDict[tuple[str, str], None] = OrderedDict()

    @asynccontextmanager
    async def attempt(self, address: str, account: str) -> AsyncIterator[None]:
        """Raises TooManyRequests after too many failures; it fails with NotAuthenticated."""
        pair = get_site(address), account
        async with self._per_account.attempt(pair):
            if pair in self._succeeded:
                try:
                    yield
                except TotpRequired:
                    raise
                except NotAuthenticated:
                    self._per_address.note_failure(address)
                    raise
            else:
                async with self._per_address.attempt(address):
                    yield
        self._succeeded[pair] = None
        self._succeeded.move_to_end(pair)
        if len(self._succeeded) > SUCCEEDED_MAX:
            self._succeeded.popitem(last=False)

    def has_succeeded(self, address: str, account: str) -> bool:
        """Whether somebody has lately authenticated as this account from there."""
        return (get_site(address), account) in self._succeeded


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
