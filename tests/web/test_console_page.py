"""The console's files: what each path serves, for how long it is kept, and what it may load."""

import gzip
import socket
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from longwire.web import console_page
from longwire.web.console_page import build_policy, load_console
from tests.world import World, ok

SCRIPT = "const base = '/console/__files__/';\n" + "export const page = 'shown';\n" * 50
MAP = bytes(range(256))
NO_FILES = (
    "",
    "assets",
    "assets/",
    "assets/none.js",
    "manifest.json",
    "assets/%2e%2e/%2e%2e/secret.txt",
    "../secret.txt",
    "..%2f..%2fsecret.txt",
    "%2e%2e/%2e%2e/secret.txt",
    "/etc/passwd",
    "assets%00/index.js",
)
ACCEPTED = {
    "gzip, deflate, br": True,
    "br;q=1.0, GZIP; q=0.5": True,
    "*": True,
    "gzip;q=0, br": False,
    "gzip;q=0.0": False,
    "identity": False,
    "": False,
}
HTML = "text/html; charset=utf-8"
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "connect-src": "'self'",
    "worker-src": "'self'",
    "font-src": "'self'",
    "manifest-src": "'self'",
    "img-src": "'self' data: blob:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as a build leaves it."""
    folder = tmp_path / "console"
    (folder / "assets").mkdir(parents=True)
    page = '<!doctype html><script type="module" src="/console/__files__/assets/index.js"></script>'
    (folder / "index.html").write_text(page)
    (folder / "assets" / "index.js").write_text(SCRIPT)
    (folder / "assets" / "index.css").write_text("body { color: #333 }")
    (folder / "assets" / "map.bin").write_bytes(MAP)
    (folder / "manifest.json").write_text("{}")
    (tmp_path / "secret.txt").write_text("nobody's business")
    monkeypatch.setattr(console_page, "FOLDER", folder)
    return folder


@pytest.fixture
def world(built: Path, make_world: Callable[..., World]) -> World:
    return make_world()


@pytest.fixture
def files(built: Path) -> str:
    """Where the files of the build are served."""
    return f"/console/{load_console(built).fingerprint}"


def get(world: World, path: str, **headers: str) -> httpx.Response:
    return world.http.get(path, headers={"Accept-Encoding": "identity", **headers})


def directives(response: httpx.Response) -> dict[str, str]:
    policy = response.headers["content-security-policy"]
    return dict(part.split(" ", 1) for part in policy.split("; "))


def test_any_path_that_is_no_file_is_the_page(world: World, files: str) -> None:
    for path in ("/console/", "/console/g/7/devices", "/console/nope.js", "/console/sign-in"):
        page = get(world, path, Accept="*/*")
        assert page.status_code == 200
        assert page.headers["content-type"] == HTML
        assert page.headers["cache-control"] == "no-cache"
        assert f'src="{files}/assets/index.js"' in page.text


