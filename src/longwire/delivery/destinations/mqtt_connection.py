"""A connection to an MQTT broker, from the login to its loss.

The protocol is paho's; the socket, its encryption and the event loop are ours. So the connection
goes to an address that the guard has seen, nothing blocks, and nothing connects again by itself or
follows a broker that names another one. Some of paho's own parts are used for that: its version is
pinned, and the tests speak to real brokers.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from longwire.delivery.destinations.addresses import Address
from longwire.delivery.destinations.base import Refused
from longwire.delivery.destinations.connections import NoConnection, trusting
from longwire.delivery.egress import Egress

DEFAULT_PORTS = {"mqtt": 1883, "mqtts": 8883}
AT_LEAST_ONCE = 1  # MQTT's quality of service 1
KEEPALIVE_S = 20
KEEPALIVE_CHECK_S = 2.0
# Of a packet that nobody publishes to us: acknowledgements, and what a broker says of itself.
PACKET_IN_BYTES_MAX = 64 * 1024
READ_BYTES = 64 * 1024
FOR_EVER = 0xFFFFFFFF  # the protocol's

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


@dataclass(frozen=True, slots=True)
class Login:
    """Who we are to the broker, and in which version of the protocol we speak."""

    version: str
    client_id: str = ""
    username: str | None = None
    password: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What a subscriber asks for: a session that outlives the connection, and how much at once."""

    in_flight_max: int
    packet_bytes_max: int  # of a longer one, only the beginning is kept


@dataclass(frozen=True, slots=True)
class Welcome:
    """What a broker says when it lets us in."""

    reason: int
    has_session: bool
    properties: Properties | None


async def connected(egress: Egress, address: Address) -> socket.socket:
    """A socket to the broker, encrypted if its address says so."""
    wire = await egress.connect(address.host, address.port)
    return await encrypted(wire, address.host) if address.scheme == "mqtts" else wire


