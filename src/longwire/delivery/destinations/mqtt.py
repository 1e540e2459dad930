"""MQTT: each message is published with QoS 1, and delivered when the broker has acknowledged it.

The protocol is paho's; the socket, its encryption and the event loop are ours. So the connection
goes to an address that the guard has seen, nothing blocks, and nothing connects again by itself or
follows a broker that names another one.

In MQTT 3.1.1 an acknowledgement has no room for a refusal: a broker that does not let a login
publish says nothing, or hangs up.
"""

import asyncio
import builtins
import socket
import ssl
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
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
    NoConnection,
    SharedConnection,
    failure,
    trusting,
)
from longwire.delivery.egress import Egress
from longwire.delivery.formats import FORMATS

DEFAULT_PORTS = {"mqtt": 1883, "mqtts": 8883}
AT_LEAST_ONCE = 1  # MQTT's quality of service 1
KEEPALIVE_S = 20
KEEPALIVE_CHECK_S = 2.0
IN_FLIGHT_MAX = 20  # as many as common brokers take by default
TOPIC_BYTES_MAX = 65_535  # the protocol's
PUBLISH_OVERHEAD_BYTES = 64  # around topic, properties and body, generously
# Nobody publishes to us, so what comes are acknowledgements.
PACKET_IN_BYTES_MAX = 64 * 1024

NOT_ACCEPTED = {
    0x84: "the broker does not speak this version of MQTT",
    0x85: "the broker did not accept the client id",
    0x86: "the broker did not accept the login",
    0x87: "the broker did not accept the login",
    0x88: "the broker is not available",
    0x89: "the broker is too busy",
    0x8A: "the broker did not accept the login",
    0x8C: "the broker did not accept the login",
    0x97: "the broker has no room for another connection",
    0x9C: "the broker sends to another one, which is not followed",
    0x9D: "the broker sends to another one, which is not followed",
    0x9F: "the broker is too busy",
}
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
        wire = await self._egress.connect(self._address.host, self._address.port)
        if self._address.scheme == "mqtts":
            wire = await encrypted(wire, trusting(), self._address.host)
        session = _Session(self._params, wire)
        try:
            await session.log_in()
        except BaseException:
            session.drop()
            raise
        return session


_Welcome = tuple[int, Properties | None]  # the broker's reason code, and its limits


