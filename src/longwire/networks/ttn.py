"""The Things Stack 3, its webhooks with JSON: what a message is, is told by the key it has."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from longwire.clock import Moment
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
    Reading,
)
from longwire.networks.bodies import (
    RequiredFields,
    first_value,
    list_mappings,
    parse_base64,
    parse_boolean,
    parse_integer,
    parse_list,
    parse_mapping,
    parse_number,
    parse_text,
)

# A downlink that is queued with a correlation id of this beginning is known by what follows it.
CORRELATION = "longwire:"
# Of more messages at once it is not told what became of them: so many never wait for one device.
INVALIDATED_MAX = 1_000

Message = Mapping[str, Any]


def read(values: Message) -> ParsedUplink:
    """What a webhook says."""
    present = [key for key in _READERS if key in values]
    if not present:
        raise InvalidMessage(f"The message has none of {', '.join(_READERS)}.")
    key = present[0]
    # An empty message is left empty by some senders and null by others.
    message = {} if values[key] is None else parse_mapping(values[key])
    if message is None:
        raise InvalidMessage(field_errors=[FieldError(key, "must be an object")])
    return _READERS[key](key, values, message)


def _device_and_moment(
    required: RequiredFields, values: Message, message: Message
) -> tuple[str, Moment | None]:
    """The device, and when the network heard it rather than when it was passed on."""
    device = parse_mapping(values.get("end_device_ids")) or {}
    inner = first_value(message, "received_at")
    field = "received_at" if inner is None else f"{_key_of(values)}.received_at"
    return (
        required.device("end_device_ids.dev_eui", device.get("dev_eui")),
        required.moment_if_given(field, inner or values.get("received_at")),
    )


def _key_of(values: Message) -> str:
    return next(key for key in _READERS if key in values)


def _simulated(values: Message) -> dict[str, Any]:
    """Somebody tries out the console; what comes of it must be told from what was measured."""
    return {"simulated": True} if parse_boolean(values.get("simulated")) else {}


# --- uplinks ---

_UPLINK = (
    *("f_cnt", "f_port", "frm_payload", "decoded_payload", "normalized_payload"),
    *("rx_metadata", "settings", "received_at"),
)
# Only the gateway's server can read them.
_OPAQUE = ("uplink_token", "downlink_path_constraint")
# The key of the session, which is told where the network does not decrypt by itself. It would open
# everything that the device says, to everybody who may read one record.
_SECRET = ("app_s_key",)


def _uplink(key: str, values: Message, message: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values, message)
    payload = required.payload(
        f"{key}.frm_payload",
        message.get("frm_payload"),
        parse_base64,
        readings.PAYLOAD_BYTES_MAX,
    )
    required.raise_faults()
    sequence = parse_integer(message.get("f_cnt", 0), minimum=0)
    port = lorawan.port(message.get("f_port"))
    simulated = _simulated(values)
    told = {
        SEQUENCE: sequence,
        PORT: port,
        DECODED: message.get("decoded_payload"),
        "normalized": message.get("normalized_payload"),
        **simulated,
    }
    told |= readings.remaining_fields(message, used=(*_UPLINK, *_SECRET, *told))
    about = {SEQUENCE: sequence, **simulated}
    session = parse_text(message.get("session_key_id"), readings.WORD_CHARACTERS_MAX)
    is_known = ts is None and session is not None
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, readings.drop_none(told)),
            *_heard_by(ts, message, about),
            *_best_place(ts, message, about),
        ),
        # What was never said leaves no gap behind it, and no battery was asked.
        sequence=None if simulated else sequence,
        payload=payload,
        port=port,
        battery=None if simulated else _battery(message),
        dedup_key=f"{key} {session} {sequence}" if is_known else None,
    )


def _heard_by(ts: Moment | None, message: Message, about: Message) -> tuple[Reading, ...]:
    radio = _radio(parse_mapping(message.get("settings")) or {})
    receptions = list_mappings(message.get("rx_metadata"))
    gateways = [
        lorawan.gateway(
            _gateway_id(each), first_value(each, "rssi", "channel_rssi"), each.get("snr"), radio
        )
        for each in receptions
    ]
    heard_by = [readings.remaining_fields(each, used=_OPAQUE) for each in receptions]
    return lorawan.telemetry(ts, gateways, heard_by, radio, about)


def _gateway_id(reception: Message) -> str | None:
    """Its name; gateways of other networks all have that of the broker, and their own beside it."""
    ids = parse_mapping(reception.get("gateway_ids")) or {}
    elsewhere = parse_mapping(reception.get("packet_broker")) or {}
    own = first_value(elsewhere, "forwarder_gateway_id", "forwarder_gateway_eui")
    return parse_text(own or first_value(ids, "gateway_id", "eui"), readings.WORD_CHARACTERS_MAX)


def _radio(settings: Message) -> lorawan.Radio:
    data_rate = parse_mapping(settings.get("data_rate")) or {}
    lora = parse_mapping(data_rate.get("lora")) or {}
    code_rate = first_value(lora, "coding_rate") or first_value(settings, "coding_rate")
    return lorawan.Radio(
        frequency=parse_integer(settings.get("frequency")),
        bandwidth=parse_integer(lora.get("bandwidth")),
        spreading_factor=parse_integer(lora.get("spreading_factor")),
        code_rate=parse_text(code_rate, readings.WORD_CHARACTERS_MAX),
    )


def _battery(message: Message) -> str | None:
    """The device's last answer to the network's question, which is repeated with every uplink."""
    told = parse_mapping(message.get("last_battery_percentage"))
    return None if told is None else lorawan.battery(told.get("value", 0))


# --- places ---

# The vendor's numbers for where a position comes from: 1 GPS, 2 network, 6 Wi-Fi, 7 proximity.
# What somebody has entered has none.
_SOURCES = {
    "SOURCE_GPS": 1,
    "SOURCE_LORA_RSSI_GEOLOCATION": 2,
    "SOURCE_LORA_TDOA_GEOLOCATION": 2,
    "SOURCE_COMBINED_GEOLOCATION": 2,
    "SOURCE_WIFI_RSSI_GEOLOCATION": 6,
    "SOURCE_BT_RSSI_GEOLOCATION": 7,
}
_ENTERED = "SOURCE_REGISTRY"


def _best_place(ts: Moment | None, message: Message, about: Message) -> Iterable[Reading]:
    """One of the places that come with an uplink: measured before entered, then the most exact."""
    named = parse_mapping(message.get("locations")) or {}
    places = sorted(
        (location.get("source") == _ENTERED, _inaccuracy(location), name)
        for name, location in named.items()
        if isinstance(location, dict)
    )
    for _, _, name in places:
        place = lorawan.geoloc(ts, named[name], _SOURCES, {**about, "service": name})
        if place is not None:
            return (place,)
    return ()


def _inaccuracy(location: Message) -> float:
    accuracy = parse_number(location.get("accuracy"))
    return float("inf") if accuracy is None else accuracy


def _location_solved(key: str, values: Message, message: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values, message)
    location = parse_mapping(message.get("location")) or {}
    told = readings.remaining_fields(message, used=("location", "received_at")) | _simulated(values)
    place = lorawan.geoloc(ts, location, _SOURCES, told)
    required.require(
        place is not None, f"{key}.location", "must be a place, with latitude and longitude"
    )
    required.raise_faults()
    return ParsedUplink(original_id=device, readings=(place,) if place else ())


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
    required.raise_faults()
    used = ("received_at", "correlation_ids", *_SECRET)
    told = readings.remaining_fields(message, used) | _simulated(values)
    text = downlink.detail if downlink else text
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, key, told, message=text, severity=severity),),
        downlink=downlink,
        resets_sequence=resets_sequence,
    )


def _join(key: str, values: Message, message: Message) -> ParsedUplink:
    dropped = message.get("invalidated_downlinks")
    update = _invalidated(dropped) if dropped else None
    return _event(key, values, message, resets_sequence=True, downlink=update)


def _downlink(state: DownlinkState, detail: str) -> Callable[[str, Message, Message], ParsedUplink]:
    def read_downlink(key: str, values: Message, message: Message) -> ParsedUplink:
        update = DownlinkUpdate(_queued_as(message), state, detail)
        return _event(key, values, message, downlink=update)

    return read_downlink


def _downlink_failed(key: str, values: Message, message: Message) -> ParsedUplink:
    error = parse_mapping(message.get("error")) or {}
    name = parse_text(error.get("name"), readings.WORD_CHARACTERS_MAX) or ""
    reason = parse_text(error.get("message_format"), readings.TEXT_CHARACTERS_MAX) or name
    update = DownlinkUpdate(
        _queued_as(parse_mapping(message.get("downlink")) or {}),
        "expired" if "expired" in name else "failed",
        reason or "the network could not send it",
    )
    return _event(key, values, message, severity="error", downlink=update)


def _downlink_nack(key: str, values: Message, message: Message) -> ParsedUplink:
    """The network tries again by itself where it counts its tries, and tells when it gives up."""
    detail = "the device has not confirmed it"
    if parse_mapping(message.get("confirmed_retry")) is not None:
        return _event(key, values, message, text=detail)
    return _event(
        key, values, message, downlink=DownlinkUpdate(_queued_as(message), "failed", detail)
    )


def _queue_invalidated(key: str, values: Message, message: Message) -> ParsedUplink:
    return _event(key, values, message, downlink=_invalidated(message.get("downlinks")))


def _invalidated(downlinks: Any) -> DownlinkUpdate:
    some = list_mappings(downlinks)[:INVALIDATED_MAX]
    names = [name for each in some if (name := _queued_as(each)) is not None]
    return DownlinkUpdate(
        names[0] if names else None,
        "failed",
        "the session has changed, and what was queued in the old one is not sent",
        tuple(names[1:]),
    )


def _queued_as(downlink: Message) -> str | None:
    """Our own name for it, or the one the network gave it."""
    ids = [
        each for each in parse_list(downlink.get("correlation_ids")) or () if isinstance(each, str)
    ]
    ours = [each.removeprefix(CORRELATION) for each in ids if each.startswith(CORRELATION)]
    theirs = [each for each in ids if each.startswith("as:downlink:")]
    return parse_text(next(iter(ours + theirs), None), readings.WORD_CHARACTERS_MAX)


_READERS: Mapping[str, Callable[[str, Message, Message], ParsedUplink]] = {
    "uplink_message": _uplink,
    "uplink_normalized": _uplink,
    "join_accept": _join,
    "downlink_ack": _downlink("acknowledged", "the device has confirmed it"),
    "downlink_nack": _downlink_nack,
    "downlink_sent": _downlink("sent", "a gateway sends it"),
    "downlink_failed": _downlink_failed,
    "downlink_queued": _downlink("sent", "the network has taken it"),
    "downlink_queue_invalidated": _queue_invalidated,
    "location_solved": _location_solved,
    "service_data": _event,
}


# --- the other way ---


def pushed(downlink: DownlinkFrame) -> dict[str, Any]:
    """How a message to a device is told to the address that the network itself has named."""
    message = {
        "frm_payload": b64encode(downlink.payload).decode(),
        "f_port": downlink.port,
        "confirmed": downlink.is_confirmed,
        "priority": "NORMAL",
        "correlation_ids": [CORRELATION + downlink.id],
    }
    return {"downlinks": [message]}


def credentials(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}
