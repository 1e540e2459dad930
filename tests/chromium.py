"""Chromium, driven by Playwright: one driver for all tests of a worker.

Playwright's loop counts as running in the main thread from its start to its stop, and where one
runs there can be no other: tests that run a loop of their own would fail after the first journey.
So the loop is taken away between the tests that need it.
"""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from longwire.web import console_page

# The one without the windows around a page takes two thirds of the processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
PATH = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--js-flags=--no-opt --no-maglev", "--in-process-gpu"),
)


def require_console() -> None:
    """Skip without the built console in a clone that keeps it out of git; elsewhere fail."""
    index = console_page.FOLDER / console_page.INDEX
    if index.exists():
        return
    missing = "the console is not built; `make console` builds it"
    check = subprocess.run(["git", "check-ignore", "-q", index], cwd=Path(__file__).parent)
    pytest.skip(missing) if check.returncode == 0 else pytest.fail(missing)


class Driver:
    """Starts browsers. They can be used while it is awake."""

    def __init__(self) -> None:
        if PATH is None:
            pytest.skip("Chromium is missing; `make signin` installs it")
        require_console()
        self._playwright = sync_playwright().start()
        self._loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)

    @contextmanager
    def awake(self) -> Iterator[None]:
        asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(None)

    def launch(self, *flags: str) -> Browser:
        return self._playwright.chromium.launch(executable_path=PATH, args=[*FLAGS, *flags])

    def stop(self) -> None:
        asyncio._set_running_loop(self._loop)
        self._playwright.stop()
