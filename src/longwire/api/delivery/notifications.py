"""Operations on notifications."""

from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, field

from longwire.api.delivery.channels import (
    MISPLACED_IN_CHANNELS,
    ChannelError,
    FilterFailing,
    describe_params,
    draft_fields,
    params_parser,
    show_error,
    show_failing_filter,
)
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    ChannelParams,
    ChannelTypeName,
    DeviceTypeNames,
    GroupId,
    IfUpdatedAt,
    Tags,
)
from longwire.model import Notification as NotificationValue
from longwire.notifications import notifications, rules, schedules
from longwire.notifications.schedules import Schedule
from longwire.notifications.types import catalogue
from longwire.notifications.types.base import SendingConfig
from longwire.web.fields import (
    Body,
    Clearable,
    Count,
    DateText,
    Id,
    InputLimits,
    Name,
    Paged,
    Query,
    Reply,
    Text,
    parse_clearable,
)
from longwire.web.page_tokens import paginate_names
from longwire.web.routing import ANY_TOKEN, Route
from longwire.web.validation import decode_text

TESTS_PER_MINUTE_MAX = 5  # per caller: each test is sent to every recipient

NotificationId = Annotated[Id, Meta(examples=["ntf_vzpeqxr5mxjrq2uy6ct3mlgw"])]
NotificationParams = Annotated[
    ChannelParams, Meta(examples=['{"url":"https://example.com/alarm","throttle":3600}'])
]
NotificationTypeName = Annotated[ChannelTypeName, Meta(examples=["webhook"])]
Reason = Annotated[
    str,
    Meta(
        max_length=256,
        description="The `reason` of a data record, the `type` of an event, or one that the service"
        " raises itself. Left out or empty, every event triggers it.",
        examples=["batteryLow"],
    ),
]
DeviceIdFilter = Annotated[
    str,
    Meta(
        max_length=128,
        description="Only records of this device; empty for all.",
        examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"],
    ),
]
ScheduleIn = Annotated[
    Schedule | Annotated[str, Meta(max_length=1_024)],
    Meta(
        description="When it may be sent, in the time zone of `params`. An object, or a string in"
        " the form of the responses; an empty string removes it.",
    ),
]


# --- responses ---


class NotificationError(ChannelError):
    """The last failure."""


class Notification(Shown[NotificationValue], kw_only=True):
    """Who is notified of what, and when."""

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
    is_enabled: bool | None = field(default=None, name="enabled")
    tags: list[str] | None = None
    fired_at: DateText | None = field(default=None, name="lastFiredAt")
    sent_at: DateText | None = field(default=None, name="lastSentAt")
    error: NotificationError | None = None
    filter_failing: FilterFailing | None = None


class NotificationConnection(Page[Notification]):
    """A page of notifications."""


class NotificationType(Reply):
    """A type of notification and its parameters."""

    expected_parameters: str
    type: str
    name: str | None = None
    unavailable: str | None = None


class NotificationTypeConnection(Page[NotificationType]):
    """A page of notification types."""


class NotificationTest(Reply):
    """A test that was queued."""

    message: str
    queued: Count


# --- requests ---


class NotificationInput(Body, kw_only=True):
    """A notification to create."""

    group_id: GroupId
    params: NotificationParams
    type: NotificationTypeName
    name: Name
    description: Text | None = None
    device_id: DeviceIdFilter | None = None
    reason: Reason | None = None
    schedule: ScheduleIn | None = None
    device_types: DeviceTypeNames | None = None
    tags: Tags | None = None
    enabled: bool | None = None


class UpdateNotificationInput(Body, kw_only=True):
    """Changes to a notification."""

    notification_id: NotificationId
    group_id: GroupId
    params: NotificationParams | None = None
    name: Clearable[Name] = UNSET
    description: Clearable[Text] = UNSET
    type: NotificationTypeName | None = None
    device_id: Clearable[DeviceIdFilter] = UNSET
    reason: Clearable[Reason] = UNSET
    schedule: Clearable[ScheduleIn] = UNSET
    enabled: bool | None = None
    device_types: DeviceTypeNames | None = None
    tags: Tags | None = None
    if_updated_at: IfUpdatedAt | None = None


