"""The operator's street map: added by a command, refused where it is none, served in parts."""

import gzip
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from click.testing import CliRunner

from longwire.cli import commands
from longwire.map_archives.cutting import cut, parse_box
from longwire.map_archives.pmtiles import (
    HEADER_BYTES,
    Entry,
    MapError,
    pack_directory,
    parse_header,
    tile_id_of,
)
from tests.map_tiles import build_archive, build_layer, build_streets, tile_at
from tests.world import World, ok

ROTTERDAM = (51.95, 4.14)
AROUND = "4,51.8,4.4,52.1"


@pytest.fixture
def engine() -> str:
    return "sqlite"


def add(world: World, *arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(
        commands,
        ["map", *map(str, arguments), "--data", str(world.settings.data), "--json"],
        catch_exceptions=False,
    )
    assert result.exit_code == 0, result.output
    return dict(json.loads(result.output))


def refusal(world: World, *arguments: object) -> str:
    with pytest.raises((MapError, OSError)) as refused:
        add(world, *arguments)
    return str(refused.value)


def get_part(world: World, name: str, wanted: str) -> Any:
    return world.http.get(f"/console/map/{name}", headers={"Range": wanted})


def test_an_area_of_a_file_becomes_the_map_at_once(world: World, tmp_path: Path) -> None:
    assert "mapFile" not in ok(world.nobody.get("/console/settings"))
    file = tmp_path / "harbour.pmtiles"
    file.write_bytes(build_streets(*ROTTERDAM, zoom_max=12))
    added = add(world, "add", file, "--bbox", AROUND, "--max-zoom", 10)
    assert (added["maxZoom"], added["attribution"]) == (10, "© OpenStreetMap")
    shown = ok(world.nobody.get("/console/settings"))
    assert (shown["mapFile"], shown["mapAttribution"]) == (
        Path(added["file"]).name,
        "© OpenStreetMap",
    )
    stored = Path(added["file"]).read_bytes()
    part = get_part(world, shown["mapFile"], "bytes=0-126")
    assert (part.status_code, part.content) == (206, stored[:HEADER_BYTES])
    assert part.headers["content-range"] == f"bytes 0-126/{len(stored)}"
    assert "immutable" in part.headers["cache-control"]
    assert "content-encoding" not in part.headers
    rest = get_part(world, shown["mapFile"], f"bytes=100-{len(stored) + 5_000}")
    assert rest.content == stored[100:]
    assert (
        get_part(world, shown["mapFile"], f"bytes={len(stored)}-{len(stored)}").status_code == 416
    )
    for wanted in ("", "bytes=-5", "bytes=0-1,5-6", "lines=0-1"):
        assert get_part(world, shown["mapFile"], wanted).status_code == 400
    # Another one takes its place; a page that was loaded before learns it.
    again = add(world, "add", file)
    assert again["file"] != added["file"]
    assert get_part(world, shown["mapFile"], "bytes=0-126").status_code == 404
    assert add(world, "show")["file"] == again["file"]
    assert add(world, "remove") == {"removed": True}
    assert add(world, "show") == {"file": None}
    assert "mapFile" not in ok(world.nobody.get("/console/settings"))


def with_part(name: str, content: bytes) -> bytes:
    """An archive with another description or directory, behind its tiles."""
    whole = build_archive({(0, 0, 0): b"t"})
    place: dict[str, Any] = {f"{name}_offset": len(whole), f"{name}_length": len(content)}
    return build_archive({(0, 0, 0): b"t"}, **place) + content


WRONG = {
    "does not begin as one": b"\x89PNG" * 200,
    "too short": b"PMTiles",
    "version 2": b"PMTiles\x02" + bytes(200),
    "are PNG": build_archive({(0, 0, 0): b"tile"}, tile_type=2),
    "is brotli": build_archive({(0, 0, 0): b"tile"}, tile_compression=3),
    "is cut off": build_streets(*ROTTERDAM)[:-100],
    "cannot be unpacked": build_archive({(0, 0, 0): b"t"}, metadata_offset=0, metadata_length=9),
    "none of the layers": build_archive({(0, 0, 0): b"t"}, {"vector_layers": [{"id": "rain"}]}),
    "has no tiles": build_archive({}),
    "is no JSON": with_part("metadata", gzip.compress(b"[" * 200_000 + b"]" * 200_000)),
    "or damaged": with_part("root", pack_directory([Entry(0, 0, 1 << 40, 1)])),
    "number that is too large": with_part("root", pack_directory([Entry(0, 0, 1 << 70, 1)])),
    "description is too large": build_archive({(0, 0, 0): b"t"}, metadata_length=1 << 26)
    + bytes(1 << 26),
}


@pytest.mark.parametrize("reason", WRONG)
def test_a_wrong_file_is_refused_and_the_map_stays(
    world: World, tmp_path: Path, reason: str
) -> None:
    file = tmp_path / "right.pmtiles"
    file.write_bytes(build_streets(*ROTTERDAM))
    before = add(world, "add", file)
    wrong = tmp_path / "wrong.pmtiles"
    wrong.write_bytes(WRONG[reason])
    assert reason in refusal(world, "add", wrong)
    assert add(world, "show") == before
    assert [each.name for each in (world.settings.data / "map").iterdir()] == [
        Path(before["file"]).name
    ]


def test_a_wrong_area_is_refused(world: World, tmp_path: Path) -> None:
    file = tmp_path / "harbour.pmtiles"
    file.write_bytes(build_streets(*ROTTERDAM, zoom_max=14))
    assert "west before east" in refusal(world, "add", file, "--bbox", "5,51,4,52")
    assert "in degrees" in refusal(world, "add", file, "--bbox", "Rotterdam")
    assert "smaller one" in refusal(world, "add", file, "--bbox=-180,-85,180,85")


class Planet(BaseHTTPRequestHandler):
    """A server of one file, which is asked for in parts."""

    content = b""
    answers_parts = True
    sent = 0

    def do_GET(self) -> None:
        begin, _, end = self.headers["Range"].removeprefix("bytes=").partition("-")
        part = self.content[int(begin) : int(end) + 1] if self.answers_parts else self.content
        self.send_response(206 if self.answers_parts else 200)
        self.send_header("Content-Range", f"bytes {begin}-{end}/{len(self.content)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)
        type(self).sent += len(part)

    def log_message(self, *arguments: object) -> None:
        pass


def test_of_a_file_at_a_url_only_the_area_is_downloaded(world: World) -> None:
    zoom = 7
    row = tile_at(*ROTTERDAM, zoom)[2]
    layer = build_layer("earth", [])
    tiles = {
        (zoom, x, y): layer + build_layer(f"{x} {y}" * 40, [])
        for x in range(1 << zoom)
        for y in range(row - 20, row + 20)
    }
    Planet.content, Planet.answers_parts, Planet.sent = build_archive(tiles), True, 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Planet)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/planet.pmtiles"
    try:
        added = add(world, "add", url, "--bbox", AROUND)
        assert added["bytes"] < 2_000
        assert Planet.sent < len(Planet.content) / 2
        Planet.answers_parts = False
        assert "whole files only" in refusal(world, "add", url, "--bbox", AROUND)
    finally:
        server.shutdown()
        server.server_close()


class Memory:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.size = len(content)

    def read(self, offset: int, length: int) -> bytes:
        return self.content[offset : offset + length]


def test_a_cut_file_has_the_same_tiles_in_the_area_and_no_other() -> None:
    whole = build_streets(*ROTTERDAM, zoom_max=14)
    source = Memory(whole)
    out = bytearray()
    header = cut(source, parse_header(source), parse_box(AROUND), out.extend)
    again = parse_header(Memory(bytes(out)))
    assert again == header
    assert header.addressed_tiles == 15
    with pytest.raises(MapError, match="no tiles in the area"):
        outside = parse_header(Memory(build_archive({(9, 0, 0): b"t"})))
        cut(Memory(build_archive({(9, 0, 0): b"t"})), outside, parse_box(AROUND), out.extend)


def test_tiles_are_numbered_along_the_curve() -> None:
    # The numbers of the format's own description.
    expected = {(0, 0, 0): 0, (1, 0, 0): 1, (1, 0, 1): 2, (1, 1, 1): 3, (1, 1, 0): 4, (2, 0, 0): 5}
    assert {place: tile_id_of(*place) for place in expected} == expected
    assert tile_id_of(12, 3423, 1763) == 19078479
