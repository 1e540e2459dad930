"""LORIOT: messages of an application's HTTP output, where `cmd` names the type, and downlinks.

A frame is sent twice if the output has both types of uplinks enabled: at once as `rx`, and with all
gateways as `gw`. What both say of the frame makes the same data record, which is stored once; what
they say of its reception becomes telemetry.
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
    parse_hex,
    parse_integer,
    parse_mapping,
    parse_text,
)

Message = Mapping[str, Any]


def parse(values: Message) -> ParsedUplink:
    command = parse_text(values.get("cmd"), readings.WORD_CHARACTERS_MAX)
    if command is None:
        raise InvalidMessage(field_errors=[FieldError("cmd", "is required")])
    return _PARSERS.get(command, _other)(command, values)


def _device_and_moment(required: RequiredFields, values: Message) -> tuple[str, Moment | None]:
    return (
        required.device("EUI", values.get("EUI")),
        required.moment_if_given("ts", values.get("ts")),
    )


# --- uplinks ---

_ENVELOPE = ("cmd", "EUI", "ts")
_UPLINK = ("fcnt", "port", "data", "decoded")
# Session keys, if a join has them: whoever may read one record could decrypt all payloads.
_SECRET = ("appskey", "nwkskey")
# How the frame was received. An `rx` and a `gw` of the same frame differ in these.
_RECEPTION = (
    *("seqno", "freq", "dr", "toa", "rssi", "snr", "gws", "offline", "sf", "codr", "rsig"),
    *("gweui", "tmms", "time", "sessionKeyId"),
)


def _uplink(command: str, values: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, values)
    # Without the session key at LORIOT the payload is encrypted, in `encdata`, and is kept there.
    payload = required.payload("data", values.get("data"), parse_hex, readings.PAYLOAD_BYTES_MAX)
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
    about = readings.drop_none(
        {SEQUENCE: sequence, **{name: values.get(name) for name in ("seqno", "toa", "offline")}}
    )
    if gateways:
        return lorawan.telemetry(ts, gateways, receptions, radio, about)
    return lorawan.unattributed_telemetry(ts, values.get("rssi"), values.get("snr"), radio, about)


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
    "rx": _uplink,
    "gw": _uplink,
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