class NotificationQuery(Query, kw_only=True):
    """Which notification; the group is optional."""

    notification_id: NotificationId
    group_id: GroupId | None = None


class DeleteNotificationQuery(Query):
    """Which notification to delete."""

    # The interface calls the group's id `name` here.
    group_id: Annotated[GroupId, Meta(description="The id of the group.")] = field(name="name")
    notification_id: NotificationId


class NotificationsQuery(Paged, kw_only=True):
    """Of which group; without it, of all groups that the caller can see."""

    group_id: GroupId | None = None
    subgroups: Annotated[bool, Meta(description="With those of all groups below `groupId`.")] = (
        False
    )


class NotificationTypeQuery(Query):
    """Which notification type."""

    type: NotificationTypeName


class NotificationRef(Body):
    """Which notification, of which group."""

    notification_id: NotificationId
    group_id: GroupId


# --- conversion ---


def _show(view: notifications.NotificationView) -> Notification:
    channel = view.owner.channel
    return Notification.show(
        view.owner,
        params=view.params,
        error=show_error(channel, NotificationError),
        filter_failing=show_failing_filter(channel),
    )


def type_wire(name: str, config: SendingConfig) -> NotificationType:
    expected_parameters = describe_params(rules.KIND, name)  # refuses unknown types
    sender = catalogue.TYPES[name]
    return NotificationType(
        expected_parameters=expected_parameters,
        type=name,
        name=sender.title,
        unavailable=None if sender.is_available(config) else sender.setup_hint,
    )


def parse_draft(
    body: NotificationInput | UpdateNotificationInput, limits: InputLimits
) -> notifications.NotificationDraft:
    return notifications.NotificationDraft(
        **draft_fields(body),
        device_id=parse_clearable(body.device_id),
        reason=parse_clearable(body.reason),
        schedule=_schedule_text(body.schedule, limits),
    )


def _schedule_text(given: Clearable[Schedule | str], limits: InputLimits) -> str | None:
    """The stored form; empty to remove it."""
    if given is UNSET:
        return None
    if not given:
        return ""
    if isinstance(given, str):
        given = decode_text("schedule", given, Schedule, limits)
    return schedules.encode_schedule(given)


# --- operations ---


def get_notification(context: Context, query: NotificationQuery) -> Notification:
    """Get a notification.

    Secrets in `params` are masked unless the caller may update it.
    """
    return _show(
        notifications.get_notification(
            context.tx, context.actor, query.notification_id, query.group_id
        )
    )


def create_notification(context: Context, body: NotificationInput) -> Notification:
    """Create a notification.

    From now on it is sent when a device of the group sends a record with its `reason`, or when the
    service itself raises that reason, if `deviceId`, `deviceTypes`, `schedule` and the condition
    `when` in `params` match.
    """
    return _show(
        notifications.create_notification(
            context.tx,
            context.actor,
            body.group_id,
            parse_draft(body, context.limits),
            params_parser(context),
            context.services.egress,
            context.services.sending_config,
            quotas=context.services.quotas,
        )
    )


def update_notification(context: Context, body: UpdateNotificationInput) -> Notification:
    """Update a notification.

    Members left out are unchanged; null removes `name`, `description`, `deviceId`, `reason` and
    `schedule`, of the last three an empty string, too. A mask in `params` keeps the secret. A new
    `reason` or geofence resets the trigger state; otherwise nothing is sent again.
    """
    return _show(
        notifications.update_notification(
            context.tx,
            context.actor,
            body.group_id,
            body.notification_id,
            parse_draft(body, context.limits),
            params_parser(context),
            context.services.egress,
            context.services.sending_config,
            quotas=context.services.quotas,
        )
    )


def delete_notification(context: Context, query: DeleteNotificationQuery) -> Notification:
    """Delete a notification.

    `name` is the id of the group. Queued messages are deleted as well.
    """
    return _show(
        notifications.delete_notification(
            context.tx, context.actor, query.group_id, query.notification_id
        )
    )


