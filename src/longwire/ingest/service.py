"""Record ingestion: validate, store, update the device, count; one transaction, then the response.

There is no timer. Whatever arrives while one commit is on its way to the disk goes into the next,
so an idle service responds at once and a busy one commits hundreds of records together. The queue
is bounded. A response is sent only after the commit.

While PostgreSQL is away, as during the promotion of a standby, what was not sent to it yet waits in
the same queue, for a limited time.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import msgspec

from longwire import metrics
from longwire.clock import Moment
from longwire.dates import format_date
from longwire.delivery import matching
from longwire.delivery.budgets import ComputeBudgets, InlineAllowance
from longwire.errors import (
    BadInput,
    FieldError,
    LongwireError,
    NotAllowed,
    NotFound,
    Unavailable,
)
from longwire.fleet import configurations, monitoring
from longwire.identity import access
from longwire.ingest_committer import IngestCommitter, Wake
from longwire.ingest_queue import IngestQueue, RecordBudget
from longwire.model import SYSTEM, Actor, SequenceCounter, ServiceEvent
from longwire.networks.monitoring import SequencedMessage
from longwire.notifications import triggers
from longwire.notifications.triggers import BatteryReading, parse_battery_percent
from longwire.records import (
    ArrivalSource,
    DataRecord,
    EventRecord,
    GeolocRecord,
    Record,
    RecordKind,
    complete_record,
    digest_record,
)
from longwire.spans import Span, current_span
from longwire.storage_quota import NO_STORAGE_QUOTA, StorageQuota
from longwire.store import (
    arrival_horizon,
    connector_minutes,
    device_states,
    receptions,
    reporting_devices,
)
from longwire.store import channels as store_channels
from longwire.store import deliveries as store_deliveries
from longwire.store import device_reports as store_reports
from longwire.store import records as store
from longwire.store.arrival_numbers import WRITER_BITS
from longwire.store.database import Database, Tx
from longwire.store.positions import Position, get_position
from longwire.store.receptions import NewReceptions, Reception
from longwire.store.records import RecordRow
from longwire.store.reporting_devices import ReportingDevice
from longwire.store.slots import bucket_of

# How long a commit of many requests makes the service a busy one.
BUSY_FOR_S = 0.1

_NEVER: Moment = -(2**63)
_DATA = RecordKind.DATA.value
_GEOLOC = RecordKind.GEOLOC.value
_READ_PERMISSIONS = {"device.read", "record.read"}


class IngestItem(msgspec.Struct, frozen=True, gc=False):
    """A record as it was sent: without its group, and perhaps without the name of its device."""

    record: Record
    ts: Moment
    digest: bytes
    claimed_group: str | None = None  # the device's group, according to the sender


class MessageMetadata(msgspec.Struct, frozen=True, gc=False):
    """What a network message says beyond its records; it counts if any of them is new."""

    device_id: str
    counts: tuple[str, ...] = ()
    battery: str | None = None
    at: Moment | None = None
    # The version of the device that the sender decoded with.
    as_of: Moment | None = None
    # Frame counter and its modulus; `restarts` is a reset of the counter, such as a join.
    sequence: int | None = None
    modulus: int = 0
    restarts: bool = False
    # Whether the configuration in its records is the device's own word, and not filled in.
    reports_configuration: bool = False

    @property
    def is_numbered(self) -> bool:
        return self.sequence is not None or self.restarts

    def received_at(self, now: Moment) -> Moment:
        """When the message was received, but never in the future."""
        return now if self.at is None else min(self.at, now)


class IngestRequest(msgspec.Struct, frozen=True, gc=False):
    """The records of one request: all of them are stored, or none."""

    actor: Actor
    items: Sequence[IngestItem]
    is_batch: bool
    metadata: MessageMetadata | None = None
    source: int = ArrivalSource.API.value
    reception: Reception | None = None  # how it came in, if that is kept for a trace
    span: Span | None = None  # if the request is traced


class IngestResult(msgspec.Struct, frozen=True, gc=False):
    """The records as they are returned, and how many of them had been stored before."""

    bodies: list[str]
    duplicates: int


class StaleDevice(Unavailable):
    """The device was changed while its message was processed; nothing was stored. Retry at once."""


Publish = Callable[[Sequence[RecordRow], Mapping[str, ReportingDevice]], None]
# Called once with the result of a request, after the commit.
OnResult = Callable[[IngestResult | Exception], None]
_Results = list[IngestResult | LongwireError]
# The metadata of a message, and the rows of its records.
_Messages = Sequence[tuple[MessageMetadata, Sequence[RecordRow]]]


class Sequencer:
    """Numbers arrivals: time in the high bits, the process in the low ones; strictly increasing."""

    def __init__(
        self, writer: int, on_stored: Callable[[Mapping[int, int]], None] = lambda counts: None
    ) -> None:
        """`on_stored` gets the number of records by kind, after each commit and on any thread."""
        self.writer = writer
        self.publish: Publish | None = None  # called like `on_stored`, with the records
        self._on_stored = on_stored
        self._last: Moment = 0
        self._lock = threading.Lock()  # not all arrivals come through one queue

    def report(self, fresh: Sequence[RecordRow], devices: Mapping[str, ReportingDevice]) -> None:
        """Report records that are committed, and their devices by id."""
        self._on_stored(Counter([row.kind for row in fresh]))
        if self.publish is not None:
            self.publish(fresh, devices)

    def take(self, now: Moment, count: int) -> range:
        with self._lock:
            first = max(now, self._last + 1)
            self._last = first + count - 1
        step = 1 << WRITER_BITS
        start = (first << WRITER_BITS) | self.writer
        return range(start, start + count * step, step)


class Ingest:
    """Takes requests, and has them committed in batches: by slot, where there are several.

    The records of one request are stored in one transaction, whatever devices they are of, so a
    request with devices of several slots has a committer of its own.
    """

    def __init__(
        self,
        database: Database,
        sequencer: Sequencer,
        *,
        waiting_records_max: int = 20_000,
        records_per_commit_max: int = 1_000,
        patience_s: float = 0.0,
        wake: Wake = lambda channels, slot: None,
        budgets: ComputeBudgets | None = None,
        on_deferred: Callable[[], None] | None = None,
        storage_quota: StorageQuota = NO_STORAGE_QUOTA,
    ) -> None:
        """`patience_s` is how long records wait for a database that is away."""
        self._last_busy = 0.0
        self._slots = database.slots
        self._budget = RecordBudget(waiting_records_max)
        slots: list[int | None] = [*range(self._slots)]
        if self._slots > 1:
            slots.append(None)

        def store(tx: Tx, requests: Sequence[IngestRequest]) -> tuple[_Results, set[int]]:
            return store_requests(tx, requests, sequencer, budgets, on_deferred, storage_quota)

        self.committers = [
            IngestCommitter[IngestRequest, IngestResult](
                database,
                slot,
                store,
                IngestQueue(self._budget, lambda queued: len(queued[0].items)),
                records_per_commit_max=records_per_commit_max,
                patience_s=patience_s,
                wake=wake,
                on_busy=self._set_busy,
                committers=len(slots),
            )
            for slot in slots
        ]

    @property
    def is_busy(self) -> bool:
        """Whether requests arrive faster than they could be committed one by one."""
        return time.monotonic() - self._last_busy < BUSY_FOR_S

    def _set_busy(self) -> None:
        self._last_busy = time.monotonic()

    @property
    def waiting(self) -> int:
        """Records that are not committed yet."""
        return self._budget.records

    async def store(self, request: IngestRequest) -> IngestResult:
        """Store the records of one request; returns after the commit."""
        span = current_span.get()
        if span is not None:
            request = msgspec.structs.replace(request, span=span)
        future: asyncio.Future[IngestResult] = asyncio.get_running_loop().create_future()
        if not self.try_enqueue(request, partial(_settle, future)):
            raise Unavailable("Too many records are waiting to be stored; nothing was changed.")
        return await future

    def try_enqueue(self, request: IngestRequest, on_result: OnResult) -> bool:
        """The same with a callback, called on the event loop. False if the queue is full."""
        committer = self.committers[0] if self._slots == 1 else self._find_committer(request)
        return committer.try_enqueue(request.actor.caller, request, on_result)

    def _find_committer(
        self, request: IngestRequest
    ) -> "IngestCommitter[IngestRequest, IngestResult]":
        ids = {item.record.device_id for item in request.items}
        found = {bucket_of(each) % self._slots for each in ids}
        return self.committers[found.pop() if len(found) == 1 else -1]

    def stop_waiting(self) -> None:
        """The service stops: whatever waits for a database that is away is refused."""
        for committer in self.committers:
            committer.stop_waiting()


def store_requests(
    tx: Tx,
    requests: Sequence[IngestRequest],
    sequencer: Sequencer,
    budgets: ComputeBudgets | None = None,
    on_deferred: Callable[[], None] | None = None,
    storage_quota: StorageQuota = NO_STORAGE_QUOTA,
) -> tuple[_Results, set[int]]:
    """Store the records of some requests, with everything that follows from them.

    Returns the result of each request, and the channels that have something to deliver now. What
    costs too much to match here is deferred; `on_deferred` is called after the commit.
    """
    allowance = InlineAllowance(budgets)
    arrival_horizon.announce_arrivals(tx)  # sees a connector that was just created
    devices, counts = _load_devices(tx, requests)
    arrived_at = arrival_horizon.get_announced_moment(tx)
    seqs = sequencer.take(arrived_at, sum(len(request.items) for request in requests))
    results, rows = _build_rows(tx, requests, devices, iter(seqs), storage_quota)
    if any(request.span is not None for request in requests):
        _continue_spans(tx, requests, rows)
    fresh = _insert_new(tx, rows)
    messages = _messages_with_new_records(requests, rows, fresh)
    changed_counts, gaps = _follow_frame_counters(tx, messages, counts)
    matched = matching.match_records(tx, fresh, devices.values(), allowance)
    received = _list_receptions(requests, rows, fresh)
    if fresh:
        tx.on_commit(partial(sequencer.report, fresh, devices))
        with tx.pipeline():
            store.insert_arrivals(tx, fresh)
            _touch_devices(tx, _reported_by_devices(requests, rows, fresh), changed_counts)
            metrics.count_arrivals(tx, sequencer.writer, fresh, _group_counts(messages, matched))
            if matched.deliveries:
                store_deliveries.insert(tx, matched.deliveries)
                made = Counter([each.channel_number for each in matched.deliveries])
                connector_minutes.count_made(tx, sequencer.writer, made)
            if received:
                receptions.insert(tx, sequencer.writer, received)
    batteries = _store_batteries(tx, messages, devices)
    _store_configurations(tx, requests, rows, fresh, devices)
    store_channels.record_filter_errors(tx, matched.errors)
    matched.deferred.insert(tx)
    woken = {delivery.channel_number for delivery in matched.deliveries}
    woken |= triggers.evaluate_triggers(
        tx, sequencer.take, fresh, devices.values(), batteries, allowance
    )
    allowance.settle()
    if allowance.has_deferred and on_deferred is not None:
        tx.on_commit(on_deferred)
    woken |= store_service_events(tx, sequencer, gaps)
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
            SYSTEM, [_event_item(each)], is_batch=False, source=ArrivalSource.SYSTEM.value
        )
        for each in events
    ]
    return store_requests(tx, requests, sequencer)[1] if requests else set()


def _event_item(event: ServiceEvent) -> IngestItem:
    record = EventRecord(
        device_id=event.device_id,
        timestamp=format_date(event.ts),
        type=event.type,
        message=event.message,
        severity=event.severity,
        data=None if event.data is None else msgspec.json.encode(event.data).decode(),
    )
    return IngestItem(record, event.ts, digest_record(record))


# --- which records are stored ---


def _load_devices(
    tx: Tx, requests: Sequence[IngestRequest]
) -> tuple[dict[str, ReportingDevice], dict[int, SequenceCounter]]:
    """The devices of all records; with their frame counters only if a message has one."""
    ids = {item.record.device_id for request in requests for item in request.items}
    if any(each.metadata is not None and each.metadata.is_numbered for each in requests):
        return reporting_devices.get_reporting_with_counts(tx, ids)
    return reporting_devices.get_reporting(tx, ids), {}


def _build_rows(
    tx: Tx,
    requests: Sequence[IngestRequest],
    devices: dict[str, ReportingDevice],
    seqs: Iterator[int],
    storage_quota: StorageQuota,
) -> tuple[_Results, list[list[RecordRow]]]:
    """The result of each request if all of its records are new, and its rows."""
    permissions = _PermissionCache(tx)
    results: _Results = []
    rows_by_request: list[list[RecordRow]] = []
    for request in requests:
        rows: list[RecordRow] = []
        senders = _find_senders(request, devices, permissions)
        error: LongwireError | None = None
        if senders is None:
            error = _explain_rejection(request, devices, permissions)
        elif _is_stale(request, devices):
            error = StaleDevice()
        elif storage_quota.is_set:
            error = storage_quota.find_excess(tx, {device.group_number for device in senders})
        if error is None and senders is not None:
            source = request.source
            rows = [
                _row(item, device, next(seqs), source)
                for item, device in zip(request.items, senders, strict=True)
            ]
        results.append(error or IngestResult([row.encoded.body for row in rows], 0))
        rows_by_request.append(rows)
    return results, rows_by_request


class _PermissionCache:
    """Permissions, looked up once for each actor and group of a commit."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._cached: dict[tuple[int, str], frozenset[str]] = {}
        self._last: tuple[Actor | None, str] = (None, "")  # who may create records, and where

    def may_create(self, actor: Actor, group_id: str) -> bool:
        """Whether the actor may create records; most requests of a commit ask for the same."""
        known_actor, known_group = self._last
        if actor is known_actor and group_id == known_group:
            return True
        if "record.create" not in self.get(actor, group_id):
            return False
        self._last = actor, group_id
        return True

    def get(self, actor: Actor, group_id: str) -> frozenset[str]:
        key = (id(actor), group_id)  # the requests keep their actors alive
        permissions = self._cached.get(key)
        if permissions is None:
            permissions = access.get_permissions(self._tx, actor, group_id)
            self._cached[key] = permissions
        return permissions


