"""The operation that reads numbers of a group's devices over time, as one."""

import asyncio
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire.api.fleet.measurement_shapes import MeasurementName
from longwire.api.records.series_spans import (
    AnsweredSeries,
    AskedSpans,
    FoundMeasured,
    SeriesReader,
    SpanQuery,
    find_measured,
    find_settled,
    list_errors,
    not_one_of,
    parse_spans,
    read_values,
    series_route,
    write_rows,
)
from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, GroupId
from longwire.clock import Moment
from longwire.dates import format_date
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import measured_devices, value_series
from longwire.fleet.measured_devices import MeasuredDevice, WantedDevices
from longwire.fleet.value_series import Points
from longwire.identity import access
from longwire.measurements.combinations import Aggregate, Combination, combine, take
from longwire.measurements.definitions import Measurement
from longwire.model import Actor
from longwire.store.database import Tx
from longwire.web.fields import Count, DateText, Reply, words
from longwire.web.routing import Text

PERCENT_MAX = 100
MEMBER_POINTS_MAX = 100_000


MemberName = Annotated[
    str, Meta(description="Empty if it has left these groups.", examples=["Meter 7"])
]


class GroupSeriesQuery(SpanQuery, kw_only=True):
    """Which numbers of which devices of a group, and how they become one."""

    group_id: GroupId
    measurement: MeasurementName
    subgroups: Annotated[bool, Meta(description="With all groups below it.")] = False
    of: (
        Annotated[
            str,
            words("SeriesAggregate", Aggregate),
            Meta(
                description="What of each device's numbers in a span counts; by default "
                "`increase` of a counter, `sum` of an amount, else `mean`.",
                examples=["max"],
            ),
        ]
        | None
    ) = None
    combine: (
        Annotated[
            str,
            words("SeriesCombination", Combination),
            Meta(
                description="How these become one number: `mean` is over devices, `count` their "
                "number, `percentile` needs that parameter, and `none` gives a series of each "
                "device. By default `sum` of sums, counts and increases, else `mean`.",
                examples=["percentile"],
            ),
        ]
        | None
    ) = None
    percentile: (
        Annotated[float, Meta(ge=0, le=PERCENT_MAX, description="From 0 to 100.", examples=[95])]
        | None
    ) = None
    type: (
        Annotated[
            str, Meta(max_length=128, description="Only devices of a type.", examples=["meter"])
        ]
        | None
    ) = None
    tags: Annotated[
        list[str],
        Meta(
            max_length=50, description="Only devices that have each of them.", examples=[["cold"]]
        ),
    ] = msgspec.field(default_factory=list)
    device_id: Annotated[
        list[DeviceId],
        Meta(
            max_length=1_000,
            description="Only these.",
            examples=[["dev_vzpeqxr5mxjrq2uy6ct3mlgw"]],
        ),
    ] = msgspec.field(default_factory=list)


class GroupPoint(Reply, kw_only=True):
    """One number of several devices."""

    timestamp: Annotated[DateText, Meta(description="The begin of the span.")]
    value: Annotated[float, Meta(description="What `of` and `combine` say.", examples=[12.5])]
    devices: Annotated[Count, Meta(description="With a number in this span.", examples=[12])]


class MemberPoint(Reply, kw_only=True):
    """One number of a device."""

    timestamp: Annotated[DateText, Meta(description="The begin of the span.")]
    value: Annotated[float, Meta(description="What `of` says.", examples=[12.5])]
    has_gap: (
        Annotated[bool, Meta(description="A span without numbers lies before this one.")] | None
    ) = None


class MemberRow(MemberPoint, kw_only=True):
    """The same with its device."""

    device_id: DeviceId
    device_name: MemberName


class MemberSeries(Reply, kw_only=True):
    """The points of a device."""

    device_id: DeviceId
    device_name: MemberName
    points: Annotated[list[MemberPoint], Meta(description="By time.")]


class GroupSeries(AnsweredSeries, kw_only=True):
    """Numbers of a group's devices over time, as one series or one of each."""

    of: Annotated[
        str,
        words("SeriesAggregate", Aggregate),
        Meta(description="What of each device's numbers counted.", examples=["increase"]),
    ]
    combine: Annotated[
        str,
        words("SeriesCombination", Combination),
        Meta(description="How these became one.", examples=["sum"]),
    ]
    points: Annotated[list[GroupPoint], Meta(description="By time.")] | None = None
    items: Annotated[list[MemberSeries], Meta(description="With `combine=none`.")] | None = None


async def get_group_series(
    context: AsyncContext, query: GroupSeriesQuery
) -> GroupSeries | list[GroupPoint] | list[MemberRow] | Text:
    """Get numbers of a group's devices over time, as one.

    For each span one number of each device, such as its mean or what its counter rose (`of`), and
    of these one of all devices (`combine`), with how many devices had one. Records that a device
    stored while it was in another group do not count. Spans and formats are those of
    `GET /device/series`.
    """
    return await read_group_series(context, query)


