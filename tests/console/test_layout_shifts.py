"""What is on the screen stays where it is while the rest is loaded: a click is not lost.

Chromium adds up how much of the page was moved, and how far.
"""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from longwire.demo.seeding import SeedOptions
from tests.console.conftest import OpenConsole
from tests.console.screens import list_screens
from tests.console.test_states import GREY_ROWS, NOWHERE
from tests.demo_world import fill_world
from tests.world import World, ok

pytestmark = [pytest.mark.parametrize("engine", ["sqlite"]), pytest.mark.slow]

SHIFT_MAX = 0.02
# Cards that are as high as what is found stand above others.
SHIFTS_MAX = {"connector": 0.1, "platform": 0.1}
FEW = {"overview", "live", "devices", "device", "connector", "messages"}

OBSERVE = """
    window.shifts = [];
    new PerformanceObserver(list => {
        for (const {value, sources} of list.getEntries())
            window.shifts.push({value, moved: sources.map(each => each.node?.className ?? '')});
    }).observe({type: 'layout-shift', buffered: true});
"""
# What has moved is known with the frame after it.
NEXT_FRAME = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"


def load(page: Page, url: str) -> list[dict[str, Any]]:
    """Open an address; what has moved until all of it was there."""
    page.goto(url)
    expect(page.locator("main h1")).to_be_visible()
    expect(page.locator(GREY_ROWS)).to_have_count(0)
    expect(page.get_by_role("button", name="Live updates: live")).to_be_visible()
    page.evaluate(NEXT_FRAME)
    return list(page.evaluate("window.shifts"))


@pytest.fixture
def paths(world: World) -> dict[str, str]:
    """The screens of the demo's company, which has something to show on each of them."""
    options = SeedOptions(NOWHERE, NOWHERE, devices=11, history_days=0.1)
    group = fill_world(world, options).group_id
    return list_screens(lambda path, which: ok(world.operator.get(path, **which)), group)


@pytest.mark.parametrize(
    "some", [FEW, pytest.param(None, marks=pytest.mark.soak)], ids=["few", "all"]
)
def test_nothing_moves_while_a_screen_is_loaded(
    world: World, paths: dict[str, str], browse: OpenConsole, some: set[str] | None
) -> None:
    shown = {screen: paths[screen] for screen in some or paths}
    with browse(world, world.operator) as console:
        console.context.add_init_script(OBSERVE)
        for screen, path in shown.items():
            shifts = load(console.page, f"{world.url}/console{path}")
            score = sum(each["value"] for each in shifts)
            assert score <= SHIFTS_MAX.get(screen, SHIFT_MAX), (screen, shifts)
