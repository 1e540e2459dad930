"""Decode stored payloads again, with the current decoder of their device's type.

In batches of three steps: find records, decode them without an open transaction, and store the
result. Only the decoded part of the data changes: time, arrival, digest and payload of a record
stay, and it is not delivered again.
"""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.decoders.base import DecodeError
from longwire.errors import Conflict, invalid_field, not_found
from longwire.fleet import current_values, decoding, device_types, records
from longwire.fleet.codec_guard import CodecCaller, CodecGuard, require_budget
from longwire.fleet.decoding import Codec, UplinkPayload
from longwire.identity import access
from longwire.measurements.values import PORT, facts_of
from longwire.model import Actor, PageRequest
from longwire.networks.lorawan import PORT_MAX
from longwire.networks.values import parse_hex, parse_integer
from longwire.records import DataRecord, RecordKind, encode_record, parse_data_record
from longwire.store.database import Tx
from longwire.store.fleet import redecoding as store
from longwire.store.fleet import reporting_devices, summaries
from longwire.store.fleet.redecoding import StoredDataRecord
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import audit

PERMISSION = "record.create"
DEVICES_PER_BATCH_MAX = 200
CHARACTERS_PER_BATCH_MAX = 4 * 1024 * 1024
DECODING_S_MAX = 0.5  # others who redecode may wait
_ALL_STAYS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RedecodeSelection:
    """Which records: of one device, or of a group's devices of any or one type; in a time range."""

    device_id: str | None
    group_id: str | None
    device_type: str | None
    begin: Moment | None
    end: Moment | None


@dataclass(frozen=True, slots=True)
class RedecodeItem:
    """A record to redecode."""

    device: ReportingDevice
    codec: Codec
    kept: StoredDataRecord

    @property
    def key(self) -> tuple[int | str, ...]:
        return self.device.number, self.kept.stay, self.kept.ts, self.kept.digest.hex()


@dataclass(frozen=True, slots=True)
class RedecodeBatch:
    """Some records, and the key to continue after."""

    items: list[RedecodeItem]
    last_key: tuple[int | str, ...] | None


@dataclass(frozen=True, slots=True)
class RedecodedBatch:
    """The result of a batch: new bodies, and the counts of skipped and failed records."""

    bodies: list[tuple[RedecodeItem, str]]
    examined: int
    skipped: int
    failed: int
    failure: str | None
    last_key: tuple[int | str, ...] | None
    failed_devices: tuple[str, ...] = ()  # the ids of those with failed records


# --- find ---


def find_batch(
    tx: Tx, actor: Actor, selection: RedecodeSelection, request: PageRequest
) -> RedecodeBatch:
    """The next records to redecode."""
    first = int(request.after[0]) if request.after else 0
    devices = _devices(tx, actor, selection, first)
    batch = find_in_devices(tx, actor, devices, selection.begin, selection.end, request)
    if batch.last_key is None and len(devices) == DEVICES_PER_BATCH_MAX:
        return RedecodeBatch(batch.items, (devices[-1].number, _ALL_STAYS, 0, ""))
    return batch


def find_in_devices(
    tx: Tx,
    actor: Actor,
    devices: Sequence[ReportingDevice],
    begin: Moment | None,
    end: Moment | None,
    request: PageRequest,
) -> RedecodeBatch:
    """The next records of some devices, which are in the order of their numbers."""
    after = request.after
    items: list[RedecodeItem] = []
    size = 0
    for device in devices:
        codec = decoding.get_codec(tx, device.type)
        if not codec.exists:
            continue
        for stay, group_id in sorted(records.list_permitted(tx, actor, PERMISSION, device).items()):
            start = _start_after(after, device.number, stay)
            if start is None:
                continue
            first_kept = records.get_begin(tx, RecordKind.DATA.label, group_id, begin)
            limit = request.limit - len(items)
            room = CHARACTERS_PER_BATCH_MAX - size
            found = store.list_data(tx, device.number, stay, first_kept, end, start, limit, room)
            items += [RedecodeItem(device, codec, each) for each in found]
            size += sum(len(each.body) for each in found)
            if len(items) >= request.limit or size > CHARACTERS_PER_BATCH_MAX:
                return RedecodeBatch(items, items[-1].key)
    return RedecodeBatch(items, None)


def _start_after(
    after: tuple[int | str, ...] | None, number: int, stay: int
) -> tuple[Moment, bytes] | tuple[()] | None:
    """Where to continue in a stay: at its start, after a record; None if it is done."""
    if after is None or (number, stay) > (after[0], after[1]):
        return ()
    if (number, stay) < (after[0], after[1]):
        return None
    return int(after[2]), bytes.fromhex(str(after[3]))


