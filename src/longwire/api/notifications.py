"""Notifications on the wire."""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.connectors import DeviceTypes
from longwire.dates import date_text, optional_date_text
from longwire.errors import missing
from longwire.notifications import notifications, schedules
from longwire.notifications.schedules import Schedule
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import Params
from longwire.web.page_tokens import page_of_names
from longwire.web.routing import ANY_TOKEN, Call, Route
from longwire.web.validation import (
    Body,
    Count,
    DateText,
    GroupId,
    Id,
    Name,
    Paged,
    Query,
    Reply,
    Tags,
    Text,
    decode_text,
)

TESTS_PER_MINUTE_MAX = 5  # of one caller: each is a letter to everybody

NotificationId = Annotated[Id, Meta(examples=["ntf_vzpeqxr5mxjrq2uy6ct3mlgw"])]
ParamsText = Annotated[
    str,
    Meta(
        max_length=65_536,
        description="A JSON object, as the type's `expectedParameters` describe it.",
        examples=['{"url":"https://example.com/alarm","throttle":3600}'],
    ),
]
TypeName = Annotated[str, Meta(min_length=1, max_length=64, examples=["webhook"])]
Reason = Annotated[
    str,
    Meta(
        max_length=256,
        description="The `reason` of a data record, the `type` of an event, or one that the service"
        " raises itself. Left out or empty, every event is told.",
        examples=["batteryLow"],
    ),
]
AboutDevice = Annotated[
    str,
    Meta(
        max_length=128,
        description="Only what this device says; empty for all.",
        examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"],
    ),
]
ScheduleIn = Annotated[
    Schedule | Annotated[str, Meta(max_length=1_024)],
    Meta(
        description="When it may be sent, in the time zone of `params`. As an object; or as text in"
        " the form it is answered in, where an empty text takes it away.",
    ),
]


# --- what is answered ---


class NotificationError(Reply):
    """The last failure."""

    at: DateText | None = None
    message: str | None = None


class Notification(Reply, kw_only=True):
    """Who is told of what, and when."""

    group_id: str
    id: str
    name: str | None = None
    description: str | None = None
    params: str
    type: str
    created_at: DateText
    updated_at: DateText
    updated_by: str
    created_by: str
    device_id: str | None = None
    device_types: list[str] | None = None
    reason: str | None = None
    schedule: str | None = None
    enabled: bool | None = None
    tags: list[str] | None = None
    last_fired_at: DateText | None = None
    last_sent_at: DateText | None = None
    error: NotificationError | None = None


class NotificationConnection(Reply):
    """A page of notifications."""

    items: list[Notification]
    next_token: str | None = None


class NotificationType(Reply):
    """A way to tell somebody, and what it wants to be told."""

    expected_parameters: str
    type: str
    name: str | None = None


class NotificationTypeConnection(Reply):
    """A page of notification types."""

    items: list[NotificationType]
    next_token: str | None = None


class NotificationTest(Reply):
    """A test on its way."""

    message: str
    queued: Count


# --- what is taken ---


class NotificationInput(Body, kw_only=True):
    """A notification to create."""

    group_id: GroupId
    params: ParamsText
    type: TypeName
    name: Name
    description: Text | None = None
    device_id: AboutDevice | None = None
    reason: Reason | None = None
    schedule: ScheduleIn | None = None
    device_types: DeviceTypes | None = None
    tags: Tags | None = None
    enabled: bool | None = None


class UpdateNotificationInput(Body, kw_only=True):
    """What is to be different about a notification."""

    notification_id: NotificationId
    group_id: GroupId
    params: ParamsText | None = None
    name: Name | None = None
    description: Text | None = None
    type: TypeName | None = None
    device_id: AboutDevice | None = None
    reason: Reason | None = None
    schedule: ScheduleIn | None = None
    enabled: bool | None = None
    device_types: DeviceTypes | None = None
    tags: Tags | None = None


class NotificationQuery(Query, kw_only=True):
    """Which notification, and of which group if that is known."""

    notification_id: NotificationId
    group_id: GroupId | None = None


class DeleteNotificationQuery(Query):
    """Which notification to delete."""

    # The interface calls the group's id `name` here.
    group_id: Annotated[GroupId, Meta(description="The id of the group.")] = field(name="name")
    notification_id: NotificationId


class NotificationsQuery(Paged, kw_only=True):
    """Of which group; of all that the caller may see when it is left out."""

    group_id: GroupId | None = None


class NotificationTypeQuery(Query):
    """Which notification type."""

    type: TypeName


class NotificationNamed(Body):
    """Which notification, of which group."""

    notification_id: NotificationId
    group_id: GroupId


# --- shaping ---


def notification_wire(view: notifications.View) -> Notification:
    notification, outlet = view.notification, view.notification.outlet
    error = None
    if outlet.error_at is not None:
        error = NotificationError(at=date_text(outlet.error_at), message=outlet.error_message)
    return Notification(
        group_id=outlet.group_id,
        id=outlet.id,
        name=outlet.name,
        description=outlet.description,
        params=view.params,
        type=outlet.type,
        created_at=date_text(outlet.created_at),
        updated_at=date_text(outlet.updated_at),
        updated_by=outlet.updated_by,
        created_by=outlet.created_by,
        device_id=notification.device_id,
        device_types=list(outlet.device_types),
        reason=notification.reason,
        schedule=notification.schedule,
        enabled=outlet.is_enabled,
        tags=list(outlet.tags),
        last_fired_at=optional_date_text(notification.fired_at),
        last_sent_at=optional_date_text(notification.sent_at),
        error=error,
    )


def type_wire(name: str) -> NotificationType:
    return NotificationType(
        expected_parameters=catalogue.expected_parameters(name),
        type=name,
        name=catalogue.TYPES[name].title,
    )


