"""The vendor's callbacks, and the response that carries a downlink.

A callback is a template that its owner has written, so names vary, numbers may be in quotes, and
there may be more fields. Names are normalized, values parsed, and unknown fields kept: in a data
message these are what the vendor decoded from the payload.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from string import hexdigits
from typing import Annotated, Any

from msgspec import UNSET, Meta, MsgspecError, Struct, UnsetType, json
from msgspec.structs import replace

from longwire.clock import SECOND, Moment
from longwire.errors import FieldError
from longwire.measurements.values import RADIO, SEQUENCE
from longwire.networks import readings
from longwire.networks.base import (
    DownlinkState,
    DownlinkUpdate,
    InvalidMessage,
    ParsedUplink,
    Reading,
    UplinkCounter,
)
from longwire.networks.json_text import INTEGER_MAX
from longwire.networks.values import (
    RequiredFields,
    first_value,
    list_mappings,
    parse_boolean,
    parse_hex,
    parse_integer,
    parse_list,
    parse_mapping,
    parse_number,
    parse_text,
)

DOWNLINK_BYTES = 8
DEVICE_ID_DIGITS_MAX = 16
_DEVICE_ID = re.compile(rf"[0-9a-fA-F]{{1,{DEVICE_ID_DIGITS_MAX}}}")


def parse(kind: str, values: Mapping[str, Any]) -> ParsedUplink:
    if kind not in _PARSERS:
        raise InvalidMessage(f"The vendor has no such callback; there are {', '.join(_PARSERS)}.")
    fields = _parse_types(_normalize_names(values))
    uplink = _PARSERS[kind](fields)
    if fields.get("time") is not None or uplink.sequence is None:
        return uplink
    # Without a time, the sequence number tells a repeated callback from a new message.
    return replace(uplink, dedup_key=f"{kind} {uplink.sequence} {fields.get('data')}")


def is_device_id(text: str) -> bool:
    """Whether a text is the id of a device at the network: hex digits."""
    return _DEVICE_ID.fullmatch(text) is not None


def build_response(original_id: str, downlink: str | None) -> dict[str, dict[str, Any]]:
    """The response to a callback that requests a downlink: eight bytes in hex, or none."""
    if downlink is None:
        return {original_id: {"noData": True}}
    try:
        payload = parse_hex(downlink)
    except ValueError:
        payload = b""
    if len(payload) != DOWNLINK_BYTES:
        message = f"must be {2 * DOWNLINK_BYTES} hex digits, which are {DOWNLINK_BYTES} bytes"
        raise InvalidMessage(field_errors=[FieldError("downlinkData", message)])
    return {original_id: {"downlinkData": payload.hex()}}


# --- batches ---

BATCH = "batch"
LINES_MAX = 1_000
_COLUMNS = "device;time;data;seqNumber;ack"


def split_batch(values: Mapping[str, Any], columns: str | None) -> list[dict[str, Any]]:
    """The messages of a batch callback, one per line, with values separated by semicolons.

    `columns` has their names, as in the pattern of the callback, with its braces or without.
    """
    names = [name.strip(" {}") for name in (columns or _COLUMNS).split(";")]
    text = values.get(BATCH)
    if not isinstance(text, str):
        raise InvalidMessage(field_errors=[FieldError(BATCH, "must be lines of text")])
    found = [line for line in text.splitlines() if line.strip()]
    if len(found) > LINES_MAX:
        raise InvalidMessage(
            field_errors=[FieldError(BATCH, f"may have at most {LINES_MAX} lines")]
        )
    fields = [line.split(";") for line in found]
    mismatched = [index for index, each in enumerate(fields) if len(each) != len(names)]
    if mismatched:
        message = f"must have {len(names)} values, for {';'.join(names)}"
        raise InvalidMessage(
            field_errors=[FieldError(f"{BATCH}[{index}]", message) for index in mismatched]
        )
    return [_drop_empty(dict(zip(names, each, strict=True))) for each in fields]


def _drop_empty(fields: Mapping[str, str]) -> dict[str, Any]:
    return {name: first_value(fields, name) for name in fields}


# --- names and values ---

_ALIASES = {"deviceId": "device", "id": "device", "seq": SEQUENCE, "avgSignal": "avgSnr"}


def _normalize_names(values: Mapping[str, Any]) -> dict[str, Any]:
    fields = dict(values)
    if _ALIASES.keys().isdisjoint(fields):
        return fields
    for alias, name in _ALIASES.items():
        if fields.get(name) is None and fields.get(alias) is not None:
            fields[name] = fields.pop(alias)
    return fields


def _parse_location(value: Any) -> dict[str, Any] | None:
    """The computed location; some send a list of them, the best one first."""
    return parse_mapping(value) or next(iter(list_mappings(value)), None)


_TYPES: Mapping[str, Callable[[Any], Any]] = {
    SEQUENCE: lambda value: parse_integer(value, minimum=0),
    "ack": parse_boolean,
    "longPolling": parse_boolean,
    "duplicate": parse_boolean,
    "rssi": parse_number,
    "snr": parse_number,
    "avgSnr": parse_number,
    "lat": parse_number,
    "lng": parse_number,
    "radius": parse_number,
    "linkQuality": parse_integer,
    "fixedLat": parse_number,
    "fixedLng": parse_number,
    "duplicates": parse_list,
    "computedLocation": _parse_location,
    "temp": parse_number,
    "batt": parse_number,
    "infoCode": parse_integer,
    "downlinkAck": parse_boolean,
    "downlinkOverusage": parse_boolean,
}


def _parse_types(fields: dict[str, Any]) -> dict[str, Any]:
    """Parse values to their types; an invalid one stays as it was sent."""
    for name, value in fields.items():
        parse_value = _TYPES.get(name)
        if parse_value is not None:
            found = parse_value(value)
            if found is not None:
                fields[name] = found
    return fields


def _device_and_moment(fields: Mapping[str, Any]) -> tuple[str, Moment | None]:
    required = RequiredFields()
    found = _require_device_and_moment(required, fields)
    required.raise_errors()
    return found


def _require_device_and_moment(
    required: RequiredFields, fields: Mapping[str, Any]
) -> tuple[str, Moment | None]:
    device = required.device("device", fields.get("device"))
    return device, required.moment_if_given("time", fields.get("time"))


def _sequence(fields: Mapping[str, Any]) -> int | None:
    return parse_integer(fields.get(SEQUENCE), minimum=0)


# --- data ---

_FRAME = ("device", "time", "data")
_UPLINK = (
    *(SEQUENCE, "deviceTypeId", "ack", "longPolling", "duplicate"),
    *("rssi", "snr", "avgSnr", "station", "lat", "lng", "radius", "geolocSource", "type"),
)
_FRAME_AND_UPLINK = frozenset(_FRAME + _UPLINK)
_DATA_COUNTS: tuple[UplinkCounter, ...] = ("vendor_uplink", "vendor_data")


def _data(fields: Mapping[str, Any]) -> ParsedUplink:
    # One that requests a downlink is a data record, by which its acknowledgement is matched.
    if "data" not in fields and not requests_downlink(fields):
        return _without_payload(fields)
    required = RequiredFields()
    device, ts = _require_device_and_moment(required, fields)
    position = _legacy_position(ts, fields)
    payload = required.payload("data", fields.get("data"), parse_hex, readings.PAYLOAD_BYTES_MAX)
    required.raise_errors()
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, _decoded(fields), _facts(fields)),
            *([position] if position else ()),
        ),
        sequence=_sequence(fields),
        payload=payload,
        counts=_DATA_COUNTS,
        wants_downlink=requests_downlink(fields),
    )


def _without_payload(fields: Mapping[str, Any]) -> ParsedUplink:
    """A data callback whose template omits the payload: a position, a status, or an event."""
    device, ts = _device_and_moment(fields)
    position = _legacy_position(ts, fields)
    if position is not None:
        return ParsedUplink(original_id=device, readings=(position,), sequence=_sequence(fields))
    if "batt" in fields or "temp" in fields:
        return _status(fields)
    data = readings.remaining_fields(fields, used=("device", "time"))
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, "uplink", data),),
        sequence=_sequence(fields),
        counts=_DATA_COUNTS,
    )


def requests_downlink(fields: Mapping[str, Any]) -> bool:
    """Whether a data message waits for a downlink in the response."""
    return fields.get("ack") is True or fields.get("longPolling") is True


class _PlainData(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """A data callback as most templates send it: expected types, and no other fields."""

    device: Annotated[str, Meta(min_length=1, max_length=16)]
    time: Annotated[int, Meta(ge=0, lt=10**10)]  # in seconds
    data: Annotated[str, Meta(min_length=2, max_length=256)]
    seq_number: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | UnsetType = UNSET
    ack: bool | UnsetType = UNSET


_plain_data_decoder = json.Decoder(_PlainData)
_PLAIN_BODY_BYTES_MAX = 1_024


def parse_plain_data(body: bytes) -> ParsedUplink | None:
    """Fast path for a data callback; None if it needs the full parser.

    Saves a fifth of the CPU time of a callback.
    """
    if len(body) > _PLAIN_BODY_BYTES_MAX:
        return None
    try:
        fields = _plain_data_decoder.decode(body)
        payload = bytes.fromhex(fields.data)
    except (MsgspecError, ValueError):
        return None
    if len(fields.data) != 2 * len(payload) or fields.device.strip(hexdigits):
        return None  # spaces, for instance
    data: dict[str, Any] = {}
    if fields.seq_number is not UNSET:
        data[SEQUENCE] = fields.seq_number
    if fields.ack is not UNSET:
        data["ack"] = fields.ack
    if body.count(b":") != 3 + len(data):
        return None  # a duplicate name
    return ParsedUplink(
        original_id=fields.device,
        readings=(
            Reading("data", fields.time * SECOND, {"data": {RADIO: data}, "raw": payload.hex()}),
        ),
        sequence=data.get(SEQUENCE),
        payload=payload,
        counts=_DATA_COUNTS,
        wants_downlink=fields.ack is True,
    )


def _facts(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in _UPLINK if name in fields}


def _decoded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the template adds."""
    return readings.remaining_fields(fields, used=_FRAME_AND_UPLINK)


