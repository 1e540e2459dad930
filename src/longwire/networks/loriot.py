"""LORIOT: messages of an application's HTTP output, where `cmd` names the type, and downlinks.

A frame is sent twice if the output has both types of uplinks enabled: at once as `rx`, and with all
gateways as `gw`. What both say of the frame makes the same data record, which is stored once; what
they say of its reception becomes telemetry.

Payloads are hex in lower case, as LORIOT writes them. Text with any other character may be base64,
in which `AABB` are three bytes and in hex two, so it is rejected unless the URL says what it is.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from longwire.clock import Moment
from longwire.errors import FieldError
from longwire.measurements.values import PORT, SEQUENCE
from longwire.networks import lorawan, readings
from longwire.networks.base import (
    ApiReply,
    ApiRequest,
    DownlinkFrame,
    InvalidMessage,
    ParsedUplink,
    Reading,
)
from longwire.networks.json_text import parse_json
from longwire.networks.values import (
    RequiredFields,
    parse_base64,
    parse_hex,
    parse_integer,
    parse_mapping,
    parse_text,
)

Message = Mapping[str, Any]
ParsePayload = Callable[[Any], bytes]

_LOWER_HEX = re.compile(r"[0-9a-f]*")


def _parse_lower_hex(value: Any) -> bytes:
    if isinstance(value, str) and not _LOWER_HEX.fullmatch(value.strip()):
        raise ValueError(
            "must be hex digits in lower case; if the output sends others, add encoding=hex or "
            "encoding=base64 to the query of its URL"
        )
    return parse_hex(value)


# By the `encoding` in the URL of the output.
_PAYLOAD_PARSERS: Mapping[str, ParsePayload] = {"hex": parse_hex, "base64": parse_base64}
ENCODINGS = tuple(_PAYLOAD_PARSERS)


def parse(values: Message, encoding: str | None = None) -> ParsedUplink:
    if encoding is not None and encoding not in _PAYLOAD_PARSERS:
        known = ", ".join(ENCODINGS)
        raise InvalidMessage(field_errors=[FieldError("encoding", f"must be one of {known}")])
    message = _open_envelope(values)
    command = parse_text(message.get("cmd"), readings.WORD_CHARACTERS_MAX)
    if command is None:
        raise InvalidMessage(field_errors=[FieldError("cmd", "is required")])
    if command in _UPLINKS:
        parse_payload = _parse_lower_hex if encoding is None else _PAYLOAD_PARSERS[encoding]
        return _uplink(message, parse_payload)
    return _PARSERS.get(command, _other)(command, message)


def _open_envelope(values: Message) -> Message:
    """The message in `{"type": "D", "data": "{…}", "tech": "L"}`, as some operators forward it."""
    inner = parse_mapping(values.get("data")) if "cmd" not in values else None
    return values if inner is None else inner


def _device_and_moment(required: RequiredFields, values: Message) -> tuple[str, Moment | None]:
    return (
        required.device("EUI", values.get("EUI")),
        required.moment_if_given("ts", values.get("ts")),
    )


# --- uplinks ---

_UPLINKS = ("rx", "gw")
_ENVELOPE = ("cmd", "EUI", "ts")
_UPLINK = ("fcnt", "port", "data", "decoded")
# Session keys, if a join has them: whoever may read one record could decrypt all payloads.
_SECRET = ("appskey", "nwkskey")
# How the frame was received. An `rx` and a `gw` of the same frame differ in these.
_RECEPTION = (
    *("seqno", "freq", "dr", "toa", "rssi", "snr", "gws", "offline", "sf", "codr", "rsig"),
    *("gweui", "tmms", "time", "sessionKeyId"),
)


def _uplink(values: Message, parse_payload: ParsePayload) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values)
    # Without the session key at LORIOT the payload is encrypted, in `encdata`, and is kept there.
    payload = required.payload(
        "data", values.get("data"), parse_payload, readings.PAYLOAD_BYTES_MAX
    )
    required.raise_errors()
    sequence = parse_integer(values.get("fcnt"), minimum=0)
    port = lorawan.parse_port(values.get("port"))
    is_plain = values.get("data") is not None
    hidden = ("encdata",) if is_plain else ()  # both are sent if the output is configured so
    facts = {SEQUENCE: sequence, PORT: port}
    facts |= readings.remaining_fields(
        values, used=(*_ENVELOPE, *_UPLINK, *_RECEPTION, *_SECRET, *hidden, *facts)
    )
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, values.get("decoded"), facts),
            *_telemetry(ts, values, sequence),
        ),
        sequence=sequence,
        payload=payload,
        port=port,
        battery=lorawan.parse_battery_level(values.get("bat")),
        downlink=lorawan.acknowledgement(values.get("ack")),
        dedup_key=lorawan.dedup_key(ts, sequence, payload),
    )


_DATA_RATE = re.compile(
    r"SF(?P<factor>\d{1,2})\s?BW(?P<bandwidth>\d{1,4})(?:\s+(?P<code>\d/\d))?", re.ASCII
)


def _radio(values: Message) -> lorawan.RadioSettings:
    """From a data rate like SF7 BW125 4/5, with the bandwidth in kHz."""
    text = parse_text(values.get("dr"), readings.WORD_CHARACTERS_MAX) or ""
    found = _DATA_RATE.match(text)
    return lorawan.RadioSettings(
        frequency=parse_integer(values.get("freq")),
        bandwidth=int(found["bandwidth"]) * 1_000 if found else None,
        spreading_factor=int(found["factor"]) if found else None,
        code_rate=found["code"] if found else None,
    )


def _telemetry(ts: Moment | None, values: Message, sequence: int | None) -> tuple[Reading, ...]:
    receptions = lorawan.list_receptions(values.get("gws"))
    radio = _radio(values)
    gateways = lorawan.parse_gateways(receptions, ("gweui", "rssi", "snr"), radio)
    # A data rate that is not of LoRa is kept as it was sent.
    kept = ("seqno", "toa", "offline", *(() if radio.spreading_factor else ("dr",)))
    about = readings.drop_none({SEQUENCE: sequence, **{name: values.get(name) for name in kept}})
    if gateways:
        return lorawan.telemetry(ts, gateways, receptions, radio, about)
    return lorawan.unattributed_telemetry(ts, values.get("rssi"), values.get("snr"), radio, about)


# --- positions ---

# The vendor's number for a position that the network has computed.
_SOURCES = {"TDOA": 2, "RSSI": 2}


def _geo(command: str, values: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values)
    method = parse_text(values.get("method"), readings.WORD_CHARACTERS_MAX) or ""
    position = readings.geoloc(
        ts,
        values.get("lat"),
        values.get("lon"),
        readings.remaining_fields(values, used=(*_ENVELOPE, "lat", "lon", "accuracy")),
        radius=values.get("accuracy"),
        source=_SOURCES.get(method.upper()),
    )
    required.check(position is not None, "lat", "and lon must be a place")
    required.raise_errors()
    sequence = parse_integer(values.get("fcnt"), minimum=0)
    return ParsedUplink(
        original_id=device,
        readings=(position,) if position else (),
        dedup_key=f"geo {sequence}" if ts is None and sequence is not None else None,
    )


# --- events ---


def _event(type: str, values: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values)
    required.raise_errors()
    data = readings.remaining_fields(values, used=(*_ENVELOPE, *_SECRET))
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, type, data, message=values.get("error")),),
        resets_sequence=type == "join",
    )


def _other(command: str, values: Message) -> ParsedUplink:
    """A message of a type that is not known here; its name is in its data."""
    return _event("loriot", {**values, "command": command})


# `txd`: the network has transmitted a downlink. It names none, so the downlink stays `sent`.
_PARSERS: Mapping[str, Callable[[str, Message], ParsedUplink]] = {
    "geo": _geo,
    "txd": _event,
    "join": _event,
}


# --- downlinks ---


def push_request(downlink: DownlinkFrame, app_id: str, key: str, now: Moment) -> ApiRequest:
    """Queue a downlink with the HTTP API of the network server."""
    return ApiRequest(
        path="/1/rest",
        headers={"Authorization": f"Bearer {key}"},
        body={
            "cmd": "tx",
            "EUI": downlink.original_id.upper(),
            "port": downlink.port,
            "confirmed": downlink.is_confirmed,
            "data": downlink.payload.hex(),
            "appid": app_id,
        },
    )


def parse_reply(body: bytes, downlink: DownlinkFrame) -> ApiReply:
    """LORIOT names no id. It may report an error with a status of success."""
    try:
        reply = parse_mapping(parse_json(body)) or {}
    except InvalidMessage:
        return ApiReply()
    return ApiReply(error=parse_text(reply.get("error"), readings.WORD_CHARACTERS_MAX))
