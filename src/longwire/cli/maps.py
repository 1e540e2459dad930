"""`map`: the street map below the console's, from a file that the operator has."""

import click

from longwire.cli.base import setting_flags
from longwire.map_archives.cutting import parse_box
from longwire.map_archives.downloads import open_source
from longwire.map_archives.folder import MapFile, MapFolder, open_map_folder
from longwire.map_archives.pmtiles import ZOOM_MAX, MapError
from longwire.settings import Settings
from longwire_cli.terminal import json_flag, print_result

MIB = 1024 * 1024
_FLAGS = ("data", "map_tiles")


@click.group("map")
def map_group() -> None:
    """The street map of the console."""


@map_group.command("add")
@click.argument("place", metavar="FILE_OR_URL")
@click.option(
    "--bbox",
    default=None,
    metavar="W,S,E,N",
    help="only this area: west, south, east and north in degrees",
)
@click.option(
    "--max-zoom",
    type=click.IntRange(0, ZOOM_MAX),
    default=None,
    help="only up to this zoom; each further one about doubles the file",
)
@setting_flags(*_FLAGS)
@json_flag
def map_add(
    place: str, bbox: str | None, max_zoom: int | None, chosen: Settings, as_json: bool
) -> None:
    """Make a PMTiles file with vector tiles the console's map, also while the service runs.

    Its layers are those of Protomaps or OpenMapTiles. With --bbox only an area is taken; of a file
    at a URL only that is downloaded. It replaces the one before.
    """
    box = None if bbox is None else parse_box(bbox)
    folder = _open_folder(chosen)
    with open_source(place) as source:
        added = folder.add(source, box, max_zoom)
    _print(added, as_json)


@map_group.command("show")
@setting_flags(*_FLAGS)
@json_flag
def map_show(chosen: Settings, as_json: bool) -> None:
    """Print which file is the console's map."""
    found = _open_folder(chosen).find()
    if found is None:
        print_result({"file": None}, as_json, "no file; the built-in map is shown")
    else:
        _print(found, as_json)


@map_group.command("remove")
@setting_flags(*_FLAGS)
@json_flag
def map_remove(chosen: Settings, as_json: bool) -> None:
    """Delete that file; the built-in map stays."""
    removed = _open_folder(chosen).remove()
    print_result({"removed": removed}, as_json, "removed" if removed else "there was no file")


def _open_folder(chosen: Settings) -> MapFolder:
    folder = open_map_folder(chosen.data, chosen.map_tiles)
    if folder is None:
        raise MapError("map_tiles names a server of tiles, which the map shows. Unset it first.")
    return folder


def _print(shown: MapFile, as_json: bool) -> None:
    box = shown.box
    area = [box.west, box.south, box.east, box.north]
    values = {
        "file": str(shown.path),
        "bytes": shown.size,
        "bbox": area,
        "minZoom": shown.zoom_min,
        "maxZoom": shown.zoom_max,
        "attribution": shown.attribution,
    }
    text = (
        f"{shown.path}, {shown.size / MIB:.1f} MiB, zoom {shown.zoom_min} to {shown.zoom_max},"
        f" {','.join(f'{each:g}' for each in area)}"
    )
    print_result(values, as_json, text)
