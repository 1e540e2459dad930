"""What every screen shows instead of its data: loading, refused, unknown, busy, offline, empty.

One browser walks all screens in a state. The service's answers are replaced on their way to the
page, but for those that say who is there: without them there would be no screen at all.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, Route, TimeoutError, expect

from tests.console.browser import PHONE, Console
from tests.console.conftest import Company, OpenConsole
from tests.world import World

pytestmark = [pytest.mark.parametrize("engine", ["sqlite"]), pytest.mark.slow]

# Asked for by what stands around every screen.
KEPT = {"/session", "/console/settings", "/group", "/health/live"}
# One tab of a device is about something of its own once the device itself is there.
KEPT_FOR_TABS = {"/device", "/access"}
# This has nothing to load before it can be used.
FORMS = {"import"}
REQUEST_ID = "7776ddb92b00001ec"
DETAIL = "This is what the service says."
WAIT_S = 30
UNREACHABLE = "The service cannot be reached"

GO = """path => {
    const marked = document.querySelectorAll('main > *, main [role=alert], main .refreshing');
    for (const each of marked) each.dataset.before = '';
    history.pushState({}, '', '/console' + path);
}"""
NEW_ALERT = "main [role=alert]:not([data-before])"
NEW_LINE = "main .refreshing:not([data-before])"
SCREEN_BEFORE = "main > [data-before]"
GREY_ROWS = "main .skeleton, main [aria-busy=true]"


@dataclass(frozen=True)
class State:
    """How the service answers, and what every screen has to say then."""

    status: int
    code: str
    words: tuple[str, ...]


LOADING = State(0, "loading", ())
STATES = (
    LOADING,
    State(500, "internal", (DETAIL, "internal", REQUEST_ID, "Try again")),
    State(403, "forbidden", (f"may not|{DETAIL}",)),
    State(404, "not_found", ("There is no such",)),
    State(429, "too_many_requests", (DETAIL, "Trying again in")),
    State(503, "unavailable", (DETAIL, "Trying again in")),
)


def go(page: Page, path: str) -> None:
    """Follow a link, without loading the page again; what the screen before has said is marked."""
    page.evaluate(GO, path)


def show(page: Page, screen: str, path: str) -> None:
    """Go there, and wait until it is shown as a whole, and no longer the screen before it."""
    go(page, path)
    if tab := path.partition("?tab=")[2]:
        chosen = page.get_by_role("tab", selected=True)
        expect(chosen, screen).to_have_attribute("id", f"tab-{tab}")
    else:
        expect(page.locator(SCREEN_BEFORE), screen).to_have_count(0)
    expect(page.locator("main h1"), screen).to_be_visible()
    expect(page.locator(GREY_ROWS), screen).to_have_count(0)
    check_outline(page, screen)


def check_outline(page: Page, screen: str) -> None:
    """One landmark for the screen, one heading that names it, and the title of the tab says so."""
    assert page.get_by_role("main").count() == 1, screen
    headings = page.get_by_role("heading", level=1).all_inner_texts()
    assert len(headings) == 1, (screen, headings)
    expect(page, screen).to_have_title(f"{headings[0]} · longwire")


@contextmanager
def intercepting(console: Console, answer: Callable[[Route], None]) -> Iterator[set[str]]:
    """Requests to the API are answered by `answer`, but for those in the set."""
    kept = set(KEPT)

    def on_request(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path in kept or path.startswith("/console/"):
            route.continue_()
        else:
            answer(route)

    console.context.route("**/*", on_request)
    yield kept
    console.context.unroute_all(behavior="ignoreErrors")


def refuse(route: Route, state: State) -> None:
    if state is LOADING:
        return  # it gets no response
    body = {
        "type": f"urn:longwire:error:{state.code}",
        "title": "Problem",
        "status": state.status,
        "detail": DETAIL,
        "code": state.code,
        "requestId": REQUEST_ID,
    }
    route.fulfill(
        status=state.status,
        headers={"Retry-After": str(WAIT_S)} if state.status in (429, 503) else {},
        content_type="application/problem+json",
        body=json.dumps(body),
    )


@pytest.mark.parametrize(
    "states",
    # Each state on some screens; all of them on all screens take their time.
    [pytest.param(STATES, id="in-turn")]
    + [pytest.param((each,), id=each.code, marks=pytest.mark.soak) for each in STATES],
)
def test_every_screen_says_why_it_has_nothing_to_show(
    world: World, company: Company, browse: OpenConsole, states: tuple[State, ...]
) -> None:
    state = states[0]
    with browse(world, world.operator, color_scheme="dark") as console:
        console.expected_statuses = {each.status for each in states}
        with intercepting(console, lambda route: refuse(route, state)) as kept:
            page = console.open("/sign-in")
            for number, (screen, path) in enumerate(company.screens.items()):
                if screen in FORMS:
                    continue
                state = states[number % len(states)]
                if screen.startswith("device-"):
                    kept |= KEPT_FOR_TABS
                else:
                    kept -= KEPT_FOR_TABS
                go(page, path)
                if state is LOADING:
                    expect_loading(page, screen, f"{world.url}/console{path}")
                    continue
                for words in state.words:
                    said = page.locator(NEW_ALERT).filter(has_text=re.compile(words))
                    expect(said.first, f"{screen}, {state.code}").to_be_visible()
                # What is named after its data has no name without them.
                if page.locator("main h1").count():
                    check_outline(page, screen)
                if len(states) == 1 or number < len(states):
                    console.check_accessibility()


def expect_loading(page: Page, screen: str, url: str) -> None:
    expect(page).to_have_url(url)
    expect(page.locator(GREY_ROWS).first, screen).to_be_attached()
    expect(page.locator(NEW_ALERT), screen).to_have_count(0)


# Everything that can be pressed on a screen, and then in the menus and dialogs that this opens.
PRESS = """places => {
    const controls = ':is(button, [role=menuitem]):not([aria-disabled=true], :disabled)';
    for (const each of document.querySelectorAll(`:is(${places}) ${controls}`)) each.click();
}"""
OPENED = "dialog[open], :popover-open"
CLOSE = """opened => {
    for (const each of document.querySelectorAll(opened))
        each.matches('dialog') ? each.close() : each.hidePopover();
}"""
# These are sent with a body, and change nothing; a job only if it is a dry run.
QUESTIONS = ("/preview", "/job")
# The browser does not tell the bodies of requests, so the page does.
RECORD_JOBS = """() => {
    const send = window.fetch;
    window.jobs = [];
    window.fetch = (request, init) => {
        const copy = request instanceof Request ? request.clone() : new Request(request, init);
        if (copy.method === 'POST' && copy.url.endsWith('/job'))
            copy.json().then(body => window.jobs.push(body));
        return send(request, init);
    };
}"""
JOBS_STARTED = "() => window.jobs.filter(job => !job.dryRun)"


@pytest.mark.soak
def test_without_the_service_every_screen_stays_readable(
    world: World, company: Company, browse: OpenConsole
) -> None:
    """What was not kept of a screen is missing, and it says why; no button changes anything."""
    written: list[str] = []

    def on_request(request: Request) -> None:
        if request.method != "GET" and not urlsplit(request.url).path.endswith(QUESTIONS):
            written.append(f"{request.method} {request.url}")

    with browse(world, world.operator, color_scheme="dark") as console:
        page = console.open("/sign-in")
        page.on("request", on_request)
        page.evaluate(RECORD_JOBS)
        for screen, path in company.screens.items():
            show(page, screen, path)
            console.check_accessibility()
        console.context.set_offline(True)
        expect(page.locator(".offline")).to_contain_text(UNREACHABLE)
        for screen, path in company.screens.items():
            go(page, path)
            expect(page).to_have_url(f"{world.url}/console{path}")
            expect(page.locator("main h1"), screen).to_be_visible()
            other = page.locator(NEW_ALERT).filter(has_not_text=UNREACHABLE)
            expect(other, screen).to_have_count(0)
            for places in ("main", OPENED):
                page.evaluate(PRESS, places)
            page.evaluate(CLOSE, OPENED)
            assert written == page.evaluate(JOBS_STARTED) == [], screen
        console.context.set_offline(False)
        expect(page.locator(".offline")).to_have_count(0)
        assert written == page.evaluate(JOBS_STARTED) == []


# What reaches beyond the window: the page, or a part of it that would have to be scrolled sideways.
# Code keeps its lines; tabs of a device and the sections at the foot are meant to be swiped.
SIDEWAYS = """() => [document.scrollingElement, ...document.querySelectorAll('main *')]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .filter(each => ['auto', 'scroll'].includes(getComputedStyle(each).overflowX)
        || each === document.scrollingElement)
    .filter(each => !each.matches('pre, textarea, input, [role=tablist]'))
    .map(each => each.className || each.tagName)"""


@pytest.mark.soak
def test_on_a_phone_no_screen_is_scrolled_sideways(
    world: World, company: Company, browse: OpenConsole
) -> None:
    connector = company.screens["connector"]
    tabs = {f"connector-{tab}": f"{connector}?tab={tab}" for tab in ("edit", "replays", "changes")}
    with browse(world, world.operator, size=PHONE) as console:
        page = console.open("/sign-in")
        for screen, path in (company.screens | tabs).items():
            show(page, screen, path)
            # A chart or a table may be about to take the width that it has found.
            with suppress(TimeoutError):
                page.wait_for_function(f"() => ({SIDEWAYS})().length === 0")
            assert page.evaluate(SIDEWAYS) == [], screen


EMPTY = (
    "overview",
    "alarms",
    "live",
    "devices",
    "map",
    "connectors",
    "messages",
    "notifications",
    "reports",
    "contact-points",
    "shared-views",
    "clients",
    "jobs",
    "drift",
    "unknown-devices",
)


def test_a_new_group_says_what_belongs_there(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    group = ada.group("Harbour")
    with browse(world, ada) as console:
        page = console.open("/groups")
        for screen in EMPTY:
            go(page, f"/g/{group}/{screen}")
            expect(page.locator("main .state, main .overview-steps").first, screen).to_be_visible()
            console.check_accessibility()


# Screens whose data are of a range that moves on load another one instead.
REFRESHED = (
    *("devices", "connectors", "notifications", "notification", "reports", "report", "people"),
    *("clients", "jobs", "job", "drift", "groups", "settings", "device", "trace"),
    *("message-trace", "platform"),
)
STALE_MS = 70_000


@pytest.mark.soak
def test_screens_keep_what_they_show_while_it_is_asked_for_again(
    world: World, company: Company, browse: OpenConsole
) -> None:
    waiting: list[Route] = []
    with browse(world, world.operator) as console:
        console.page.clock.install()
        page = console.open("/account")
        for screen in REFRESHED:
            go(page, company.screens[screen])
            expect(page).to_have_url(f"{world.url}/console{company.screens[screen]}")
            expect(page.locator(SCREEN_BEFORE), screen).to_have_count(0)
            expect(page.locator("main h1"), screen).to_be_visible()
            expect(page.locator(GREY_ROWS), screen).to_have_count(0)
        go(page, "/account")
        page.clock.fast_forward(STALE_MS)
        with intercepting(console, waiting.append):
            for screen in REFRESHED:
                waiting.clear()
                go(page, company.screens[screen])
                expect(page).to_have_url(f"{world.url}/console{company.screens[screen]}")
                expect(page.locator("main h1"), screen).to_be_visible()
                expect(page.locator(NEW_LINE).first, screen).to_be_attached()
                expect(page.locator("main .skeleton"), screen).to_have_count(0)


# A filter of each list that nothing fits.
UNMATCHED = {
    "alarms": "?severity=info&reason=batteryLow",
    "groups": "?q=nowhere",
    "types": "?q=nowhere",
    "live": "?filter=false",
    "devices": "?q=nowhere&tag=none",
    "map": "?q=nowhere",
    "connectors": "?q=nowhere",
    "messages": "?connector=old-broker&kind=data",
    "notifications": "?q=nowhere",
    "reports": "?q=nowhere",
    "contact-points": "?q=nowhere",
    "jobs": "?state=cancelled",
    "audit": "?action=nothing",
}


@pytest.mark.soak
def test_every_list_names_the_filters_that_leave_nothing(
    world: World, company: Company, browse: OpenConsole
) -> None:
    with browse(world, world.operator) as console:
        console.expected_statuses = {400, 404}
        page = console.open("/account")
        for screen, filters in UNMATCHED.items():
            path = company.screens[screen].partition("?")[0]
            go(page, path + filters)
            expect(page.get_by_text("Nothing matches."), screen).to_be_visible()
            expect(page.locator(".chips button"), screen).to_have_count(filters.count("="))
            console.check_accessibility()
            page.get_by_role("button", name="Clear all").click()
            expect(page.get_by_text("Nothing matches."), screen).to_have_count(0)
            expect(page, screen).not_to_have_url(
                re.compile("nowhere|false|cancelled|nothing|broker")
            )


@pytest.mark.soak
def test_on_every_screen_a_session_that_ended_asks_to_sign_in(
    world: World, company: Company, browse: OpenConsole
) -> None:
    state = State(401, "unauthorized", ())
    with browse(world, world.operator) as console:
        console.expected_statuses = {401}
        with intercepting(console, lambda route: refuse(route, state)):
            for screen, path in company.screens.items():
                if screen in FORMS:
                    continue
                page = console.open(path)
                dialog = page.get_by_role("dialog", name="Your session has ended")
                expect(dialog, screen).to_be_visible()
                expect(page.locator("main"), screen).to_be_visible()