def _find_senders(
    request: IngestRequest, devices: dict[str, ReportingDevice], permissions: _PermissionCache
) -> list[ReportingDevice] | None:
    """The device of each item; None if one of them must not be stored."""
    actor = request.actor
    found: list[ReportingDevice] = []
    for item in request.items:
        device = devices.get(item.record.device_id)
        if device is None or not permissions.may_create(actor, device.group_id):
            return None
        if item.claimed_group is not None and item.claimed_group != device.group_id:
            return None
        found.append(device)
    return found


def _explain_rejection(
    request: IngestRequest, devices: dict[str, ReportingDevice], permissions: _PermissionCache
) -> LongwireError:
    """Why nothing of a request is stored, with every item that is at fault."""
    missing: list[FieldError] = []
    wrong: list[FieldError] = []
    for index, item in enumerate(request.items):
        device = devices.get(item.record.device_id)
        held = permissions.get(request.actor, device.group_id) if device else frozenset()
        if device is not None and "record.create" in held:
            if item.claimed_group is not None and item.claimed_group != device.group_id:
                wrong.append(
                    FieldError(_field_path(request, index, "group_id"), "is not the device's group")
                )
        elif device is not None and held & _READ_PERMISSIONS:
            return NotAllowed(
                f"This needs the permission record.create in group {device.group_id}."
            )
        else:
            missing.append(
                FieldError(
                    _field_path(request, index, "device_id"),
                    "is not a known device, or you have no access to it",
                )
            )
    if missing:
        return NotFound(field_errors=missing + wrong)
    return BadInput(field_errors=wrong)


