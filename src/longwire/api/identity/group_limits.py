"""Operations on the limits of groups, and on how long they keep records."""

from functools import partial
from typing import Annotated

import msgspec
from msgspec import Meta

from longwire.api.identity.groups import GroupQuery
from longwire.api.services import Context
from longwire.api.types import CHANGED_MEANWHILE, GroupId, IfUpdatedAt, parse_version
from longwire.dates import format_date
from longwire.group_limits import DAYS_MAX, KEPT
from longwire.group_limits import OperatorLimits as OperatorLimitsValue
from longwire.group_limits import RetentionDays as RetentionDaysValue
from longwire.identity import group_limits
from longwire.identity.group_limits import EffectiveValue, LimitsView
from longwire.store.identity.group_storage import StoredSize
from longwire.web.fields import Body, Count, DateText, Reply, words
from longwire.web.routing import Route

Days = Annotated[int, Meta(ge=0, le=DAYS_MAX, description="0 for ever.", examples=[90])]
Source = Annotated[
    str,
    words("LimitSource", ("group", "inherited", "service")),
    Meta(
        description="Who says so: the `group` itself, one above it (`inherited`), or the settings"
        " of the `service`.",
        examples=["group"],
    ),
]
SourceGroup = Annotated[
    str,
    Meta(description="The group that says so, if you may see it.", examples=["880148294221312"]),
]


class RetentionDays(Body, omit_defaults=True):
    """Days that each kind of record, and summaries of values, are kept after their timestamp."""

    data: Days | None = None
    event: Days | None = None
    geoloc: Days | None = None
    telemetry: Days | None = None
    summary: (
        Annotated[Days, Meta(description="Summaries of values, from which series are made.")] | None
    ) = None


class OperatorLimits(Body, omit_defaults=True):
    """What the operator limits of a group with all groups below it; left out, as for all."""

    stored_records_max: (
        Annotated[Count, Meta(le=2**53, description="Records; 0 for no limit.", examples=[100_000])]
        | None
    ) = None
    stored_bytes_max: (
        Annotated[
            Count,
            Meta(le=2**53, description="Their size as JSON; 0 for no limit.", examples=[10**8]),
        ]
        | None
    ) = None
    requests_per_second: (
        Annotated[
            float,
            Meta(
                ge=0,
                le=1e6,
                description="Requests of all app clients and of the networks of these groups, on"
                " average; 0 for no limit.",
                examples=[20],
            ),
        ]
        | None
    ) = None
    retention_days_max: RetentionDays | None = None


class GroupLimitsChange(Body):
    """The limits of a group, in place of those it has."""

    group_id: GroupId
    limits: OperatorLimits
    if_updated_at: IfUpdatedAt | None = None


class GroupRetentionChange(Body):
    """How long a group keeps records, in place of what it says now."""

    group_id: GroupId
    retention_days: RetentionDays
    if_updated_at: IfUpdatedAt | None = None


class EffectiveLimit(Reply, kw_only=True):
    """A limit that holds for a group."""

    name: Annotated[
        str,
        words("LimitName", ("storedRecordsMax", "storedBytesMax", "requestsPerSecond")),
        Meta(examples=["storedRecordsMax"]),
    ]
    value: Annotated[float, Meta(description="0 for no limit.", examples=[100_000])]
    source: Source
    group_id: SourceGroup | None = None
    used: (
        Annotated[
            Count,
            Meta(
                description="Of what is stored: by the group that says so and those below it; of a"
                " limit of the service, by this group alone. Left out if you may not see it.",
                examples=[41_200],
            ),
        ]
        | None
    ) = None


class EffectiveRetention(Reply, kw_only=True):
    """How long a group keeps something."""

    name: Annotated[str, words("RetentionName", KEPT), Meta(examples=["data"])]
    days: Days
    days_max: Annotated[Days, Meta(description="The longest that it may be; 0 for ever.")]
    source: Source
    group_id: SourceGroup | None = None


class StoredAmount(Reply, kw_only=True):
    """What is stored: records, and the size of their JSON."""

    records: Count
    bytes: Annotated[Count, Meta(description="In characters.", examples=[9_800_000])]


