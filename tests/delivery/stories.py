"""Runs a test on an event loop of its own, and checks that it leaves nothing behind."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from typing import Any

from tests.waiting import PATIENCE_S

END_TIMEOUT_S = PATIENCE_S


def story(run: Callable[[], Awaitable[None]]) -> None:
    """Run a test; no task is left, and no unhandled error was reported to the loop."""
    errors: list[dict[str, Any]] = []

    async def run_checked() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(context))
        await run()
        # Connections that are closing get time for it.
        if left := asyncio.all_tasks() - {asyncio.current_task()}:
            _, pending = await asyncio.wait(left, timeout=END_TIMEOUT_S)
            assert not pending
        # An exception that nobody retrieved is reported when it is collected.
        gc.collect(1)

    asyncio.run(run_checked())
    assert errors == []
