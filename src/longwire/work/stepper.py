"""Background work in small steps, with pauses in which others have the machine.

Owners take turns: one step of each that has something to do, and then the next one's. A step does a
bounded amount of work and commits it, so that a process which dies in between has lost one step at
most, and whoever goes on finds what is left. The error of one owner is logged and does not stop the
others.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import structlog

from longwire.errors import LongwireError, Unavailable

K = TypeVar("K")

log = structlog.get_logger()


class Wakeup:
    """Ends a wait early; `notify` may be called by any thread."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None  # of who waits

    def notify(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed; the next start goes on
                self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, timeout_s: float) -> None:
        """Until `notify` was called since the last wait, or for so long."""
        self._loop = asyncio.get_running_loop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._event.wait()
        self._event.clear()


async def repeat(
    interval_s: float, work: Callable[[], Awaitable[object]], wakeup: Wakeup | None = None
) -> None:
    """Do the work after every interval, or when it is woken, until cancelled.

    An error of the domain means that the database is unavailable, and the next round retries. Any
    other goes to the supervisor.
    """
    wakeup = wakeup or Wakeup()
    while True:
        await wakeup.wait(interval_s)
        with contextlib.suppress(LongwireError):
            await work()


class DoneStep(NamedTuple):
    """What a step says of itself."""

    took_s: float  # others have the machine for as long
    is_busy: bool = True  # there may be something to do at once


class Stepper(Generic[K]):
    """Runs steps of owners in turns, as long as any has something to do, and after each interval.

    `list_owners` gets the owner of the last step and how many to list at most: who comes next, in
    the order of owners. `step` does a step for one of them; None if there was nothing to do.
    """

    def __init__(
        self,
        name: str,
        list_owners: Callable[[K, int], Awaitable[Sequence[K]]],
        step: Callable[[K], Awaitable[DoneStep | None]],
        *,
        before_any: K,
        owners_max: int,
        interval_s: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.wakeup = Wakeup()
        self._name = name
        self._list_owners = list_owners
        self._step = step
        self._before_any = self._after = before_any
        self._owners_max = owners_max
        self._interval_s = interval_s
        self._sleep = sleep
        self._failed: set[K] = set()  # until the others are done

    async def run(self) -> None:
        await repeat(self._interval_s, self.run_rounds, self.wakeup)

    async def run_rounds(self) -> None:
        self._failed.clear()
        while await self._run_round():
            pass

    async def _run_round(self) -> bool:
        """A step for each owner; whether there may be more to do."""
        is_busy = False
        while True:
            owners = await self._list_owners(self._after, self._owners_max)
            has_more = len(owners) == self._owners_max
            self._after = owners[-1] if has_more else self._before_any
            for owner in owners:
                if owner not in self._failed:
                    is_busy |= await self._run_step(owner)
            if not has_more:
                return is_busy

    async def _run_step(self, owner: K) -> bool:
        try:
            done = await self._step(owner)
        except Unavailable:
            raise
        except Exception:
            log.exception(f"{self._name} failed", owner=owner)
            self._failed.add(owner)
            return False
        if done is None:
            return False
        # Never more than half of the time, which requests need as well.
        await self._sleep(done.took_s)
        return done.is_busy
