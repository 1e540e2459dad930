"""Chromium for the journeys: one for each worker, a fresh context for each browser."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.chromium import Driver
from tests.console.browser import Console, open_console
from tests.world import Person, World

OpenConsole = Callable[..., AbstractContextManager[Console]]


@pytest.fixture(scope="session")
def chromium(driver: Driver) -> Iterator[Browser]:
    with driver.awake():
        browser = driver.launch()
    yield browser
    with driver.awake():
        browser.close()


@pytest.fixture
def browse(driver: Driver, chromium: Browser) -> Iterator[OpenConsole]:
    """`with browse(world, person) as console:` is a browser of that person."""

    def browse(world: World, person: Person | None = None, **options: Any) -> Any:
        return open_console(chromium, world, person, **options)

    with driver.awake():
        yield browse