def _is_stale(request: IngestRequest, devices: dict[str, ReportingDevice]) -> bool:
    """Whether the device was changed since the sender read it."""
    metadata = request.metadata
    if metadata is None or metadata.as_of is None or not request.items:
        return False
    return devices[metadata.device_id].updated_at != metadata.as_of


def _field_path(request: IngestRequest, index: int, field: str) -> str:
    return f"items[{index}].{field}" if request.is_batch else field


def _row(item: IngestItem, device: ReportingDevice, seq: int, source: int) -> RecordRow:
    return RecordRow(
        item.record.number,
        device.group_number,
        device.number,
        device.stay,
        item.ts,
        item.digest,
        seq,
        complete_record(item.record, device.group_id, device.name),
        source,
    )


def _insert_new(tx: Tx, rows_by_request: Sequence[Sequence[RecordRow]]) -> list[RecordRow]:
    """Insert the rows that are new; a record stored in an earlier stay of its device is not."""
    rows = [row for rows in rows_by_request for row in rows]
    return store.insert(
        tx, [row for row in rows if row.stay == 0 or not store.exists_in_earlier_stay(tx, row)]
    )


def _count_duplicates(
    results: _Results, rows_by_request: Sequence[Sequence[RecordRow]], fresh: Sequence[RecordRow]
) -> _Results:
    if len(fresh) == sum(map(len, rows_by_request)):
        return results
    new = {row.seq for row in fresh}
    return [
        IngestResult(result.bodies, sum(row.seq not in new for row in rows))
        if isinstance(result, IngestResult)
        else result
        for result, rows in zip(results, rows_by_request, strict=True)
    ]


