"""The folder with the archive that the console's map shows: one file, named by its content.

So a browser may keep parts of it for ever: another map has another name.
"""

import hashlib
import html
import os
import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from longwire.map_archives.cutting import Box, Write, cut
from longwire.map_archives.pmtiles import (
    Header,
    MapError,
    MapSource,
    parse_directory,
    parse_header,
    read_metadata,
    require_drawn_layers,
    unpack,
)
from longwire.map_archives.sources import FileSource

FOLDER = "map"  # in the data folder
# Whole files that are larger are of countries and more; --bbox takes a part of them.
BYTES_MAX = 4 * 1024 * 1024 * 1024
_COPIED_AT_ONCE = 4 * 1024 * 1024
_NAME = re.compile(r"([0-9a-f]{12})\.pmtiles")
_ATTRIBUTION_MAX = 200
_TAG = re.compile(r"<[^>]*>")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class MapFile:
    """An archive that is in use."""

    path: Path
    fingerprint: str
    size: int
    attribution: str  # plain text
    zoom_min: int
    zoom_max: int
    box: Box


def open_map_folder(data: Path, map_tiles: str) -> "MapFolder | None":
    """The data folder's, or the one that the setting names; none where it names a tile server."""
    if not map_tiles:
        return MapFolder(data / FOLDER)
    return None if "://" in map_tiles else MapFolder(Path(map_tiles))


class MapFolder:
    """Finds the archive; it may be added, replaced and removed meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: MapFile | None = None
        self._damaged = ""

    def find(self) -> MapFile | None:
        """The archive, or None where there is none that can be read."""
        path = self._find_newest()
        if path is None:
            self._known = None
            return None
        if self._known is None or self._known.path != path:
            try:
                self._known = read_map_file(path)
            except (MapError, OSError) as error:
                self._known = None
                if self._damaged != path.name:
                    log.warning("the map's file cannot be used", file=str(path), error=str(error))
                self._damaged = path.name
        return self._known

    def _find_newest(self) -> Path | None:
        try:
            with os.scandir(self.path) as found:
                named = [each for each in found if _NAME.fullmatch(each.name)]
                newest = max(named, key=lambda each: (each.stat().st_mtime_ns, each.name))
        except (OSError, ValueError):
            return None
        return Path(newest.path)

    def add(self, source: MapSource, box: Box | None, zoom_max: int | None) -> MapFile:
        """Check an archive and make it the map; the one before is deleted after that."""
        header = parse_header(source)
        if zoom_max is not None:
            if zoom_max < header.zoom_min:
                raise MapError(f"This file begins with zoom {header.zoom_min}.")
            header = replace(header, zoom_max=min(zoom_max, header.zoom_max))
        check(source, header)
        if not self.path.is_dir():
            self.path.mkdir(parents=True)
            # The service may run as another user than who adds the map, which anybody may see.
            self.path.chmod(0o755)
        with tempfile.NamedTemporaryFile(dir=self.path, suffix=".new", delete=False) as target:
            written = Path(target.name)
            try:
                digest = hashlib.sha256()

                def write(data: bytes) -> None:
                    target.write(data)
                    digest.update(data)

                if box is None and zoom_max is None:
                    _copy(source, write)
                else:
                    cut(source, header, box or _box_of(header), write)
                target.flush()
                os.fsync(target.fileno())
                read_map_file(written)
                path = self.path / f"{digest.hexdigest()[:12]}.pmtiles"
                written.chmod(0o644)
                written.replace(path)
            except BaseException:
                written.unlink(missing_ok=True)
                raise
        self._remove_all(but=path)
        return read_map_file(path)

    def remove(self) -> bool:
        """Whether there was one."""
        return self._remove_all(but=None)

    def _remove_all(self, but: Path | None) -> bool:
        if not self.path.is_dir():
            return False
        others = [each for each in self.path.iterdir() if _NAME.fullmatch(each.name)]
        removed = [each for each in others if each != but]
        for each in removed:
            each.unlink()
        return bool(removed)


def read_map_file(path: Path) -> MapFile:
    source = FileSource(path)
    try:
        header = parse_header(source)
        metadata = read_metadata(source, header)
    finally:
        source.close()
    return MapFile(
        path=path,
        fingerprint=path.name.partition(".")[0],
        size=source.size,
        attribution=_plain(metadata.get("attribution")),
        zoom_min=header.zoom_min,
        zoom_max=header.zoom_max,
        box=_box_of(header),
    )


def check(source: MapSource, header: Header) -> None:
    """Refuse what has no tiles, or layers that nobody draws."""
    require_drawn_layers(read_metadata(source, header))
    root = source.read(header.root_offset, header.root_length)
    entries = parse_directory(unpack(root, header.internal_compression, "its directory"))
    if not entries:
        raise MapError("This file has no tiles.")
    for each in entries:
        if each.run:
            tile = source.read(header.tiles_offset + each.offset, each.length)
            unpack(tile, header.tile_compression, "its first tile")
            break


def _copy(source: MapSource, write: Write) -> None:
    if source.size > BYTES_MAX:
        raise MapError(
            f"This file has {source.size:,} bytes, more than {BYTES_MAX:,}. --bbox takes an area"
            " out of it."
        )
    for offset in range(0, source.size, _COPIED_AT_ONCE):
        write(source.read(offset, min(_COPIED_AT_ONCE, source.size - offset)))


def _box_of(header: Header) -> Box:
    e7 = (header.west_e7, header.south_e7, header.east_e7, header.north_e7)
    west, south, east, north = (each / 10_000_000 for each in e7)
    return Box(west, south, east, north)


def _plain(attribution: object) -> str:
    """Whom to name, which archives write with links, as plain text."""
    text = html.unescape(_TAG.sub("", attribution if isinstance(attribution, str) else ""))
    printed = "".join(each for each in text if each.isprintable())
    return " ".join(printed.split())[:_ATTRIBUTION_MAX]
