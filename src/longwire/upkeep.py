"""What a running service does on the side: watch, prune, erase, forget; always in small steps."""

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial

import structlog

from longwire.clock import DAY
from longwire.errors import LongwireError
from longwire.fleet.records import oldest_kept
from longwire.store import connectors, credentials, deliveries, partitions, records, rights
from longwire.store.database import Database, Tx

RIGHTS_WATCH_S = 1.0
RIGHTS_TRUST_S = 5.0
TIDY_EVERY_S = 30.0
BETWEEN_STEPS_S = 0.02
TOKENS_PER_STEP_MAX = 1_000
DELIVERIES_PER_STEP_MAX = 1_000
RETENTION_ROUND_S = 3_600.0

log = structlog.get_logger()


async def watch_rights(database: Database, failed: Callable[[], None]) -> None:
    """Follow the epoch and the clock of the database; say so when the database is broken."""
    memory, clock = database.tools.memory, database.tools.clock
    last_seen = time.monotonic()
    while True:
        if database.broken:
            failed()
            return
        try:
            async with asyncio.timeout(RIGHTS_TRUST_S):
                epoch, now = await database.read(rights.epoch_and_time)
        except Exception as error:
            # Whatever it was: a watch that ends would leave stale rights standing for ever.
            if not isinstance(error, LongwireError | TimeoutError):
                log.exception("the epoch of rights cannot be read")
            if time.monotonic() - last_seen > RIGHTS_TRUST_S:
                memory.distrust()
        else:
            last_seen = time.monotonic()
            memory.saw_epoch(epoch)
            if database.engine_name == "postgresql":
                clock.follow(now)
        await asyncio.sleep(RIGHTS_WATCH_S)


async def tidy(database: Database, keeps_days: Mapping[str, int], delivery_keep_days: int) -> None:
    """Remove what is over: tokens, erased records, records and deliveries past their time."""
    last_day = -1
    last_round = -RETENTION_ROUND_S
    while True:
        await asyncio.sleep(TIDY_EVERY_S)  # first: a service that has just started is busy
        try:
            await _in_steps(database, lambda tx: credentials.prune_tokens(tx, TOKENS_PER_STEP_MAX))
            await _in_steps(database, records.remove_erased)
            await forget_deliveries(database, delivery_keep_days)
            today = database.tools.clock.now() // DAY
            if today != last_day:
                await database.write(partitions.make_ahead)
                last_day = today
            if time.monotonic() - last_round > RETENTION_ROUND_S:
                last_round = time.monotonic()
                await forget_old(database, keeps_days)
        except LongwireError:
            pass  # the database is away for now; the next round tries again
        except Exception:
            log.exception("what is over could not be removed")


async def forget_deliveries(database: Database, keep_days: int) -> None:
    """Let go of what is kept in vain, of what ended long ago, and of deleted connectors."""
    before = database.tools.clock.now() - keep_days * DAY
    await _in_steps(database, lambda tx: deliveries.expire(tx, DELIVERIES_PER_STEP_MAX))
    await _in_steps(database, lambda tx: deliveries.prune(tx, before, DELIVERIES_PER_STEP_MAX))
    for number in await database.read(connectors.deleted):
        step = partial(deliveries.remove_of, number=number, most=DELIVERIES_PER_STEP_MAX)
        await _in_steps(database, step)
        await database.write(partial(connectors.forget, number=number))


async def forget_old(database: Database, keeps_days: Mapping[str, int]) -> None:
    """One round through everything that is older than it is kept."""
    for kind, days in keeps_days.items():
        oldest = oldest_kept(days, database.tools.clock.now())
        if oldest is None:
            continue
        dropped = await database.write(partial(partitions.drop_before, kind=kind, oldest=oldest))
        if dropped:
            log.info("dropped old records", partitions=dropped)
        device: int | None = 0
        while device is not None:
            step = partial(records.remove_older, kind=kind, after_device=device, before=oldest)
            _, device = await database.write(step)
            await asyncio.sleep(0)


async def _in_steps(database: Database, step: Callable[[Tx], int]) -> None:
    removed = 1
    while removed:
        removed = await database.write(step)
        await asyncio.sleep(BETWEEN_STEPS_S)
