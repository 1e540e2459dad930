"""The pace of background work: small steps, with pauses in which others have the database."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

from longwire.store.database import Database, Tx

# After a step, others have the database for so many times as long as the step took.
PAUSE_RATIO = 3
PAUSE_S_MIN = 0.005  # as when all rows of a step are locked by others
PAUSE_S_MAX = 1.0

T = TypeVar("T")


async def write_and_pause(
    database: Database, step: Callable[[Tx], T], on_result: Callable[[T], None] | None = None
) -> T:
    """Run a step, and then leave the database to others for a while."""
    took_s = 0.0

    def run(tx: Tx) -> T:
        nonlocal took_s
        began = time.monotonic()
        try:
            return step(tx)
        finally:
            took_s = time.monotonic() - began

    result = await database.write(run)
    if on_result is not None:
        on_result(result)
    await asyncio.sleep(get_pause_s(took_s))
    return result


def get_pause_s(took_s: float) -> float:
    """How long to wait after a step that took so long."""
    return min(max(PAUSE_S_MIN, PAUSE_RATIO * took_s), PAUSE_S_MAX)
