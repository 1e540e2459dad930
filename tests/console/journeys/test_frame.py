"""What stands around every screen: who is signed in, which group, which sections."""

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_somebody_who_is_not_signed_in_is_asked_to(world: World, browse: OpenConsole) -> None:
    with browse(world) as console:
        console.expected_statuses = {401}
        page = console.open("/groups")
        expect(page).to_have_url(f"{world.url}/console/sign-in?next=%2Fgroups")
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_group_is_chosen_and_the_section_stays(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("button", name="Harbour").click()
        page.get_by_role("button", name="Groups below Harbour").click()
        page.get_by_role("button", name="Quay 3").click()
        expect(page).to_have_url(f"{world.url}/console/g/{quay}/devices")


def test_a_viewer_sees_only_sections_that_are_theirs(world: World, browse: OpenConsole) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    ada.invite(grace, harbour, ada.role("group.read", "device.read"))
    with browse(world, grace) as console:
        page = console.open(f"/g/{harbour}/devices")
        sections = page.get_by_role("navigation", name="Sections")
        expect(sections.get_by_role("link", name="Devices", exact=True)).to_be_visible()
        expect(sections.get_by_role("link", name="Connectors")).to_have_count(0)
        expect(sections.get_by_role("link", name="Audit log")).to_have_count(0)
        expect(sections.get_by_role("link", name="Platform")).to_have_count(0)


def test_the_palette_finds_a_device_by_its_end_and_an_id_that_was_pasted(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, name="Crane 7", originalId="A4C10007BEEF")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
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
        expect(page).to_have_url(f"{world.url}/console/g/{harbour}/audit")
        page.keyboard.press("/")
        field.fill(device)
        page.get_by_role("option", name="Open this device").click()
        expect(page).to_have_url(f"{world.url}/console/d/{device}")
