"""Reads stored payloads once more, by the decoder that their device's type has now.

In pieces, and each in three steps: find records, decode them with no transaction open, and keep
what came of it. A record stays the record it was: its moment, its arrival, what makes it one of a
kind and its payload are not touched, and nobody is sent it again. Only what decoding had put into
its data gives way to what decoding puts there now.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.decoders.base import DecodeError
from longwire.errors import Conflict, invalid_field, not_found
from longwire.fleet import decoding, device_types, records
from longwire.fleet.decoding import Codec, UplinkPayload
from longwire.identity import access
from longwire.model import Actor, PageRequest
from longwire.networks.base import DECODED_NAMES, PORT, RAW
from longwire.networks.lorawan import PORT_MAX
from longwire.networks.values import parse_hex, parse_integer
from longwire.store import audit
from longwire.store import devices as store_devices
from longwire.store import records as store
from longwire.store.database import Tx
from longwire.store.devices import ReportingDevice
from longwire.store.records import StoredDataRecord

PERMISSION = "record.create"
DEVICES_PER_BATCH_MAX = 200
DECODING_S_MAX = 2.0
_ALL_STAYS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class RedecodeSelection:
    """Whose data, of which time: of one device, or of those of a group, perhaps of one type."""

    device_id: str | None
    group_id: str | None
    device_type: str | None
    begin: Moment | None
    end: Moment | None


@dataclass(frozen=True, slots=True)
class RedecodeItem:
    """A record that is to be read again."""

    device: ReportingDevice
    codec: Codec
    kept: StoredDataRecord

    @property
    def key(self) -> tuple[int | str, ...]:
        return self.device.number, self.kept.stay, self.kept.ts, self.kept.digest.hex()


@dataclass(frozen=True, slots=True)
class RedecodeBatch:
    """Some records, and where to go on after them."""

    items: list[RedecodeItem]
    last_key: tuple[int | str, ...] | None


@dataclass(frozen=True, slots=True)
class RedecodedBatch:
    """What came of some records: their new bodies, and what could not be read."""

    bodies: list[tuple[RedecodeItem, str]]
    examined: int
    skipped: int
    failed: int
    failure: str | None
    last_key: tuple[int | str, ...] | None


# --- finding ---


def find_batch(
    tx: Tx, actor: Actor, selection: RedecodeSelection, request: PageRequest
) -> RedecodeBatch:
    """The next records that are to be read again."""
    after = request.after
    first = int(after[0]) if after else 0
    items: list[RedecodeItem] = []
    device: ReportingDevice | None = None
    devices = _devices(tx, actor, selection, first)
    for device in devices:
        codec = decoding.get_codec(tx, device.type)
        if not codec.exists:
            continue
        for stay in sorted(records.permitted_stays(tx, actor, PERMISSION, device)):
            place = _place(after, device.number, stay)
            if place is None:
                continue
            room = request.limit - len(items)
            found = store.list_data(
                tx, device.number, stay, selection.begin, selection.end, place, room
            )
            items += [RedecodeItem(device, codec, each) for each in found]
            if len(items) >= request.limit:
                return RedecodeBatch(items, items[-1].key)
    if device is not None and len(devices) == DEVICES_PER_BATCH_MAX:
        return RedecodeBatch(items, (device.number, _ALL_STAYS, 0, ""))
    return RedecodeBatch(items, None)


def _place(
    after: tuple[int | str, ...] | None, number: int, stay: int
) -> tuple[Moment, bytes] | tuple[()] | None:
    """Where to begin in a stay: at its beginning, after a record, or nowhere, as it is done."""
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
        and device_types.find_device_type(tx, selection.device_type) is None
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
    return store_devices.list_in_group(
        tx, selection.group_id, selection.device_type, first, DEVICES_PER_BATCH_MAX
    )


def _require_codec(tx: Tx, type_name: str) -> None:
    if not decoding.get_codec(tx, type_name).exists:
        raise Conflict(f"The device type {type_name} has no decoder.")


# --- decoding ---


def redecode_batch(batch: RedecodeBatch) -> RedecodedBatch:
    """Decode a piece, or as much of it as can be done in a while. Waits: not on the event loop."""
    bodies: list[tuple[RedecodeItem, str]] = []
    skipped = failed = examined = 0
    failure: str | None = None
    last_key = batch.last_key
    ends_at = time.monotonic() + DECODING_S_MAX
    for item in batch.items:
        if examined and time.monotonic() > ends_at:
            last_key = batch.items[examined - 1].key
            break
        examined += 1
        record: dict[str, Any] = msgspec.json.decode(item.kept.body)
        found = _payload(record)
        if found is None:
            skipped += 1
            continue
        try:
            body = _again(item, record, *found)
        except DecodeError as error:
            failed += 1
            failure = failure or f"{record['timestamp']}: {error.reason}"
            continue
        if body != item.kept.body:
            bodies.append((item, body))
    return RedecodedBatch(bodies, examined, skipped, failed, failure, last_key)


def _payload(record: Mapping[str, Any]) -> tuple[bytes, dict[str, Any]] | None:
    """The payload and the data of a record, if these are what a decoder works with."""
    try:
        payload = parse_hex(record.get(RAW) or "")
        data = msgspec.json.decode(record["data"])
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None
    return (payload, data) if payload and isinstance(data, dict) else None


def _again(item: RedecodeItem, record: dict[str, Any], payload: bytes, data: dict[str, Any]) -> str:
    names = set(record.get(DECODED_NAMES) or ())
    said = {name: value for name, value in data.items() if name not in names}
    port = parse_integer(said.get(PORT), 0, PORT_MAX)
    understood = decoding.redecode(item.codec, UplinkPayload(said, payload, port, item.kept.ts))
    record["data"] = msgspec.json.encode(understood.data).decode()
    record[DECODED_NAMES] = understood.names
    return msgspec.json.encode(record).decode()


# --- keeping ---


def store_batch(tx: Tx, actor: Actor, reread: RedecodedBatch) -> int:
    """Put new data into records that are still what they were; how many."""
    there = store_devices.get_reporting(tx, {item.device.id for item, _ in reread.bodies})
    changed = 0
    for device, some in _by_device(reread.bodies):
        present = there.get(device.id)
        if present is None or present.type != device.type:
            continue  # it went, or became another one, while it was being read
        stays = set(records.permitted_stays(tx, actor, PERMISSION, present))
        number = sum(
            store.update_body(tx, device.number, item.kept, body)
            for item, body in some
            if item.kept.stay in stays
        )
        if number:
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
    for some in grouped.values():
        yield some[0][0].device, some
