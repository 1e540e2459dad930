"""AMQP 0-9-1: each message is published, and delivered when a queue has it and the broker says so.

The protocol is aiormq's; the socket is ours, so that it leads to an address the guard has seen. A
message that no queue wants comes back, and one that a queue does not take is refused.
"""

import asyncio
import builtins
import logging
import re
from typing import Annotated, Any, ClassVar
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

from longwire.delivery.destinations.addresses import (
    MAY_HOLD,
    NOT_PRINTABLE,
    URL_CHARACTERS_MAX,
    Address,
    BadAddress,
    filled,
    fit,
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
    LOST,
    BoundedReader,
    NoConnection,
    SharedConnection,
    failure,
    guarded,
)
from longwire.delivery.egress import Egress, EgressDenied
from longwire.delivery.formats import FORMATS

DEFAULT_PORTS = {"amqp": 5672, "amqps": 5671}
# Less than whoever calls allows: then the reason is ours to give.
ANSWER_TIMEOUT_S = 12
HEARTBEAT_S = 20
PERSISTENT = 2
# A name in this protocol has its length in one byte.
NAME_BYTES_MAX = 255

_URL = re.compile(r"(?P<broker>[^/]*//[^/]*)(?:/(?P<virtual_host>[A-Za-z0-9._~!$'()*,;:@%-]*))?")

NOT_TAKEN = Refused("the broker did not take the message")

# What it has to say about a broker is in the attempt; said again here it would fill the log.
logging.getLogger("aiormq").setLevel(logging.CRITICAL)


class AmqpParams(Params, forbid_unknown_fields=True, rename="camel", kw_only=True):
    """What a connector of the type `amqp` can be told."""

    url: Annotated[
        str,
        Meta(
            max_length=URL_CHARACTERS_MAX,
            description=(
                "amqp://host:port/virtual-host, or amqps:// for an encrypted connection. Without a"
                " virtual host it is the one called /."
            ),
        ),
    ]
    username: Annotated[str, Meta(min_length=1, max_length=255)] | None = None
    password: Secret | None = None
    exchange: Annotated[
        str, Meta(max_length=127, description="None leads to the queue that the key names.")
    ] = ""
    routing_key: Annotated[
        str,
        Meta(
            max_length=255,
            description=(
                f"{MAY_HOLD} Characters of a value that have a meaning in a key, dots among them,"
                " become an underscore."
            ),
        ),
    ] = ""

    def problems(self, egress: Egress) -> list[tuple[str, str]]:
        return super().problems(egress) + only_problems(
            {
                "url": url_problem(self.url, egress),
                **login_problems(self.username, self.password, may_have_nul=False),
                "exchange": None if self.exchange.isprintable() else NOT_PRINTABLE,
                "routingKey": key_problem(self.routing_key, self.exchange),
            }
        )


def split(url: str) -> tuple[Address, str]:
    """Where the broker is, and the virtual host on it."""
    found = _URL.fullmatch(url)
    if found is None:
        raise BadAddress(
            "must be amqp:// or amqps:// with a host, and nothing after a virtual host"
        )
    try:
        virtual_host = unquote(found["virtual_host"] or "", errors="strict")
    except UnicodeDecodeError:
        raise BadAddress("the virtual host is not text") from None
    if not virtual_host.isprintable() or len(virtual_host.encode()) > NAME_BYTES_MAX:
        raise BadAddress("the virtual host is too long or has characters that do not print")
    return parsed(found["broker"], DEFAULT_PORTS), virtual_host or "/"


def url_problem(url: str, egress: Egress) -> str | None:
    """Why a connector with this URL cannot be saved."""
    try:
        address, _ = split(url)
    except BadAddress as error:
        return str(error)
    return egress.refuse_literal(address.host)


def key_problem(template: str, exchange: str) -> str | None:
    """Why nothing can be published under the keys that this makes."""
    if not template and not exchange:
        return "must name a queue, as there is no exchange"
    if not template.isprintable():
        return NOT_PRINTABLE
    return placeholder_problem(template)


def fit_for_key(value: str) -> str:
    """A message's value as one word of a routing key."""
    return fit(value, special=".")


