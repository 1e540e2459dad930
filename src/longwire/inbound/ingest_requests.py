"""Build ingest requests: from a parsed uplink, or a published record, to records of a device."""

import functools
from collections.abc import Callable, Mapping

import msgspec

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import invalid_field
from longwire.fleet.decoding import DecodedData, UplinkPayload
from longwire.ingest.requests import IngestItem, IngestRequest, MessageMetadata
from longwire.model import Actor
from longwire.networks.base import ParsedUplink, Reading
from longwire.networks.catalogue import get_network
from longwire.records import (
    RECORD_TYPES,
    SOURCE_NUMBERS,
    ArrivalSource,
    DataRecord,
    GeolocRecord,
    Record,
    digest_content,
)
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.store.records.receptions import Reception

# Parses and validates the JSON of a record of this kind.
ParseRecord = Callable[[str, bytes], IngestItem]
_COUNTERS = {
    "vendor_uplink": "device_vendor_uplink",
    "vendor_data": "vendor_data_message",
    "vendor_data_advanced": "vendor_data_advanced_message",
}
_WIRE_NAMES = {"configuration": "configuration", "device_type": "deviceType"}
# Filled in by the service or naming the origin: not part of the content that identifies a record.
_NOT_CONTENT = {"timestamp", "deviceId", "groupId", "deviceName"}


class ReceivedUplink(msgspec.Struct, frozen=True, gc=False):
    """An uplink with its sender and the device it belongs to."""

    actor: Actor
    device: NetworkDevice
    uplink: ParsedUplink
    received_at: Moment
    reception: Reception | None = None


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
    if decoded is not None and decoded.location is not None:
        items.append(_build_decoded_location(received, decoded.location))
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
        get_network(device.network).counter_modulus,
        uplink.resets_sequence,
    )
    reception = received.reception
    if reception is not None and decoded is not None and decoded.failure is not None:
        reception = msgspec.structs.replace(reception, decode_failure=decoded.failure)
    return IngestRequest(
        received.actor,
        items,
        is_batch=False,
        metadata=metadata,
        source=_source(device),
        reception=reception,
    )


def _source(device: NetworkDevice) -> int:
    """The network; devices of one that sends no callbacks have published to the broker."""
    return SOURCE_NUMBERS.get(device.network, ArrivalSource.MQTT)


def build_payload(uplink: ParsedUplink, received_at: Moment) -> UplinkPayload | None:
    """The input of a decoder, if there is a payload."""
    if not uplink.payload:
        return None
    for reading in uplink.readings:
        if reading.kind == "data":
            at = received_at if reading.ts is None else reading.ts
            return UplinkPayload(reading.fields["data"], uplink.payload, uplink.port, at)
    return None


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
    record_type = RECORD_TYPES[reading.kind]
    fields = {**reading.fields, **_device_fields(record_type, device)}
    data = fields.get("data")
    if decoded is not None:
        fields["data"] = _encode(decoded.data).decode()
        fields["decoded_names"] = decoded.names
    elif data is not None or reading.kind == "data":
        fields["data"] = _encode(data or {}).decode()
    ts = now if reading.ts is None else reading.ts
    record = record_type(device_id=device.id, timestamp=format_date(ts), **fields)
    return IngestItem(record, ts, digest_content(_encode_sorted((reading.kind, reading.fields))))


def _build_decoded_location(received: ReceivedUplink, location: tuple[float, float]) -> IngestItem:
    """A geolocation by the decoder. Like the data's, its digest covers what the network sent."""
    reading = next(each for each in received.uplink.readings if each.kind == "data")
    ts = received.received_at if reading.ts is None else reading.ts
    lat, lng = location
    device_id = received.device.id
    record = GeolocRecord(device_id=device_id, timestamp=format_date(ts), lat=lat, lng=lng)
    return IngestItem(record, ts, digest_content(_encode_sorted(("geoloc", reading.fields))))


def _device_fields(record_type: type[Record], device: NetworkDevice) -> dict[str, str]:
    """The fields that are copied from the device, as far as records of this kind have them."""
    if record_type is DataRecord:
        return {"configuration": device.configuration, "device_type": device.type}
    return {} if record_type is GeolocRecord else {"device_type": device.type}


_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


# --- messages that are kept until there is their device ---

# More is not kept: the device sends again.
KEPT_BYTES_MAX = 4_096


class KeptContent(msgspec.Struct, frozen=True, array_like=True):
    """An uplink, or a record that was published: its kind and its JSON."""

    uplink: ParsedUplink | None
    kind: str = ""
    body: bytes = b""


def encode_kept(content: KeptContent) -> bytes | None:
    """None if it is too large."""
    if len(content.body) > KEPT_BYTES_MAX:
        return None
    encoded = _KEPT_ENCODER.encode(content)
    return encoded if len(encoded) <= KEPT_BYTES_MAX else None


def decode_kept(encoded: bytes) -> KeptContent:
    return _KEPT_DECODER.decode(encoded)


_KEPT_ENCODER = msgspec.msgpack.Encoder()
_KEPT_DECODER = msgspec.msgpack.Decoder(KeptContent)


# --- records that devices publish ---


def build_published_request(
    actor: Actor,
    device: NetworkDevice,
    kind_name: str,
    members: Mapping[str, msgspec.Raw],
    received_at: Moment,
    parse: ParseRecord,
) -> IngestRequest:
    """One record of a device, whose digest covers what was published and nothing else."""
    item = parse(
        kind_name, _encode({**_default_members(kind_name, device, received_at), **members})
    )
    if item.record.device_id != device.id:
        raise invalid_field("device_id", "is not the device of the topic; leave it out")
    content = [(name, members[name]) for name in sorted(members.keys() - _NOT_CONTENT)]
    item = msgspec.structs.replace(item, digest=digest_content(_encode([kind_name, content])))
    metadata = MessageMetadata(
        device.id, as_of=device.updated_at, reports_configuration="configuration" in members
    )
    return IngestRequest(actor, [item], is_batch=False, metadata=metadata, source=_source(device))


def _default_members(kind_name: str, device: NetworkDevice, received_at: Moment) -> dict[str, str]:
    members = {"deviceId": device.id, "timestamp": format_date(received_at)}
    if kind_name == "data":
        members["__raw"] = ""
    for field, value in _device_fields(RECORD_TYPES[kind_name], device).items():
        members[_WIRE_NAMES[field]] = value
    return members
