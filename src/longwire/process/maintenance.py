"""Periodic work of a running service: polling, expiry, retention; always in small batches."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from longwire import metrics
from longwire.clock import DAY, HOUR, MINUTE, Moment
from longwire.delivery.channels import DispatchContext
from longwire.delivery.connectors import connector_metrics
from longwire.errors import LongwireError
from longwire.fleet import (
    configurations,
    downlink_states,
    monitoring,
    registrations,
    retention,
    shares,
)
from longwire.fleet.downlink_queues import QueueWatch
from longwire.fleet.summaries import SummaryWork
from longwire.fleet.unknown_devices import KEEP_DAYS
from longwire.group_limits import oldest_kept
from longwire.identity import group_deletions
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.storing import store_service_events
from longwire.notifications.silences import KEPT_AFTER_END
from longwire.records import KIND_NAMES
from longwire.store import instance
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.delivery import (
    change_messages,
    channels,
    connector_minutes,
    dead_letters,
    deliveries,
    exchanges,
)
from longwire.store.engines import partitions
from longwire.store.fleet import device_reports, unknown_devices
from longwire.store.fleet import downlinks as store_downlinks
from longwire.store.identity import audit, expiry, mail_quotas
from longwire.store.jobs import jobs
from longwire.store.notifications import (
    alarms,
    contact_windows,
    device_monitors,
    notifications,
    silences,
)
from longwire.store.pacing import get_pause_s, write_and_pause
from longwire.store.records import counters, receptions, record_deletion, record_expiry
from longwire.store.reports import reports

DATABASE_POLL_INTERVAL_S = 1.0
EPOCH_POLL_INTERVAL_S = 1.0
PROBE_INTERVAL_S = 1.0
EPOCH_MAX_AGE_S = 5.0
DEVICES_POLL_INTERVAL_S = 1.0
DEVICES_PER_BATCH_MAX = 200
# Checking a silent device costs some microseconds, which reads and records wait for.
SILENT_PER_ROUND_MAX = 2_000
CONFIGURATIONS_POLL_INTERVAL_S = 1.0
REPORTS_PER_BATCH_MAX = 50
DOWNLINKS_POLL_INTERVAL_S = 1.0
DOWNLINKS_PER_BATCH_MAX = 200
QUEUES_INTERVAL_S = 60.0
REGISTRATIONS_PER_BATCH_MAX = 200
SUMMARIES_INTERVAL_S = 30.0
CLEANUP_INTERVAL_S = 30.0
TOKENS_PER_BATCH_MAX = 1_000
AUDIT_PER_BATCH_MAX = 1_000
DELIVERIES_PER_BATCH_MAX = 1_000
EXCHANGES_PER_BATCH_MAX = 200
JOB_ITEMS_PER_BATCH_MAX = 1_000
ALARMS_PER_BATCH_MAX = 1_000
SILENCES_PER_BATCH_MAX = 1_000
REPORT_PARTS_PER_BATCH_MAX = 8  # of a megabyte each
SHARES_PER_BATCH_MAX = 200
UNKNOWN_DEVICES_PER_BATCH_MAX = 200
# A message about an id may be stored while its device is created.
UNKNOWN_DEVICES_CHECKED_FOR: Moment = 5 * MINUTE
RETENTION_INTERVAL_S = 3_600.0
# On PostgreSQL a round reads the month in which the retention ends; others go as a whole.
POSTGRES_RETENTION_INTERVAL_FACTOR = 24
CONNECTORS_POLL_INTERVAL_S = 30.0
END_OF_TIME = 2**62

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TraceRetention:
    """How long messages are kept as they came in or went out, and how much of those of networks."""

    keep_hours: int
    bytes_max: int


# Drops archived records that are older, by kind.
DropArchived = Callable[[Database, Mapping[str, Moment]], Awaitable[None]]


class DatabaseFailedError(Exception):
    """The database cannot be trusted any more, as after an I/O error on commit."""


async def watch_database(database: Database) -> None:
    """Raise once the database has failed; nothing in this process can repair it."""
    while True:
        if database.broken:
            raise DatabaseFailedError(database.broken)
        await asyncio.sleep(DATABASE_POLL_INTERVAL_S)


async def probe_writes(database: Database) -> None:
    """After a write has failed, find out when writes succeed again; until then we are not ready."""
    while True:
        if database.write_failure is not None:
            with contextlib.suppress(LongwireError):
                await database.write(instance.probe_growth)
                await database.write(instance.end_probe)
                database.write_failure = None
                log.info("writes succeed again")
        await asyncio.sleep(PROBE_INTERVAL_S)


async def watch_cache_epochs(database: Database) -> None:
    """Poll the cache epochs and the clock of the database."""
    caches, clock = database.context.caches, database.context.clock
    last_seen = time.monotonic()
    while True:
        try:
            async with asyncio.timeout(EPOCH_MAX_AGE_S):
                epochs, now = await database.read(cache_epochs.read_epochs_and_time)
        except Exception as error:
            # Keep polling after any error: without it the caches would stay stale for ever.
            if not isinstance(error, LongwireError | TimeoutError):
                log.exception("reading the cache epochs failed")
            if time.monotonic() - last_seen > EPOCH_MAX_AGE_S:
                caches.distrust()
        else:
            last_seen = time.monotonic()
            caches.observe(epochs)
            if database.engine_name == "postgresql":
                clock.synchronize(now)
        await asyncio.sleep(EPOCH_POLL_INTERVAL_S)


async def watch_silent_devices(
    database: Database, sequencer: Sequencer, wake: Callable[[Collection[int]], None]
) -> None:
    """Raise events for devices that have fallen silent, and for those that are back."""
    after = 0

    async def check() -> None:
        nonlocal after
        after = await _check_devices(database, sequencer, wake, after) or 0

    await _run_as_leader(database, DEVICES_POLL_INTERVAL_S, check)


async def summarize_values(database: Database, work: SummaryWork) -> None:
    """Make the summaries of values whose records are new or have changed."""
    await _run_as_leader(database, SUMMARIES_INTERVAL_S, work.run_round)


async def _check_devices(
    database: Database,
    sequencer: Sequencer,
    wake: Callable[[Collection[int]], None],
    after: int,
) -> int | None:
    """One round: devices that are due, and some silent ones; returns where to continue."""

    def list_due(tx: Tx) -> list[str]:
        return device_monitors.list_due(tx, tx.now, DEVICES_PER_BATCH_MAX)

    def list_all(tx: Tx) -> tuple[list[str], list[str], int | None]:
        return list_due(tx), *device_monitors.list_recovered(tx, after, SILENT_PER_ROUND_MAX)

    def check(tx: Tx, ids: Sequence[str]) -> set[int]:
        return store_service_events(tx, sequencer, monitoring.check_silent_devices(tx, ids))

    due, recovered, last = await database.read(list_all)
    while due or recovered:
        batch, recovered = recovered[:DEVICES_PER_BATCH_MAX], recovered[DEVICES_PER_BATCH_MAX:]
        await write_and_pause(database, partial(check, ids=(*due, *batch)), wake)
        due = await database.read(list_due)
    return last


async def watch_configurations(database: Database) -> None:
    """Compare what devices report with what it should be, after either has changed."""

    async def compare() -> None:
        if await database.read(device_reports.has_check):
            await _run_in_batches(database, device_reports.do_next_check)
        after = 0
        while True:
            began = time.monotonic()
            step = partial(configurations.compare_pending, after=after, most=REPORTS_PER_BATCH_MAX)
            results = await database.read(step)
            if not results:
                return
            await database.write(partial(configurations.save_results, results=results))
            after = results[-1][0].number
            # Large policies make it slow, but nobody else.
            await asyncio.sleep(get_pause_s(time.monotonic() - began))

    await _run_as_leader(database, CONFIGURATIONS_POLL_INTERVAL_S, compare)


async def expire_downlinks(database: Database, dispatch: DispatchContext) -> None:
    """Expire downlinks past their deadline, and raise events for them."""

    def expire_batch(tx: Tx) -> int:
        return downlink_states.expire_downlinks(tx, dispatch, DOWNLINKS_PER_BATCH_MAX)

    async def expire() -> None:
        if await database.read(store_downlinks.has_expired):
            await _run_in_batches(database, expire_batch)

    await _run_as_leader(database, DOWNLINKS_POLL_INTERVAL_S, expire)


async def watch_queues(database: Database, watch: QueueWatch) -> None:
    """Notice what was removed from the queues of networks."""
    await _run_as_leader(database, QUEUES_INTERVAL_S, watch.look)


async def send_pending_registrations(database: Database, dispatch: DispatchContext) -> None:
    """Once after the start: enqueue registrations that waited for the vendor's API settings."""

    def send_batch(tx: Tx) -> int:
        return registrations.send_waiting(tx, dispatch, REGISTRATIONS_PER_BATCH_MAX)

    while registrations.is_configured(dispatch):
        try:
            await _run_in_batches(database, send_batch)
            return
        except LongwireError:
            await asyncio.sleep(CLEANUP_INTERVAL_S)  # the database is unavailable


