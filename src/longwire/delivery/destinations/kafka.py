"""Kafka: each message is produced, and delivered when all replicas that are in step have it.

The producer is aiokafka's, idempotent, so that what it repeats by itself is stored once. Two things
are ours. Every connection goes through the guard, also those to addresses that brokers name
themselves. And its patience ends: where it would repeat for ever, the message comes back to whoever
sent it, with the reason, and later messages get a new producer, as this one has left a gap in the
numbers that brokers count by. A message may then arrive twice, under the same id; none gets lost.
"""

import asyncio
import builtins
import logging
import re
import weakref
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal

from aiokafka import AIOKafkaProducer, errors  # type: ignore[import-untyped]
from aiokafka.client import AIOKafkaClient, ConnectionGroup  # type: ignore[import-untyped]
from aiokafka.conn import (  # type: ignore[import-untyped]
    AIOKafkaConnection,
    AIOKafkaProtocol,
    CloseReason,
    ScramAuthenticator,
)
from aiokafka.producer.sender import (  # type: ignore[import-untyped]
    InitPIDHandler,
    Sender,
    SendProduceReqHandler,
)
from aiokafka.protocol.metadata import MetadataRequest  # type: ignore[import-untyped]
from msgspec import Meta

from longwire.delivery.destinations.addresses import (
    MAY_HOLD,
    URL_CHARACTERS_MAX,
    Address,
    BadAddress,
    filled,
    login_problems,
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
    Unreachable,
    only_problems,
)
from longwire.delivery.destinations.connections import (
    CONNECT_TIMEOUT_S,
    BoundedReader,
    SharedConnection,
    failure,
    guarded,
    trusting,
)
from longwire.delivery.egress import Egress, EgressDenied
from longwire.delivery.formats import FORMATS

DEFAULT_PORTS = {"kafka": 9092}
BROKERS_MAX = 20
REQUEST_TIMEOUT_S = 8
# Less than whoever calls allows: then the reason is ours to give.
ANSWER_TIMEOUT_S = 12
# How long what passes by itself, such as the choice of a new leader, is waited out.
PATIENCE_S = 2
PAUSE_S = 0.1
END_TIMEOUT_S = 1
BATCH_BYTES_MAX = 16_384
# Four thousand are usual. A broker that asks for millions wants to keep us busy.
SCRAM_ITERATIONS_MAX = 100_000

TOPIC_CHARACTERS_MAX = 249
_NOT_IN_TOPIC = re.compile(r"[^A-Za-z0-9._-]")

LOGIN_REFUSED = "the broker did not accept the login"
TOO_LARGE = "the message is larger than the broker takes"
NO_TOPIC = "there is no such topic"
NO_LEADER = "the topic has no leader at the moment"
TOO_OLD = "the broker is too old"

# What brokers answer when they have not stored the message.
REFUSALS: dict[type[Exception], str] = {
    errors.SaslAuthenticationFailed: LOGIN_REFUSED,
    errors.IllegalSaslStateError: LOGIN_REFUSED,
    errors.UnsupportedSaslMechanismError: "the broker does not take logins of this mechanism",
    errors.TopicAuthorizationFailedError: "the broker does not let this login write to the topic",
    errors.ClusterAuthorizationFailedError: "the broker does not let this login write",
    errors.UnknownTopicOrPartitionError: NO_TOPIC,
    errors.InvalidTopicError: NO_TOPIC,
    errors.MessageSizeTooLargeError: TOO_LARGE,
    errors.RecordListTooLargeError: TOO_LARGE,
    errors.NotEnoughReplicasError: "too few replicas of the topic are in step",
    errors.LeaderNotAvailableError: NO_LEADER,
    errors.NotLeaderForPartitionError: NO_LEADER,
    errors.UnsupportedVersionError: TOO_OLD,
    errors.IncompatibleBrokerVersion: TOO_OLD,
    NotImplementedError: TOO_OLD,
}
# What leaves open whether the message was stored, or could not be sent.
DOUBTS: dict[type[Exception], str] = {
    errors.RequestTimedOutError: "did not answer in time",
    errors.KafkaTimeoutError: "did not answer in time",
    errors.NotEnoughReplicasAfterAppendError: "too few replicas of the topic are in step",
    errors.KafkaConnectionError: "the connection was lost",
    errors.ProducerClosed: "the connection was lost",
}
# The message was not stored, as the broker no longer follows this producer's count. A new one
# starts from nought, so there is nothing to wait for.
OUT_OF_COUNT = (
    errors.OutOfOrderSequenceNumber,
    errors.UnknownProducerId,
    errors.InvalidProducerIdMapping,
    errors.ProducerFenced,
)

# What it has to say about a broker is in the attempt; said again here it would fill the log.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