def _wish(call: Call, body: NotificationInput | UpdateNotificationInput) -> notifications.Wish:
    return notifications.Wish(
        params=body.params,
        type=body.type,
        name=body.name,
        description=body.description,
        device_id=body.device_id,
        device_types=body.device_types,
        reason=body.reason,
        schedule=_schedule_text(call, body.schedule),
        is_enabled=body.enabled,
        tags=body.tags,
    )


def _schedule_text(call: Call, given: Schedule | str | None) -> str | None:
    """As it is kept and answered; empty to take it away."""
    if not given:
        return given if isinstance(given, str) else None
    if isinstance(given, str):
        given = decode_text("schedule", given, Schedule, call.limits)
    return schedules.as_text(given)


def _reader(call: Call) -> notifications.ReadParams:
    def read(expected: type[Params], text: str) -> Params:
        return decode_text("params", text, expected, call.limits)

    return read


# --- operations ---


def show_notification(call: Call, query: NotificationQuery) -> Notification:
    """Show a notification.

    Secrets among its `params` are masked unless you may change it.
    """
    return notification_wire(
        notifications.show(call.tx, call.actor, query.notification_id, query.group_id)
    )


def create_notification(call: Call, body: NotificationInput) -> Notification:
    """Create a notification.

    From now on it is sent when a device of the group says something with its `reason`, or when the
    service itself finds that reason, as far as `deviceId`, `deviceTypes`, `schedule` and the `when`
    among its `params` let it through.
    """
    return notification_wire(
        notifications.create(
            call.tx,
            call.actor,
            body.group_id,
            _wish(call, body),
            _reader(call),
            call.egress,
            call.office,
            per_group_max=call.limits.notifications_per_group_max,
        )
    )


def change_notification(call: Call, body: UpdateNotificationInput) -> Notification:
    """Change a notification.

    What is left out stays; an empty `deviceId`, `reason` or `schedule` is taken away. A mask in
    `params` keeps the secret in its place. With another `reason` or another geofence it begins to
    look anew; otherwise what was told is not told again.
    """
    return notification_wire(
        notifications.change(
            call.tx,
            call.actor,
            body.group_id,
            body.notification_id,
            _wish(call, body),
            _reader(call),
            call.egress,
            call.office,
        )
    )


def delete_notification(call: Call, query: DeleteNotificationQuery) -> Notification:
    """Delete a notification.

    `name` carries the id of the group. What it had not sent yet is dropped.
    """
    return notification_wire(
        notifications.delete(call.tx, call.actor, query.group_id, query.notification_id)
    )


def list_notifications(call: Call, query: NotificationsQuery) -> NotificationConnection:
    """List the notifications of a group, or all that you may see."""
    page = notifications.every(call.tx, call.actor, query.group_id, call.pages.open(query))
    return NotificationConnection(
        items=[notification_wire(each) for each in page.items],
        next_token=call.pages.close(query, page),
    )


def show_notification_type(call: Call, query: NotificationTypeQuery) -> NotificationType:
    """Show a notification type.

    `expectedParameters` is a JSON Schema, as text.
    """
    if query.type not in catalogue.TYPES:
        raise missing("type", "notification type")
    return type_wire(query.type)


def list_notification_types(call: Call, query: Paged) -> NotificationTypeConnection:
    """List the notification types."""
    page = page_of_names(catalogue.TYPES, call.pages.open(query))
    return NotificationTypeConnection(
        items=[type_wire(name) for name in page.items], next_token=call.pages.close(query, page)
    )


def test_notification(call: Call, body: NotificationNamed) -> NotificationTest:
    """Send a notification now.

    To see whether it is set up well: with made-up content, whatever its schedule and its throttle
    say, one for each recipient. What became of it shows in `lastSentAt` and `error`. One caller can
    do this a few times a minute.
    """
    queued = notifications.test(
        call.tx, call.actor, body.group_id, body.notification_id, call.dispatch.number
    )
    return NotificationTest(
        message="It is on its way." if queued else "There is nobody to send it to.",
        queued=queued,
    )


_IN_GROUP = "in the group of the notification"
_FOR_EVERYONE = "the catalogue is the same for everyone"


def _route(method: str, path: str, handler: object, needs: str, **more: object) -> Route:
    return Route(
        method=method,
        path=path,
        handler=handler,  # type: ignore[arg-type]
        needs=needs,
        rule=str(more.pop("rule", _IN_GROUP)),
        tag="Notifications",
        **more,  # type: ignore[arg-type]
    )


ROUTES = [
    _route("GET", "/notification", show_notification, "notification.read"),
    _route(
        "POST",
        "/notification",
        create_notification,
        "notification.write",
        rule="in groupId",
        conflicts="The group has as many notifications as it may have.",
    ),
    _route("PUT", "/notification", change_notification, "notification.write"),
    _route(
        "DELETE",
        "/notification",
        delete_notification,
        "notification.write",
        rule="in the group that name carries the id of",
    ),
    _route(
        "GET",
        "/notification/notificationType",
        show_notification_type,
        ANY_TOKEN,
        rule=_FOR_EVERYONE,
    ),
    _route(
        "GET",
        "/notification/notificationTypes",
        list_notification_types,
        ANY_TOKEN,
        rule=_FOR_EVERYONE,
    ),
    _route(
        "GET",
        "/notification/notifications",
        list_notifications,
        "notification.read",
        rule="in the group; without groupId, in each group whose notifications are listed",
    ),
    _route(
        "POST",
        "/notification/test",
        test_notification,
        "notification.write",
        conflicts="The notification is disabled.",
        per_minute_max=TESTS_PER_MINUTE_MAX,
        is_addition=True,
    ),
]
