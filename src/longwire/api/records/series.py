"""The operation that reads numbers of devices over time."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire.api.fleet.measurement_shapes import MeasurementName, Value, build_value
from longwire.api.records.series_spans import (
    AnsweredSeries,
    AskedSpans,
    FoundMeasured,
    MeasuredValues,
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
from longwire.api.types import DeviceId, RecordKindName
from longwire.clock import Moment
from longwire.dates import format_date, format_dates, format_optional_date
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import measured_devices, series, value_series
from longwire.fleet.measured_devices import MeasuredDevice
from longwire.fleet.series import Bucket, DeviceScan, SeriesSelection
from longwire.fleet.state_history import StateScan, read_states
from longwire.fleet.value_series import Points
from longwire.model import Actor
from longwire.records import KIND_NAMES
from longwire.store.archive.archive_reads import NeedsArchive, read_with_archive
from longwire.store.database import Tx
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.web.fields import DateText, Reply
from longwire.web.routing import Text

MEASUREMENTS_MAX = 20

SeveralName = Annotated[
    str, Meta(description="If several measurements were asked for.", examples=["moisture"])
]


class SeriesQuery(SpanQuery, kw_only=True):
    """Which numbers of which devices."""

    device_id: Annotated[
        list[DeviceId],
        Meta(
            min_length=1,
            max_length=series.DEVICES_MAX,
            description=f"One device, or several: given up to {series.DEVICES_MAX} times.",
            examples=[["dev_vzpeqxr5mxjrq2uy6ct3mlgw"]],
        ),
    ]
    measurement: Annotated[
        list[MeasurementName],
        Meta(
            max_length=MEASUREMENTS_MAX,
            description=f"One of these devices, or several: given up to {MEASUREMENTS_MAX} times.",
            examples=[["moisture"]],
        ),
    ] = msgspec.field(default_factory=list)
    path: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=512,
                description="Instead of `measurement`, where the number is in a record: a JSON "
                "Pointer (RFC 6901). `data` and `configuration` are read as JSON.",
                examples=["/data/temperature"],
            ),
        ]
        | None
    ) = None
    kind: (
        Annotated[
            RecordKindName,
            Meta(description="With `path`, the kind of records; by default `data`."),
        ]
        | None
    ) = None


class SeriesPoint(Reply, kw_only=True):
    """The numbers of the records in one span of time."""

    timestamp: Annotated[DateText, Meta(description="The begin of the span.")]
    min: Annotated[float, Meta(description="The smallest number.", examples=[20.5])]
    max: Annotated[float, Meta(description="The largest number.", examples=[22.0])]
    mean: Annotated[float, Meta(description="The arithmetic mean.", examples=[21.25])]
    first: Annotated[float, Meta(description="The number of the oldest record.", examples=[21.0])]
    last: Annotated[float, Meta(description="The number of the newest record.", examples=[21.5])]
    count: Annotated[int, Meta(description="The number of numbers.", examples=[6])]
    sum: Annotated[float, Meta(description="Of all numbers.", examples=[127.5])]
    increase: (
        Annotated[
            float,
            Meta(
                description="Of a counter: what it rose since the last number before the span. A "
                "smaller number is another counter, or one that began again at zero.",
                examples=[0.5],
            ),
        ]
        | None
    ) = None
    has_gap: (
        Annotated[bool, Meta(description="A span without numbers lies before this one.")] | None
    ) = None


class SeriesState(Reply, kw_only=True):
    """From when on a device was in a state."""

    timestamp: Annotated[DateText, Meta(description="When it began, or the begin of the range.")]
    value: Annotated[Value, Meta(description="It holds until the next one.", examples=["open"])]


class SeriesRow(SeriesPoint, kw_only=True):
    """A point of a device."""

    device_id: DeviceId
    measurement: SeveralName | None = None


class SeriesStateRow(SeriesState, kw_only=True):
    """A state of a device."""

    device_id: DeviceId
    measurement: SeveralName | None = None


class DeviceSeries(Reply, kw_only=True):
    """The points of one device; a span without numbers has none."""

    device_id: Annotated[str, Meta(examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    measurement: SeveralName | None = None
    points: Annotated[list[SeriesPoint], Meta(description="By time.")]
    states: (
        Annotated[
            list[SeriesState],
            Meta(
                description="Of a state: each change. What was in force at the begin is looked for"
                " in the time before it, as long as the range and two days at most."
            ),
        ]
        | None
    ) = None
    looked_at: (
        Annotated[int, Meta(description="Of a path, how many records were read.", examples=[1_440])]
        | None
    ) = None
    is_sampled: (
        Annotated[
            bool,
            Meta(
                description="Of a path: not every record was read, there are too many for one "
                "request."
            ),
        ]
        | None
    ) = None
    examined_until: (
        Annotated[
            DateText,
            Meta(description="If the points end early, where: request the rest with this begin."),
        ]
        | None
    ) = None


class Series(AnsweredSeries, kw_only=True):
    """Numbers of some devices over time."""

    path: Annotated[str, Meta(description="As asked.", examples=["/data/temperature"])] | None = (
        None
    )
    kind: Annotated[RecordKindName, Meta(description="The kind of records.")] | None = None
    items: Annotated[list[DeviceSeries], Meta(description="In the order of the request.")]


async def get_series(
    context: AsyncContext, query: SeriesQuery
) -> Series | list[SeriesRow] | list[SeriesStateRow] | Text:
    """Get numbers of devices over time.

    For each span the minimum, maximum, mean, first, last, sum and number of the values of a
    measurement of up to 20 devices, and what a counter rose. They come from summaries, which are
    made for years, and are what a count of all records gives. Spans have `timeSpan` seconds, or are
    hours, days, weeks, months or years of a time zone. The range is the last day unless `beginDate`
    or `endDate` is given. Of several measurements each device has a series of each.

    A measurement of class `state` has `states` instead, which are read from the records: where it
    changed, and to what.

    With `path` instead of `measurement`, the numbers at a place in the records, whatever is
    declared. Records without a number there are left out; true and false are 1 and 0. There are at
    most 2,000 points in all. If a range has more records than one request may read, a sample of
    every span is read, and `isSampled` is true.
    """
    answer = await (_read_path(context, query) if query.path else _read_values(context, query))
    if query.format == "json":
        return answer
    is_states = [each.states is not None for each in answer.items]
    if any(is_states) and not all(is_states):
        raise invalid_field("format", "has rows of states or of numbers; ask for one of them")
    several = ("measurement",) if len(query.measurement) > 1 else ()
    if any(is_states):
        states = (
            SeriesStateRow(**_row_of(each, state))
            for each in answer.items
            for state in each.states or ()
        )
        return await write_rows(query.format, states, SeriesStateRow, (*_STATE_COLUMNS, *several))
    rows = (SeriesRow(**_row_of(each, point)) for each in answer.items for point in each.points)
    return await write_rows(query.format, rows, SeriesRow, (*_SERIES_COLUMNS, *several))


def _row_of(series_of_device: DeviceSeries, point: SeriesPoint | SeriesState) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.structs.asdict(point)
    names = {
        "device_id": series_of_device.device_id,
        "measurement": series_of_device.measurement,
    }
    return {**fields, **names}


async def _read_values(context: AsyncContext, query: SeriesQuery) -> Series:
    names = query.measurement
    field_errors = _validate_devices(query)
    if not names:
        field_errors.append(FieldError("measurement", "or path is required"))
    if len(set(names)) < len(names):
        field_errors.append(FieldError("measurement", "names one twice"))
    if query.kind is not None:
        field_errors.append(FieldError("kind", "goes with path only"))
    count, most = len(query.device_id) * max(1, len(names)), value_series.POINTS_MAX
    parse = partial(parse_spans, query, context.now, count, most)
    field_errors += list_errors(parse)
    if field_errors:
        raise BadInput(field_errors=field_errors)
    asked = parse()
    find = partial(_find_measured, context.actor, query.device_id, names)
    all_found = await find_measured(context, query, find)
    items: list[DeviceSeries] = []
    described: list[dict[str, Any]] = []
    for name, found in zip(names, all_found, strict=True):
        several = name if len(names) > 1 else None
        if found.value_class == "state":
            values, listed = await _read_states(context, asked, found, several)
        else:
            values, listed = await _read_numbers(context, query, asked, found, several)
        items += listed
        described.append(values.describe())
    complete = min(each["complete_until"] for each in described)
    one = described[0] if len(names) == 1 else {}
    return Series(items=items, **{**one, "complete_until": complete}, **asked.describe())


async def _read_numbers(
    context: AsyncContext,
    query: SeriesQuery,
    asked: AskedSpans,
    found: FoundMeasured,
    several: str | None,
) -> tuple[MeasuredValues, list[DeviceSeries]]:
    items: list[DeviceSeries] = []

    def take_points(device: MeasuredDevice, points: Points) -> None:
        wire = _points_wire(points, is_counter=found.is_counter)
        items.append(DeviceSeries(device_id=device.id, measurement=several, points=wire))

    return await read_values(context, query, asked.spans, found, take_points), items


async def _read_states(
    context: AsyncContext, asked: AskedSpans, found: FoundMeasured, several: str | None
) -> tuple[MeasuredValues, list[DeviceSeries]]:
    begin, end = asked.spans.begin, asked.spans.end
    scans = await read_states(context.database, found.devices, begin, end)
    items = [_states_wire(scan, several) for scan in scans]
    return MeasuredValues(found.measurement, None, found.settled), items


def _states_wire(scan: StateScan, several: str | None) -> DeviceSeries:
    states = [
        SeriesState(timestamp=format_date(at), value=shown)
        for at, value in scan.list_changes()
        if (shown := build_value(value.number, value.text)) is not None
    ]
    return DeviceSeries(
        device_id=scan.device.id,
        measurement=several,
        points=[],
        states=states,
        examined_until=format_optional_date(scan.examined_until),
    )


def _points_wire(points: Points, *, is_counter: bool) -> list[SeriesPoint]:
    rises = points.rises if is_counter else (None,) * len(points.rises)
    timestamps = format_dates(points.row.begins)
    return [
        SeriesPoint(
            timestamp=timestamp,
            min=minimum,
            max=maximum,
            mean=total / count,
            first=first,
            last=last,
            count=count,
            sum=total,
            increase=rise,
            has_gap=has_gap or None,
        )
        for timestamp, count, minimum, maximum, total, first, last, _, rise, has_gap in zip(
            timestamps, *points.row[1:], rises, points.gaps, strict=True
        )
    ]


def _find_measured(
    actor: Actor, device_ids: Sequence[str], names: Sequence[str], tx: Tx
) -> list[FoundMeasured]:
    found = series.find_devices(tx, actor, device_ids)
    settled = find_settled(tx)
    answers: list[FoundMeasured] = []
    for index, name in enumerate(names):
        devices, known = [], None
        for device in found:
            measured, measurement = measured_devices.find_device(tx, actor, device, name)
            devices.append(measured)
            known = known or measurement
        if known is None:
            field = f"measurement[{index}]" if len(names) > 1 else "measurement"
            raise invalid_field(field, "is none that these devices have")
        answers.append(FoundMeasured(devices, known, settled))
    return answers


def _validate_devices(query: SeriesQuery) -> list[FieldError]:
    if len(set(query.device_id)) < len(query.device_id):
        return [FieldError("device_id", "names a device twice")]
    return []


# --- a path ---


async def _read_path(context: AsyncContext, query: SeriesQuery) -> Series:
    asked, selection = _build_selection(query, context.now)
    scans = await _scan_devices(context, selection)
    return Series(
        path=selection.path,
        kind=selection.kind,
        items=[
            DeviceSeries(
                device_id=scan.device.id,
                points=list(_list_points(scan)),
                looked_at=scan.looked_at,
                is_sampled=scan.is_sampled,
                examined_until=format_optional_date(scan.examined_until),
            )
            for scan in scans
        ],
        **asked.describe(),
    )


def _list_points(scan: DeviceScan) -> Iterator[SeriesPoint]:
    boundaries = scan.selection.spans.boundaries
    expected = None
    for index, bucket in sorted(scan.buckets.items()):
        has_gap = expected is not None and index > expected
        yield _bucket_wire(bucket, boundaries[index], has_gap=has_gap)
        expected = index + 1


def _bucket_wire(bucket: Bucket, begin: Moment, *, has_gap: bool) -> SeriesPoint:
    return SeriesPoint(
        timestamp=format_date(begin),
        min=bucket.minimum,
        max=bucket.maximum,
        mean=bucket.mean,
        first=bucket.first,
        last=bucket.last,
        count=bucket.count,
        sum=bucket.mean * bucket.count,
        has_gap=has_gap or None,
    )


async def _scan_devices(context: AsyncContext, selection: SeriesSelection) -> Sequence[DeviceScan]:
    """Read the records in steps, so that others have their turns between them."""
    devices = await context.read(partial(_find_devices, context.actor, selection))
    scans: list[DeviceScan] = []
    work_left = series.WORK_MAX
    for index, device in enumerate(devices):
        scan = DeviceScan(device, selection, work_left // (len(devices) - index))
        while not scan.is_done:
            await read_with_archive(context.database, partial(_step, context.actor, scan))
        work_left -= scan.work
        scans.append(scan)
    return scans


def _find_devices(actor: Actor, selection: SeriesSelection, tx: Tx) -> list[ReportingDevice]:
    return series.find_devices(tx, actor, selection.device_ids)


def _step(actor: Actor, scan: DeviceScan, tx: Tx) -> NeedsArchive[None] | None:
    return scan.step(tx, actor)


def _build_selection(query: SeriesQuery, now: Moment) -> tuple[AskedSpans, SeriesSelection]:
    kind, path = query.kind or KIND_NAMES[0], query.path or ""
    device_ids = query.device_id
    parse = partial(parse_spans, query, now, len(device_ids), series.POINTS_MAX)
    field_errors = _validate_devices(query)
    if query.measurement:
        field_errors.append(FieldError("path", "cannot be given with measurement"))
    if query.fresh:
        field_errors.append(FieldError("fresh", "goes with measurement only"))
    if kind not in KIND_NAMES:
        field_errors.append(not_one_of("kind", KIND_NAMES))
    else:
        field_errors += list_errors(partial(series.compile_path, kind, path))
    field_errors += list_errors(parse)
    if field_errors:
        raise BadInput(field_errors=field_errors)
    asked = parse()
    return asked, SeriesSelection(device_ids, kind, path, asked.spans)


_STATE_COLUMNS = ("timestamp", "device_id", "value")
_SERIES_COLUMNS = (
    *("timestamp", "device_id", "min", "max", "mean", "first", "last"),
    *("count", "sum", "increase", "has_gap"),
)

ROUTES = [
    series_route(
        path="/device/series",
        handler=get_series,
        object_rule="in the groups the devices were in when the records were stored",
    )
]
