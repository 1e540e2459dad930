"""The operation that shows everything that is known of one record."""

import base64
from typing import Annotated

from msgspec import Meta, field

from longwire.api.delivery.deliveries import (
    STATE_NAMES,
    Message,
    MessageAttempt,
    MessageId,
    StateName,
    show_message,
)
from longwire.api.records.arrivals import Arrival, encode_arrival
from longwire.api.replies import Shown
from longwire.api.services import Context
from longwire.api.types import GroupId
from longwire.delivery.attempts import parse_attempts
from longwire.fleet import traces
from longwire.fleet.traces import NOT_TAKEN
from longwire.ids import format_delivery_id
from longwire.model import Notification
from longwire.store.delivery.delivery_history import DeliveryDetail, DeliveryEvent
from longwire.store.notifications.contact_points import ContactPoint
from longwire.store.records.receptions import Reception as ReceptionValue
from longwire.web.fields import Count, DateText, Query, Reply, words
from longwire.web.routing import Route

NotTaken = Annotated[
    str,
    words("NotTaken", NOT_TAKEN),
    Meta(
        description="Why it has no message: `disabled`, `created_later` (than the record arrived),"
        " `kind`, `device_type`, `device_id`, `filter_false`, `filter_failed`, `not_evaluated` (its"
        " filter takes too long here), or `matches_now`: it would take the record now, but was"
        " changed since, is still to be asked, or the message is no longer stored.",
        examples=["filter_false"],
    ),
]


class Reception(Shown[ReceptionValue], kw_only=True):
    """A message of a network, as it came in; kept for a limited time."""

    received_at: Annotated[DateText, Meta(description="When the request came in.")]
    request_id: Annotated[
        str, Meta(description="Of the network's request.", examples=["c980a42fef000000b"])
    ]
    media_type: Annotated[str, Meta(examples=["application/json"])] = field(
        default="", name="contentType"
    )
    query: Annotated[
        str, Meta(description="Of the URL, without the token.", examples=["event=up"])
    ] = ""
    size: Annotated[int, Meta(description="Of the body, in bytes.", examples=[812])]
    body: (
        Annotated[
            str,
            Meta(
                description="If it is text and was kept: large ones and those of a batch are not.",
                examples=['{"devEUI":"0102030405060708"}'],
            ),
        ]
        | None
    ) = None
    body_base64: (
        Annotated[str, Meta(description="The same if it is not text.", examples=["AQID"])] | None
    ) = None


class DecodingResult(Reply, kw_only=True):
    """What the decoder of the device's type made of the payload."""

    decoder: Annotated[
        str,
        Meta(description="The decoder that the type has now.", examples=["javascript"]),
    ] = ""
    names: Annotated[
        list[str], Meta(description="Members of `data` that it added.", examples=[["celsius"]])
    ]
    error: (
        Annotated[
            str,
            Meta(description="Why it failed, while the reception is kept.", examples=["timeout"]),
        ]
        | None
    ) = None