class _Session:
    """One connection, from the login to its loss."""

    def __init__(self, params: MqttParams, wire: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._wire = wire
        self._protocol = _Protocol(params, wire)
        self._protocol.on_connect = self._on_connect
        self._protocol.on_disconnect = self._on_disconnect
        self._protocol.on_publish = self._on_publish
        self._protocol.on_socket_open = self._on_socket_open
        self._protocol.on_socket_close = self._on_socket_close
        self._protocol.on_socket_register_write = self._on_socket_register_write
        self._protocol.on_socket_unregister_write = self._on_socket_unregister_write
        self._answer: asyncio.Future[_Welcome | None] = self._loop.create_future()
        self._confirmations = Confirmations[int](on_silence=self.drop)
        self._slots = asyncio.Semaphore(IN_FLIGHT_MAX)
        self._packet_bytes_max: int | None = None
        self._is_retain_refused = False
        self._keepalive: asyncio.TimerHandle | None = None
        self._is_lost = False

    @property
    def is_open(self) -> bool:
        return not self._is_lost

    async def log_in(self) -> None:
        self._protocol.start()
        answer = await self._answer
        if answer is None:
            raise ConnectionResetError
        reason, properties = answer
        if reason >= 0x80:
            words = NOT_ACCEPTED.get(reason, f"the broker did not let us in (code {reason})")
            raise NoConnection(Refused(words))
        if getattr(properties, "MaximumQoS", 1) < AT_LEAST_ONCE:
            raise NoConnection(Refused("the broker does not acknowledge messages"))
        receive_maximum = getattr(properties, "ReceiveMaximum", IN_FLIGHT_MAX)
        self._slots = asyncio.Semaphore(max(1, min(IN_FLIGHT_MAX, receive_maximum)))
        self._packet_bytes_max = getattr(properties, "MaximumPacketSize", None)
        self._is_retain_refused = getattr(properties, "RetainAvailable", 1) == 0
        self._keep_alive()

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

    async def close(self) -> None:
        if self.is_open:
            self._protocol.disconnect()
            self._guarded(self._protocol.loop_write)
        self.drop()

    def drop(self) -> None:
        """Let go at once, without a word."""
        self._protocol.hang_up()
        self._lost()

    def _lost(self) -> None:
        self._is_lost = True
        if self._keepalive is not None:
            self._keepalive.cancel()
        if not self._answer.done():
            self._answer.set_result(None)
        self._confirmations.lose_all()

    def _read(self) -> None:
        self._guarded(self._protocol.loop_read)
        if self._protocol.incoming_bytes > PACKET_IN_BYTES_MAX:
            self.drop()
        # What has been decrypted already does not make the socket readable again.
        if isinstance(self._wire, ssl.SSLSocket) and self._wire.pending():
            self._loop.call_soon(self._read)

    def _write(self) -> None:
        self._guarded(self._protocol.loop_write)

    def _keep_alive(self) -> None:
        self._guarded(self._protocol.loop_misc)
        if self.is_open:
            self._keepalive = self._loop.call_later(KEEPALIVE_CHECK_S, self._keep_alive)

    def _guarded(self, step: Callable[[], Any]) -> None:
        try:
            step()
        except Exception:
            # Whatever the broker has sent, it was not MQTT.
            self.drop()

    # What paho tells us. It holds a lock meanwhile, so nothing here calls it back.

    def _on_connect(
        self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if not self._answer.done():
            self._answer.set_result((reason.value, properties))

    def _on_disconnect(self, *_: Any) -> None:
        self._lost()

    def _on_publish(
        self, client: Any, data: Any, mid: int, reason: ReasonCode, properties: Any
    ) -> None:
        self._confirmations.confirm(mid, reason.value)

    def _on_socket_open(self, client: Any, data: Any, wire: Any) -> None:
        self._loop.add_reader(wire, self._read)

    def _on_socket_close(self, client: Any, data: Any, wire: Any) -> None:
        self._loop.remove_reader(wire)

    def _on_socket_register_write(self, client: Any, data: Any, wire: Any) -> None:
        self._loop.add_writer(wire, self._write)

    def _on_socket_unregister_write(self, client: Any, data: Any, wire: Any) -> None:
        self._loop.remove_writer(wire)


class _Protocol(paho.Client):
    """paho's MQTT on a socket that is already connected."""

    def __init__(self, params: MqttParams, wire: socket.socket) -> None:
        is_5 = params.version == "5"
        super().__init__(
            CallbackAPIVersion.VERSION2,
            client_id=params.client_id or "",
            clean_session=None if is_5 else True,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
        )
        self.max_inflight_messages = 0  # counted by the session, which knows the broker's limit
        if params.username is not None:
            self.username_pw_set(params.username, params.password)
        self._given = wire

    @property
    def incoming_bytes(self) -> int:
        """How long the packet is that is being read."""
        return int(self._in_packet["remaining_length"])

    def start(self) -> None:
        # Where to is only kept for connecting again, which does not happen.
        self.connect("given", keepalive=KEEPALIVE_S)

    def hang_up(self) -> None:
        if self._sock is None:
            self._given.close()
        self._sock_close()

    def _create_socket(self) -> socket.socket:
        return self._given


async def encrypted(wire: socket.socket, trust: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    """TLS on a connected, non-blocking socket, with the host's name checked."""
    loop = asyncio.get_running_loop()
    encrypted_wire = trust.wrap_socket(wire, server_hostname=host, do_handshake_on_connect=False)
    try:
        while True:
            try:
                encrypted_wire.do_handshake()
                return encrypted_wire
            except ssl.SSLWantReadError:
                await _ready(encrypted_wire, loop.add_reader, loop.remove_reader)
            except ssl.SSLWantWriteError:
                await _ready(encrypted_wire, loop.add_writer, loop.remove_writer)
    except BaseException:
        encrypted_wire.close()
        raise


async def _ready(
    wire: ssl.SSLSocket, add: Callable[..., None], remove: Callable[[ssl.SSLSocket], object]
) -> None:
    ready = asyncio.Event()
    add(wire, ready.set)
    try:
        await ready.wait()
    finally:
        remove(wire)
