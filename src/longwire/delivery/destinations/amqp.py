"""AMQP 0-9-1: each message is published, and delivered when a queue has it and the broker confirms.

The client is aiormq's, under the egress guard. A message that no queue takes is returned by the
broker, and one that a queue rejects is nacked.
"""

import asyncio
import logging
import re
from functools import partial
from typing import Annotated, Any, ClassVar, cast
from urllib.parse import unquote

from aiormq import Connection
from aiormq.abc import AbstractChannel
from aiormq.connection import TransportFactory
from aiormq.exceptions import (
    AuthenticationError,
    ChannelAccessRefused,
    ChannelNotFoundEntity,
    ChannelPreconditionFailed,
    DeliveryError,
    IncompatibleProtocolError,
    ProbableAuthenticationError,
    ProtocolSyntaxError,
    PublishError,
)
from msgspec import Meta
from pamqp.commands import Basic
from yarl import URL

from longwire.delivery.destinations import addresses
from longwire.delivery.destinations.base import (
    Delivered,
    DestinationParams,
    FailureCode,
    OutboundMessage,
    Outcome,
    Refused,
    Secret,
    Unreachable,
    invalid_message,
    list_invalid_fields,
)
from longwire.delivery.destinations.broker import BrokerDestination
from longwire.delivery.destinations.connections import (
    CONNECTION_LOST,
    BoundedReader,
    ConnectionFailed,
    SharedConnection,
    default_tls_context,
    outcome_of_error,
)
from longwire.delivery.destinations.inbound_limit import InboundLimit
from longwire.delivery.egress import Egress, EgressDenied

DEFAULT_PORTS = {"amqp": 5672, "amqps": 5671}
# Shorter than the engine's timeout, so that the reason can be given here.
SEND_TIMEOUT_S = 12
HEARTBEAT_S = 20
PERSISTENT = 2
# Short strings have a one-byte length.
NAME_BYTES_MAX = 255

_URL = re.compile(r"(?P<broker>[^/]*//[^/]*)(?:/(?P<virtual_host>[A-Za-z0-9._~!$'()*,;:@%-]*))?")

REJECTED = Refused("the broker rejected the message")

# Errors of a tenant's broker belong to the delivery attempt, not to the log.
logging.getLogger("aiormq").setLevel(logging.CRITICAL)


