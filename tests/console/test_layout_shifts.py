"""What is on the screen stays where it is while the rest is loaded: a click is not lost.

Chromium adds up how much of the page was moved, and how far.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.console.browser import COUNT_REQUESTS, SETTLED, Console
from tests.console.conftest import Company, OpenConsole
from tests.world import World

pytestmark = [pytest.mark.parametrize("engine", ["sqlite"]), pytest.mark.slow]

SHIFT_MAX = 0.02
# Cards that are as high as what is found stand above others; what arrives apart moves twice.
SHIFTS_MAX = {"connector": 0.15, "platform": 0.1}
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


@contextmanager
def held_until_pressed(
    console: Console, request: re.Pattern[str], press: Locator, loaded: Locator
) -> Iterator[None]:
    """What the block causes to be loaded arrives between the press and the release."""
    page = console.page
    held: list[Route] = []
    console.context.route(request, lambda route: held.append(route))
    with page.expect_request(request):
        yield
    press.hover()
    page.mouse.down()
    expect(loaded).to_have_count(0)
    for route in held:
        route.continue_()
    expect(loaded).to_be_visible()
    page.mouse.up()


def test_a_drawer_that_is_loading_does_not_move_its_actions(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group("Harbour"), name="Cold room")
    ada.reports(device, "event", type="opened", timestamp=world.clock.now() // 1_000)
    with browse(world, ada) as console:
        page = console.open(f"/d/{device}")
        drawer = page.get_by_role("dialog")
        link = drawer.get_by_role("link", name="Open trace")
        loaded = drawer.get_by_role("heading", name="Deliveries")
        with held_until_pressed(console, re.compile(r"/record/trace\?"), link, loaded):
            page.get_by_role("grid", name="Records").locator("[data-index]").click()
        expect(page).to_have_url(re.compile("/console/r/rec_"))


def test_a_card_that_is_loading_does_not_move_those_beside_it(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        page = console.page
        button = page.get_by_role("button", name="Show the token")
        loaded = page.get_by_label("Add a value")
        with held_until_pressed(console, re.compile(r"/group/configuration\?"), button, loaded):
            console.open(f"/g/{harbour}/settings")
        expect(page.get_by_text("lwg_").first).to_be_visible()


def test_sections_are_shown_when_all_of_them_are_known(world: World, browse: OpenConsole) -> None:
    """Not those first that need no permission: the others would push them down."""
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        page = console.page
        held: list[Route] = []
        group = re.compile(r"/group\?")
        console.context.route(group, lambda route: held.append(route))
        with page.expect_request(group):
            console.open(f"/g/{harbour}/people")
        expect(page.get_by_role("link", name="longwire")).to_be_visible()
        sections = page.get_by_role("navigation", name="Sections").locator(".side-link")
        expect(sections).to_have_count(0)
        for route in held:
            route.continue_()
        expect(sections.first).to_have_text("Overview")
        expect(sections.last).to_have_text("Roles")


def test_sections_are_shown_though_the_group_cannot_be_had(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    problem = {"code": "forbidden", "detail": "Not allowed.", "status": 403}
    with browse(world, ada) as console:
        console.expected_statuses = {403}
        group = re.compile(r"/group\?")
        console.context.route(group, lambda route: route.fulfill(status=403, json=problem))
        page = console.open(f"/g/{harbour}/people")
        sections = page.get_by_role("navigation", name="Sections").locator(".side-link")
        expect(sections.filter(has_text="Roles")).to_be_visible()
        expect(sections.filter(has_text="Overview")).to_have_count(0)
