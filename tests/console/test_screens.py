"""What holds for all screens is looked at on every one: each route and each tab is among them."""

import re
from pathlib import Path
from typing import Any

from tests.console.screens import list_screens

SOURCES = Path(__file__).parents[2] / "console/src"
_ROUTE = re.compile(r'^  path: "(/[^"]*)",$', re.MULTILINE)
_DEVICE_TABS = re.compile(r"const TABS: .*? = \[\n(.*?)\n\];", re.DOTALL)
_ID = re.compile(r'id: "(\w+)"')

# These lead to another, or have no frame and a journey of their own.
NO_SCREEN = {"/", "/g/$groupId", "/sign-in", "/report"}


def list_routes() -> set[str]:
    return set(_ROUTE.findall((SOURCES / "routes.tsx").read_text())) - NO_SCREEN


def find_route(path: str, routes: set[str]) -> str | None:
    """That of a path; a word goes before a parameter, as /new goes before an id."""
    fitting = [each for each in routes if re.fullmatch(re.sub(r"\$\w+", "[^/]+", each), path)]
    return min(fitting, key=lambda each: each.count("$"), default=None)


def answer(_path: str, _parameters: dict[str, str]) -> Any:
    ids = ("deviceId", "id", "jobId")
    return {"items": [dict.fromkeys(ids, "some-id")]}


def test_every_route_and_every_tab_of_a_device_is_a_screen() -> None:
    screens = list_screens(answer, "some-group")
    routes = list_routes()
    found = {find_route(path.partition("?")[0], routes) for path in screens.values()}
    assert found == routes, "tests/console/screens.py lists other screens than routes.tsx"
    tabs = _DEVICE_TABS.search((SOURCES / "pages/device/device-page.tsx").read_text())
    assert tabs is not None
    _, *others = _ID.findall(tabs[1])  # the first is shown by the device's own address
    assert {f"device-{each}" for each in others} == {
        name for name in screens if name.startswith("device-")
    }
