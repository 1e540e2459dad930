"""The operation that shows what fails at a connector, by error."""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.replies import Shown
from longwire.api.services import Context
from longwire.api.types import GroupId, parse_period
from longwire.delivery.connectors import failures
from longwire.delivery.connectors.failures import ErrorGroup
from longwire.delivery.destinations.base import FailureCode
from longwire.store.records.records import ALL_TIME
from longwire.web.fields import Count, DateQuery, DateText, Id, Query, Reply, words
from longwire.web.routing import Route

# --- responses ---


class ConnectorFailure(Shown[ErrorGroup], kw_only=True):
    """Messages of a connector whose last attempt failed in the same way."""

    error: Annotated[
        str,
        Meta(description="Why, in our words.", examples=["answered with status 503"]),
    ] = field(name="message")
    code: (
        Annotated[
            str,
            words("AttemptOutcome", ("delivered", *FailureCode)),
            Meta(description="As in `attempts` of a message.", examples=["rejected"]),
        ]
        | None
    ) = None
    status: Annotated[int, Meta(description="Of the HTTP response.", examples=[503])] | None = None
    count: Annotated[Count, Meta(description="How many messages.", examples=[376])]
    dead_letters: Annotated[Count, Meta(description="Of these: kept for a resend.", examples=[370])]
    waiting: Annotated[
        Count, Meta(description="Of these: attempted again, or waiting for it.", examples=[4])
    ]
    lost: Annotated[
        Count,
        Meta(description="Of these: given up, and not or no longer kept.", examples=[2]),
    ]
    devices: Annotated[Count, Meta(description="How many devices they are about.", examples=[12])]
    first_at: Annotated[DateText, Meta(description="When the first of them failed the last time.")]
    last_at: Annotated[DateText, Meta(description="When the last of them failed.")]
    kept_until: (
        Annotated[DateText, Meta(description="When the first of the dead letters expires.")] | None
    ) = None
    message_id: Annotated[
        str,
        Meta(
            description="One of the newest, for an example: of those whose request and response"
            " were kept, if there are any.",
            examples=["msg_2a_19805e2c41a0003"],
        ),
    ]


class ConnectorFailures(Reply, omit_defaults=False):
    """What fails at a connector."""

    items: Annotated[list[ConnectorFailure], Meta(description="By error, most first; up to 50.")]
    is_more: Annotated[
        bool,
        Meta(
            description="More messages changed in the period than were looked at: the newest"
            " 2,000 dead letters, 2,000 that wait, and 2,000 others.",
            examples=[False],
        ),
    ]


# --- the request ---


class ConnectorFailuresQuery(Query, kw_only=True):
    """Which connector, and which period."""

    connector_id: Id
    group_id: GroupId
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None


# --- the operation ---


def list_failures(context: Context, query: ConnectorFailuresQuery) -> ConnectorFailures:
    """List what fails at a connector, by error.

    Of messages that last changed in the period: how many failed in which way, what became of them,
    and for how many devices.
    """
    begin, end = parse_period(query.begin_date, query.end_date)
    report = failures.list_failures(
        context.tx,
        context.actor,
        query.group_id,
        query.connector_id,
        ALL_TIME[0] if begin is None else begin,
        ALL_TIME[1] if end is None else end,
    )
    return ConnectorFailures(
        items=[ConnectorFailure.show(each) for each in report.failures], is_more=report.is_more
    )


ROUTES = [
    Route(
        "GET",
        "/connector/failures",
        list_failures,
        "connector.read",
        object_rule="in the group of the connector",
        tag="Connectors",
        is_addition=True,
        not_found_is_bad_request=True,
    ),
]