class AmqpParams(DestinationParams, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """Parameters of connectors of the type `amqp`."""

    url: Annotated[
        str,
        Meta(
            max_length=addresses.URL_CHARACTERS_MAX,
            description=(
                "amqp://host:port/virtual-host, or amqps:// for an encrypted connection. Without a"
                " virtual host it is the one called /."
            ),
        ),
    ]
    username: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    password: Secret | None = None
    exchange: Annotated[
        str,
        Meta(max_length=127, description="Without one, the routing key is the name of a queue."),
    ] = ""
    routing_key: Annotated[
        str, Meta(max_length=255, description=addresses.describe_placeholders("dots"))
    ] = ""

    def validate(self, egress: Egress) -> list[tuple[str, str]]:
        return super().validate(egress) + list_invalid_fields(
            {
                "url": addresses.validate_hosts(lambda: [parse_amqp_url(self.url)[0]], egress),
                **addresses.validate_login(self.username, self.password, may_have_nul=False),
                "exchange": None if self.exchange.isprintable() else addresses.NOT_PRINTABLE,
                "routingKey": validate_routing_key(self.routing_key, self.exchange),
            }
        )


def parse_amqp_url(url: str) -> tuple[addresses.Address, str]:
    """The broker's address, and the virtual host on it; raises addresses.InvalidAddress."""
    found = _URL.fullmatch(url)
    if found is None:
        raise addresses.InvalidAddress(
            "must be amqp:// or amqps:// with a host, and nothing after a virtual host"
        )
    try:
        virtual_host = unquote(found["virtual_host"] or "", errors="strict")
    except UnicodeDecodeError:
        raise addresses.InvalidAddress("the virtual host is not valid UTF-8") from None
    if not virtual_host.isprintable() or len(virtual_host.encode()) > NAME_BYTES_MAX:
        raise addresses.InvalidAddress("the virtual host is too long or has unprintable characters")
    return addresses.parse_address(found["broker"], DEFAULT_PORTS), virtual_host or "/"


def validate_routing_key(template: str, exchange: str) -> str | None:
    """Why this routing key template is invalid, or None."""
    if not template and not exchange:
        return "must name a queue, as there is no exchange"
    if not template.isprintable():
        return addresses.NOT_PRINTABLE
    return addresses.validate_placeholders(template)


# A placeholder's value as one word of a routing key.
sanitize_routing_word = partial(addresses.sanitize, special=".")


class Amqp(BrokerDestination["_AmqpSession"]):
    """One connector's channel to its broker, kept open between messages."""

    type: ClassVar[str] = "amqp"
    title: ClassVar[str] = "AMQP 0-9-1 (RabbitMQ)"
    params_type = AmqpParams

    def __init__(self, params: AmqpParams, egress: Egress) -> None:
        super().__init__()
        self._params = params
        self._address, self._virtual_host = parse_amqp_url(params.url)
        # Only a send that times out detects a dead broker.
        self._shared = SharedConnection(egress, self._open, keep_on_cancel=False)

    async def _send(self, message: OutboundMessage) -> Outcome:
        key = self._key(message)
        if len(key.encode()) > NAME_BYTES_MAX:
            return invalid_message("the routing key is too long")
        async with asyncio.timeout(SEND_TIMEOUT_S), self._shared.lease() as session:
            return await self._publish(session.channel, key, message)

    def _target(self, message: OutboundMessage) -> str:
        path = (self._params.exchange, self._key(message))
        return "/".join([str(self._address), *filter(None, path)])

    def _headers(self, message: OutboundMessage) -> dict[str, str]:
        return {
            "message_id": message.id,
            "content_type": message.content_type,
            "delivery_mode": str(PERSISTENT),
        }

    def _key(self, message: OutboundMessage) -> str:
        return addresses.render_template(self._params.routing_key, message, sanitize_routing_word)

    def _outcome_of_error(self, error: Exception, message: OutboundMessage) -> Outcome:
        return outcome_of_amqp_error(error)

    async def _publish(
        self, channel: AbstractChannel, key: str, message: OutboundMessage
    ) -> Outcome:
        try:
            confirmation = await channel.basic_publish(
                message.body,
                exchange=self._params.exchange,
                routing_key=key,
                mandatory=True,
                properties=Basic.Properties(
                    message_id=message.id,
                    content_type=message.content_type,
                    delivery_mode=PERSISTENT,
                ),
            )
        except PublishError:
            return Refused(f"no queue is bound to the routing key {key}")
        except DeliveryError:
            return REJECTED
        return Delivered() if isinstance(confirmation, Basic.Ack) else REJECTED

    async def _open(self) -> "_AmqpSession":
        transport = _BoundedTransport(self._address, self._inbound)
        connection = Connection(
            # Only for the login: the transport knows the address.
            URL.build(
                scheme="amqp",
                host="broker",
                user=self._params.username,
                password=self._params.password,
                query={"heartbeat": str(HEARTBEAT_S)},
            ),
            transport_factory=transport,
        )
        connection.vhost = self._virtual_host
        try:
            await connection.connect()
            if not connection.publisher_confirms:
                raise ConnectionFailed(Refused("the broker does not support publisher confirms"))
            channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        except BaseException:
            transport.abort()
            await connection.close()
            raise
        return _AmqpSession(transport, connection, channel)


def outcome_of_amqp_error(error: Exception) -> Outcome:
    """The outcome for an error of the library, or of the connection."""
    match error:
        case ProbableAuthenticationError() | AuthenticationError():
            return Refused("the broker rejected the login", code=FailureCode.LOGIN_REJECTED)
        case ProtocolSyntaxError() if "Connection.OpenOk" in str(error):
            # The broker sent something else in response to Connection.Open.
            return Refused("not authorized for the virtual host", code=FailureCode.LOGIN_REJECTED)
        case ProtocolSyntaxError() | IncompatibleProtocolError():
            return Unreachable("the server does not speak AMQP 0-9-1")
        case ChannelNotFoundEntity():
            return Refused("unknown exchange")
        case ChannelAccessRefused():
            return Refused("not authorized to publish to the exchange")
        case ChannelPreconditionFailed():
            return REJECTED
        case ConnectionFailed() | EgressDenied() | OSError():
            return outcome_of_error(error)
    return CONNECTION_LOST


class _BoundedTransport(TransportFactory):
    """Connects with limits to what is received, and can abort the connection."""

    def __init__(self, address: addresses.Address, limit: InboundLimit) -> None:
        self._address = address
        self._limit = limit
        self._writer: asyncio.StreamWriter | None = None

    async def create(
        self, url: URL, **kwargs: Any
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, self._writer = await asyncio.open_connection(
            self._address.host,
            self._address.port,
            ssl=default_tls_context() if self._address.scheme == "amqps" else None,
        )
        return cast(asyncio.StreamReader, BoundedReader(reader, self._limit)), self._writer

    def abort(self) -> None:
        """Close without draining, which could wait for a peer that does not read."""
        if self._writer is not None:
            self._writer.transport.abort()


class _AmqpSession:
    """One connection, and the channel on it."""

    def __init__(
        self, transport: _BoundedTransport, connection: Connection, channel: AbstractChannel
    ) -> None:
        self._transport = transport
        self._connection = connection
        self.channel = channel

    @property
    def is_open(self) -> bool:
        return self._connection.is_opened and not self.channel.is_closed

    async def close(self) -> None:
        try:
            await self._connection.close()
        finally:
            self._transport.abort()
