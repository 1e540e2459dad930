"""A person at the console: a real Chromium, signed in, with everything watched that goes wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    Response,
    expect,
)

from tests.waiting import PATIENCE_S
from tests.world import Person, World, ok

PATIENCE_MS = PATIENCE_S * 1_000
AXE = (resources.files("axe_playwright_python") / "axe.min.js").read_text()
LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What is in order is not described: that takes most of the time.
FIND_VIOLATIONS = """levels => axe.run(document, {
    runOnly: {type: 'tag', values: levels},
    resultTypes: ['violations'],
}).then(found => found.violations)"""
DESKTOP = {"width": 1360, "height": 900}
PHONE = {"width": 375, "height": 800}
# The only things that the console may keep in the browser.
STORED = {"theme", "density", "language", "zone", "keys", "side", "scope"}
OF_THE_SERVICE = {"lastGroup", "views"}

# Requests that are on their way.
COUNT_REQUESTS = """
window.pending = 0;
window.quiet = 0;
const send = window.fetch;
window.fetch = (...request) => {
    window.pending += 1;
    return send(...request).finally(() => { window.pending -= 1; });
};"""
# For a few frames nothing was asked for, nothing is loading, and the screen before is gone.
SETTLED = """() => {
    const isBusy = window.pending > 0
        || document.querySelector('main .skeleton, main [aria-busy=true], main > [data-before]')
        || !document.querySelector('main > *');
    window.quiet = isBusy ? 0 : window.quiet + 1;
    return window.quiet > 3;
}"""

expect.set_options(timeout=PATIENCE_MS)


# The times of toasts, and of changes that can be undone before they are sent.
KEEP_TOASTS = """{
    const start = window.setTimeout;
    window.setTimeout = (work, ms, ...rest) =>
        start(work, ms === 8_000 || ms === 10_000 ? 3_600_000 : ms, ...rest);
}"""


class Console:
    """One browser of one person. Leaving it fails the test if anything went wrong in it."""

    def __init__(self, world: World, context: BrowserContext, url: str = "") -> None:
        self.world = world
        self.url = url or world.url  # by which the browser reaches the service
        self.context = context
        self.complaints: list[str] = []
        # Refusals that a journey is about: their errors in the browser's console are expected.
        self.expected_statuses: set[int] = set()
        context.on("console", self._on_console)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        self.page: Page = context.new_page()

    def _on_console(self, message: ConsoleMessage) -> None:
        # Chromium reports every response of 400 and above; those are looked at one by one.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def _on_request(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme in ("http", "https") and address.netloc != urlsplit(self.url).netloc:
            self.complaints.append(f"request to another host: {request.url}")

    def _on_response(self, response: Response) -> None:
        if response.status >= 400 and response.status not in self.expected_statuses:
            self.complaints.append(f"{response.status} {response.request.method} {response.url}")

    def sign_in_as(self, person: Person) -> None:
        """Sign in without the page: the cookie is set as the sign-in page would have it."""
        body = {"clientId": person.client_id, "clientSecret": person.client_secret}
        address = urlsplit(self.url)
        response = self.context.request.post(
            f"{self.url}/session",
            data=body,
            headers={
                "X-Longwire-Console": "1",
                "Origin": f"{address.scheme}://{address.netloc}",
            },
        )
        assert response.ok, response.text()

    def keep_toasts(self) -> None:
        """From the next page on they stay: ten seconds are few steps on a busy machine."""
        self.context.add_init_script(KEEP_TOASTS)

    def open(self, path: str) -> Page:
        """Open a path below /console."""
        self.page.goto(f"{self.url}/console{path}")
        return self.page

    def new_tab(self, path: str) -> Page:
        page = self.context.new_page()
        page.goto(f"{self.url}/console{path}")
        return page

    def check_accessibility(self, page: Page | None = None) -> None:
        page = page or self.page
        if not page.evaluate("'axe' in window"):
            page.evaluate(AXE)
        found: list[dict[str, Any]] = page.evaluate(FIND_VIOLATIONS, LEVELS)
        violations = [
            f"{each['id']}: {each['help']}: {[node['target'] for node in each['nodes']][:5]}"
            for each in found
        ]
        assert violations == []

    def check(self) -> None:
        """Nothing went wrong: no error, no refusal, nobody else asked, nothing stored."""
        if not self.page.is_closed():
            stored = set(self.page.evaluate("Object.keys(localStorage)"))
            path = urlsplit(self.url).path  # below which there are other groups
            here = {f"longwire.{name}{path}" for name in OF_THE_SERVICE}
            assert stored <= {f"longwire.{name}" for name in STORED} | here
        assert self.complaints == [], self.complaints


@contextmanager
def open_console(
    chromium: Browser,
    world: World,
    person: Person | None = None,
    *,
    size: dict[str, int] = DESKTOP,
    url: str = "",
    **options: Any,
) -> Iterator[Console]:
    """A fresh browser; `person` is signed in. Its checks run when the block ends without error.

    `url` is that of the service, if it is not the world's own, as behind a proxy.
    """
    options.setdefault("timezone_id", "Europe/Amsterdam")
    options.setdefault("locale", "en-GB")
    context = chromium.new_context(viewport=size, reduced_motion="reduce", **options)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    try:
        console = Console(world, context, url)
        if person is not None:
            console.sign_in_as(person)
        yield console
        console.check_accessibility()
        console.check()
    finally:
        context.close()


def drag(target: Locator, begin: tuple[float, float], end: tuple[float, float]) -> None:
    """Press at a point of an element, move to another and release: as parts of width and height.

    Not before the element has stopped moving: what is loaded above shifts it.
    """
    box = target.bounding_box()
    assert box is not None

    def hover(x: float, y: float) -> None:
        target.hover(position={"x": box["width"] * x, "y": box["height"] * y})

    hover(*begin)
    target.page.mouse.down()
    hover((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2)
    hover(*end)
    target.page.mouse.up()


def seed_devices(person: Person, group: str, count: int, **fields: Any) -> list[str]:
    """Devices with the original ids `0000000000000000` and on, through the API, in batches."""
    ids: list[str] = []
    for start in range(0, count, 1_000):
        numbers = range(start, min(start + 1_000, count))
        body = {
            "groupId": group,
            "network": "lorawan",
            "type": "generic",
            "originalDevicesIds": [f"{number:016X}" for number in numbers],
            **fields,
        }
        ids.extend(each["deviceId"] for each in ok(person.post("/devices", body))["items"])
    return ids
