"""The listener at a broker: takes what devices publish, and says so after the commit.

The session outlives the connection: what is published while nobody listens waits at the broker. A
message is acknowledged when it is stored, or when it makes no sense and never will; one that cannot
be stored now is tried again and keeps its place. Of several processes on one database one listens
at a time, and another takes its place when it ends.
"""

import asyncio
import contextlib
import hashlib
import itertools
import random
import secrets
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import structlog
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from longwire.clock import SECOND, Moment
from longwire.delivery.destinations.addresses import Address, parse_address
from longwire.delivery.destinations.base import Refused
from longwire.delivery.destinations.connections import ConnectionFailed, outcome_of_error
from longwire.delivery.destinations.mqtt_connection import (
    AT_LEAST_ONCE,
    DEFAULT_PORTS,
    Login,
    MqttConnection,
    MqttProtocol,
    SubscriberOptions,
    open_socket,
)
from longwire.delivery.egress import UNRESTRICTED, EgressDenied
from longwire.errors import (
    BadInput,
    LongwireError,
    NotAuthenticated,
    NotFound,
    TooLarge,
    Unavailable,
)
from longwire.inbound.mqtt_messages import MqttMessage
from longwire.store import leases
from longwire.store.database import Database

CONNECT_TIMEOUT_S = 10.0  # from the name to the subscription, all of it
RECONNECT_MIN_S = 0.5
RECONNECT_MAX_S = 30.0
STEADY_S = 10.0  # a connection that lasted so long was no failure
STORE_AGAIN_MIN_S = 0.2
STORE_AGAIN_MAX_S = 5.0
UNEXPECTED_MAX = 3  # tries of a message that ends in an error which nobody has thought of
HELD_BYTES_MAX = 16 * 1024 * 1024
STOP_TIMEOUT_S = 5.0
LEASE = "mqtt listener"
LEASE_S = 15
LEASE_EVERY_S = 5.0
# Who has acknowledged does not know whether the broker heard of it, until much longer than a
# silent connection is believed in.
DOUBTFUL_S = 60.0
REMEMBERED_MIN = 2_000
COMPLAIN_EVERY_S = 60.0

LISTENING = "listening"
STORED = "stored"
KEPT = "retained"
FAILED = "failed"
OUTCOMES: dict[type[LongwireError], str] = {
    NotAuthenticated: "unknown_token",
    NotFound: "unknown_device",
    TooLarge: "too_large",
    BadInput: "nonsense",
}

SENT_AWAY = {
    0x87: "the broker does not allow this login what it asks for",
    0x8B: "the broker is shutting down",
    0x8E: "another client has come with our client id",
}

Take = Callable[[MqttMessage], Awaitable[None]]

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Where to listen, as whom, to what, and how much at once."""

    address: Address
    login: Login
    prefix: str
    options: SubscriberOptions

    @property
    def topics(self) -> str:
        return f"{self.prefix}/+/+/+"


def parse_broker_url(
    url: str, version: str, client_id: str, prefix: str, options: SubscriberOptions
) -> BrokerConfig:
    """The broker of an address with a login in it."""
    scheme, _, rest = url.partition("://")
    login, _, place = rest.rpartition("@")
    username, _, password = login.partition(":")
    return BrokerConfig(
        parse_address(f"{scheme}://{place}", DEFAULT_PORTS),
        Login(version, client_id, unquote(username) or None, unquote(password) or None),
        prefix,
        options,
    )


def default_client_id(database: Database) -> str:
    """The same for all processes of a database at all times, and for nobody else's."""
    # Twenty characters without a sign are what every broker takes.
    return "longwire" + database.context.keyring.digest("mqtt listener").hex()[:12]


