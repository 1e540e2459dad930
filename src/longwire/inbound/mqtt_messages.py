"""Messages that devices publish by MQTT: a topic and some bytes become a record, as a POST would.

The topic has the token of a group, and the message may be about a device of that group or below.
ChirpStack publishes its events like that, too: they are what its HTTP integration sends.
The connection to the broker is the work of `mqtt_listener`.
"""

import msgspec

from longwire.clock import Moment
from longwire.errors import LongwireError, Unavailable, invalid_field
from longwire.inbound.downlinks import DownlinkService
from longwire.inbound.ingest_requests import (
    KEPT_BYTES_MAX,
    KeptContent,
    ParseRecord,
    ReceivedUplink,
    build_published_request,
    encode_kept,
)
from longwire.inbound.unknown_devices import PAYLOAD_CHARACTERS_MAX
from longwire.inbound.uplinks import UplinkStore
from longwire.model import Actor
from longwire.networks import chirpstack
from longwire.networks.base import CHIRPSTACK, MQTT, ParsedUplink, Reading
from longwire.networks.bodies import describe_body, parse_body
from longwire.networks.readings import PAYLOAD_BYTES_MAX
from longwire.records import KIND_NAMES
from longwire.spans import Tracer, current_span
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.web.fields import InputLimits
from longwire.web.validation import check_size, decode_members
from longwire.work.turns import current_caller

RAW = "raw"

_TOPIC_KINDS = (*KIND_NAMES, RAW)
# The last two levels of ChirpStack's own topics.
_CHIRPSTACK_EVENT = "event/"
_TOPIC_RULE = (
    f"must end in a token, a device, and one of {', '.join(_TOPIC_KINDS)}, or an event of "
    f"ChirpStack like {_CHIRPSTACK_EVENT}up"
)


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
        downlink_service: DownlinkService,
        tracer: Tracer | None = None,
    ) -> None:
        self._tracer = tracer
        self._uplinks = uplinks
        self._downlinks = downlink_service
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
        actor = await self._uplinks.authenticate(token)
        current_caller.set(actor.caller)
        if kind.startswith(_CHIRPSTACK_EVENT):
            await self._handle_event(actor, message, original_id, kind)
            return
        try:
            _check_kind(kind)
            check_size(message.size, self._limits.body_bytes_max)
            await self._store(actor, message, original_id, kind)
        except LongwireError as error:
            self._uplinks.unknown_devices.note_error(
                actor,
                MQTT,
                original_id,
                error,
                payload=_describe(message.payload, kind),
                content=_encode_kept(message, original_id, kind),
            )
            raise

    async def _handle_event(
        self, actor: Actor, message: MqttMessage, original_id: str, kind: str
    ) -> None:
        """Store an event of ChirpStack, and what it says of a downlink."""
        uplink: ParsedUplink | None = None

        async def store(device: NetworkDevice) -> None:
            assert uplink is not None
            await self._uplinks.store(ReceivedUplink(actor, device, uplink, message.arrived))

        try:
            check_size(message.size, self._limits.body_bytes_max)
            values = parse_body("application/json", message.payload, b"")
            uplink = chirpstack.parse(kind.removeprefix(_CHIRPSTACK_EVENT), values)
            device = await self._uplinks.with_current_device(
                actor, CHIRPSTACK, uplink.original_id, store
            )
        except LongwireError as error:
            self._uplinks.unknown_devices.note_error(
                actor,
                CHIRPSTACK,
                original_id if uplink is None else uplink.original_id,
                error,
                payload=describe_body(message.payload, PAYLOAD_CHARACTERS_MAX),
                content=None if uplink is None else encode_kept(KeptContent(uplink)),
            )
            raise
        sent_at = message.arrived if uplink.sent_at is None else uplink.sent_at
        await self._downlinks.apply_update(CHIRPSTACK, uplink, device.id, sent_at)

    async def _store(self, actor: Actor, message: MqttMessage, original_id: str, kind: str) -> None:
        async def store(device: NetworkDevice) -> None:
            if kind == RAW:
                uplink = _raw_uplink(message, original_id)
                received = ReceivedUplink(actor, device, uplink, message.arrived)
                await self._uplinks.store(received)
                return
            members = decode_members(message.payload, self._limits)
            request = build_published_request(
                actor, device, kind, members, message.arrived, self._parse_record
            )
            await self._uplinks.store_request(request)

        await self._uplinks.with_current_device(actor, MQTT, original_id, store)


def _split_topic(topic: str) -> list[str]:
    # At most three: ChirpStack's are `event` and its name.
    levels = topic.split("/", 2)
    if len(levels) != 3 or not all(levels) or "\0" in topic:
        raise invalid_field("topic", _TOPIC_RULE)
    return levels


def _check_kind(kind: str) -> None:
    if kind not in _TOPIC_KINDS:
        raise invalid_field("topic", _TOPIC_RULE)


def _describe(payload: bytes, kind: str) -> str:
    if kind == RAW:
        return payload[: PAYLOAD_CHARACTERS_MAX // 2].hex()
    return describe_body(payload, PAYLOAD_CHARACTERS_MAX)


def _encode_kept(message: MqttMessage, original_id: str, kind: str) -> bytes | None:
    """What is stored once there is the device."""
    if message.size > len(message.payload) or message.size > KEPT_BYTES_MAX:
        return None
    if kind == RAW:
        return encode_kept(KeptContent(_raw_uplink(message, original_id)))
    return encode_kept(KeptContent(None, kind, message.payload)) if kind in KIND_NAMES else None


def _raw_uplink(message: MqttMessage, original_id: str) -> ParsedUplink:
    check_size(message.size, PAYLOAD_BYTES_MAX)
    reading = Reading("data", None, {"raw": message.payload.hex(), "data": {}})
    return ParsedUplink(original_id=original_id, readings=(reading,), payload=message.payload)
