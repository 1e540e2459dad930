"""A connection to an MQTT broker, from the login to its loss.

The protocol is paho's, driven by the event loop over a socket that the egress guard has opened. So
nothing blocks, reconnects by itself or follows a redirect to another broker. paho has no hook for
a socket of ours, nor limits for what it reads: `MqttProtocol` overrides private methods for that,
and pyproject.toml bounds paho's version.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from longwire.dataclass import dataclass
from longwire.delivery.destinations.addresses import Address
from longwire.delivery.destinations.base import FailureCode, Refused
from longwire.delivery.destinations.connections import ConnectionFailed, default_tls_context
from longwire.delivery.destinations.inbound_limit import InboundLimit
from longwire.delivery.http.egress import Egress

DEFAULT_PORTS = {"mqtt": 1883, "mqtts": 8883}
AT_LEAST_ONCE = 1  # MQTT's quality of service 1
KEEPALIVE_S = 20
KEEPALIVE_CHECK_S = 2.0
# Of a packet to a publisher: acknowledgements, and the broker's properties.
PACKET_IN_BYTES_MAX = 64 * 1024
READ_BYTES = 64 * 1024
SESSION_NEVER_EXPIRES = 0xFFFFFFFF  # the protocol's

LOGIN_REJECTED = Refused("the broker rejected the login", code=FailureCode.LOGIN_REJECTED)
BUSY = Refused("the broker is busy")
REDIRECTS = Refused("the broker redirects to another one, which is not followed")
CONNECT_ERRORS = {
    0x84: Refused("the broker does not support this MQTT version"),
    0x85: Refused("the broker rejected the client id", code=FailureCode.LOGIN_REJECTED),
    0x86: LOGIN_REJECTED,
    0x87: LOGIN_REJECTED,
    0x88: Refused("the broker is not available"),
    0x89: BUSY,
    0x8A: LOGIN_REJECTED,
    0x8C: LOGIN_REJECTED,
    0x97: Refused("quota exceeded at the broker"),
    0x9C: REDIRECTS,
    0x9D: REDIRECTS,
    0x9F: BUSY,
}


@dataclass(frozen=True, slots=True)
class Login:
    """The protocol version, the client id and the credentials."""

    version: str
    client_id: str = ""
    username: str | None = None
    password: str | None = None


@dataclass(frozen=True, slots=True)
class SubscriberOptions:
    """A subscriber's limits; its session outlives the connection."""

    in_flight_max: int
    packet_bytes_max: int  # longer packets are truncated


@dataclass(frozen=True, slots=True)
class ConnAck:
    """The broker's response to CONNECT."""

    reason: int
    has_session: bool
    properties: Properties | None


async def open_socket(egress: Egress, address: Address) -> socket.socket:
    """A connected socket to the broker, with TLS for mqtts."""
    sock = await egress.connect(address.host, address.port)
    return await wrap_tls(sock, address.host) if address.scheme == "mqtts" else sock


