"""The operation that exports records: as CSV or NDJSON, with values as columns, or as Parquet."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import repeat
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import astuple

from longwire.api.fleet.device_shapes import (
    RecordValueNames,
)
from longwire.api.fleet.measurement_shapes import build_value
from longwire.api.records import parquet
from longwire.api.records.csv_cells import encode_csv, format_cells
from longwire.api.records.export_streams import (
    CHUNK_BYTES,
    After,
    Export,
    Step,
    start_export,
)
from longwire.api.records.record_fields import (
    FieldSelection,
    RecordFields,
    parse_fields,
    parse_names,
)
from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, GroupId, parse_period
from longwire.dataclass import dataclass
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import device_values, record_exports, record_values
from longwire.fleet.record_exports import ExportedRecords, ExportPosition, RecordSelection
from longwire.fleet.record_values import RecordValues
from longwire.ids import format_record_id, parse_record_id
from longwire.measurements.definitions import Measurement
from longwire.model import Actor
from longwire.records import KIND_NAMES, RECORD_TYPES, parse_record
from longwire.store.archive.archive_reads import (
    NeedsArchive,
    convert_result_in,
    read_with_archive,
)
from longwire.store.database import Tx
from longwire.web.fields import DateQuery, Query
from longwire.web.routing import StreamResponse

# At once, of each kind of export.


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
    values: RecordValueNames | None = None
    fields: RecordFields | None = None
    after: After | None = None


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
    if query.format == "parquet":
        if query.fields is not None:
            raise invalid_field("fields", "is for CSV and NDJSON; a Parquet file has all columns")
        selection = _record_selection(query)
        return await _start_parquet(context, query, selection)
    return await start_export(context, build_record_export(query))


def build_record_export(query: RecordExportQuery) -> Export:
    selection = _record_selection(query)
    names = _parse_value_names(query)
    chosen = parse_names(query.fields, [query.kind])
    record_columns = _RECORD_COLUMNS[query.kind] if chosen is None else ["id", *chosen]
    fields = parse_fields(query.fields, [query.kind]).get(query.kind)
    columns: list[str] | None = None if names else record_columns

    def build_step(tx: Tx, found: ExportedRecords) -> Step:
        values = _list_values(tx, query.kind, names, found.rows) if names else None
        if query.format == "ndjson":
            content = _encode_json_lines(found.rows, fields, values)
        else:
            content = _encode_csv_lines(query.kind, found.rows, record_columns[1:], names, values)
        return Step(content, len(found.rows), found.position)

    def build_first(tx: Tx, found: ExportedRecords) -> Step:
        """With the header, which says what the units are now."""
        step = build_step(tx, found)
        described = _describe_names(tx, query, names, found)
        shown = [*record_columns, *_name_columns(described)]
        return replace(step, content=encode_csv([shown]) + step.content)

    def read(tx: Tx, actor: Actor, position: Any) -> Step | NeedsArchive[Step]:
        found = record_exports.read_step(tx, actor, selection, position)
        is_first = position is None and columns is None and query.format == "csv"
        return convert_result_in(tx, found, build_first if is_first else build_step)

    return Export(query.kind, query.format, columns, read, ExportPosition)


def _parse_value_names(query: RecordExportQuery) -> Sequence[str]:
    return device_values.parse_selection(query.values, (), None, descending=False).columns


def _list_values(
    tx: Tx, kind: str, names: Sequence[str], rows: Sequence[tuple[int, str]]
) -> list[RecordValues]:
    number = KIND_NAMES.index(kind)
    records = [parse_record(number, body).record for _, body in rows]
    return record_values.list_record_values(tx, number, records, names)


def _describe_names(
    tx: Tx, query: RecordExportQuery, names: Sequence[str], found: ExportedRecords
) -> Mapping[str, Measurement | None]:
    """What is declared of them in the group, or in that of a device's first record."""
    group_id = query.group_id
    if group_id is None and found.rows:
        _, body = found.rows[0]
        group_id = parse_record(KIND_NAMES.index(query.kind), body).record.group_id
    return record_values.describe_names(tx, group_id, names)


def _name_columns(described: Mapping[str, Measurement | None]) -> Iterator[str]:
    """The names of the columns with values, with their units."""
    for name, each in described.items():
        unit = None if each is None else each.unit
        yield f"values.{name}" if unit is None else f"values.{name} ({unit})"


