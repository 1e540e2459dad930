"""The vendor's callbacks, and the answer that carries a downlink.

A callback is a template that its owner has written, so names vary, numbers may be in quotes, and
anything can have been added. Names are brought to one spelling, values to what they are, and what
is not known here is kept: in a data message it was decoded out of the payload by the vendor.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping
from string import hexdigits
from typing import Annotated, Any

from msgspec import UNSET, Meta, MsgspecError, Struct, UnsetType, json

from longwire.clock import SECOND, Moment
from longwire.errors import FieldError
from longwire.networks import readings
from longwire.networks.base import (
    DECODED,
    SEQUENCE,
    DownlinkState,
    DownlinkUpdate,
    InvalidMessage,
    ParsedUplink,
    Reading,
    UplinkCounter,
)
from longwire.networks.bodies import (
    INTEGER_MAX,
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


def read(kind: str, values: Mapping[str, Any]) -> ParsedUplink:
    """What a callback of this kind says."""
    if kind not in _READERS:
        raise InvalidMessage(f"The vendor has no such callback; there are {', '.join(_READERS)}.")
    return _READERS[kind](_typed(_in_one_spelling(values)))


def answer(original_id: str, downlink: str | None) -> dict[str, dict[str, Any]]:
    """What a callback that waits for a downlink is answered with: eight bytes in hex, or none."""
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


# --- several at once ---

BATCH = "batch"
LINES_MAX = 1_000
_COLUMNS = "device;time;data;seqNumber;ack"


def lines(values: Mapping[str, Any], columns: str | None) -> list[dict[str, Any]]:
    """The messages of a callback that brings several, each a line with its values in columns.

    `columns` are their names, as in the pattern of the callback, with its braces or without.
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
    said = [line.split(";") for line in found]
    odd = [index for index, each in enumerate(said) if len(each) != len(names)]
    if odd:
        message = f"must have {len(names)} values, for {';'.join(names)}"
        raise InvalidMessage(
            field_errors=[FieldError(f"{BATCH}[{index}]", message) for index in odd]
        )
    return [_of_columns(dict(zip(names, each, strict=True))) for each in said]


def _of_columns(said: Mapping[str, str]) -> dict[str, Any]:
    return {name: first_value(said, name) for name in said}


# --- names and values ---

_ALIASES = {"deviceId": "device", "seq": SEQUENCE, "avgSignal": "avgSnr"}


def _in_one_spelling(values: Mapping[str, Any]) -> dict[str, Any]:
    said = dict(values)
    if _ALIASES.keys().isdisjoint(said):
        return said
    for alias, name in _ALIASES.items():
        if said.get(name) is None and said.get(alias) is not None:
            said[name] = said.pop(alias)
    return said


def _location_of(value: Any) -> dict[str, Any] | None:
    """The computed location; some tell a list of them, the best one first."""
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
    "computedLocation": _location_of,
    "temp": parse_number,
    "batt": parse_number,
    "infoCode": parse_integer,
    "downlinkAck": parse_boolean,
    "downlinkOverusage": parse_boolean,
}


def _typed(said: dict[str, Any]) -> dict[str, Any]:
    """Every value as what it is; one that is something else stays as it was sent."""
    for name, value in said.items():
        read_value = _TYPES.get(name)
        if read_value is not None:
            found = read_value(value)
            if found is not None:
                said[name] = found
    return said


def _device_and_moment(required: RequiredFields, said: Mapping[str, Any]) -> tuple[str, Moment]:
    # The time is what repetitions of a callback are known by, so there is no doing without it.
    return required.device("device", said.get("device")), required.moment("time", said.get("time"))


def _sequence(said: Mapping[str, Any]) -> int | None:
    return parse_integer(said.get(SEQUENCE), minimum=0)


# --- data ---