# --- what follows from new records ---


def _messages_with_new_records(
    requests: Sequence[IngestRequest],
    rows_by_request: Sequence[Sequence[RecordRow]],
    fresh: Sequence[RecordRow],
) -> _Messages:
    pairs = zip(requests, rows_by_request, strict=True)
    messages = [
        (request.metadata, rows) for request, rows in pairs if rows and request.metadata is not None
    ]
    if not messages or len(fresh) == sum(map(len, rows_by_request)):
        return messages
    new = {row.seq for row in fresh}
    return [(metadata, rows) for metadata, rows in messages if any(row.seq in new for row in rows)]


def _list_receptions(
    requests: Sequence[IngestRequest],
    rows_by_request: Sequence[Sequence[RecordRow]],
    fresh: Sequence[RecordRow],
) -> NewReceptions:
    """How messages with new records came in, by group and in order of arrival."""
    if all(request.reception is None for request in requests):
        return {}
    are_all_new = len(fresh) == sum(map(len, rows_by_request))
    new = set() if are_all_new else {row.seq for row in fresh}
    found: dict[int, list[tuple[int, int, Reception]]] = {}
    for request, rows in zip(requests, rows_by_request, strict=True):
        if request.reception is None or not rows:
            continue
        if are_all_new or any(row.seq in new for row in rows):
            kept = found.setdefault(rows[0].group_number, [])
            kept.append((rows[0].seq, rows[-1].seq, request.reception))
    return found


