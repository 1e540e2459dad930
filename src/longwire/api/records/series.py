"""The operation that reads numbers over time."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated

from msgspec import Meta

from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, RecordKindName, parse_period
from longwire.clock import DAY, SECOND, Moment
from longwire.dates import LATEST, format_date, format_optional_date
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import records, series
from longwire.fleet.series import DeviceScan, SeriesSelection
from longwire.model import Actor
from longwire.records import KIND_NAMES
from longwire.store.archive.archive_reads import NeedsArchive, read_with_archive
from longwire.store.database import Tx
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.web.fields import DateQuery, DateText, Query, Reply
from longwire.web.routing import Route


class SeriesQuery(Query):
    """Which numbers of which devices, and in buckets of which length."""

    device_id: Annotated[
        list[DeviceId],
        Meta(
            min_length=1,
            max_length=series.DEVICES_MAX,
            description=f"One device, or several: given up to {series.DEVICES_MAX} times.",
            examples=[["dev_vzpeqxr5mxjrq2uy6ct3mlgw"]],
        ),
    ]
    path: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=512,
            description="Where the number is in a record: a JSON Pointer (RFC 6901). `data` and "
            "`configuration` are read as JSON.",
            examples=["/data/temperature"],
        ),
    ]
    kind: (
        Annotated[RecordKindName, Meta(description="The kind of records; by default `data`.")]
        | None
    ) = None
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None
    time_span: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=10**9,
                description="Seconds per point; by default what gives at most "
                f"{series.POINTS_DEFAULT} points of a device.",
                examples=[3_600],
            ),
        ]
        | None
    ) = None


class SeriesPoint(Reply):
    """The numbers of the records in one span of time."""

    timestamp: Annotated[DateText, Meta(description="The begin of the span.")]
    min: Annotated[float, Meta(description="The smallest number.", examples=[20.5])]
    max: Annotated[float, Meta(description="The largest number.", examples=[22.0])]
    mean: Annotated[float, Meta(description="The arithmetic mean.", examples=[21.25])]
    last: Annotated[float, Meta(description="The number of the newest record.", examples=[21.5])]
    count: Annotated[int, Meta(description="The number of numbers.", examples=[6])]


class DeviceSeries(Reply):
    """The points of one device; a span without numbers has none."""

    device_id: Annotated[str, Meta(examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"])]
    points: Annotated[list[SeriesPoint], Meta(description="By time.")]
    looked_at: Annotated[int, Meta(description="How many records were read.", examples=[1_440])]
    is_sampled: Annotated[
        bool, Meta(description="Not every record was read: there are too many for one request.")
    ]
    examined_until: (
        Annotated[
            DateText,
            Meta(description="If the points end early, where: request the rest with this begin."),
        ]
        | None
    ) = None


class Series(Reply):
    """Numbers of some devices over time."""

    path: Annotated[str, Meta(description="As requested.", examples=["/data/temperature"])]
    kind: Annotated[RecordKindName, Meta(description="The kind of records.")]
    begin_date: Annotated[DateText, Meta(description="The begin of the first span.")]
    end_date: DateText
    time_span: Annotated[int, Meta(description="Seconds per point.", examples=[3_600])]
    items: Annotated[list[DeviceSeries], Meta(description="In the order of the request.")]


async def _read_devices(context: AsyncContext, selection: SeriesSelection) -> Sequence[DeviceScan]:
    """Read the records in steps, so that others have their turns between them."""
    retention_days = context.services.retention_days.get(selection.kind, 0)
    oldest = records.oldest_kept(retention_days, context.now)
    devices = await context.read(partial(_find_devices, context.actor, selection))
    scans: list[DeviceScan] = []
    work_left = series.WORK_MAX
    for index, device in enumerate(devices):
        scan = DeviceScan(device, selection, oldest, work_left // (len(devices) - index))
        while not scan.is_done:
            await read_with_archive(context.database, partial(_step, context.actor, scan))
        work_left -= scan.work
        scans.append(scan)
    return scans


def _find_devices(actor: Actor, selection: SeriesSelection, tx: Tx) -> list[ReportingDevice]:
    return series.find_devices(tx, actor, selection.device_ids)


def _step(actor: Actor, scan: DeviceScan, tx: Tx) -> NeedsArchive[None] | None:
    return scan.step(tx, actor)


async def get_series(context: AsyncContext, query: SeriesQuery) -> Series:
    """Get numbers of devices over time.

    The numbers at `path` in the records of up to 20 devices, down-sampled: for each span of
    `timeSpan` seconds the minimum, maximum, mean and last number. The range is the last day unless
    `beginDate` or `endDate` is given. Records without a number at `path` are left out; true and
    false are 1 and 0. There are at most 2,000 points in all. If a range has more records than one
    request may read, a sample of every span is read, and `isSampled` is true.
    """
    selection = _build_selection(query, context.now)
    scans = await _read_devices(context, selection)
    return Series(
        path=selection.path,
        kind=selection.kind,
        begin_date=format_date(selection.begin),
        end_date=format_date(min(selection.end, LATEST)),
        time_span=selection.span // SECOND,
        items=[_series_wire(scan) for scan in scans],
    )


def _series_wire(scan: DeviceScan) -> DeviceSeries:
    selection = scan.selection
    return DeviceSeries(
        device_id=scan.device.id,
        points=[
            SeriesPoint(
                timestamp=format_date(selection.begin + index * selection.span),
                min=bucket.minimum,
                max=bucket.maximum,
                mean=bucket.mean,
                last=bucket.last,
                count=bucket.count,
            )
            for index, bucket in sorted(scan.buckets.items())
        ],
        looked_at=scan.looked_at,
        is_sampled=scan.is_sampled,
        examined_until=format_optional_date(scan.examined_until),
    )


def _build_selection(query: SeriesQuery, now: Moment) -> SeriesSelection:
    kind = query.kind or KIND_NAMES[0]
    device_ids = query.device_id
    _validate(query, kind, now)
    begin, end = _parse_range(query, now)
    span = series.choose_span(begin, end, len(device_ids))
    if query.time_span is not None:
        span = query.time_span * SECOND
    selection = SeriesSelection(device_ids, kind, query.path, begin, end, span)
    if selection.points * len(device_ids) > series.POINTS_MAX:
        raise invalid_field("time_span", f"gives more than {series.POINTS_MAX} points")
    return selection


def _validate(query: SeriesQuery, kind: str, now: Moment) -> None:
    """Name every field that is invalid by itself."""
    field_errors: list[FieldError] = []
    if len(set(query.device_id)) < len(query.device_id):
        field_errors.append(FieldError("device_id", "names a device twice"))
    if kind not in KIND_NAMES:
        field_errors.append(FieldError("kind", f"must be one of {', '.join(KIND_NAMES)}"))
    else:
        field_errors += _errors_of(partial(series.compile_path, kind, query.path))
    field_errors += _errors_of(partial(_parse_range, query, now))
    if field_errors:
        raise BadInput(field_errors=field_errors)


def _errors_of(check: Callable[[], object]) -> Sequence[FieldError]:
    try:
        check()
    except BadInput as error:
        return error.field_errors
    return ()


def _parse_range(query: SeriesQuery, now: Moment) -> tuple[Moment, Moment]:
    """The last day, unless dates are given."""
    begin, end = parse_period(query.begin_date, query.end_date)
    if end is None:
        end = now if begin is None else max(now, begin)
    return end - DAY if begin is None else begin, end


ROUTES = [
    Route(
        "GET",
        "/device/series",
        get_series,
        "record.read",
        object_rule="in the groups the devices were in when the records were stored",
        tag="Records",
        may_lag=True,
        in_turns=True,
        is_addition=True,
    )
]
