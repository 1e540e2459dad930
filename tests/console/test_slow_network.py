"""A slow network: what is on its way is shown, nothing jumps, and nothing is sent twice."""

from typing import Any

import pytest
from playwright.sync_api import Page, Request, expect

from tests.console.browser import Console
from tests.console.conftest import NOWHERE, Company, OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

ROUND_TRIP_MS = 400
BYTES_PER_S = 50_000
# As browsers count it: the share of the window that moved, times how far it did.
SHIFT_MAX = 0.1
SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
        const what = entry.sources.map(each => each.node?.className || each.node?.nodeName);
        window.shifts.push([entry.value, what.join(' ')]);
    }
}).observe({type: 'layout-shift', buffered: true});
"""
GO = "path => { window.shifts = []; history.pushState({}, '', '/console' + path); }"
# The page gets the response of a write when `respond` is called.
HOLD_WRITES = """
(() => {
    const real = window.fetch;
    window.fetch = async (request, ...others) => {
        const response = await real(request, ...others);
        if (request.method === 'PUT')
            await new Promise(done => { window.respond = done; });
        return response;
    };
})();
"""
BUSY = "main .skeleton, main [aria-busy=true]"


def slow_down(console: Console) -> None:
    session = console.context.new_cdp_session(console.page)
    session.send("Network.enable")
    session.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": ROUND_TRIP_MS,
            "downloadThroughput": BYTES_PER_S,
            "uploadThroughput": BYTES_PER_S,
        },
    )


@pytest.fixture
def screens(company: Company) -> dict[str, str]:
    return company.screens


@pytest.mark.soak
def test_no_screen_jumps_while_it_loads(
    world: World, screens: dict[str, str], browse: OpenConsole
) -> None:
    jumps = []
    with browse(world, world.operator) as console:
        page = console.page
        page.add_init_script(SHIFTS)
        slow_down(console)
        console.open("/account")
        expect(page.locator("main h1")).to_be_visible()
        for screen, path in screens.items():
            page.evaluate(GO, path)
            expect(page.locator("main h1"), screen).to_be_visible()
            expect(page.locator(BUSY), screen).to_have_count(0)
            shifts = page.evaluate("() => window.shifts")
            if sum(value for value, _ in shifts) > SHIFT_MAX:
                jumps.append((screen, shifts))
    assert jumps == []


def press_twice(page: Page, name: str) -> None:
    """As somebody does who sees nothing happen."""
    button = page.get_by_role("dialog").get_by_role("button", name=name, exact=True)
    button.evaluate("button => { button.click(); button.click(); }")


@pytest.mark.soak
def test_pressing_twice_sends_once(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    ada.device(harbour, name="Cold room")
    writes: list[str] = []

    def note(request: Request) -> None:
        if request.method != "GET":
            writes.append(request.method)

    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        expect(page.get_by_role("link", name="Cold room")).to_be_visible()
        slow_down(console)
        page.on("request", note)
        page.get_by_role("button", name="New device").first.click()
        for label in ("Name", "Original id", "Network"):
            page.get_by_role("dialog").get_by_label(label, exact=True).fill("Crane")
        press_twice(page, "Create")
        expect(page.get_by_role("link", name="Crane", exact=True)).to_be_visible()
        page.get_by_role("link", name="Crane", exact=True).click()
        page.get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name="Rename").click()
        page.get_by_role("dialog").get_by_label("Name").fill("Crane 8")
        press_twice(page, "Rename")
        expect(page.get_by_role("heading", name="Crane 8")).to_be_visible()
        page.get_by_role("link", name="People", exact=True).click()
        page.get_by_role("button", name="Invite").click()
        page.get_by_role("dialog").get_by_label("Email").fill("grace@example.com")
        page.get_by_role("dialog").get_by_label("Role", exact=True).select_option("Viewer")
        press_twice(page, "Invite")
        expect(page.get_by_role("dialog").locator("pre")).to_contain_text("#token=")
        assert writes == ["POST", "PUT", "PUT"]
        page.remove_listener("request", note)


def test_what_takes_long_can_be_stopped_and_asked_for_again(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    ada.connector(harbour, NOWHERE, name="To the cellar", enabled=False)
    with browse(world, ada) as console:
        page = console.open("/account")
        page.clock.install()
        held: list[Any] = []
        console.context.route("**/connector/connectors?*", lambda route: held.append(route))
        page.evaluate(GO, f"/g/{harbour}/connectors")
        expect(page.locator(BUSY).first).to_be_attached()
        page.clock.fast_forward(6_000)
        expect(page.get_by_role("main")).to_contain_text("Still working.")
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("main")).to_contain_text("Stopped.")
        console.context.unroute_all(behavior="ignoreErrors")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("link", name="To the cellar")).to_be_visible()


def respond(page: Page) -> None:
    """Let the page have the response that is held."""
    page.wait_for_function("() => Boolean(window.respond)")
    page.evaluate("() => { const respond = window.respond; window.respond = null; respond(); }")


def test_a_change_is_undone_though_the_page_knew_of_it_before_the_response(
    world: World, browse: OpenConsole
) -> None:
    """The live stream may be faster than the response: what was there before is known by then."""
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, name="Cold room")
    connector = ada.connector(harbour, NOWHERE, messageFilter="true", enabled=False)
    with browse(world, ada) as console:
        console.keep_toasts()
        console.context.add_init_script(HOLD_WRITES)
        page = console.open(f"/d/{device}?tab=configuration")
        undo = page.get_by_role("button", name="Undo")
        live = page.get_by_role("button", name="Live updates: live")
        configuration = page.get_by_role("textbox", name="Configuration")
        expect(live).to_be_visible()
        page.get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name="Rename").click()
        page.get_by_role("dialog").get_by_label("Name").fill("Warm room")
        page.get_by_role("dialog").get_by_role("button", name="Rename").click()
        expect(page.locator("main h1")).to_have_text("Warm room")
        respond(page)
        expect(page.get_by_text("Renamed Cold room to Warm room")).to_be_visible()
        undo.click()
        respond(page)
        expect(page.locator("main h1")).to_have_text("Cold room")

        configuration.fill('{"silentAfterSeconds": 60}')
        configuration.press("Control+Enter")
        expect(page.get_by_text("silent after 1 min")).to_be_visible()
        respond(page)
        undo.click()
        respond(page)
        expect(configuration).to_have_value("")

        page = console.open(f"/g/{harbour}/connectors/{connector}?tab=edit")
        written = page.get_by_role("textbox", name="Filter")
        expect(live).to_be_visible()
        discard = page.get_by_role("button", name="Discard")
        written.fill("false")
        expect(discard).to_be_enabled()
        written.press("Control+Enter")
        respond(page)
        expect(discard).to_be_disabled()
        undo.click()
        respond(page)
        expect(written).to_have_value("true")
