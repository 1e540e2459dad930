"""How a story with an event loop is told, so that what it leaves behind is noticed."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

END_TIMEOUT_S = 3


def story(tell: Callable[[], Awaitable[None]]) -> None:
    """Run it, and see that nothing is left over and nothing was complained about."""
    complaints: list[dict[str, Any]] = []

    async def told() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        await tell()
        # What is closing has a moment for it.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            _, pending = await asyncio.wait(left, timeout=END_TIMEOUT_S)
            assert not pending
        # An error that nobody has asked for is complained about when it is thrown away.
        gc.collect(1)

    asyncio.run(told())
    assert complaints == []
