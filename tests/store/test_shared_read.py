"""Many callers share one read of the database."""

import asyncio

import pytest

from longwire.store.engines.shared_read import SharedRead
from tests.world import World

TICKS = 8  # in which the end of the read gets to its caller


@pytest.mark.engine_free
@pytest.mark.parametrize("ticks", range(TICKS))
def test_a_task_that_is_cancelled_as_its_read_ends_is_cancelled(world: World, ticks: int) -> None:
    """Else a background task goes on, and the service that has cancelled it never stops."""

    async def story() -> bool:
        shared = SharedRead(world.database, lambda tx: tx.now)
        caller = asyncio.create_task(shared.get(timeout_s=60))
        await asyncio.sleep(0)
        assert shared._running is not None
        await asyncio.wait([shared._running])
        for _ in range(ticks):
            await asyncio.sleep(0)
        is_late = not caller.cancel()
        await asyncio.wait([caller])
        return is_late or caller.cancelled()

    assert asyncio.run(story())
