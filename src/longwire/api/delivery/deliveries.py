"""Operations on single messages of connectors."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from longwire.api.delivery.connectors import STATUSES, ConnectorEvent, DeliveryStatus, show_event
from longwire.api.replies import Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import DeviceId, GroupId, GroupTreePage, MessageKindName, parse_period
from longwire.changes import MESSAGE_KIND_NAMES
from longwire.clock import Moment
from longwire.dates import format_date
from longwire.delivery.attempts import Attempt
from longwire.delivery.connectors import deliveries
from longwire.delivery.connectors.deliveries import ChangedMessages, MessageSelection
from longwire.delivery.destinations.base import FailureCode
from longwire.errors import BadInput, FieldError
from longwire.ids import format_record_id
from longwire.store.delivery.delivery_search import DeliveryFilter, StateCounts
from longwire.store.delivery.delivery_states import HELD_BACK, DeliveryState
from longwire.store.records.records import ALL_TIME
from longwire.web.fields import (
    Body,
    Count,
    DateIn,
    DateQuery,
    DateText,
    Id,
    Query,
    Reply,
    limited_by,
    words,
)
from longwire.web.routing import Route

MessageId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="The id of a message, as a receiver gets it in `webhook-id`.",
        examples=["msg_2a_19805e2c41a0003"],
    ),
]
MessageIds = Annotated[
    Annotated[list[MessageId], Meta(min_length=1, description="Messages of this group.")],
    limited_by("bulk_ids_max", unit="ids"),
]
ConnectorId = Annotated[
    Id, Meta(description="Only of this connector.", examples=["con_vzpeqxr5mxjrq2uy6ct3mlgw"])
]
OneDeviceId = Annotated[DeviceId, Meta(description="Only about this device.")]
Status = Annotated[
    DeliveryStatus,
    Meta(
        max_length=64,
        description="Only with this status: `processing`, `succeed` or `failed`.",
        examples=["failed"],
    ),
]
Kind = Annotated[MessageKindName, Meta(max_length=64, description="Only messages of this kind.")]
RecordJson = Annotated[
    dict[str, Any],
    Meta(
        description="The record, as a list of its kind returns it, or the change; with"
        " `record.read`.",
        examples=[{"deviceId": "dev_vzpeqxr5mxjrq2uy6ct3mlgw", "type": "doorOpened"}],
    ),
]

STATE_NAMES = {
    DeliveryState.QUEUED: "queued",
    DeliveryState.LEASED: "sending",
    DeliveryState.SUCCEEDED: "succeeded",
    DeliveryState.FAILED: "failed",
    DeliveryState.EXPIRED: "expired",
    DeliveryState.CANCELLED: "cancelled",
}
StateName = Annotated[str, words("MessageState", STATE_NAMES.values())]


# --- responses ---


class MessageStats(Reply, omit_defaults=False):
    """The number of messages that changed in the period, by status, whatever else is asked for."""

    total_still_processing: Annotated[Count, Meta(description="`processing`.", examples=[3])] = 0
    total_succeed: Annotated[Count, Meta(description="`succeed`.", examples=[120])] = 0
    total_failed: Annotated[Count, Meta(description="`failed`.", examples=[1])] = 0
    is_more: Annotated[
        bool, Meta(description="There are more; counting ended early.", examples=[False])
    ] = False


class MessageConnection(Reply):
    """A page of messages."""

    items: Annotated[list[ConnectorEvent], Meta(description="By their last change.")]
    stats: Annotated[MessageStats, Meta(description="With the first page.")] | None = None
    next_token: (
        Annotated[
            str,
            Meta(
                description="There may be more, also when this page has few items or none: a page"
                " looks at a limited number of messages."
            ),
        ]
        | None
    ) = None


class MessageAttempt(Shown[Attempt]):
    """One attempt to deliver a message."""

    number: Annotated[
        int,
        Meta(description="Since it was created or last sent again, from 1.", examples=[1]),
    ]
    at: Annotated[DateText, Meta(description="When it began.")] = field(name="timestamp")
    duration_ms: Annotated[int, Meta(description="How long it took.", examples=[87])]
    outcome: Annotated[
        str,
        words("AttemptOutcome", ("delivered", *FailureCode)),
        Meta(
            description="`delivered`, or why not: `rejected`, `unreachable`, `timed_out`,"
            " `egress_denied`, `tls_failed`, `login_rejected`, `limit_exceeded`, `gone`,"
            " `recipient_gone`, `not_configured`, `invalid_message`, `withdrawn`, `quota_used_up`,"
            " `internal_error`, `orphaned` (the process that sent it died) or `stopped`.",
            examples=["rejected"],
        ),
    ]
    status: Annotated[int, Meta(description="Of the HTTP response.", examples=[503])] | None = None
    exchange_id: (
        Annotated[
            str,
            Meta(
                description="The id of what was sent and what came back, if that was kept:"
                " `GET /connector/exchanges`.",
                examples=["exc_vzpeqxr5mxjrq2uy6ct3mlgw"],
            ),
        ]
        | None
    ) = None


class Message(Reply, kw_only=True):
    """One message of a connector, and what became of it."""

    event: Annotated[ConnectorEvent, Meta(description="As in the list.")]
    state: Annotated[
        StateName,
        Meta(
            description="`queued`, `sending`, `succeeded`, `failed`, `expired` (failed, and no"
            " longer kept for a resend) or `cancelled`.",
            examples=["failed"],
        ),
    ]
    group_id: Annotated[GroupId, Meta(description="The group of the connector.")]
    record_id: (
        Annotated[
            str,
            Meta(
                description="The record that it is about, or that has raised or resolved the alarm;"
                " absent for other changes.",
                examples=["rec_19805e2c41a0003"],
            ),
        ]
        | None
    ) = None
    created_at: Annotated[DateText, Meta(description="When it was queued first.")]
    due_at: Annotated[DateText, Meta(description="When it is attempted next.")] | None = None
    resent: Annotated[int, Meta(description="How often it was sent again.", examples=[0])]
    attempts: Annotated[
        list[MessageAttempt], Meta(description="The last 20 attempts, oldest first.")
    ]
    record: RecordJson | None = None


class MessagesChanged(Reply, omit_defaults=False):
    """What was done."""

    message: Annotated[str, Meta(examples=["12 messages changed, 3 skipped."])]
    changed: Annotated[Count, Meta(examples=[12])]
    skipped: Annotated[
        Count, Meta(description="Those in a state in which it is not possible.", examples=[3])
    ]
    is_more: Annotated[
        bool,
        Meta(description="More match; repeat the request for the rest.", examples=[False]),
    ]


# --- requests ---


class MessagesQuery(GroupTreePage, kw_only=True):
    """Which messages of the connectors of a group."""

    connector_id: ConnectorId | None = None
    status: Status | None = None
    device_id: OneDeviceId | None = None
    kind: Kind | None = None
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None
    ascending: Annotated[bool, Meta(description="true for the oldest first.")] | None = None


class MessageQuery(Query):
    """Which message."""

    id: MessageId


class CancelMessagesInput(Body, kw_only=True):
    """Messages by their ids, or those of a connector by a filter; not both."""

    group_id: GroupId
    ids: MessageIds | None = None
    connector_id: ConnectorId | None = None
    device_id: OneDeviceId | None = None
    kind: Kind | None = None
    begin_date: Annotated[DateIn, Meta(description="Last changed from then on.")] | None = None
    end_date: Annotated[DateIn, Meta(description="Last changed before.")] | None = None


class RetryMessagesInput(CancelMessagesInput, kw_only=True):
    """Messages by their ids, or those of a connector by a filter; not both."""

    status: (
        Annotated[
            str,
            Meta(
                max_length=64,
                description="`failed` (default) or `processing`.",
                examples=["failed"],
            ),
        ]
        | None
    ) = None


_FILTER_FIELDS = ("connector_id", "device_id", "kind", "begin_date", "end_date", "status")


# --- conversion ---


def _build_filter(
    asked: MessagesQuery | CancelMessagesInput, statuses: Mapping[str, frozenset[DeliveryState]]
) -> DeliveryFilter:
    field_errors: list[FieldError] = []
    begin: Moment | None = None
    end: Moment | None = None
    try:
        begin, end = parse_period(asked.begin_date, asked.end_date)
    except BadInput as error:
        field_errors += error.field_errors
    status = getattr(asked, "status", None)
    if status is not None and status not in statuses:
        known = ", ".join(statuses)
        field_errors.append(FieldError("status", f"is unknown; known are {known}"))
    if asked.kind is not None and asked.kind not in MESSAGE_KIND_NAMES:
        known = ", ".join(MESSAGE_KIND_NAMES)
        field_errors.append(FieldError("kind", f"is unknown; known are {known}"))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return DeliveryFilter(
        ALL_TIME[0] if begin is None else begin,
        ALL_TIME[1] if end is None else end,
        None if status is None else statuses[status],
        asked.device_id,
        None if asked.kind is None else MESSAGE_KIND_NAMES.index(asked.kind),
    )


def _stats(counts: StateCounts | None) -> MessageStats | None:
    if counts is None:
        return None
    totals = dict.fromkeys(STATUSES, 0)
    for status, states in STATUSES.items():
        totals[status] = sum(counts.counts.get(state, 0) for state in states)
    return MessageStats(
        total_still_processing=totals["processing"],
        total_succeed=totals["succeed"],
        total_failed=totals["failed"],
        is_more=not counts.is_complete,
    )


def show_message(message: deliveries.Message) -> Message:
    event = message.event
    record: Any = None if message.record is None else msgspec.Raw(message.record.encode())
    is_queued = event.state == DeliveryState.QUEUED
    return Message(
        event=show_event(event, connector_id=message.connector.id),
        state=STATE_NAMES[event.state],
        group_id=message.connector.group_id,
        record_id=None if message.record_seq is None else format_record_id(message.record_seq),
        created_at=format_date(event.created_at),
        due_at=format_date(event.due_at) if is_queued and event.due_at < HELD_BACK else None,
        resent=event.generation,
        attempts=[MessageAttempt.show(each) for each in message.attempts],
        record=record,
    )


def _build_selection(
    body: CancelMessagesInput, statuses: Mapping[str, frozenset[DeliveryState]], default: str
) -> MessageSelection:
    wanted = _build_filter(body, statuses)
    given = [name for name in _FILTER_FIELDS if getattr(body, name, None) is not None]
    if body.ids is not None:
        if given:
            reason = "cannot be combined with ids"
            raise BadInput(field_errors=[FieldError(name, reason) for name in given])
        return MessageSelection(body.group_id, ids=body.ids)
    if body.connector_id is None:
        raise BadInput(field_errors=[FieldError("connector_id", "is required without ids")])
    if wanted.states is None:
        wanted = replace(wanted, states=statuses[default])
    return MessageSelection(body.group_id, connector_id=body.connector_id, wanted=wanted)


# --- operations ---


def list_messages(context: Context, query: MessagesQuery) -> MessageConnection:
    """List the messages of the connectors of a group.

    Over all of its connectors, by the time of their last change, newest first; with `subgroups`
    also over those of the groups below.
    """
    wanted = _build_filter(query, STATUSES)
    found = deliveries.search_messages(
        context.tx,
        context.actor,
        query.group_id,
        query.connector_id,
        wanted,
        context.page_tokens.page_request(query),
        ascending=query.ascending is True,
        subgroups=query.subgroups,
    )
    return MessageConnection(
        items=[
            show_event(each, connector_id=found.connector_ids[each.channel_number])
            for each in found.page.items
        ],
        stats=_stats(found.counts),
        next_token=context.page_tokens.next_token(query, found.page),
    )


def get_message(context: Context, query: MessageQuery) -> Message:
    """Get a message with its attempts.

    What was sent and what the receiver answered is in `GET /connector/exchanges`, as far as it is
    kept.
    """
    return show_message(deliveries.get_message(context.tx, context.actor, query.id))


_RETRYABLE = {name: STATUSES[name] for name in ("failed", "processing")}
_CANCELLABLE = {"processing": frozenset([DeliveryState.QUEUED])}


async def retry_messages(context: AsyncContext, body: RetryMessagesInput) -> MessagesChanged:
    """Retry messages now.

    Those that wait for their next attempt, and those that failed and are still kept for a resend.
    By ids, up to 1,000; or by a filter, up to 10,000 in one request.
    """
    selection = _build_selection(body, _RETRYABLE, "failed")
    result = await deliveries.change_messages(
        context.database, context.actor, context.origin, "retry", selection
    )
    await context.write(lambda tx: context.services.dispatch.wake(tx, result.channels))
    return _changed(result)


async def cancel_messages(context: AsyncContext, body: CancelMessagesInput) -> MessagesChanged:
    """Cancel messages.

    Those that are queued; one that is being sent is not changed. By ids, up to 1,000; or by a
    filter, up to 10,000 in one request.
    """
    selection = _build_selection(body, _CANCELLABLE, "processing")
    return _changed(
        await deliveries.change_messages(
            context.database, context.actor, context.origin, "cancel", selection
        )
    )


def _changed(result: ChangedMessages) -> MessagesChanged:
    rest = " There are more." if result.is_more else ""
    return MessagesChanged(
        message=f"{result.changed} messages changed, {result.skipped} skipped.{rest}",
        changed=result.changed,
        skipped=result.skipped,
        is_more=result.is_more,
    )


_route = partial(Route, tag="Connectors", is_addition=True, not_found_is_bad_request=True)

ROUTES = [
    _route(
        "GET",
        "/connector/messages",
        list_messages,
        "connector.read",
        object_rule="in the group",
    ),
    _route(
        "GET",
        "/connector/message",
        get_message,
        "connector.read",
        object_rule="in the group of the connector; record.read there for the record",
    ),
    _route(
        "POST",
        "/connector/messages/retry",
        retry_messages,
        "connector.resend",
        object_rule="in the group of the connectors",
        in_turns=True,
        per_minute_max=60,
    ),
    _route(
        "POST",
        "/connector/messages/cancel",
        cancel_messages,
        "connector.resend",
        object_rule="in the group of the connectors",
        in_turns=True,
        per_minute_max=60,
    ),
]
