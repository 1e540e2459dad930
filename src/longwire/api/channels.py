"""What connectors and notifications have in common on the wire: both have a channel."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from longwire.dates import format_date
from longwire.model import Connector as ChannelValue
from longwire.web.fields import DateText, Reply
from longwire.web.routing import RequestContext
from longwire.web.validation import decode_text

S = TypeVar("S", bound=msgspec.Struct)


class ChannelError(Reply):
    """The last failure."""

    at: DateText | None = None
    message: str | None = None


E = TypeVar("E", bound=ChannelError)


def channel_fields(channel: ChannelValue, params: str) -> dict[str, Any]:
    """The members that connectors and notifications share; each has them in an order of its own."""
    return {
        "group_id": channel.group_id,
        "id": channel.id,
        "name": channel.name,
        "description": channel.description,
        "params": params,
        "type": channel.type,
        "created_at": format_date(channel.created_at),
        "updated_at": format_date(channel.updated_at),
        "updated_by": channel.updated_by,
        "created_by": channel.created_by,
        "device_types": list(channel.device_types),
        "enabled": channel.is_enabled,
        "tags": list(channel.tags),
    }


def last_error(channel: ChannelValue, error_type: type[E]) -> E | None:
    if channel.error_at is None:
        return None
    return error_type(at=format_date(channel.error_at), message=channel.error_message)


def params_parser(context: RequestContext) -> Callable[[type[S], str], S]:
    """How to decode the `params` of a channel, with errors that name its members."""

    def parse(expected: type[S], text: str) -> S:
        return decode_text("params", text, expected, context.limits)

    return parse
