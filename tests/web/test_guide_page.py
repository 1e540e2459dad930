"""The guide's files: what each path serves, and what its pages may load and run."""

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from longwire.web import guide_page
from tests.world import World, ok

SCRIPT = b'var base = ".."'
PAGE = b"<!doctype html><script>%s</script><script src='x.js'></script><p>Records</p>" % SCRIPT


@pytest.fixture
def engine() -> str:
    return "sqlite"


@pytest.fixture
def world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_world: Callable[..., World]
) -> World:
    folder = tmp_path / "guide"
    (folder / "guides/records").mkdir(parents=True)
    (folder / "index.html").write_text("<p>Start</p>")
    (folder / "guides/records/index.html").write_bytes(PAGE)
    (folder / "search.json").write_text("{}")
    (tmp_path / "secret.txt").write_text("nobody's business")
    monkeypatch.setattr(guide_page, "FOLDER", folder)
    return make_world()


def get(world: World, path: str, **headers: str) -> httpx.Response:
    return world.http.get(path, headers={"Accept-Encoding": "identity", **headers})


def test_pages_are_folders(world: World) -> None:
    assert get(world, "/guide").headers["location"] == "guide/"
    assert "Start" in get(world, "/guide/").text
    redirect = get(world, "/guide/guides/records")
    assert (redirect.status_code, redirect.headers["location"]) == (302, "records/")
    page = get(world, "/guide/guides/records/")
    assert (page.content, page.headers["content-type"]) == (PAGE, "text/html; charset=utf-8")
    assert get(world, "/guide/search.json").headers["content-type"] == "application/json"
    etag = page.headers["etag"]
    assert get(world, "/guide/guides/records/", **{"If-None-Match": etag}).status_code == 304
    assert ok(world.nobody.get("/"))["guide"] == "/guide/"


def test_only_scripts_that_were_built_run(world: World) -> None:
    digest = base64.b64encode(hashlib.sha256(SCRIPT).digest()).decode()
    policy = get(world, "/guide/").headers["content-security-policy"]
    assert policy == (
        f"default-src 'none'; script-src 'self' 'sha256-{digest}'; style-src 'self'; "
        "connect-src 'self'; worker-src 'self'; font-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@pytest.mark.parametrize("path", ["none/", "guides", "../secret.txt", "%2e%2e/secret.txt", "/x"])
def test_nothing_else_is_served(world: World, path: str) -> None:
    response = get(world, f"/guide/{path}")
    assert response.status_code == 404
    assert "nobody's business" not in response.text


def test_without_a_build_a_page_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make_world: Callable[..., World]
) -> None:
    monkeypatch.setattr(guide_page, "FOLDER", tmp_path / "none")
    page = get(make_world(), "/guide/guides/records/")
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "make docs" in page.text
