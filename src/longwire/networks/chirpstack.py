"""ChirpStack 4, its HTTP integration with JSON: what a message is, is told in the query."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import FieldError
from longwire.networks import lorawan, readings
from longwire.networks.base import (
    DECODED,
    PORT,
    SEQUENCE,
    DownlinkFrame,
    DownlinkState,
    DownlinkUpdate,
    InvalidMessage,
    ParsedUplink,
)
from longwire.networks.bodies import (
    RequiredFields,
    first_moment,
    first_value,
    list_mappings,
    parse_base64,
    parse_boolean,
    parse_integer,
    parse_json,
    parse_mapping,
    parse_text,
)


def read(event: str, values: Mapping[str, Any]) -> ParsedUplink:
    """What an event says."""
    if event not in _READERS:
        message = f"is no event; there are {', '.join(_READERS)}"
        raise InvalidMessage(field_errors=[FieldError("event", message)])
    heard = _READERS[event](values)
    known_by = parse_text(values.get("deduplicationId"), readings.WORD_CHARACTERS_MAX)
    if known_by is not None and lorawan.has_no_moment(heard):
        return replace(heard, dedup_key=f"{event} {known_by}")
    return heard


# With the device and the time: the keys of a session that the network cannot decrypt. They would
# open everything that the device says, to everybody who may read one record.
_ENVELOPE = ("deviceInfo", "time", "joinServerContext")


def _device_and_moment(
    required: RequiredFields, values: Mapping[str, Any]
) -> tuple[str, Moment | None]:
    device = parse_mapping(values.get("deviceInfo")) or {}
    is_of_3 = "deviceInfo" not in values and "devEUI" in values
    required.require(not is_of_3, "devEUI", "is that of ChirpStack 3; version 4 is understood")
    return (
        required.device("deviceInfo.devEui", device.get("devEui")),
        required.moment_if_given("time", values.get("time")),
    )


def _event(
    type: str,
    values: Mapping[str, Any],
    *,
    message: Any = None,
    severity: Any = None,
    used: tuple[str, ...] = (),
    battery: str | None = None,
    downlink: DownlinkUpdate | None = None,
    resets_sequence: bool = False,
) -> ParsedUplink:
    """A message that becomes an event, with everything that it tells."""
    required = RequiredFields()
    device, ts = _device_and_moment(required, values)
    required.raise_faults()
    told = readings.remaining_fields(values, used=_ENVELOPE + used)
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, type, told, message=message, severity=severity),),
        battery=battery,
        downlink=downlink,
        resets_sequence=resets_sequence,
    )


# --- up ---

_UPLINK = ("fCnt", "fPort", "data", "object", "rxInfo", "txInfo")
# Only the gateway that has written it can read it.
_OPAQUE = ("context",)


def _up(values: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, said_at = _device_and_moment(required, values)
    payload = required.payload("data", values.get("data"), parse_base64, readings.PAYLOAD_BYTES_MAX)
    required.raise_faults()
    receptions = list_mappings(values.get("rxInfo"))
    ts = said_at if said_at is not None else _received_at(receptions)
    sequence = parse_integer(values.get("fCnt", 0), minimum=0)
    port = lorawan.port(values.get("fPort"))
    told = {SEQUENCE: sequence, PORT: port, DECODED: values.get("object")}
    told |= readings.remaining_fields(values, used=(*_ENVELOPE, *_UPLINK, *told))
    radio = _radio(parse_mapping(values.get("txInfo")) or {})
    gateways = [
        lorawan.gateway(
            parse_text(each.get("gatewayId"), readings.WORD_CHARACTERS_MAX),
            each.get("rssi"),
            each.get("snr"),
            radio,
        )
        for each in receptions
    ]
    about = {SEQUENCE: sequence, "deduplicationId": values.get("deduplicationId")}
    heard_by = [readings.remaining_fields(each, used=_OPAQUE) for each in receptions]
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, readings.drop_none(told)),
            *lorawan.telemetry(ts, gateways, heard_by, radio, about),
        ),
        sequence=sequence,
        payload=payload,
        port=port,
    )


def _received_at(receptions: list[dict[str, Any]]) -> Moment | None:
    times = (first_value(each, "nsTime", "gwTime", "time") for each in receptions)
    return first_moment(*times)


def _radio(sent: Mapping[str, Any]) -> lorawan.Radio:
    modulation = parse_mapping(sent.get("modulation")) or {}
    lora = parse_mapping(modulation.get("lora")) or {}
    return lorawan.Radio(
        frequency=parse_integer(sent.get("frequency")),
        bandwidth=parse_integer(lora.get("bandwidth")),
        spreading_factor=parse_integer(lora.get("spreadingFactor")),
        code_rate=parse_text(lora.get("codeRate"), readings.WORD_CHARACTERS_MAX),
    )


# --- what happens to a device ---


def _join(values: Mapping[str, Any]) -> ParsedUplink:
    return _event("join", values, resets_sequence=True)


def _status(values: Mapping[str, Any]) -> ParsedUplink:
    is_unknown = parse_boolean(values.get("batteryLevelUnavailable"))
    has_no_battery = parse_boolean(values.get("externalPowerSource"))
    level = None if is_unknown or has_no_battery else values.get("batteryLevel", 0)
    return _event("status", values, battery=lorawan.battery(level))


# The vendor's numbers for where a position comes from: 1 GPS, 2 network, 6 Wi-Fi. Configured
# positions have none.
_SOURCES = {
    "GPS": 1,
    "GEO_RESOLVER_GNSS": 1,
    "GEO_RESOLVER_TDOA": 2,
    "GEO_RESOLVER_RSSI": 2,
    "GEO_RESOLVER_WIFI": 6,
}


def _location(values: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values)
    location = parse_mapping(values.get("location")) or {}
    told = readings.remaining_fields(values, used=(*_ENVELOPE, "location"))
    place = lorawan.geoloc(ts, location, _SOURCES, told)
    required.require(place is not None, "location", "must be a place, with latitude and longitude")
    required.raise_faults()
    return ParsedUplink(original_id=device, readings=(place,) if place else ())


# --- what became of a downlink ---


def _queued_as(values: Mapping[str, Any], name: str) -> str | None:
    return parse_text(values.get(name), readings.WORD_CHARACTERS_MAX)


def _ack(values: Mapping[str, Any]) -> ParsedUplink:
    queued_as = _queued_as(values, "queueItemId")
    if parse_boolean(values.get("acknowledged")):
        update = DownlinkUpdate(queued_as, "acknowledged", "the device has confirmed it")
    else:
        update = DownlinkUpdate(queued_as, "failed", "the device has not confirmed it in time")
    return _event("ack", values, message=update.detail, downlink=update)


def _txack(values: Mapping[str, Any]) -> ParsedUplink:
    gateway = parse_text(values.get("gatewayId"), readings.WORD_CHARACTERS_MAX) or "a gateway"
    update = DownlinkUpdate(_queued_as(values, "queueItemId"), "sent", f"{gateway} sends it")
    return _event("txack", values, message=update.detail, downlink=update)


_DOWNLINK_CODES: Mapping[str, DownlinkState] = {
    "DOWNLINK_PAYLOAD_SIZE": "failed",
    "DOWNLINK_CODEC": "failed",
    "DOWNLINK_GATEWAY": "failed",
    "F_CNT_DOWN": "failed",
    "EXPIRED": "expired",
}


def _log(values: Mapping[str, Any]) -> ParsedUplink:
    description = parse_text(values.get("description"), readings.TEXT_CHARACTERS_MAX)
    code = parse_text(values.get("code"), readings.WORD_CHARACTERS_MAX) or ""
    state = _DOWNLINK_CODES.get(code)
    queued_as = _queued_as(parse_mapping(values.get("context")) or {}, "queue_item_id")
    return _event(
        "log",
        values,
        message=description or code,
        severity=first_value(values, "level") or "INFO",  # the zero of its levels, and so left out
        used=("description", "level"),
        downlink=DownlinkUpdate(queued_as, state, description or code) if state else None,
    )


def _integration(values: Mapping[str, Any]) -> ParsedUplink:
    return _event("integration", values, message=values.get("eventType"))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], ParsedUplink]] = {
    "up": _up,
    "join": _join,
    "ack": _ack,
    "txack": _txack,
    "status": _status,
    "location": _location,
    "log": _log,
    "integration": _integration,
}
EVENTS = tuple(_READERS)


# --- the other way ---


def queue_item(downlink: DownlinkFrame) -> tuple[str, dict[str, Any]]:
    """Where in the API a message to a device is queued, and how it is told."""
    item = {
        "confirmed": downlink.is_confirmed,
        "data": b64encode(downlink.payload).decode(),
        "expiresAt": format_date(downlink.expires_at),
        "fPort": downlink.port,
    }
    eui = quote(downlink.original_id.lower(), safe="")
    return f"/api/devices/{eui}/queue", {"queueItem": item}


def name_in_queue(answered: bytes, downlink: DownlinkFrame) -> str | None:
    """What the network calls a message to a device, if it is in the queue that it answers with.

    It takes no names of ours. But it keeps until when a message is good, and no two messages of
    ours to one device are good until the same moment.
    """
    try:
        queue = parse_mapping(parse_json(answered)) or {}
    except InvalidMessage:
        return None
    for item in list_mappings(queue.get("result")):
        is_same = (
            first_moment(item.get("expiresAt")) == downlink.expires_at
            and item.get("data") == b64encode(downlink.payload).decode()
            and item.get("fPort") == downlink.port
        )
        if is_same:
            return parse_text(item.get("id"), readings.WORD_CHARACTERS_MAX)
    return None


def credentials(key: str) -> dict[str, str]:
    """How the proxy in front of the API wants to be shown the key."""
    return {"Grpc-Metadata-Authorization": f"Bearer {key}"}