class Link:
    """One connection; `lost` is called once it is over, by whomever."""

    def __init__(self, protocol: "Protocol", wire: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._wire = wire
        self._protocol = protocol
        self._protocol.on_connect = self._on_connect
        self._protocol.on_disconnect = self._on_disconnect
        self._protocol.on_socket_open = self._on_socket_open
        self._protocol.on_socket_close = self._on_socket_close
        self._protocol.on_socket_register_write = self._on_socket_register_write
        self._protocol.on_socket_unregister_write = self._on_socket_unregister_write
        self._answer: asyncio.Future[Welcome | None] = self._loop.create_future()
        self._keepalive: asyncio.TimerHandle | None = None
        self._is_lost = False
        self._is_reading = False

    @property
    def is_open(self) -> bool:
        return not self._is_lost

    async def welcomed(self) -> Welcome:
        """Log in. Raises NoConnection with the broker's reason for not letting us."""
        self._protocol.start()
        welcome = await self._answer
        if welcome is None:
            raise ConnectionResetError
        if welcome.reason >= 0x80:
            unknown = f"the broker did not let us in (code {welcome.reason})"
            raise NoConnection(Refused(NOT_ACCEPTED.get(welcome.reason, unknown)))
        if getattr(welcome.properties, "MaximumQoS", 1) < AT_LEAST_ONCE:
            raise NoConnection(Refused("the broker does not acknowledge messages"))
        self._keep_alive()
        return welcome

    async def close(self) -> None:
        if self.is_open:
            self._protocol.disconnect()
            self._guarded(self._protocol.loop_write)
        self.drop()

    def drop(self) -> None:
        """Let go at once, without a word."""
        self._protocol.hang_up()
        self.lost()

    def lost(self) -> None:
        self._is_lost = True
        if self._keepalive is not None:
            self._keepalive.cancel()
        if not self._answer.done():
            self._answer.set_result(None)

    def pause(self) -> None:
        """Take nothing more for now: what the broker sends has to wait on its way."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._wire)

    def resume(self) -> None:
        if not self._is_reading and self.is_open:
            self._is_reading = True
            self._loop.add_reader(self._wire, self._read)
            self._loop.call_soon(self._read_decrypted)

    def _read(self) -> None:
        self._guarded(self._protocol.loop_read)
        if self._protocol.has_too_much:
            self.drop()
        self._read_decrypted()

    def _read_decrypted(self) -> None:
        # What has been decrypted already does not make the socket readable again.
        is_waiting = isinstance(self._wire, ssl.SSLSocket) and self.is_open and self._is_reading
        if is_waiting and self._wire.pending():  # type: ignore[attr-defined]
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
            self._answer.set_result(Welcome(reason.value, flags.session_present, properties))

    def _on_disconnect(self, *_: Any) -> None:
        self.lost()

    def _on_socket_open(self, client: Any, data: Any, wire: Any) -> None:
        self._is_reading = True
        self._loop.add_reader(wire, self._read)

    def _on_socket_close(self, client: Any, data: Any, wire: Any) -> None:
        self._is_reading = False
        self._loop.remove_reader(wire)

    def _on_socket_register_write(self, client: Any, data: Any, wire: Any) -> None:
        self._loop.add_writer(wire, self._write)

    def _on_socket_unregister_write(self, client: Any, data: Any, wire: Any) -> None:
        self._loop.remove_writer(wire)


class Protocol(paho.Client):
    """paho's MQTT on a socket that is already connected."""

    def __init__(self, login: Login, wire: socket.socket, standing: Standing | None = None) -> None:
        is_5 = login.version == "5"
        super().__init__(
            CallbackAPIVersion.VERSION2,
            client_id=login.client_id,
            clean_session=None if is_5 else standing is None,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=standing is not None,
        )
        self.max_inflight_messages = 0  # counted by the link, which knows the broker's limit
        if login.username is not None:
            self.username_pw_set(login.username, login.password)
        self._given = wire
        self.is_5 = is_5
        self.on_sign: Callable[[], None] = lambda: None
        self._standing = standing

    @property
    def incoming_bytes(self) -> int:
        """How long the packet is that is being read."""
        return int(self._in_packet["remaining_length"])

    @property
    def has_too_much(self) -> bool:
        """Whether a packet is longer than anything that we have asked for."""
        return self._standing is None and self.incoming_bytes > PACKET_IN_BYTES_MAX

    def start(self) -> None:
        # Where to is only kept for connecting again, which does not happen.
        if self.is_5 and self._standing is not None:
            wishes = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            wishes.SessionExpiryInterval = FOR_EVER
            wishes.ReceiveMaximum = self._standing.in_flight_max
            # What is longer the broker keeps to itself. It could be cut, but not taken apart.
            wishes.MaximumPacketSize = self._standing.packet_bytes_max
            self.connect("given", keepalive=KEEPALIVE_S, clean_start=False, properties=wishes)
        else:
            self.connect("given", keepalive=KEEPALIVE_S)

    def ask_for_a_sign(self) -> None:
        """The broker answers when it has heard everything that was said before."""
        self._send_pingreq()

    def _handle_pingresp(self) -> MQTTErrorCode:
        self.on_sign()
        return super()._handle_pingresp()

    def hang_up(self) -> None:
        if self._sock is None:
            self._given.close()
        self._sock_close()

    def _create_socket(self) -> socket.socket:
        return self._given

    def _sock_recv(self, bufsize: int) -> bytes:
        """Read on, but do not hold on to more of a packet than its beginning."""
        if self._standing is not None:
            del self._in_packet["packet"][self._standing.packet_bytes_max :]
        return super()._sock_recv(min(bufsize, READ_BYTES))


async def encrypted(wire: socket.socket, host: str) -> ssl.SSLSocket:
    """TLS on a connected, non-blocking socket, with the host's name checked."""
    loop = asyncio.get_running_loop()
    encrypted_wire = trusting().wrap_socket(
        wire, server_hostname=host, do_handshake_on_connect=False
    )
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