async def run_cleanup(
    database: Database,
    delivery_keep_days: int,
    job_keep_days: int = 30,
    trace: TraceRetention | None = None,
    alarm_keep_days: int = 0,
) -> None:
    """Delete expired tokens, erased records, deleted groups, old deliveries, jobs and alarms."""
    last_day = -1

    async def clean_up() -> None:
        nonlocal last_day
        # First, so that whatever fails below cannot keep the next month from being created.
        today = database.context.clock.now() // DAY
        if today != last_day:
            await database.write(partitions.create_ahead)
            last_day = today
        for table in expiry.EXPIRING:
            await _run_in_batches(
                database, partial(expiry.delete_expired, table=table, most=TOKENS_PER_BATCH_MAX)
            )
        await _run_in_batches(database, lambda tx: mail_quotas.prune(tx, TOKENS_PER_BATCH_MAX))
        await _run_in_batches(database, record_deletion.delete_erased)
        await delete_old_unknown_devices(database)
        await delete_old_deliveries(database, delivery_keep_days)
        await delete_groups(database)
        if trace is not None:
            await delete_old_receptions(database, trace)
            await delete_old_exchanges(database, trace)
        await delete_old_jobs(database, job_keep_days)
        await delete_old_alarms(database, alarm_keep_days)
        await delete_old_silences(database)
        await _run_in_batches(database, lambda tx: reports.prune(tx, REPORT_PARTS_PER_BATCH_MAX))
        await _run_in_batches(database, lambda tx: shares.prune(tx, SHARES_PER_BATCH_MAX))

    await _run_as_leader(database, CLEANUP_INTERVAL_S, clean_up)


