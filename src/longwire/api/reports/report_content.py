"""What is in reports: the rows of the operations that list or export the same, as one file."""

import asyncio
import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import msgspec
import structlog

from longwire.api.delivery.alarms import Alarm, AlarmsQuery, build_alarm_filter, show_alarm
from longwire.api.records.csv_cells import encode_rows, unescape_cell
from longwire.api.records.export_streams import Export, Step, list_columns
from longwire.api.records.exports import DeviceExportQuery, build_export
from longwire.api.records.group_series import (
    GroupPoint,
    GroupSeriesQuery,
    MemberRow,
    read_group_series,
)
from longwire.api.records.record_exports import RecordExportQuery
from longwire.dates import format_date, parse_date
from longwire.errors import BadInput, FieldError, TooLarge, invalid_field
from longwire.measurements.calendar_spans import CalendarSpan
from longwire.model import Actor, PageRequest
from longwire.notifications import alarm_lists
from longwire.reports import reports
from longwire.reports.charts import Points, draw_chart
from longwire.reports.runner import BuiltContent, ContentRequest
from longwire.reports.spreadsheets import build_spreadsheet
from longwire.store.archive.archive_reads import NeedsArchive, read_with_archive
from longwire.store.database import Database, Tx
from longwire.store.reports.reports import ScheduledReport
from longwire.web.fields import Query

STEP_ROWS_MAX = 500
_MIB = 1024 * 1024
# What the report itself decides.
_NOT_PARAMETERS = frozenset(
    (
        *("groupId", "format", "after", "beginDate", "endDate", "limit", "nextToken"),
        *("timezone", "timeSpan", "fresh", "order", "descending"),
    )
)
_QUERIES: Mapping[str, type[Query]] = {
    "records": RecordExportQuery,
    "series": GroupSeriesQuery,
    "devices": DeviceExportQuery,
    "alarms": AlarmsQuery,
}
# As many points as a chart can show.
_SPANS = {"day": CalendarSpan.HOUR, "week": CalendarSpan.HOUR, "month": CalendarSpan.DAY}

Q = TypeVar("Q", bound=Query)
T = TypeVar("T")

log = structlog.get_logger()


# --- parameters ---


def check_parameters(content: str, parameters: str, group_id: str) -> list[FieldError]:
    """What is invalid about the parameters of a report."""
    given = msgspec.json.decode(parameters, type=dict[str, Any])
    known = {each.encode_name for each in msgspec.structs.fields(_QUERIES[content])}
    found = [
        FieldError(f"parameters.{name}", f"is not for a report of {content}")
        for name in given
        if name not in known - _NOT_PARAMETERS
    ]
    if not found:
        try:
            query = _parse_query(_QUERIES[content], given, group_id, "", "")
            if isinstance(query, RecordExportQuery | DeviceExportQuery):
                build_export(query)
            if isinstance(query, RecordExportQuery):
                _forbid_scan(query)
        except BadInput as error:
            found = [
                FieldError(f"parameters.{each.field}", each.message) for each in error.field_errors
            ]
    return found


def _forbid_scan(query: RecordExportQuery) -> None:
    """All that has ever arrived in a group is not read every day for what one day is about."""
    if query.dates == "timestamp" and query.device_id is None:
        raise invalid_field("dates", "is arrival in a report without a deviceId")


def _parse_query(kind: type[Q], given: Mapping[str, Any], group_id: str, begin: str, end: str) -> Q:
    values = {**given, "groupId": group_id}
    if begin:
        values |= {"beginDate": begin, "endDate": end}
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        name = path.rstrip("`").partition("[")[0]
        if not name:
            name = next((each for each in _list_required(kind) if each not in values), "")
            reason = "is required"
        raise BadInput(field_errors=[FieldError(name, reason)]) from error


def _list_required(kind: type[Query]) -> list[str]:
    return [each.encode_name for each in msgspec.structs.fields(kind) if each.required]


# --- rows ---


@dataclass(frozen=True, slots=True)
class ReportReader:
    """What reads a series, in place of the context of a request."""

    database: Database
    actor: Actor
    now: int

    async def read(self, work: Callable[[Tx], T]) -> T:
        return await self.database.read(work)


