"""Kafka: each message is produced with acks=all, and delivered when all in-sync replicas have it.

The producer is aiokafka's, of the extra `kafka`, see `kafka_producer.py`. It runs under the egress
guard, which also checks the brokers that a cluster advertises.
"""

import asyncio
import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from longwire.delivery.destinations import addresses
from longwire.delivery.destinations.base import (
    Delivered,
    DestinationParams,
    OutboundMessage,
    Outcome,
    Secret,
    invalid_message,
    list_invalid_fields,
)
from longwire.delivery.destinations.broker import BrokerDestination
from longwire.delivery.destinations.connections import SharedConnection, default_tls_context
from longwire.delivery.http.egress import Egress

DEFAULT_PORTS = {"kafka": 9092}
BROKERS_MAX = 20
# Shorter than the engine's timeout, so that the reason can be given here.
SEND_TIMEOUT_S = 12

TOPIC_CHARACTERS_MAX = 249
_NOT_IN_TOPIC = re.compile(r"[^A-Za-z0-9._-]")


class KafkaParams(DestinationParams, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Parameters of connectors of the type `kafka`."""

    brokers: Annotated[
        Annotated[str, Meta(min_length=1, max_length=BROKERS_MAX * addresses.URL_CHARACTERS_MAX)]
        | Annotated[
            list[Annotated[str, Meta(max_length=addresses.URL_CHARACTERS_MAX)]],
            Meta(min_length=1, max_length=BROKERS_MAX),
        ],
        Meta(description="host:port of one or more brokers, as a list or separated by commas."),
    ]
    topic: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=TOPIC_CHARACTERS_MAX,
            description=(
                f"{addresses.PLACEHOLDERS_DOC} Invalid characters of a value become an underscore."
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

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + list_invalid_fields(
            {
                "brokers": addresses.validate_hosts(lambda: parse_brokers(self.brokers), egress),
                "topic": validate_topic(self.topic),
                **addresses.validate_login(self.username, self.password, may_have_nul=False),
            }
        )


def parse_brokers(brokers: str | list[str]) -> list[addresses.Address]:
    """The brokers' addresses; raises addresses.InvalidAddress."""
    texts = brokers.split(",") if isinstance(brokers, str) else brokers
    if len(texts) > BROKERS_MAX:
        raise addresses.InvalidAddress(f"must not be more than {BROKERS_MAX}")
    try:
        return [addresses.parse_address(f"kafka://{text.strip()}", DEFAULT_PORTS) for text in texts]
    except addresses.InvalidAddress:
        raise addresses.InvalidAddress(
            "must be host:port, one or more, separated by commas"
        ) from None


def validate_topic(template: str) -> str | None:
    """Why this topic template is invalid, or None."""
    problem = addresses.validate_placeholders(template)
    if problem is None and _NOT_IN_TOPIC.search(re.sub(r"\{\w+\}", "", template)):
        return "must consist of letters, digits, dots, underscores and hyphens"
    return problem or ("is not a valid topic name" if template in (".", "..") else None)


def sanitize_topic(value: str) -> str:
    """A placeholder's value without characters that are invalid in a topic name."""
    return _NOT_IN_TOPIC.sub("_", value) or "_"


class Kafka(BrokerDestination[Any]):
    """One connector's producer, kept open between messages."""

    type: ClassVar[str] = "kafka"
    title: ClassVar[str] = "Apache Kafka"
    params_type = KafkaParams
    extra: ClassVar[str] = "kafka"
    method: ClassVar[str] = "PRODUCE"

    def __init__(self, params: KafkaParams, egress: Egress) -> None:
        super().__init__()
        self._library = self._load("longwire.delivery.destinations.kafka_producer")
        self._params = params
        self._brokers = parse_brokers(params.brokers)
        # A cancelled send leaves a gap in the producer's sequence numbers.
        self._shared = SharedConnection(
            egress, self._open, keep_on_cancel=False, open_timeout_s=SEND_TIMEOUT_S
        )

    async def _send(self, message: OutboundMessage) -> Outcome:
        topic = self._topic(message)
        if len(topic) > TOPIC_CHARACTERS_MAX:
            return invalid_message("the topic name is too long")
        async with asyncio.timeout(SEND_TIMEOUT_S):
            try:
                await self._produce(topic, message)
            except self._library.SEQUENCE_ERRORS:
                await self._produce(topic, message)
        return Delivered()

    def _target(self, message: OutboundMessage) -> str:
        return f"{self._brokers[0]}/{self._topic(message)}"

    def _headers(self, message: OutboundMessage) -> dict[str, str]:
        headers = {name: value.decode() for name, value in _record_headers(message)}
        return {"key": message.device_id, **headers}

    def _outcome_of_error(self, error: BaseException, message: OutboundMessage) -> Outcome:
        outcome: Outcome = self._library.outcome_of_kafka_error(error, message)
        return outcome

    def _topic(self, message: OutboundMessage) -> str:
        return addresses.render_template(self._params.topic, message, sanitize_topic)

    async def _produce(self, topic: str, message: OutboundMessage) -> None:
        async with self._shared.lease() as producer:
            await producer.send_and_wait(
                topic,
                message.body,
                key=message.device_id.encode(),
                headers=_record_headers(message),
            )

    async def _open(self) -> Any:
        producer = self._library.Producer(
            self._inbound,
            bootstrap_servers=[str(each).removeprefix("kafka://") for each in self._brokers],
            security_protocol=self._security(),
            ssl_context=default_tls_context() if self._params.tls else None,
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


def _record_headers(message: OutboundMessage) -> list[tuple[str, bytes]]:
    return [("id", message.id.encode()), ("content-type", message.content_type.encode())]
