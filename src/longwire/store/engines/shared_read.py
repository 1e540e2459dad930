"""A read that anybody may cause, also without a token: one at a time, its result shared."""

import asyncio
from contextvars import Context
from typing import Generic, TypeVar

from longwire.clock import Moment
from longwire.store.database import Database, Work

T = TypeVar("T")


class SharedRead(Generic[T]):
    """However many callers there are, the database does the work once in `max_age`."""

    def __init__(self, database: Database, work: Work[T], *, max_age: Moment = 0) -> None:
        self._database = database
        self._work = work
        self._max_age = max_age
        self._running: asyncio.Task[T] | None = None
        self._loaded: tuple[Moment, T] | None = None

    @property
    def was_read(self) -> bool:
        return self._loaded is not None

    async def get(self, timeout_s: float) -> T:
        """The last result, if it is young enough, or a new one.

        A read that takes longer goes on after the TimeoutError, for those who call later.
        """
        if self._loaded is not None:
            at, result = self._loaded
            if 0 <= self._database.context.clock.now() - at < self._max_age:
                return result
        if self._running is None or self._running.done():
            # In a context of its own: it is not the turn of whoever happened to be first.
            self._running = asyncio.create_task(self._read(), context=Context())
            # Should nobody wait for it any more, its error is of no interest.
            self._running.add_done_callback(lambda task: task.cancelled() or task.exception())
        # Not wait_for: with a result that has just come, it is not cancelled (Python 3.11).
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(self._running)

    async def _read(self) -> T:
        at = self._database.context.clock.now()
        result = await self._database.read(self._work)
        self._loaded = (at, result)
        return result