async def read_content(database: Database, request: ContentRequest) -> BuiltContent:
    """The file of a report, for whoever it is read for."""
    report = request.report
    if report.content == "series":
        built = await _read_series(database, request)
    else:
        built = await _read_rows(database, request, _build_export(request))
    if report.format == "xlsx":
        zone = reports.get_schedule(report).zone
        content = await asyncio.to_thread(build_spreadsheet, built.content, zone, unescape_cell)
        built = replace(built, content=content)
    return built


def _parse_request(kind: type[Q], request: ContentRequest, **more: Any) -> Q:
    report = request.report
    given = msgspec.json.decode(report.parameters, type=dict[str, Any])
    begin, end = format_date(request.begin), format_date(request.end)
    return _parse_query(kind, {**given, **more}, report.group_id, begin, end)


def _build_export(request: ContentRequest) -> Export:
    report = request.report
    if report.content == "records":
        return build_export(_parse_request(RecordExportQuery, request, format="csv"))
    if report.content == "devices":
        given = msgspec.json.decode(report.parameters, type=dict[str, Any])
        query = _parse_query(DeviceExportQuery, {**given, "format": "csv"}, report.group_id, "", "")
        return build_export(query)
    given = msgspec.json.decode(report.parameters, type=dict[str, Any])
    state = given.get("state", "all")
    return _build_alarm_export(_parse_request(AlarmsQuery, request, state=state))


_ALARM_COLUMNS = list_columns(Alarm, "id")


def _build_alarm_export(query: AlarmsQuery) -> Export:
    wanted = build_alarm_filter(query)

    def read(tx: Tx, actor: Actor, position: Any) -> Step:
        page = alarm_lists.list_alarms(
            *(tx, actor, query.group_id, wanted, PageRequest(STEP_ROWS_MAX, position)),
            subgroups=query.subgroups,
        )
        rows = [show_alarm(each) for each in page.items]
        return Step(encode_rows("csv", _ALARM_COLUMNS, rows), len(rows), page.last_key)

    return Export("alarms", "csv", _ALARM_COLUMNS, read)


async def _read_rows(database: Database, request: ContentRequest, export: Export) -> BuiltContent:
    contents = [export.header]
    size = len(export.header)
    rows, position, is_first = 0, None, True
    while is_first or position is not None:
        is_first = False
        work = partial(_read_step, request.report, export, position)
        step = await read_with_archive(database, work)
        contents.append(step.content)
        rows, position = rows + step.count, step.position
        size += len(step.content)
        _require_size(size, request)
    return BuiltContent(b"".join(contents), rows)


def _require_size(size: int, request: ContentRequest) -> None:
    if size > request.bytes_max:
        raise TooLarge(
            f"It has more than {request.bytes_max // _MIB} MiB: choose fewer devices or values, or"
            " a shorter period."
        )


def _read_step(
    report: ScheduledReport, export: Export, position: Any, tx: Tx
) -> Step | NeedsArchive[Step]:
    """With the permissions that there are now."""
    return export.read(tx, reports.require_reader(tx, report), position)


async def _read_series(database: Database, request: ContentRequest) -> BuiltContent:
    report = request.report
    given = msgspec.json.decode(report.parameters, type=dict[str, Any])
    span = given.get("calendarSpan", _SPANS[report.every].value)
    query = _parse_request(
        GroupSeriesQuery, request, calendarSpan=span, timezone=report.timezone, format="table"
    )
    reader = ReportReader(database, request.actor, request.end)
    found = await read_group_series(reader, query)
    assert isinstance(found, list)
    rows: Sequence[GroupPoint | MemberRow] = found
    columns = list_columns(MemberRow if query.combine == "none" else GroupPoint, "timestamp")
    head = io.StringIO(newline="")
    csv.writer(head).writerow(columns)
    content = head.getvalue().encode() + encode_rows("csv", columns, rows)
    _require_size(len(content), request)
    lines: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        name = row.device_id if isinstance(row, MemberRow) else ""
        lines.setdefault(name, []).append((parse_date(row.timestamp), row.value))
    chart = await _draw(request, list(lines.values()))
    return BuiltContent(content, len(rows), chart)


async def _draw(request: ContentRequest, lines: Sequence[Points]) -> bytes | None:
    """The chart; a report without one is better than none."""
    zone = reports.get_schedule(request.report).zone
    try:
        return await asyncio.to_thread(draw_chart, lines, request.begin, request.end, zone)
    except Exception:
        log.exception("chart not drawn", report=request.report.id)
        return None
