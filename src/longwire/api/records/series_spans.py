"""What all series share: ranges in spans, how values are read, and formats of flat rows."""

import asyncio
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain
from typing import Annotated, Any, Literal, Protocol, TypeVar
from zoneinfo import ZoneInfo, available_timezones

import msgspec
from msgspec import Meta

from longwire.api.fleet.measurement_shapes import ClassName, Label, MeasurementName, Unit
from longwire.api.records import parquet
from longwire.api.records.csv_cells import encode_csv, format_cells
from longwire.api.types import parse_period
from longwire.clock import DAY, SECOND, Moment
from longwire.dates import format_date, parse_date
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import series, value_series
from longwire.fleet.measured_devices import MeasuredDevice
from longwire.fleet.value_series import TakePoints
from longwire.measurements.calendar_spans import (
    LENGTHS,
    QUARTER,
    CalendarSpan,
    Spans,
    list_boundaries,
    list_even,
)
from longwire.measurements.definitions import Measurement
from longwire.model import Actor
from longwire.store.database import Database, Tx, may_lag
from longwire.store.records import arrival_horizon
from longwire.store.records.arrival_numbers import arrival_moment
from longwire.web.fields import DateQuery, DateText, Query, Reply, words
from longwire.web.routing import Route, Text
from longwire.web.type_info import wire_names

# Dates that spans are drawn between: some years from the limits of all dates.
FIRST, LAST = parse_date("0100-01-01"), parse_date("9900-01-01")
EARLIEST = parse_date("0002-01-01")
CSV = "text/csv; charset=utf-8"
NDJSON = "application/x-ndjson"

FormatName = Annotated[
    Literal["json", "csv", "ndjson", "table", "parquet"],
    Meta(
        title="SeriesFormat",
        examples=["csv"],
        description="`csv`, `ndjson`, `table`, a JSON array, and `parquet`, which the operator may "
        "not have installed, have one flat row for each point, as spreadsheets and Grafana read "
        "it.",
    ),
]
CalendarName = Annotated[
    str,
    words("CalendarSpan", CalendarSpan),
    Meta(description="Instead of `timeSpan`; a week begins on Monday.", examples=["day"]),
]
TimeZoneName = Annotated[
    str,
    Meta(
        max_length=64,
        description="Whose days `calendarSpan` counts: a name of the IANA database; by default "
        "`UTC`.",
        examples=["Europe/Paris"],
    ),
]
Number = Annotated[float, Meta(examples=[21.25])]


class SpanQuery(Query):
    """Which range, in which spans, and how the answer is written."""

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
    calendar_span: CalendarName | None = None
    timezone: TimeZoneName | None = None
    format: FormatName = "json"
    fresh: Annotated[
        bool,
        Meta(
            description="Wait until everything is counted that had arrived before the request, "
            "however many records have to be read for it."
        ),
    ] = False


class AnsweredSeries(Reply, kw_only=True):
    """What every series has."""

    begin_date: Annotated[DateText, Meta(description="The begin of the first span.")]
    end_date: DateText
    time_span: Annotated[int, Meta(description="Seconds per point.", examples=[3_600])] | None = (
        None
    )
    calendar_span: CalendarName | None = None
    timezone: TimeZoneName | None = None
    measurement: MeasurementName | None = None
    value_class: Annotated[ClassName, Meta(description="The class of the measurement.")] | None = (
        msgspec.field(default=None, name="class")
    )
    unit: Unit | None = None
    label: Label | None = None
    complete_until: (
        Annotated[
            DateText,
            Meta(
                description="Of a measurement: everything that had arrived by then is counted. If "
                "more records had to be read than one request may, this is where they begin; "
                "`fresh` reads them."
            ),
        ]
        | None
    ) = None


# --- ranges and spans ---


@dataclass(frozen=True, slots=True)
class AskedSpans:
    """The spans of a request, and what they are called in its answer."""

    spans: Spans
    names: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        spans = self.spans
        begin = min(spans.boundaries[0], spans.begin)
        end = format_date(spans.end)
        return {"begin_date": format_date(begin), "end_date": end, **self.names}


