"""Records and series as Parquet files, written in row groups; needs the optional pyarrow."""

import io
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import repeat
from typing import Any

import msgspec

from longwire import extras
from longwire.errors import invalid_field
from longwire.ids import format_record_id
from longwire.measurements.definitions import Measurement
from longwire.measurements.extraction import MeasuredValue
from longwire.records import KIND_NAMES, RECORD_TYPES, parse_record, to_members

# A row group is written when it has so many records, or characters of JSON.
ROW_GROUP_RECORDS = 20_000
ROW_GROUP_CHARACTERS = 16 * 1024 * 1024
MEDIA_TYPE = "application/vnd.apache.parquet"


def require_installed() -> None:
    if not extras.is_installed("parquet"):
        raise invalid_field("format", f"{extras.explain_missing('parquet')}; use ndjson")


def encode_rows(
    rows: Iterable[msgspec.Struct], kind: type[msgspec.Struct], columns: Sequence[str]
) -> bytes:
    """Rows of an answer as a file; the columns are names of attributes."""
    arrow: Any = extras.load("parquet", "pyarrow")
    parquet: Any = extras.load("parquet", "pyarrow.parquet")
    fields = {each.name: each for each in msgspec.structs.fields(kind)}
    names = {name: fields[name].encode_name for name in columns}
    schema = arrow.schema(
        [(names[each], _column_type(arrow, each, fields[each].type)) for each in columns]
    )
    texts = [each.name for each in schema if each.type == arrow.string()]
    members = []
    for row in rows:
        values: dict[str, Any] = {names[each]: getattr(row, each) for each in columns}
        for name in texts:
            if values[name] is not None and not isinstance(values[name], str):
                values[name] = msgspec.json.encode(values[name]).decode()
        values["timestamp"] = _parse_timestamp(values["timestamp"])
        members.append(values)
    file = io.BytesIO()
    table = arrow.Table.from_pylist(members, schema=schema)
    parquet.write_table(table, file, compression="zstd", row_group_size=ROW_GROUP_RECORDS)
    return file.getvalue()


class RecordFile:
    """A Parquet file of one kind of records, taken in pieces while it is written."""

    def __init__(self, kind: str, columns: Mapping[str, Measurement | None]) -> None:
        """`columns` are the measurements whose values are added, as far as they are known."""
        # Only now: it takes memory and a third of a second, and few need it.
        self._arrow: Any = extras.load("parquet", "pyarrow")
        parquet: Any = extras.load("parquet", "pyarrow.parquet")
        self._kind = KIND_NAMES.index(kind)
        self._texts = {
            name: each is not None and each.value_class == "state" for name, each in columns.items()
        }
        fields = _list_fields(self._arrow, kind)
        fields += [self._build_column(name, each) for name, each in columns.items()]
        self._schema = self._arrow.schema(fields)
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(self._sink, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def _build_column(self, name: str, measurement: Measurement | None) -> Any:
        kind = self._arrow.string() if self._texts[name] else self._arrow.float64()
        unit = measurement.unit if measurement is not None else None
        metadata = None if unit is None else {"unit": unit}
        return self._arrow.field(f"values.{name}", kind, metadata=metadata)

    def add(
        self, records: Sequence[tuple[int, str]], values: Sequence[Mapping[str, MeasuredValue]]
    ) -> bytes:
        """Add records with their values; what is to be sent now, which may be nothing."""
        for (seq, body), own in zip(records, values or repeat({}), strict=False):
            members = to_members(parse_record(self._kind, body).record)
            members["id"] = format_record_id(seq)
            members["timestamp"] = _parse_timestamp(members["timestamp"])
            for name, value in own.items():
                members[f"values.{name}"] = _show_word(value) if self._texts[name] else value.number
            self._rows.append(members)
            self._characters += len(body)
            if len(self._rows) >= ROW_GROUP_RECORDS or self._characters >= ROW_GROUP_CHARACTERS:
                self._write_row_group()
        return self._sink.take()

    def finish(self) -> bytes:
        """The rest of the file, with its footer."""
        if self._rows:
            self._write_row_group()
        self._writer.close()
        return self._sink.take()

    def _write_row_group(self) -> None:
        table = self._arrow.Table.from_pylist(self._rows, schema=self._schema)
        self._rows, self._characters = [], 0
        self._writer.write_table(table)


def _show_word(value: MeasuredValue) -> str:
    """A word as it is, and a number or a boolean as in JSON."""
    if value.text is None:
        return f"{value.number:g}"
    word: Any = msgspec.json.decode(value.text)
    return word if isinstance(word, str) else value.text


class _Sink:
    """A file that keeps what is written until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._written = bytearray()
        self._position = 0

    def write(self, data: Any) -> int:
        self._written += data
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


def _list_fields(arrow: Any, kind: str) -> list[Any]:
    fields = [arrow.field("id", arrow.string())]
    for each in msgspec.structs.fields(RECORD_TYPES[kind]):
        fields.append(
            arrow.field(each.encode_name, _column_type(arrow, each.encode_name, each.type))
        )
    return fields


def _column_type(arrow: Any, name: str, annotated: Any) -> Any:
    options = set(_list_types(annotated))
    if name == "timestamp":
        return arrow.timestamp("us", tz="UTC")
    if str in options:  # perhaps beside numbers, which are texts then
        return arrow.string()
    if float in options:
        return arrow.float64()
    if int in options:
        return arrow.int64()
    if bool in options:
        return arrow.bool_()
    return arrow.list_(arrow.string()) if list[str] in options else arrow.string()


def _list_types(annotated: Any) -> Iterator[Any]:
    """The types of a union, without what they are annotated with."""
    if typing.get_origin(annotated) is typing.Annotated:
        yield from _list_types(typing.get_args(annotated)[0])
    elif typing.get_origin(annotated) in (typing.Union, types.UnionType):
        for each in typing.get_args(annotated):
            yield from _list_types(each)
    else:
        yield annotated


def _parse_timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
