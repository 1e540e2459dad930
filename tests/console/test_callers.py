"""A narrow role at the console: nobody is offered what the service then refuses.

A browser opens screens, follows what it is offered, and presses every button, also those of the
dialogs that open. What would change something is caught on its way and compared with the
permissions of that person, so that nothing changes and the order does not matter.
"""

import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, Response, Route, expect

from longwire.demo.seeding import SeedOptions
from tests.console.browser import Console
from tests.console.conftest import OpenConsole
from tests.console.screens import list_screens
from tests.demo_world import fill_world
from tests.world import Person, World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

NOWHERE = "http://127.0.0.1:9"
NARROW = ("group.read", "device.read", "device.update", "record.read")
# Those with many buttons.
PICKED = ("devices",)
# Leads out of the screen, or says nothing to the service.
SKIPPED = re.compile("Sign out|^Copy|Download|^Close$|^Cancel$|^Dismiss$|^Why")
NOT_SEEN = re.compile("may not see this|but not its|There is no such")

GO = "path => history.pushState({}, '', '/console' + path)"
BUSY = "main .skeleton, main [aria-busy=true]"
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Names of the buttons within a part of the page, each once.
NAMES = """within => {
    const all = [...document.querySelectorAll(`${within} button, ${within} [role=switch]`)];
    const shown = all.filter(each => each.checkVisibility() && !each.ariaDisabled);
    return [...new Set(shown.map(each => (each.ariaLabel || each.textContent).trim()))];
}"""
PRESS = """([within, name]) => {
    const all = [...document.querySelectorAll(`${within} button, ${within} [role=switch]`)];
    const found = all.find(each => each.checkVisibility()
        && (each.ariaLabel || each.textContent).trim() === name);
    found?.click();
    return found !== undefined;
}"""
# What a form needs before it is sent; React sees it as typed.
FILL = """within => {
    const set = (type, element, value) => {
        Object.getOwnPropertyDescriptor(type.prototype, 'value').set.call(element, value);
        element.dispatchEvent(new Event('input', {bubbles: true}));
    };
    for (const each of document.querySelectorAll(`${within} input`)) {
        const name = each.labels?.[0]?.textContent ?? '';
        const typed = /Type the name to go on: (.*)/.exec(name)?.[1];
        if (['text', 'search', ''].includes(each.type) && !each.value)
            set(HTMLInputElement, each, typed ?? 'x');
        if (each.type === 'email') set(HTMLInputElement, each, 'somebody@example.com');
    }
    for (const each of document.querySelectorAll(`${within} textarea`))
        if (!each.value) set(HTMLTextAreaElement, each, '{}');
}"""
OPENED = "dialog[open], [popover]:popover-open"
DEPTH_MAX = 2


@dataclass
class Caller:
    """Somebody at the console, and what they try to change."""

    name: str
    person: Person
    permissions: set[str]
    is_operator: bool = False
    tried: list[str] = field(default_factory=list)

    def may(self, needs: str | None) -> bool:
        return self.is_operator or needs is None or needs in self.permissions


@dataclass(frozen=True)
class Company:
    group: str
    screens: dict[str, str]
    needs: dict[str, str]  # the permission of each operation that needs one


