"""The documentation site as `make docs` builds it: links, assets, and how a browser shows it."""

import fcntl
import os
import re
import tomllib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from longwire.web import guide_page
from tests.chromium import Driver
from tests.waiting import PATIENCE_S
from tests.world import World

ROOT = Path(__file__).parents[2]
ORIGIN = "http://guide"
# What makes a browser load something, or lead somewhere.
LOADING = {"src", "srcset", "poster", "data"}
PAGES_SEEN = ("", "project/architecture/", "reference/operations/records/")


class Page(HTMLParser):
    """The links, loaded files and anchors of a page."""

    def __init__(self, url: str, text: str) -> None:
        super().__init__()
        self.url = url
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.loaded += [urljoin(self.url, given[name]) for name in LOADING & given.keys()]
        if "href" in given:
            is_loaded = tag == "link" and given.get("rel") not in ("prev", "next")
            target = self.loaded if is_loaded else self.links
            target.append(urljoin(self.url, given["href"]))


def require_generator() -> None:
    for name in ("zensical", "merman"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is missing; `make docs` installs it")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once for all workers."""
    require_generator()
    # What builds the site is not installed everywhere.
    from scripts.guide.build import build  # noqa: PLC0415

    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    folder = shared / "guide-site"
    with (shared / "guide-site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            assert build(folder) > 40
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> list[Page]:
    return list(read_pages(site))


def read_pages(site: Path) -> Iterator[Page]:
    for path in sorted(site.rglob("index.html")):
        place = path.parent.relative_to(site).as_posix()
        yield Page(f"{ORIGIN}/{'' if place == '.' else place + '/'}", path.read_text())


@pytest.mark.soak  # tests/test_docs.py checks the links of the sources
def test_every_link_leads_to_a_page_and_an_anchor(site: Path, pages: list[Page]) -> None:
    by_url = {page.url: page for page in pages}
    broken = []
    for page in pages:
        for link in page.links:
            address, _, anchor = link.partition("#")
            if not address.startswith(f"{ORIGIN}/"):
                assert urlsplit(address).scheme in ("http", "https", "mailto"), link
                continue
            target = by_url.get(address)
            is_file = (site / urlsplit(address).path.lstrip("/")).is_file()
            if not is_file and (target is None or unquote(anchor) not in target.anchors):
                broken.append(f"{page.url}: {link}")
    assert broken == []


@pytest.mark.soak  # needs the built site, like the one above
def test_pages_load_nothing_from_elsewhere(site: Path, pages: list[Page]) -> None:
    loaded = {url.partition("#")[0] for page in pages for url in page.loaded}
    assert loaded
    for url in loaded:
        if not url.startswith("data:"):
            assert url.startswith(f"{ORIGIN}/"), url
            assert (site / urlsplit(url).path.lstrip("/")).is_file(), url
    for path in site.rglob("*.css"):
        assert re.findall(r"@import|url\((?!data:|#|['\"]?data:)", path.read_text()) == [], path


def test_every_page_is_in_the_navigation() -> None:
    listed = re.findall(r'"([\w./*-]+\.md)"', (ROOT / "zensical.toml").read_text())
    tomllib.loads((ROOT / "zensical.toml").read_text())
    docs = ROOT / "docs"
    named = {docs / name for name in listed} | {
        path for name in listed if "*" in name for path in docs.glob(name)
    }
    missing = {str(path.relative_to(ROOT)) for path in docs.rglob("*.md")} - {
        str(path.relative_to(ROOT)) for path in named
    }
    assert missing == set(), "add them to zensical.toml, where a reader would look for them"


@pytest.mark.soak  # needs the built site, like those above
@pytest.mark.engine_free
def test_a_browser_shows_it_under_the_policy_and_finds_words(
    site: Path,
    driver: Driver,
    monkeypatch: pytest.MonkeyPatch,
    make_world: Callable[..., World],
) -> None:
    monkeypatch.setattr(guide_page, "FOLDER", site)
    world = make_world()
    said: list[str] = []
    asked: list[str] = []
    with driver.awake():
        browser = driver.launch()
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_S * 1_000)
        page.on("console", lambda message: said.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        for name in PAGES_SEEN:
            page.goto(f"{world.url}/guide/{name}")
        page.goto(f"{world.url}/guide/project/architecture/")
        drawn = page.locator("img.diagram:visible").first
        assert drawn.evaluate("each => each.complete && each.naturalWidth > 300")
        page.keyboard.press("/")
        page.keyboard.type("dead letter")
        page.locator("mark, em", has_text="dead").first.wait_for(state="attached")
        browser.close()
    assert said == []
    assert all(url.startswith((world.url, "data:", "blob:")) for url in asked)