@dataclass(frozen=True, slots=True)
class _ParquetStep:
    """Some records, and the values of each."""

    rows: Sequence[tuple[int, str]]
    values: Sequence[RecordValues]
    columns: Mapping[str, Measurement | None]
    position: ExportPosition | None


async def _start_parquet(
    context: AsyncContext, query: RecordExportQuery, selection: RecordSelection
) -> StreamResponse:
    parquet.require_installed()
    read = partial(_read_parquet, query, _parse_value_names(query), selection)
    first = await read_with_archive(context.database, partial(read, context.actor, None))
    return StreamResponse(
        _stream_parquet(context, query.kind, read, first),
        parquet.MEDIA_TYPE,
        ((b"content-disposition", f'attachment; filename="{query.kind}.parquet"'.encode()),),
    )


async def _stream_parquet(
    context: AsyncContext,
    kind: str,
    read: Callable[[Actor, ExportPosition | None, Tx], _ParquetStep | NeedsArchive[_ParquetStep]],
    found: _ParquetStep,
) -> AsyncGenerator[bytes, None]:
    file = await asyncio.to_thread(parquet.RecordFile, kind, found.columns)
    while True:
        for chunk in _split(await asyncio.to_thread(file.add, found.rows, found.values)):
            yield chunk
        if found.position is None:
            break
        actor = await context.reauthenticate()
        found = await read_with_archive(context.database, partial(read, actor, found.position))
    for chunk in _split(await asyncio.to_thread(file.finish)):
        yield chunk


def _read_parquet(
    query: RecordExportQuery,
    names: Sequence[str],
    selection: RecordSelection,
    actor: Actor,
    position: ExportPosition | None,
    tx: Tx,
) -> _ParquetStep | NeedsArchive[_ParquetStep]:
    def build_step(tx: Tx, found: ExportedRecords) -> _ParquetStep:
        values = _list_values(tx, query.kind, names, found.rows) if names else ()
        columns = _describe_names(tx, query, names, found) if names else {}
        return _ParquetStep(found.rows, values, columns, found.position)

    found = record_exports.read_step(tx, actor, selection, position)
    return convert_result_in(tx, found, build_step)


def _split(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


def _record_selection(query: RecordExportQuery) -> RecordSelection:
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
    return RecordSelection(
        query.kind,
        query.group_id,
        query.device_id,
        begin,
        end,
        after,
        query.subgroups,
        by_arrival=query.device_id is None and query.dates != "timestamp",
    )


def _encode_json_lines(
    rows: Sequence[tuple[int, str]],
    fields: FieldSelection | None,
    values: Sequence[RecordValues] | None,
) -> bytes:
    """The stored JSON, with the id in front of its first member, and the values behind."""
    ends = (
        f',"values":{msgspec.json.encode(_show_values(each)).decode()}}}\n' for each in values or ()
    )
    bodies = rows if fields is None else [(seq, fields.select(body)) for seq, body in rows]
    pairs = zip(bodies, repeat("}\n") if values is None else ends, strict=False)
    return "".join(f'{{"id":"rec_{seq:x}",{body[1:-1]}{end}' for (seq, body), end in pairs).encode()


def _encode_csv_lines(
    kind: str,
    rows: Sequence[tuple[int, str]],
    columns: Sequence[str],
    names: Sequence[str],
    values: Sequence[RecordValues] | None,
) -> bytes:
    number = KIND_NAMES.index(kind)
    places = [_RECORD_COLUMNS[kind].index(name) - 1 for name in columns]
    shown = (_show_values(each) for each in values or ())
    own_cells = ([each.get(name) for name in names] for each in shown)

    def select_cells(body: str) -> list[Any]:
        record = astuple(parse_record(number, body).record)
        return [record[place] for place in places]

    return encode_csv(
        [format_record_id(seq), *format_cells((*select_cells(body), *own))]
        for (seq, body), own in zip(rows, own_cells if names else repeat(()), strict=False)
    )


def _show_values(values: RecordValues) -> dict[str, float | str | bool | None]:
    return {name: build_value(each.number, each.text) for name, each in values.items()}
