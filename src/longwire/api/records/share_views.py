"""What a shared view shows, as it is asked for and as it is checked."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from longwire.api.fleet.device_shapes import (
    DeviceFilterFields,
    DeviceTypeName,
    ValueComparisons,
    ValueDescending,
    ValueOrder,
    build_device_filter,
)
from longwire.api.fleet.measurement_shapes import MeasurementName
from longwire.api.records.group_series import (
    GroupSeriesQuery,
    find_in_group,
    parse_group_query,
)
from longwire.api.records.series_spans import (
    FIRST,
    CalendarName,
    TimeZoneName,
    list_range_errors,
    parse_spans,
)
from longwire.api.types import DeviceId, Tag
from longwire.clock import SECOND, Moment
from longwire.dates import format_date, parse_date, parse_range_end
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import device_values, devices, value_series
from longwire.fleet.device_values import ValueSelection
from longwire.fleet.measured_devices import WantedDevices
from longwire.fleet.series import DEVICES_MAX
from longwire.measurements.combinations import Aggregate, Combination
from longwire.model import Actor, DeviceOrder, PageRequest
from longwire.store.database import Tx
from longwire.web.fields import Body, DateIn, words

MEASUREMENTS_MAX = 8  # as many lines as people can tell from each other
LAST_S_MAX = 10 * 366 * 86_400

Subgroups = Annotated[bool, Meta(description="With all groups below it.")]


class SharedChart(Body, kw_only=True, omit_defaults=True):
    """Numbers over time: of some devices, each a line of its own, or of a group as one."""

    measurements: Annotated[
        list[MeasurementName],
        Meta(
            min_length=1,
            max_length=MEASUREMENTS_MAX,
            description="What is measured; each is a line of its own.",
            examples=[["moisture"]],
        ),
    ]
    device_ids: Annotated[
        list[DeviceId],
        Meta(max_length=DEVICES_MAX, description="Of these devices; else of the whole group."),
    ] = field(default_factory=list)
    subgroups: Subgroups = False
    type: Annotated[DeviceTypeName, Meta(description="Only devices of a type.")] | None = None
    tags: Annotated[
        list[Tag], Meta(max_length=50, description="Only devices that have each of them.")
    ] = field(default_factory=list)
    of: (
        Annotated[
            str,
            words("SeriesAggregate", Aggregate),
            Meta(description="As in `GET /group/series`.", examples=["max"]),
        ]
        | None
    ) = None
    combine: (
        Annotated[
            str,
            words("SeriesCombination", Combination),
            Meta(
                description="As in `GET /group/series`; of named devices `none` unless given.",
                examples=["mean"],
            ),
        ]
        | None
    ) = None
    percentile: (
        Annotated[
            float, Meta(ge=0, le=100, description="With `combine=percentile`.", examples=[95])
        ]
        | None
    ) = None
    last_seconds: (
        Annotated[
            int,
            Meta(
                ge=60,
                le=LAST_S_MAX,
                description="How far it goes back from whenever it is looked at; a day unless"
                " given, or dates.",
                examples=[604_800],
            ),
        ]
        | None
    ) = None
    begin_date: Annotated[DateIn, Meta(description="Of a chart that stays as it is.")] | None = None
    end_date: DateIn | None = None
    time_span: (
        Annotated[int, Meta(ge=1, le=10**9, description="Seconds per point.", examples=[3_600])]
        | None
    ) = None
    calendar_span: CalendarName | None = None
    timezone: TimeZoneName | None = None

    @property
    def is_separate(self) -> bool:
        """Whether each device has a line."""
        return self.combine == Combination.NONE or (bool(self.device_ids) and self.combine is None)


class SharedDevice(Body, kw_only=True, omit_defaults=True):
    """What a device says now."""

    device_id: DeviceId
    values: (
        Annotated[
            list[MeasurementName],
            Meta(
                min_length=1,
                max_length=device_values.COLUMNS_MAX,
                description="Only these current values; all unless given.",
                examples=[["moisture", "battery"]],
            ),
        ]
        | None
    ) = None
    position: Annotated[bool, Meta(description="With its last position.")] = False


class SharedList(Body, DeviceFilterFields, omit_defaults=True):
    """Devices of a group, with some of their current values."""

    subgroups: Subgroups = False
    values: Annotated[
        list[MeasurementName],
        Meta(
            max_length=device_values.COLUMNS_MAX,
            description="Current values to show as columns.",
            examples=[["moisture", "battery"]],
        ),
    ] = field(default_factory=list)
    where: ValueComparisons = field(default_factory=list)
    order: ValueOrder | None = None
    descending: ValueDescending = False
    sort: Annotated[
        Literal["created", "name", "seenAt", "battery"],
        Meta(title="DeviceOrder", description="What to sort by.", examples=["name"]),
    ] = "name"
    ascending: bool = True

    def build_selection(self) -> ValueSelection:
        values = ",".join(self.values) if self.values else None
        return device_values.parse_selection(
            values, self.where, self.order, descending=self.descending
        )

    def build_order(self) -> DeviceOrder:
        return DeviceOrder("seen_at" if self.sort == "seenAt" else self.sort, self.ascending)


class SharedMap(Body, kw_only=True, omit_defaults=True):
    """Where the devices of a group are."""

    subgroups: Subgroups = False


SharedContent = SharedChart | SharedDevice | SharedList | SharedMap
KINDS: dict[str, type[SharedContent]] = {
    "chart": SharedChart,
    "device": SharedDevice,
    "list": SharedList,
    "map": SharedMap,
}


@dataclass(frozen=True, slots=True)
class ViewScope:
    """Of which devices a view is."""

    subgroups: bool
    device_ids: Sequence[str]


def get_scope(view: SharedContent) -> ViewScope:
    if isinstance(view, SharedDevice):
        return ViewScope(False, [view.device_id])
    device_ids = view.device_ids if isinstance(view, SharedChart) else []
    return ViewScope(view.subgroups, device_ids)


def encode_view(view: SharedContent) -> str:
    return msgspec.json.encode(view).decode()


def decode_view(content: str, parameters: str) -> Any:
    return msgspec.json.decode(parameters, type=KINDS[content])


# --- charts ---


def build_chart_query(
    chart: SharedChart, group_id: str, device_ids: Sequence[str], name: str, now: Moment
) -> GroupSeriesQuery:
    """One of its measurements, in whole spans up to now; names every invalid field."""
    begin, end = _parse_range(chart, now)
    if chart.time_span is not None:
        begin = max(begin - begin % (chart.time_span * SECOND), FIRST)
    query = GroupSeriesQuery(
        group_id=group_id,
        measurement=name,
        subgroups=chart.subgroups,
        of=chart.of,
        combine=Combination.NONE.value if chart.is_separate else chart.combine,
        percentile=chart.percentile,
        type=chart.type,
        tags=chart.tags,
        device_id=list(device_ids),
        begin_date=format_date(begin),
        end_date=format_date(end),
        time_span=chart.time_span,
        calendar_span=chart.calendar_span,
        timezone=chart.timezone,
    )
    if chart.calendar_span is not None:
        asked = parse_group_query(query, now)
        first = format_date(min(asked.spans.boundaries[0], begin))
        query = msgspec.structs.replace(query, begin_date=first)
    return query


def _parse_range(chart: SharedChart, now: Moment) -> tuple[Moment, Moment]:
    if chart.begin_date is None and chart.end_date is None:
        last_s = 86_400 if chart.last_seconds is None else chart.last_seconds
        return now - last_s * SECOND, now
    problems = []
    if chart.last_seconds is not None:
        problems.append(FieldError("last_seconds", "cannot be given with dates"))
    dates = []
    for name, parse in (("begin_date", parse_date), ("end_date", parse_range_end)):
        given = getattr(chart, name)
        if given is None:
            problems.append(FieldError(name, "is required with the other date"))
            continue
        try:
            dates.append(parse(given))
        except ValueError as error:
            problems.append(FieldError(name, str(error)))
    if len(dates) == 2 and dates[0] >= dates[1]:
        problems.append(FieldError("end_date", "is not later than beginDate"))
    problems = problems or list_range_errors(*dates)
    if problems:
        raise BadInput(field_errors=problems)
    return dates[0], dates[1]


def count_lines(chart: SharedChart) -> int:
    return len(chart.measurements) * (len(chart.device_ids) if chart.is_separate else 1)


def _check_chart(tx: Tx, actor: Actor, group_id: str, chart: SharedChart) -> None:
    if len(set(chart.measurements)) < len(chart.measurements):
        raise invalid_field("measurements", "names one twice")
    if len(set(chart.device_ids)) < len(chart.device_ids):
        raise invalid_field("device_ids", "names a device twice")
    if chart.is_separate and not chart.device_ids:
        raise invalid_field("combine", "can be none of named devices only")
    wanted = WantedDevices(chart.type, chart.tags, chart.device_ids)
    for index, name in enumerate(chart.measurements):
        query = build_chart_query(chart, group_id, chart.device_ids, name, tx.now)
        parse_group_query(query, tx.now)
        parse_spans(query, tx.now, count_lines(chart), value_series.POINTS_MAX)
        try:
            found = find_in_group(actor, query, wanted, tx)
        except BadInput as error:
            raise _name_measurement(error, index) from error
        if found.measurement is None:
            raise invalid_field(f"measurements[{index}]", "is none that these devices have")
        if found.value_class == "state" and not chart.is_separate:
            raise invalid_field(f"measurements[{index}]", "is a state; name deviceIds")


def _name_measurement(error: BadInput, index: int) -> BadInput:
    """A query has one measurement, a chart several."""
    found = [
        FieldError(f"measurements[{index}]", each.message) if each.field == "measurement" else each
        for each in error.field_errors
    ]
    return BadInput(field_errors=found)


# --- creation ---


def check_view(tx: Tx, actor: Actor, group_id: str, view: SharedContent) -> None:
    """Raise for what cannot be shown; by looking at some of it as whoever shares it."""
    if isinstance(view, SharedChart):
        _check_chart(tx, actor, group_id, view)
    elif isinstance(view, SharedList):
        search = partial(devices.search_devices, tx, actor, group_id, build_device_filter(view))
        selection = view.build_selection()
        search(view.build_order(), PageRequest(1), selection, subgroups=view.subgroups)
