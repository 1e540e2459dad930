"""The MQTT listener: subscribes at a broker and acknowledges messages after the commit.

The session is persistent: the broker queues what is published while nobody is connected. A message
is acknowledged when it is stored or invalid; one that cannot be stored now is retried and keeps its
place. Of several processes on one database the one with the lease listens; another takes over when
the lease ends.
"""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from enum import Enum
from secrets import SystemRandom
from typing import Any

import structlog

from longwire.delivery.destinations.connections import ConnectionFailed, outcome_of_error
from longwire.delivery.http.egress import Egress, EgressDenied
from longwire.errors import (
    BadInput,
    LimitReached,
    LongwireError,
    NotAuthenticated,
    NotFound,
    TooLarge,
    TooManyRequests,
    Unavailable,
)
from longwire.inbound.mqtt_messages import MqttMessage
from longwire.inbound.mqtt_session import (
    BrokerConfig,
    InFlightMessage,
    MqttArrivalTimes,
    MqttSession,
    SubscriptionCut,
)
from longwire.store.database import Database
from longwire.store.leases import open_named_leases
from longwire.work.leases import HeldLeases

CONNECT_TIMEOUT_S = 10.0  # from the name lookup to the subscription
RECONNECT_MIN_S = 0.5
RECONNECT_MAX_S = 30.0
STABLE_S = 10.0  # a connection that lasted so long resets the backoff
STORE_RETRY_MIN_S = 0.2
STORE_RETRY_MAX_S = 5.0
UNEXPECTED_ERRORS_MAX = 3  # attempts of a message that fails with an unexpected error
STOP_TIMEOUT_S = 5.0
LEASE = "mqtt listener"
LEASE_S = 15.0
LEASE_RENEWAL_S = 5.0
ARRIVALS_MIN = 2_000
WARNING_INTERVAL_S = 60.0
STORED = "stored"
RETAINED = "retained"
FAILED = "failed"
OUTCOMES: dict[type[LongwireError], str] = {
    NotAuthenticated: "unknown_token",
    NotFound: "unknown_device",
    TooLarge: "too_large",
    BadInput: "invalid",
    LimitReached: "limit_reached",
}
ALL_OUTCOMES = (STORED, RETAINED, FAILED, *OUTCOMES.values())
HandleMessage = Callable[[MqttMessage], Awaitable[None]]
_RANDOM = SystemRandom()
log = structlog.get_logger()


class ListenerState(Enum):
    """Whether the listener receives messages."""

    CONNECTING = "connecting"
    LISTENING = "listening"
    STANDBY = "standing by"
    DISCONNECTED = "not connected"
    STOPPED = "stopped"


def default_client_id(database: Database) -> str:
    """A client id that is stable for a database, and unique to it."""
    # Every broker accepts up to 23 letters and digits.
    return "longwire" + database.context.keyring.digest("mqtt listener").hex()[:12]