def _follow_frame_counters(
    tx: Tx, messages: _Messages, counts: dict[int, SequenceCounter]
) -> tuple[dict[int, SequenceCounter], list[ServiceEvent]]:
    """Find lost messages by gaps in the frame counters; changed counts, and events to store."""
    numbered: list[tuple[int, SequencedMessage]] = []
    restarted: dict[int, Moment] = {}
    for metadata, rows in messages:
        at = metadata.received_at(tx.now)
        if metadata.restarts:
            restarted[rows[0].device_number] = at
        elif metadata.sequence is not None:
            message = SequencedMessage(metadata.device_id, metadata.sequence, at, metadata.modulus)
            numbered.append((rows[0].device_number, message))
    return monitoring.track_sequences(counts, numbered, restarted)


def _reported_by_devices(
    requests: Sequence[IngestRequest],
    rows_by_request: Sequence[Sequence[RecordRow]],
    fresh: Sequence[RecordRow],
) -> Sequence[RecordRow]:
    """Without the service's own events: they are no sign of life of a device."""
    if all(request.actor is not SYSTEM for request in requests):
        return fresh
    own = {
        row.seq
        for request, rows in zip(requests, rows_by_request, strict=True)
        if request.actor is SYSTEM
        for row in rows
    }
    return [row for row in fresh if row.seq not in own]


