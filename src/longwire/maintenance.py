"""What a running service does on the side: watch, prune, erase, forget; always in small steps."""

import asyncio
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial

import structlog

from longwire import metrics
from longwire.clock import DAY
from longwire.delivery.channels import Dispatch
from longwire.errors import LongwireError
from longwire.fleet import downlinks, monitoring, registrations
from longwire.fleet.records import oldest_kept
from longwire.ingest import Sequencer, tell
from longwire.store import (
    auth_epoch,
    connectors,
    counters,
    credentials,
    deliveries,
    device_monitors,
    notifications,
    partitions,
    records,
)
from longwire.store import downlinks as store_downlinks
from longwire.store.database import Database, Tx

RIGHTS_WATCH_S = 1.0
RIGHTS_TRUST_S = 5.0
DEVICES_WATCH_S = 1.0
DEVICES_PER_STEP_MAX = 200
# Looking at a silent device costs a microsecond or two.
SILENT_PER_ROUND_MAX = 10_000
DOWNLINKS_WATCH_S = 1.0
DOWNLINKS_PER_STEP_MAX = 200
REGISTRATIONS_PER_STEP_MAX = 200
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
                epoch, now = await database.read(auth_epoch.epoch_and_time)
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


async def watch_devices(
    database: Database, sequencer: Sequencer, wake: Callable[[Collection[int]], None]
) -> None:
    """Tell of devices that have fallen silent, and of those that are back."""
    after: int | None = 0
    while True:
        await asyncio.sleep(DEVICES_WATCH_S)
        try:
            after = await _look_around(database, sequencer, wake, after or 0)
        except LongwireError:
            pass  # the database is away for now; the next round tries again
        except Exception:
            log.exception("it is not known which devices are silent")


async def _look_around(
    database: Database,
    sequencer: Sequencer,
    wake: Callable[[Collection[int]], None],
    after: int,
) -> int | None:
    """One round: those that are due, and some of the silent ones; where to go on with these."""

    def find(tx: Tx) -> tuple[list[str], list[str], int | None]:
        due = device_monitors.due(tx, tx.now, DEVICES_PER_STEP_MAX)
        return due, *device_monitors.heard_again(tx, after, SILENT_PER_ROUND_MAX)

    due, again, last = await database.read(find)
    while due or again:
        some, again = again[:DEVICES_PER_STEP_MAX], again[DEVICES_PER_STEP_MAX:]
        woken = await database.write(
            lambda tx, ids=(*due, *some): tell(tx, sequencer, monitoring.look(tx, ids))  # type: ignore[misc]
        )
        if woken:
            wake(woken)
        await asyncio.sleep(BETWEEN_STEPS_S)
        due = await database.read(lambda tx: device_monitors.due(tx, tx.now, DEVICES_PER_STEP_MAX))
    return last


async def watch_downlinks(database: Database, dispatch: Dispatch) -> None:
    """Let go of messages to devices whose time is over, and tell so."""

    def step(tx: Tx) -> int:
        return downlinks.expire(tx, dispatch, DOWNLINKS_PER_STEP_MAX)

    while True:
        await asyncio.sleep(DOWNLINKS_WATCH_S)
        try:
            if await database.read(store_downlinks.is_any_overdue):
                await _in_steps(database, step)
        except LongwireError:
            pass  # the database is away for now; the next round tries again
        except Exception:
            log.exception("messages to devices whose time is over could not be let go")


async def register_idle(database: Database, dispatch: Dispatch) -> None:
    """Once after the start: send on its way what waits for the vendor's API to be named."""

    def step(tx: Tx) -> int:
        return registrations.send_idle(tx, dispatch, REGISTRATIONS_PER_STEP_MAX)

    while registrations.is_possible(dispatch):
        try:
            await _in_steps(database, step)
            return
        except LongwireError:
            pass  # the database is away for now
        except Exception:
            log.exception("registrations that wait could not be sent on their way")
        await asyncio.sleep(TIDY_EVERY_S)


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
    await _in_steps(database, lambda tx: store_downlinks.prune(tx, before, DELIVERIES_PER_STEP_MAX))
    for number in await database.read(connectors.deleted):
        step = partial(deliveries.remove_of, number=number, most=DELIVERIES_PER_STEP_MAX)
        await _in_steps(database, step)
        step = partial(notifications.forget_states, number=number, most=DELIVERIES_PER_STEP_MAX)
        await _in_steps(database, step)
        await database.write(partial(notifications.forget, number=number))
        await database.write(partial(connectors.forget, number=number))


async def forget_old(database: Database, keeps_days: Mapping[str, int]) -> None:
    """One round through everything that is older than it is kept."""
    for kind in records.KINDS:
        oldest = oldest_kept(keeps_days.get(kind, 0), database.tools.clock.now())
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
    await _forget_counted(database, keeps_days)


async def _forget_counted(database: Database, keeps_days: Mapping[str, int]) -> None:
    now = database.tools.clock.now()
    oldest = metrics.oldest_counted(keeps_days.get("metrics", 0), now)
    if oldest is None:
        return
    group: int | None = 0
    while group is not None:
        step = partial(counters.remove_older, after_group=group, oldest=oldest)
        _, group = await database.write(step)
        await asyncio.sleep(0)
    oldest = metrics.oldest_entered(keeps_days, now)
    if oldest is None:
        return
    place: counters.Place | None = counters.BEFORE_ANY
    while place is not None:
        walk = partial(counters.remove_entries, after=place, oldest=oldest)
        _, place = await database.write(walk)
        await asyncio.sleep(0)


async def _in_steps(database: Database, step: Callable[[Tx], int]) -> None:
    removed = 1
    while removed:
        removed = await database.write(step)
        await asyncio.sleep(BETWEEN_STEPS_S)