def list_notifications(context: Context, query: NotificationsQuery) -> NotificationConnection:
    """List the notifications of a group, or all that the caller can see.

    With `subgroups` also those of the groups below `groupId`.
    """
    page = notifications.list_notifications(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return NotificationConnection.show(context, query, page, _show)


def get_notification_type(context: Context, query: NotificationTypeQuery) -> NotificationType:
    """Get a notification type.

    `expectedParameters` is a JSON Schema, as text.
    """
    return type_wire(query.type, context.services.sending_config)


def list_notification_types(context: Context, query: Paged) -> NotificationTypeConnection:
    """List the notification types."""
    page = paginate_names(catalogue.TYPES, context.page_tokens.page_request(query))
    show = partial(type_wire, config=context.services.sending_config)
    return NotificationTypeConnection.show(context, query, page, show)


def send_test_notification(context: Context, body: NotificationRef) -> NotificationTest:
    """Send a test notification.

    With sample content to every recipient, regardless of schedule and throttle. The outcome is
    visible in `lastSentAt` and `error`. Limited to a few requests per minute and caller.
    """
    queued = notifications.test_notification(
        context.tx,
        context.actor,
        body.group_id,
        body.notification_id,
        context.services.dispatch.take_sequence_numbers,
    )
    return NotificationTest(
        message="Queued." if queued else "There are no recipients.",
        queued=queued,
    )


_IN_GROUP = "in the group of the notification"
_FOR_EVERYONE = "the catalogue is the same for everyone"


# Without a condition or a device a notification fires for everything of its group.
_MISPLACED = {
    **MISPLACED_IN_CHANNELS,
    **dict.fromkeys(("to", "when", "subject", "body"), "send it in params"),
    **dict.fromkeys(("timezone", "throttle", "geofence"), "send it in params"),
    **dict.fromkeys(("batteryBelow", "silentAfter", "failingAfter"), "send it in params"),
    **dict.fromkeys(("measurement", "above", "below", "condition"), "send it in params"),
    **dict.fromkeys(("hysteresis", "for", "resolveFor", "staleAfter"), "send it in params"),
    **dict.fromkeys(("subgroups", "severity", "repeatEvery"), "send it in params"),
    **dict.fromkeys(("filter", "messageFilter"), "send it in params, as when"),
    "deviceIds": "send one as deviceId",
}
_route = partial(Route, tag="Notifications", object_rule=_IN_GROUP)

ROUTES = [
    _route(
        "GET",
        "/notification",
        get_notification,
        "notification.read",
        has_secrets=True,
    ),
    _route(
        "POST",
        "/notification",
        create_notification,
        "notification.write",
        object_rule="in groupId",
        conflicts="The group has the maximum number of notifications.",
        misplaced=_MISPLACED,
    ),
    _route(
        "PUT",
        "/notification",
        update_notification,
        "notification.write",
        conflicts=CHANGED_MEANWHILE,
        misplaced=_MISPLACED,
    ),
    _route(
        "DELETE",
        "/notification",
        delete_notification,
        "notification.write",
        object_rule="in the group whose id is in name",
    ),
    _route(
        "GET",
        "/notification/notificationType",
        get_notification_type,
        ANY_TOKEN,
        object_rule=_FOR_EVERYONE,
    ),
    _route(
        "GET",
        "/notification/notificationTypes",
        list_notification_types,
        ANY_TOKEN,
        object_rule=_FOR_EVERYONE,
    ),
    _route(
        "GET",
        "/notification/notifications",
        list_notifications,
        "notification.read",
        object_rule="in the group; without groupId, in each group whose notifications are listed",
        has_secrets=True,
    ),
    _route(
        "POST",
        "/notification/test",
        send_test_notification,
        "notification.write",
        conflicts="The notification is disabled.",
        per_minute_max=TESTS_PER_MINUTE_MAX,
        is_addition=True,
    ),
]
