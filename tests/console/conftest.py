"""Chromium for the journeys: one for each worker, a fresh context for each browser."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.console.browser import CHROMIUM, FLAGS, Console, open_console
from tests.world import Person, World

OpenConsole = Callable[..., AbstractContextManager[Console]]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is missing; `make signin` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS])
        yield browser
        browser.close()


@pytest.fixture
def browse(chromium: Browser) -> OpenConsole:
    """`with browse(world, person) as console:` is a browser of that person."""

    def browse(world: World, person: Person | None = None, **options: Any) -> Any:
        return open_console(chromium, world, person, **options)

    return browse
