"""aiokafka, bounded: the producer of a connector, and what its errors mean.

Idempotent, so that its own retries do not store a message twice. Bounded retries are ours, see
`Producer`: a message that was given up leaves a gap in the producer's sequence numbers, so later
messages get a new producer. A message may then arrive twice, under the same id; none is lost.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

from aiokafka import AIOKafkaProducer, errors
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.conn import AIOKafkaConnection, ScramAuthenticator
from aiokafka.producer.sender import InitPIDHandler, Sender, SendProduceReqHandler
from aiokafka.protocol.metadata import MetadataRequest
from msgspec.structs import replace

from longwire.delivery.destinations.base import (
    FailureCode,
    OutboundMessage,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.connections import (
    CONNECT_TIMEOUT_S,
    CONNECTION_LOST,
    TIMED_OUT,
    BoundedReader,
    outcome_of_error,
)
from longwire.delivery.destinations.inbound_limit import InboundLimit
from longwire.delivery.http.egress import EgressDenied

REQUEST_TIMEOUT_S = 8
# Transient errors, such as a leader election, are retried for so long.
RETRY_TIMEOUT_S = 2
RETRY_BACKOFF_S = 0.1
STOP_TIMEOUT_S = 1
BATCH_BYTES_MAX = 16_384
# 4096 are usual. A hostile broker could ask for millions to keep the CPU busy.
SCRAM_ITERATIONS_MAX = 100_000
# Of one connector; idle ones beyond are closed. There are not more messages in flight by default.
NODE_CONNECTIONS_MAX = 16

LOGIN_REJECTED = Refused("the broker rejected the login", code=FailureCode.LOGIN_REJECTED)
TOO_LARGE = Refused("the message is larger than the broker accepts")
NO_TOPIC = Refused("unknown topic")
NO_LEADER = Refused("the topic has no leader")
TOO_OLD = Refused("the broker version is not supported")

OUTCOMES: dict[type[Exception], Outcome] = {
    # The broker has not stored the message.
    errors.SaslAuthenticationFailed: LOGIN_REJECTED,
    errors.IllegalSaslStateError: LOGIN_REJECTED,
    errors.UnsupportedSaslMechanismError: Refused(
        "the broker does not support this SASL mechanism"
    ),
    errors.TopicAuthorizationFailedError: Refused("not authorized to write to the topic"),
    errors.ClusterAuthorizationFailedError: Refused("not authorized to write"),
    errors.UnknownTopicOrPartitionError: NO_TOPIC,
    errors.InvalidTopicError: NO_TOPIC,
    errors.MessageSizeTooLargeError: TOO_LARGE,
    errors.RecordListTooLargeError: TOO_LARGE,
    errors.NotEnoughReplicasError: Refused("too few in-sync replicas"),
    errors.LeaderNotAvailableError: NO_LEADER,
    errors.NotLeaderForPartitionError: NO_LEADER,
    errors.UnsupportedVersionError: TOO_OLD,
    errors.IncompatibleBrokerVersion: TOO_OLD,
    NotImplementedError: TOO_OLD,
    # It is unknown whether the message was stored, or it was not sent.
    errors.RequestTimedOutError: TIMED_OUT,
    errors.KafkaTimeoutError: TIMED_OUT,
    errors.NotEnoughReplicasAfterAppendError: Unreachable("too few in-sync replicas"),
    errors.KafkaConnectionError: CONNECTION_LOST,
    errors.ProducerClosed: CONNECTION_LOST,
}
# The message was not stored: the broker does not accept this producer's sequence numbers any more.
# A new producer starts from zero, so retry at once.
SEQUENCE_ERRORS = (
    errors.OutOfOrderSequenceNumber,
    errors.UnknownProducerId,
    errors.InvalidProducerIdMapping,
    errors.ProducerFenced,
)

# Errors of a tenant's broker belong to the delivery attempt, not to the log.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def outcome_of_kafka_error(error: BaseException, message: OutboundMessage) -> Outcome:
    """The outcome for an error of the library, or of the connection."""
    if isinstance(error, _NodeUnreachable):
        return outcome_of_kafka_error(error.reason, message)
    outcome = next((OUTCOMES[kind] for kind in type(error).__mro__ if kind in OUTCOMES), None)
    if outcome is TOO_LARGE:
        # A small message may only have been in a batch that was too large.
        return replace(TOO_LARGE, is_final=len(message.body) > BATCH_BYTES_MAX)
    if outcome is not None:
        return outcome
    if isinstance(error, errors.BrokerResponseError):
        return Refused("the broker rejected the message")
    return outcome_of_error(error)


class _NodeUnreachable(errors.NodeNotReadyError):
    """There is no connection to a broker, for this reason."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retriable = not isinstance(reason, EgressDenied)


