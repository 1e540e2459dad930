"""A subscription at an MQTT broker: messages in flight, and their acknowledgement in order."""

import asyncio
import contextlib
import hashlib
import itertools
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from longwire.clock import Moment
from longwire.delivery.destinations.addresses import Address, parse_address
from longwire.delivery.destinations.base import Refused
from longwire.delivery.destinations.connections import ConnectionFailed
from longwire.delivery.destinations.mqtt_connection import (
    AT_LEAST_ONCE,
    DEFAULT_PORTS,
    Login,
    MqttConnection,
    MqttProtocol,
    SubscriberOptions,
    open_socket,
)
from longwire.delivery.http.egress import Egress

# They may all be stored in one commit, for which everybody else waits.
IN_FLIGHT_BYTES_MAX = 4 * 1024 * 1024
# The broker may not have received an acknowledgement that is younger than this, which is well above
# the timeout of a dead connection.
UNCONFIRMED_ACK_S = 60.0
_DISCONNECT_REASONS = {
    0x87: "the broker does not authorize this login",
    0x8B: "the broker is shutting down",
    0x8E: "another client uses our client id",
}


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Address, login, topics and limits of the subscription."""

    address: Address
    login: Login
    prefix: str
    options: SubscriberOptions

    @property
    def topics(self) -> tuple[str, str]:
        """Those of devices, and those of ChirpStack, which not every login may read."""
        return f"{self.prefix}/+/+/+", f"{self.prefix}/+/+/event/+"


def parse_broker_url(
    url: str, version: str, client_id: str, prefix: str, options: SubscriberOptions
) -> BrokerConfig:
    """The configuration from a URL that may have a login in it."""
    scheme, _, rest = url.partition("://")
    login, _, host = rest.rpartition("@")
    username, _, password = login.partition(":")
    return BrokerConfig(
        parse_address(f"{scheme}://{host}", DEFAULT_PORTS),
        Login(version, client_id, unquote(username) or None, unquote(password) or None),
        prefix,
        options,
    )


class InFlightMessage:
    """A received message that is not acknowledged yet."""

    def __init__(self, message: Any, packet_bytes: int, packet_bytes_max: int) -> None:
        self.mid: int = message.mid
        self.qos: int = message.qos
        self.is_repeated: bool = message.dup
        self.is_retained: bool = message.retain
        self.payload: bytes = bytes(message.payload)
        # A truncated payload does not have the original size.
        self.size = len(self.payload) if packet_bytes <= packet_bytes_max else packet_bytes
        try:
            self.topic: str = message.topic
        except UnicodeDecodeError:
            self.topic = ""
        self.arrived: Moment = 0
        self.is_done = False

    @property
    def device(self) -> str:
        """The device level of the topic, which may be logged; the rest has a secret."""
        return [*self.topic.rsplit("/", 2), "", ""][1]

    def is_same_as(self, other: "InFlightMessage") -> bool:
        return self.mid == other.mid and self.digest() == other.digest()

    def digest(self) -> bytes:
        digest = hashlib.blake2b(self.topic.encode(), digest_size=16)
        digest.update(b"\0" + self.payload)
        return digest.digest()


class SubscriptionCut(ConnectionResetError):
    """The connection has ended where the topics besides the first were asked for."""


OnMessage = Callable[[InFlightMessage], Awaitable[None]]


@dataclass(slots=True)
class _MqttArrival:
    digest: bytes
    moment: Moment
    acknowledged_at: float | None = None


class MqttArrivalTimes:
    """First arrival of messages that the broker may send again, by packet id.

    So a repeated message becomes the same record, even if it carries no time. In memory only: lost
    on a restart.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._arrivals_by_mid: OrderedDict[int, _MqttArrival] = OrderedDict()

    def first_arrival(self, message: InFlightMessage, now: Moment) -> Moment:
        digest = message.digest()
        arrival = self._arrivals_by_mid.pop(message.mid, None)
        is_same = message.is_repeated and arrival is not None and arrival.digest == digest
        moment = arrival.moment if arrival is not None and is_same else now
        self._arrivals_by_mid[message.mid] = _MqttArrival(digest, moment)
        if len(self._arrivals_by_mid) > self._capacity:
            self._arrivals_by_mid.popitem(last=False)
        return moment

    def acknowledged(self, message: InFlightMessage) -> None:
        arrival = self._arrivals_by_mid.get(message.mid)
        if arrival is not None:
            arrival.acknowledged_at = time.monotonic()

    def connection_ended(self) -> None:
        """Evict messages whose acknowledgement the broker has received: their ids are free."""
        certain = time.monotonic() - UNCONFIRMED_ACK_S
        for mid, arrival in list(self._arrivals_by_mid.items()):
            if arrival.acknowledged_at is not None and arrival.acknowledged_at < certain:
                del self._arrivals_by_mid[mid]


