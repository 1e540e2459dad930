"""What is on the screen stays where it is while the rest is loaded: a click is not lost.

Chromium adds up how much of the page was moved, and how far.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.console.browser import COUNT_REQUESTS, SETTLED
from tests.console.conftest import Company, OpenConsole
from tests.world import World

pytestmark = [pytest.mark.parametrize("engine", ["sqlite"]), pytest.mark.slow]

SHIFT_MAX = 0.02
# Cards that are as high as what is found stand above others.
SHIFTS_MAX = {"connector": 0.1, "platform": 0.1}
FEW = {"overview", "devices", "connector"}

OBSERVE = """
    window.shifts = [];
    new PerformanceObserver(list => {
        for (const {value, sources} of list.getEntries())
            window.shifts.push({value, moved: sources.map(each => each.node?.className ?? '')});
    }).observe({type: 'layout-shift', buffered: true});
"""


def load(page: Page, url: str) -> list[dict[str, Any]]:
    """Open an address; what has moved until all of it was there."""
    page.goto(url)
    expect(page.locator("main h1")).to_be_visible()
    page.wait_for_function(SETTLED, polling="raf")
    # The stream is a worker's, which is not among the requests of the page.
    expect(page.get_by_role("button", name="Live updates: live")).to_be_visible()
    page.wait_for_function(SETTLED, polling="raf")
    return list(page.evaluate("window.shifts"))


@pytest.mark.parametrize(
    "some", [FEW, pytest.param(None, marks=pytest.mark.soak)], ids=["few", "all"]
)
def test_nothing_moves_while_a_screen_is_loaded(
    world: World, company: Company, browse: OpenConsole, some: set[str] | None
) -> None:
    shown = {screen: company.screens[screen] for screen in some or company.screens}
    with browse(world, world.operator) as console:
        console.context.add_init_script(COUNT_REQUESTS)
        console.context.add_init_script(OBSERVE)
        for screen, path in shown.items():
            shifts = load(console.page, f"{world.url}/console{path}")
            score = sum(each["value"] for each in shifts)
            assert score <= SHIFTS_MAX.get(screen, SHIFT_MAX), (screen, shifts)


def test_a_drawer_that_is_still_loading_does_not_move_its_actions(
    world: World, browse: OpenConsole
) -> None:
    """A button that moved between press and release would not be clicked."""
    ada = world.person("ada")
    device = ada.device(ada.group("Harbour"), name="Cold room")
    ada.reports(device, "event", type="opened", timestamp=world.clock.now() // 1_000)
    with browse(world, ada) as console:
        page = console.open(f"/d/{device}")
        held: list[Route] = []
        trace = re.compile(r"/record/trace\?")
        console.context.route(trace, lambda route: held.append(route))
        with page.expect_request(trace):
            page.get_by_role("grid", name="Records").locator("[data-index]").click()
        drawer = page.get_by_role("dialog")
        drawer.get_by_role("link", name="Open trace").hover()
        page.mouse.down()
        expect(drawer.get_by_role("heading", name="Where it went")).to_have_count(0)
        held[0].continue_()
        expect(drawer.get_by_role("heading", name="Where it went")).to_be_visible()
        page.mouse.up()
        expect(page).to_have_url(re.compile("/console/r/rec_"))