def _legacy_position(ts: Moment | None, fields: Mapping[str, Any]) -> Reading | None:
    """The position of the legacy geolocation callback, which may be configured as a data callback.

    In a data callback, `lat` and `lng` alone are the station's position; a radius is the device's.
    """
    if fields.get("radius") is None and fields.get("geolocSource") is None:
        return None
    return readings.geoloc(
        ts,
        fields.get("lat"),
        fields.get("lng"),
        readings.remaining_fields(fields, used=(*_FRAME, "lat", "lng", "radius")),
        radius=fields.get("radius"),
        source=fields.get("geolocSource"),
    )


# --- advanced data ---

# From worst to best; the index is the vendor's number for it.
_LINK_QUALITIES = ("LIMIT", "AVERAGE", "GOOD", "EXCELLENT")


def _data_advanced(fields: Mapping[str, Any]) -> ParsedUplink:
    device, ts = _device_and_moment(fields)
    location = _computed_location(ts, fields)
    duplicates = fields.get("duplicates")
    duplicates_list = duplicates if isinstance(duplicates, list) else None
    used = {"device", "time", "rc"}
    used |= {"duplicates"} if duplicates_list is not None else set()
    used |= {"computedLocation"} if location is not None else set()
    link = readings.telemetry(
        ts,
        readings.remaining_fields(fields, used),
        duplicates=duplicates_list,
        stations=None if duplicates_list is None else len(duplicates_list),
        score=_score(fields),
        rc=parse_integer(fields.get("rc")),
    )
    return ParsedUplink(
        original_id=device,
        readings=(link, *([location] if location else ())),
        sequence=_sequence(fields),
        counts=("vendor_data_advanced",),
    )


