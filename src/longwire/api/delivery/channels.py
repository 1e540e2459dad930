"""What connectors and notifications have in common on the wire: both have a channel."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from longwire.api.services import Context
from longwire.api.types import parse_version
from longwire.dates import format_date, format_optional_date
from longwire.delivery.channel_owners import OwnerKind
from longwire.delivery.destinations import parameters
from longwire.errors import not_found
from longwire.model import Channel, ChannelOwner
from longwire.web.fields import Body, Count, DateText, Reply, parse_removable
from longwire.web.validation import decode_text

S = TypeVar("S", bound=msgspec.Struct)


class ChannelError(Reply):
    """The last failure."""

    at: DateText | None = None
    message: str | None = None
    since: (
        Annotated[
            DateText,
            Meta(
                description="When it began to fail: the first failed attempt since the last"
                " success. Absent if the last attempt succeeded."
            ),
        ]
        | None
    ) = None


class FilterFailing(Reply, kw_only=True):
    """That the filter cannot be evaluated for most records, which are not sent."""

    since: Annotated[DateText, Meta(description="Since when.")]
    failed: Annotated[
        Count, Meta(description="For how many of the last records it failed.", examples=[86])
    ]
    evaluated: Annotated[
        Count,
        Meta(
            description="For how many of the last records it was evaluated; about 100 to 200 are"
            " looked at.",
            examples=[100],
        ),
    ]


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


def channel_fields(owner: ChannelOwner, params: str) -> dict[str, Any]:
    """The members that connectors and notifications share; each has them in an order of its own."""
    channel = owner.channel
    return {
        "group_id": channel.group_id,
        "id": channel.id,
        "name": owner.name,
        "description": owner.description,
        "params": params,
        "type": channel.type,
        "created_at": format_date(channel.created_at),
        "updated_at": format_date(channel.updated_at),
        "updated_by": channel.updated_by,
        "created_by": channel.created_by,
        "device_types": list(owner.device_types),
        "enabled": channel.is_enabled,
        "tags": list(owner.tags),
        "filter_failing": filter_failing(channel),
    }


def last_error(channel: Channel, error_type: type[E]) -> E | None:
    if channel.error_at is None:
        return None
    return error_type(
        at=format_date(channel.error_at),
        message=channel.error_message,
        since=format_optional_date(channel.failing_since) if channel.failures else None,
    )


def filter_failing(channel: Channel) -> FilterFailing | None:
    if channel.filter_failing_since is None:
        return None
    return FilterFailing(
        since=format_date(channel.filter_failing_since),
        failed=channel.filter_failed,
        evaluated=channel.filter_evaluated,
    )


def describe_params(kind: OwnerKind[Any, Any], type_name: str) -> str:
    """The JSON Schema of a type's parameters, as text."""
    if type_name not in kind.types:
        raise not_found("type", f"{kind.purpose} type")
    return parameters.schema_text(kind.get_params_type(type_name))


def params_parser(context: Context) -> Callable[[type[S], str], S]:
    """How to decode the `params` of a channel, with errors that name its members."""

    def parse(expected: type[S], text: str) -> S:
        return decode_text("params", text, expected, context.limits)

    return parse