class GroupLimits(Reply, kw_only=True):
    """What limits a group, what holds, and what it has stored."""

    group_id: GroupId
    limits: OperatorLimits
    retention_days: RetentionDays
    effective_limits: list[EffectiveLimit]
    effective_retention: list[EffectiveRetention]
    stored: StoredAmount
    stored_with_subgroups: StoredAmount
    updated_at: DateText | None = None


def get_limits(context: Context, query: GroupQuery) -> GroupLimits:
    """Get the limits of a group.

    What the operator limits, how long records are kept, and what is stored: the group's own values,
    and what holds, which may be from a group above it or from the service's settings.
    """
    return _show(group_limits.get(context.tx, context.actor, query.group_id))


def set_limits(context: Context, body: GroupLimitsChange) -> GroupLimits:
    """Set the limits of a group.

    For the group with all groups below it, in place of those it has; a limit that is left out is
    that of the service. Limits further up hold as well. By operators.
    """
    given = body.limits
    limits = OperatorLimitsValue(
        given.stored_records_max,
        given.stored_bytes_max,
        given.requests_per_second,
        _parse_days(given.retention_days_max or RetentionDays()),
    )
    version = parse_version(body.if_updated_at)
    return _show(group_limits.set_limits(context.tx, context.actor, body.group_id, limits, version))


def set_retention(context: Context, body: GroupRetentionChange) -> GroupLimits:
    """Set how long a group keeps records.

    For the group and all groups below it that do not say otherwise, in place of what it says now;
    what is left out is as further up, or as the service has it, and nothing is kept for longer than
    the operator allows. What has expired is not shown any more at once, and deleted after a day.
    """
    days = _parse_days(body.retention_days)
    version = parse_version(body.if_updated_at)
    return _show(
        group_limits.set_retention(context.tx, context.actor, body.group_id, days, version)
    )


def _parse_days(days: RetentionDays) -> RetentionDaysValue:
    return RetentionDaysValue(**msgspec.structs.asdict(days))


def _show_days(days: RetentionDaysValue) -> RetentionDays:
    return RetentionDays(**msgspec.structs.asdict(days))


def _show(view: LimitsView) -> GroupLimits:
    own = view.own.limits
    longest = _show_days(own.retention_days_max)
    return GroupLimits(
        group_id=view.own.group_id,
        limits=OperatorLimits(
            stored_records_max=own.stored_records_max,
            stored_bytes_max=own.stored_bytes_max,
            requests_per_second=own.requests_per_second,
            retention_days_max=None if longest == RetentionDays() else longest,
        ),
        retention_days=_show_days(view.own.retention_days),
        effective_limits=[_show_limit(each) for each in view.limits],
        effective_retention=[
            EffectiveRetention(
                name=each.name,
                days=int(each.value),
                days_max=each.longest,
                source=each.source,
                group_id=each.group_id,
            )
            for each in view.retention
        ],
        stored=_show_stored(view.stored),
        stored_with_subgroups=_show_stored(view.stored_below),
        updated_at=format_date(view.own.updated_at) if view.own.updated_at else None,
    )


_LIMIT_NAMES = {
    "stored_records_max": "storedRecordsMax",
    "stored_bytes_max": "storedBytesMax",
    "requests_per_second": "requestsPerSecond",
}


def _show_limit(held: EffectiveValue) -> EffectiveLimit:
    return EffectiveLimit(
        name=_LIMIT_NAMES[held.name],
        value=held.value,
        source=held.source,
        group_id=held.group_id,
        used=held.used,
    )


def _show_stored(size: StoredSize) -> StoredAmount:
    records, characters = size
    return StoredAmount(records=records, bytes=characters)


_route = partial(Route, tag="Groups", is_addition=True)

ROUTES = [
    _route("GET", "/group/limits", get_limits, "group.read", object_rule="in the group"),
    _route(
        "PUT",
        "/group/limits",
        set_limits,
        group_limits.PERMISSION,
        object_rule="operators only",
        conflicts=CHANGED_MEANWHILE,
    ),
    _route(
        "PUT",
        "/group/retention",
        set_retention,
        "group.update",
        object_rule="in the group",
        conflicts=CHANGED_MEANWHILE,
    ),
]
