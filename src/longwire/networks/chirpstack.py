"""ChirpStack 4, its HTTP integration with JSON: what a message is, is told in the query."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from longwire.clock import Moment
from longwire.dates import date_text
from longwire.errors import Fault
from longwire.networks import lorawan, readings
from longwire.networks.base import (
    DECODED,
    PORT,
    SEQUENCE,
    Downlink,
    DownlinkNews,
    DownlinkState,
    Heard,
    Nonsense,
)
from longwire.networks.bodies import (
    Needs,
    boolean_of,
    bytes_of_base64,
    first,
    mapping_of,
    mappings_in,
    read_json,
    readable_moment,
    text_of,
    whole_of,
)


def read(event: str, values: Mapping[str, Any]) -> Heard:
    """What an event says."""
    if event not in _READERS:
        message = f"is no event; there are {', '.join(_READERS)}"
        raise Nonsense(faults=[Fault("event", message)])
    heard = _READERS[event](values)
    known_by = text_of(values.get("deduplicationId"), readings.WORD_CHARACTERS_MAX)
    if known_by is not None and lorawan.is_timeless(heard):
        return replace(heard, mark=f"{event} {known_by}")
    return heard


# With the device and the time: the keys of a session that the network cannot decrypt. They would
# open everything that the device says, to everybody who may read one record.
_ENVELOPE = ("deviceInfo", "time", "joinServerContext")


def _who_and_when(needs: Needs, values: Mapping[str, Any]) -> tuple[str, Moment | None]:
    device = mapping_of(values.get("deviceInfo")) or {}
    is_of_3 = "deviceInfo" not in values and "devEUI" in values
    needs.require(not is_of_3, "devEUI", "is that of ChirpStack 3; version 4 is understood")
    return (
        needs.device("deviceInfo.devEui", device.get("devEui")),
        needs.moment_if_given("time", values.get("time")),
    )


def _event(
    type: str,
    values: Mapping[str, Any],
    *,
    message: Any = None,
    severity: Any = None,
    used: tuple[str, ...] = (),
    battery: str | None = None,
    downlink: DownlinkNews | None = None,
    restarts: bool = False,
) -> Heard:
    """A message that becomes an event, with everything that it tells."""
    needs = Needs()
    device, ts = _who_and_when(needs, values)
    needs.settle()
    told = readings.rest(values, used=_ENVELOPE + used)
    return Heard(
        original_id=device,
        readings=(readings.event(ts, type, told, message=message, severity=severity),),
        battery=battery,
        downlink=downlink,
        restarts=restarts,
    )


# --- up ---

_UPLINK = ("fCnt", "fPort", "data", "object", "rxInfo", "txInfo")
# Only the gateway that has written it can read it.
_OPAQUE = ("context",)


def _up(values: Mapping[str, Any]) -> Heard:
    needs = Needs()
    device, said_at = _who_and_when(needs, values)
    payload = needs.payload("data", values.get("data"), bytes_of_base64, readings.PAYLOAD_BYTES_MAX)
    needs.settle()
    receptions = mappings_in(values.get("rxInfo"))
    ts = said_at if said_at is not None else _received_at(receptions)
    sequence = whole_of(values.get("fCnt", 0), least=0)
    port = lorawan.port(values.get("fPort"))
    told = {SEQUENCE: sequence, PORT: port, DECODED: values.get("object")}
    told |= readings.rest(values, used=(*_ENVELOPE, *_UPLINK, *told))
    radio = _radio(mapping_of(values.get("txInfo")) or {})
    gateways = [
        lorawan.gateway(
            text_of(each.get("gatewayId"), readings.WORD_CHARACTERS_MAX),
            each.get("rssi"),
            each.get("snr"),
            radio,
        )
        for each in receptions
    ]
    about = {SEQUENCE: sequence, "deduplicationId": values.get("deduplicationId")}
    heard_by = [readings.rest(each, used=_OPAQUE) for each in receptions]
    return Heard(
        original_id=device,
        readings=(
            readings.data(ts, payload, readings.known(told)),
            *lorawan.telemetry(ts, gateways, heard_by, radio, about),
        ),
        sequence=sequence,
        payload=payload,
        port=port,
    )


def _received_at(receptions: list[dict[str, Any]]) -> Moment | None:
    times = (first(each, "nsTime", "gwTime", "time") for each in receptions)
    return readable_moment(*times)


def _radio(sent: Mapping[str, Any]) -> lorawan.Radio:
    modulation = mapping_of(sent.get("modulation")) or {}
    lora = mapping_of(modulation.get("lora")) or {}
    return lorawan.Radio(
        frequency=whole_of(sent.get("frequency")),
        bandwidth=whole_of(lora.get("bandwidth")),
        spreading_factor=whole_of(lora.get("spreadingFactor")),
        code_rate=text_of(lora.get("codeRate"), readings.WORD_CHARACTERS_MAX),
    )


# --- what happens to a device ---


def _join(values: Mapping[str, Any]) -> Heard:
    return _event("join", values, restarts=True)


def _status(values: Mapping[str, Any]) -> Heard:
    is_unknown = boolean_of(values.get("batteryLevelUnavailable"))
    has_no_battery = boolean_of(values.get("externalPowerSource"))
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


def _location(values: Mapping[str, Any]) -> Heard:
    needs = Needs()
    device, ts = _who_and_when(needs, values)
    location = mapping_of(values.get("location")) or {}
    told = readings.rest(values, used=(*_ENVELOPE, "location"))
    place = lorawan.geoloc(ts, location, _SOURCES, told)
    needs.require(place is not None, "location", "must be a place, with latitude and longitude")
    needs.settle()
    return Heard(original_id=device, readings=(place,) if place else ())


# --- what became of a downlink ---


def _queued_as(values: Mapping[str, Any], name: str) -> str | None:
    return text_of(values.get(name), readings.WORD_CHARACTERS_MAX)


def _ack(values: Mapping[str, Any]) -> Heard:
    queued_as = _queued_as(values, "queueItemId")
    if boolean_of(values.get("acknowledged")):
        news = DownlinkNews(queued_as, "acknowledged", "the device has confirmed it")
    else:
        news = DownlinkNews(queued_as, "failed", "the device has not confirmed it in time")
    return _event("ack", values, message=news.detail, downlink=news)


def _txack(values: Mapping[str, Any]) -> Heard:
    gateway = text_of(values.get("gatewayId"), readings.WORD_CHARACTERS_MAX) or "a gateway"
    news = DownlinkNews(_queued_as(values, "queueItemId"), "sent", f"{gateway} sends it")
    return _event("txack", values, message=news.detail, downlink=news)


_DOWNLINK_CODES: Mapping[str, DownlinkState] = {
    "DOWNLINK_PAYLOAD_SIZE": "failed",
    "DOWNLINK_CODEC": "failed",
    "DOWNLINK_GATEWAY": "failed",
    "F_CNT_DOWN": "failed",
    "EXPIRED": "expired",
}


def _log(values: Mapping[str, Any]) -> Heard:
    description = text_of(values.get("description"), readings.TEXT_CHARACTERS_MAX)
    code = text_of(values.get("code"), readings.WORD_CHARACTERS_MAX) or ""
    state = _DOWNLINK_CODES.get(code)
    queued_as = _queued_as(mapping_of(values.get("context")) or {}, "queue_item_id")
    return _event(
        "log",
        values,
        message=description or code,
        severity=first(values, "level") or "INFO",  # the zero of its levels, and so left out
        used=("description", "level"),
        downlink=DownlinkNews(queued_as, state, description or code) if state else None,
    )


def _integration(values: Mapping[str, Any]) -> Heard:
    return _event("integration", values, message=values.get("eventType"))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Heard]] = {
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


def queue_item(downlink: Downlink) -> tuple[str, dict[str, Any]]:
    """Where in the API a message to a device is queued, and how it is told."""
    item = {
        "confirmed": downlink.is_confirmed,
        "data": b64encode(downlink.payload).decode(),
        "expiresAt": date_text(downlink.expires_at),
        "fPort": downlink.port,
    }
    eui = quote(downlink.original_id.lower(), safe="")
    return f"/api/devices/{eui}/queue", {"queueItem": item}


def name_in_queue(answered: bytes, downlink: Downlink) -> str | None:
    """What the network calls a message to a device, if it is in the queue that it answers with.

    It takes no names of ours. But it keeps until when a message is good, and no two messages of
    ours to one device are good until the same moment.
    """
    try:
        queue = mapping_of(read_json(answered)) or {}
    except Nonsense:
        return None
    for item in mappings_in(queue.get("result")):
        is_same = (
            readable_moment(item.get("expiresAt")) == downlink.expires_at
            and item.get("data") == b64encode(downlink.payload).decode()
            and item.get("fPort") == downlink.port
        )
        if is_same:
            return text_of(item.get("id"), readings.WORD_CHARACTERS_MAX)
    return None


def credentials(key: str) -> dict[str, str]:
    """How the proxy in front of the API wants to be shown the key."""
    return {"Grpc-Metadata-Authorization": f"Bearer {key}"}
