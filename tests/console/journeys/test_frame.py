"""What stands around every screen: who is signed in, which group, which sections."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

GROUP = re.compile(r"/group\?")


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
        place = field.bounding_box()
        field.fill("BEEF")
        expect(page.get_by_role("option", name="Crane 7")).to_be_visible()
        assert field.bounding_box() == place, "nothing moves away from under a click"
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


def test_a_group_is_kept_if_its_page_is_left_before_the_service_has_answered(
    world: World, browse: OpenConsole
) -> None:
    harbour = world.operator.group("Harbour")
    with browse(world, world.operator) as console:
        held: list[Route] = []
        console.context.route(GROUP, lambda route: held.append(route))
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Device types").click()
        page.get_by_role("link", name="Temperature and humidity sensor").click()
        # A decoder is tried on payloads of the group.
        expect(page.get_by_label("Source")).to_be_visible()
        assert held
        console.context.unroute(GROUP)  # what is held is sent
        expect(page.get_by_role("button", name="Harbour")).to_be_visible()


def test_a_group_that_is_not_there_does_not_replace_the_last_one(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        expect(page.get_by_role("button", name="Harbour")).to_be_visible()
        console.expected_statuses |= {400, 404}
        console.open("/g/grp_missing/devices")
        expect(page.get_by_text("There is no such group")).to_be_visible()
        console.open("/account")
        expect(page.get_by_role("button", name="Harbour")).to_be_visible()
        # Gone in the meantime: nothing is chosen, and nothing is asked for it for ever.
        page.evaluate("localStorage.setItem('longwire.lastGroup', 'grp_missing')")
        console.open("/account")
        expect(page.get_by_role("button", name="Choose a group")).to_be_visible()
        assert page.evaluate("localStorage.getItem('longwire.lastGroup')") == ""