class ConnectorTrace(Reply, kw_only=True):
    """A connector that forwards records of the group: its message, or why it has none.

    And once more for each alarm that the record has raised or resolved, and that it was sent.
    """

    connector_id: Annotated[str, Meta(examples=["con_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    name: Annotated[str, Meta(examples=["Data lake"])] | None = None
    message: Message | None = None
    not_taken: NotTaken | None = None
    as_of: (
        Annotated[
            str,
            Meta(
                description="`now`: by what the connector is at present; earlier filters are not"
                " stored.",
                examples=["now"],
            ),
        ]
        | None
    ) = None


class NotificationDelivery(Shown[DeliveryEvent], kw_only=True):
    """A message of a notification to one recipient."""

    id: MessageId
    state: Annotated[StateName, Meta(description="As of a message.", examples=["succeeded"])]
    changed_at: Annotated[DateText, Meta(description="Of its last change.")] = field(
        name="timestamp"
    )
    attempts: Annotated[
        list[MessageAttempt], Meta(description="The last 20 attempts, oldest first.")
    ]
    error: Annotated[str, Meta(description="Of the last attempt.")] | None = None


class NotificationTrace(Reply, kw_only=True):
    """A notification that the record caused."""

    notification_id: Annotated[str, Meta(examples=["ntf_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    name: Annotated[str, Meta(examples=["Cold room"])] | None = None
    deliveries: Annotated[list[NotificationDelivery], Meta(description="One for each recipient.")]


class ContactPointTrace(Reply, kw_only=True):
    """A contact point through which notifications were sent that the record caused."""

    contact_point_id: Annotated[str, Meta(examples=["cpt_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    name: Annotated[str, Meta(examples=["Technicians"])] | None = None
    deliveries: Annotated[list[NotificationDelivery], Meta(description="One for each recipient.")]


class Trace(Reply, kw_only=True):
    """A record from its reception to everything that it caused."""

    arrival: Annotated[Arrival, Meta(description="The record.")]
    reception: Reception | None = None
    decoding: DecodingResult | None = None
    connectors: Annotated[
        list[ConnectorTrace],
        Meta(description="Where you have `connector.read`; first those with a message."),
    ]
    has_more_connectors: (
        Annotated[bool, Meta(description="There are more than are shown.", examples=[True])] | None
    ) = None
    notifications: Annotated[
        list[NotificationTrace], Meta(description="Where you have `notification.read`.")
    ]
    contact_points: (
        Annotated[list[ContactPointTrace], Meta(description="Where you have `notification.read`.")]
        | None
    ) = None
    hidden_connectors: (
        Annotated[
            Count,
            Meta(description="With a message about it, but not yours to see.", examples=[1]),
        ]
        | None
    ) = None
    hidden_notifications: (
        Annotated[Count, Meta(description="Caused by it, but not yours to see.", examples=[1])]
        | None
    ) = None


class TraceQuery(Query):
    """Which record: by its id, or by that of a message about it."""

    record_id: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=128,
                description="The id of the record.",
                examples=["rec_19805e2c41a0003"],
            ),
        ]
        | None
    ) = None
    message_id: (
        Annotated[
            MessageId,
            Meta(description="The id of a message of a connector or a notification about it."),
        ]
        | None
    ) = None
    group_id: (
        Annotated[GroupId, Meta(description="The group of the record, which saves a search.")]
        | None
    ) = None


def _show_reception(reception: ReceptionValue | None) -> Reception | None:
    if reception is None:
        return None
    text: str | None = None
    encoded: str | None = None
    if reception.body is not None:
        try:
            text = reception.body.decode()
        except UnicodeDecodeError:
            encoded = base64.b64encode(reception.body).decode()
    return Reception.show(reception, body=text, body_base64=encoded)


def _show_connector(traced: traces.ConnectorTrace) -> ConnectorTrace:
    return ConnectorTrace(
        connector_id=traced.connector.id,
        name=traced.connector.name,
        message=None if traced.message is None else show_message(traced.message),
        not_taken=traced.not_taken,
        as_of=None if traced.not_taken is None else "now",
    )


def _show_delivery(detail: DeliveryDetail) -> NotificationDelivery:
    event = detail.event
    return NotificationDelivery.show(
        event,
        id=format_delivery_id(event.channel_number, event.seq),
        state=STATE_NAMES[event.state],
        attempts=[MessageAttempt.show(each) for each in parse_attempts(detail.attempt_log)],
    )


def get_trace(context: Context, query: TraceQuery) -> Trace:
    """Trace a record.

    How it came in, what the decoder made of it, and for each connector and notification what became
    of it, with every attempt, or why it was not taken.
    """
    found = traces.trace(
        context.tx,
        context.actor,
        query.record_id,
        query.message_id,
        query.group_id,
    )
    decoding = found.decoding
    return Trace(
        arrival=encode_arrival(found.arrived),
        reception=_show_reception(found.reception),
        decoding=None
        if decoding is None
        else DecodingResult(
            decoder=decoding.decoder, names=list(decoding.names), error=decoding.failure
        ),
        connectors=[_show_connector(each) for each in found.connectors],
        has_more_connectors=True if found.has_more_connectors else None,
        notifications=[
            NotificationTrace(
                notification_id=each.notification.id,
                name=each.notification.name,
                deliveries=[_show_delivery(detail) for detail in each.deliveries],
            )
            for each in found.notifications
            if isinstance(each.notification, Notification)
        ],
        contact_points=[
            ContactPointTrace(
                contact_point_id=each.notification.id,
                name=each.notification.name,
                deliveries=[_show_delivery(detail) for detail in each.deliveries],
            )
            for each in found.notifications
            if isinstance(each.notification, ContactPoint)
        ]
        or None,
        hidden_connectors=found.hidden_connectors or None,
        hidden_notifications=found.hidden_notifications or None,
    )


ROUTES = [
    Route(
        "GET",
        "/record/trace",
        get_trace,
        "record.read",
        object_rule="in the group of the record; connector.read and notification.read for what"
        " they say",
        tag="Records",
        is_addition=True,
    ),
]
