"""What stands around every screen: who is signed in, which group, which sections."""

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_a_group_is_chosen_and_things_are_found_by_the_palette(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    device = ada.device(quay, name="Crane 7", originalId="A4C10007BEEF")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("button", name="Harbour").click()
        page.get_by_role("button", name="Groups below Harbour").click()
        page.get_by_role("button", name="Quay 3").click()
        # The section stays.
        expect(page).to_have_url(f"{world.url}/console/g/{quay}/devices")
        expect(page.get_by_role("heading", name="Devices")).to_be_visible()
        page.keyboard.press("/")
        field = page.get_by_role("combobox", name="Find a device")
        field.fill("BEEF")
        expect(page.get_by_role("option", name="Crane 7")).to_be_visible()
        console.check_accessibility()
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{world.url}/console/d/{device}")
        page.keyboard.press("Control+k")
        field.fill("aud")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{world.url}/console/g/{quay}/audit")
        page.keyboard.press("/")
        field.fill(device)
        page.get_by_role("option", name="Open this device").click()
        expect(page).to_have_url(f"{world.url}/console/d/{device}")
