"""Chromium for the journeys: one for each worker, a fresh context for each browser."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser

from longwire_cli.demo.seeding import SeedOptions
from tests.chromium import Driver
from tests.console.browser import Console, open_console
from tests.console.screens import list_screens
from tests.demo_world import fill_world
from tests.world import Person, World, ok

OpenConsole = Callable[..., AbstractContextManager[Console]]
NOWHERE = "http://127.0.0.1:9"


@dataclass(frozen=True)
class Company:
    group: str
    screens: dict[str, str]


@pytest.fixture
def company(world: World) -> Company:
    """The company of the demo; whom it forwards to is not there."""
    options = SeedOptions(NOWHERE, NOWHERE, devices=11, history_days=0.1)
    group = fill_world(world, options).group_id

    def get(path: str, parameters: dict[str, str]) -> object:
        return ok(world.operator.get(path, **parameters))

    return Company(group, list_screens(get, group))


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