class KafkaParams(Params, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What a connector of the type `kafka` can be told."""

    brokers: Annotated[
        Annotated[str, Meta(min_length=1, max_length=BROKERS_MAX * URL_CHARACTERS_MAX)]
        | Annotated[
            list[Annotated[str, Meta(max_length=URL_CHARACTERS_MAX)]],
            Meta(min_length=1, max_length=BROKERS_MAX),
        ],
        Meta(description="host:port of one or more brokers, as a list or with commas between."),
    ]
    topic: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=TOPIC_CHARACTERS_MAX,
            description=(
                f"{MAY_HOLD} Characters of a value that a topic cannot have become an underscore."
            ),
        ),
    ]
    tls: Annotated[bool, Meta(description="Whether the connection is encrypted.")] = False
    mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"],
        Meta(description="How to log in, if there is a username."),
    ] = "PLAIN"
    username: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    password: Secret | None = None

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return super().problems(egress) + only_problems(
            {
                "brokers": brokers_problem(self.brokers, egress),
                "topic": topic_problem(self.topic),
                **login_problems(self.username, self.password, may_have_nul=False),
            }
        )


def parsed_brokers(brokers: str | list[str]) -> list[Address]:
    """Where the brokers are."""
    texts = brokers.split(",") if isinstance(brokers, str) else brokers
    if len(texts) > BROKERS_MAX:
        raise BadAddress(f"must not be more than {BROKERS_MAX}")
    try:
        return [parsed(f"kafka://{text.strip()}", DEFAULT_PORTS) for text in texts]
    except BadAddress:
        raise BadAddress("must be host:port, one or more with commas between") from None


def brokers_problem(brokers: str | list[str], egress: Egress) -> str | None:
    """Why a connector with these brokers cannot be saved."""
    try:
        refused = [egress.refuse_literal(address.host) for address in parsed_brokers(brokers)]
    except BadAddress as error:
        return str(error)
    return next(filter(None, refused), None)


def topic_problem(template: str) -> str | None:
    """Why nothing can be produced to the topics that this makes."""
    problem = placeholder_problem(template)
    if problem is None and _NOT_IN_TOPIC.search(re.sub(r"\{\w+\}", "", template)):
        return "must be of letters, digits, dots, underscores and hyphens"
    return problem or ("cannot be called that" if template in (".", "..") else None)


def fit_for_topic(value: str) -> str:
    """A message's value as a part of a topic's name."""
    return _NOT_IN_TOPIC.sub("_", value) or "_"


class Kafka:
    """One connector's way to its cluster: a producer kept open, and many messages through it."""

    type: ClassVar[str] = "kafka"
    title: ClassVar[str] = "Apache Kafka"
    params_type: ClassVar[builtins.type[Params]] = KafkaParams
    formats: ClassVar[tuple[str, ...]] = FORMATS
    batch_max: ClassVar[int] = 1

    def __init__(self, params: KafkaParams, egress: Egress) -> None:
        self._params = params
        self._egress = egress
        self._brokers = parsed_brokers(params.brokers)
        # A message that is given up leaves a gap in the producer's count.
        self._shared = SharedConnection(
            self._open, survives_cancelling=False, open_timeout_s=ANSWER_TIMEOUT_S
        )

    async def send(self, parcel: Parcel) -> Outcome:
        message = parcel.only
        topic = self._topic(message)
        if len(topic) > TOPIC_CHARACTERS_MAX:
            return Refused("the name of the topic is too long", is_final=True)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                try:
                    await self._produce(topic, message)
                except OUT_OF_COUNT:
                    await self._produce(topic, message)
        except Exception as error:
            return outcome_of(error, message)
        return Delivered()

    def describe(self, parcel: Parcel) -> Request:
        message = parcel.only
        headers = {name: value.decode() for name, value in _headers(message)}
        return Request(
            method="PRODUCE",
            url=f"{self._brokers[0]}/{self._topic(message)}",
            headers={"key": message.device_id, **headers},
            body=message.body.decode(errors="replace"),
        )

    async def close(self) -> None:
        await self._shared.close()

    def _topic(self, message: Message) -> str:
        return filled(self._params.topic, message, fit_for_topic)

    async def _produce(self, topic: str, message: Message) -> None:
        async with self._shared.borrowed() as producer:
            await producer.send_and_wait(
                topic,
                message.body,
                key=message.device_id.encode(),
                headers=_headers(message),
            )

    async def _open(self) -> "_Producer":
        producer = _Producer(
            self._egress,
            bootstrap_servers=[str(each).removeprefix("kafka://") for each in self._brokers],
            security_protocol=self._security(),
            ssl_context=trusting() if self._params.tls else None,
            sasl_mechanism=self._params.mechanism,
            sasl_plain_username=self._params.username,
            sasl_plain_password=self._params.password,
        )
        try:
            await producer.start()
        except BaseException:
            await producer.close()
            raise
        return producer

    def _security(self) -> str:
        transport = "SSL" if self._params.tls else "PLAINTEXT"
        return f"SASL_{transport}" if self._params.username else transport


def _headers(message: Message) -> list[tuple[str, bytes]]:
    return [("id", message.id.encode()), ("content-type", message.content_type.encode())]


def outcome_of(error: BaseException, message: Message) -> Outcome:
    """What an error of the library, or on the way, means for the message."""
    if isinstance(error, _Away):
        return outcome_of(error.reason, message)
    for kind in type(error).__mro__:
        if kind in DOUBTS:
            return Unreachable(DOUBTS[kind])
        if kind in REFUSALS:
            # A small one may only have shared a batch that was too large.
            is_alone = len(message.body) > BATCH_BYTES_MAX
            return Refused(REFUSALS[kind], is_final=REFUSALS[kind] == TOO_LARGE and is_alone)
    if isinstance(error, errors.BrokerResponseError):
        return Refused("the broker did not take the message")
    return failure(error)


class _Away(errors.NodeNotReadyError):  # type: ignore[misc]
    """There is no connection to a broker, and this is why."""

    def __init__(self, reason: BaseException) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retriable = not isinstance(reason, EgressDenied)


def _worst(reasons: Iterable[BaseException]) -> _Away:
    """Of what several brokers failed with; denied only when all are, as others may come back."""
    found = [each.reason if isinstance(each, _Away) else each for each in reasons]
    passing = [reason for reason in found if not isinstance(reason, EgressDenied)]
    return _Away((passing or found or [errors.KafkaConnectionError()])[0])


class _Connection(AIOKafkaConnection):  # type: ignore[misc]
    """The library's connection to one broker, to where the guard lets it."""

    def __init__(self, egress: Egress, host: str, port: int, **settings: Any) -> None:
        super().__init__(host, port, **settings)
        self._egress = egress

    async def connect(self) -> None:
        loop = asyncio.get_running_loop()
        self._closed_fut = loop.create_future()
        reader = BoundedReader(loop=loop)
        protocol = AIOKafkaProtocol(self._closed_fut, reader, loop=loop)
        is_encrypted = self._ssl_context is not None
        self._writer = await guarded(
            self._egress, self.host, self.port, reader, tls=is_encrypted, protocol=protocol
        )
        self._reader, self._protocol = reader, protocol
        self._read_task = self._create_reader_task()
        self._idle_handle = loop.call_soon(self._idle_check, weakref.ref(self))
        try:
            await self._do_version_lookup()
            if self._security_protocol.startswith("SASL_"):
                await self._do_sasl_handshake()
        except BaseException:
            self.cut()
            raise

    def cut(self) -> None:
        """Hang up at once; a farewell could wait for a peer that does not read."""
        if self._writer is not None:
            self._writer.transport.abort()
        self.close(reason=CloseReason.SHUTDOWN)

    def authenticator_scram(self) -> "_Scram":
        return _Scram(
            loop=self._loop,
            sasl_plain_password=self._sasl_plain_password,
            sasl_plain_username=self._sasl_plain_username,
            sasl_mechanism=self._sasl_mechanism,
        )


class _Scram(ScramAuthenticator):  # type: ignore[misc]
    def create_salted_password(self, salt: bytes, iterations: int) -> None:
        if iterations > SCRAM_ITERATIONS_MAX:
            raise errors.KafkaProtocolError("too many iterations")
        super().create_salted_password(salt, iterations)


class _Client(AIOKafkaClient):  # type: ignore[misc]
    """The library's view of a cluster; both ways in which it opens a connection are ours."""

    def __init__(self, egress: Egress, **settings: Any) -> None:
        super().__init__(**settings)
        self._egress = egress
        self._is_over = False
        self._failures: dict[Any, Exception] = {}

    async def bootstrap(self) -> None:
        """Ask one of the brokers that we were told for all that there are."""
        failures: list[Exception] = []
        for host, port, _ in self.hosts:
            try:
                connection = await self._connected(host, port)
                try:
                    self.cluster.update_metadata(await connection.send(MetadataRequest([])))
                finally:
                    connection.cut()
            except Exception as error:
                failures.append(error)
            if self.cluster.brokers():
                self._sync_task = asyncio.create_task(self._md_synchronizer())
                return
        raise _worst(failures)

    async def send(
        self, node_id: Any, request: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT
    ) -> Any:
        if not await self.ready(node_id, group=group):
            raise _worst([self._failures[node_id]] if node_id in self._failures else [])
        return await super().send(node_id, request, group=group)

    def cut(self) -> None:
        """No more connections, and an end to those there are."""
        self._is_over = True
        for connection in self._conns.values():
            connection.cut()

    async def _get_conn(
        self,
        node_id: Any,
        *,
        group: ConnectionGroup = ConnectionGroup.DEFAULT,
        no_hint: bool = False,
    ) -> _Connection | None:
        known: _Connection | None = self._conns.get((node_id, group))
        if known is not None and known.connected():
            return known
        async with self._get_conn_lock:
            known = self._conns.pop((node_id, group), None)
            if known is None or not known.connected():
                try:
                    known = await self._connected_to(node_id)
                except Exception as error:
                    self._failures[node_id] = error
                    self.force_metadata_update()
                    return None
            self._failures.pop(node_id, None)
            self._conns[node_id, group] = known
            return known

    async def _connected_to(self, node_id: Any) -> _Connection:
        broker = self.cluster.broker_metadata(node_id)
        if self._is_over or broker is None:
            raise errors.StaleMetadata()
        return await self._connected(broker.host, broker.port)

    async def _connected(self, host: str, port: int) -> _Connection:
        connection = _Connection(
            self._egress,
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
        # Asked for none it would ask for all, of which a cluster can have many.
        return bool(topics) and await super()._metadata_update(cluster_metadata, topics)

    async def _wait_on_metadata(self, topic: str) -> set[int]:
        """The topic's partitions, for which some patience is needed while it is being made."""
        deadline = self._loop.time() + PATIENCE_S
        self._topics.add(topic)
        while (partitions := self.cluster.partitions_for_topic(topic)) is None:
            is_late = self._loop.time() > deadline
            is_answered = await self.force_metadata_update()
            if topic in self.cluster.unauthorized_topics:
                raise errors.TopicAuthorizationFailedError()
            if self.cluster.partitions_for_topic(topic) is None:
                if is_late and is_answered:
                    raise errors.UnknownTopicOrPartitionError()
                if is_late:
                    raise _worst(self._failures.values())
                await asyncio.sleep(PAUSE_S)
        found: set[int] = partitions
        return found


class _Handler(SendProduceReqHandler):  # type: ignore[misc]
    def _can_retry(self, error: Any, batch: Any) -> bool:
        # With idempotence the library has no end to its patience.
        return bool(error.retriable) and not batch.expired() and not self._sender.is_over


class _Sender(Sender):  # type: ignore[misc]
    """The library's loop that sends batches, with an end to its patience."""

    is_over = False

    async def _send_produce_req(self, node_id: Any, batches: dict[Any, Any]) -> None:
        await _Handler(self, batches).do(node_id)
        self._in_flight.remove(node_id)
        self._muted_partitions.difference_update(batches)

    async def _maybe_wait_for_pid(self) -> None:
        """Get the number by which brokers know this producer, from any of them."""
        if self._txn_manager.has_pid():
            return
        handler = InitPIDHandler(self)
        failures: list[Exception] = []
        for broker in self.client.cluster.brokers():
            try:
                answer = await self.client.send(broker.nodeId, handler.create_request())
            except errors.KafkaError as error:
                failures.append(error)
                continue
            if handler.handle_response(answer) is None:
                return
        raise _worst(failures)


class _Producer(AIOKafkaProducer):  # type: ignore[misc]
    """The library's producer, put together from the parts above."""

    def __init__(self, egress: Egress, **settings: Any) -> None:
        settings |= {
            "request_timeout_ms": REQUEST_TIMEOUT_S * 1_000,
            "retry_backoff_ms": int(PAUSE_S * 1_000),
            "client_id": "longwire",
        }
        super().__init__(
            acks="all", enable_idempotence=True, max_batch_size=BATCH_BYTES_MAX, **settings
        )
        self.client = _Client(egress, **settings)
        self._metadata = self.client.cluster
        self._message_accumulator._cluster = self._metadata
        self._message_accumulator._batch_ttl = PATIENCE_S
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
        # It connects by itself whenever it has to.
        return not self._closed

    async def close(self) -> None:
        """Stop at once. The library's own `stop` waits until everything has been sent."""
        self._closed = True
        self._message_accumulator._closed = True
        self._sender.is_over = True
        self.client.cut()
        sending = self._sender.sender_task
        if sending is not None:
            # The first time it ends what it has under way, which has just lost its connections.
            sending.cancel()
            if not (await asyncio.wait([sending], timeout=END_TIMEOUT_S))[0]:
                sending.cancel()
                await asyncio.wait([sending], timeout=END_TIMEOUT_S)
        for batches in self._message_accumulator._batches.values():
            for batch in batches:
                # Otherwise its failure is also put where nobody looks, and asyncio complains.
                batch.drain_ready()
        self._message_accumulator.fail_all(errors.ProducerClosed())
        await self.client.close()
