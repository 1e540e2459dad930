"""Stores the records of requests on an open transaction, with everything that follows from them."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import msgspec

from longwire import metrics
from longwire.dates import format_date
from longwire.delivery.matching import matching
from longwire.delivery.matching.budgets import ComputeBudgets, InlineAllowance
from longwire.fleet import current_values
from longwire.fleet.current_values import ValueCollector
from longwire.ingest.acceptance import build_rows
from longwire.ingest.effects import (
    count_by_group,
    exclude_service_events,
    follow_frame_counters,
    list_new_messages,
    list_receptions,
    store_batteries,
    store_configurations,
    touch_devices,
)
from longwire.ingest.requests import IngestItem, IngestRequest, IngestResult, IngestResults
from longwire.ingest.sequencer import Sequencer
from longwire.model import SYSTEM, SequenceCounter, ServiceEvent
from longwire.notifications import measured_conditions, triggers
from longwire.notifications.firing import Firing, fire
from longwire.notifications.measured_conditions import NewRecords
from longwire.notifications.recipients import RecipientCache
from longwire.records import ArrivalSource, EventRecord, digest_record
from longwire.storage_quota import StorageQuota
from longwire.store.database import Tx
from longwire.store.delivery import connector_minutes
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.fleet import reporting_devices
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.records import arrival_horizon, receptions
from longwire.store.records import records as store
from longwire.store.records.records import RecordRow


def store_requests(
    tx: Tx,
    requests: Sequence[IngestRequest],
    sequencer: Sequencer,
    budgets: ComputeBudgets | None = None,
    on_deferred: Callable[[], None] | None = None,
    storage_quota: StorageQuota | None = None,
    *,
    waits_for_locks: bool = True,
) -> tuple[IngestResults, set[int]]:
    """Store the records of some requests, with everything that follows from them.

    Returns the result of each request, and the channels that have something to deliver now. What
    costs too much to match here is deferred; `on_deferred` is called after the commit. If it does
    not wait for locks, which PostgreSQL has, requests with devices that others have locked are
    DevicesLocked.
    """
    allowance = InlineAllowance(budgets)
    arrival_horizon.announce_arrivals(tx)  # sees a connector that was just created
    devices, counts, locked = _load_devices(tx, requests, waits_for_locks=waits_for_locks)
    arrived_at = arrival_horizon.get_announced_moment(tx)
    seqs = sequencer.take(arrived_at, sum(len(request.items) for request in requests))
    results, rows = build_rows(tx, requests, devices, locked, iter(seqs), storage_quota)
    _continue_spans(tx, requests, rows)
    fresh = _insert_new(tx, rows)
    if storage_quota is not None:
        storage_quota.count(fresh)
    messages = list_new_messages(requests, rows, fresh)
    changed_counts, gaps = follow_frame_counters(tx, messages, counts)
    matched = matching.match_records(tx, fresh, devices.values(), allowance)
    of_devices = exclude_service_events(requests, rows, fresh)
    recipients = RecipientCache(tx)
    values, firings = _evaluate_values(tx, recipients, fresh, of_devices, devices, allowance)
    if fresh:
        tx.on_commit(partial(sequencer.report, fresh, devices))
        with tx.pipeline():
            store.insert_arrivals(tx, fresh)
            touch_devices(tx, of_devices, changed_counts)
            current_values.store_values(tx, values)
            metrics.count_arrivals(tx, sequencer.writer, fresh, count_by_group(messages, matched))
            if matched.deliveries:
                store_deliveries.insert(tx, matched.deliveries)
                made = Counter([each.channel_number for each in matched.deliveries])
                connector_minutes.count_made(tx, sequencer.writer, made)
            if received := list_receptions(requests, rows, fresh):
                receptions.insert(tx, sequencer.writer, received)
    batteries = store_batteries(tx, messages, fresh, values.batteries, devices)
    store_configurations(tx, requests, rows, fresh, devices)
    matched.filters.store(tx)
    matched.deferred.insert(tx)
    woken = {delivery.channel_number for delivery in matched.deliveries}
    firings += triggers.evaluate_triggers(
        tx, recipients, fresh, devices.values(), batteries, allowance
    )
    allowance.settle()
    if allowance.has_deferred and on_deferred is not None:
        tx.on_commit(on_deferred)
    woken |= store_service_events(tx, sequencer, gaps)
    woken |= fire(tx, sequencer.take, firings, recipients)  # last, for the order of its locks
    return _count_duplicates(results, rows, fresh), woken


def _continue_spans(
    tx: Tx, requests: Sequence[IngestRequest], rows_by_request: Sequence[Sequence[RecordRow]]
) -> None:
    """Have deliveries continue the traces of their records, and the commit belong to the first."""
    pairs = zip(requests, rows_by_request, strict=True)
    traced = [(request.span, rows) for request, rows in pairs if request.span is not None and rows]
    if not traced:
        return
    by_arrival = {row.seq: span.traceparent for span, rows in traced for row in rows}
    tx.find_traceparent = by_arrival.get
    (first, _), *others = traced
    records = sum(map(len, rows_by_request))
    attributes = {"longwire.requests": len(requests), "longwire.records": records}
    commit = first.start_child("store records", [span for span, _ in others], attributes)
    tx.on_commit(partial(commit.end, {}))


def store_service_events(tx: Tx, sequencer: Sequencer, events: Sequence[ServiceEvent]) -> set[int]:
    """Store events of the service itself like any other record; the channels to wake.

    An event with the same content and timestamp is stored once.
    """
    requests = [
        IngestRequest(
            SYSTEM, [build_event_item(each)], is_batch=False, source=ArrivalSource.SYSTEM.value
        )
        for each in events
    ]
    return store_requests(tx, requests, sequencer)[1] if requests else set()


def build_event_item(event: ServiceEvent) -> IngestItem:
    record = EventRecord(
        device_id=event.device_id,
        timestamp=format_date(event.ts),
        type=event.type,
        message=event.message,
        severity=event.severity,
        data=None if event.data is None else msgspec.json.encode(event.data).decode(),
    )
    return IngestItem(record, event.ts, digest_record(record))


def _load_devices(
    tx: Tx, requests: Sequence[IngestRequest], *, waits_for_locks: bool
) -> tuple[dict[str, ReportingDevice], dict[int, SequenceCounter], Collection[str]]:
    """The devices of all records; with their frame counters only if a message has one."""
    ids = {item.record.device_id for request in requests for item in request.items}
    locked: Collection[str] = ()
    if waits_for_locks:
        devices = reporting_devices.get_reporting(tx, ids)
    else:
        devices, locked = reporting_devices.get_unlocked(tx, ids)
    is_numbered = any(each.metadata is not None and each.metadata.is_numbered for each in requests)
    return devices, reporting_devices.get_counts(tx, devices) if is_numbered else {}, locked


def _insert_new(tx: Tx, rows_by_request: Sequence[Sequence[RecordRow]]) -> list[RecordRow]:
    """Insert the rows that are new; a record stored in an earlier stay of its device is not."""
    rows = [row for rows in rows_by_request for row in rows]
    return store.insert(tx, store.without_earlier(tx, rows))


def _evaluate_values(
    tx: Tx,
    recipients: RecipientCache,
    fresh: Sequence[RecordRow],
    of_devices: Sequence[RecordRow],
    devices: Mapping[str, ReportingDevice],
    allowance: InlineAllowance,
) -> tuple[ValueCollector, list[Firing]]:
    """The values of new records; and the messages to send because of conditions on them."""
    watched_groups = measured_conditions.list_watched_groups(tx, devices.values())
    values = current_values.collect_values(tx, fresh, devices, watched_groups)
    if not watched_groups:
        return values, []
    records = NewRecords(of_devices, devices, values.list_watched())
    # Conditions are not deferred. What filters have used up must not hide a record from them.
    condition_allowance = allowance.renew()
    with condition_allowance.measuring():
        firings = measured_conditions.evaluate_values(
            tx, recipients, records, values.get_named, condition_allowance
        )
    condition_allowance.settle()
    return values, firings


def _count_duplicates(
    results: IngestResults,
    rows_by_request: Sequence[Sequence[RecordRow]],
    fresh: Sequence[RecordRow],
) -> IngestResults:
    if len(fresh) == sum(map(len, rows_by_request)):
        return results
    new = {row.seq for row in fresh}
    return [
        IngestResult(result.bodies, sum(row.seq not in new for row in rows))
        if isinstance(result, IngestResult)
        else result
        for result, rows in zip(results, rows_by_request, strict=True)
    ]