def _touch_devices(tx: Tx, fresh: Sequence[RecordRow], counts: dict[int, SequenceCounter]) -> None:
    """Last seen is the newest timestamp of a device's records, but never in the future."""
    now = tx.now
    newest: dict[device_states.StateKey, Moment] = {}
    located: list[RecordRow] = []
    for row in fresh:
        key, ts = (row.group_number, row.device_number), row.ts
        if ts > now:
            ts = now
        if ts > newest.get(key, _NEVER):
            newest[key] = ts
        if row.kind == _GEOLOC:
            located.append(row)
    positions = _last_positions(located, now) if located else {}
    device_states.update_last_seen(tx, newest, counts, positions)


def _last_positions(
    rows: Sequence[RecordRow], now: Moment
) -> dict[device_states.StateKey, Position]:
    """The newest position of each device; like last seen, it is never in the future."""
    found: dict[device_states.StateKey, Position] = {}
    for row in sorted(rows, key=lambda row: row.ts):
        record = row.encoded.record
        if isinstance(record, GeolocRecord) and (
            position := get_position(record, min(row.ts, now))
        ):
            found[(row.group_number, row.device_number)] = position
    return found


def _group_counts(messages: _Messages, matched: matching.MatchResult) -> Counter[tuple[int, str]]:
    """Counters beyond the records: network messages, and deliveries started."""
    counts: Counter[tuple[int, str]] = Counter()
    for group, number in matched.groups.items():
        counts[(group, "connector_message_started")] = number
    alike = Counter([(rows[0].group_number, metadata.counts) for metadata, rows in messages])
    for (group, names), number in alike.items():
        for name in names:
            counts[(group, name)] += number
    return counts


def _store_batteries(
    tx: Tx, messages: _Messages, devices: dict[str, ReportingDevice]
) -> list[BatteryReading]:
    """Store the newest battery state of devices; the readings, for triggers."""
    batteries: list[BatteryReading] = []
    for metadata, rows in messages:
        if metadata.battery is not None:
            device = devices[metadata.device_id]
            at = metadata.received_at(tx.now)
            percent = parse_battery_percent(metadata.battery)
            device_states.set_battery(tx, device, metadata.battery, percent, at)
            batteries.append(BatteryReading(device, metadata.battery, at, rows[0]))
    return batteries


def _store_configurations(
    tx: Tx,
    requests: Sequence[IngestRequest],
    rows_by_request: Sequence[Sequence[RecordRow]],
    fresh: Sequence[RecordRow],
    devices: dict[str, ReportingDevice],
) -> None:
    """Store the configurations that devices report, if they are not those of the last time."""
    newest: dict[int, tuple[RecordRow, DataRecord]] = {}
    for request, rows in zip(requests, rows_by_request, strict=True):
        if request.metadata is not None and not request.metadata.reports_configuration:
            continue
        for row in rows:
            if row.kind != _DATA:
                continue
            record = row.encoded.record
            assert isinstance(record, DataRecord)
            # An empty object reports nothing; most senders have nothing else to say.
            if len(record.configuration) > len("{}"):
                known = newest.get(row.device_number)
                if known is None or row.ts >= known[0].ts:
                    newest[row.device_number] = row, record
    if newest:
        reports = configurations.find_new_reports(tx.now, newest.values(), devices)
        if reports:
            stored = {row.seq for row in fresh}
            store_reports.insert(tx, [report for seq, report in reports if seq in stored])


def _settle(future: "asyncio.Future[IngestResult]", result: IngestResult | Exception) -> None:
    if future.done():
        return  # the client disconnected; what was committed stays
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