def _computed_location(ts: Moment | None, fields: Mapping[str, Any]) -> Reading | None:
    location = fields.get("computedLocation")
    if not isinstance(location, dict):
        return None
    details = readings.remaining_fields(location, used=("lat", "lng", "radius", "source", "status"))
    return readings.geoloc(
        ts,
        location.get("lat"),
        location.get("lng"),
        readings.drop_none({SEQUENCE: _sequence(fields)} | details),
        radius=location.get("radius"),
        source=location.get("source"),
        status=location.get("status"),
    )


def _score(fields: Mapping[str, Any]) -> int | None:
    """The link quality from 0 to 3, sent as a number or a word."""
    number = parse_integer(fields.get("linkQuality"), 0, len(_LINK_QUALITIES))
    if number is not None:
        return number if number < len(_LINK_QUALITIES) else None
    word = (parse_text(fields.get("lqi"), readings.WORD_CHARACTERS_MAX) or "").upper()
    return _LINK_QUALITIES.index(word) if word in _LINK_QUALITIES else None


# --- status, acknowledgement, error ---


def _status(fields: Mapping[str, Any]) -> ParsedUplink:
    device, ts = _device_and_moment(fields)
    battery_v = parse_number(fields.get("batt"))
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.event(
                ts, "status", readings.remaining_fields(fields, used=("device", "time"))
            ),
        ),
        sequence=_sequence(fields),
        battery=None if battery_v is None or battery_v < 0 else f"{battery_v:g} V",
        counts=("vendor_uplink",),
    )


