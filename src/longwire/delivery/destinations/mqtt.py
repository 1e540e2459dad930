"""MQTT: each message is published with QoS 1, and delivered when the broker has acknowledged it.

In MQTT 3.1.1 an acknowledgement has no reason code: a broker that does not authorize a publish
sends nothing, or disconnects.
"""

import asyncio
import socket
from functools import partial
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from longwire.delivery.destinations import addresses
from longwire.delivery.destinations.base import (
    Delivered,
    DestinationParams,
    OutboundMessage,
    Outcome,
    Refused,
    Secret,
    invalid_message,
    list_invalid_fields,
)
from longwire.delivery.destinations.broker import BrokerDestination
from longwire.delivery.destinations.connections import (
    UNCONFIRMED,
    PendingConfirmations,
    SharedConnection,
)
from longwire.delivery.destinations.inbound_limit import InboundLimit
from longwire.delivery.destinations.mqtt_connection import (
    AT_LEAST_ONCE,
    DEFAULT_PORTS,
    Login,
    MqttConnection,
    MqttProtocol,
    open_socket,
)
from longwire.delivery.http.egress import Egress

IN_FLIGHT_MAX = 20  # the default limit of common brokers
TOPIC_BYTES_MAX = 65_535  # the protocol's
PUBLISH_OVERHEAD_BYTES = 64  # upper bound, without topic, properties and body

PUBLISH_ERRORS = {
    0x87: "not authorized to publish to this topic",
    0x90: "the broker rejected the topic",
    0x97: "quota exceeded at the broker",
    0x99: "the broker rejected the payload format",
}


ClientId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=256,
        description="Only if the broker requires one. It must be unique: a broker disconnects a"
        " client when another one connects with the same id. By default the broker assigns one.",
    ),
]


