"""Six kinds of caller at every screen: nobody is offered what the service then refuses.

A seventh kind, app clients, cannot sign in: tests/identity/test_sessions.py.

A browser of each opens every screen by its address, follows what stands at the side, and uses
whatever a screen offers: buttons, switches, choices, and those of the menus and dialogs that open.
What would change something is caught on its way and compared with the permissions of the caller,
so nothing changes, and the order does not matter.
"""

import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Request, Response, Route, expect

from tests.console.browser import COUNT_REQUESTS, SETTLED, Console
from tests.console.conftest import Company, OpenConsole
from tests.world import Person, World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

NARROW = ("group.read", "device.read", "device.update", "record.read")
CALLERS = ("operator", "administrator", "manager", "narrow", "viewer", "nobody")
# Leads out of the console, or says nothing to the service.
SKIPPED = re.compile("Sign out|^Copy|Download|^Close$|^Cancel$|^Dismiss$")
# What is said instead of something that may not be seen.
NOT_SEEN = re.compile(
    "may not see this|There is no such|those who run the service|Choose a group first"
)
HOLD_MS = 9_000  # after which a deletion is sent
PAUSE_MS = 500  # after which what was typed is looked at
DEPTH_MAX = 2
ALIKE_MAX = 2  # of things that differ by a name only

MARK = """() => {
    for (const each of document.querySelectorAll('main > *')) each.dataset.before = '';
    window.quiet = 0;
}"""
GO = f"path => {{ ({MARK})(); history.pushState({{}}, '', '/console' + path); }}"
# What can be used: of the dialog or menu that is open, else of the screen.
OFFERS = """
const opened = [...document.querySelectorAll('dialog[open], [popover]:popover-open')].at(-1);
const scope = opened ?? document.querySelector('main');
const title = opened ? 'opened ' + (opened.querySelector('h2')?.textContent ?? '') : 'screen';
const KINDS = 'button, [role=switch], select, input[type=checkbox], input[type=radio]';
const nameOf = each => (each.ariaLabel || each.labels?.[0]?.textContent || each.textContent).trim();
const offers = [...scope.querySelectorAll(KINDS)].filter(
    each => each.checkVisibility() && !each.ariaDisabled && !each.disabled);
"""
NAMES = f"""() => {{
    {OFFERS}
    return offers.map(each => [title, each.tagName, nameOf(each)]);
}}"""
# Every field is filled as if typed, and then what has that name is used; React sees both.
USE = f"""([tag, name]) => {{
    {OFFERS}
    const found = offers.find(each => each.tagName === tag && nameOf(each) === name);
    window.quiet = 0;
    if (found instanceof HTMLSelectElement) {{
        const others = [...found.options].filter(each => !each.selected && !each.disabled);
        if (others.length === 0) return false;
        found.value = others.at(-1).value;
        found.dispatchEvent(new Event('change', {{bubbles: true}}));
    }} else found?.click();
    return found !== undefined;
}}"""
FILL = f"""() => {{
    {OFFERS}
    const set = (type, element, value) => {{
        Object.getOwnPropertyDescriptor(type.prototype, 'value').set.call(element, value);
        element.dispatchEvent(new Event('input', {{bubbles: true}}));
    }};
    window.quiet = 0;
    if (!opened) return;
    for (const each of scope.querySelectorAll('input')) {{
        const typed = /Type the name to confirm: (.*)/.exec(nameOf(each))?.[1];
        if (['text', 'search'].includes(each.type) && !each.value)
            set(HTMLInputElement, each, typed ?? 'x');
        if (each.type === 'email') set(HTMLInputElement, each, 'somebody@example.com');
    }}
    for (const each of scope.querySelectorAll('textarea'))
        if (!each.value) set(HTMLTextAreaElement, each, '{{}}');
}}"""

Offer = tuple[str, str, str]  # where it stands, its tag, its name


