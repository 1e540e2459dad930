"""Bounds on failed attempts to authenticate: by address, by account, by whatever can be guessed."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import AsyncExitStack, asynccontextmanager

from longwire.clock import Clock
from longwire.errors import NotAuthenticated, TooManyRequests, TotpRequired
from longwire.work.rate_limits import RateLimiter, get_provider, get_site

SUCCEEDED_MAX = 50_000
# A /48 may belong to many customers, so that it may fail so many times as often as a /64.
PROVIDER_FACTOR = 4


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
