"""What a link shows: read as whoever shares it, and no more of it than that."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

from msgspec import Meta, field

from longwire.api.fleet.device_shapes import build_device_filter
from longwire.api.fleet.measurement_shapes import (
    ClassName,
    Decimals,
    Label,
    MeasurementName,
    Unit,
    Value,
    build_value,
)
from longwire.api.records.group_series import (
    GroupSeries,
    GroupSeriesQuery,
    choose_aggregates,
    parse_group_query,
    read_group_series,
)
from longwire.api.records.series import SeriesState
from longwire.api.records.series_spans import (
    CalendarName,
    FoundMeasured,
    TimeZoneName,
    find_settled,
    read_values,
)
from longwire.api.records.share_views import (
    SharedChart,
    SharedDevice,
    SharedList,
    SharedMap,
    build_chart_query,
)
from longwire.clock import SECOND, Moment
from longwire.dates import format_date, format_optional_date
from longwire.fleet import (
    device_values,
    devices,
    measured_devices,
    measurements,
    positions,
    shares,
)
from longwire.fleet.device_values import Columns
from longwire.fleet.measured_devices import MeasuredDevice, WantedDevices
from longwire.fleet.measurement_plans import get_named
from longwire.fleet.state_history import read_states
from longwire.fleet.value_series import Points
from longwire.measurements.combinations import Aggregate, take
from longwire.measurements.definitions import Measurement
from longwire.model import Actor, Device, PageRequest, PositionFilter
from longwire.store.database import Database, Tx
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet import positions as store_positions
from longwire.store.fleet.shares import Share
from longwire.web.fields import Count, DateText, Reply, words
from longwire.web.page_tokens import HasLastKey

T = TypeVar("T")

ShownName = Annotated[str, Meta(description="Of the device.", examples=["Meter 7"])]


class SharedPoint(Reply, kw_only=True):
    """A number in a span."""

    timestamp: Annotated[DateText, Meta(description="The begin of the span.")]
    value: Annotated[float, Meta(description="What `of` of the line says.", examples=[21.25])]
    min: Annotated[float, Meta(description="Of a mean, the smallest.", examples=[20.5])] | None = (
        None
    )
    max: Annotated[float, Meta(description="Of a mean, the largest.", examples=[22])] | None = None


class SharedLine(Reply, kw_only=True):
    """Numbers or states of a device, or of all as one."""

    device_name: ShownName | None = None
    measurement: MeasurementName
    value_class: ClassName | None = field(name="class", default=None)
    label: Label | None = None
    unit: Unit | None = None
    decimals: Decimals | None = None
    of: Annotated[
        str, words("SeriesAggregate", Aggregate), Meta(description="What counts of a span.")
    ]
    points: Annotated[list[SharedPoint], Meta(description="By time.")]
    states: Annotated[list[SeriesState], Meta(description="Of a state: each change.")] | None = None


class SharedSeries(Reply, kw_only=True):
    """The chart of a link."""

    begin_date: DateText
    end_date: DateText
    time_span: Annotated[int, Meta(description="Seconds per point.", examples=[3_600])] | None = (
        None
    )
    calendar_span: CalendarName | None = None
    timezone: TimeZoneName | None = None
    lines: Annotated[list[SharedLine], Meta(description="In the order of what was shared.")]


class SharedColumn(Reply, kw_only=True):
    """What a current value is called."""

    name: MeasurementName
    value_class: ClassName | None = field(name="class", default=None)
    label: Label | None = None
    unit: Unit | None = None
    decimals: Decimals | None = None


class SharedValue(Reply, kw_only=True):
    """A current value."""

    value: Value
    timestamp: DateText
    is_stale: Annotated[
        bool, Meta(description="Of a single device: it should have reported since.")
    ] = False


class SharedPosition(Reply, kw_only=True):
    """Where a device was last."""

    device_name: ShownName
    lat: Annotated[float, Meta(description="Latitude.", examples=[51.95])]
    lng: Annotated[float, Meta(description="Longitude.", examples=[4.14])]
    radius: Annotated[int, Meta(description="In metres, if known.", examples=[80])] | None = None
    timestamp: DateText


class SharedDeviceRow(Reply, kw_only=True):
    """A device of a link, with what it shows of it."""

    device_name: ShownName
    seen_at: Annotated[DateText, Meta(description="When it reported last.")] | None = None
    values: Annotated[
        dict[str, SharedValue],
        Meta(
            description="Current values, by name.",
            examples=[{"moisture": {"value": 17.5, "timestamp": "2026-11-15T08:30:00.000Z"}}],
        ),
    ]
    position: SharedPosition | None = None


class SharedDevices(Reply, kw_only=True):
    """The device of a link, or a page of its list."""

    columns: Annotated[list[SharedColumn], Meta(description="What the current values are called.")]
    items: list[SharedDeviceRow]
    total: Annotated[Count, Meta(description="How many there are.", examples=[204])]
    total_is_more: Annotated[bool, Meta(description="Whether there may be more than `total`.")] = (
        False
    )
    next_token: str | None = None


class SharedPositions(Reply, kw_only=True):
    """A page of the map of a link."""

    items: list[SharedPosition]
    total: Annotated[Count, Meta(description="How many there are.", examples=[204])]
    next_token: str | None = None


@dataclass(frozen=True, slots=True)
class ShareReader:
    """What reads a series, in place of the context of a request."""

    database: Database
    actor: Actor
    now: Moment

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self.database.read(work)


# --- a chart ---


async def read_chart(
    database: Database, share: Share, chart: SharedChart, now: Moment
) -> SharedSeries:
    """Devices that have left the groups of the share have no line any more."""

    def find_present(tx: Tx) -> tuple[Actor, Sequence[str], Sequence[str]]:
        actor, scope = shares.open_share(tx, share)
        present = store_devices.list_present(tx, scope, chart.device_ids)
        kept = [each for each in chart.device_ids if each in present]
        return actor, sorted(scope.group_ids), kept

    actor, group_ids, device_ids = await database.read(find_present)
    reader = ShareReader(database, actor, now)
    queries = [
        build_chart_query(chart, share.group_id, device_ids, name, now)
        for name in chart.measurements
    ]
    asked = parse_group_query(queries[0], now)
    lines: list[SharedLine] = []
    for query in queries:
        if chart.is_separate:
            lines += await _read_separate(reader, query, group_ids)
        else:
            lines.append(await _read_combined(reader, query))
    return SharedSeries(lines=lines, **asked.describe())


async def _read_combined(reader: ShareReader, query: GroupSeriesQuery) -> SharedLine:
    found = await read_group_series(reader, query)
    assert isinstance(found, GroupSeries)
    return SharedLine(
        measurement=query.measurement,
        value_class=found.value_class,
        label=found.label,
        unit=found.unit,
        of=found.of,
        points=[
            SharedPoint(timestamp=each.timestamp, value=each.value) for each in found.points or ()
        ],
    )


async def _read_separate(
    reader: ShareReader, query: GroupSeriesQuery, group_ids: Sequence[str]
) -> list[SharedLine]:
    """Of the records that the devices stored in these groups, and in no other."""

    def find(tx: Tx) -> FoundMeasured:
        wanted = WantedDevices(query.type, query.tags, query.device_id)
        found = measured_devices.find_in_groups(tx, group_ids, wanted, query.measurement)
        return FoundMeasured(found.devices, found.measurement, find_settled(tx))

    found = await reader.read(find)
    by_id: dict[str, SharedLine] = {}
    of, _ = choose_aggregates(query, found.measurement)
    asked = parse_group_query(query, reader.now)
    if found.value_class == "state":
        scans = await read_states(
            reader.database, found.devices, asked.spans.begin, asked.spans.end
        )
        for scan in scans:
            line = by_id[scan.device.id] = _build_line(query, found.measurement, scan.device, of)
            line.states = [
                SeriesState(timestamp=format_date(at), value=shown)
                for at, value in scan.list_changes()
                if (shown := build_value(value.number, value.text)) is not None
            ]
    else:

        def take_points(device: MeasuredDevice, points: Points) -> None:
            line = by_id[device.id] = _build_line(query, found.measurement, device, of)
            line.points = _list_points(points, of)

        await read_values(reader, query, asked.spans, found, take_points)
    return [by_id[each] for each in query.device_id if each in by_id]


def _build_line(
    query: GroupSeriesQuery, measurement: Measurement | None, device: MeasuredDevice, of: Aggregate
) -> SharedLine:
    line = SharedLine(
        device_name=device.name, measurement=query.measurement, of=of.value, points=[]
    )
    if measurement is not None:
        line.value_class, line.label = measurement.value_class, measurement.label
        line.unit, line.decimals = measurement.unit, measurement.decimals
    return line


def _list_points(points: Points, of: Aggregate) -> list[SharedPoint]:
    row, is_mean = points.row, of is Aggregate.MEAN
    taken = take(of, row, points.rises)
    return [
        SharedPoint(
            timestamp=format_date(begin),
            value=value,
            min=smallest if is_mean else None,
            max=largest if is_mean else None,
        )
        for begin, value, smallest, largest in zip(
            row.begins, taken, row.minima, row.maxima, strict=True
        )
    ]


# --- devices ---


def read_device(tx: Tx, share: Share, view: SharedDevice) -> SharedDevices:
    actor, _ = shares.open_share(tx, share)
    device = devices.get_device(tx, actor, view.device_id, share.group_id)
    shown = [
        each
        for each in measurements.list_values(tx, actor, device.id).items
        if each.has_value and (view.values is None or each.measurement.name in view.values)
    ]
    values = {
        each.measurement.name: SharedValue(
            value=value, timestamp=format_date(each.current.ts), is_stale=each.is_stale
        )
        for each in shown
        if each.current.ts is not None
        and (value := build_value(each.current.number, each.current.text)) is not None
    }
    found = positions.find_position(tx, device) if view.position else None
    position = None
    if found is not None:
        position = SharedPosition(
            device_name=device.name,
            lat=found.lat,
            lng=found.lng,
            radius=found.radius,
            timestamp=format_date(found.at),
        )
    row = SharedDeviceRow(
        device_name=device.name,
        seen_at=format_optional_date(device.seen_at),
        values=values,
        position=position,
    )
    columns = [_build_column(each.measurement.name, each.measurement) for each in shown]
    return SharedDevices(columns=columns, items=[row], total=1)


def read_list(
    tx: Tx, share: Share, view: SharedList, request: PageRequest
) -> tuple[SharedDevices, HasLastKey]:
    """A page, as it is shown and as it was found."""
    actor, _ = shares.open_share(tx, share)
    selected = view.build_selection()
    found = devices.search_devices(
        tx,
        actor,
        share.group_id,
        build_device_filter(view),
        view.build_order(),
        request,
        selected,
        subgroups=view.subgroups,
    )
    columns = device_values.list_columns(tx, found.items, selected.columns)
    page = SharedDevices(
        columns=[_find_column(tx, found.items, each) for each in selected.columns],
        items=[_build_row(each, columns.get(each.id, {})) for each in found.items],
        total=found.total,
        total_is_more=found.total_is_more,
    )
    return page, found


def _find_column(tx: Tx, found: Sequence[Device], name: str) -> SharedColumn:
    """What it is called by the first of the devices that has it."""
    for group_id, type_name in dict.fromkeys((each.group_id, each.type) for each in found):
        resolved = get_named(tx, group_id, type_name).get(name)
        if resolved is not None:
            return _build_column(name, resolved[1])
    return SharedColumn(name=name)


def _build_column(name: str, measurement: Measurement) -> SharedColumn:
    return SharedColumn(
        name=name,
        value_class=measurement.value_class,
        label=measurement.label,
        unit=measurement.unit,
        decimals=measurement.decimals,
    )


def _build_row(device: Device, columns: Columns) -> SharedDeviceRow:
    return SharedDeviceRow(
        device_name=device.name,
        seen_at=format_optional_date(device.seen_at),
        values={
            name: SharedValue(value=value, timestamp=format_date(each.ts))
            for name, each in columns.items()
            if (value := build_value(each.number, each.text)) is not None
        },
    )


# --- a map ---


def read_map(
    tx: Tx, share: Share, view: SharedMap, request: PageRequest
) -> tuple[SharedPositions, HasLastKey]:
    """A page, as it is shown and as it was found."""
    actor, _ = shares.open_share(tx, share)
    page = positions.list_positions(
        tx, actor, share.group_id, PositionFilter(), request, subgroups=view.subgroups
    )
    names = store_positions.list_names(tx, page.items)
    items = [
        SharedPosition(
            device_name=names.get(each.device_id, ""),
            lat=each.lat,
            lng=each.lng,
            radius=each.radius,
            timestamp=format_date(each.at_s * SECOND),
        )
        for each in page.items
    ]
    return SharedPositions(items=items, total=page.total), page