class MqttParams(DestinationParams, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Parameters of connectors of the type `mqtt`."""

    url: Annotated[
        str,
        Meta(
            max_length=addresses.URL_CHARACTERS_MAX,
            description="mqtt://host:port, or mqtts:// for an encrypted connection.",
        ),
    ]
    topic: Annotated[
        str,
        Meta(min_length=1, max_length=512, description=addresses.describe_placeholders("slashes")),
    ]
    version: Annotated[
        Literal["3.1.1", "5"], Meta(description="The MQTT version of the broker.")
    ] = "5"
    client_id: ClientId | None = None
    username: Annotated[str, Meta(min_length=1, max_length=1_024)] | None = None
    password: Secret | None = None
    retain: Annotated[
        bool, Meta(description="The broker keeps the last message of each topic.")
    ] = False

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + list_invalid_fields(
            {
                "url": addresses.validate_hosts(
                    lambda: [addresses.parse_address(self.url, DEFAULT_PORTS)], egress
                ),
                "topic": validate_topic(self.topic),
                "clientId": None
                if (self.client_id or "").isprintable()
                else addresses.NOT_PRINTABLE,
                "password": "needs a username" if self.password and not self.username else None,
            }
        )


def validate_topic(template: str) -> str | None:
    """Why this topic template is invalid, or None."""
    if "+" in template or "#" in template:
        return "must not have the wildcards + and #"
    if not template.isprintable():
        return addresses.NOT_PRINTABLE
    return addresses.validate_placeholders(template)


# A placeholder's value as one level of a topic.
sanitize_topic_level = partial(addresses.sanitize, special="+#/$")


class Mqtt(BrokerDestination["_PublisherSession"]):
    """One connector's connection to its broker, kept open between messages."""

    type: ClassVar[str] = "mqtt"
    title: ClassVar[str] = "MQTT"
    params_type = MqttParams

    def __init__(self, params: MqttParams, egress: Egress) -> None:
        super().__init__()
        self._params = params
        self._egress = egress
        self._address = addresses.parse_address(params.url, DEFAULT_PORTS)
        # Acknowledgements carry their message's number, and the session detects a dead peer.
        self._shared = SharedConnection(egress, self._open, keep_on_cancel=True)

    async def _send(self, message: OutboundMessage) -> Outcome:
        async with self._shared.lease() as session:
            return await session.publish(
                self._topic(message), message.body, self._params.retain, self._properties(message)
            )

    def _target(self, message: OutboundMessage) -> str:
        return f"{self._address}/{self._topic(message)}"

    def _headers(self, message: OutboundMessage) -> dict[str, str]:
        headers = {"qos": str(AT_LEAST_ONCE), "retain": str(self._params.retain).lower()}
        if self._params.version == "5":
            headers |= {"id": message.id, "contentType": message.content_type}
        return headers

    def _topic(self, message: OutboundMessage) -> str:
        return addresses.render_template(self._params.topic, message, sanitize_topic_level)

    def _properties(self, message: OutboundMessage) -> Properties | None:
        if self._params.version != "5":
            return None
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.UserProperty = [("id", message.id)]
        properties.ContentType = message.content_type
        return properties

    async def _open(self) -> "_PublisherSession":
        sock = await open_socket(self._egress, self._address)
        session = _PublisherSession(self._params, sock, self._inbound)
        try:
            await session.log_in()
        except BaseException:
            session.abort()
            raise
        return session


class _PublisherSession(MqttConnection):
    """A connection on which messages are published."""

    def __init__(self, params: MqttParams, sock: socket.socket, limit: InboundLimit) -> None:
        login = Login(params.version, params.client_id or "", params.username, params.password)
        super().__init__(MqttProtocol(login, sock, limit=limit), sock)
        self._protocol.on_publish = self._on_publish
        self._confirmations = PendingConfirmations[int](on_silence=self.abort)
        self._slots = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._packet_bytes_max: int | None = None
        self._is_retain_refused = False

    async def log_in(self) -> None:
        limits = (await self.connect()).properties
        receive_maximum = getattr(limits, "ReceiveMaximum", IN_FLIGHT_MAX)
        self._slots = asyncio.Semaphore(max(1, min(IN_FLIGHT_MAX, receive_maximum)))
        self._packet_bytes_max = getattr(limits, "MaximumPacketSize", None)
        self._is_retain_refused = getattr(limits, "RetainAvailable", 1) == 0

    async def publish(
        self, topic: str, body: bytes, retain: bool, properties: Properties | None
    ) -> Outcome:
        # Brokers disconnect on these, which would fail the messages in flight, too.
        packet_bytes = len(topic.encode()) + len(body) + PUBLISH_OVERHEAD_BYTES
        if properties is not None:
            packet_bytes += len(properties.pack())  # type: ignore[no-untyped-call]
        if len(topic.encode()) > TOPIC_BYTES_MAX:
            return invalid_message("the topic is too long")
        if self._packet_bytes_max is not None and packet_bytes > self._packet_bytes_max:
            return Refused("the message is larger than the broker accepts", is_final=True)
        if retain and self._is_retain_refused:
            return Refused("the broker does not support retained messages")
        async with self._slots:
            return await self._publish_and_wait(topic, body, retain, properties)

    async def _publish_and_wait(
        self, topic: str, body: bytes, retain: bool, properties: Properties | None
    ) -> Outcome:
        sent = self._protocol.publish(topic, body, AT_LEAST_ONCE, retain, properties)
        if sent.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            self.abort()
            return UNCONFIRMED
        with self._confirmations.expect(sent.mid) as confirmation:
            reason = await confirmation
        if reason is None:
            return UNCONFIRMED
        if reason >= 0x80:
            words = PUBLISH_ERRORS.get(reason, f"the broker rejected the message (code {reason})")
            return Refused(words)
        return Delivered()

    def on_lost(self) -> None:
        super().on_lost()
        self._confirmations.fail_all()

    def _on_publish(
        self, client: Any, data: Any, mid: int, reason: ReasonCode, properties: Any
    ) -> None:
        self._confirmations.confirm(mid, reason.value)