def test_files_are_kept_for_ever_and_the_page_is_asked_for_each_time(
    world: World, files: str
) -> None:
    script = get(world, f"{files}/assets/index.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert script.text == SCRIPT.replace("__files__", files.removeprefix("/console/"))
    assert get(world, f"{files}/assets/map.bin").content == MAP

    etag = get(world, "/console/").headers["etag"]
    unchanged = get(world, "/console/live", **{"If-None-Match": f'"other", {etag}'})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert unchanged.headers["etag"] == etag
    assert "content-length" not in unchanged.headers
    assert directives(unchanged) == POLICY, "the browser takes over the headers"
    assert get(world, "/console/", **{"If-None-Match": '"other"'}).status_code == 200


def test_a_build_of_yesterday_is_gone(
    built: Path, make_world: Callable[..., World], files: str
) -> None:
    (built / "assets" / "index.css").write_text("body { color: #444 }")
    world = make_world()
    assert get(world, f"{files}/assets/index.js").status_code == 404
    assert files not in get(world, "/console/").text


def test_below_the_files_is_nothing_else_and_no_list_of_them(world: World, files: str) -> None:
    for path in NO_FILES:
        answer = send(world, f"{files}/{path}")
        assert answer.startswith(b"HTTP/1.1 404 "), answer
        assert b"cache-control: no-store" in answer
        assert b"nobody's business" not in answer and b"index.css" not in answer


def test_a_path_that_leads_out_of_the_console_is_at_most_its_page(world: World) -> None:
    for path in ("/console/../secret.txt", "/console/%2e%2e/secret.txt", "/console//etc/passwd"):
        answer = send(world, path)
        assert b"nobody's business" not in answer
        assert b"/assets/index.js" in answer


def send(world: World, path: str) -> bytes:
    """Ask for a path as it is, which clients would normalize."""
    with socket.create_connection(("127.0.0.1", world.port)) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: longwire\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_files_are_compressed_for_those_who_accept_it(world: World, files: str) -> None:
    path = f"{files}/assets/index.js"
    plain = get(world, path).content
    for accepted, is_gzipped in ACCEPTED.items():
        with world.http.stream("GET", path, headers={"Accept-Encoding": accepted}) as sent:
            content = b"".join(sent.iter_raw())
        assert sent.headers["vary"] == "accept-encoding"
        assert int(sent.headers["content-length"]) == len(content)
        assert ("content-encoding" in sent.headers) is is_gzipped, accepted
        assert (gzip.decompress(content) if is_gzipped else content) == plain
        head = world.http.head(path, headers={"Accept-Encoding": accepted})
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == sent.headers["content-length"]


def test_what_compression_does_not_shrink_is_sent_as_it_is(world: World, files: str) -> None:
    response = get(world, f"{files}/assets/index.css", **{"Accept-Encoding": "gzip"})
    assert "content-encoding" not in response.headers
    assert response.headers["content-type"] == "text/css; charset=utf-8"


def test_only_get_and_head_and_nobody_needs_a_token(world: World, files: str) -> None:
    refused = world.http.post("/console/g/7", json={})
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
    assert get(world, "/console/", Authorization="Bearer wrong").status_code == 200
    bare = get(world, "/console")
    assert (bare.status_code, bare.headers["location"]) == (302, "console/")


def test_page_and_files_have_the_headers_of_our_pages(world: World, files: str) -> None:
    for path in ("/console/", f"{files}/assets/index.js"):
        headers = get(world, path).headers
        assert directives(get(world, path)) == POLICY
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["permissions-policy"] == "geolocation=(), camera=(), microphone=()"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["x-content-type-options"] == "nosniff"


def test_images_may_come_from_the_operators_tile_server(
    built: Path, make_world: Callable[..., World]
) -> None:
    tiles = "https://tiles.example.com:8443/v1/{z}/{x}/{y}.png?key=7"
    world = make_world(map_tiles=tiles, map_attribution="© Tiles of Example")
    images = POLICY["img-src"] + " https://tiles.example.com:8443"
    assert directives(get(world, "/console/")) == POLICY | {"img-src": images}
    shown = ok(world.nobody.get("/console/settings"))
    assert (shown["mapTiles"], shown["mapAttribution"]) == (tiles, "© Tiles of Example")
    assert "key=7" not in build_policy(tiles)


def test_the_root_leads_to_the_console(world: World) -> None:
    browser = get(world, "/", Accept="text/html,*/*;q=0.8")
    assert (browser.status_code, browser.headers["location"]) == (302, "console/")
    links = ok(world.nobody.get("/"))
    assert links["console"] == "/console/"
    assert links["signIn"] == "/console/sign-in"


def test_links_of_before_lead_to_the_page_to_sign_in(world: World) -> None:
    old = get(world, "/sign-in?error=access_denied")
    assert (old.status_code, old.headers["location"]) == (
        302,
        "console/sign-in?error=access_denied",
    )


def test_without_a_build_the_root_leads_to_the_docs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_world: Callable[..., World]
) -> None:
    monkeypatch.setattr(console_page, "FOLDER", tmp_path / "none")
    world = make_world()
    answer = get(world, "/console/")
    assert answer.status_code == 404
    assert "make console" in answer.json()["detail"]
    assert get(world, "/", Accept="text/html").headers["location"] == "docs"
    assert "console" not in ok(world.nobody.get("/"))
