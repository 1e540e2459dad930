"""What stands around every screen: who is signed in, which group, which sections."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

GROUP = re.compile(r"/group\?")
SEARCH = re.compile(r"[?&]q=")


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


@pytest.mark.soak  # the next one keeps a group whose response came in time
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


@pytest.mark.soak  # the first one here chooses from a list that is there
def test_a_list_to_choose_from_stays_until_what_was_typed_is_found(
    world: World, browse: OpenConsole
) -> None:
    """It would shrink otherwise, and a click where something stood would close it."""
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    ada.device(harbour, name="Crane 7")
    room = ada.device(harbour, name="Cold room")
    with browse(world, ada) as console:
        held: list[Route] = []
        page = console.open(f"/g/{harbour}/messages")

        def type_slowly(field: str, text: str) -> None:
            console.context.route(SEARCH, lambda route: held.append(route))
            with page.expect_request(SEARCH):
                page.get_by_role("searchbox", name=field).fill(text)

        page.get_by_role("button", name="Any device").click()
        crane = page.get_by_role("button", name="Crane 7")
        expect(crane).to_be_visible()
        type_slowly("Find a device", "cold")
        expect(crane).to_be_visible()
        console.context.unroute(SEARCH)  # what is held is sent
        expect(crane).to_have_count(0)
        nothing = page.get_by_text("No device matches.")
        page.get_by_role("searchbox", name="Find a device").fill("boat")
        expect(nothing).to_be_visible()
        type_slowly("Find a device", "room")
        expect(nothing).to_have_count(0)  # which was said about a boat
        console.context.unroute(SEARCH)
        page.get_by_role("button", name="Cold room").click()
        expect(page).to_have_url(re.compile(room))

        page.get_by_role("button", name="Harbour").click()
        tree = page.get_by_role("button", name="Groups below Harbour")
        expect(tree).to_be_visible()
        type_slowly("Find a group", "quay")
        expect(tree).to_be_visible()
        console.context.unroute(SEARCH)
        expect(tree).to_have_count(0)
        quay_3 = page.get_by_role("button", name="Quay 3")
        expect(quay_3).to_be_visible()
        # From the beginning: nothing of the search before.
        page.get_by_role("searchbox", name="Find a group").fill("")
        expect(tree).to_be_visible()
        type_slowly("Find a group", "qua")
        expect(tree).to_be_visible()
        expect(quay_3).to_have_count(0)
        console.context.unroute(SEARCH)
        quay_3.click()
        expect(page).to_have_url(re.compile(f"/g/{quay}/messages"))


@pytest.mark.soak  # test_states.py has refusals, on screens
def test_a_list_to_choose_from_says_why_nothing_is_found(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        console.expected_statuses |= {403}
        page = console.open(f"/g/{harbour}/messages")
        problem = {"code": "forbidden", "detail": "Searching is not allowed.", "status": 403}
        console.context.route(SEARCH, lambda route: route.fulfill(status=403, json=problem))
        page.get_by_role("button", name="Any device").click()
        expect(page.get_by_text("No device matches.")).to_be_visible()
        page.get_by_role("searchbox", name="Find a device").fill("cold")
        expect(page.get_by_text("Searching is not allowed.")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Harbour").click()
        page.get_by_role("searchbox", name="Find a group").fill("quay")
        expect(page.get_by_text("Searching is not allowed.")).to_be_visible()
