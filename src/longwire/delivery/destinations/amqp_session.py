"""aiormq: a connection to a broker with a channel on it, and what its errors mean."""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any, cast

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
from pamqp.commands import Basic
from yarl import URL

from longwire.delivery.destinations.addresses import Address
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.destinations.connections import (
    CONNECTION_LOST,
    BoundedReader,
    ConnectionFailed,
    default_tls_context,
    outcome_of_error,
)
from longwire.delivery.destinations.inbound_limit import InboundLimit
from longwire.delivery.http.egress import EgressDenied

HEARTBEAT_S = 20

REJECTED = Refused("the broker rejected the message")

# Errors of a tenant's broker belong to the delivery attempt, not to the log.
logging.getLogger("aiormq").setLevel(logging.CRITICAL)


async def open_session(
    address: Address,
    virtual_host: str,
    username: str | None,
    password: str | None,
    limit: InboundLimit,
) -> "AmqpSession":
    transport = _BoundedTransport(address, limit)
    connection = Connection(
        # Only for the login: the transport knows the address.
        URL.build(
            scheme="amqp",
            host="broker",
            user=username,
            password=password,
            query={"heartbeat": str(HEARTBEAT_S)},
        ),
        transport_factory=transport,
    )
    connection.vhost = virtual_host
    try:
        await connection.connect()
        if not connection.publisher_confirms:
            raise ConnectionFailed(Refused("the broker does not support publisher confirms"))
        channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
    except BaseException:
        transport.abort()
        await connection.close()
        raise
    return AmqpSession(transport, connection, channel)


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

    def __init__(self, address: Address, limit: InboundLimit) -> None:
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


class AmqpSession:
    """One connection, and the channel on it."""

    def __init__(
        self, transport: _BoundedTransport, connection: Connection, channel: AbstractChannel
    ) -> None:
        self._transport = transport
        self._connection = connection
        self._channel = channel

    @property
    def is_open(self) -> bool:
        return self._connection.is_opened and not self._channel.is_closed

    async def publish(
        self, exchange: str, key: str, body: bytes, properties: Mapping[str, Any]
    ) -> Outcome:
        try:
            confirmation = await self._channel.basic_publish(
                body,
                exchange=exchange,
                routing_key=key,
                mandatory=True,
                properties=Basic.Properties(**properties),
            )
        except PublishError:
            return Refused(f"no queue is bound to the routing key {key}")
        except DeliveryError:
            return REJECTED
        return Delivered() if isinstance(confirmation, Basic.Ack) else REJECTED

    async def close(self) -> None:
        try:
            await self._connection.close()
        finally:
            self._transport.abort()
