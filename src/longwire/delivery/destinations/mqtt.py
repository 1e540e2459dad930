"""MQTT: each message is published with QoS 1, and delivered when the broker has acknowledged it.

In MQTT 3.1.1 an acknowledgement has no room for a refusal: a broker that does not let a login
publish says nothing, or hangs up.
"""

import asyncio
import builtins
import socket
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from longwire.delivery.destinations.addresses import (
    MAY_HOLD,
    NOT_PRINTABLE,
    URL_CHARACTERS_MAX,
    address_problem,
    filled,
    fit,
    parsed,
    placeholder_problem,
)
from longwire.delivery.destinations.base import (
    Delivered,
    Message,
    Outcome,
    Params,
    Parcel,
    Refused,
    Request,
    Secret,
    only_problems,
)
from longwire.delivery.destinations.connections import (
    UNCONFIRMED,
    Confirmations,
    SharedConnection,
    failure,
)
from longwire.delivery.destinations.mqtt_connection import (
    AT_LEAST_ONCE,
    DEFAULT_PORTS,
    Link,
    Login,
    Protocol,
    connected,
)
from longwire.delivery.egress import Egress
from longwire.delivery.formats import FORMATS

IN_FLIGHT_MAX = 20  # as many as common brokers take by default
TOPIC_BYTES_MAX = 65_535  # the protocol's
PUBLISH_OVERHEAD_BYTES = 64  # around topic, properties and body, generously

NOT_TAKEN = {
    0x87: "the broker does not let this login publish to this topic",
    0x90: "the broker did not accept the topic",
    0x97: "the broker has no room for the message",
    0x99: "the broker did not accept the form of the message",
}