async def run_retention(
    database: Database,
    summary_work: SummaryWork,
    audit_retention_days: int = 0,
    drop_archived: DropArchived | None = None,
) -> None:
    """Delete what is past its retention; apart from the cleanup, because it may take hours.

    Of records only those that had expired when their values were summarized.
    """
    retention_days = database.context.limits.retention_days
    is_postgres = database.engine_name == "postgresql"
    factor = POSTGRES_RETENTION_INTERVAL_FACTOR if is_postgres else 1
    interval_s = RETENTION_INTERVAL_S * factor
    last_round = -interval_s
    last_groups = -RETENTION_INTERVAL_S
    last_day = -1

    async def delete_expired() -> None:
        nonlocal last_round, last_groups, last_day
        until = summary_work.complete_until
        if until is None:
            return
        if time.monotonic() - last_round > interval_s:
            last_round = time.monotonic()
            await delete_old_records(database, retention_days, until)
            if drop_archived is not None:
                await drop_archived(database, _list_oldest(retention_days, until))
            await delete_old_audit_rows(database, audit_retention_days)
        if time.monotonic() - last_groups > RETENTION_INTERVAL_S:
            last_groups = time.monotonic()
            await retention.delete_of_groups(database, until)
        if until // DAY != last_day:
            last_day = until // DAY
            await retention.delete_summaries(database)

    await _run_as_leader(database, CLEANUP_INTERVAL_S, delete_expired)


async def _run_as_leader(
    database: Database, interval_s: float, work: Callable[[], Awaitable[None]]
) -> None:
    """Do the work after every interval, in one process; the supervisor gets unexpected errors."""
    while True:
        await asyncio.sleep(interval_s)
        if not database.cluster.is_leader:
            continue
        # The database is unavailable: the next round retries.
        with contextlib.suppress(LongwireError):
            await work()