@dataclass
class Caller:
    """Somebody at the console, and what they tried to change."""

    name: str
    person: Person
    permissions: set[str]
    is_operator: bool = False
    tried: set[str] = field(default_factory=set)

    def may(self, needs: str | None) -> bool:
        return self.is_operator or needs is None or needs in self.permissions


@pytest.fixture
def needs(world: World) -> dict[str, str]:
    """The permission of each operation that needs one."""
    document = ok(world.operator.get("/openapi.json"))
    return {
        f"{method.upper()} {path}": operation["x-permission"]
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if "." in operation.get("x-permission", "")
    }


def create_caller(world: World, company: Company, name: str) -> Caller:
    if name == "operator":
        return Caller(name, world.operator, set(), is_operator=True)
    person = world.person(name)
    if name == "nobody":
        return Caller(name, person, set())
    role = world.operator.role(*NARROW, name="Narrow") if name == "narrow" else name
    world.operator.invite(person, company.group, role)
    (group,) = ok(person.get("/group", groupId=company.group))
    return Caller(name, person, set(group["role"]["permissions"]))


class Walk:
    """One browser of a caller, at one screen after the other."""

    def __init__(
        self, console: Console, company: Company, needs: dict[str, str], caller: Caller
    ) -> None:
        self.page = console.page
        self._console = console
        self._company = company
        self._needs = needs
        self._caller = caller
        self._refused: list[str] = []
        self._used: set[tuple[str, Offer]] = set()
        self._fresh: tuple[str, list[Offer]] = ("", [])
        console.expected_statuses = {400, 403, 404}
        console.context.on("response", self._on_response)
        console.context.route("**/*", self._on_request)
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.page.clock.install()
        self.page.add_init_script(COUNT_REQUESTS)
        console.open("/account")
        self.page.wait_for_function(SETTLED, polling="raf")

    def _on_response(self, response: Response) -> None:
        if response.status == 403:
            self._refused.append(f"{response.request.method} {urlsplit(response.url).path}")

    def _on_request(self, route: Route, request: Request) -> None:
        """Whatever would change something is noted, and answered without asking the service."""
        address = urlsplit(request.url)
        asked = f"{address.query} {request.post_data or ''}"
        is_dry = address.path.endswith("/preview") or re.search(r'dryRun"?[:=]"?true', asked)
        if request.method in ("GET", "HEAD") or is_dry:
            route.continue_()
            return
        operation = f"{request.method} {address.path}"
        self._caller.tried.add(operation)
        if operation == "POST /group" and "parentId" not in address.query:
            operation = ""  # a group at the top is everybody's to create
        if not self._caller.may(self._needs.get(operation)):
            self._complain(f"is offered {operation}")
        body = {"code": "bad_input", "detail": "Nothing was changed.", "status": 400}
        route.fulfill(status=400, content_type="application/problem+json", body=json.dumps(body))

    def _complain(self, what: str) -> None:
        self._console.complaints.append(f"{self._caller.name} {what} on {self.page.url}")

    def _settle(self) -> None:
        self.page.wait_for_function(SETTLED, polling="raf")

    def _leave(self, path: str) -> None:
        """To a screen that everybody sees, so that nothing of the last one is left."""
        away = "/groups" if path.startswith("/account") else "/account"
        if not self.page.url.endswith(f"/console{away}"):
            self.page.evaluate(GO, away)
            self._settle()

    def go(self, path: str) -> None:
        """Open a screen by its address: it shows what it is for, or says why it does not."""
        self._leave(path)
        self.page.evaluate(GO, path)
        self._settle()
        main = self.page.get_by_role("main")
        if self._refused and not NOT_SEEN.search(main.inner_text()):
            self._complain(f"does not read why {self._refused} was refused")
        self._refused.clear()
        if main.locator(".state-error").count() > 0:
            self._complain(f"sees {main.locator('.state-error').first.inner_text()!r}")

    def _offers(self) -> list[Offer]:
        """What can be used, but for things of a kind that were there before."""
        alike: dict[tuple[str, str, str], int] = {}
        offers = []
        for scope, tag, name in dict.fromkeys(map(tuple, self.page.evaluate(NAMES))):
            kind = (scope, tag, name.split(" ")[0])
            alike[kind] = alike.get(kind, 0) + 1
            if name and alike[kind] <= ALIKE_MAX and not SKIPPED.search(name):
                offers.append((scope, tag, name))
        return offers

    def use_all(self, path: str) -> None:
        """Use whatever the screen offers, and what that brings in turn."""
        self.go(path)
        screen = urlsplit(path).path  # tabs have the same head
        self._fresh = (self.page.url, self._offers())
        known = set(self._fresh[1])
        offers = [each for each in self._fresh[1] if (screen, each) not in self._used]
        self._used |= {(screen, each) for each in offers}
        for offer in offers:
            self._use(path, (offer,), known)

    def _use(self, path: str, steps: tuple[Offer, ...], known: set[Offer]) -> None:
        self._reach(path, steps[:-1])
        before = self.page.url
        if not self._press(steps[-1]):
            return
        if self._refused:
            self._complain(f"is refused {self._refused} after {[name for *_, name in steps]}")
            self._refused.clear()
        if len(steps) > DEPTH_MAX or urlsplit(self.page.url).path != urlsplit(before).path:
            return
        new = [each for each in self._offers() if each not in known]
        for each in new:
            self._use(path, (*steps, each), known | set(new))

    def _reach(self, path: str, steps: tuple[Offer, ...]) -> None:
        """The screen as it is after these steps; it is opened again unless nothing has changed."""
        self.page.keyboard.press("Escape")
        if (self.page.url, self._offers()) != self._fresh:
            self.go(path)
        for each in steps:
            self._press(each)

    def _press(self, offer: Offer) -> bool:
        _, tag, name = offer
        self.page.evaluate(FILL)
        self._pass(PAUSE_MS)
        is_there = bool(self.page.evaluate(USE, [tag, name]))
        self._pass(PAUSE_MS)
        if self.page.locator(".toasts .toast-action").count() > 0:
            self._pass(HOLD_MS)
        return is_there

    def _pass(self, milliseconds: int) -> None:
        self.page.clock.fast_forward(milliseconds)
        self._settle()

    def follow_sections(self) -> None:
        """What stands at the side can be seen."""
        self.go(f"/g/{self._company.group}/settings")
        links = self.page.get_by_role("navigation", name="Sections").get_by_role("link")
        for number in range(links.count()):
            self._leave("")
            self.page.evaluate(MARK)
            links.nth(number).click()
            self._settle()
            if self._refused:
                self._complain(f"is refused {self._refused} behind a section")
                self._refused.clear()
            if self._caller.name != "nobody":
                expect(self.page.get_by_role("main"), self.page.url).not_to_contain_text(NOT_SEEN)


def may_change(caller: Caller) -> bool:
    return caller.is_operator or any(
        each.endswith((".write", ".update")) for each in caller.permissions
    )


def test_a_narrow_role_sees_every_screen_or_why_not(
    world: World, company: Company, needs: dict[str, str], browse: OpenConsole
) -> None:
    caller = create_caller(world, company, "narrow")
    with browse(world, caller.person) as console:
        walk = Walk(console, company, needs, caller)
        for path in company.screens.values():
            walk.go(path)
        walk.follow_sections()


@pytest.mark.soak
@pytest.mark.parametrize("name", CALLERS)
def test_nobody_is_offered_what_is_refused(
    world: World, company: Company, needs: dict[str, str], browse: OpenConsole, name: str
) -> None:
    caller = create_caller(world, company, name)
    with browse(world, caller.person) as console:
        walk = Walk(console, company, needs, caller)
        for path in company.screens.values():
            walk.use_all(path)
        walk.follow_sections()
    # Whoever may change something has found a way to.
    assert bool(caller.tried) or not may_change(caller)
    print(f"{name} tried {sorted(caller.tried)}")