class MqttParams(Params, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What a connector of the type `mqtt` can be told."""

    url: Annotated[
        str,
        Meta(
            max_length=URL_CHARACTERS_MAX,
            description="mqtt://host:port, or mqtts:// for an encrypted connection.",
        ),
    ]
    topic: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=512,
            description=(
                f"{MAY_HOLD} Characters of a value that have a meaning in a topic become an"
                " underscore."
            ),
        ),
    ]
    version: Annotated[Literal["3.1.1", "5"], Meta(description="Of the protocol.")] = "5"
    client_id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=256,
                description=(
                    "Only if the broker insists on one, and nobody else's: a broker closes a"
                    " connection when another one comes with its id. Not given, it chooses one."
                ),
            ),
        ]
        | None
    ) = None
    username: Annotated[str, Meta(min_length=1, max_length=1_024)] | None = None
    password: Secret | None = None
    retain: Annotated[
        bool, Meta(description="The broker keeps the last message of each topic.")
    ] = False

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return super().problems(egress) + only_problems(
            {
                "url": address_problem(self.url, DEFAULT_PORTS, egress),
                "topic": topic_problem(self.topic),
                "clientId": None if (self.client_id or "").isprintable() else NOT_PRINTABLE,
                "password": "needs a username" if self.password and not self.username else None,
            }
        )


def topic_problem(template: str) -> str | None:
    """Why nothing can be published to the topics that this makes."""
    if "+" in template or "#" in template:
        return "must not have the wildcards + and #"
    if not template.isprintable():
        return NOT_PRINTABLE
    return placeholder_problem(template)


def fit_for_topic(value: str) -> str:
    """A message's value as one level of a topic, which it can neither leave nor make special."""
    return fit(value, special="+#/$")


class Mqtt:
    """One connector's way to its broker: a connection kept open, and many messages on it."""

    type: ClassVar[str] = "mqtt"
    title: ClassVar[str] = "MQTT"
    params_type: ClassVar[builtins.type[Params]] = MqttParams
    formats: ClassVar[tuple[str, ...]] = FORMATS
    batch_max: ClassVar[int] = 1

    def __init__(self, params: MqttParams, egress: Egress) -> None:
        self._params = params
        self._egress = egress
        self._address = parsed(params.url, DEFAULT_PORTS)
        # An acknowledgement has its message's number, and the session notices silence.
        self._shared = SharedConnection(self._open, survives_cancelling=True)

    async def send(self, parcel: Parcel) -> Outcome:
        message = parcel.only
        try:
            async with self._shared.borrowed() as session:
                return await session.publish(
                    self._topic(message),
                    message.body,
                    self._params.retain,
                    self._properties(message),
                )
        except ConnectionAbortedError:
            return UNCONFIRMED  # closed under way
        except Exception as error:
            return failure(error)

    def describe(self, parcel: Parcel) -> Request:
        message = parcel.only
        headers = {"qos": str(AT_LEAST_ONCE), "retain": str(self._params.retain).lower()}
        if self._params.version == "5":
            headers |= {"id": message.id, "contentType": message.content_type}
        return Request(
            method="PUBLISH",
            url=f"{self._address}/{self._topic(message)}",
            headers=headers,
            body=message.body.decode(errors="replace"),
        )

    async def close(self) -> None:
        await self._shared.close()

    def _topic(self, message: Message) -> str:
        return filled(self._params.topic, message, fit_for_topic)

    def _properties(self, message: Message) -> Properties | None:
        if self._params.version != "5":
            return None
        properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
        properties.UserProperty = [("id", message.id)]
        properties.ContentType = message.content_type
        return properties

    async def _open(self) -> "_Session":
        wire = await connected(self._egress, self._address)
        session = _Session(self._params, wire)
        try:
            await session.log_in()
        except BaseException:
            session.drop()
            raise
        return session


class _Session(Link):
    """A connection on which messages are published."""

    def __init__(self, params: MqttParams, wire: socket.socket) -> None:
        login = Login(params.version, params.client_id or "", params.username, params.password)
        super().__init__(Protocol(login, wire), wire)
        self._protocol.on_publish = self._on_publish
        self._confirmations = Confirmations[int](on_silence=self.drop)
        self._slots = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._packet_bytes_max: int | None = None
        self._is_retain_refused = False

    async def log_in(self) -> None:
        welcome = (await self.welcomed()).properties
        receive_maximum = getattr(welcome, "ReceiveMaximum", IN_FLIGHT_MAX)
        self._slots = asyncio.Semaphore(max(1, min(IN_FLIGHT_MAX, receive_maximum)))
        self._packet_bytes_max = getattr(welcome, "MaximumPacketSize", None)
        self._is_retain_refused = getattr(welcome, "RetainAvailable", 1) == 0

    async def publish(
        self, topic: str, body: bytes, retain: bool, properties: Properties | None
    ) -> Outcome:
        # A broker answers these by hanging up, which would take the others along.
        bytes_out = len(topic.encode()) + len(body) + PUBLISH_OVERHEAD_BYTES
        if properties is not None:
            bytes_out += len(properties.pack())  # type: ignore[no-untyped-call]
        if len(topic.encode()) > TOPIC_BYTES_MAX:
            return Refused("the topic is too long", is_final=True)
        if self._packet_bytes_max is not None and bytes_out > self._packet_bytes_max:
            return Refused("the message is larger than the broker takes", is_final=True)
        if retain and self._is_retain_refused:
            return Refused("the broker does not keep messages, as `retain` asks for")
        async with self._slots:
            return await self._published(topic, body, retain, properties)

    async def _published(
        self, topic: str, body: bytes, retain: bool, properties: Properties | None
    ) -> Outcome:
        sent = self._protocol.publish(topic, body, AT_LEAST_ONCE, retain, properties)
        if sent.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            self.drop()
            return UNCONFIRMED
        with self._confirmations.expected(sent.mid) as confirmation:
            reason = await confirmation
        if reason is None:
            return UNCONFIRMED
        if reason >= 0x80:
            words = NOT_TAKEN.get(reason, f"the broker did not take the message (code {reason})")
            return Refused(words)
        return Delivered()

    def lost(self) -> None:
        super().lost()
        self._confirmations.lose_all()

    def _on_publish(
        self, client: Any, data: Any, mid: int, reason: ReasonCode, properties: Any
    ) -> None:
        self._confirmations.confirm(mid, reason.value)