@pytest.fixture
def company(world: World) -> Company:
    options = SeedOptions(NOWHERE, NOWHERE, devices=11, history_days=0.1)
    group = fill_world(world, options).group_id

    def get(path: str, parameters: dict[str, str]) -> object:
        return ok(world.operator.get(path, **parameters))

    document = ok(world.operator.get("/openapi.json"))
    needs = {
        f"{method.upper()} {path}": operation["x-permission"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "." in operation.get("x-permission", "")
    }
    return Company(group, list_screens(get, group), needs)


def create_caller(world: World, company: Company, name: str) -> Caller:
    if name == "operator":
        return Caller(name, world.operator, set(), is_operator=True)
    person = world.person(name)
    if name == "nobody":
        return Caller(name, person, set())
    role = world.operator.role(*NARROW, name="Narrow") if name == "narrow" else name
    world.operator.invite(person, company.group, role)
    (group,) = ok(person.get("/group", groupId=company.group))
    held = group["role"]["permissions"]
    return Caller(name, person, set(held))


class Walk:
    """One browser of a caller, at one screen after the other."""

    def __init__(self, console: Console, company: Company, caller: Caller) -> None:
        self.page: Page = console.page
        self._console = console
        self._company = company
        self._caller = caller
        self._refused: list[str] = []
        console.expected_statuses = {400, 403, 404}
        console.context.on("response", self._on_response)
        console.context.route("**/*", self._on_request)
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.page.clock.install()
        self.page.goto(f"{console.url}/console/account")

    def _on_response(self, response: Response) -> None:
        if response.status == 403:
            self._refused.append(f"{response.request.method} {urlsplit(response.url).path}")

    def _on_request(self, route: Route, request: Request) -> None:
        """Whatever would change something is noted, and answered without asking the service."""
        operation = f"{request.method} {urlsplit(request.url).path}"
        if request.method in ("GET", "HEAD"):
            route.continue_()
            return
        self._caller.tried.append(operation)
        if not self._caller.may(self._company.needs.get(operation)):
            self._complain(f"is offered {operation}")
        body = {"code": "bad_input", "detail": "Nothing was changed.", "status": 400}
        route.fulfill(status=400, content_type="application/problem+json", body=json.dumps(body))

    def _complain(self, what: str) -> None:
        self._console.complaints.append(f"{self._caller.name} {what} on {self.page.url}")

    def _check_refusals(self, *, is_offered: bool) -> None:
        """What was refused was asked for by an address, and the screen says so."""
        main = self.page.get_by_role("main").inner_text() if self._refused else ""
        if self._refused and (is_offered or not NOT_SEEN.search(main)):
            self._complain(f"is refused {self._refused}")
        self._refused.clear()

    def go(self, path: str) -> None:
        self.page.evaluate(GO, path)
        self._settle(path)
        self._check_refusals(is_offered=False)

    def _settle(self, path: str) -> None:
        expect(self.page.locator("main h1, main [role=alert]").first, path).to_be_visible()
        expect(self.page.locator(BUSY), path).to_have_count(0)

    def press_all(self, path: str, within: str = "main", before: tuple[str, ...] = ()) -> None:
        """Press each button, and what then opens; `before` are those that led here."""
        page = self.page
        names = [each for each in page.evaluate(NAMES, within) if not SKIPPED.search(each)]
        for name in names:
            self._reach(path, before)
            page.evaluate(FILL, within)
            page.evaluate(FRAMES)
            if not page.evaluate(PRESS, [within, name]):
                continue
            page.evaluate(FRAMES)
            if page.locator(".toasts .toast-action").count() > 0:
                page.clock.fast_forward(9_000)  # what can be called off is sent then
            self._check_refusals(is_offered=True)
            if len(before) < DEPTH_MAX and page.locator(OPENED).count() > 0:
                self.press_all(path, f":is({OPENED})", (*before, name))

    def _reach(self, path: str, presses: tuple[str, ...]) -> None:
        """The screen as it is after these buttons."""
        self.go("/account")
        self.go(path)
        within = "main"
        for name in presses:
            self.page.evaluate(PRESS, [within, name])
            self.page.evaluate(FRAMES)
            within = f":is({OPENED})"

    def follow_sections(self) -> None:
        """What stands at the side can be seen."""
        self.go(f"/g/{self._company.group}/settings")
        links = self.page.get_by_role("navigation", name="Sections").get_by_role("link")
        for number in range(links.count()):
            links.nth(number).click()
            self._settle(self.page.url)
            self._check_refusals(is_offered=True)
            if self._caller.name != "nobody":
                expect(self.page.get_by_role("main"), self.page.url).not_to_contain_text(NOT_SEEN)


def walk_screens(
    world: World, company: Company, browse: OpenConsole, name: str, screens: tuple[str, ...]
) -> None:
    caller = create_caller(world, company, name)
    with browse(world, caller.person) as console:
        walk = Walk(console, company, caller)
        for screen in screens:
            walk.go(company.screens[screen])
            walk.press_all(company.screens[screen])
        walk.follow_sections()
    # Whoever may change something has found a way to.
    may_write = any(each.endswith((".write", ".update")) for each in caller.permissions)
    assert caller.tried or not (caller.is_operator or may_write)


def test_a_narrow_role_is_offered_only_what_it_may_do(
    world: World, company: Company, browse: OpenConsole
) -> None:
    walk_screens(world, company, browse, "narrow", PICKED)
