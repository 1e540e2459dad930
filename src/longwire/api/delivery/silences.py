"""Operations on silences."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated

from msgspec import Meta, field

from longwire.api.delivery.alarms import SeverityName
from longwire.api.delivery.notifications import ScheduleIn
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import DeviceId, DeviceIds, DeviceTypeNames, GroupId, GroupPage, Tags
from longwire.clock import Moment
from longwire.dates import parse_date
from longwire.errors import BadInput, FieldError
from longwire.notifications import silences
from longwire.notifications.schedules import Schedule
from longwire.notifications.silences import SilenceDraft, SilenceView
from longwire.store.notifications.silences import Silence as SilenceValue
from longwire.web.fields import Body, Count, DateIn, DateText, Id, Query, words
from longwire.web.routing import Route
from longwire.web.validation import decode_text

SilenceId = Annotated[Id, Meta(examples=["sil_vzpeqxr5mxjrq2uy6ct3mlgw"])]
SilenceReason = Annotated[
    str,
    Meta(min_length=1, max_length=1_000, examples=["The compressor is replaced."]),
]
Timezone = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        description="The zone that the schedule is meant in, by its IANA name.",
        examples=["Europe/Paris"],
    ),
]


class SilenceInput(Body, kw_only=True):
    """For which alarms no messages are to be sent, and until when."""

    group_id: GroupId
    subgroups: Annotated[
        bool, Meta(description="Also about devices and connectors of the groups below it.")
    ] = False
    device_ids: Annotated[DeviceIds, Meta(description="Only about these devices.")] | None = None
    tags: Annotated[Tags, Meta(description="Only about devices with all of these tags.")] | None = (
        None
    )
    types: (
        Annotated[DeviceTypeNames, Meta(description="Only about devices of these types.")] | None
    ) = None
    severity: SeverityName | None = None
    begin: Annotated[DateIn, Meta(description="From when on; now unless given.")] | None = field(
        name="from", default=None
    )
    until: Annotated[DateIn, Meta(description="When it ends.")]
    schedule: ScheduleIn | None = None
    timezone: Timezone = "UTC"
    reason: SilenceReason


class SilencesQuery(GroupPage, kw_only=True):
    """Of which group."""

    subgroups: Annotated[bool, Meta(description="With those of all groups below it.")] = False


class SilenceQuery(Query):
    """Which silence."""

    group_id: GroupId
    silence_id: SilenceId


class Silence(Shown[SilenceValue], kw_only=True):
    """For which alarms no messages are sent, and when."""

    id: SilenceId
    group_id: GroupId
    subgroups: bool
    device_ids: list[DeviceId] | None = None
    tags: list[str] | None = None
    types: list[str] | None = None
    severity: SeverityName | None = None
    begin_at: DateText = field(name="from")
    end_at: DateText = field(name="until")
    schedule: (
        Annotated[str, Meta(description="When it is in force, as of a notification.")] | None
    ) = None
    timezone: Timezone | None = None
    reason: SilenceReason
    state: Annotated[
        str,
        words("SilenceState", silences.STATES),
        Meta(
            description="`active`, `pending`, if it has not begun or its schedule keeps it from"
            " being in force, or `expired`.",
            examples=["active"],
        ),
    ]
    held_back: Annotated[
        Count,
        Meta(
            description="Of how many alarms it has held messages back;"
            " `GET /group/alarms?silenceId=` lists them.",
            examples=[3],
        ),
    ]
    created_at: DateText
    created_by: Annotated[str, Meta(description="The id of a user or an app client.")]


class SilenceConnection(Page[Silence]):
    """A page of silences."""


def _show(view: SilenceView) -> Silence:
    silence = view.silence
    return Silence.show(
        silence,
        device_ids=list(silence.device_ids) or None,
        tags=list(silence.tags) or None,
        types=list(silence.types) or None,
        timezone=None if silence.schedule is None else silence.timezone,
        state=view.state,
        held_back=view.held_back,
    )


def create_silence(context: Context, body: SilenceInput) -> Silence:
    """Silence alarms.

    They are recorded, and nobody is notified of them until it ends; those that are still open are
    sent then, once.
    """
    schedule = body.schedule
    if isinstance(schedule, str):
        schedule = decode_text("schedule", schedule, Schedule, context.limits) if schedule else None
    dates = _parse_dates({"from": body.begin, "until": body.until})
    draft = SilenceDraft(
        subgroups=body.subgroups,
        device_ids=body.device_ids,
        tags=body.tags,
        types=body.types,
        severity=body.severity,
        begin_at=dates.get("from"),
        end_at=dates["until"],
        schedule=schedule,
        timezone=body.timezone,
        reason=body.reason,
    )
    return _show(
        silences.create_silence(
            context.tx, context.actor, body.group_id, draft, context.services.quotas
        )
    )


def _parse_dates(given: Mapping[str, str | float | None]) -> dict[str, Moment]:
    """Those that are given; all invalid ones are named."""
    parsed: dict[str, Moment] = {}
    field_errors = []
    for name, date in given.items():
        try:
            if date is not None:
                parsed[name] = parse_date(date)
        except ValueError as error:
            field_errors.append(FieldError(name, str(error)))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return parsed


def list_silences(context: Context, query: SilencesQuery) -> SilenceConnection:
    """List the silences of a group.

    With of how many alarms each has held messages back; those that end last first. They are
    listed for 30 days after their end.
    """
    page = silences.list_silences(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return SilenceConnection.show(context, query, page, _show)


def delete_silence(context: Context, query: SilenceQuery) -> Silence:
    """End a silence.

    What it has held back is sent within a minute, if the alarm is still open.
    """
    return _show(
        silences.delete_silence(context.tx, context.actor, query.group_id, query.silence_id)
    )


_route = partial(Route, tag="Notifications", is_addition=True)

ROUTES = [
    _route(
        "POST",
        "/alarm/silence",
        create_silence,
        "notification.write",
        object_rule="in groupId",
        conflicts="The group has the maximum number of silences.",
    ),
    _route(
        "GET",
        "/group/silences",
        list_silences,
        "notification.read",
        object_rule="in the group",
    ),
    _route(
        "DELETE",
        "/alarm/silence",
        delete_silence,
        "notification.write",
        object_rule="in the group of the silence",
    ),
]
