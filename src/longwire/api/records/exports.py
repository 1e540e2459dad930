"""Operations that export what their lists show: records, devices, messages, the audit log."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire.api.delivery.connectors import ConnectorEvent, show_event
from longwire.api.delivery.deliveries import ConnectorId
from longwire.api.fleet.device_shapes import (
    Device,
    DeviceSelectionFields,
    build_device_filter,
    build_value_selection,
    show_device,
)
from longwire.api.identity.audit import AuditEntry, show_entry
from longwire.api.records import parquet
from longwire.api.records.csv_cells import encode_rows
from longwire.api.records.export_streams import (
    OPEN_MAX,
    PER_CALLER_MAX,
    After,
    Export,
    Format,
    Step,
    list_columns,
    start_export,
)
from longwire.api.records.record_exports import (
    RecordExportQuery,
    build_record_export,
    export_records,
)
from longwire.api.services import AsyncContext
from longwire.api.types import GroupId, parse_period
from longwire.delivery.connectors import deliveries
from longwire.errors import invalid_field
from longwire.fleet import device_values, devices
from longwire.identity import audit
from longwire.ids import parse_delivery_id
from longwire.jobs.exporting import ExportedRows
from longwire.jobs.kinds import ExportTask
from longwire.model import Actor, DeviceOrder, PageRequest
from longwire.model import Device as DeviceValue
from longwire.store.archive.archive_reads import (
    NeedsArchive,
    convert_result,
)
from longwire.store.database import Tx
from longwire.store.identity.audit import AuditFilter
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.records.records import ALL_TIME
from longwire.web.fields import DateQuery, Id, Query
from longwire.web.routing import Route, Stream, StreamResponse

# At once, of each kind of export.

STEP_ROWS_MAX = 500  # of devices, messages and entries of the audit log


class DeviceExportQuery(Query, DeviceSelectionFields):
    """Which devices, and in which format."""

    format: Format = "ndjson"
    after: After | None = None


class MessageExportQuery(Query, kw_only=True):
    """Which messages of connectors, and in which format."""

    group_id: GroupId
    subgroups: Annotated[bool, Meta(description="Include the groups below.")] = False
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


# --- devices ---

_DEVICE_COLUMNS = [each for each in list_columns(Device, "deviceId") if each != "values"]


async def export_devices(context: AsyncContext, query: DeviceExportQuery) -> StreamResponse:
    """Export the devices of a group.

    With the filters of `GET /devices`, by group and in the order of their creation, or sorted by a
    current value. A CSV file of an export can be imported; each value in `values` has a column of
    its own there.
    """
    return await start_export(context, _build_device_export(query))


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

_MESSAGE_COLUMNS = list_columns(ConnectorEvent, "id")


async def export_messages(context: AsyncContext, query: MessageExportQuery) -> StreamResponse:
    """Export the messages of a group's connectors.

    Connector by connector, in the order in which their records arrived; `beginDate` and `endDate`
    are about that arrival.
    """
    return await start_export(context, _build_message_export(query))


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
            subgroups=query.subgroups,
        )
        rows = [show_event(event, connector_id=connector_id) for connector_id, event in found]
        return Step(encode_rows(query.format, _MESSAGE_COLUMNS, rows), len(rows), following)

    return Export("messages", query.format, _MESSAGE_COLUMNS, read)


# --- audit log ---

_AUDIT_COLUMNS = list_columns(AuditEntry, "id")


async def export_audit(context: AsyncContext, query: AuditExportQuery) -> StreamResponse:
    """Export the audit log of a group.

    With the filters of its list, newest first.
    """
    return await start_export(context, _build_audit_export(query))


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


def build_export(query: ExportQuery) -> Export:
    match query:
        case RecordExportQuery():
            return build_record_export(query)
        case DeviceExportQuery():
            return _build_device_export(query)
        case MessageExportQuery():
            return _build_message_export(query)
        case AuditExportQuery():
            return _build_audit_export(query)


def read_rows(
    tx: Tx, actor: Actor, task: ExportTask, cursor: str
) -> ExportedRows | NeedsArchive[ExportedRows]:
    """Some rows of an export that is a job, with the header before the first ones."""
    export = build_export(decode_export_query(task))
    position = msgspec.json.decode(cursor, type=export.position_type | None)

    def build_rows(step: Step) -> ExportedRows:
        content = step.content if position is not None else export.header + step.content
        following = None if step.position is None else msgspec.json.encode(step.position).decode()
        return ExportedRows(content, step.count, following)

    return convert_result(export.read(tx, actor, position), build_rows)


STREAM = Stream(PER_CALLER_MAX, OPEN_MAX, ("text/csv", "application/x-ndjson"))

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
        stream=replace(STREAM, media_types=(*STREAM.media_types, parquet.MEDIA_TYPE)),
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