async def delete_groups(database: Database) -> None:
    """Delete groups whose grace period has ended, and purge those that were deleted."""
    await _run_in_batches(database, group_deletions.delete_due)
    await _run_in_batches(database, group_deletions.purge)


async def delete_old_jobs(database: Database, keep_days: int) -> None:
    """Erase deleted devices that cannot be restored any more, and delete old jobs."""
    before = database.context.clock.now() - keep_days * DAY
    await _run_in_batches(database, lambda tx: jobs.prune(tx, before, JOB_ITEMS_PER_BATCH_MAX))


async def delete_old_alarms(database: Database, keep_days: int) -> None:
    """Delete alarms that were resolved long ago, and close those that nobody will resolve.

    And what was forwarded of them, and of devices, as long ago.
    """
    if lost := await database.read(lambda tx: alarms.list_lost(tx, ALARMS_PER_BATCH_MAX)):
        await database.write(lambda tx: alarms.close(tx, lost, "what it was about is gone"))
    if keep_days:
        before = database.context.clock.now() - keep_days * DAY
        await _run_in_batches(database, lambda tx: alarms.prune(tx, before, ALARMS_PER_BATCH_MAX))
        await _run_in_batches(
            database, lambda tx: change_messages.prune(tx, before, ALARMS_PER_BATCH_MAX)
        )


async def delete_old_silences(database: Database) -> None:
    """Delete silences that ended long ago, and the minutes of contacts that are over."""
    now = database.context.clock.now()
    hour_ago = (now - HOUR) // MINUTE
    await _run_in_batches(
        database, lambda tx: contact_windows.prune(tx, hour_ago, SILENCES_PER_BATCH_MAX)
    )
    before = now - KEPT_AFTER_END
    await _run_in_batches(database, lambda tx: silences.prune(tx, before, SILENCES_PER_BATCH_MAX))


async def delete_old_deliveries(database: Database, keep_days: int) -> None:
    """Expire dead letters, delete deliveries that ended long ago, and purge deleted channels."""
    before = database.context.clock.now() - keep_days * DAY
    await _run_in_batches(
        database, lambda tx: dead_letters.expire_dead_letters(tx, DELIVERIES_PER_BATCH_MAX)
    )
    await _run_in_batches(
        database, lambda tx: deliveries.prune(tx, before, DELIVERIES_PER_BATCH_MAX)
    )
    await _run_in_batches(
        database, lambda tx: store_downlinks.prune(tx, before, DELIVERIES_PER_BATCH_MAX)
    )
    for number in await database.read(channels.list_deleted):
        step = partial(deliveries.delete_for_channel, number=number, most=DELIVERIES_PER_BATCH_MAX)
        await _run_in_batches(database, step)
        step = partial(
            connector_minutes.delete_some,
            number=number,
            before_minute=END_OF_TIME,
            most=DELIVERIES_PER_BATCH_MAX,
        )
        await _run_in_batches(database, step)
        step = partial(notifications.delete_states, number=number, most=DELIVERIES_PER_BATCH_MAX)
        await _run_in_batches(database, step)
        subjects = [notifications.connector_subject(number)]
        await database.write(partial(notifications.delete_subject_states, subjects=subjects))
        await database.write(partial(channels.delete, number=number))


async def watch_connectors(database: Database, keep_days: int) -> None:
    """Count what waits for connectors, and delete their old metrics."""
    last_round = -RETENTION_INTERVAL_S

    async def watch() -> None:
        nonlocal last_round
        await connector_metrics.sample_backlogs(database)
        if time.monotonic() - last_round > RETENTION_INTERVAL_S:
            last_round = time.monotonic()
            await delete_old_connector_metrics(database, keep_days)

    await _run_as_leader(database, CONNECTORS_POLL_INTERVAL_S, watch)


async def delete_old_connector_metrics(database: Database, keep_days: int) -> None:
    """Delete metrics of connectors past their time, once."""
    before = database.context.clock.now() - keep_days * DAY
    number: int | None = 0
    while number is not None:
        step = partial(
            connector_minutes.prune,
            after_channel=number,
            before=before,
            most=DELIVERIES_PER_BATCH_MAX,
        )
        number = await write_and_pause(database, step)


