"""The Things Stack 3: its webhooks with JSON, where a key in the body names the message type."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from longwire.clock import Moment
from longwire.errors import FieldError
from longwire.measurements.values import PORT, SEQUENCE
from longwire.networks import lorawan, readings
from longwire.networks.base import (
    DownlinkFrame,
    DownlinkState,
    DownlinkUpdate,
    InvalidMessage,
    ParsedUplink,
    Reading,
)
from longwire.networks.values import (
    RequiredFields,
    first_value,
    is_empty,
    is_zero_time,
    list_mappings,
    parse_base64,
    parse_boolean,
    parse_integer,
    parse_list,
    parse_mapping,
    parse_number,
    parse_text,
)

# The prefix of the correlation id that carries our downlink id.
CORRELATION = "longwire:"
# More than ever wait for one device; the rest of a longer list is ignored.
INVALIDATED_MAX = 1_000

Message = Mapping[str, Any]


def parse(values: Message) -> ParsedUplink:
    present = [key for key in _PARSERS if key in values]
    if not present:
        raise InvalidMessage(f"The message has none of {', '.join(_PARSERS)}.")
    key = present[0]
    # Some senders write an empty message as null.
    message = {} if values[key] is None else parse_mapping(values[key])
    if message is None:
        raise InvalidMessage(field_errors=[FieldError(key, "must be an object")])
    return _PARSERS[key](key, values, message)


def _device_and_moment(
    required: RequiredFields, values: Message, message: Message
) -> tuple[str, Moment | None]:
    """The device, and when the network received the message rather than when it forwarded it.

    Devices with activation by personalization need no EUI; they are known by their device id.
    """
    device = parse_mapping(values.get("end_device_ids")) or {}
    moments = {
        f"{_key_of(values)}.received_at": message.get("received_at"),
        "received_at": values.get("received_at"),
    }
    field, received_at = next(
        (each for each in moments.items() if not is_empty(each[1]) and not is_zero_time(each[1])),
        ("received_at", None),
    )
    sent_id = first_value(device, "dev_eui", "device_id")
    return (
        required.device("end_device_ids.dev_eui", sent_id, "or device_id is required"),
        required.moment_if_given(field, received_at),
    )


def _identifiers(values: Message) -> dict[str, Any]:
    """What the network calls the device and its application, to be kept in the record."""
    device = parse_mapping(values.get("end_device_ids")) or {}
    application = parse_mapping(device.get("application_ids")) or {}
    found = {
        "device_id": first_value(device, "device_id"),
        "application_id": first_value(application, "application_id"),
        "dev_addr": first_value(device, "dev_addr"),
    }
    return readings.drop_none(found)


def _key_of(values: Message) -> str:
    return next(key for key in _PARSERS if key in values)


def _simulated(values: Message) -> dict[str, Any]:
    """Mark messages that were simulated in the console, to tell them from measurements."""
    return {"simulated": True} if parse_boolean(values.get("simulated")) else {}


# --- uplinks ---

_UPLINK = (
    *("f_cnt", "f_port", "frm_payload", "decoded_payload", "normalized_payload"),
    *("rx_metadata", "settings", "received_at"),
)
# The same in each message of a device; events have what names the device and its application.
_IDENTIFIERS = ("session_key_id", "version_ids", "network_ids")
# Opaque to everybody but the gateway server.
_OPAQUE = ("uplink_token", "downlink_path_constraint")
# The session key, sent if the network does not decrypt: whoever may read one record could decrypt
# all payloads.
_SECRET = ("app_s_key",)


def _uplink(key: str, values: Message, message: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values, message)
    payload = required.payload(
        f"{key}.frm_payload", message.get("frm_payload"), parse_base64, readings.PAYLOAD_BYTES_MAX
    )
    required.raise_errors()
    sequence = parse_integer(message.get("f_cnt", 0), minimum=0)
    port = lorawan.parse_port(message.get("f_port"))
    simulated = _simulated(values)
    settings = parse_mapping(message.get("settings")) or {}
    facts = {
        SEQUENCE: sequence,
        PORT: port,
        "data_rate_index": settings.get("data_rate_index"),
        **simulated,
    }
    facts |= readings.remaining_fields(message, used=(*_UPLINK, *_IDENTIFIERS, *_SECRET, *facts))
    about = {SEQUENCE: sequence, **simulated}
    session = parse_text(message.get("session_key_id"), readings.WORD_CHARACTERS_MAX)
    is_known = ts is None and session is not None
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, _decoded(message), facts),
            *_telemetry(ts, message, about),
            *_best_position(ts, message, about),
        ),
        # A simulated uplink has no frame counter and no battery level.
        sequence=None if simulated else sequence,
        payload=payload,
        port=port,
        battery=None if simulated else _battery(message),
        dedup_key=f"{key} {session} {sequence}" if is_known else None,
    )


def _decoded(message: Message) -> Any:
    """The values of the payload formatter, and beside them the normalized ones."""
    decoded, normalized = message.get("decoded_payload"), message.get("normalized_payload")
    if normalized is None:
        return decoded
    beside = decoded if isinstance(decoded, dict) else {}
    return {"normalized": normalized, **beside}


def _telemetry(ts: Moment | None, message: Message, about: Message) -> tuple[Reading, ...]:
    radio = _radio(parse_mapping(message.get("settings")) or {})
    receptions = lorawan.list_receptions(message.get("rx_metadata"))
    gateways = [
        lorawan.parse_gateway(
            _gateway_id(each), first_value(each, "rssi", "channel_rssi"), each.get("snr"), radio
        )
        for each in receptions
    ]
    reception_data = [readings.remaining_fields(each, used=_OPAQUE) for each in receptions]
    return lorawan.telemetry(ts, gateways, reception_data, radio, about)


def _gateway_id(reception: Message) -> str | None:
    """The gateway's id; behind Packet Broker, the one at the forwarder instead of the broker's."""
    ids = parse_mapping(reception.get("gateway_ids")) or {}
    broker = parse_mapping(reception.get("packet_broker")) or {}
    own = first_value(broker, "forwarder_gateway_id", "forwarder_gateway_eui")
    return parse_text(own or first_value(ids, "gateway_id", "eui"), readings.WORD_CHARACTERS_MAX)


def _radio(settings: Message) -> lorawan.RadioSettings:
    data_rate = parse_mapping(settings.get("data_rate")) or {}
    lora = parse_mapping(data_rate.get("lora")) or {}
    fsk = parse_mapping(data_rate.get("fsk"))
    hopping = parse_mapping(data_rate.get("lrfhss"))
    frequency = parse_integer(settings.get("frequency"))
    if fsk is not None:
        return lorawan.RadioSettings(
            frequency=frequency, modulation="FSK", bit_rate=parse_integer(fsk.get("bit_rate"))
        )
    if hopping is not None:
        return lorawan.RadioSettings(
            frequency=frequency,
            modulation="LR-FHSS",
            code_rate=parse_text(hopping.get("coding_rate"), readings.WORD_CHARACTERS_MAX),
            channel_width=parse_integer(hopping.get("operating_channel_width")),
        )
    code_rate = first_value(lora, "coding_rate") or first_value(settings, "coding_rate")
    return lorawan.RadioSettings(
        frequency=frequency,
        bandwidth=parse_integer(lora.get("bandwidth")),
        spreading_factor=parse_integer(lora.get("spreading_factor")),
        code_rate=parse_text(code_rate, readings.WORD_CHARACTERS_MAX),
    )


def _battery(message: Message) -> str | None:
    """The last reported battery level, which the network repeats with every uplink."""
    data = parse_mapping(message.get("last_battery_percentage"))
    return None if data is None else lorawan.parse_battery(data.get("value", 0))


# --- positions ---

# The vendor's numbers for where a position comes from: 1 GPS, 2 network, 6 Wi-Fi, 7 proximity.
# Positions that were entered by hand have none.
_SOURCES = {
    "SOURCE_GPS": 1,
    "SOURCE_LORA_RSSI_GEOLOCATION": 2,
    "SOURCE_LORA_TDOA_GEOLOCATION": 2,
    "SOURCE_COMBINED_GEOLOCATION": 2,
    "SOURCE_WIFI_RSSI_GEOLOCATION": 6,
    "SOURCE_BT_RSSI_GEOLOCATION": 7,
}
_MANUAL = "SOURCE_REGISTRY"


def _best_position(ts: Moment | None, message: Message, about: Message) -> Iterable[Reading]:
    """The best position of an uplink: measured before entered, then the most accurate."""
    named = parse_mapping(message.get("locations")) or {}
    positions = sorted(
        (location.get("source") == _MANUAL, _inaccuracy(location), name)
        for name, location in named.items()
        if isinstance(location, dict)
    )
    for _, _, name in positions:
        position = lorawan.geoloc(ts, named[name], _SOURCES, {**about, "service": name})
        if position is not None:
            return (position,)
    return ()


def _inaccuracy(location: Message) -> float:
    accuracy = parse_number(location.get("accuracy"))
    return float("inf") if accuracy is None else accuracy


def _location_solved(key: str, values: Message, message: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values, message)
    location = parse_mapping(message.get("location")) or {}
    kept = readings.remaining_fields(message, used=("location", "received_at"))
    data = kept | _identifiers(values) | _simulated(values)
    position = lorawan.geoloc(ts, location, _SOURCES, data)
    required.check(
        position is not None, f"{key}.location", "must be a place, with latitude and longitude"
    )
    required.raise_errors()
    return ParsedUplink(original_id=device, readings=(position,) if position else ())


# --- events ---


def _event(
    key: str,
    values: Message,
    message: Message,
    *,
    text: str | None = None,
    severity: str | None = None,
    downlink: DownlinkUpdate | None = None,
    resets_sequence: bool = False,
) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values, message)
    required.raise_errors()
    used = ("received_at", "correlation_ids", *_SECRET)
    data = readings.remaining_fields(message, used) | _identifiers(values) | _simulated(values)
    text = downlink.detail if downlink else text
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, key, data, message=text, severity=severity),),
        downlink=downlink,
        resets_sequence=resets_sequence,
    )


def _join(key: str, values: Message, message: Message) -> ParsedUplink:
    dropped = message.get("invalidated_downlinks")
    update = _invalidated(dropped) if dropped else None
    return _event(key, values, message, resets_sequence=True, downlink=update)


def _downlink_parser(
    state: DownlinkState, detail: str
) -> Callable[[str, Message, Message], ParsedUplink]:
    def parse_downlink(key: str, values: Message, message: Message) -> ParsedUplink:
        update = DownlinkUpdate(_network_id(message), state, detail)
        return _event(key, values, message, downlink=update)

    return parse_downlink


def _downlink_failed(key: str, values: Message, message: Message) -> ParsedUplink:
    error = parse_mapping(message.get("error")) or {}
    name = parse_text(error.get("name"), readings.WORD_CHARACTERS_MAX) or ""
    reason = parse_text(error.get("message_format"), readings.TEXT_CHARACTERS_MAX) or name
    update = DownlinkUpdate(
        _network_id(parse_mapping(message.get("downlink")) or {}),
        "expired" if "expired" in name else "failed",
        reason or "the network could not send it",
    )
    return _event(key, values, message, severity="error", downlink=update)


def _downlink_nack(key: str, values: Message, message: Message) -> ParsedUplink:
    """With a retry count the network retries by itself, and reports when it gives up."""
    detail = "the device has not confirmed it"
    if parse_mapping(message.get("confirmed_retry")) is not None:
        return _event(key, values, message, text=detail)
    return _event(
        key, values, message, downlink=DownlinkUpdate(_network_id(message), "failed", detail)
    )


def _queue_invalidated(key: str, values: Message, message: Message) -> ParsedUplink:
    return _event(key, values, message, downlink=_invalidated(message.get("downlinks")))


def _invalidated(downlinks: Any) -> DownlinkUpdate:
    invalidated = list_mappings(downlinks)[:INVALIDATED_MAX]
    names = [name for each in invalidated if (name := _network_id(each)) is not None]
    return DownlinkUpdate(
        names[0] if names else None,
        "failed",
        "the session has changed, and what was queued in the old one is not sent",
        tuple(names[1:]),
    )


def _network_id(downlink: Message) -> str | None:
    """Our own downlink id, or the one of the network."""
    ids = [
        each for each in parse_list(downlink.get("correlation_ids")) or () if isinstance(each, str)
    ]
    ours = [each.removeprefix(CORRELATION) for each in ids if each.startswith(CORRELATION)]
    theirs = [each for each in ids if each.startswith("as:downlink:")]
    return parse_text(next(iter(ours + theirs), None), readings.WORD_CHARACTERS_MAX)


_PARSERS: Mapping[str, Callable[[str, Message, Message], ParsedUplink]] = {
    "uplink_message": _uplink,
    "uplink_normalized": _uplink,
    "join_accept": _join,
    "downlink_ack": _downlink_parser("acknowledged", "the device has confirmed it"),
    "downlink_nack": _downlink_nack,
    "downlink_sent": _downlink_parser("sent", "a gateway sends it"),
    "downlink_failed": _downlink_failed,
    "downlink_queued": _downlink_parser("sent", "the network has taken it"),
    "downlink_queue_invalidated": _queue_invalidated,
    "location_solved": _location_solved,
    "service_data": _event,
}


# --- downlinks ---


def push_body(downlink: DownlinkFrame) -> dict[str, Any]:
    """The body that pushes a downlink to the URL that the network has sent."""
    message = {
        "frm_payload": b64encode(downlink.payload).decode(),
        "f_port": downlink.port,
        "confirmed": downlink.is_confirmed,
        "priority": "NORMAL",
        "correlation_ids": [CORRELATION + downlink.id],
    }
    return {"downlinks": [message]}


def auth_headers(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
