"""ThingPark: reports of its network server (LRC) to an application server, and downlinks to it.

A key in the body names the report. Numbers may be quoted, and a list with one element may be the
element itself, as in documents that were XML before.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import FieldError
from longwire.measurements.values import PORT, SEQUENCE, TAGS
from longwire.networks import lorawan, readings
from longwire.networks.base import (
    ApiReply,
    ApiRequest,
    DownlinkFrame,
    DownlinkUpdate,
    InvalidMessage,
    ParsedUplink,
    Reading,
)
from longwire.networks.values import (
    RequiredFields,
    first_moment,
    first_value,
    parse_hex,
    parse_integer,
    parse_mapping,
    parse_number,
    parse_rounded,
    parse_text,
)

PREFIX = "DevEUI_"

Message = Mapping[str, Any]


def parse(values: Message) -> ParsedUplink:
    keys = [key for key in values if key.startswith(PREFIX)]
    if len(keys) != 1:
        raise InvalidMessage(f"The message must have one of {', '.join(_PARSERS)}.")
    key = keys[0]
    report = parse_mapping(values[key])
    if report is None:
        raise InvalidMessage(field_errors=[FieldError(key, "must be an object")])
    return _PARSERS.get(key, _other)(key, report)


def _device_and_moment(
    required: RequiredFields, key: str, report: Message
) -> tuple[str, Moment | None]:
    return (
        required.device(f"{key}.DevEUI", report.get("DevEUI")),
        required.moment_if_given(f"{key}.Time", report.get("Time")),
    )


# --- uplinks ---

_ENVELOPE = ("-xmlns", "Time", "DevEUI")
# The session key: whoever may read one record could decrypt all payloads.
_SECRET = ("AppSKey",)
_UPLINK = ("FPort", "FCntUp", "payload", "Lrrs", "Lrr")
# The same in each message of a device.
_IDENTIFIERS = ("CustomerID", "CustomerData", "ModelCfg", "DriverCfg", "DevAddr")
# Of the best gateway, and how it received the frame: in the telemetry.
_RECEPTION = (
    *("LrrRSSI", "LrrSNR", "LrrESP", "SpFact", "SubBand", "Channel", "DevLrrCnt", "Lrrid"),
    *("LrrLAT", "LrrLON", "Frequency", "Lrcid", "BaseStationData", "Chain"),
)


def _uplink(key: str, report: Message) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, key, report)
    is_plain = parse_integer(report.get("PayloadEncryption")) != 1
    payload = required.payload(
        f"{key}.payload_hex",
        report.get("payload_hex") if is_plain else None,
        parse_hex,
        readings.PAYLOAD_BYTES_MAX,
    )
    required.raise_errors()
    sequence = parse_integer(report.get("FCntUp"), minimum=0)
    port = lorawan.parse_port(report.get("FPort"))
    hidden = ("payload_hex",) if is_plain else ()  # an encrypted payload is kept as it was sent
    customer = parse_mapping(report.get("CustomerData")) or {}
    # Without its time it would be a new one with each uplink.
    located_at = first_moment(report.get("DevLocTime"))
    details = {name: report.get(name) for name in _POSITION_DETAILS}
    located = _position(located_at, report, details) if located_at is not None else None
    facts = {SEQUENCE: sequence, PORT: port, TAGS: customer.get("tags")}
    facts |= readings.remaining_fields(
        report,
        used=(
            *(*_ENVELOPE, *_UPLINK, *_IDENTIFIERS, *_RECEPTION, *_SECRET, *hidden, *facts),
            *((*_POSITION, *_POSITION_DETAILS) if located else ()),
        ),
    )
    return ParsedUplink(
        original_id=device,
        readings=(
            readings.data(ts, payload, report.get("payload"), facts),
            *_telemetry(ts, report, sequence),
            *((located,) if located else ()),
        ),
        sequence=sequence,
        payload=payload,
        port=port,
        battery=lorawan.parse_battery_level(report.get("BatteryLevel")),
        downlink=lorawan.acknowledgement(report.get("ACKbit")),
        dedup_key=lorawan.dedup_key(ts, sequence, payload),
    )


def _radio(report: Message) -> lorawan.RadioSettings:
    frequency_mhz = parse_number(report.get("Frequency"))
    return lorawan.RadioSettings(
        frequency=None if frequency_mhz is None else parse_rounded(frequency_mhz * 1e6),
        spreading_factor=parse_integer(report.get("SpFact")),
    )


def _telemetry(ts: Moment | None, report: Message, sequence: int | None) -> tuple[Reading, ...]:
    """All receiving gateways (LRR); without a list of them, the best one."""
    listed = parse_mapping(report.get("Lrrs")) or {}
    one = parse_mapping(listed.get("Lrr"))
    receptions = [one] if one is not None else lorawan.list_receptions(listed.get("Lrr"))
    if not receptions and first_value(report, "Lrrid", "LrrRSSI") is not None:
        names = ("Lrrid", "LrrRSSI", "LrrSNR", "LrrESP")
        receptions = [readings.drop_none({name: report.get(name) for name in names})]
    radio = _radio(report)
    gateways = lorawan.parse_gateways(receptions, ("Lrrid", "LrrRSSI", "LrrSNR"), radio)
    used = {"LrrRSSI", "LrrSNR", "SpFact", "Frequency", "Lrrid"}
    kept = {name: report.get(name) for name in _RECEPTION if name not in used}
    about = readings.drop_none({SEQUENCE: sequence, **kept})
    return lorawan.telemetry(ts, gateways, receptions, radio, about)


# --- positions ---

_POSITION = ("DevLAT", "DevLON", "DevLocTime", "DevLocRadius")
# Of a position in an uplink. It is the same in each uplink until there is another one, so its
# record has nothing of the uplink: the repeated one is a duplicate.
_POSITION_DETAILS = ("DevAlt", "DevAcc", "DevAltRadius")


def _position(ts: Moment | None, report: Message, details: Message) -> Reading | None:
    return readings.geoloc(
        ts,
        report.get("DevLAT"),
        report.get("DevLON"),
        readings.drop_none(details),
        radius=report.get("DevLocRadius"),
        source=_NETWORK_POSITION,
    )


def _location(key: str, report: Message) -> ParsedUplink:
    required = RequiredFields()
    device = required.device(f"{key}.DevEUI", report.get("DevEUI"))
    kept = readings.remaining_fields(report, used=(*_ENVELOPE, "DevLAT", "DevLON", "DevLocRadius"))
    ts = first_moment(report.get("DevLocTime"), report.get("Time"))
    position = _position(ts, report, kept)
    required.check(position is not None, f"{key}.DevLAT", "and DevLON must be a place")
    required.raise_errors()
    return ParsedUplink(original_id=device, readings=(position,) if position else ())


# The vendor's number for a position that the network has computed.
_NETWORK_POSITION = 2


# --- events ---


def _event(
    key: str,
    report: Message,
    type: str,
    *,
    battery: str | None = None,
    downlink: DownlinkUpdate | None = None,
    resets_sequence: bool = False,
    used: tuple[str, ...] = (),
) -> ParsedUplink:
    required = RequiredFields()
    device, ts = _device_and_moment(required, key, report)
    required.raise_errors()
    data = readings.remaining_fields(report, used=(*_ENVELOPE, *_SECRET, *used))
    text = downlink.detail if downlink else None
    return ParsedUplink(
        original_id=device,
        readings=(readings.event(ts, type, data, message=text),),
        battery=battery,
        downlink=downlink,
        resets_sequence=resets_sequence,
    )


def _notification(key: str, report: Message) -> ParsedUplink:
    """`Type` names the event; `Var1` and `Var2` are its values."""
    kind = parse_text(report.get("Type"), readings.WORD_CHARACTERS_MAX)
    if kind == "join":
        # Its first value is the session key.
        return _event(key, report, "join", used=("Type", "Var1"), resets_sequence=True)
    if kind == "reset":
        return _event(key, report, "reset", used=("Type",), resets_sequence=True)
    if kind == "devstatusans":
        battery = lorawan.parse_battery_level(report.get("Var1"))
        return _event(key, report, "status", used=("Type",), battery=battery)
    return _event(key, report, "notification")


def _other(key: str, report: Message) -> ParsedUplink:
    """A report that is not known here; its name is in its data."""
    return _event(key, {**report, "report": key}, "thingpark")


_FAILURE_CAUSES = tuple(f"DeliveryFailedCause{slot}" for slot in range(1, 5))


def _downlink_sent(key: str, report: Message) -> ParsedUplink:
    """Whether the network has transmitted a downlink; not whether the device has received it."""
    network_id = _correlation_id(report)
    if parse_integer(report.get("DeliveryStatus")) == 1:
        update = DownlinkUpdate(network_id, "sent", "a gateway has sent it")
    else:
        update = DownlinkUpdate(network_id, "failed", _failure(report))
    return _event(key, report, "downlink_sent", downlink=update)


def _downlink_rejected(key: str, report: Message) -> ParsedUplink:
    update = DownlinkUpdate(_correlation_id(report), "failed", _failure(report))
    return _event(key, report, "downlink_rejected", downlink=update)


def _failure(report: Message) -> str:
    """The codes of the receive windows in which the network could not send."""
    codes = [parse_text(report.get(name), 8) for name in _FAILURE_CAUSES]
    named = [code for code in codes if code and code.strip("0")]
    return "the network could not send it" + (f": {', '.join(named)}" if named else "")


def _correlation_id(report: Message) -> str | None:
    found = parse_text(report.get("CorrelationID"), readings.WORD_CHARACTERS_MAX)
    return None if found is None else found.upper()


_PARSERS: Mapping[str, Callable[[str, Message], ParsedUplink]] = {
    "DevEUI_uplink": _uplink,
    "DevEUI_location": _location,
    "DevEUI_notification": _notification,
    "DevEUI_downlink_Sent": _downlink_sent,
    "DevEUI_downlink_Rejected": _downlink_rejected,
}


# --- downlinks ---


def correlation_id(downlink_id: str) -> str:
    """64 bits in hex, by which the reports name a downlink of ours."""
    return hashlib.sha256(downlink_id.encode()).hexdigest()[:16].upper()


def push_request(downlink: DownlinkFrame, as_id: str, key: str, now: Moment) -> ApiRequest:
    """Send a downlink to the network server, signed with the key of the application server."""
    values = {
        "DevEUI": downlink.original_id.upper(),
        "FPort": str(downlink.port),
        "Payload": downlink.payload.hex(),
        "AS_ID": as_id,
        "Time": _format_time(now),
        "CorrelationID": correlation_id(downlink.id),
        **({"Confirmed": "1"} if downlink.is_confirmed else {}),
        "ValidityTime": _format_time(downlink.expires_at),
    }
    return ApiRequest(
        path="/thingpark/lrc/rest/downlink?" + sign_query(values, key),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )


def sign_query(values: Mapping[str, str], key: str) -> str:
    """The query with its token: the digest of the unquoted query and the key."""
    plain = "&".join(f"{name}={value}" for name, value in values.items())
    token = hashlib.sha256((plain + key).encode()).hexdigest()
    quoted = "&".join(f"{name}={quote(value, safe='')}" for name, value in values.items())
    return f"{quoted}&Token={token}"


def _format_time(moment: Moment) -> str:
    """With an offset, as in the examples of the network; its milliseconds are enough."""
    return format_date(moment - moment % 1_000).replace("Z", "+00:00")


def parse_reply(body: bytes, downlink: DownlinkFrame) -> ApiReply:
    return ApiReply(network_id=correlation_id(downlink.id))