class MqttSession(MqttConnection):
    """A connection with a subscription; acknowledges messages in the order of their arrival."""

    def __init__(
        self,
        broker: BrokerConfig,
        sock: socket.socket,
        on_message: OnMessage,
        arrivals: MqttArrivalTimes,
    ) -> None:
        super().__init__(MqttProtocol(broker.login, sock, broker.options), sock)
        self._protocol.on_message = self._on_message
        self._protocol.on_subscribe = self._on_subscribe
        self._options = broker.options
        self._on_arrival = on_message
        self._arrivals = arrivals
        self._granted: asyncio.Future[int | None] = self._loop.create_future()
        self._in_flight: deque[InFlightMessage] = deque()
        self._in_flight_bytes = 0
        self._tasks: set[asyncio.Future[None]] = set()
        self._is_finishing = False
        self._is_flushed = asyncio.Event()
        self.is_resumed = False
        self.topics: list[str] = []
        self.denied: list[str] = []  # topics that the login may not read, besides the first
        self.close_reason = "the connection was lost"
        self.closed = asyncio.Event()

    @classmethod
    async def open(
        cls,
        broker: BrokerConfig,
        egress: Egress,
        topics: Sequence[str],
        on_message: OnMessage,
        arrivals: MqttArrivalTimes,
    ) -> "MqttSession":
        session = cls(broker, await open_socket(egress, broker.address), on_message, arrivals)
        try:
            session.is_resumed = (await session.connect()).has_session
            await session._subscribe_to_all(topics)
        except BaseException:
            session.abort()
            raise
        return session

    async def shut_down(self, timeout_s: float) -> None:
        """Accept no more messages, finish those in flight, and disconnect.

        Closing a socket with unread data may reset the connection, and drop acknowledgements that
        were just written. So read on until the broker has received all of them.
        """
        self._is_finishing = True
        self.resume()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                    await asyncio.sleep(0)  # let the done callbacks run
                await self._flush()
        await self.close()

    async def _flush(self) -> None:
        responses = itertools.count(1)

        def on_ping_response() -> None:
            if next(responses) == 2:  # the first may respond to an earlier ping
                self._is_flushed.set()

        self._protocol.on_ping_response = on_ping_response
        self._protocol.send_ping()
        self._protocol.send_ping()
        await self._is_flushed.wait()

    def on_lost(self) -> None:
        super().on_lost()
        if not self._granted.done():
            self._granted.set_result(None)
        for each in list(self._tasks):
            each.cancel()
        self._in_flight.clear()
        self._is_flushed.set()  # nobody is going to respond
        self.closed.set()

    async def _subscribe_to_all(self, topics: Sequence[str]) -> None:
        """One after the other: some brokers end the connection at a topic that is not allowed."""
        first, *others = topics
        granted = await self._subscribe(first)
        if granted is None:
            raise ConnectionResetError
        if granted != AT_LEAST_ONCE:
            raise ConnectionFailed(Refused("the broker does not let this login subscribe"))
        self.topics.append(first)
        for topic in others:
            granted = await self._subscribe(topic)
            if granted is None:
                raise SubscriptionCut
            (self.topics if granted == AT_LEAST_ONCE else self.denied).append(topic)

    async def _subscribe(self, topic: str) -> int | None:
        """The response to it; None if the connection has ended."""
        # No retained messages; MQTT 3.1.1 has no option for that.
        options = SubscribeOptions(qos=AT_LEAST_ONCE, retainHandling=2)
        how: Any = options if self._protocol.is_5 else AT_LEAST_ONCE
        self._granted = self._loop.create_future()
        error_code, _ = self._protocol.subscribe([(topic, how)])
        return await self._granted if error_code == MQTTErrorCode.MQTT_ERR_SUCCESS else None

    def _on_task_done(self, message: InFlightMessage, task: "asyncio.Future[None]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or not self.is_open:
            return
        message.is_done = True
        # In the order of arrival, as the protocol requires.
        while self._in_flight and self._in_flight[0].is_done:
            first = self._in_flight.popleft()
            self._in_flight_bytes -= len(first.payload)
            if first.qos and self._protocol.ack(first.mid, first.qos):
                self.abort()
                return
            self._arrivals.acknowledged(first)
        if not self._is_full:
            self.resume()

    @property
    def _is_full(self) -> bool:
        is_many = len(self._in_flight) >= self._options.in_flight_max
        return is_many or self._in_flight_bytes >= IN_FLIGHT_BYTES_MAX

    # --- callbacks of paho ---

    def _on_disconnect(
        self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        self.close_reason = _DISCONNECT_REASONS.get(reason.value, self.close_reason)
        super()._on_disconnect()

    def _on_subscribe(
        self, client: Any, data: Any, mid: int, reasons: list[ReasonCode], properties: Any
    ) -> None:
        if not self._granted.done():
            self._granted.set_result(next((each.value for each in reasons), None))

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        if self._is_finishing:
            return  # the broker sends it again
        in_flight = InFlightMessage(
            message, self._protocol.incoming_bytes, self._options.packet_bytes_max
        )
        if in_flight.is_repeated and any(in_flight.is_same_as(other) for other in self._in_flight):
            return  # a broker that retransmits early gets one acknowledgement
        self._in_flight.append(in_flight)
        self._in_flight_bytes += len(in_flight.payload)
        task = asyncio.ensure_future(self._on_arrival(in_flight))
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._on_task_done(in_flight, done))
        if self._is_full:
            self.pause()