class MqttConnection:
    """One connection; `on_lost` is called when it ends, whoever closed it."""

    def __init__(self, protocol: "MqttProtocol", sock: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._protocol = protocol
        self._protocol.on_connect = self._on_connect
        self._protocol.on_disconnect = self._on_disconnect
        self._protocol.on_socket_open = self._on_socket_open
        self._protocol.on_socket_close = self._on_socket_close
        self._protocol.on_socket_register_write = self._on_socket_register_write
        self._protocol.on_socket_unregister_write = self._on_socket_unregister_write
        self._connack: asyncio.Future[ConnAck | None] = self._loop.create_future()
        self._keepalive: asyncio.TimerHandle | None = None
        self._is_lost = False
        self._is_reading = False

    @property
    def is_open(self) -> bool:
        return not self._is_lost

    async def connect(self) -> ConnAck:
        """Log in. Raises ConnectionFailed with the broker's reason."""
        self._protocol.start()
        connack = await self._connack
        if connack is None:
            raise ConnectionResetError
        if connack.reason >= 0x80:
            unknown = Refused(f"the broker rejected the connection (code {connack.reason})")
            raise ConnectionFailed(CONNECT_ERRORS.get(connack.reason, unknown))
        if getattr(connack.properties, "MaximumQoS", 1) < AT_LEAST_ONCE:
            raise ConnectionFailed(Refused("the broker does not acknowledge messages"))
        self._keep_alive()
        return connack

    async def close(self) -> None:
        if self.is_open:
            self._protocol.disconnect()
            self._run_step(self._protocol.loop_write)
        self.abort()

    def abort(self) -> None:
        """Close at once, without DISCONNECT."""
        self._protocol.close_socket()
        self.on_lost()

    def on_lost(self) -> None:
        self._is_lost = True
        if self._keepalive is not None:
            self._keepalive.cancel()
        if not self._connack.done():
            self._connack.set_result(None)

    def pause(self) -> None:
        """Stop reading, so that TCP's flow control holds the broker back."""
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._sock)

    def resume(self) -> None:
        if not self._is_reading and self.is_open:
            self._is_reading = True
            self._loop.add_reader(self._sock, self._read)
            self._loop.call_soon(self._read_decrypted)

    def _read(self) -> None:
        self._run_step(self._protocol.loop_read)
        if self._protocol.exceeds_packet_limit:
            self.abort()
        self._read_decrypted()

    def _read_decrypted(self) -> None:
        # Data that is already decrypted does not make the socket readable.
        is_waiting = isinstance(self._sock, ssl.SSLSocket) and self.is_open and self._is_reading
        if is_waiting and self._sock.pending():  # type: ignore[attr-defined]
            self._loop.call_soon(self._read)

    def _write(self) -> None:
        self._run_step(self._protocol.loop_write)

    def _keep_alive(self) -> None:
        self._run_step(self._protocol.loop_misc)
        if self.is_open:
            self._keepalive = self._loop.call_later(KEEPALIVE_CHECK_S, self._keep_alive)

    def _run_step(self, step: Callable[[], Any]) -> None:
        try:
            step()
        except Exception:
            # Invalid input makes paho raise anything.
            self.abort()

    # paho's callbacks. It holds a lock meanwhile, so nothing here calls paho.

    def _on_connect(
        self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if not self._connack.done():
            self._connack.set_result(ConnAck(reason.value, flags.session_present, properties))

    def _on_disconnect(self, *_: Any) -> None:
        self.on_lost()

    def _on_socket_open(self, client: Any, data: Any, sock: Any) -> None:
        self._is_reading = True
        self._loop.add_reader(sock, self._read)

    def _on_socket_close(self, client: Any, data: Any, sock: Any) -> None:
        self._is_reading = False
        self._loop.remove_reader(sock)

    def _on_socket_register_write(self, client: Any, data: Any, sock: Any) -> None:
        self._loop.add_writer(sock, self._write)

    def _on_socket_unregister_write(self, client: Any, data: Any, sock: Any) -> None:
        self._loop.remove_writer(sock)


class MqttProtocol(paho.Client):
    """paho's MQTT on a socket that is already connected."""

    def __init__(
        self,
        login: Login,
        sock: socket.socket,
        options: SubscriberOptions | None = None,
        *,
        limit: InboundLimit | None = None,
    ) -> None:
        is_5 = login.version == "5"
        super().__init__(
            CallbackAPIVersion.VERSION2,
            client_id=login.client_id,
            clean_session=None if is_5 else options is None,
            protocol=MQTTProtocolVersion.MQTTv5 if is_5 else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=options is not None,
        )
        self.max_inflight_messages = 0  # unlimited; the session knows the broker's limit
        if login.username is not None:
            self.username_pw_set(login.username, login.password)
        self._open_socket = sock
        self.is_5 = is_5
        self.on_ping_response: Callable[[], None] = lambda: None
        self._options = options
        self._limit = limit

    @property
    def incoming_bytes(self) -> int:
        """Size of the packet that is being read."""
        return int(self._in_packet["remaining_length"])

    @property
    def exceeds_packet_limit(self) -> bool:
        """Whether the packet that is being read is larger than a publisher expects."""
        return self._options is None and self.incoming_bytes > PACKET_IN_BYTES_MAX

    def start(self) -> None:
        # The host is only used to reconnect, which does not happen.
        if self.is_5 and self._options is not None:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = SESSION_NEVER_EXPIRES
            properties.ReceiveMaximum = self._options.in_flight_max
            # The broker drops larger messages; truncated ones could not be parsed.
            properties.MaximumPacketSize = self._options.packet_bytes_max
            self.connect(
                "connected", keepalive=KEEPALIVE_S, clean_start=False, properties=properties
            )
        else:
            self.connect("connected", keepalive=KEEPALIVE_S)

    def send_ping(self) -> None:
        """The response comes after the broker has processed everything sent before."""
        self._send_pingreq()

    def _handle_pingresp(self) -> MQTTErrorCode:
        self.on_ping_response()
        return super()._handle_pingresp()

    def close_socket(self) -> None:
        if self._sock is None:
            self._open_socket.close()
        self._sock_close()

    def _create_socket(self) -> socket.socket:
        return self._open_socket

    def _sock_recv(self, bufsize: int) -> bytes:
        """Truncate the packet that is being read, so that its size does not matter."""
        if self._options is not None:
            del self._in_packet["packet"][self._options.packet_bytes_max :]
        received = super()._sock_recv(min(bufsize, READ_BYTES))
        if self._limit is not None:
            self._limit.take(1, len(received))
        return received


async def wrap_tls(sock: socket.socket, host: str) -> ssl.SSLSocket:
    """TLS on a connected, non-blocking socket, with the host's name checked."""
    loop = asyncio.get_running_loop()
    tls_sock = default_tls_context().wrap_socket(
        sock, server_hostname=host, do_handshake_on_connect=False
    )
    try:
        while True:
            try:
                tls_sock.do_handshake()
                return tls_sock
            except ssl.SSLWantReadError:
                await _ready(tls_sock, loop.add_reader, loop.remove_reader)
            except ssl.SSLWantWriteError:
                await _ready(tls_sock, loop.add_writer, loop.remove_writer)
    except BaseException:
        tls_sock.close()
        raise


async def _ready(
    sock: ssl.SSLSocket, add: Callable[..., None], remove: Callable[[ssl.SSLSocket], object]
) -> None:
    ready = asyncio.Event()
    add(sock, ready.set)
    try:
        await ready.wait()
    finally:
        remove(sock)