_FRAME = ("device", "time", "data")
_UPLINK = (
    *(SEQUENCE, "deviceTypeId", "ack", "longPolling", "duplicate"),
    *("rssi", "snr", "avgSnr", "station", "lat", "lng", "radius", "geolocSource", "type"),
)
_FRAME_AND_UPLINK = frozenset(_FRAME + _UPLINK)
_DATA_COUNTS: tuple[UplinkCounter, ...] = ("vendor_uplink", "vendor_data")


def _data(said: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, said)
    position = _old_position(ts, said)
    if "data" not in said:
        if position is not None:
            required.raise_faults()
            return ParsedUplink(original_id=device, readings=(position,), sequence=_sequence(said))
        required.require(False, "data")
    payload = required.payload("data", said.get("data"), parse_hex, readings.PAYLOAD_BYTES_MAX)
    required.raise_faults()
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, _told_with_data(said)),
            *([position] if position else ()),
        ),
        sequence=_sequence(said),
        payload=payload,
        counts=_DATA_COUNTS,
        wants_downlink=asks(said),
    )


def asks(said: Mapping[str, Any]) -> bool:
    """Whether a data message waits for a downlink."""
    return said.get("ack") is True or said.get("longPolling") is True


class _Plain(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """A data callback as most templates have it: values of their own types, and nothing else."""

    device: Annotated[str, Meta(min_length=1, max_length=16)]
    time: Annotated[int, Meta(ge=0, lt=10**10)]  # in seconds
    data: Annotated[str, Meta(min_length=2, max_length=256)]
    seq_number: Annotated[int, Meta(ge=0, le=INTEGER_MAX)] | UnsetType = UNSET
    ack: bool | UnsetType = UNSET


_plain = json.Decoder(_Plain)


def read_plain(body: bytes) -> ParsedUplink | None:
    """What a data callback says, the quick way; None if it needs a closer look."""
    try:
        said = _plain.decode(body)
        payload = bytes.fromhex(said.data)
    except (MsgspecError, ValueError):
        return None
    if len(said.data) != 2 * len(payload) or said.device.strip(hexdigits):
        return None  # spaces, for instance
    told: dict[str, Any] = {}
    if said.seq_number is not UNSET:
        told[SEQUENCE] = said.seq_number
    if said.ack is not UNSET:
        told["ack"] = said.ack
    if body.count(b":") != 3 + len(told):
        return None  # something is said twice
    return ParsedUplink(
        original_id=said.device,
        readings=(Reading("data", said.time * SECOND, {"data": told, "raw": payload.hex()}),),
        sequence=told.get(SEQUENCE),
        payload=payload,
        counts=_DATA_COUNTS,
        wants_downlink=said.ack is True,
    )


def _told_with_data(said: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: said[name] for name in _UPLINK if name in said and said[name] is not None}
    decoded = readings.remaining_fields(said, used=_FRAME_AND_UPLINK)
    return told | {DECODED: decoded} if decoded else told


def _old_position(ts: Moment, said: Mapping[str, Any]) -> Reading | None:
    """The position of the old geolocation callback, which may still be sent to where data goes.

    With data, `lat` and `lng` alone are where the station is; a radius belongs to the device.
    """
    if said.get("radius") is None and said.get("geolocSource") is None:
        return None
    return readings.geoloc(
        ts,
        said.get("lat"),
        said.get("lng"),
        readings.remaining_fields(said, used=(*_FRAME, "lat", "lng", "radius")),
        radius=said.get("radius"),
        source=said.get("geolocSource"),
    )


# --- advanced data ---

# How well it was heard, from worst to best; the vendor's number for it is the place in this list.
_LINK_QUALITIES = ("LIMIT", "AVERAGE", "GOOD", "EXCELLENT")


def _data_advanced(said: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, said)
    required.raise_faults()
    location = _computed_location(ts, said)
    duplicates = said.get("duplicates")
    heard_by = duplicates if isinstance(duplicates, list) else None
    used = {"device", "time", "rc"}
    used |= {"duplicates"} if heard_by is not None else set()
    used |= {"computedLocation"} if location is not None else set()
    link = readings.telemetry(
        ts,
        readings.remaining_fields(said, used),
        duplicates=heard_by,
        stations=None if heard_by is None else len(heard_by),
        score=_score(said),
        rc=parse_integer(said.get("rc")),
    )
    return ParsedUplink(
        original_id=device,
        readings=(link, *([location] if location else ())),
        sequence=_sequence(said),
        counts=("vendor_data_advanced",),
    )


def _computed_location(ts: Moment, said: Mapping[str, Any]) -> Reading | None:
    location = said.get("computedLocation")
    if not isinstance(location, dict):
        return None
    beside = readings.remaining_fields(location, used=("lat", "lng", "radius", "source", "status"))
    return readings.geoloc(
        ts,
        location.get("lat"),
        location.get("lng"),
        readings.drop_none({SEQUENCE: _sequence(said)} | beside),
        radius=location.get("radius"),
        source=location.get("source"),
        status=location.get("status"),
    )


def _score(said: Mapping[str, Any]) -> int | None:
    """From 0, hardly heard, to 3; the number and the word say the same."""
    number = parse_integer(said.get("linkQuality"), 0, len(_LINK_QUALITIES))
    if number is not None:
        return number if number < len(_LINK_QUALITIES) else None
    word = (parse_text(said.get("lqi"), readings.WORD_CHARACTERS_MAX) or "").upper()
    return _LINK_QUALITIES.index(word) if word in _LINK_QUALITIES else None


# --- status, acknowledgement, error ---


def _status(said: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, said)
    required.raise_faults()
    volts = parse_number(said.get("batt"))
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.event(ts, "status", readings.remaining_fields(said, used=("device", "time"))),
        ),
        sequence=_sequence(said),
        battery=None if volts is None or volts < 0 else f"{volts:g} V",
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


