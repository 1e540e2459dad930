"""AMQP 0-9-1: each message is published, and delivered when a queue has it and the broker confirms.

The client is aiormq's, of the extra `amqp`, under the egress guard; see `amqp_session.py`. A
message that no queue takes is returned by the broker, and one that a queue rejects is nacked.
"""

import asyncio
import re
from functools import partial
from typing import Annotated, Any, ClassVar
from urllib.parse import unquote

from msgspec import Meta

from longwire.delivery.destinations import addresses
from longwire.delivery.destinations.base import (
    DestinationParams,
    OutboundMessage,
    Outcome,
    Secret,
    invalid_message,
    list_invalid_fields,
)
from longwire.delivery.destinations.broker import BrokerDestination
from longwire.delivery.destinations.connections import SharedConnection
from longwire.delivery.http.egress import Egress

DEFAULT_PORTS = {"amqp": 5672, "amqps": 5671}
# Shorter than the engine's timeout, so that the reason can be given here.
SEND_TIMEOUT_S = 12
PERSISTENT = 2
# Short strings have a one-byte length.
NAME_BYTES_MAX = 255

_URL = re.compile(r"(?P<broker>[^/]*//[^/]*)(?:/(?P<virtual_host>[A-Za-z0-9._~!$'()*,;:@%-]*))?")


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


class Amqp(BrokerDestination[Any]):
    """One connector's channel to its broker, kept open between messages."""

    type: ClassVar[str] = "amqp"
    title: ClassVar[str] = "AMQP 0-9-1 (RabbitMQ)"
    params_type = AmqpParams
    extra: ClassVar[str] = "amqp"

    def __init__(self, params: AmqpParams, egress: Egress) -> None:
        super().__init__()
        self._library = self._load("longwire.delivery.destinations.amqp_session")
        self._params = params
        self._address, self._virtual_host = parse_amqp_url(params.url)
        # Only a send that times out detects a dead broker.
        self._shared = SharedConnection(egress, self._open, keep_on_cancel=False)

    async def _send(self, message: OutboundMessage) -> Outcome:
        key = self._key(message)
        if len(key.encode()) > NAME_BYTES_MAX:
            return invalid_message("the routing key is too long")
        async with asyncio.timeout(SEND_TIMEOUT_S), self._shared.lease() as session:
            outcome: Outcome = await session.publish(
                self._params.exchange, key, message.body, _properties_of(message)
            )
            return outcome

    def _target(self, message: OutboundMessage) -> str:
        path = (self._params.exchange, self._key(message))
        return "/".join([str(self._address), *filter(None, path)])

    def _headers(self, message: OutboundMessage) -> dict[str, str]:
        return {name: str(value) for name, value in _properties_of(message).items()}

    def _key(self, message: OutboundMessage) -> str:
        return addresses.render_template(self._params.routing_key, message, sanitize_routing_word)

    def _outcome_of_error(self, error: Exception, message: OutboundMessage) -> Outcome:
        outcome: Outcome = self._library.outcome_of_amqp_error(error)
        return outcome

    async def _open(self) -> Any:
        return await self._library.open_session(
            self._address,
            self._virtual_host,
            self._params.username,
            self._params.password,
            self._inbound,
        )


def _properties_of(message: OutboundMessage) -> dict[str, Any]:
    return {
        "message_id": message.id,
        "content_type": message.content_type,
        "delivery_mode": PERSISTENT,
    }
