"""One file of the archive: records sorted by their key, in small row groups, with an index.

The index is part of the metadata of a file: the first key of each row group. So the records of one
device are found by reading the end of the file and one row group, or a few.
"""

import hashlib
import io
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from longwire import extras
from longwire.blobs import BlobError, BlobStore
from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.store.archive.archive_walk import WalkedRecord

ROW_GROUP_RECORDS = 1_000
ROW_GROUP_CHARACTERS = 512 * 1024
FILE_RECORDS = 200_000
FILE_CHARACTERS = 64 * 1024 * 1024
FILE_BYTES_MAX = 256 * 1024 * 1024
INDEX = b"longwire.index"
# What the library raises besides its own errors for a file that something else has changed; text
# that is no UTF-8 is a ValueError, and so is JSON that is none.
_DAMAGED = (KeyError, TypeError, ValueError, OSError)

FirstKey = tuple[int, int, Moment]  # device, stay and timestamp


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file that was written."""

    content: bytes
    records: int
    first_device: int
    last_device: int
    digest_of_records: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def digest_records(records: Iterable[WalkedRecord], digest: Any) -> None:
    for device, stay, ts, key, seq, body in records:
        head = f"{device} {stay} {ts} {key.hex()} {seq} {len(body)} "
        digest.update(head.encode())
        digest.update(body.encode())


class FileWriter:
    """Writes one file into memory; its records come in the order of their keys."""

    def __init__(self) -> None:
        self._arrow: Any = extras.load("parquet", "pyarrow")
        parquet: Any = extras.load("parquet", "pyarrow.parquet")
        self._schema = build_schema(self._arrow)
        self._out = io.BytesIO()
        self._writer: Any = parquet.ParquetWriter(
            self._out,
            self._schema,
            compression="zstd",
            write_page_checksum=True,
            write_statistics=["device_number", "stay", "ts", "seq"],
            store_schema=False,
        )
        self._waiting: list[WalkedRecord] = []
        self._waiting_characters = 0
        self._index: list[FirstKey] = []
        self._digest = hashlib.sha256()
        self._first_device = self._last_device = 0
        self.records = 0
        self._characters = 0

    @property
    def is_full(self) -> bool:
        return self.records >= FILE_RECORDS or self._characters >= FILE_CHARACTERS

    def add(self, records: Iterable[WalkedRecord]) -> None:
        for record in records:
            if not self.records:
                self._first_device = record[0]
            self._last_device = record[0]
            self.records += 1
            self._characters += len(record[5])
            self._waiting.append(record)
            self._waiting_characters += len(record[5])
            if (
                len(self._waiting) >= ROW_GROUP_RECORDS
                or self._waiting_characters >= ROW_GROUP_CHARACTERS
            ):
                self._write_row_group()

    def finish(self) -> FileContent:
        if self._waiting:
            self._write_row_group()
        self._writer.add_key_value_metadata({INDEX: msgspec.json.encode(self._index)})
        self._writer.close()
        return FileContent(
            self._out.getvalue(),
            self.records,
            self._first_device,
            self._last_device,
            self._digest.hexdigest(),
        )

    def _write_row_group(self) -> None:
        rows, self._waiting, self._waiting_characters = self._waiting, [], 0
        digest_records(rows, self._digest)
        self._index.append(rows[0][:3])
        columns = [list(column) for column in zip(*rows, strict=True)]
        table = self._arrow.Table.from_arrays(
            [
                self._arrow.array(column, type=field.type)
                for column, field in zip(columns, self._schema, strict=True)
            ],
            schema=self._schema,
        )
        self._writer.write_table(table, row_group_size=len(rows))


def build_schema(arrow: Any) -> Any:
    return arrow.schema(
        [
            ("device_number", arrow.int64()),
            ("stay", arrow.int32()),
            ("ts", arrow.timestamp("us", tz="UTC")),
            ("digest", arrow.binary()),
            ("seq", arrow.int64()),
            ("body", arrow.string()),
        ]
    )


class ParquetFile:
    """A file that is read, piece by piece."""

    def __init__(self, source: Any) -> None:
        self._arrow: Any = extras.load("parquet", "pyarrow")
        parquet: Any = extras.load("parquet", "pyarrow.parquet")
        self._lock = threading.Lock()  # its source has one position
        try:
            self._file = parquet.ParquetFile(source, page_checksum_verification=True)
            metadata = self._file.metadata
            self.index = msgspec.json.decode(metadata.metadata[INDEX], type=list[FirstKey])
        except (*_DAMAGED, self._arrow.ArrowException) as error:
            raise BlobError(f"This is no file of an archive, or it is damaged: {error}") from None
        self.records: int = metadata.num_rows
        if len(self.index) != metadata.num_row_groups:
            raise BlobError("A file of the archive is damaged: its index does not fit.")

    def read_row_group(self, number: int) -> list[WalkedRecord]:
        try:
            with self._lock:
                table = self._file.read_row_group(number, use_threads=False)
            if any(column.null_count for column in table.columns):
                raise BlobError("A file of the archive is damaged: a value is missing.")
            moments = table.column("ts").cast(self._arrow.int64()).to_pylist()
            names = ("device_number", "stay", "digest", "seq", "body")
            devices, stays, digests, seqs, bodies = (table.column(n).to_pylist() for n in names)
        except (*_DAMAGED, self._arrow.ArrowException) as error:
            raise BlobError(f"A file of the archive is damaged: {error}") from None
        return list(zip(devices, stays, moments, digests, seqs, bodies, strict=True))

    def iterate(self) -> Iterator[list[WalkedRecord]]:
        """All records, a row group at a time."""
        return (self.read_row_group(number) for number in range(len(self.index)))


def find_row_groups(
    index: list[FirstKey], device: int, stay: int, begin: Moment, end: Moment
) -> range:
    """Those that may have records of a stay in a period."""
    first = max(0, bisect_right(index, (device, stay, begin)) - 1)
    # A row group that begins with the same timestamp may follow one that has it, too.
    while first > 0 and index[first] >= (device, stay, begin):
        first -= 1
    return range(first, bisect_left(index, (device, stay, end)))


class BlobFile(io.RawIOBase):
    """A blob as a file that can be read anywhere; each read is a request to its store."""

    def __init__(self, store: BlobStore, name: str) -> None:
        super().__init__()
        self._store = store
        self._name = name
        self._size = store.get_size(name)
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def size(self) -> int:
        return self._size

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._size - self._position)
        count = left if size < 0 else min(size, left)
        if not count:
            return b""
        found = self._store.get_range(self._name, self._position, count)
        self._position += len(found)
        return found