def parse_spans(query: SpanQuery, now: Moment, devices: int, most: int) -> AskedSpans:
    """Spans of so many devices, that give no more points; names every invalid field."""
    field_errors = [
        *(list_errors(parquet.require_installed) if query.format == "parquet" else ()),
        *list_errors(partial(_parse_range, query, now)),
        *list_errors(partial(_parse_zone, query.timezone)),
    ]
    if query.calendar_span is not None:
        if query.calendar_span not in list(CalendarSpan):
            field_errors.append(not_one_of("calendar_span", CalendarSpan))
        if query.time_span is not None:
            field_errors.append(FieldError("calendar_span", "cannot be given with timeSpan"))
    elif query.timezone is not None:
        field_errors.append(FieldError("timezone", "goes with calendarSpan only"))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    begin, end = _parse_range(query, now)
    if query.calendar_span is None:
        return _build_even_spans(query.time_span, begin, end, devices, most)
    calendar_span, zone = CalendarSpan(query.calendar_span), _parse_zone(query.timezone)
    _require_few("calendar_span", (end - begin) // LENGTHS[calendar_span] * devices, most)
    boundaries = list_boundaries(begin, end, calendar_span, zone)
    first = boundaries[0]
    previous, *_ = list_boundaries(first - 1, first, calendar_span, zone)
    names = {"calendar_span": calendar_span.value, "timezone": zone.key}
    return AskedSpans(Spans(begin, end, boundaries, previous), names)


def _build_even_spans(
    seconds: int | None, begin: Moment, end: Moment, devices: int, most: int
) -> AskedSpans:
    if seconds is None:
        span = series.choose_span(begin, end, devices)
        first = max(begin - begin % span, EARLIEST)
    else:
        span, first = seconds * SECOND, begin
        _require_few("time_span", -(-(end - begin) // span) * devices, most)
    spans = replace(list_even(first, end, span), begin=begin)
    return AskedSpans(spans, {"time_span": span // SECOND})


def _require_few(field: str, points: int, most: int) -> None:
    if points > most:
        raise invalid_field(field, f"gives more than {most} points")


def _parse_range(query: SpanQuery, now: Moment) -> tuple[Moment, Moment]:
    """The last day up to the end of this quarter of an hour, unless dates are given."""
    begin, end = parse_period(query.begin_date, query.end_date)
    if end is None:
        end = now + -now % QUARTER if begin is None else max(now, begin)
    begin = end - DAY if begin is None else begin
    field_errors = list_range_errors(begin, end)
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return begin, end


def list_range_errors(begin: Moment, end: Moment) -> list[FieldError]:
    return [
        FieldError(name, f"must lie between {format_date(FIRST)} and {format_date(LAST)}")
        for name, moment in (("begin_date", begin), ("end_date", end))
        if not FIRST <= moment <= LAST
    ]


def _parse_zone(name: str | None) -> ZoneInfo:
    # Some files in its folder are no time zones, such as that of this machine.
    if name is not None and name not in _list_zones():
        raise invalid_field("timezone", "is no time zone of the IANA database")
    return ZoneInfo(name or "UTC")


@cache
def _list_zones() -> Set[str]:
    return available_timezones() - {"localtime", "Factory"}


def list_errors(check: Callable[[], object]) -> Sequence[FieldError]:
    try:
        check()
    except BadInput as error:
        return error.field_errors
    return ()


def not_one_of(field: str, words: Sequence[str] | type[CalendarSpan]) -> FieldError:
    return FieldError(field, f"must be one of {', '.join(words)}")


R = TypeVar("R", bound=Reply)
T = TypeVar("T")
F = TypeVar("F")


async def write_rows(
    format_name: str, rows: Iterable[R], kind: type[R], columns: Sequence[str]
) -> list[R] | Text:
    """Flat rows, in one of the formats that has them; the columns are names of attributes.

    On a thread, where the rows are made as well.
    """
    return await asyncio.to_thread(_write_rows, format_name, rows, kind, columns)


def _write_rows(
    format_name: str, rows: Iterable[R], kind: type[R], columns: Sequence[str]
) -> list[R] | Text:
    if format_name == "parquet":
        return Text(parquet.encode_rows(rows, kind, columns), parquet.MEDIA_TYPE)
    if format_name == "table":
        return list(rows)
    if format_name == "ndjson":
        encode = msgspec.json.encode
        return Text(b"".join(encode(row) + b"\n" for row in rows), NDJSON)
    names = wire_names(kind)
    cells = (format_cells(getattr(row, name) for name in columns) for row in rows)
    return Text(encode_csv(chain([[names[each] for each in columns]], cells)), CSV)


# --- values ---


@dataclass(frozen=True, slots=True)
class FoundMeasured:
    """Devices with a measurement, and up to when everything that arrived can be read."""

    devices: Sequence[MeasuredDevice]
    measurement: Measurement | None
    settled: Moment

    @property
    def value_class(self) -> str | None:
        return None if self.measurement is None else self.measurement.value_class

    @property
    def is_counter(self) -> bool:
        return self.value_class == "counter"


@dataclass(frozen=True, slots=True)
class MeasuredValues:
    """What was read: of which measurement, and up to when it is complete."""

    measurement: Measurement | None
    incomplete_from: Moment | None
    settled: Moment

    def describe(self) -> dict[str, Any]:
        incomplete = self.incomplete_from
        complete = self.settled if incomplete is None else min(self.settled, incomplete)
        described: dict[str, Any] = {"complete_until": format_date(complete)}
        if self.measurement is not None:
            described |= {
                "measurement": self.measurement.name,
                "value_class": self.measurement.value_class,
                "unit": self.measurement.unit,
                "label": self.measurement.label,
            }
        return described


class SeriesReader(Protocol):
    """The context of a request, as far as a series needs it."""

    @property
    def database(self) -> Database: ...

    @property
    def actor(self) -> Actor: ...

    @property
    def now(self) -> Moment: ...

    async def read(self, work: Callable[[Tx], T]) -> T: ...


async def read_values(
    context: SeriesReader, query: SpanQuery, spans: Spans, found: FoundMeasured, take: TakePoints
) -> MeasuredValues:
    """Read the points of devices, which are taken on a thread."""
    incomplete_from = await value_series.read_devices(
        context.database,
        found.devices,
        spans,
        take,
        is_counter=found.is_counter,
        records_max=value_series.FRESH_RECORDS_MAX if query.fresh else None,
    )
    return MeasuredValues(found.measurement, incomplete_from, found.settled)


async def find_measured(context: SeriesReader, query: SpanQuery, find: Callable[[Tx], F]) -> F:
    if query.fresh:
        may_lag.set(False)
    return await context.read(find)


def find_settled(tx: Tx) -> Moment:
    return min(tx.now, arrival_moment(arrival_horizon.get_settled_seq(tx, 0)))


series_route = partial(
    Route,
    "GET",
    permission="record.read",
    tag="Records",
    may_lag=True,
    in_turns=True,
    formats=(CSV, NDJSON, parquet.MEDIA_TYPE),
    is_addition=True,
)
