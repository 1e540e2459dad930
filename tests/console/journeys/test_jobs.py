"""Work with many devices: counted, started, watched, and undone."""

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_a_job_is_counted_before_it_starts_and_undone_afterwards(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    for number in range(3):
        ada.device(harbour, name=f"Crane {number}", type="tracker")
    ada.device(harbour, name="Gate", type="button")

    def count_tagged() -> int:
        return int(ok(ada.get("/devices", groupId=harbour, tag="port"))["total"])

    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/jobs")
        page.get_by_role("button", name="New job").first.click()
        dialog = page.get_by_role("dialog", name="New job")
        dialog.get_by_label("Type", exact=True).select_option("tracker")
        dialog.get_by_label("Add tags").fill("port")
        dialog.get_by_label("Reason").fill("moved to the port")
        expect(dialog.get_by_role("status")).to_contain_text("3 devices")
        expect(dialog.get_by_role("status")).to_contain_text("Crane 0")
        assert count_tagged() == 0
        dialog.get_by_role("button", name="Start job").click()
        expect(page.get_by_role("heading", name="Tag devices")).to_be_visible()
        expect(page.get_by_text("succeeded")).to_be_visible()
        expect(page.get_by_text("All devices of type tracker")).to_be_visible()
        expect(page.get_by_role("row", name="changed")).to_have_count(3)
        assert count_tagged() == 3
        console.check_accessibility()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("heading", name="Undo a job")).to_be_visible()
        expect(page.get_by_text("succeeded")).to_be_visible()
        eventually(lambda: count_tagged() == 0)
        page.get_by_role("link", name="job_").click()
        expect(page.get_by_text("No undo: it is undone.")).to_be_visible()