def _acknowledge(said: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, said)
    required.raise_faults()
    name, state = _outcome(said)
    message = parse_text(said.get("infoMessage"), readings.TEXT_CHARACTERS_MAX) or name
    told = readings.drop_none({"infoName": name}) | readings.remaining_fields(
        said, used=("device", "time", "infoMessage")
    )
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, "acknowledge", told, message=message),),
        sequence=_sequence(said),
        downlink=DownlinkUpdate(None, state, message or "") if state else None,
    )


def _outcome(said: Mapping[str, Any]) -> tuple[str | None, DownlinkState | None]:
    """The name of the code, and what it means for the downlink."""
    reached = parse_boolean(said.get("downlinkAck"))
    code = parse_integer(said.get("infoCode"), 0, len(_INFO_CODES) - 1)
    if code is None:
        return None, None if reached is None else "acknowledged" if reached else "failed"
    name, state = _INFO_CODES[code]
    # The network is done with it, and the device has not confirmed.
    return name, "sent" if state == "acknowledged" and reached is False else state


def _error(said: Mapping[str, Any]) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, said)
    required.raise_faults()
    reported = readings.event(
        ts,
        "error",
        readings.remaining_fields(said, used=("device", "time", "info", "severity")),
        message=said.get("info"),
        severity=said.get("severity"),
    )
    return ParsedUplink(original_id=device, readings=(reported,), sequence=_sequence(said))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], ParsedUplink]] = {
    "data": _data,
    "dataAdvanced": _data_advanced,
    "status": _status,
    "acknowledge": _acknowledge,
    "error": _error,
}


# --- the other way ---

DEVICES = "/devices/"
# Our names for what the network is told of a device, and its own.
_TOLD = {
    "id": "id",
    "device_name": "name",
    "device_type_id": "deviceTypeId",
    "activable": "activable",
    "automatic_renewal": "automaticRenewal",
    "lat": "lat",
    "lng": "lng",
}


def registration(request: Mapping[str, Any], pac: str) -> dict[str, Any]:
    """What the network's API is told about a new device."""
    return {_TOLD[name]: value for name, value in request.items()} | {"pac": pac}


def credentials(login: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{login}:{password}".encode()).decode()}
