"""A view is shared where it is looked at, seen by whoever has the link, and revoked."""

import json
import os
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import BrowserContext, Frame, Page, expect

from longwire.dates import format_date
from longwire.fleet import share_uses
from tests.console.conftest import OpenConsole
from tests.world import Person, World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

HOUR = 3_600_000_000


def fill(world: World, ada: Person) -> tuple[str, str]:
    group = ada.group("Cold store")
    body = {"type": "temperature", "groupId": group}
    shown = {"name": "celsius", "path": "/data/celsius", "label": "Air", "unit": "°C"}
    ok(ada.put("/device/type/measurements", {**body, "measurements": [shown]}))
    freezer = ada.device(group, name="Freezer", type="temperature")
    cellar = ada.device(group, name="Cellar", type="temperature")
    for hours in range(6):
        at = format_date(world.clock.now() - hours * HOUR)
        ada.reports(freezer, data=json.dumps({"celsius": hours - 18}), timestamp=at)
        ada.reports(cellar, data=json.dumps({"celsius": 8 + hours / 2}), timestamp=at)
    ada.reports(freezer, "geoloc", lat=51.9, lng=4.1, timestamp=format_date(world.clock.now()))
    return group, freezer


def share(page: Page, *, origins: str = "") -> str:
    """The link that the dialog shows, once."""
    dialog = page.get_by_role("dialog", name="Share")
    dialog.get_by_label("Works for").select_option("7 days")
    dialog.get_by_label("May be embedded by").fill(origins)
    dialog.get_by_role("button", name="Create link").click()
    url = dialog.locator("code").first.inner_text()
    assert re.search(r"/console/shared/shr_\w+#lwv_[\w-]+$", url)
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    return url


class EmptyPage(BaseHTTPRequestHandler):
    """The page of somebody else."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>x</title>")

    def log_message(self, *arguments: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def other_port() -> Iterator[int]:
    """A real server: from a page without an address, browsers do not reach this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_port
        server.shutdown()


def embed(context: BrowserContext, host: str, url: str) -> Frame:
    """The frame in a page of another origin."""
    page = context.new_page()
    page.goto(host)
    page.set_content(f'<title>x</title><iframe src="{url}" width="700" height="400"></iframe>')
    return page.frames[1]


def test_what_is_shared_is_seen_by_whoever_has_the_link_until_it_is_revoked(
    world: World, browse: OpenConsole, other_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, other_host = f"http://localhost:{other_port}", f"http://127.0.0.1:{other_port}"
    monkeypatch.setattr(share_uses, "INTERVAL_S", 0.1)
    ada = world.person("ada")
    group, freezer = fill(world, ada)
    links: dict[str, str] = {}
    with browse(world, ada) as console:
        page = console.open(f"/g/{group}/explore?measurement=celsius")
        page.get_by_role("button", name="Share").click()
        console.check_accessibility()
        links["chart"] = share(page)
        page = console.open(f"/d/{freezer}")
        page.get_by_label("More actions").click()
        page.get_by_role("menuitem", name="Share").click()
        page.get_by_role("dialog").get_by_label("With its last position").check()
        links["device"] = share(page)
        page = console.open(f"/g/{group}/devices?values=celsius&where=celsius%3C0")
        expect(page.get_by_role("grid", name="Devices")).to_contain_text("Freezer")
        page.get_by_role("button", name="Share").click()
        links["list"] = share(page, origins=host)
        page = console.open(f"/g/{group}/map")
        page.get_by_role("button", name="Share").click()
        links["map"] = share(page)

    with browse(world) as console:
        asked: list[str] = []
        console.context.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        page = console.page
        main = page.get_by_role("main")
        for theme in ("light", "dark"):
            for name, link in links.items():
                path = link.partition("/console")[2].replace("#", f"?theme={theme}#")
                page.goto("about:blank")
                console.open(path)
                expect(page.get_by_role("heading", level=1)).to_be_visible()
                if name == "chart":
                    expect(main.get_by_role("heading", name="Air, °C")).to_be_visible()
                    expect(main.locator("canvas")).to_be_visible()
                elif name == "device":
                    expect(main.get_by_role("listitem").first).to_contain_text("-18 °C")
                    expect(main.get_by_role("button", name="Freezer")).to_be_visible()
                elif name == "list":
                    expect(main.get_by_role("row")).to_have_count(2)
                    expect(main.get_by_role("row").last).to_contain_text("Freezer")
                else:
                    expect(main.get_by_role("button", name="Freezer")).to_be_visible()
                    main.get_by_role("button", name="Freezer").click()
                    expect(main.get_by_role("status").last).to_contain_text("Freezer")
                expect(page.locator("html")).to_have_attribute("data-theme", theme)
                console.check_accessibility(page)
                if folder := os.environ.get("LONGWIRE_PICTURES"):
                    page.screenshot(path=f"{folder}/{name}-{theme}.png")
        # No request has a secret in its address, and none is about anything else.
        assert not any("lwv_" in each for each in asked)
        api = {each.removeprefix(world.url).partition("?")[0] for each in asked}
        assert {each for each in api if not each.startswith("/console/")} == {
            *("/share/link", "/share/series", "/share/devices", "/share/positions")
        }
        browser = console.context.browser
        assert browser is not None
        outside = browser.new_context()
        listed = f"{world.url}/console{links['list'].partition('/console')[2]}"
        framed = embed(outside, host, listed)
        expect(framed.get_by_role("row").last).to_contain_text("Freezer")
        refused = embed(outside, other_host, listed)
        expect(refused.get_by_role("row")).to_have_count(0)
        refused.wait_for_url("chrome-error://**")
        outside.close()

    with browse(world, ada) as console, browse(world) as other:
        looking = other.open(links["list"].partition("/console")[2])
        expect(looking.get_by_role("main")).to_contain_text("Freezer")
        page = console.open(f"/g/{group}/shared-views")
        table = page.get_by_role("table", name="Shared views")
        row = table.get_by_role("row").filter(has_text="List of devices")
        expect(row).to_contain_text(re.compile(r"[4-9] times"))
        expect(row).to_contain_text(host)
        console.check_accessibility()
        if folder := os.environ.get("LONGWIRE_PICTURES"):
            page.screenshot(path=f"{folder}/shared-views.png")
        row.get_by_role("button", name="Revoke").click()
        expect(row).to_have_count(0)
        other.expected_statuses = {401}
        looking.reload()
        expect(looking.get_by_role("alert")).to_contain_text("was revoked")
        expect(looking.get_by_role("main")).not_to_contain_text("Freezer")
