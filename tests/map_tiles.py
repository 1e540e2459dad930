"""A small street map as PMTiles, made here: land, water, roads and names around a place."""

import gzip
import json
from collections.abc import Mapping, Sequence
from math import asinh, floor, pi, radians, tan
from typing import Any

from longwire.map_archives.pmtiles import (
    GZIP,
    HEADER_BYTES,
    Entry,
    Header,
    build_directories,
    tile_id_of,
)

ATTRIBUTION = '<a href="https://www.openstreetmap.org/copyright">&copy; OpenStreetMap</a>'
EXTENT = 4_096
POINT, LINE, POLYGON = 1, 2, 3
Points = Sequence[tuple[int, int]]


# --- vector tiles: protocol buffers, by hand ---


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _geometry(kind: int, points: Points) -> bytes:
    steps, at = [], (0, 0)
    for x, y in points:
        steps += [(x - at[0]) * 2 ^ ((x - at[0]) >> 31), (y - at[1]) * 2 ^ ((y - at[1]) >> 31)]
        at = (x, y)
    commands = [1 | 1 << 3, *steps[:2]]
    if kind != POINT:
        commands += [2 | (len(points) - 1) << 3, *steps[2:]]
    if kind == POLYGON:
        commands.append(7 | 1 << 3)
    return b"".join(_varint(each) for each in commands)


Feature = tuple[int, Points, Mapping[str, str | int]]


def build_layer(name: str, features: Sequence[Feature]) -> bytes:
    keys: list[str] = []
    values: list[str | int] = []
    packed = b""
    for kind, points, tags in features:
        numbers = []
        for key, value in tags.items():
            if key not in keys:
                keys.append(key)
            if value not in values:
                values.append(value)
            numbers += [keys.index(key), values.index(value)]
        content = _field(2, b"".join(map(_varint, numbers))) + _field(3, kind)
        packed += _field(2, content + _field(4, _geometry(kind, points)))
    named = b"".join(_field(3, key.encode()) for key in keys)
    for each in values:
        text = _field(1, each.encode()) if isinstance(each, str) else _field(5, each)
        named += _field(4, text)
    return _field(3, _field(15, 2) + _field(1, name.encode()) + packed + named + _field(5, EXTENT))


# --- archives ---


def build_archive(
    tiles: Mapping[tuple[int, int, int], bytes],
    metadata: Mapping[str, Any] | None = None,
    **changes: Any,
) -> bytes:
    """An archive of tiles by zoom, x and y; `changes` of its header make another kind of file."""
    packed = {tile_id_of(*place): gzip.compress(tile, mtime=0) for place, tile in tiles.items()}
    entries, content = [], b""
    for tile_id, tile in sorted(packed.items()):
        entries.append(Entry(tile_id, len(content), len(tile), 1))
        content += tile
    root, leaves = build_directories(entries)
    layers = [{"id": name} for name in ("earth", "water", "roads", "places")]
    described = {"attribution": ATTRIBUTION, "vector_layers": layers} | dict(metadata or {})
    about = gzip.compress(json.dumps(described).encode(), mtime=0)
    leaves_at = HEADER_BYTES + len(root) + len(about)
    zooms = [zoom for zoom, _, _ in tiles] or [0]
    values: dict[str, Any] = dict.fromkeys(Header.__slots__, 0) | {
        "root_offset": HEADER_BYTES,
        "root_length": len(root),
        "metadata_offset": HEADER_BYTES + len(root),
        "metadata_length": len(about),
        "leaves_offset": leaves_at,
        "leaves_length": len(leaves),
        "tiles_offset": leaves_at + len(leaves),
        "tiles_length": len(content),
        "addressed_tiles": len(entries),
        "entries": len(entries),
        "contents": len(entries),
        "internal_compression": GZIP,
        "tile_compression": GZIP,
        "tile_type": 1,
        "zoom_min": min(zooms),
        "zoom_max": max(zooms),
        "west_e7": -180 * 10**7,
        "south_e7": -85 * 10**7,
        "east_e7": 180 * 10**7,
        "north_e7": 85 * 10**7,
    }
    return Header(**values | changes).pack() + root + about + leaves + content


def tile_at(lat: float, lng: float, zoom: int) -> tuple[int, int, int]:
    angle = radians(lat)
    width = 1 << zoom
    return zoom, floor((lng + 180) / 360 * width), floor((1 - asinh(tan(angle)) / pi) / 2 * width)


def build_streets(lat: float, lng: float, zoom_max: int = 12) -> bytes:
    """A map around a place: a harbour basin, roads with a name, and the names of two towns."""
    edge: Points = [(0, 0), (EXTENT, 0), (EXTENT, EXTENT), (0, EXTENT)]
    basin: Points = [(0, 0), (1_500, 0), (2_200, 1_800), (900, EXTENT), (0, EXTENT)]
    tile = (
        build_layer("earth", [(POLYGON, edge, {"kind": "earth"})])
        + build_layer("water", [(POLYGON, basin, {"kind": "ocean"})])
        + build_layer(
            "landuse", [(POLYGON, [(2_600, 300), (3_900, 300), (3_900, 1_500)], {"kind": "park"})]
        )
        + build_layer(
            "buildings", [(POLYGON, [(3_000, 3_000), (3_300, 3_000), (3_300, 3_300)], {})]
        )
        + build_layer(
            "roads",
            [
                (LINE, [(2_300, 0), (2_900, 2_000), (2_500, EXTENT)], {"kind": "highway"}),
                (
                    LINE,
                    [(2_000, 2_600), (EXTENT, 2_600)],
                    {"kind": "major_road", "name": "Quay Road"},
                ),
                (LINE, [(2_600, 3_400), (EXTENT, 3_700)], {"kind": "minor_road", "name": "Mole"}),
            ],
        )
        + build_layer(
            "places",
            [(POINT, [(3_100, 900)], {"kind": "locality", "name": "Quayside", "min_zoom": 6})],
        )
    )
    return build_archive({tile_at(lat, lng, zoom): tile for zoom in range(zoom_max + 1)})
