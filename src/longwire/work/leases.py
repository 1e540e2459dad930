"""Leases: what one process at a time does, until it releases it or does not renew it in time.

Whoever claims brings a fencing token that nobody had before, and it is stored with the claim.
What is done under the lease is stored on the condition that the token is still there. So a process
that was suspended, and whose lease another one has taken over, changes nothing; clocks only decide
when to take over. Leases are stored by `longwire.store.leases`.
"""

import asyncio
import secrets
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, Protocol, TypeVar

from longwire.clock import SECOND, Clock, Moment
from longwire.errors import LongwireError

K = TypeVar("K", bound=Hashable)

# As many as fit into a signed column, also if the release before adds one.
TOKEN_BITS = 62


def new_token() -> int:
    """Too many to be drawn twice, and never the zero of a row that nobody has claimed."""
    return secrets.randbits(TOKEN_BITS) | 1


class Lease(NamedTuple):
    """A claim that was granted or renewed."""

    token: int
    expires_at: Moment  # when others may take over
    asked_at_s: float  # as a monotonic time, like the next
    expires_at_s: float

    def get_left_s(self, now: Moment, now_s: float) -> float:
        """How long it lasts, by the clock that says less.

        The time of day may be set; the monotonic clock may stand still while a machine is
        suspended.
        """
        return min((self.expires_at - now) / SECOND, self.expires_at_s - now_s)


class LeaseStore(Protocol[K]):
    """Where leases are stored, each method in a transaction of its own."""

    async def claim(self, key: K, token: int, until: Moment) -> bool:
        """False while another lease on it has not expired."""

    async def renew(self, tokens: Mapping[K, int], until: Moment) -> Collection[K]:
        """Those that could not be renewed, because somebody else has claimed them since."""

    async def list_lost(self, tokens: Mapping[K, int]) -> Collection[K]:
        """Those that somebody else has claimed since, or that nobody can hold any more."""

    async def release(self, tokens: Mapping[K, int]) -> None:
        """Let others claim at once, what is still held with these tokens."""


class UnsharedLeases(LeaseStore[K]):
    """For a process that is alone, such as that of an embedded database."""

    async def claim(self, key: K, token: int, until: Moment) -> bool:
        return True

    async def renew(self, tokens: Mapping[K, int], until: Moment) -> Collection[K]:
        return ()

    async def list_lost(self, tokens: Mapping[K, int]) -> Collection[K]:
        return ()

    async def release(self, tokens: Mapping[K, int]) -> None:
        pass


class HeldLeases(Generic[K]):
    """The leases that this process holds, as far as it knows."""

    def __init__(
        self,
        store: LeaseStore[K],
        clock: Clock,
        lasts_s: float,
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._clock = clock
        self._lasts_s = lasts_s
        self._monotonic_s = monotonic_s
        self._leases: dict[K, Lease] = {}

    @property
    def tokens(self) -> dict[K, int]:
        return {key: lease.token for key, lease in self._leases.items()}

    def get_left_s(self, key: K) -> float:
        """How long a lease lasts if it is not renewed; 0 if it is not held."""
        lease = self._leases.get(key)
        left_s = 0.0 if lease is None else lease.get_left_s(self._clock.now(), self._monotonic_s())
        return max(0.0, left_s)

    async def claim(self, key: K) -> int | None:
        """Its token; None while it is somebody else's.

        If it is not known what became of a claim, it counts as held until it turns out to be lost.
        """
        before, lease = self._leases.get(key), self._ask(new_token())
        self._leases[key] = lease
        if await self._store.claim(key, lease.token, lease.expires_at):
            return lease.token
        if before is None:
            self.forget(key)
        else:
            self._leases[key] = before
        return None

    async def renew(self, keys: Iterable[K]) -> Collection[K]:
        """Those of the leases that are lost, and now forgotten."""
        tokens = {key: self._leases[key].token for key in keys if key in self._leases}
        if not tokens:
            return ()
        asked = self._ask(0)
        lost = self._forget_all(await self._store.renew(tokens, asked.expires_at))
        for key, token in tokens.items():
            if key in self._leases:
                self._leases[key] = asked._replace(token=token)
        return lost

    async def find_lost(self) -> Collection[K]:
        """The same of all, without renewing any."""
        return self._forget_all(await self._store.list_lost(self.tokens)) if self._leases else ()

    async def hold(self, key: K) -> bool:
        """Renew a lease, or claim it if it is not held."""
        if key in self._leases and not await self.renew([key]):
            return True
        return await self.claim(key) is not None

    async def keep(self, key: K, interval_s: float) -> None:
        """Renew a lease, until it is lost or would expire before it can be renewed again."""
        while True:
            await asyncio.sleep(interval_s)
            try:
                if await self.renew([key]):
                    return
            except LongwireError:
                pass  # the database is unavailable; there is time for another attempt
            if self.get_left_s(key) <= interval_s:
                return

    def forget(self, key: K) -> None:
        """What was done under a lease has ended, and nobody else may claim it any more."""
        self._leases.pop(key, None)

    async def release_all(self) -> None:
        tokens, self._leases = self.tokens, {}
        if tokens:
            await self._store.release(tokens)

    def _ask(self, token: int) -> Lease:
        """A lease that counts from before it is asked for, however long that takes."""
        now_s = self._monotonic_s()
        until = self._clock.now() + int(self._lasts_s * SECOND)
        return Lease(token, until, now_s, now_s + self._lasts_s)

    def _forget_all(self, keys: Collection[K]) -> Collection[K]:
        for key in keys:
            self._leases.pop(key, None)
        return keys
