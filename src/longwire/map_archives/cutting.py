"""Takes the tiles of an area out of an archive, without reading the rest of it.

Of a map of the planet on a server, that is some megabytes out of a hundred gigabytes: the leaves
of the directory that name tiles of the area, then the tiles, in few large requests.
"""

import gzip
import itertools
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import asinh, floor, pi, radians, tan

from longwire.map_archives.pmtiles import (
    GZIP,
    HEADER_BYTES,
    Entry,
    Header,
    MapError,
    MapSource,
    build_directories,
    parse_directory,
    read_metadata,
    tile_id_of,
    unpack,
)

LATITUDE_MAX = 85.05
E7 = 10_000_000
# Of a province at street level; their numbers are held in memory.
TILES_MAX = 1_000_000
# Bytes between two tiles that are read rather than asked for apart, and the most of a request.
GAP_BYTES_MAX = 64 * 1024
REQUEST_BYTES_MAX = 16 * 1024 * 1024
_DEPTH_MAX = 3  # of directories

Write = Callable[[bytes], object]


@dataclass(frozen=True, slots=True)
class Box:
    """An area in degrees."""

    west: float
    south: float
    east: float
    north: float


def parse_box(text: str) -> Box:
    """`west,south,east,north`, as maps write it."""
    try:
        west, south, east, north = (float(each) for each in text.split(","))
    except ValueError:
        raise MapError(
            "An area is west,south,east,north in degrees, like 3.9,51.8,4.6,52.1."
        ) from None
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise MapError(
            "The area must have west before east, within -180 and 180, and south before north,"
            " within -90 and 90."
        )
    return Box(west, south, east, north)


def cut(source: MapSource, header: Header, box: Box, write: Write) -> Header:
    """Write an archive with the tiles of the area only; returns its header."""
    wanted = _list_tile_ids(box, header.zoom_min, header.zoom_max)
    entries = _select(_walk(source, header, wanted), wanted)
    if not entries:
        raise MapError("This file has no tiles in the area.")
    placed, pieces, length = _place(entries)
    root, leaves = build_directories(placed)
    metadata = gzip.compress(json.dumps(read_metadata(source, header)).encode(), mtime=0)
    written = _describe(header, box, len(root), len(metadata), len(leaves), length, placed)
    for part in (written.pack(), root, metadata, leaves):
        write(part)
    for begin, end, contents in pieces:
        data = source.read(header.tiles_offset + begin, end - begin)
        for offset, size in contents:
            write(data[offset - begin : offset - begin + size])
    return written


def _describe(
    header: Header,
    box: Box,
    root: int,
    metadata: int,
    leaves: int,
    tiles: int,
    entries: Sequence[Entry],
) -> Header:
    metadata_offset = HEADER_BYTES + root
    leaves_offset = metadata_offset + metadata
    return replace(
        header,
        root_offset=HEADER_BYTES,
        root_length=root,
        metadata_offset=metadata_offset,
        metadata_length=metadata,
        leaves_offset=leaves_offset,
        leaves_length=leaves,
        tiles_offset=leaves_offset + leaves,
        tiles_length=tiles,
        addressed_tiles=sum(each.run for each in entries),
        entries=len(entries),
        contents=len({each.offset for each in entries}),
        clustered=0,
        internal_compression=GZIP,
        west_e7=round(box.west * E7),
        south_e7=round(box.south * E7),
        east_e7=round(box.east * E7),
        north_e7=round(box.north * E7),
        center_zoom=min(max(header.zoom_min, 10), header.zoom_max),
        center_lng_e7=round((box.west + box.east) / 2 * E7),
        center_lat_e7=round((box.south + box.north) / 2 * E7),
    )


def _list_tile_ids(box: Box, zoom_min: int, zoom_max: int) -> list[int]:
    found: list[int] = []
    for zoom in range(zoom_min, zoom_max + 1):
        width = 1 << zoom
        columns = range(_column(box.west, width), _column(box.east, width) + 1)
        rows = range(_row(box.north, width), _row(box.south, width) + 1)
        if len(found) + len(columns) * len(rows) > TILES_MAX:
            raise MapError(
                f"The area has more than {TILES_MAX:,} tiles. Take a smaller one, or fewer zoom"
                " levels with --max-zoom."
            )
        found += [tile_id_of(zoom, x, y) for x in columns for y in rows]
    return sorted(found)


def _column(lng: float, width: int) -> int:
    return min(width - 1, floor((lng + 180) / 360 * width))


def _row(lat: float, width: int) -> int:
    angle = radians(max(-LATITUDE_MAX, min(LATITUDE_MAX, lat)))
    return max(0, min(width - 1, floor((1 - asinh(tan(angle)) / pi) / 2 * width)))


def _walk(source: MapSource, header: Header, wanted: Sequence[int]) -> Iterator[Entry]:
    """Entries of tiles, out of the directories that can name one of those that are wanted."""
    root = source.read(header.root_offset, header.root_length)
    yield from _walk_directory(source, header, root, wanted, _DEPTH_MAX)


def _walk_directory(
    source: MapSource, header: Header, packed: bytes, wanted: Sequence[int], depth: int
) -> Iterator[Entry]:
    if depth == 0:
        raise MapError("This file is damaged: its directories do not end.")
    entries = parse_directory(unpack(packed, header.internal_compression, "a directory"))
    for entry, after in itertools.zip_longest(entries, entries[1:]):
        if entry.run:
            yield entry
            continue
        end = after.tile_id if after else wanted[-1] + 1
        if bisect_left(wanted, entry.tile_id) < bisect_left(wanted, end):
            leaf = source.read(header.leaves_offset + entry.offset, entry.length)
            yield from _walk_directory(source, header, leaf, wanted, depth - 1)


def _select(entries: Iterator[Entry], wanted: Sequence[int]) -> list[Entry]:
    """The parts of entries that are wanted."""
    found: list[Entry] = []
    for entry in entries:
        begin = bisect_left(wanted, entry.tile_id)
        end = bisect_right(wanted, entry.tile_id + entry.run - 1)
        for _, row in itertools.groupby(
            enumerate(wanted[begin:end]), key=lambda numbered: numbered[1] - numbered[0]
        ):
            ids = [tile_id for _, tile_id in row]
            found.append(Entry(ids[0], entry.offset, entry.length, len(ids)))
            if len(found) > len(wanted):
                raise MapError("This file is damaged: its directories name a tile twice.")
    return sorted(found, key=lambda each: each.tile_id)


Piece = tuple[int, int, list[tuple[int, int]]]


def _place(entries: Sequence[Entry]) -> tuple[list[Entry], list[Piece], int]:
    """Where tiles will be, in the order in which they are; what is read at once; their length."""
    contents = sorted({(each.offset, each.length) for each in entries})
    places: dict[tuple[int, int], int] = {}
    pieces: list[Piece] = []
    length = 0
    for offset, size in contents:
        places[offset, size] = length
        length += size
        if pieces:
            begin, end, content = pieces[-1]
            is_near = offset - end <= GAP_BYTES_MAX and offset + size - begin <= REQUEST_BYTES_MAX
            if is_near:
                content.append((offset, size))
                pieces[-1] = (begin, max(end, offset + size), content)
                continue
        pieces.append((offset, offset + size, [(offset, size)]))
    placed = [replace(each, offset=places[each.offset, each.length]) for each in entries]
    return placed, pieces, length