class MqttListener:
    """Listens until it is cancelled, and reconnects when the connection is lost."""

    def __init__(
        self,
        database: Database,
        broker: BrokerConfig,
        handle: HandleMessage,
        count_outcome: Callable[[str], None],
        set_connected: Callable[[bool], None],
    ) -> None:
        """`count_outcome` gets the outcome of each message, `set_connected` whether it listens."""
        self._database = database
        self._broker = broker
        self._egress = Egress.build_unrestricted()
        self.handle = handle
        self._count_outcome = count_outcome
        self._set_connected = set_connected
        self._leases = HeldLeases(open_named_leases(database), database.context.clock, LEASE_S)
        self._arrivals = MqttArrivalTimes(max(ARRIVALS_MIN, 2 * broker.options.in_flight_max))
        self._warnings = ThrottledLog()
        self._was_connected = False
        self._was_cut = self._is_cut = False  # by a broker that denies topics besides the first
        self.session: MqttSession | None = None
        self._state = ListenerState.CONNECTING
        self._detail = ""

    def describe_state(self) -> str:
        """The state for people, with the reason if it does not listen."""
        return f"{self._state.value}: {self._detail}" if self._detail else self._state.value

    def _set_state(self, state: ListenerState, detail: str = "") -> None:
        self._state = state
        self._detail = detail
        self._set_connected(state is ListenerState.LISTENING)

    async def run(self) -> None:
        """Connect, listen, and reconnect with exponential backoff."""
        failures = 0
        try:
            while True:
                since = time.monotonic()
                reason = await self._listen_with_lease()
                if reason is None:
                    self._set_state(ListenerState.STANDBY, "another process listens")
                    failures = 0
                    await asyncio.sleep(LEASE_RENEWAL_S)
                    continue
                failures = 1 if time.monotonic() - since > STABLE_S else failures + 1
                self._set_state(ListenerState.DISCONNECTED, reason)
                self._warnings.warn("mqtt broker unavailable", reason=reason)
                await asyncio.sleep(_backoff_s(failures, RECONNECT_MIN_S, RECONNECT_MAX_S))
        finally:
            self._set_state(ListenerState.STOPPED)
            with contextlib.suppress(Exception):  # it expires soon anyway
                await self._leases.release_all()

    async def _listen_with_lease(self) -> str | None:
        """Why the connection ended or failed; None if another process has the lease."""
        try:
            return await self._listen() if await self._leases.hold(LEASE) else None
        except LongwireError:
            return "the database is unavailable"
        except (ConnectionFailed, EgressDenied, OSError) as error:
            return outcome_of_error(error).reason
        except Exception:
            log.exception("mqtt listener failed")
            return "internal error"

    async def _listen(self) -> str:
        """Listen on one connection until it is closed; returns the reason."""
        session = await self._open_session()
        self.session = session
        try:
            if self._was_connected and not session.is_resumed:
                log.warning("mqtt session lost, messages published meanwhile may be missing")
            self._was_connected = True
            self._set_state(ListenerState.LISTENING)
            log.info("mqtt listening", broker=str(self._broker.address), topics=session.topics)
            if session.denied:
                log.warning("mqtt subscription denied", topics=session.denied)
            async with asyncio.TaskGroup() as group:
                renewal = group.create_task(self._keep_lease(session))
                began = time.monotonic()
                await session.closed.wait()
                renewal.cancel()
            self._is_cut = bool(session.denied) and time.monotonic() - began < STABLE_S
            return session.close_reason
        except asyncio.CancelledError:
            await session.shut_down(STOP_TIMEOUT_S)
            raise
        finally:
            session.abort()
            self._arrivals.connection_ended()

    async def _open_session(self) -> MqttSession:
        topics = self._broker.topics[:1] if self._is_cut else self._broker.topics
        self._is_cut = False  # the next time all are asked for again: rights change
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                return await MqttSession.open(
                    self._broker, self._egress, topics, self._on_arrival, self._arrivals
                )
        except SubscriptionCut:
            self._is_cut = True
            if not self._was_cut:
                self._was_cut = True
                log.warning("mqtt subscription ends the connection", topics=topics[1:])
            raise

    # --- messages ---

    def _on_arrival(self, message: InFlightMessage) -> Awaitable[None]:
        now = self._database.context.clock.now()
        message.arrived = self._arrivals.first_arrival(message, now) if message.qos else now
        return self._handle(message)

    async def _handle(self, message: InFlightMessage) -> None:
        """Handle a message; when this returns, it can be acknowledged."""
        self._count_outcome(await self._outcome(message))

    async def _outcome(self, message: InFlightMessage) -> str:
        if message.is_retained:
            # Published before we subscribed; later messages are queued in our session.
            return RETAINED
        unexpected = 0
        attempts = 0
        while True:
            try:
                await self.handle(self._to_mqtt_message(message))
                return STORED
            except (Unavailable, TooManyRequests) as error:
                self._warnings.warn("mqtt messages wait", reason=str(error))
            except LongwireError as error:
                return self._drop(message, error)
            except Exception:
                unexpected += 1
                log.exception("mqtt message could not be stored")
                if unexpected == UNEXPECTED_ERRORS_MAX:
                    return FAILED
            attempts += 1
            await asyncio.sleep(_backoff_s(attempts, STORE_RETRY_MIN_S, STORE_RETRY_MAX_S))

    def _drop(self, message: InFlightMessage, error: LongwireError) -> str:
        outcome = next((name for kind, name in OUTCOMES.items() if isinstance(error, kind)), FAILED)
        self._warnings.warn(
            "mqtt message dropped",
            key=outcome,
            outcome=outcome,
            reason=_printable(error.message),
            device=_printable(message.device),
        )
        return outcome

    def _to_mqtt_message(self, message: InFlightMessage) -> MqttMessage:
        topic = message.topic.removeprefix(self._broker.prefix + "/")
        return MqttMessage(topic, message.payload, message.size, message.arrived)

    async def _keep_lease(self, session: MqttSession) -> None:
        """Close the connection when the lease is lost or cannot be renewed in time."""
        await self._leases.keep(LEASE, LEASE_RENEWAL_S)
        session.abort()


class ThrottledLog:
    """Logs the same warning once per interval, with the number of suppressed ones."""

    def __init__(self) -> None:
        self._logged_at: dict[str, float] = {}
        self._suppressed: dict[str, int] = {}

    def warn(self, event: str, *, key: str = "", **values: Any) -> None:
        full_key = event + key
        now = time.monotonic()
        if now - self._logged_at.get(full_key, -WARNING_INTERVAL_S) < WARNING_INTERVAL_S:
            self._suppressed[full_key] = self._suppressed.get(full_key, 0) + 1
            return
        self._logged_at[full_key] = now
        log.warning(event, **values, suppressed=self._suppressed.pop(full_key, 0))


def _backoff_s(attempts: int, min_s: float, max_s: float) -> float:
    """Exponential backoff with jitter."""
    return min(max_s, min_s * float(2 ** min(attempts - 1, 16))) * _RANDOM.uniform(0.5, 1)


def _printable(text: str) -> str:
    """Foreign text, truncated and escaped for the log."""
    return ascii(text[:200])[1:-1]
