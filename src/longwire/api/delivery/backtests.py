"""Backtests of notifications: when one would have raised alarms."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from longwire.api.delivery.channels import params_parser
from longwire.api.delivery.notifications import (
    NotificationId,
    NotificationInput,
    parse_draft,
)
from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, GroupId, parse_period
from longwire.clock import DAY, Moment
from longwire.dates import format_date, format_optional_date
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import backtests
from longwire.fleet.backtests import Backtest, BacktestPage
from longwire.fleet.records import FOREVER
from longwire.identity import access
from longwire.model import Notification
from longwire.notifications import notifications
from longwire.notifications.backtests import BacktestedAlarm
from longwire.notifications.rules import KIND, compile_rule
from longwire.notifications.trigger_states import MEASUREMENT
from longwire.store.database import Tx
from longwire.web.fields import Body, Count, DateIn, DateText, Name, Reply
from longwire.web.routing import Route

RANGE_MAX: Moment = 366 * DAY
DEVICES_MAX = 1_000


# --- requests ---


class NotificationDraftInput(NotificationInput, kw_only=True):
    """A notification that is not stored."""

    group_id: Annotated[GroupId, Meta(description="As in the request.")] | None = None  # type: ignore[assignment]
    name: Name | None = None  # type: ignore[assignment]


class BacktestInput(Body, kw_only=True):
    """Which notification, stored or not, and which range of time."""

    group_id: GroupId
    notification: (
        Annotated[
            NotificationDraftInput,
            Meta(
                description="One that is not stored, as `POST /notification` takes it; or"
                " `notificationId`."
            ),
        ]
        | None
    ) = None
    notification_id: (
        Annotated[NotificationId, Meta(description="A stored one of this group.")] | None
    ) = None
    begin_date: Annotated[DateIn, Meta(description="It is as if it had been created then.")]
    end_date: Annotated[DateIn, Meta(description="Not later than now, else now counts.")]
    limit: (
        Annotated[
            int,
            Meta(ge=1, le=DEVICES_MAX, description="How many devices are examined at most."),
        ]
        | None
    ) = None
    next_token: Annotated[str, Meta(description="The nextToken of the answer before.")] | None = (
        None
    )


# --- responses ---


class AlarmInterval(Reply, kw_only=True):
    """An alarm that would have been raised."""

    raised_at: Annotated[
        DateText, Meta(description="When the condition had been met for long enough.")
    ]
    resolved_at: (
        Annotated[DateText, Meta(description="Absent if it was open at the end.")] | None
    ) = None
    value: (
        Annotated[
            float,
            Meta(description="That was in force when it was raised.", examples=[-12.5]),
        ]
        | None
    ) = None
    worst_value: (
        Annotated[float, Meta(description="The highest or lowest since.", examples=[-9.0])] | None
    ) = None


class BacktestedDevice(Reply):
    """The alarms of a device."""

    device_id: DeviceId
    alarms: Annotated[list[AlarmInterval], Meta(description="By time.")]


class BacktestExamined(Reply, kw_only=True):
    """What was looked at for an answer."""

    devices: Annotated[Count, Meta(description="That it may be about.", examples=[12])]
    records: Annotated[Count, Meta(description="That were read.", examples=[310])]
    summaries: Annotated[
        Count,
        Meta(
            description="Days, and quarters of an hour, of which no record had to be read.",
            examples=[348],
        ),
    ]
    failed: (
        Annotated[
            Count,
            Meta(description="Records for which the expression had no value.", examples=[2]),
        ]
        | None
    ) = None


class BacktestResult(Reply, kw_only=True):
    """The alarms that a notification would have raised, by device."""

    items: Annotated[list[BacktestedDevice], Meta(description="Devices with alarms.")]
    messages: Annotated[
        Count,
        Meta(
            description="How many messages would have been sent, each to every recipient.",
            examples=[4],
        ),
    ]
    examined: BacktestExamined
    examined_from: (
        Annotated[
            DateText,
            Meta(description="If older records of a device are not kept: from when on they are."),
        ]
        | None
    ) = None
    examined_until: (
        Annotated[
            DateText,
            Meta(
                description="If the last device has more records than one request reads: until"
                " when it was examined. `nextToken` goes on there."
            ),
        ]
        | None
    ) = None
    next_token: Annotated[str, Meta(description="If there is more to examine.")] | None = None


# --- the operation ---


async def backtest_notification(context: AsyncContext, body: BacktestInput) -> BacktestResult:
    """Find out when a notification would have raised alarms.

    One with the reason `measurement`, stored or not, is tried with what its devices have sent in a
    range of time, as it would have been then: with its duration, its hysteresis, and what it does
    when values stay away. Nothing is sent and nothing is stored. What the devices are and what they
    are configured to is as of now; records of other groups they were in do not count.

    An answer has the next devices, as far as one request goes; `nextToken` goes on behind them, and
    its messages are to be added.
    """
    begin, end = _parse_range(body, context.now)
    request = context.page_tokens.page_request(body)
    backtest = await context.read(partial(_load, context, body, begin, end))
    services = context.services
    page = await backtests.run_page(context.database, services.computing, backtest, request)
    return _show(page, context.page_tokens.next_token(body, page))


def _load(
    context: AsyncContext, body: BacktestInput, begin: Moment, end: Moment, tx: Tx
) -> Backtest:
    group_id, actor = body.group_id, context.actor
    if body.notification is not None and body.notification_id is not None:
        raise invalid_field("notification_id", "cannot be given with notification")
    if body.notification_id is not None:
        notification = KIND.require(tx, actor, "read", group_id, body.notification_id)
    elif body.notification is not None:
        notification = _build_draft(context, body, body.notification, tx)
    else:
        raise invalid_field("notification", "or notificationId is required")
    rule = compile_rule(tx, notification)
    if rule.condition is None:
        place = "notification_id" if body.notification is None else "notification.reason"
        raise invalid_field(place, f"only the reason {MEASUREMENT} has a condition to be tried")
    scope = access.authorize_tree(
        tx, actor, "record.read", group_id, subgroups=rule.params.subgroups
    )
    groups = sorted(scope.group_ids)
    now = tx.now
    return Backtest(
        rule,
        rule.condition,
        groups,
        begin,
        until=min(end, now),
        end=FOREVER if end >= now else end,
    )


def _build_draft(
    context: AsyncContext, body: BacktestInput, draft: NotificationDraftInput, tx: Tx
) -> Notification:
    """Its errors name the fields of the draft."""
    if draft.group_id not in (None, body.group_id):
        raise invalid_field("notification.group_id", "is not groupId")
    try:
        return notifications.build_draft(
            tx,
            context.actor,
            body.group_id,
            parse_draft(draft, context.limits),
            params_parser(context),
            context.services.egress,
            context.services.sending_config,
        )
    except BadInput as error:
        raise BadInput(
            field_errors=[
                FieldError(f"notification.{each.field}", each.message)
                for each in error.field_errors
            ]
        ) from None


def _parse_range(body: BacktestInput, now: Moment) -> tuple[Moment, Moment]:
    begin, end = parse_period(body.begin_date, body.end_date)
    assert begin is not None
    assert end is not None
    if end - begin > RANGE_MAX:
        raise invalid_field("begin_date", f"lies more than {RANGE_MAX // DAY} days before endDate")
    if begin > now:
        raise invalid_field("begin_date", "lies in the future")
    return begin, end


def _show(page: BacktestPage, next_token: str | None) -> BacktestResult:
    return BacktestResult(
        items=[
            BacktestedDevice(each.device_id, [_show_alarm(alarm) for alarm in each.alarms])
            for each in page.items
        ],
        messages=page.messages,
        examined=BacktestExamined(
            devices=page.devices,
            records=page.records,
            summaries=page.summaries,
            failed=page.failed or None,
        ),
        examined_from=format_optional_date(page.examined_from),
        examined_until=format_optional_date(page.examined_until),
        next_token=next_token,
    )


def _show_alarm(alarm: BacktestedAlarm) -> AlarmInterval:
    return AlarmInterval(
        raised_at=format_date(alarm.raised_at),
        resolved_at=format_optional_date(alarm.resolved_at),
        value=alarm.value,
        worst_value=alarm.worst,
    )


ROUTES = [
    Route(
        "POST",
        "/notification/backtest",
        backtest_notification,
        "notification.read",
        tag="Notifications",
        object_rule="in the group; record.read there as well",
        only_reads=True,
        is_addition=True,
        in_turns=True,
    )
]
