"""The service is updated while somebody has the console open."""

import shutil
from pathlib import Path

import pytest
from playwright.sync_api import expect

from longwire.web import console_page
from longwire.web.console_page import ConsolePage, load_console
from tests.chromium import require_console
from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require_console()
    copy = shutil.copytree(console_page.FOLDER, tmp_path / "console")
    monkeypatch.setattr(console_page, "FOLDER", copy)
    return copy


def update(world: World, folder: Path) -> None:
    """Another build is served from now on, as after a restart."""
    style = folder / "assets/style.css"
    style.write_text(style.read_text() + "/* newer */")
    (route,) = (each for each in world.app.routes if each.path == console_page.PATH)
    page = route.handler.__self__  # type: ignore[union-attr]
    assert isinstance(page, ConsolePage)
    page._console = None


def test_a_page_of_the_last_version_loads_the_new_one_when_a_file_is_gone(
    folder: Path, world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        jobs = page.get_by_role("link", name="Jobs", exact=True)
        expect(jobs).to_be_visible()
        update(world, folder)
        console.expected_statuses = {404}
        jobs.click()
        expect(page).to_have_url(f"{world.url}/console/g/{harbour}/jobs")
        expect(page.get_by_role("heading", name="Jobs", exact=True)).to_be_visible()
        script = page.locator("script[type=module]").get_attribute("src")
        assert script == f"/console/{load_console(folder).fingerprint}/assets/index.js"
