"""What follows from new records besides deliveries: devices seen, counters, batteries, reports."""

from collections import Counter
from collections.abc import Mapping, Sequence

from longwire.clock import Moment
from longwire.delivery.matching import matching
from longwire.fleet import configurations, monitoring
from longwire.fleet.current_values import MeasuredBattery
from longwire.ingest.requests import IngestRequest, MessageMetadata
from longwire.measurements.batteries import parse_battery_percent
from longwire.model import SYSTEM, SequenceCounter, ServiceEvent
from longwire.networks.monitoring import SequencedMessage
from longwire.notifications.triggers import BatteryReading
from longwire.records import DataRecord, GeolocRecord, RecordKind
from longwire.store.database import Tx
from longwire.store.fleet import device_reports as store_reports
from longwire.store.fleet import device_states
from longwire.store.fleet.positions import Position, get_position
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.records.receptions import NewReceptions, Reception
from longwire.store.records.records import RecordRow

_NEVER: Moment = -(2**63)
_DATA = RecordKind.DATA.value
_GEOLOC = RecordKind.GEOLOC.value
# The metadata of a message, and the rows of its records.
MessageRows = Sequence[tuple[MessageMetadata, Sequence[RecordRow]]]


def list_new_messages(
    requests: Sequence[IngestRequest],
    rows_by_request: Sequence[Sequence[RecordRow]],
    fresh: Sequence[RecordRow],
) -> MessageRows:
    pairs = zip(requests, rows_by_request, strict=True)
    messages = [
        (request.metadata, rows) for request, rows in pairs if rows and request.metadata is not None
    ]
    if not messages or len(fresh) == sum(map(len, rows_by_request)):
        return messages
    new = {row.seq for row in fresh}
    return [(metadata, rows) for metadata, rows in messages if any(row.seq in new for row in rows)]


def list_receptions(
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


def follow_frame_counters(
    tx: Tx, messages: MessageRows, counts: dict[int, SequenceCounter]
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


def exclude_service_events(
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


def touch_devices(tx: Tx, fresh: Sequence[RecordRow], counts: dict[int, SequenceCounter]) -> None:
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
    monitoring.check_if_late(tx, {device: ts for (_, device), ts in newest.items()})
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


def count_by_group(
    messages: MessageRows, matched: matching.MatchResult
) -> Counter[tuple[int, str]]:
    """Counters beyond the records: network messages, and deliveries started."""
    counts: Counter[tuple[int, str]] = Counter()
    for group, number in matched.groups.items():
        counts[(group, "connector_message_started")] = number
    alike = Counter([(rows[0].group_number, metadata.counts) for metadata, rows in messages])
    for (group, names), number in alike.items():
        for name in names:
            counts[(group, name)] += number
    return counts


def store_batteries(
    tx: Tx,
    messages: MessageRows,
    fresh: Sequence[RecordRow],
    measured: Mapping[str, MeasuredBattery],
    devices: Mapping[str, ReportingDevice],
) -> list[BatteryReading]:
    """Store the newest battery of devices; the readings, for triggers.

    As it was measured, or as a network says, which counts if both say so at once.
    """
    rows_by_seq = {row.seq: row for row in fresh} if measured else {}
    batteries = [
        BatteryReading(devices[device_id], each.text, each.at, rows_by_seq[each.seq])
        for device_id, each in measured.items()
    ]
    for metadata, rows in messages:
        if metadata.battery is not None:
            at = metadata.received_at(tx.now)
            reading = BatteryReading(devices[metadata.device_id], metadata.battery, at, rows[0])
            batteries.append(reading)
    newest: dict[str, BatteryReading] = {}
    for each in batteries:
        known = newest.get(each.device.id)
        if known is None or known.at <= each.at:
            newest[each.device.id] = each
    device_states.set_batteries(
        tx,
        [
            (each.device, each.text, parse_battery_percent(each.text), each.at)
            for each in newest.values()
        ],
    )
    return batteries


def store_configurations(
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
            if len(record.configuration) <= len("{}"):
                continue  # an empty object reports nothing; most senders have nothing else to say
            known = newest.get(row.device_number)
            if known is None or row.ts >= known[0].ts:
                newest[row.device_number] = row, record
    if newest:
        reports = configurations.find_new_reports(tx.now, newest.values(), devices)
        if reports:
            stored = {row.seq for row in fresh}
            store_reports.insert(tx, [report for seq, report in reports if seq in stored])
