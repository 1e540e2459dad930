"""What connectors and notifications have in common on the wire: both have a channel."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, field

from longwire.api.replies import Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import parse_version
from longwire.dates import format_optional_date
from longwire.delivery.channel_owners import OwnerKind
from longwire.delivery.destinations import parameters
from longwire.errors import not_found
from longwire.model import Channel
from longwire.web.fields import Body, Count, DateText, parse_removable
from longwire.web.validation import decode_text

S = TypeVar("S", bound=msgspec.Struct)


class ChannelError(Shown[Channel]):
    """The last failure."""

    error_at: DateText | None = field(default=None, name="at")
    error_message: str | None = field(default=None, name="message")
    failing_since: (
        Annotated[
            DateText,
            Meta(
                description="When it began to fail: the first failed attempt since the last"
                " success. Absent if the last attempt succeeded."
            ),
        ]
        | None
    ) = field(default=None, name="since")


class FilterFailing(Shown[Channel], kw_only=True):
    """That the filter cannot be evaluated for most records, which are not sent."""

    filter_failing_since: Annotated[DateText, Meta(description="Since when.")] = field(name="since")
    filter_failed: Annotated[
        Count, Meta(description="For how many of the last records it failed.", examples=[86])
    ] = field(name="failed")
    filter_evaluated: Annotated[
        Count,
        Meta(
            description="For how many of the last records it was evaluated; about 100 to 200 are"
            " looked at.",
            examples=[100],
        ),
    ] = field(name="evaluated")


E = TypeVar("E", bound=ChannelError)


_DRAFT_MEMBERS = ("params", "type", "device_types", "tags")

# What people send beside `params` instead of in it, and singular for plural.
MISPLACED_IN_CHANNELS = {
    **dict.fromkeys(("url", "method", "headers", "bearer", "basic", "secret"), "send it in params"),
    "deviceType": "send a list, deviceTypes",
}


def draft_fields(body: Body) -> dict[str, Any]:
    """The fields that drafts of connectors and notifications share, of a request for either."""
    shared = msgspec.structs.asdict(body)
    return {
        **{name: shared[name] for name in _DRAFT_MEMBERS},
        "name": parse_removable(shared["name"]),
        "description": parse_removable(shared["description"]),
        "is_enabled": shared["enabled"],
        "if_updated_at": parse_version(shared.get("if_updated_at")),
    }


def show_error(channel: Channel, error_type: type[E]) -> E | None:
    if channel.error_at is None:
        return None
    since = format_optional_date(channel.failing_since) if channel.failures else None
    return error_type.show(channel, failing_since=since)


def show_failing_filter(channel: Channel) -> FilterFailing | None:
    return None if channel.filter_failing_since is None else FilterFailing.show(channel)


def describe_params(kind: OwnerKind[Any, Any], type_name: str) -> str:
    """The JSON Schema of a type's parameters, as text."""
    if type_name not in kind.types:
        raise not_found("type", f"{kind.purpose} type")
    return parameters.schema_text(kind.get_params_type(type_name))


def params_parser(context: Context | AsyncContext) -> Callable[[type[S], str], S]:
    """How to decode the `params` of a channel, with errors that name its members."""

    def parse(expected: type[S], text: str) -> S:
        return decode_text("params", text, expected, context.limits)

    return parse
