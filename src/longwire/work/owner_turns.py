"""So many at once of an owner: what is prepared may be megabytes. The others wait."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from weakref import WeakValueDictionary


class OwnerTurns:
    """Turns of those who use the same work at once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_owner: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def take(self, owner: str) -> AsyncIterator[None]:
        turns = self._by_owner.get(owner)
        if turns is None:
            turns = self._by_owner[owner] = asyncio.Semaphore(self._most)
        async with turns:
            yield
