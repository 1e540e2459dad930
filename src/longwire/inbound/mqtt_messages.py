"""Messages that devices publish by MQTT: a topic and some bytes become a record, as a POST would.

The topic has the token of a group, and the message may be about a device of that group or below.
The connection to the broker is the work of `mqtt_listener`.
"""

import msgspec

from longwire.clock import Moment
from longwire.errors import BadInput, LongwireError, Unavailable, invalid_field
from longwire.inbound.ingest_requests import (
    ParseRecord,
    ReceivedUplink,
    build_published_request,
)
from longwire.inbound.uplinks import UplinkStore
from longwire.networks.base import MQTT, ParsedUplink, Reading
from longwire.networks.readings import PAYLOAD_BYTES_MAX
from longwire.records import KIND_NAMES
from longwire.spans import Tracer, current_span
from longwire.store.reporting_devices import NetworkDevice
from longwire.web.fields import InputLimits
from longwire.web.validation import check_depth, check_size, check_text

RAW = "raw"

_TOPIC_KINDS = (*KIND_NAMES, RAW)


class MqttMessage(msgspec.Struct, frozen=True):
    """A message of a broker."""

    topic: str  # below the prefix
    payload: bytes  # truncated if it is too large anyway
    size: int
    arrived: Moment


class MqttMessageHandler:
    """Stores the messages of a broker."""

    def __init__(
        self,
        uplinks: UplinkStore,
        limits: InputLimits,
        parse_record: ParseRecord,
        tracer: Tracer | None = None,
    ) -> None:
        self._tracer = tracer
        self._uplinks = uplinks
        self._limits = limits
        self._parse_record = parse_record

    async def handle(self, message: MqttMessage) -> None:
        """Store a message; returns after the commit, and raises as a request would."""
        span = self._tracer.start_message(MQTT) if self._tracer is not None else None
        current_span.set(span)  # a retry that is not sampled has none
        if span is None:
            await self._handle(message)
            return
        attributes: dict[str, str | int] = {"messaging.message.body.size": message.size}
        try:
            await self._handle(message)
        except BaseException as error:
            is_own = not isinstance(error, LongwireError) or isinstance(error, Unavailable)
            span.end({**attributes, "error.type": type(error).__name__}, is_error=is_own)
            raise
        span.end(attributes)

    async def _handle(self, message: MqttMessage) -> None:
        token, original_id, kind = _split_topic(message.topic)
        check_size(message.size, self._limits.body_bytes_max)
        actor = await self._uplinks.authenticate(token)

        async def store(device: NetworkDevice) -> None:
            if kind == RAW:
                uplink = _raw_uplink(message, device.id)
                received = ReceivedUplink(actor, device, uplink, message.arrived)
                await self._uplinks.store(received)
                return
            members = _parse_object(message.payload, self._limits)
            request = build_published_request(
                actor, device, kind, members, message.arrived, self._parse_record
            )
            await self._uplinks.store_request(request)

        await self._uplinks.with_current_device(actor, MQTT, original_id, store)


def _parse_object(payload: bytes, limits: InputLimits) -> dict[str, msgspec.Raw]:
    check_text(payload)
    check_depth(payload, limits.json_depth_max)
    try:
        return _OBJECT.decode(payload)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadInput(f"The body is not a JSON object: {error}.") from error


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _split_topic(topic: str) -> list[str]:
    levels = topic.split("/")
    is_valid = len(levels) == 3 and levels[2] in _TOPIC_KINDS
    if not is_valid or not all(levels) or "\0" in topic:
        kinds = ", ".join(_TOPIC_KINDS)
        raise invalid_field("topic", f"must end in a token, a device, and one of {kinds}")
    return levels


def _raw_uplink(message: MqttMessage, device_id: str) -> ParsedUplink:
    check_size(message.size, PAYLOAD_BYTES_MAX)
    reading = Reading("data", None, {"raw": message.payload.hex(), "data": {}})
    return ParsedUplink(original_id=device_id, readings=(reading,), payload=message.payload)
