"""Build ingest requests: from a parsed uplink, or a published record, to records of a device."""

import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from longwire.api.records import KINDS, DecodedDataInput, Kind, RecordInput
from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import invalid_field
from longwire.fleet.decoding import DecodedData
from longwire.fleet.records import DIGEST_BYTES
from longwire.ingest import IngestItem, IngestRequest, MessageMetadata
from longwire.model import Actor
from longwire.networks import monitoring
from longwire.networks.base import ParsedUplink, Reading
from longwire.store.devices import NetworkDevice
from longwire.web.fields import InputLimits
from longwire.web.validation import decode_body

_BY_NAME: Mapping[str, Kind] = {kind.name: kind for kind in KINDS}
KIND_NAMES = tuple(_BY_NAME)

# For each kind: its number, its draft type, and the fields that are copied from the device.
_DRAFT_TYPES: Mapping[str, tuple[int, type[RecordInput], frozenset[str]]] = {
    kind.name: (
        kind.number,
        kind.input,
        frozenset(kind.input.__struct_fields__) & {"configuration", "device_type"},
    )
    for kind in KINDS
}
_COUNTERS = {
    "vendor_uplink": "device_vendor_uplink",
    "vendor_data": "vendor_data_message",
    "vendor_data_advanced": "vendor_data_advanced_message",
}
# Filled in by the service or naming the origin: not part of the content that identifies a record.
_NOT_CONTENT = {"timestamp", "deviceId", "groupId", "deviceName"}


class ReceivedUplink(msgspec.Struct, frozen=True, gc=False):
    """An uplink with its sender and the device it belongs to."""

    actor: Actor
    device: NetworkDevice
    uplink: ParsedUplink
    received_at: Moment


def build_request(received: ReceivedUplink, decoded: DecodedData | None = None) -> IngestRequest:
    """All records of an uplink, with the decoded data if there is any."""
    uplink, device = received.uplink, received.device
    readings = uplink.readings
    items = [
        _build_item(
            reading, device, received.received_at, decoded if reading.kind == "data" else None
        )
        for reading in readings
    ]
    sent_at = None
    for reading in readings:
        if reading.ts is not None and (sent_at is None or reading.ts > sent_at):
            sent_at = reading.ts
    metadata = MessageMetadata(
        device.id,
        _counters(uplink.counts),
        uplink.battery,
        sent_at,
        device.updated_at,
        uplink.sequence if _has_own_sequence(uplink) else None,
        monitoring.MODULI.get(device.network, 0),
        uplink.resets_sequence,
    )
    return IngestRequest(received.actor, items, is_batch=False, metadata=metadata)


@functools.cache
def _counters(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_COUNTERS[name] for name in names)


def _has_own_sequence(uplink: ParsedUplink) -> bool:
    """Whether the sequence number is the message's own, and not that of one it reports on."""
    return bool(uplink.payload is not None or "vendor_uplink" in uplink.counts)


def _build_item(
    reading: Reading, device: NetworkDevice, now: Moment, decoded: DecodedData | None
) -> IngestItem:
    """A record, whose digest covers what the network sent and nothing else."""
    number, draft_type, device_fields = _DRAFT_TYPES[reading.kind]
    fields = reading.fields.copy()
    data = fields.get("data")
    if decoded is not None:
        draft_type = DecodedDataInput
        fields["data"] = _encode(decoded.data).decode()
        fields["decoded_names"] = decoded.names
    elif data is not None or reading.kind == "data":
        fields["data"] = _encode(data or {}).decode()
    if "configuration" in device_fields:
        fields["configuration"] = device.configuration
    if "device_type" in device_fields:
        fields["device_type"] = device.type
    ts = now if reading.ts is None else reading.ts
    draft = draft_type(device_id=device.id, timestamp=format_date(ts), **fields)
    content = _encode_sorted((reading.kind, reading.fields))
    digest = hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
    return IngestItem(number, ts, digest, draft)


_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


# --- records that devices publish ---


def build_published_request(
    actor: Actor,
    device: NetworkDevice,
    kind_name: str,
    members: Mapping[str, msgspec.Raw],
    received_at: Moment,
    limits: InputLimits,
) -> IngestRequest:
    """One record of a device, whose digest covers what was published and nothing else."""
    kind = _BY_NAME[kind_name]
    record = {**_default_members(kind, device, received_at), **members}
    body = decode_body(msgspec.json.encode(record), kind.input, limits)
    if body.device_id != device.id:
        raise invalid_field("device_id", "is not the device of the topic; leave it out")
    content = [(name, members[name]) for name in sorted(members.keys() - _NOT_CONTENT)]
    digest = hashlib.blake2b(
        msgspec.json.encode([kind_name, content]), digest_size=DIGEST_BYTES
    ).digest()
    item = msgspec.structs.replace(body.item(kind.number), digest=digest)
    metadata = MessageMetadata(device.id, as_of=device.updated_at)
    return IngestRequest(actor, [item], is_batch=False, metadata=metadata)


def _default_members(kind: Kind, device: NetworkDevice, received_at: Moment) -> dict[str, Any]:
    defaults = {
        "device_id": ("deviceId", device.id),
        "timestamp": ("timestamp", format_date(received_at)),
        "configuration": ("configuration", device.configuration),
        "device_type": ("deviceType", device.type),
    }
    if kind.name == "data":
        defaults["raw"] = ("__raw", "")
    fields = kind.input.__struct_fields__
    return dict(member for field, member in defaults.items() if field in fields)