class MqttListener:
    """Listens for as long as it runs, whatever becomes of connections."""

    def __init__(
        self,
        database: Database,
        broker: BrokerConfig,
        take: Take,
        count: Callable[[str], None],
        show: Callable[[bool], None],
    ) -> None:
        """`count` is told what became of each message, and `show` whether it is listening."""
        self._database = database
        self._broker = broker
        self.take = take
        self._count = count
        self._show = show
        self._holder = secrets.token_hex(8)
        self._is_shared = database.engine_name != "sqlite"  # whether others can be there
        self._arrivals = _MqttArrivalTimes(max(REMEMBERED_MIN, 2 * broker.options.in_flight_max))
        self._warnings = _ThrottledLog()
        self._is_known = False
        self.session: _Session | None = None
        self._state = "connecting"

    def describe_state(self) -> str:
        """How it is, in words."""
        return self._state

    def _set_state(self, state: str) -> None:
        self._state = state
        self._show(state == LISTENING)

    async def run(self) -> None:
        """Connect, listen, and connect again, with longer and longer pauses in between."""
        failures = 0
        try:
            while True:
                since = time.monotonic()
                try:
                    if not await self._is_mine():
                        self._set_state("standing by: another process listens")
                        failures = 0
                        await asyncio.sleep(LEASE_EVERY_S)
                        continue
                    reason = await self._listen()
                except LongwireError:
                    reason = "the database does not answer"
                except (ConnectionFailed, EgressDenied, OSError) as error:
                    reason = outcome_of_error(error).reason
                except Exception:
                    reason = "something went wrong that is our fault"
                    log.exception("listening to the broker failed")
                failures = 1 if time.monotonic() - since > STEADY_S else failures + 1
                self._set_state(f"not connected: {reason}")
                self._warnings.say("the broker cannot be listened to", reason=reason)
                await asyncio.sleep(_pause_s(failures, RECONNECT_MIN_S, RECONNECT_MAX_S))
        finally:
            self._set_state("stopped")
            await self._give_up()

    async def _listen(self) -> str:
        """One connection, until it is over; why it is."""
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            session = await _Session.opened(self._broker, self._arrived, self._arrivals)
        self.session = session
        try:
            if self._is_known and not session.has_past:
                log.warning("the broker has forgotten us, and what was published meanwhile")
            self._is_known = True
            self._set_state(LISTENING)
            log.info("listening", broker=str(self._broker.address), topics=self._broker.topics)
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(self._keep_lease(session))
                await session.over.wait()
                keeping.cancel()
            return session.why
        except asyncio.CancelledError:
            await session.finish(STOP_TIMEOUT_S)
            raise
        finally:
            session.abort()
            self._arrivals.connection_ended()

    # --- messages ---

    def _arrived(self, message: "InFlightMessage") -> Awaitable[None]:
        now = self._database.context.clock.now()
        message.arrived = self._arrivals.moment_of(message, now) if message.qos else now
        return self._handle(message)

    async def _handle(self, message: "InFlightMessage") -> None:
        """What becomes of a message; when this returns it can be acknowledged."""
        self._count(await self._outcome(message))

    async def _outcome(self, message: "InFlightMessage") -> str:
        if message.is_kept:
            # It was said before we came. What is said while we are away waits in our session.
            return KEPT
        unexpected = 0
        tries = 0
        while True:
            try:
                await self.take(self._published(message))
                return STORED
            except Unavailable as error:
                self._warnings.say("messages of the broker wait", reason=str(error))
            except LongwireError as error:
                outcome = next(
                    (name for kind, name in OUTCOMES.items() if isinstance(error, kind)), FAILED
                )
                self._warnings.say(
                    "a message of the broker was dropped",
                    key=outcome,
                    outcome=outcome,
                    reason=_one_line(error.message),
                    device=_one_line(message.device),
                )
                return outcome
            except Exception:
                unexpected += 1
                log.exception("a message of the broker could not be stored")
                if unexpected == UNEXPECTED_MAX:
                    return FAILED
            tries += 1
            await asyncio.sleep(_pause_s(tries, STORE_AGAIN_MIN_S, STORE_AGAIN_MAX_S))

    def _published(self, message: "InFlightMessage") -> MqttMessage:
        below = message.topic.removeprefix(self._broker.prefix + "/")
        return MqttMessage(below, message.payload, message.size, message.arrived)

    # --- one process among others ---

    async def _is_mine(self) -> bool:
        if not self._is_shared:
            return True
        return await self._database.write(
            lambda tx: leases.acquire(tx, LEASE, self._holder, LEASE_S * SECOND)
        )

    async def _keep_lease(self, session: "_Session") -> None:
        """Say again and again that it is us who listen; stop when that cannot be said."""
        said_at = time.monotonic()
        while self._is_shared:
            await asyncio.sleep(LEASE_EVERY_S)
            with contextlib.suppress(LongwireError):
                if not await self._is_mine():
                    break
                said_at = time.monotonic()
            if time.monotonic() - said_at > LEASE_S - LEASE_EVERY_S:
                break
        else:
            return
        session.abort()

    async def _give_up(self) -> None:
        if self._is_shared:
            # It ends by itself soon, too.
            with contextlib.suppress(Exception):
                await self._database.write(lambda tx: leases.release(tx, LEASE, self._holder))


