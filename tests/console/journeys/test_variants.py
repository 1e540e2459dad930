"""Finding a device, watching what arrives, mending a connector: by everybody, anywhere.

The same three things in the dark, on a phone, in UTC, and with nothing but the keyboard. Each
browser checks at its end that nothing is stored in it but preferences.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser import PHONE, Console, seed_devices
from tests.console.conftest import OpenConsole
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

ONCE = {"retryDelay": 1, "maxRetry": 0}
DEVICES = 1_200
TABS_MAX = 60
FOCUSED = "() => document.activeElement.textContent + document.activeElement.ariaLabel"


def count_failed(person: Person, group: str) -> int:
    return len(ok(person.get("/connector/messages", groupId=group, status="failed"))["items"])


@pytest.mark.soak
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"color_scheme": "dark"}, id="dark"),
        pytest.param({"size": PHONE, "has_touch": True}, id="phone"),
        pytest.param({"timezone_id": "Pacific/Auckland"}, id="utc"),
    ],
)
def test_the_same_wherever_somebody_looks(
    world: World, browse: OpenConsole, options: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device, *_ = seed_devices(ada, harbour, DEVICES)
    with Receiver(503) as receiver, browse(world, ada, **options) as console:
        ada.connector(harbour, receiver.url, name="To the cellar", retryPolicy=ONCE)
        page = console.open(f"/g/{harbour}/devices")
        if "utc" in request.node.name:
            expect(page.get_by_role("heading", name="Devices")).to_be_visible()
            page.keyboard.press("u")
            expect(page.get_by_role("button", name="UTC")).to_be_visible()
        find_a_device(page)
        console.check_accessibility()
        page = console.open(f"/g/{harbour}/live")
        watch_a_record(page, ada, device)
        console.check_accessibility()
        eventually(lambda: count_failed(ada, harbour) == 1)
        page = console.open(f"/g/{harbour}/connectors")
        page.get_by_role("link", name="To the cellar").click()
        receiver.respond_with(204)
        page.get_by_role("button", name="Resend 1 dead letter").click()
        expect(page.get_by_role("main")).to_contain_text("forwarding")
        if "utc" in request.node.name:
            assert page.evaluate("localStorage.getItem('longwire.zone')") == "UTC"


def find_a_device(page: Page) -> None:
    wanted = f"{DEVICES - 1:016X}"
    page.get_by_role("searchbox", name="Name, id or tag").fill(wanted[-4:])
    found = page.get_by_role("grid", name="Devices").locator("[data-index]")
    expect(found).to_have_count(1)
    expect(found).to_contain_text(wanted)


def watch_a_record(page: Page, person: Person, device: str) -> None:
    expect(page.get_by_role("button", name=re.compile("Live updates: live"))).to_be_visible()
    person.reports(device, data='{"celsius":9.5}')
    expect(page.get_by_role("grid", name="Records")).to_contain_text("celsius 9.5")


def tab_to(console: Console, words: str) -> None:
    """Press Tab until what has the focus says so."""
    for _ in range(TABS_MAX):
        console.page.keyboard.press("Tab")
        if words in console.page.evaluate(FOCUSED):
            return
    raise AssertionError(f"{words} cannot be reached")


def test_the_same_with_nothing_but_the_keyboard(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device, *_ = seed_devices(ada, harbour, DEVICES)
    with Receiver(503) as receiver, browse(world, ada) as console:
        ada.connector(harbour, receiver.url, name="To the cellar", retryPolicy=ONCE)
        page = console.open(f"/g/{harbour}/live")
        press = page.keyboard.press
        watch_a_record(page, ada, device)
        press("j")
        press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("celsius")
        press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        press("/")
        page.keyboard.type(f"{DEVICES - 1:016X}"[-6:])
        expect(page.get_by_role("option").first).to_contain_text(f"{DEVICES - 1:016X}"[-6:])
        press("Enter")
        expect(page).to_have_url(re.compile("/console/d/dev_"))
        eventually(lambda: count_failed(ada, harbour) == 1)

        def go_to_connectors() -> bool:
            press("g")
            press("c")
            return page.url.endswith("/connectors")

        eventually(go_to_connectors)  # the second key counts for a moment only
        expect(page.get_by_role("grid", name="Connectors")).to_contain_text("To the cellar")
        press("j")
        press("Enter")
        expect(page.get_by_role("heading", name="To the cellar")).to_be_visible()
        receiver.respond_with(204)
        expect(page.get_by_role("button", name="Resend 1 dead letter")).to_be_visible()
        tab_to(console, "Resend 1 dead letter")
        press("Enter")
        expect(page.get_by_role("main")).to_contain_text("forwarding")
