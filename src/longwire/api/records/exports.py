"""Operations that export what their lists show: streamed as CSV or NDJSON, and resumable.

An export is read in small steps, with no transaction open between them, as fast as the client
takes it. Each step checks the caller and the permission again. Every row has an id; whoever has
lost the connection continues after the last one they have.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import astuple

from longwire import extras
from longwire.api.delivery.connectors import ConnectorEvent, show_event
from longwire.api.delivery.deliveries import ConnectorId
from longwire.api.fleet.device_shapes import (
    BatteryBelow,
    Device,
    DeviceTypeName,
    Network,
    SearchText,
    SeenWithin,
    ValueComparisons,
    ValueDescending,
    ValueNames,
    ValueOrder,
    build_device_filter,
    build_value_selection,
    show_device,
)
from longwire.api.identity.audit import AuditEntry, show_entry
from longwire.api.records import parquet
from longwire.api.records.csv_cells import encode_csv, encode_rows, format_cells
from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, GroupId, Tag, parse_period
from longwire.clock import Moment
from longwire.delivery.connectors import deliveries
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import device_values, devices, record_exports, records
from longwire.fleet.record_exports import ExportedRecords, ExportPosition, RecordSelection
from longwire.identity import audit
from longwire.ids import format_record_id, parse_delivery_id, parse_record_id
from longwire.jobs.exporting import ExportedRows
from longwire.jobs.tasks import ExportTask
from longwire.model import Actor, DeviceOrder, PageRequest
from longwire.model import Device as DeviceValue
from longwire.records import KIND_NAMES, RECORD_TYPES, parse_record
from longwire.store.archive.archive_reads import (
    NeedsArchive,
    convert_result,
    read_with_archive,
)
from longwire.store.database import Tx
from longwire.store.identity.audit import AuditFilter
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.records.records import ALL_TIME
from longwire.web.fields import DateQuery, Id, Query
from longwire.web.routing import Route, Stream, StreamResponse

# At once, of each kind of export.
PER_CALLER_MAX = 4
OPEN_MAX = 32
STEP_ROWS_MAX = 500  # of devices, messages and entries of the audit log
CHUNK_BYTES = 64 * 1024

Format = Annotated[
    Literal["csv", "ndjson"],
    Meta(
        title="ExportFormat",
        description="CSV with a header, or one JSON object per line.",
        examples=["csv"],
    ),
]
After = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=128,
        description="Continue after the row of this id; for an export that was interrupted.",
        examples=["rec_19805e2c41a003"],
    ),
]


class RecordExportQuery(Query, kw_only=True):
    """Which records, and in which format."""

    group_id: Annotated[GroupId, Meta(description="Records of this group.")] | None = None
    subgroups: Annotated[
        bool, Meta(description="Those of the groups below it, too, 1,000 at most.")
    ] = False
    device_id: Annotated[DeviceId, Meta(description="Of this device.")] | None = None
    kind: Annotated[
        Literal["data", "event", "geoloc", "telemetry"],
        Meta(title="RecordKind", description="The kind of records.", examples=["data"]),
    ] = "data"
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None
    dates: (
        Annotated[
            Literal["arrival", "timestamp"],
            Meta(
                title="ExportDates",
                description="What `beginDate` and `endDate` are about; by default the arrival of "
                "a group's records, and the timestamp of a device's, which can be nothing else. "
                "A group's records come in order of arrival either way.",
                examples=["timestamp"],
            ),
        ]
        | None
    ) = None
    format: Annotated[
        Literal["csv", "ndjson", "parquet"],
        Meta(
            title="RecordExportFormat",
            description="CSV with a header, one JSON object per line, or a Parquet file, which the "
            "operator may not have installed.",
            examples=["csv"],
        ),
    ] = "ndjson"
    after: After | None = None


class DeviceExportQuery(Query, kw_only=True):
    """Which devices, and in which format."""

    group_id: GroupId
    subgroups: Annotated[bool, Meta(description="Those of all groups below it, too.")] = False
    q: SearchText | None = None
    type: DeviceTypeName | None = None
    network: Network | None = None
    tag: Annotated[Tag, Meta(description="A tag they have.", examples=["roof"])] | None = None
    seen: SeenWithin | None = None
    battery_below: BatteryBelow | None = None
    values: ValueNames | None = None
    where: ValueComparisons | None = None
    order: ValueOrder | None = None
    descending: ValueDescending = False
    format: Format = "ndjson"
    after: After | None = None


class MessageExportQuery(Query, kw_only=True):
    """Which messages of connectors, and in which format."""

    group_id: GroupId
    connector_id: ConnectorId | None = None
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None
    format: Format = "ndjson"
    after: After | None = None


class AuditExportQuery(Query, kw_only=True):
    """Which entries of the audit log, and in which format."""

    group_id: GroupId
    subgroups: Annotated[bool, Meta(description="Include the groups below.")] = False
    object_id: Annotated[Id, Meta(description="Only changes of this object.")] | None = None
    actor_id: Annotated[Id, Meta(description="Only changes by this user or app client.")] | None = (
        None
    )
    action: Annotated[Id, Meta(description="Only this action, like `device.update`.")] | None = None
    request_id: Annotated[Id, Meta(description="Only changes by this request.")] | None = None
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None
    format: Format = "ndjson"
    after: After | None = None


# --- formats ---


@dataclass(frozen=True, slots=True)
class Step:
    """Some rows as they are sent, and where to continue; None at the end."""

    content: bytes
    count: int
    position: Any


# From a transaction, the caller as they are now, and a position, None at the begin.
ReadStep = Callable[[Tx, Actor, Any], Step | NeedsArchive[Step]]


@dataclass(frozen=True, slots=True)
class Export:
    """What is exported, and how its rows are read."""

    name: str  # of the file
    format: str
    columns: Sequence[str]
    read: ReadStep
    position_type: Any = tuple[int | str, ...]

    @property
    def header(self) -> bytes:
        return encode_csv(iter([self.columns])) if self.format == "csv" else b""

    @property
    def media_type(self) -> str:
        return "text/csv; charset=utf-8" if self.format == "csv" else "application/x-ndjson"

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        disposition = f'attachment; filename="{self.name}.{self.format}"'
        return ((b"content-disposition", disposition.encode()),)


def _columns(struct: type[msgspec.Struct], first: str) -> list[str]:
    """The names of the columns, the id first."""
    names = [each.encode_name for each in msgspec.structs.fields(struct)]
    return [first, *(name for name in names if name != first)]


# --- streams ---


async def _start(context: AsyncContext, export: Export) -> StreamResponse:
    """Read the first step, whose errors are those of the request, and stream the others."""
    work = partial(_run, export.read, context.actor, None)
    first = await read_with_archive(context.database, work)
    return StreamResponse(
        _stream(context, export.header, first, export.read), export.media_type, export.headers
    )


async def _stream(
    context: AsyncContext, header: bytes, step: Step, read: ReadStep
) -> AsyncGenerator[bytes, None]:
    """While a step is sent, the next one is read."""
    waiting = bytearray(header)
    following: asyncio.Task[Step] | None = None
    try:
        while True:
            following = None
            if step.position is not None:
                following = asyncio.create_task(_read_next(context, read, step.position))
                # Should nobody wait for it any more, its error is of no interest.
                following.add_done_callback(lambda task: task.cancelled() or task.exception())
            waiting += step.content
            while len(waiting) >= CHUNK_BYTES:
                yield bytes(waiting[:CHUNK_BYTES])
                del waiting[:CHUNK_BYTES]
            if following is None:
                break
            step = await following
        yield bytes(waiting)
    finally:
        if following is not None:
            following.cancel()


async def _read_next(context: AsyncContext, read: ReadStep, position: Any) -> Step:
    actor = await context.reauthenticate()
    return await read_with_archive(context.database, partial(_run, read, actor, position))


def _run(read: ReadStep, actor: Actor, position: Any, tx: Tx) -> Step | NeedsArchive[Step]:
    return read(tx, actor, position)


# --- records ---

_RECORD_COLUMNS = {
    kind: ["id", *(each.encode_name for each in msgspec.structs.fields(record))]
    for kind, record in RECORD_TYPES.items()
}


async def export_records(context: AsyncContext, query: RecordExportQuery) -> StreamResponse:
    """Export the records of a group or of a device.

    Of one kind. Those of a group come in order of arrival, and `beginDate` and `endDate` are about
    their arrival, or with `dates=timestamp` about their timestamps. Those of a device are sorted by
    timestamp, and the dates are about that; with a `groupId`, those that belong to this group. An
    interrupted Parquet file cannot be continued.
    """
    now = context.now
    selection = _record_selection(query, context.services.retention_days, now)
    if query.format == "parquet":
        return await _start_parquet(context, query.kind, selection)
    return await _start(context, _build_record_export(query, selection))


def _build_record_export(query: RecordExportQuery, selection: RecordSelection) -> Export:
    def build_step(found: ExportedRecords) -> Step:
        content = _encode_records(query.format, query.kind, found.rows)
        return Step(content, len(found.rows), found.position)

    def read(tx: Tx, actor: Actor, position: Any) -> Step | NeedsArchive[Step]:
        found = record_exports.read_step(tx, actor, selection, position)
        return convert_result(found, build_step)

    return Export(query.kind, query.format, _RECORD_COLUMNS[query.kind], read, ExportPosition)


async def _start_parquet(
    context: AsyncContext, kind: str, selection: RecordSelection
) -> StreamResponse:
    if not extras.is_installed("parquet"):
        raise invalid_field("format", f"{extras.explain_missing('parquet')}; use ndjson")
    work = partial(_read_records, context.actor, selection, None)
    first = await read_with_archive(context.database, work)
    return StreamResponse(
        _stream_parquet(context, kind, selection, first),
        "application/vnd.apache.parquet",
        ((b"content-disposition", f'attachment; filename="{kind}.parquet"'.encode()),),
    )


async def _stream_parquet(
    context: AsyncContext, kind: str, selection: RecordSelection, found: ExportedRecords
) -> AsyncGenerator[bytes, None]:
    file = await asyncio.to_thread(parquet.RecordFile, kind)
    while True:
        for chunk in _split(await asyncio.to_thread(file.add, found.rows)):
            yield chunk
        if found.position is None:
            break
        actor = await context.reauthenticate()
        work = partial(_read_records, actor, selection, found.position)
        found = await read_with_archive(context.database, work)
    for chunk in _split(await asyncio.to_thread(file.finish)):
        yield chunk


def _read_records(
    actor: Actor, selection: RecordSelection, position: ExportPosition | None, tx: Tx
) -> ExportedRecords | NeedsArchive[ExportedRecords]:
    return record_exports.read_step(tx, actor, selection, position)


def _split(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


def _record_selection(
    query: RecordExportQuery, retention_days: Mapping[str, int], now: Moment
) -> RecordSelection:
    if query.group_id is None and query.device_id is None:
        raise BadInput(
            field_errors=[
                FieldError("group_id", "is required, or else deviceId"),
                FieldError("device_id", "is required, or else groupId"),
            ]
        )
    if query.dates == "arrival" and query.device_id is not None:
        raise invalid_field("dates", "is timestamp for a device")
    begin, end = parse_period(query.begin_date, query.end_date)
    after = None if query.after is None else parse_record_id(query.after)
    if query.after is not None and after is None:
        raise invalid_field("after", "is no id of a record")
    oldest = records.oldest_kept(retention_days.get(query.kind, 0), now)
    return RecordSelection(
        query.kind,
        query.group_id,
        query.device_id,
        begin,
        end,
        oldest,
        after,
        query.subgroups,
        by_arrival=query.device_id is None and query.dates != "timestamp",
    )


def _encode_records(format_name: str, kind: str, rows: Sequence[tuple[int, str]]) -> bytes:
    if format_name == "ndjson":
        # The stored JSON, with the id in front of its first member.
        return "".join(f'{{"id":"rec_{seq:x}",{body[1:]}\n' for seq, body in rows).encode()
    number = KIND_NAMES.index(kind)
    return encode_csv(
        [format_record_id(seq), *format_cells(astuple(parse_record(number, body).record))]
        for seq, body in rows
    )


# --- devices ---

_DEVICE_COLUMNS = [each for each in _columns(Device, "deviceId") if each != "values"]


async def export_devices(context: AsyncContext, query: DeviceExportQuery) -> StreamResponse:
    """Export the devices of a group.

    With the filters of `GET /devices`, by group and in the order of their creation, or sorted by a
    current value. A CSV file of an export can be imported; each value in `values` has a column of
    its own there.
    """
    return await _start(context, _build_device_export(query))


def _build_device_export(query: DeviceExportQuery) -> Export:
    wanted, selected = build_device_filter(query), build_value_selection(query)
    group_id, subgroups = query.group_id, query.subgroups
    columns = [*_DEVICE_COLUMNS, *(f"values.{name}" for name in selected.columns)]
    if query.after is not None and selected.order is not None:
        raise invalid_field("after", "is not with order, which changes with every value")

    def read_by_value(tx: Tx, actor: Actor, position: Any) -> Step:
        request = PageRequest(STEP_ROWS_MAX, position)
        found = devices.search_devices(
            *(tx, actor, group_id, wanted, DeviceOrder(), request, selected), subgroups=subgroups
        )
        return show(tx, found.items, found.last_key)

    def show(tx: Tx, found: Sequence[DeviceValue], following: Any) -> Step:
        values = device_values.list_columns(tx, found, selected.columns)
        rows = [show_device(each, values.get(each.id)) for each in found]
        return Step(encode_rows(query.format, columns, rows), len(rows), following)

    def read(tx: Tx, actor: Actor, position: Any) -> Step:
        if position is None and query.after is not None:
            position = devices.find_place(tx, actor, group_id, query.after, subgroups=subgroups)
            if position is None:
                raise invalid_field("after", "is no device of these groups; start without it")
        found, following = devices.list_matching(
            *(tx, actor, group_id, wanted, position, STEP_ROWS_MAX, selected), subgroups=subgroups
        )
        return show(tx, found, following)

    return Export(
        "devices", query.format, columns, read if selected.order is None else read_by_value
    )


# --- messages of connectors ---

_MESSAGE_COLUMNS = _columns(ConnectorEvent, "id")


async def export_messages(context: AsyncContext, query: MessageExportQuery) -> StreamResponse:
    """Export the messages of a group's connectors.

    Connector by connector, in the order in which their records arrived; `beginDate` and `endDate`
    are about that arrival.
    """
    return await _start(context, _build_message_export(query))


def _build_message_export(query: MessageExportQuery) -> Export:
    begin, end = parse_period(query.begin_date, query.end_date)
    first = 0 if begin is None else first_seq(begin)
    until = ALL_TIME[1] if end is None else first_seq(end)
    after = None if query.after is None else parse_delivery_id(query.after)
    if query.after is not None and after is None:
        raise invalid_field("after", "is no id of a message")

    def read(tx: Tx, actor: Actor, position: Any) -> Step:
        found, following = deliveries.list_created(
            tx,
            actor,
            query.group_id,
            query.connector_id,
            position or after,
            first,
            until,
            STEP_ROWS_MAX,
        )
        rows = [show_event(event, connector_id=connector_id) for connector_id, event in found]
        return Step(encode_rows(query.format, _MESSAGE_COLUMNS, rows), len(rows), following)

    return Export("messages", query.format, _MESSAGE_COLUMNS, read)


# --- audit log ---

_AUDIT_COLUMNS = _columns(AuditEntry, "id")


async def export_audit(context: AsyncContext, query: AuditExportQuery) -> StreamResponse:
    """Export the audit log of a group.

    With the filters of its list, newest first.
    """
    return await _start(context, _build_audit_export(query))


def _build_audit_export(query: AuditExportQuery) -> Export:
    begin, end = parse_period(query.begin_date, query.end_date)
    wanted = AuditFilter(
        query.group_id,
        query.subgroups,
        query.object_id,
        query.actor_id,
        query.action,
        begin,
        end,
        query.request_id,
    )

    def read(tx: Tx, actor: Actor, position: Any) -> Step:
        if position is None and query.after is not None:
            is_id = query.after.isdecimal() and len(query.after) < 19
            position = audit.find_key(tx, actor, wanted, int(query.after)) if is_id else None
            if position is None:
                raise invalid_field("after", "is no entry of the audit log; start without it")
        page = audit.list_page(tx, actor, wanted, PageRequest(STEP_ROWS_MAX, position))
        rows = [show_entry(each) for each in page.items]
        return Step(encode_rows(query.format, _AUDIT_COLUMNS, rows), len(rows), page.last_key)

    return Export("audit", query.format, _AUDIT_COLUMNS, read)


# --- jobs ---

ExportQuery = RecordExportQuery | DeviceExportQuery | MessageExportQuery | AuditExportQuery
_QUERIES: Mapping[str, type[ExportQuery]] = {
    "records": RecordExportQuery,
    "devices": DeviceExportQuery,
    "messages": MessageExportQuery,
    "audit": AuditExportQuery,
}


def decode_export_query(task: ExportTask) -> ExportQuery:
    return msgspec.json.decode(task.query, type=_QUERIES[task.content])


def build_export(query: ExportQuery, retention_days: Mapping[str, int], now: Moment) -> Export:
    match query:
        case RecordExportQuery():
            selection = _record_selection(query, retention_days, now)
            return _build_record_export(query, selection)
        case DeviceExportQuery():
            return _build_device_export(query)
        case MessageExportQuery():
            return _build_message_export(query)
        case AuditExportQuery():
            return _build_audit_export(query)


def read_rows(
    retention_days: Mapping[str, int], tx: Tx, actor: Actor, task: ExportTask, cursor: str
) -> ExportedRows | NeedsArchive[ExportedRows]:
    """Some rows of an export that is a job, with the header before the first ones."""
    export = build_export(decode_export_query(task), retention_days, tx.now)
    position = msgspec.json.decode(cursor, type=export.position_type | None)

    def build_rows(step: Step) -> ExportedRows:
        content = step.content if position is not None else export.header + step.content
        following = None if step.position is None else msgspec.json.encode(step.position).decode()
        return ExportedRows(content, step.count, following)

    return convert_result(export.read(tx, actor, position), build_rows)


_TEXT = {"schema": {"type": "string"}}
_TEXTS: Mapping[str, Any] = {"text/csv": _TEXT, "application/x-ndjson": _TEXT}
STREAM = Stream(PER_CALLER_MAX, OPEN_MAX, _TEXTS)

_route = partial(
    Route, "GET", is_addition=True, may_lag=True, object_rule="in the group", stream=STREAM
)


ROUTES = [
    _route(
        "/records/export",
        export_records,
        "record.read",
        object_rule="in groupId, or in the groups the device was in when the records were stored",
        tag="Records",
        stream=replace(STREAM, content={**_TEXTS, "application/vnd.apache.parquet": _TEXT}),
    ),
    _route("/devices/export", export_devices, "device.read", tag="Devices"),
    _route(
        "/connector/messages/export",
        export_messages,
        "connector.read",
        tag="Connectors",
        not_found_is_bad_request=True,
    ),
    _route("/group/audit/export", export_audit, "audit.read", tag="Audit log"),
]
