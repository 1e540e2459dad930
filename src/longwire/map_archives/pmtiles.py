"""PMTiles, version 3: a header, directories and tiles in one file, read by offset and length.

Only what the console can draw is accepted: vector tiles, not compressed or with gzip.
"""

import gzip
import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from longwire.errors import OperatorError

HEADER_BYTES = 127
# The root directory is within the first part of a file, so that readers get both at once.
ROOT_END_MAX = 16_384
ENTRIES_PER_LEAF = 4_096
# Directories and metadata of a map of the whole planet are below this.
UNPACKED_BYTES_MAX = 32 * 1024 * 1024
ZOOM_MAX = 20

NOT_COMPRESSED, GZIP = 1, 2
_VECTOR = 1
_TILE_TYPES = ("unknown", "vector", "PNG", "JPEG", "WebP", "AVIF")
_COMPRESSIONS = ("unknown", "none", "gzip", "brotli", "zstd")
_HEADER = struct.Struct("<7sB11Q6B4iB2i")
_MAGIC = b"PMTiles"
# Layers that the console draws: of the schemas of Protomaps and OpenMapTiles.
_PROTOMAPS = {"earth", "water", "landuse", "natural", "roads", "buildings", "boundaries", "places"}
_OPENMAPTILES = {"landcover", "waterway", "transportation", "building", "boundary", "place"}
DRAWN_LAYERS = _PROTOMAPS | _OPENMAPTILES


class MapError(OperatorError):
    """A file that cannot be the map."""