class Amqp:
    """One connector's way to its broker: a channel kept open, and many messages on it."""

    type: ClassVar[str] = "amqp"
    title: ClassVar[str] = "AMQP 0-9-1 (RabbitMQ)"
    params_type: ClassVar[builtins.type[Params]] = AmqpParams
    formats: ClassVar[tuple[str, ...]] = FORMATS
    batch_max: ClassVar[int] = 1

    def __init__(self, params: AmqpParams, egress: Egress) -> None:
        self._params = params
        self._egress = egress
        self._address, self._virtual_host = split(params.url)
        # Only a sender that waits in vain notices a broker that has fallen silent.
        self._shared = SharedConnection(self._open, survives_cancelling=False)

    async def send(self, parcel: Parcel) -> Outcome:
        message = parcel.only
        key = self._key(message)
        if len(key.encode()) > NAME_BYTES_MAX:
            return Refused("the routing key is too long", is_final=True)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S), self._shared.borrowed() as line:
                return await self._published(line.channel, key, message)
        except Exception as error:
            return outcome_of(error)

    def describe(self, parcel: Parcel) -> Request:
        message = parcel.only
        way = [part for part in (self._params.exchange, self._key(message)) if part]
        return Request(
            method="PUBLISH",
            url="/".join([str(self._address), *way]),
            headers={
                "message_id": message.id,
                "content_type": message.content_type,
                "delivery_mode": str(PERSISTENT),
            },
            body=message.body.decode(errors="replace"),
        )

    async def close(self) -> None:
        await self._shared.close()

    def _key(self, message: Message) -> str:
        return filled(self._params.routing_key, message, fit_for_key)

    async def _published(self, channel: AbstractChannel, key: str, message: Message) -> Outcome:
        try:
            answer = await channel.basic_publish(
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
            return NOT_TAKEN
        return Delivered() if isinstance(answer, Basic.Ack) else NOT_TAKEN

    async def _open(self) -> "_Line":
        wire = _Wire(self._egress, self._address)
        connection = Connection(
            # For the login; where to is the wire's business.
            URL.build(
                scheme="amqp",
                host="broker",
                user=self._params.username,
                password=self._params.password,
                query={"heartbeat": str(HEARTBEAT_S)},
            ),
            transport_factory=wire,
        )
        connection.vhost = self._virtual_host
        try:
            await connection.connect()
            if not connection.publisher_confirms:
                raise NoConnection(Refused("the broker cannot confirm that it has a message"))
            channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
        except BaseException:
            wire.cut()
            await connection.close()
            raise
        return _Line(wire, connection, channel)


def outcome_of(error: Exception) -> Outcome:
    """What an error of the library, or on the way, means for the message."""
    match error:
        case ProbableAuthenticationError() | AuthenticationError():
            return Refused("the broker did not accept the login")
        case ProtocolSyntaxError() if "Connection.OpenOk" in str(error):
            # Any other answer when all it had to do was to open the virtual host.
            return Refused("the broker does not let this login into the virtual host")
        case ProtocolSyntaxError() | IncompatibleProtocolError():
            return Unreachable("what answers there does not speak AMQP 0-9-1")
        case ChannelNotFoundEntity():
            return Refused("there is no such exchange")
        case ChannelAccessRefused():
            return Refused("the broker does not let this login publish there")
        case ChannelPreconditionFailed():
            return NOT_TAKEN
        case NoConnection() | EgressDenied() | OSError():
            return failure(error)
    return LOST


class _Wire(TransportFactory):
    """Connects the library to where the guard lets it."""

    def __init__(self, egress: Egress, address: Address) -> None:
        self._egress = egress
        self._address = address
        self._writer: asyncio.StreamWriter | None = None

    async def create(
        self, url: URL, **kwargs: Any
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader = BoundedReader()
        self._writer = await guarded(
            self._egress,
            self._address.host,
            self._address.port,
            reader,
            tls=self._address.scheme == "amqps",
        )
        return reader, self._writer

    def cut(self) -> None:
        """Hang up at once; a farewell could wait for a peer that does not read."""
        if self._writer is not None:
            self._writer.transport.abort()


class _Line:
    """One connection, and the channel on it."""

    def __init__(self, wire: _Wire, connection: Connection, channel: AbstractChannel) -> None:
        self._wire = wire
        self._connection = connection
        self.channel = channel

    @property
    def is_open(self) -> bool:
        return self._connection.is_opened and not self.channel.is_closed

    async def close(self) -> None:
        try:
            await self._connection.close()
        finally:
            self._wire.cut()