def _devices(
    tx: Tx, actor: Actor, selection: RedecodeSelection, first: int
) -> Sequence[ReportingDevice]:
    if (
        selection.device_type is not None
        and device_types.find_visible(tx, actor, selection.device_type) is None
    ):
        raise invalid_field("device_type", "is no device type")
    if selection.device_id is not None:
        if selection.group_id is not None:
            access.authorize(tx, actor, PERMISSION, selection.group_id)
        device = records.get_reporting_device(tx, selection.device_id)
        if selection.group_id not in (None, device.group_id):
            raise not_found("device_id", "device in this group")
        records.permitted_stays(tx, actor, PERMISSION, device)
        _require_codec(tx, device.type)
        return [device] if selection.device_type in (None, device.type) else []
    assert selection.group_id is not None
    access.authorize(tx, actor, PERMISSION, selection.group_id)
    if selection.device_type is not None:
        _require_codec(tx, selection.device_type)
    return reporting_devices.list_in_group(
        tx, selection.group_id, selection.device_type, first, DEVICES_PER_BATCH_MAX
    )


def _require_codec(tx: Tx, type_name: str) -> None:
    if not decoding.get_codec(tx, type_name).exists:
        raise Conflict(f"The device type {type_name} has no decoder.")


# --- decode ---


def redecode_batch(
    batch: RedecodeBatch, guard: CodecGuard, is_limited: bool = True
) -> RedecodedBatch:
    """Decode a batch, or as much of it as time and the group's budget allow. Blocks."""
    bodies: list[tuple[RedecodeItem, str]] = []
    skipped = failed = examined = 0
    failure: str | None = None
    failed_devices: dict[str, None] = {}
    last_key = batch.last_key
    ends_at = time.monotonic() + DECODING_S_MAX
    for item in batch.items:
        is_late = time.monotonic() > ends_at
        if is_limited and guard.is_budget_used_up(item.device.group_id):
            if not examined:
                require_budget(guard, item.device.group_id)
            is_late = True
        if examined and is_late:
            last_key = batch.items[examined - 1].key
            break
        examined += 1
        record = item.kept.record
        found = _payload(record)
        if found is None:
            skipped += 1
            continue
        try:
            body = _redecode_record(item, *found, guard)
        except DecodeError as error:
            failed += 1
            failed_devices[item.device.id] = None
            failure = failure or f"{record.timestamp}: {error.reason}"
            continue
        if body != item.kept.body:
            bodies.append((item, body))
    return RedecodedBatch(
        bodies, examined, skipped, failed, failure, last_key, tuple(failed_devices)
    )


def _payload(record: DataRecord) -> tuple[bytes, dict[str, Any]] | None:
    """The payload and the data of a record, if they can be decoded."""
    try:
        payload = parse_hex(record.raw)
        data = msgspec.json.decode(record.data)
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return (payload, data) if payload and isinstance(data, dict) else None


def _redecode_record(
    item: RedecodeItem, payload: bytes, data: dict[str, Any], guard: CodecGuard
) -> str:
    record = item.kept.record
    names = set(record.decoded_names or ())
    values = {name: value for name, value in data.items() if name not in names}
    port = parse_integer(facts_of(values).get(PORT), 0, PORT_MAX)
    caller = CodecCaller(item.device.group_id, item.device.id)
    stored = UplinkPayload(values, payload, port, item.kept.ts)
    decoded = decoding.redecode(item.codec, stored, caller, guard)
    text = msgspec.json.encode(decoded.data).decode()
    return encode_record(replace(record, data=text, decoded_names=decoded.names)).body


# --- store ---


def store_batch(tx: Tx, actor: Actor, batch: RedecodedBatch) -> int:
    """Store new bodies of records that have not changed meanwhile; returns how many."""
    present_devices = reporting_devices.get_reporting(
        tx, {item.device.id for item, _ in batch.bodies}
    )
    changed = 0
    for device, group in _by_device(batch.bodies):
        present = present_devices.get(device.id)
        if present is None or present.type != device.type:
            continue  # deleted, or of another type meanwhile
        stays = set(records.permitted_stays(tx, actor, PERMISSION, present))
        updated = [
            (item.kept, body)
            for item, body in group
            if item.kept.stay in stays and store.update_body(tx, device.number, item.kept, body)
        ]
        number = len(updated)
        if number:
            summaries.mark_changed(
                tx, [(device.number, item.kept.stay, item.kept.ts) for item, _ in group]
            )
            current_values.refresh_redecoded(
                tx,
                present,
                [
                    (kept.ts, kept.seq, parse_data_record(body))
                    for kept, body in updated
                    if kept.stay == present.stay
                ],
            )
            audit.log(
                tx,
                actor,
                "record.redecode",
                device.id,
                group_id=present.group_id,
                detail=f"{number} of {device.type}",
            )
        changed += number
    return changed


def _by_device(
    bodies: Sequence[tuple[RedecodeItem, str]],
) -> Iterator[tuple[ReportingDevice, list[tuple[RedecodeItem, str]]]]:
    grouped: dict[int, list[tuple[RedecodeItem, str]]] = {}
    for item, body in bodies:
        grouped.setdefault(item.device.number, []).append((item, body))
    for group in grouped.values():
        yield group[0][0].device, group
