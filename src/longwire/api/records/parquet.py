"""Records as a Parquet file, written a row group at a time; needs the optional pyarrow."""

import typing
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from longwire import extras
from longwire.ids import format_record_id
from longwire.records import KIND_NAMES, RECORD_TYPES, parse_record, to_members

# A row group is written when it has so many records, or characters of JSON.
ROW_GROUP_RECORDS = 20_000
ROW_GROUP_CHARACTERS = 16 * 1024 * 1024


class RecordFile:
    """A Parquet file of one kind of records, taken in pieces while it is written."""

    def __init__(self, kind: str) -> None:
        # Only now: it takes memory and a third of a second, and few need it.
        self._arrow: Any = extras.load("parquet", "pyarrow")
        parquet: Any = extras.load("parquet", "pyarrow.parquet")
        self._kind = KIND_NAMES.index(kind)
        self._schema = self._arrow.schema(_list_fields(self._arrow, kind))
        self._sink = _Sink()
        self._writer = parquet.ParquetWriter(self._sink, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def add(self, records: Sequence[tuple[int, str]]) -> bytes:
        """Add records; what is to be sent now, which may be nothing."""
        for seq, body in records:
            members = to_members(parse_record(self._kind, body).record)
            members["id"] = format_record_id(seq)
            members["timestamp"] = _parse_timestamp(members["timestamp"])
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
    options = typing.get_args(annotated) or (annotated,)
    if name == "timestamp":
        return arrow.timestamp("us", tz="UTC")
    if float in options:
        return arrow.float64()
    if int in options:
        return arrow.int64()
    return arrow.list_(arrow.string()) if list[str] in options else arrow.string()


def _parse_timestamp(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
