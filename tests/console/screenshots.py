"""Pictures of every screen in both themes, on a desktop and on a phone: `make screenshots`.

They show the company of `longwire demo`. A few go into docs/pictures/, for the documents; the rest
is for whoever changes a screen and wants to see what became of the others.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.chromium import FLAGS, PATH
from tests.console.screens import CONNECTOR, list_screens

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build/screenshots"
PICTURES = ROOT / "docs/pictures"
# These are for the documents; each in one theme.
CHOSEN = {
    "overview": "light",
    "live": "dark",
    "device-chart": "light",
    "explore": "light",
    "connector": "light",
    "message-trace": "light",
    "map": "dark",
}
# What a person would look at, where the first thing that a screen shows says little.
BETTER = {
    "connector": "?from=now-1h",
    "device-chart": "&measurement=celsius&measurement=door",
    "devices": "?values=celsius&values=humidity&values=door&where=celsius!%3Dnull",
    "explore": "?from=now-30d",
    "messages": "?from=now-1h",
    "map": "?at=52.3,4.9,7",
}
# These fill while they are open, so they are opened first and taken last.
FILLING = "live"
PICTURE_MAX = 200_000
SIZES = {"desktop": (1_360, 900), "phone": (375, 800)}
LOCALES = {"en": "en-GB", "de": "de-DE", "fr": "fr-FR"}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
DEMO = ("demo", "--json", "--port", "0", "--seed", "1", "--rate", "2")
PATIENCE_MS = 30_000
STEP_MS = 300
STEPS_MAX = 10

# There is a screen, and nothing of it is loading.
SETTLED = """() => {
    if (document.querySelector('[aria-busy="true"], .refreshing')) return false;
    return document.querySelector('main, form') !== null;
}"""


@contextmanager
def run_demo() -> Iterator[dict[str, Any]]:
    command = [sys.executable, "-m", "longwire", *DEMO]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def sign_in(context: BrowserContext, demo: dict[str, Any]) -> None:
    known = json.loads((Path(demo["data"]) / "operator.json").read_text())
    response = context.request.post(
        f"{demo['url']}/session",
        data={"clientId": known["clientId"], "clientSecret": known["clientSecret"]},
        headers={"X-Longwire-Console": "1", "Origin": demo["url"]},
    )
    assert response.ok, response.text()


def take(page: Page, path: Path) -> None:
    """Once nothing loads and two pictures are the same; live screens never are."""
    page.wait_for_function(SETTLED, timeout=PATIENCE_MS)
    before = b""
    for _ in range(STEPS_MAX):
        page.wait_for_timeout(STEP_MS)
        after = page.screenshot(path=path)
        if after == before:
            break
        before = after
    print(path.relative_to(ROOT), flush=True)


def take_screens(context: BrowserContext, demo: dict[str, Any], names: set[str], kind: str) -> None:
    """Of one browser: those that are named, or all."""

    def get(path: str, parameters: dict[str, str]) -> Any:
        response = context.request.get(f"{demo['url']}{path}", params=parameters)
        assert response.ok, response.text()
        return response.json()

    def open_page(path: str) -> Page:
        page = context.new_page()
        page.goto(f"{demo['url']}/console{path}")
        return page

    def take_one(name: str, page: Page) -> None:
        take(page, FOLDER / f"{name}-{kind}.png")
        page.close()

    if not names or "sign-in" in names:
        take_one("sign-in", open_page("/sign-in"))
    sign_in(context, demo)
    paths = list_screens(get, demo["groupId"])
    failed = {"groupId": demo["groupId"], "connectorId": CONNECTOR, "status": "failed"}
    if messages := get("/connector/messages", failed)["items"]:
        paths["message-trace"] = f"/m/{messages[0]['id']}"  # with more than one attempt
    wanted = [name for name in paths if not names or name in names]
    filling = open_page(paths[FILLING]) if FILLING in wanted else None
    for name in wanted:
        if name != FILLING:
            take_one(name, open_page(paths[name] + BETTER.get(name, "")))
    if filling is not None:
        take_one(FILLING, filling)


def take_all(browser: Browser, demo: dict[str, Any], names: set[str], language: str) -> None:
    for size, (width, height) in SIZES.items():
        for theme in THEMES:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=theme,
                reduced_motion="reduce",
                timezone_id="Europe/Amsterdam",
                locale=LOCALES[language],
            )
            take_screens(
                context,
                demo,
                names,
                f"{size}-{theme}" if language == "en" else f"{size}-{theme}-{language}",
            )
            context.close()


def choose(names: set[str]) -> None:
    """Copy those for the documents."""
    PICTURES.mkdir(exist_ok=True)
    for name, theme in CHOSEN.items():
        if names and name not in names:
            continue
        picture = FOLDER / f"{name}-desktop-{theme}.png"
        size = picture.stat().st_size
        if size > PICTURE_MAX:
            sys.exit(f"{picture} has {size:,} bytes; a document takes {PICTURE_MAX:,}")
        shutil.copyfile(picture, PICTURES / f"{name}.png")


def main() -> None:
    """Names of screens, if given, are the only ones that are taken; `de` or `fr` is a language."""
    names = set(sys.argv[1:]) - LOCALES.keys()
    language = next((each for each in sys.argv[1:] if each in LOCALES), "en")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with run_demo() as demo, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PATH, args=[*FLAGS])
        take_all(browser, demo, names, language)
        browser.close()
    if language == "en":
        choose(names)


if __name__ == "__main__":
    main()