class MapSource(Protocol):
    """Where an archive is read from."""

    @property
    def size(self) -> int: ...

    def read(self, offset: int, length: int) -> bytes:
        """So many bytes; raises MapError where they are not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    root_offset: int
    root_length: int
    metadata_offset: int
    metadata_length: int
    leaves_offset: int
    leaves_length: int
    tiles_offset: int
    tiles_length: int
    addressed_tiles: int
    entries: int
    contents: int
    clustered: int
    internal_compression: int
    tile_compression: int
    tile_type: int
    zoom_min: int
    zoom_max: int
    west_e7: int
    south_e7: int
    east_e7: int
    north_e7: int
    center_zoom: int
    center_lng_e7: int
    center_lat_e7: int

    def pack(self) -> bytes:
        return _HEADER.pack(_MAGIC, 3, *(getattr(self, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class Entry:
    """Tiles with the same content, in a row; without a run, a leaf with further entries."""

    tile_id: int
    offset: int
    length: int
    run: int


def parse_header(source: MapSource) -> Header:
    """Read the header, and refuse what is no map that the console can draw."""
    if source.size < HEADER_BYTES:
        raise MapError("This is no PMTiles file: it is too short.")
    magic, version, *values = _HEADER.unpack(source.read(0, HEADER_BYTES))
    if magic != _MAGIC:
        raise MapError("This is no PMTiles file: it does not begin as one.")
    if version != 3:
        raise MapError(f"This is a PMTiles file of version {version}; version 3 is needed.")
    header = Header(**dict(zip(Header.__slots__, values, strict=True)))
    _require_drawable(header)
    _require_whole(header, source.size)
    return header


def _require_drawable(header: Header) -> None:
    if header.tile_type != _VECTOR:
        kind = _name(_TILE_TYPES, header.tile_type)
        raise MapError(f"The map draws vector tiles; the tiles of this file are {kind}.")
    for compression in (header.internal_compression, header.tile_compression):
        if compression not in (NOT_COMPRESSED, GZIP):
            raise MapError(
                "Files with gzip or without compression can be read; the compression of this file"
                f" is {_name(_COMPRESSIONS, compression)}."
            )
    if not header.zoom_min <= header.zoom_max <= ZOOM_MAX:
        raise MapError(f"The zoom levels of this file are not within 0 and {ZOOM_MAX}.")


def _require_whole(header: Header, size: int) -> None:
    ends = (
        header.root_offset + header.root_length,
        header.metadata_offset + header.metadata_length,
        header.leaves_offset + header.leaves_length,
        header.tiles_offset + header.tiles_length,
    )
    if max(ends) > size:
        raise MapError(f"This file is cut off: it has {size:,} of {max(ends):,} bytes.")
    # These are read at once, the description by the service as well.
    if max(header.root_length, header.metadata_length) > UNPACKED_BYTES_MAX:
        raise MapError("This file is damaged: its directory or description is too large.")


def _name(names: Sequence[str], code: int) -> str:
    return names[code] if code < len(names) else "unknown"


def unpack(data: bytes, compression: int, what: str) -> bytes:
    if compression == NOT_COMPRESSED:
        return data
    reader = zlib.decompressobj(wbits=31)
    try:
        found = reader.decompress(data, UNPACKED_BYTES_MAX)
    except zlib.error as error:
        raise MapError(f"This file is damaged: {what} cannot be unpacked.") from error
    if not reader.eof:
        raise MapError(f"This file is damaged: {what} is cut off, or too large.")
    return found


def read_metadata(source: MapSource, header: Header) -> dict[str, Any]:
    data = source.read(header.metadata_offset, header.metadata_length)
    try:
        found = json.loads(unpack(data, header.internal_compression, "its description"))
    except (ValueError, RecursionError) as error:
        raise MapError("This file is damaged: its description is no JSON.") from error
    return found if isinstance(found, dict) else {}


def require_drawn_layers(metadata: dict[str, Any]) -> None:
    """Refuse a file whose layers the map knows nothing of; one that names none may have any."""
    layers = metadata.get("vector_layers")
    if not isinstance(layers, list) or not layers:
        return
    names = [str(each.get("id")) for each in layers if isinstance(each, dict)]
    if DRAWN_LAYERS.isdisjoint(names):
        raise MapError(
            f"The map draws none of the layers of this file ({', '.join(names[:8])}). Take a file"
            " with the layers of Protomaps or OpenMapTiles."
        )


# --- directories ---


def _read_varints(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            if shift >= 64:
                raise MapError("This file is damaged: a directory has a number that is too large.")
        else:
            yield value
            value = shift = 0


def parse_directory(data: bytes) -> list[Entry]:
    """Entries of a directory that was unpacked: columns of variable integers."""
    numbers = list(_read_varints(data))
    count = numbers[0] if numbers else 0
    if len(numbers) != 1 + 4 * count:
        raise MapError("This file is damaged: a directory is not whole.")
    steps, runs, lengths, offsets = (
        numbers[1 + column * count : 1 + (column + 1) * count] for column in range(4)
    )
    entries: list[Entry] = []
    tile_id = end = 0
    for step, run, length, offset in zip(steps, runs, lengths, offsets, strict=True):
        tile_id += step
        start = end if offset == 0 and entries else offset - 1
        if start < 0:
            raise MapError("This file is damaged: a directory names no place of a tile.")
        entries.append(Entry(tile_id, start, length, run))
        end = start + length
    return entries


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def pack_directory(entries: Sequence[Entry]) -> bytes:
    out = bytearray()
    _write_varint(out, len(entries))
    last = 0
    for each in entries:
        _write_varint(out, each.tile_id - last)
        last = each.tile_id
    for each in entries:
        _write_varint(out, each.run)
    for each in entries:
        _write_varint(out, each.length)
    end = -1
    for each in entries:
        _write_varint(out, 0 if each.offset == end else each.offset + 1)
        end = each.offset + each.length
    return gzip.compress(bytes(out), mtime=0)


def build_directories(entries: Sequence[Entry]) -> tuple[bytes, bytes]:
    """The root directory, and the leaves that it names where it would be too large without."""
    root = pack_directory(entries)
    size = ENTRIES_PER_LEAF
    leaves = b""
    while HEADER_BYTES + len(root) > ROOT_END_MAX:
        packed = [pack_directory(entries[at : at + size]) for at in range(0, len(entries), size)]
        leaves = b"".join(packed)
        named, offset = [], 0
        for at, leaf in zip(range(0, len(entries), size), packed, strict=True):
            named.append(Entry(entries[at].tile_id, offset, len(leaf), 0))
            offset += len(leaf)
        root = pack_directory(named)
        size *= 2
    return root, leaves


# --- tiles ---


def tile_id_of(zoom: int, x: int, y: int) -> int:
    """The number of a tile: along a Hilbert curve, zoom by zoom."""
    found = ((1 << (2 * zoom)) - 1) // 3
    step = (1 << zoom) >> 1
    while step:
        right, below = int(bool(x & step)), int(bool(y & step))
        found += step * step * ((3 * right) ^ below)
        if not below:
            if right:
                x, y = step - 1 - x, step - 1 - y
            x, y = y, x
        step >>= 1
    return found
