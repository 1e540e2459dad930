"""ChirpStack 4: its HTTP integration with JSON, where the query names the event."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import FieldError
from longwire.measurements.values import PORT, SEQUENCE, TAGS
from longwire.networks import lorawan, readings
from longwire.networks.base import (
    ApiReply,
    ApiRequest,
    DownlinkFrame,
    DownlinkState,
    DownlinkUpdate,
    InvalidMessage,
    ParsedUplink,
    QueuedItem,
)
from longwire.networks.json_text import parse_json
from longwire.networks.values import (
    RequiredFields,
    first_moment,
    first_value,
    list_mappings,
    parse_base64,
    parse_boolean,
    parse_integer,
    parse_mapping,
    parse_text,
)


def parse(event: str, values: Mapping[str, Any]) -> ParsedUplink:
    if event not in _PARSERS:
        message = f"is no event; there are {', '.join(_PARSERS)}"
        raise InvalidMessage(field_errors=[FieldError("event", message)])
    uplink = _PARSERS[event](values)
    deduplication_id = parse_text(values.get("deduplicationId"), readings.WORD_CHARACTERS_MAX)
    if deduplication_id is not None and lorawan.has_no_moment(uplink):
        return replace(uplink, dedup_key=f"{event} {deduplication_id}")
    return uplink


# The join server context has session keys: whoever may read one record could decrypt all payloads.
_ENVELOPE = ("time", "joinServerContext")


def _device_and_moment(
    required: RequiredFields, values: Mapping[str, Any]
) -> tuple[str, Moment | None]:
    device = parse_mapping(values.get("deviceInfo")) or {}
    is_version_3 = "deviceInfo" not in values and "devEUI" in values
    required.check(not is_version_3, "devEUI", "is that of ChirpStack 3; version 4 is understood")
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
    """A message that becomes an event record, with all of its fields."""
    required = RequiredFields()
    device, ts = _device_and_moment(required, values)
    required.raise_errors()
    data = readings.remaining_fields(values, used=_ENVELOPE + used)
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, type, data, message=message, severity=severity),),
        battery=battery,
        downlink=downlink,
        resets_sequence=resets_sequence,
    )


# --- up ---

_UPLINK = ("fCnt", "fPort", "data", "object", "rxInfo", "txInfo")
# The same in each message of a device, but for its tags; and what only the network server needs.
_IDENTIFIERS = ("deviceInfo", "devAddr", "regionConfigId", "deduplicationId")
# Of a reception: what only the network server needs, and what is always the same of a gateway.
_RECEPTION = (
    *("context", "uplinkId", "gwTime", "nsTime", "timeSinceGpsEpoch", "crcStatus"),
    *("location", "metadata", "channel", "rfChain", "board"),
)


def _up(values: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, sent_at = _device_and_moment(required, values)
    payload = required.payload("data", values.get("data"), parse_base64, readings.PAYLOAD_BYTES_MAX)
    required.raise_errors()
    receptions = lorawan.list_receptions(values.get("rxInfo"))
    ts = sent_at if sent_at is not None else _received_at(receptions)
    sequence = parse_integer(values.get("fCnt", 0), minimum=0)
    port = lorawan.parse_port(values.get("fPort"))
    device_info = parse_mapping(values.get("deviceInfo")) or {}
    facts = {SEQUENCE: sequence, PORT: port, TAGS: device_info.get("tags") or None}
    facts |= readings.remaining_fields(values, used=(*_ENVELOPE, *_UPLINK, *_IDENTIFIERS, *facts))
    radio = _radio(parse_mapping(values.get("txInfo")) or {})
    gateways = lorawan.parse_gateways(receptions, ("gatewayId", "rssi", "snr"), radio)
    about = {SEQUENCE: sequence}
    reception_data = [readings.remaining_fields(each, used=_RECEPTION) for each in receptions]
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, values.get("object"), facts),
            *lorawan.telemetry(ts, gateways, reception_data, radio, about),
        ),
        sequence=sequence,
        payload=payload,
        port=port,
    )


def _received_at(receptions: list[dict[str, Any]]) -> Moment | None:
    times = (first_value(each, "nsTime", "gwTime", "time") for each in receptions)
    return first_moment(*times)


def _radio(sent: Mapping[str, Any]) -> lorawan.RadioSettings:
    modulation = parse_mapping(sent.get("modulation")) or {}
    lora = parse_mapping(modulation.get("lora")) or {}
    fsk = parse_mapping(modulation.get("fsk"))
    hopping = parse_mapping(modulation.get("lrFhss"))
    frequency = parse_integer(sent.get("frequency"))
    if fsk is not None:
        return lorawan.RadioSettings(
            frequency=frequency,
            modulation="FSK",
            bit_rate=parse_integer(fsk.get("datarate")),
            frequency_deviation=parse_integer(fsk.get("frequencyDeviation")),
        )
    if hopping is not None:
        return lorawan.RadioSettings(
            frequency=frequency,
            modulation="LR-FHSS",
            code_rate=parse_text(hopping.get("codeRate"), readings.WORD_CHARACTERS_MAX),
            channel_width=parse_integer(hopping.get("operatingChannelWidth")),
            grid_steps=parse_integer(hopping.get("gridSteps")),
        )
    return lorawan.RadioSettings(
        frequency=frequency,
        bandwidth=parse_integer(lora.get("bandwidth")),
        spreading_factor=parse_integer(lora.get("spreadingFactor")),
        code_rate=parse_text(lora.get("codeRate"), readings.WORD_CHARACTERS_MAX),
    )


# --- device events ---


def _join(values: Mapping[str, Any]) -> ParsedUplink:
    return _event("join", values, resets_sequence=True)


def _status(values: Mapping[str, Any]) -> ParsedUplink:
    is_unknown = parse_boolean(values.get("batteryLevelUnavailable"))
    has_no_battery = parse_boolean(values.get("externalPowerSource"))
    level = None if is_unknown or has_no_battery else values.get("batteryLevel", 0)
    return _event("status", values, battery=lorawan.parse_battery(level))


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
    data = readings.remaining_fields(values, used=(*_ENVELOPE, "location"))
    position = lorawan.geoloc(ts, location, _SOURCES, data)
    required.check(position is not None, "location", "must be a place, with latitude and longitude")
    required.raise_errors()
    return ParsedUplink(original_id=device, readings=(position,) if position else ())


# --- downlink events ---


def _network_id(values: Mapping[str, Any], name: str) -> str | None:
    return parse_text(values.get(name), readings.WORD_CHARACTERS_MAX)


def _ack(values: Mapping[str, Any]) -> ParsedUplink:
    network_id = _network_id(values, "queueItemId")
    if parse_boolean(values.get("acknowledged")):
        update = DownlinkUpdate(network_id, "acknowledged", "the device has confirmed it")
    else:
        update = DownlinkUpdate(network_id, "failed", "the device has not confirmed it in time")
    return _event("ack", values, message=update.detail, downlink=update)


def _txack(values: Mapping[str, Any]) -> ParsedUplink:
    gateway = parse_text(values.get("gatewayId"), readings.WORD_CHARACTERS_MAX) or "a gateway"
    update = DownlinkUpdate(_network_id(values, "queueItemId"), "sent", f"{gateway} sends it")
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
    network_id = _network_id(parse_mapping(values.get("context")) or {}, "queue_item_id")
    return _event(
        "log",
        values,
        message=description or code,
        severity=first_value(values, "level")
        or "INFO",  # the zero value of the enum, so it is omitted
        used=("description", "level"),
        downlink=DownlinkUpdate(network_id, state, description or code) if state else None,
    )


def _integration(values: Mapping[str, Any]) -> ParsedUplink:
    return _event("integration", values, message=values.get("eventType"))


_PARSERS: Mapping[str, Callable[[Mapping[str, Any]], ParsedUplink]] = {
    "up": _up,
    "join": _join,
    "ack": _ack,
    "txack": _txack,
    "status": _status,
    "location": _location,
    "log": _log,
    "integration": _integration,
}
EVENTS = tuple(_PARSERS)


# --- downlinks ---


def push_request(downlink: DownlinkFrame, login: str, key: str, now: Moment) -> ApiRequest:
    """Queue a downlink with the REST proxy in front of the gRPC API."""
    item = {
        "confirmed": downlink.is_confirmed,
        "data": b64encode(downlink.payload).decode(),
        "expiresAt": format_date(downlink.expires_at),
        "fPort": downlink.port,
    }
    return replace(queue_request(downlink.original_id, key), body={"queueItem": item})


def queue_request(original_id: str, key: str) -> ApiRequest:
    """A request about the queue of a device: GET lists it, and DELETE empties it."""
    eui = quote(original_id.lower(), safe="")
    return ApiRequest(
        path=f"/api/devices/{eui}/queue",
        headers={"Grpc-Metadata-Authorization": f"Bearer {key}"},
    )


def parse_reply(body: bytes, downlink: DownlinkFrame) -> ApiReply:
    """The network's id of the downlink; nothing else of the response is kept."""
    try:
        reply = parse_mapping(parse_json(body)) or {}
    except InvalidMessage:
        return ApiReply()
    return ApiReply(network_id=parse_text(reply.get("id"), readings.WORD_CHARACTERS_MAX))


def parse_queue(response: bytes) -> list[QueuedItem] | None:
    """What the network's queue of a device has; None if the response does not say so."""
    try:
        queue = parse_mapping(parse_json(response)) or {}
    except InvalidMessage:
        return None
    listed = queue.get("result")
    if not isinstance(listed, list):
        return None
    items = list_mappings(listed)
    if len(items) != len(listed):
        return None
    return [
        QueuedItem(
            parse_text(item.get("id"), readings.WORD_CHARACTERS_MAX),
            parse_boolean(item.get("isPending")) is True,
        )
        for item in items
    ]


def find_in_queue(response: bytes, downlink: DownlinkFrame) -> str | None:
    """The network's id of a downlink, if it is in the queue.

    ChirpStack accepts no ids of ours, but keeps the expiry, which is unique per device.
    """
    try:
        queue = parse_mapping(parse_json(response)) or {}
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