class InFlightMessage:
    """A message that came, until the broker is told that it did."""

    def __init__(self, message: Any, packet_bytes: int, packet_bytes_max: int) -> None:
        self.mid: int = message.mid
        self.qos: int = message.qos
        self.is_repeated: bool = message.dup
        self.is_kept: bool = message.retain
        self.payload: bytes = bytes(message.payload)
        # Of a packet that was cut, what is left does not tell how much there was.
        self.size = len(self.payload) if packet_bytes <= packet_bytes_max else packet_bytes
        try:
            self.topic: str = message.topic
        except UnicodeDecodeError:
            self.topic = ""
        self.arrived: Moment = 0
        self.is_done = False

    @property
    def device(self) -> str:
        """What the topic calls the device. The rest of it holds a secret."""
        return [*self.topic.rsplit("/", 2), "", ""][1]

    def is_same_as(self, other: "InFlightMessage") -> bool:
        return self.mid == other.mid and self.digest() == other.digest()

    def digest(self) -> bytes:
        said = hashlib.blake2b(self.topic.encode(), digest_size=16)
        said.update(b"\0" + self.payload)
        return said.digest()


OnMessage = Callable[[InFlightMessage], Awaitable[None]]


class _Session(MqttConnection):
    """A connection on which we are subscribed."""

    def __init__(
        self,
        broker: BrokerConfig,
        wire: socket.socket,
        arrived: OnMessage,
        arrivals: "_MqttArrivalTimes",
    ) -> None:
        super().__init__(MqttProtocol(broker.login, wire, broker.options), wire)
        self._protocol.on_message = self._on_message
        self._protocol.on_subscribe = self._on_subscribe
        self._options = broker.options
        self._arrived = arrived
        self._arrivals = arrivals
        self._granted: asyncio.Future[int | None] = self._loop.create_future()
        self._held: deque[InFlightMessage] = deque()
        self._held_bytes = 0
        self._handling: set[asyncio.Future[None]] = set()
        self._is_finishing = False
        self._is_heard = asyncio.Event()
        self.has_past = False
        self.why = "the connection was lost"
        self.over = asyncio.Event()

    @classmethod
    async def opened(
        cls, broker: BrokerConfig, arrived: OnMessage, arrivals: "_MqttArrivalTimes"
    ) -> "_Session":
        session = cls(broker, await open_socket(UNRESTRICTED, broker.address), arrived, arrivals)
        try:
            session.has_past = (await session.connect()).has_session
            await session._subscribe(broker.topics)
        except BaseException:
            session.abort()
            raise
        return session

    async def finish(self, timeout_s: float) -> None:
        """Take nothing more, bring to an end what was taken, and say goodbye.

        A system that closes a connection on which something is left to read may drop what was
        written last, too. So we read on, whatever comes, until the broker has heard it all.
        """
        self._is_finishing = True
        self.resume()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self._handling:
                    await asyncio.wait(self._handling)
                    await asyncio.sleep(0)  # for what is done when they are
                await self._flush()
        await self.close()

    async def _flush(self) -> None:
        signs = itertools.count(1)

        def on_ping_response() -> None:
            if next(signs) == 2:  # the first may be for an earlier question
                self._is_heard.set()

        self._protocol.on_ping_response = on_ping_response
        self._protocol.send_ping()
        self._protocol.send_ping()
        await self._is_heard.wait()

    def on_lost(self) -> None:
        super().on_lost()
        if not self._granted.done():
            self._granted.set_result(None)
        for each in list(self._handling):
            each.cancel()
        self._held.clear()
        self._is_heard.set()  # nobody is there to hear any more
        self.over.set()

    async def _subscribe(self, topics: str) -> None:
        # What the broker has kept from before is not for us; MQTT 3.1.1 cannot say so.
        options = SubscribeOptions(qos=AT_LEAST_ONCE, retainHandling=2)
        asked, _ = (
            self._protocol.subscribe(topics, options=options)
            if self._protocol.is_5
            else self._protocol.subscribe(topics, AT_LEAST_ONCE)
        )
        granted = await self._granted if asked == MQTTErrorCode.MQTT_ERR_SUCCESS else None
        if granted is None:
            raise ConnectionResetError
        if granted != AT_LEAST_ONCE:
            raise ConnectionFailed(Refused("the broker does not let this login subscribe"))

    def _done(self, message: InFlightMessage, handling: "asyncio.Future[None]") -> None:
        self._handling.discard(handling)
        if handling.cancelled() or not self.is_open:
            return
        message.is_done = True
        # In the order in which they came, as the protocol wants it.
        while self._held and self._held[0].is_done:
            first = self._held.popleft()
            self._held_bytes -= len(first.payload)
            if first.qos and self._protocol.ack(first.mid, first.qos):
                self.abort()
                return
            self._arrivals.acknowledged(first)
        if not self._is_full:
            self.resume()

    @property
    def _is_full(self) -> bool:
        is_many = len(self._held) >= self._options.in_flight_max
        return is_many or self._held_bytes >= HELD_BYTES_MAX

    # What paho tells us; see the link.

    def _on_disconnect(
        self, client: Any, data: Any, flags: Any, reason: ReasonCode, properties: Any
    ) -> None:
        self.why = SENT_AWAY.get(reason.value, self.why)
        super()._on_disconnect()

    def _on_subscribe(
        self, client: Any, data: Any, mid: int, reasons: list[ReasonCode], properties: Any
    ) -> None:
        if not self._granted.done():
            self._granted.set_result(reasons[0].value)

    def _on_message(self, client: Any, data: Any, message: Any) -> None:
        if self._is_finishing:
            return  # it comes again
        held = InFlightMessage(
            message, self._protocol.incoming_bytes, self._options.packet_bytes_max
        )
        if held.is_repeated and any(held.is_same_as(other) for other in self._held):
            return  # some brokers become impatient; one acknowledgement will do
        self._held.append(held)
        self._held_bytes += len(held.payload)
        handling = asyncio.ensure_future(self._arrived(held))
        self._handling.add(handling)
        handling.add_done_callback(lambda done: self._done(held, done))
        if self._is_full:
            self.pause()