async def delete_old_unknown_devices(database: Database) -> None:
    """Delete those that have reported nothing for days, or have a device by now."""
    now = database.context.clock.now()
    await _run_in_batches(
        database,
        lambda tx: unknown_devices.prune(tx, now - KEEP_DAYS * DAY, UNKNOWN_DEVICES_PER_BATCH_MAX),
    )
    since = now - UNKNOWN_DEVICES_CHECKED_FOR
    await database.write(partial(unknown_devices.delete_created, since=since))


async def delete_old_receptions(database: Database, trace: TraceRetention) -> None:
    """Delete messages of networks past their time, and the oldest ones if all are too large."""
    before = database.context.clock.now() - trace.keep_hours * HOUR
    group: int | None = 0
    while group is not None:
        step = partial(receptions.prune, after_group=group, before=before)
        group = await write_and_pause(database, step)
    await _run_in_batches(database, partial(receptions.prune_excess, bytes_max=trace.bytes_max))


async def delete_old_exchanges(database: Database, trace: TraceRetention) -> None:
    """Delete what was kept of attempts past its time; of each connector there are few."""
    before = database.context.clock.now() - trace.keep_hours * HOUR
    await _run_in_batches(database, lambda tx: exchanges.prune(tx, before, EXCHANGES_PER_BATCH_MAX))


async def delete_old_records(
    database: Database, retention_days: Mapping[str, int], until: Moment | None = None
) -> None:
    """Delete records and counters past their retention at a moment, or now; once."""
    until = database.context.clock.now() if until is None else until
    for kind, moment in _list_oldest(retention_days, until).items():
        oldest = moment // HOUR * HOUR
        move = partial(
            record_expiry.move, kind=kind, group_number=record_expiry.ALL_GROUPS, before=oldest
        )
        await database.write(move)
        dropped = await database.write(partial(partitions.drop_before, kind=kind, oldest=oldest))
        if dropped:
            log.info("dropped old partitions", partitions=dropped)
        await _delete_old_records_of_kind(database, kind, oldest)
    await _delete_old_counters(database, retention_days)


def _list_oldest(retention_days: Mapping[str, int], now: Moment) -> dict[str, Moment]:
    oldest = {kind: oldest_kept(retention_days.get(kind, 0), now) for kind in KIND_NAMES}
    return {kind: moment for kind, moment in oldest.items() if moment is not None}


async def _delete_old_records_of_kind(database: Database, kind: str, oldest: Moment) -> None:
    if database.engine_name == "postgresql":
        place: partitions.Place | None = None
        is_done = False
        while not is_done:
            walk = partial(partitions.delete_older, kind=kind, before=oldest, place=place)
            _, place = await write_and_pause(database, walk)
            is_done = place is None
        return
    device: int | None = 0
    while device is not None:
        step = partial(record_deletion.delete_older, kind=kind, after_device=device, before=oldest)
        _, device = await write_and_pause(database, step)


async def delete_old_audit_rows(database: Database, retention_days: int) -> None:
    """Delete rows of the audit log past their retention, once."""
    if retention_days:
        before = database.context.clock.now() - retention_days * DAY
        await _run_in_batches(database, lambda tx: audit.prune(tx, before, AUDIT_PER_BATCH_MAX))


async def _delete_old_counters(database: Database, retention_days: Mapping[str, int]) -> None:
    now = database.context.clock.now()
    oldest = metrics.oldest_counted(retention_days.get("metrics", 0), now)
    if oldest is None:
        return
    group: int | None = 0
    while group is not None:
        step = partial(counters.delete_older, after_group=group, oldest=oldest)
        _, group = await write_and_pause(database, step)
    oldest = metrics.oldest_indexed(retention_days, now)
    if oldest is None:
        return
    place: counters.ArrivalPosition | None = counters.BEFORE_ANY
    while place is not None:
        walk = partial(counters.delete_arrivals, after=place, oldest=oldest)
        _, place = await write_and_pause(database, walk)


async def _run_in_batches(database: Database, step: Callable[[Tx], int]) -> None:
    changed = 1
    while changed:
        changed = await write_and_pause(database, step)