def _merge_failures(failures: Iterable[BaseException]) -> _NodeUnreachable:
    """One reason for several brokers; EgressDenied, which is final, only if all were denied."""
    reasons = [each.reason if isinstance(each, _NodeUnreachable) else each for each in failures]
    transient = [reason for reason in reasons if not isinstance(reason, EgressDenied)]
    return _NodeUnreachable((transient or reasons or [errors.KafkaConnectionError()])[0])


# --- aiokafka, bounded ---
#
# aiokafka has no settings for what follows, so private methods are overridden and pyproject.toml
# bounds its version: responses have a size limit, connections are aborted instead of drained,
# retries end although the producer is idempotent, and errors keep their cause.


class _BrokerConnection(AIOKafkaConnection):
    def __init__(self, limit: InboundLimit, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._limit = limit

    def _create_reader_task(self) -> Any:
        unbounded: asyncio.StreamReader = self._reader
        self._reader: Any = BoundedReader(unbounded, self._limit)
        return super()._create_reader_task()

    def close(self, reason: Any = None, exc: BaseException | None = None) -> Any:
        """Abort; a graceful close could wait for a peer that does not read."""
        if self._writer is not None:
            self._writer.transport.abort()
        return super().close(reason, exc)

    def authenticator_scram(self) -> "_Scram":
        return _Scram(
            loop=self._loop,
            sasl_plain_password=self._sasl_plain_password,
            sasl_plain_username=self._sasl_plain_username,
            sasl_mechanism=self._sasl_mechanism,
        )


class _Scram(ScramAuthenticator):
    def create_salted_password(self, salt: bytes, iterations: int) -> None:
        if iterations > SCRAM_ITERATIONS_MAX:
            raise errors.KafkaProtocolError("too many iterations")
        super().create_salted_password(salt, iterations)


class _Client(AIOKafkaClient):
    """Opens connections of our class, and keeps the reasons why it could not."""

    def __init__(self, limit: InboundLimit, **settings: Any) -> None:
        super().__init__(**settings)
        self._limit = limit
        self._is_closing = False
        self._failures: dict[Any, Exception] = {}

    async def bootstrap(self) -> None:
        failures: list[Exception] = []
        for host, port, _ in self.hosts:
            try:
                connection = await self._connect(host, port)
                try:
                    self.cluster.update_metadata(await connection.send(MetadataRequest([])))
                finally:
                    connection.close()
            except Exception as error:
                failures.append(error)
            if self.cluster.brokers():
                self._sync_task = asyncio.create_task(self._md_synchronizer())
                return
        raise _merge_failures(failures)

    async def send(
        self, node_id: Any, request: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT
    ) -> Any:
        if not await self.ready(node_id, group=group):
            raise _merge_failures([self._failures[node_id]] if node_id in self._failures else [])
        return await super().send(node_id, request, group=group)

    def abort(self) -> None:
        """Close all connections at once and open no more."""
        self._is_closing = True
        for connection in self._conns.values():
            connection.close()

    async def _get_conn(
        self,
        node_id: Any,
        *,
        group: ConnectionGroup = ConnectionGroup.DEFAULT,
        no_hint: bool = False,
    ) -> _BrokerConnection | None:
        known: _BrokerConnection | None = self._conns.get((node_id, group))
        if known is not None and known.connected():
            return known
        async with self._get_conn_lock:
            known = self._conns.pop((node_id, group), None)
            if known is None or not known.connected():
                try:
                    known = await self._connect_to_node(node_id)
                except Exception as error:
                    self._failures[node_id] = error
                    self.force_metadata_update()
                    return None
            self._failures.pop(node_id, None)
            self._conns[node_id, group] = known
            if len(self._conns) > NODE_CONNECTIONS_MAX:
                self._close_unused(known)
            return known

    def _close_unused(self, kept: _BrokerConnection) -> None:
        """Close one without a request: a cluster can claim to have any number of nodes."""
        for key, connection in self._conns.items():
            if connection is not kept and not connection._requests:
                del self._conns[key]
                connection.close()
                return

    async def _connect_to_node(self, node_id: Any) -> _BrokerConnection:
        broker = self.cluster.broker_metadata(node_id)
        if self._is_closing or broker is None:
            raise errors.StaleMetadata()
        return await self._connect(broker.host, broker.port)

    async def _connect(self, host: str, port: int) -> _BrokerConnection:
        connection = _BrokerConnection(
            self._limit,
            host,
            port,
            client_id=self._client_id,
            request_timeout_ms=self._request_timeout_ms,
            ssl_context=self._ssl_context,
            security_protocol=self._security_protocol,
            max_idle_ms=self._connections_max_idle_ms,
            on_close=self._on_connection_closed,
            sasl_mechanism=self._sasl_mechanism,
            sasl_plain_username=self._sasl_plain_username,
            sasl_plain_password=self._sasl_plain_password,
        )
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            await connection.connect()
        return connection

    async def _metadata_update(self, cluster_metadata: Any, topics: set[str]) -> bool:
        # An empty list would request all topics, of which a cluster can have many.
        return bool(topics) and await super()._metadata_update(cluster_metadata, topics)

    async def _wait_on_metadata(self, topic: str) -> set[int]:
        """The topic's partitions; retried, as the topic may just be being created."""
        deadline = self._loop.time() + RETRY_TIMEOUT_S
        self._topics.add(topic)
        while (partitions := self.cluster.partitions_for_topic(topic)) is None:
            is_late = self._loop.time() > deadline
            has_response = await self.force_metadata_update()
            if topic in self.cluster.unauthorized_topics:
                raise errors.TopicAuthorizationFailedError()
            if self.cluster.partitions_for_topic(topic) is None:
                if is_late and has_response:
                    raise errors.UnknownTopicOrPartitionError()
                if is_late:
                    raise _merge_failures(self._failures.values())
                await asyncio.sleep(RETRY_BACKOFF_S)
        found: set[int] = partitions
        return found


class _Handler(SendProduceReqHandler):
    def _can_retry(self, error: Any, batch: Any) -> bool:
        # With idempotence the library would retry without end.
        return bool(error.retriable) and not batch.expired() and not self._sender.is_closing


class _Sender(Sender):
    """The library's send loop, with bounded retries."""

    is_closing = False

    async def _send_produce_req(self, node_id: Any, batches: dict[Any, Any]) -> None:
        await _Handler(self, batches).do(node_id)
        self._in_flight.remove(node_id)
        self._muted_partitions.difference_update(batches)

    async def _maybe_wait_for_pid(self) -> None:
        """Get a producer id from any broker; one that has just started may need a moment."""
        handler = InitPIDHandler(self)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + RETRY_TIMEOUT_S
        while not self._txn_manager.has_pid():
            failures: list[Exception] = []
            for broker in self.client.cluster.brokers():
                try:
                    response = await self.client.send(broker.nodeId, handler.create_request())
                except errors.KafkaError as error:
                    failures.append(error)
                    continue
                if handler.handle_response(response) is None:
                    return
                failures.append(errors.KafkaTimeoutError())
            if loop.time() > deadline or not any(
                isinstance(failure, errors.KafkaTimeoutError) for failure in failures
            ):
                raise _merge_failures(failures)
            await asyncio.sleep(RETRY_BACKOFF_S)


class Producer(AIOKafkaProducer):
    """The library's producer, assembled from the classes above."""

    def __init__(self, limit: InboundLimit, **settings: Any) -> None:
        settings |= {
            "request_timeout_ms": REQUEST_TIMEOUT_S * 1_000,
            "retry_backoff_ms": int(RETRY_BACKOFF_S * 1_000),
            "client_id": "longwire",
        }
        super().__init__(
            acks="all", enable_idempotence=True, max_batch_size=BATCH_BYTES_MAX, **settings
        )
        self.client = _Client(limit, **settings)
        self._metadata = self.client.cluster
        self._message_accumulator._cluster = self._metadata
        self._message_accumulator._batch_ttl = RETRY_TIMEOUT_S
        self._sender = _Sender(
            self.client,
            acks=-1,
            txn_manager=self._txn_manager,
            message_accumulator=self._message_accumulator,
            retry_backoff_ms=settings["retry_backoff_ms"],
            request_timeout_ms=settings["request_timeout_ms"],
        )

    @property
    def is_open(self) -> bool:
        # It reconnects by itself.
        return not self._closed

    async def close(self) -> None:
        """Stop at once. The library's own `stop` waits until everything has been sent."""
        self._closed = True
        self._message_accumulator._closed = True
        self._sender.is_closing = True
        self.client.abort()
        sending = self._sender.sender_task
        if sending is not None:
            # On the first cancel it finishes its requests, whose connections are closed by now.
            sending.cancel()
            if not (await asyncio.wait([sending], timeout=STOP_TIMEOUT_S))[0]:
                sending.cancel()
                await asyncio.wait([sending], timeout=STOP_TIMEOUT_S)
        for batches in self._message_accumulator._batches.values():
            for batch in batches:
                # Otherwise its exception is also set on a future that nobody awaits.
                batch.drain_ready()
        self._message_accumulator.fail_all(errors.ProducerClosed())
        await self.client.close()