@dataclass(slots=True)
class _MqttArrival:
    digest: bytes
    moment: Moment
    acknowledged_at: float | None = None


class _MqttArrivalTimes:
    """When messages came that the broker may send once more, by the numbers it gives them.

    So a repetition is the same record even if it does not say when it was. Across a restart of the
    process this is forgotten.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[int, _MqttArrival] = OrderedDict()

    def moment_of(self, message: InFlightMessage, now: Moment) -> Moment:
        digest = message.digest()
        known = self._known.pop(message.mid, None)
        is_same = message.is_repeated and known is not None and known.digest == digest
        moment = known.moment if known is not None and is_same else now
        self._known[message.mid] = _MqttArrival(digest, moment)
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return moment

    def acknowledged(self, message: InFlightMessage) -> None:
        known = self._known.get(message.mid)
        if known is not None:
            known.acknowledged_at = time.monotonic()

    def connection_ended(self) -> None:
        """What was acknowledged long before the end was heard of, and its number is free."""
        certain = time.monotonic() - DOUBTFUL_S
        for mid, known in list(self._known.items()):
            if known.acknowledged_at is not None and known.acknowledged_at < certain:
                del self._known[mid]


class _ThrottledLog:
    """Says the same thing once in a while, however often it happens."""

    def __init__(self) -> None:
        self._said: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}

    def say(self, event: str, *, key: str = "", **words: Any) -> None:
        about = event + key
        now = time.monotonic()
        if now - self._said.get(about, -COMPLAIN_EVERY_S) < COMPLAIN_EVERY_S:
            self._unsaid[about] = self._unsaid.get(about, 0) + 1
            return
        self._said[about] = now
        log.warning(event, **words, unsaid=self._unsaid.pop(about, 0))


def _pause_s(tries: int, least_s: float, most_s: float) -> float:
    """Twice as long each time, and never at the same moment as others."""
    return min(most_s, least_s * float(2 ** min(tries - 1, 16))) * random.uniform(0.5, 1)


def _one_line(text: str) -> str:
    """A text of somebody else's, as it can stand in a log."""
    return ascii(text[:200])[1:-1]