async def read_group_series(
    context: SeriesReader, query: GroupSeriesQuery
) -> GroupSeries | list[GroupPoint] | list[MemberRow] | Text:
    """The same for whoever else reads one."""
    asked = parse_group_query(query, context.now)
    wanted = WantedDevices(query.type, query.tags, query.device_id)
    find = partial(find_in_group, context.actor, query, wanted)
    found = await find_measured(context, query, find)
    of, combination = choose_aggregates(query, found.measurement)
    described: dict[str, Any] = {
        "measurement": query.measurement,
        "of": of.value,
        "combine": combination.value,
    }
    if combination is Combination.NONE:
        members = _Members(of)
        values = await read_values(context, query, asked.spans, found, members.take)
        described = {**values.describe(), **asked.describe(), **described}
        if query.format == "json":
            return GroupSeries(items=members.items, **described)
        rows = members.list_rows()
        return await write_rows(query.format, rows, MemberRow, _MEMBER_COLUMNS)
    numbers: defaultdict[Moment, array[float]] = defaultdict(lambda: array("d"))

    def take_numbers(device: MeasuredDevice, points: Points) -> None:
        taken = take(of, points.row, points.rises)
        for begin, value in zip(points.row.begins, taken, strict=True):
            numbers[begin].append(value)

    values = await read_values(context, query, asked.spans, found, take_numbers)
    percentile = query.percentile or 0
    combined = await asyncio.to_thread(_combine_all, combination, numbers, percentile)
    if query.format == "json":
        described = {**values.describe(), **asked.describe(), **described}
        return GroupSeries(points=combined, **described)
    return await write_rows(query.format, combined, GroupPoint, _GROUP_COLUMNS)


def _combine_all(
    combination: Combination, numbers: Mapping[Moment, Sequence[float]], percentile: float
) -> list[GroupPoint]:
    return [
        GroupPoint(
            timestamp=format_date(begin),
            value=combine(combination, some, percentile),
            devices=len(some),
        )
        for begin, some in sorted(numbers.items())
    ]


class _Members:
    """The points of each device."""

    def __init__(self, of: Aggregate) -> None:
        self.items: list[MemberSeries] = []
        self._of = of
        self._count = 0

    def take(self, device: MeasuredDevice, points: Points) -> None:
        self._count += len(points.gaps)
        if self._count > MEMBER_POINTS_MAX:
            raise invalid_field("combine", f"gives more than {MEMBER_POINTS_MAX} points")
        self.items.append(_member_wire(device, points, self._of))

    def list_rows(self) -> Iterator[MemberRow]:
        for each in self.items:
            for point in each.points:
                fields = msgspec.structs.asdict(point)
                yield MemberRow(device_id=each.device_id, device_name=each.device_name, **fields)


def parse_group_query(query: GroupSeriesQuery, now: Moment) -> AskedSpans:
    parse = partial(parse_spans, query, now, 1, value_series.POINTS_MAX)
    field_errors: list[FieldError] = []
    if query.of is not None and query.of not in list(Aggregate):
        field_errors.append(not_one_of("of", list(Aggregate)))
    if query.combine is not None and query.combine not in list(Combination):
        field_errors.append(not_one_of("combine", list(Combination)))
    if (query.combine == Combination.PERCENTILE) != (query.percentile is not None):
        field_errors.append(FieldError("percentile", "is what combine=percentile needs"))
    field_errors += list_errors(parse)
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return parse()


def find_in_group(
    actor: Actor, query: GroupSeriesQuery, wanted: WantedDevices, tx: Tx
) -> FoundMeasured:
    scope = access.authorize_tree(
        tx, actor, "record.read", query.group_id, subgroups=query.subgroups
    )
    found = measured_devices.find_in_groups(tx, sorted(scope.group_ids), wanted, query.measurement)
    if found.measurement is None and found.has_any:
        raise invalid_field("measurement", "is none that a device of this group has")
    choose_aggregates(query, found.measurement)
    return FoundMeasured(found.devices, found.measurement, find_settled(tx))


def choose_aggregates(
    query: GroupSeriesQuery, measurement: Measurement | None
) -> tuple[Aggregate, Combination]:
    """What counts, and how it is combined, by default as fits the measurement."""
    value_class = "gauge" if measurement is None else measurement.value_class
    of = Aggregate(query.of) if query.of else _DEFAULT_AGGREGATES.get(value_class, Aggregate.MEAN)
    if of is Aggregate.INCREASE and value_class != "counter" and measurement is not None:
        raise invalid_field("of", "can be increase of a counter only; this is no counter")
    adds_up = of in (Aggregate.SUM, Aggregate.COUNT, Aggregate.INCREASE)
    default = Combination.SUM if adds_up else Combination.MEAN
    return of, Combination(query.combine) if query.combine else default


def _member_wire(device: MeasuredDevice, points: Points, of: Aggregate) -> MemberSeries:
    return MemberSeries(
        device_id=device.id,
        device_name=device.name,
        points=[
            MemberPoint(timestamp=format_date(begin), value=value, has_gap=has_gap or None)
            for begin, value, has_gap in zip(
                points.row.begins, take(of, points.row, points.rises), points.gaps, strict=True
            )
        ],
    )


_DEFAULT_AGGREGATES = {"counter": Aggregate.INCREASE, "amount": Aggregate.SUM}
_GROUP_COLUMNS = ("timestamp", "value", "devices")
_MEMBER_COLUMNS = ("timestamp", "device_id", "device_name", "value", "has_gap")

ROUTES = [series_route(path="/group/series", handler=get_group_series, object_rule="in the group")]