_INFO_CODES: tuple[tuple[str, DownlinkState | None], ...] = (
    ("ACKED", "acknowledged"),
    ("NO_ANSWER", "failed"),
    ("INVALID_PAYLOAD", "failed"),
    ("OVERRUN_ERROR", "failed"),
    ("NETWORK_ERROR", "failed"),
    ("PENDING", None),
    ("NO_DOWNLINK_CONTRACT", "failed"),
    ("TOO_MANY_REQUESTS", "failed"),
    ("INVALID_CONFIGURATION", "failed"),
)


def _acknowledge(fields: Mapping[str, Any]) -> ParsedUplink:
    device, ts = _device_and_moment(fields)
    name, state = _outcome(fields)
    message = parse_text(fields.get("infoMessage"), readings.TEXT_CHARACTERS_MAX) or name
    data = readings.drop_none({"infoName": name}) | readings.remaining_fields(
        fields, used=("device", "time", "infoMessage")
    )
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, "acknowledge", data, message=message),),
        sequence=_sequence(fields),
        downlink=DownlinkUpdate(None, state, message or "") if state else None,
    )


def _outcome(fields: Mapping[str, Any]) -> tuple[str | None, DownlinkState | None]:
    """The name of the info code, and the state of the downlink."""
    is_acknowledged = parse_boolean(fields.get("downlinkAck"))
    code = parse_integer(fields.get("infoCode"), 0, len(_INFO_CODES) - 1)
    if code is None:
        return (
            None,
            None if is_acknowledged is None else "acknowledged" if is_acknowledged else "failed",
        )
    name, state = _INFO_CODES[code]
    # The network has sent it, and the device has not confirmed.
    return name, "sent" if state == "acknowledged" and is_acknowledged is False else state


def _error(fields: Mapping[str, Any]) -> ParsedUplink:
    device, ts = _device_and_moment(fields)
    reported = readings.event(
        ts,
        "error",
        readings.remaining_fields(fields, used=("device", "time", "info", "severity")),
        message=fields.get("info"),
        severity=fields.get("severity"),
    )
    return ParsedUplink(original_id=device, readings=(reported,), sequence=_sequence(fields))


_PARSERS: Mapping[str, Callable[[Mapping[str, Any]], ParsedUplink]] = {
    "data": _data,
    "dataAdvanced": _data_advanced,
    "status": _status,
    "acknowledge": _acknowledge,
    "error": _error,
}


# --- registration ---

DEVICES = "/devices/"
# Our field names and those of the network's API.
_API_FIELDS = {
    "id": "id",
    "device_name": "name",
    "device_type_id": "deviceTypeId",
    "activable": "activable",
    "automatic_renewal": "automaticRenewal",
    "lat": "lat",
    "lng": "lng",
}


def registration_body(request: Mapping[str, Any], pac: str) -> dict[str, Any]:
    """The body that registers a device at the network's API."""
    return {_API_FIELDS[name]: value for name, value in request.items()} | {"pac": pac}


def auth_headers(login: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{login}:{password}".encode()).decode()}
