"""Operations on alarms."""

from functools import partial
from typing import Annotated, Literal

from msgspec import Meta

from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import DeviceId, GroupId, GroupPage, parse_period
from longwire.notifications import alarm_lists
from longwire.notifications.types.base import Severity
from longwire.store.notifications.alarms import Alarm as AlarmValue
from longwire.store.notifications.alarms import AlarmFilter, ListedAlarm, get_state
from longwire.web.fields import Body, DateQuery, DateText, Id, words
from longwire.web.routing import Route

STATES = ("raised", "acknowledged", "resolved")

AlarmId = Annotated[Id, Meta(examples=["alm_vzpeqxr5mxjrq2uy6ct3mlgw"])]
SeverityName = Annotated[
    Severity,
    Meta(title="Severity", description="That of a notification.", examples=["critical"]),
]
AlarmReason = Annotated[
    str,
    Meta(
        max_length=64,
        description="Of its notification: `measurement`, `deviceSilent`, `batteryLow`,"
        " `configurationDrift`, `geofenceEnter`, `geofenceExit`, `connectorFailing` or"
        " `messagesFailed`.",
        examples=["measurement"],
    ),
]


class AlarmsQuery(GroupPage, kw_only=True):
    """Which alarms."""

    subgroups: Annotated[bool, Meta(description="With those of all groups below it.")] = False
    state: Annotated[
        Literal["open", "resolved", "all"],
        Meta(
            title="ListedAlarms",
            description="`open`, whether acknowledged or not, `resolved` or `all`.",
        ),
    ] = "open"
    device_id: DeviceId | None = None
    severity: SeverityName | None = None
    reason: AlarmReason | None = None
    silence_id: (
        Annotated[
            Id,
            Meta(
                description="Those of which this silence has held messages back, ended or not.",
                examples=["sil_vzpeqxr5mxjrq2uy6ct3mlgw"],
            ),
        ]
        | None
    ) = None
    begin_date: Annotated[DateQuery, Meta(description="Raised at or after this.")] | None = None
    end_date: Annotated[DateQuery, Meta(description="Raised before this.")] | None = None


class Acknowledgement(Body, kw_only=True):
    """Which alarm, and what is said about it."""

    group_id: Annotated[GroupId, Meta(description="The group of the alarm.")]
    alarm_id: AlarmId
    comment: Annotated[str, Meta(max_length=1_000, examples=["The door was open."])] | None = None


class Alarm(Shown[AlarmValue], kw_only=True):
    """What is or was wrong with a device or a connector, as a notification says it."""

    id: AlarmId
    group_id: Annotated[GroupId, Meta(description="The group of the device or the connector.")]
    notification_id: Annotated[Id, Meta(examples=["ntf_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    notification_name: str | None = None
    reason: AlarmReason
    device_id: DeviceId | None = None
    device_name: str | None = None
    connector_id: Annotated[Id, Meta(examples=["con_vzpeqxr5mxjrq2uy6ct3mlgw"])] | None = None
    connector_name: str | None = None
    severity: SeverityName
    state: Annotated[str, words("AlarmState", STATES), Meta(examples=["raised"])]
    raised_at: Annotated[
        DateText, Meta(description="When its condition had been met for long enough.")
    ]
    measurement: (
        Annotated[
            str,
            Meta(
                description="Of the condition on a value, as its notification has it now; none"
                " while that is disabled.",
                examples=["temperature"],
            ),
        ]
        | None
    ) = None
    above: Annotated[float, Meta(description="The limit of it.", examples=[-15])] | None = None
    below: Annotated[float, Meta(description="The limit of it.", examples=[15])] | None = None
    value: (
        Annotated[
            float,
            Meta(
                description="That was in force then; only for callers with `record.read`.",
                examples=[-12.5],
            ),
        ]
        | None
    ) = None
    worst_value: (
        Annotated[float, Meta(description="The highest or lowest since.", examples=[-9.0])] | None
    ) = None
    acknowledged_at: DateText | None = None
    acknowledged_by: (
        Annotated[str, Meta(description="The id of a user or an app client.")] | None
    ) = None
    comment: str | None = None
    resolved_at: DateText | None = None
    resolution: (
        Annotated[
            str,
            Meta(
                description="Why, if no value or observation has resolved it.",
                examples=["the device was deleted"],
            ),
        ]
        | None
    ) = None
    notified_at: (
        Annotated[DateText, Meta(description="When messages about it were queued last.")] | None
    ) = None
    silence_id: (
        Annotated[
            str,
            Meta(
                description="The silence that has held messages about it back, of several the last"
                " one; perhaps of a group above.",
                examples=["sil_vzpeqxr5mxjrq2uy6ct3mlgw"],
            ),
        ]
        | None
    ) = None
    is_notification_disabled: (
        Annotated[
            bool,
            Meta(
                description="Its notification is disabled: nobody looks whether it is resolved.",
                examples=[True],
            ),
        ]
        | None
    ) = None


class AlarmConnection(Page[Alarm]):
    """A page of alarms."""


def show_alarm(listed: ListedAlarm) -> Alarm:
    alarm = listed.alarm
    is_open = alarm.resolved_at is None
    return Alarm.show(
        alarm,
        state=get_state(alarm),
        worst_value=alarm.worst,
        notification_name=listed.notification_name,
        device_name=listed.device_name,
        connector_name=listed.connector_name,
        measurement=listed.measurement,
        above=listed.above,
        below=listed.below,
        is_notification_disabled=True if is_open and not listed.is_notification_enabled else None,
    )


def build_alarm_filter(query: AlarmsQuery) -> AlarmFilter:
    begin, end = parse_period(query.begin_date, query.end_date)
    everything = AlarmFilter()
    return AlarmFilter(
        query.state,
        query.device_id or "",
        query.severity or "",
        query.reason or "",
        query.silence_id or "",
        everything.begin if begin is None else begin,
        everything.end if end is None else end,
    )


def list_alarms(context: Context, query: AlarmsQuery) -> AlarmConnection:
    """List the alarms of a group.

    What is wrong now with its devices and connectors, or was, as its notifications and those of
    groups above say it; those that were raised last first.
    """
    page = alarm_lists.list_alarms(
        context.tx,
        context.actor,
        query.group_id,
        build_alarm_filter(query),
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return AlarmConnection.show(context, query, page, show_alarm)


def acknowledge_alarm(context: Context, body: Acknowledgement) -> Alarm:
    """Acknowledge an alarm.

    Says that somebody cares about it. One that is acknowledged already stays as it is. One with the
    reason `messagesFailed` is resolved by that.
    """
    return show_alarm(
        alarm_lists.acknowledge(
            context.tx, context.actor, body.group_id, body.alarm_id, body.comment
        )
    )


_route = partial(Route, tag="Notifications", is_addition=True)

ROUTES = [
    _route(
        "GET",
        "/group/alarms",
        list_alarms,
        "notification.read",
        object_rule="in the group; record.read for values",
    ),
    _route(
        "POST",
        "/alarm/acknowledge",
        acknowledge_alarm,
        "notification.write",
        object_rule="in the group of the alarm",
        conflicts="The alarm is resolved.",
    ),
]
