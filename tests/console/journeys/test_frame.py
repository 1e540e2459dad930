"""What stands around every screen: who is signed in, which group, which sections."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.console.browser import PHONE
from tests.console.conftest import OpenConsole
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

GROUP = re.compile(r"/group\?")
SEARCH = re.compile(r"[?&]q=")
NOWHERE = "http://127.0.0.1:9/hook"  # nobody listens there


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


def test_one_switch_says_whether_all_pages_have_what_is_in_the_groups_below(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    berth = ada.group("Berth 12", parent=quay)
    ada.group("Depot")
    for group, name in ((harbour, "Crane 7"), (berth, "Tap 1")):
        ada.device(group, name=name)
        ada.connector(group, NOWHERE, name=f"To {name}")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        devices = page.get_by_role("grid", name="Devices").locator("[data-index]")
        expect(devices).to_have_count(2)
        scope = page.get_by_role("switch", name="With groups below")
        expect(scope).to_be_checked()
        scope.uncheck()
        expect(devices).to_have_count(1)
        expect(page).to_have_url(f"{world.url}/console/g/{harbour}/devices?own=true")
        # On every page, and in every count.
        page.get_by_role("link", name="Overview").click()
        expect(page).to_have_url(re.compile(r"overview\?own=true$"))
        expect(page.get_by_role("region", name="Devices seen today")).to_contain_text("of 1")
        page.get_by_role("link", name="Connectors").click()
        connectors = page.get_by_role("grid", name="Connectors").locator("[data-index]")
        expect(connectors).to_have_count(1)
        # It is kept, and a page of no group leads back to it.
        console.open("/types")
        page.get_by_role("link", name="Connectors").click()
        expect(page).to_have_url(re.compile(r"connectors\?own=true$"))
        console.open("/")
        expect(page).to_have_url(re.compile(r"overview\?own=true$"))
        # A link without it shows to everybody what its sender saw.
        console.open(f"/g/{harbour}/connectors")
        expect(connectors).to_have_count(2)
        below = connectors.filter(has_text="Tap 1")
        expect(below).to_contain_text("Berth 12")
        below.get_by_role("link", name="To Tap 1").click()
        expect(page).to_have_url(re.compile(f"/g/{berth}/connectors/"))
        # The tree is open where the chosen group is.
        page.get_by_role("button", name="Berth 12").click()
        chosen = page.locator(".group-tree [aria-current=true]")
        expect(chosen).to_have_text("Berth 12 1")
        expect(chosen).to_be_in_viewport()
        console.check_accessibility()
        page.get_by_role("searchbox", name="Find a group").fill("quay")
        page.get_by_role("button", name="Quay 3 in Harbour").click()
        # A connector of another group is not there: its section is.
        expect(page).to_have_url(re.compile(f"/g/{quay}/connectors"))


def test_the_palette_does_what_a_person_may_do_and_offers_nothing_else(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    for name in ("Crane 7", "Tap 1", "Tap 2"):
        ada.device(harbour, name=name)
    ada.invite(grace, harbour, "viewer")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        field = page.get_by_role("combobox", name="Find a device")
        option = page.get_by_role("option")

        def choose(typed: str, name: str) -> None:
            page.keyboard.press("Control+k")
            field.fill(typed)
            option.filter(has_text=name).first.click()

        page.get_by_role("checkbox", name="Select all").check()
        choose("move", "Move 3 devices…")
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Groups below Harbour").click()
        dialog.get_by_role("button", name="Quay 3").click()
        dialog.get_by_role("button", name=re.compile("^Move")).click()
        eventually(lambda: len(ok(ada.get("/group/devices", groupId=quay))["items"]) == 3)
        page.keyboard.press("Control+k")
        expect(option.filter(has_text="Move 3 devices…")).to_have_count(0)
        page.keyboard.press("Escape")
        choose("new conn", "New connector")
        expect(page).to_have_url(re.compile(f"/g/{harbour}/connectors/new"))
        # What a page does is done when it is there.
        choose("invite", "Invite somebody")
        expect(page.get_by_role("dialog", name=re.compile("Invite"))).to_be_visible()
        page.keyboard.press("Escape")
        choose("grace", "grace")
        expect(page.get_by_role("dialog")).to_contain_text("grace")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        field.fill("retention")
        group = page.get_by_role("group", name="Settings").get_by_role("option")
        expect(group).to_have_text(["Limits and retention of the group"])
        expect(page.get_by_role("group", name="Documents")).to_contain_text("Retention and disk")
        console.check_accessibility()
    with browse(world, grace) as console:
        page = console.open(f"/g/{harbour}/devices")
        expect(page.get_by_role("heading", level=1, name="Devices")).to_be_visible()
        page.keyboard.press("Control+k")
        expect(page.get_by_role("option", name="Overview")).to_be_visible()
        for verb in ("New connector", "Invite somebody", "Acknowledge alarms", "New device"):
            expect(page.get_by_role("option", name=verb)).to_have_count(0)


def test_sections_are_hidden_to_icons_and_on_a_phone_behind_more(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    ada.group("Quay 3", parent=harbour)
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        sections = page.get_by_role("navigation", name="Sections")
        expect(sections.get_by_role("group", name="Everywhere").get_by_role("link")).to_have_text(
            ["Groups", "Device types", "Roles"]
        )
        wide = sections.bounding_box()
        page.get_by_role("button", name="Collapse").click()
        page.reload()
        expect(page.get_by_role("button", name="Expand")).to_be_visible()
        narrow = sections.bounding_box()
        assert wide and narrow and narrow["width"] < wide["width"] / 2
        sections.get_by_role("link", name="Map").click()
        expect(page.get_by_role("heading", name="Map", level=1)).to_be_visible()
        # There is no room for the switch beside the picker.
        page.get_by_role("button", name="Harbour").click()
        page.get_by_role("switch", name="With groups below").uncheck()
        expect(page).to_have_url(re.compile("own=true"))
        console.check_accessibility()
    with browse(world, ada, size=PHONE, has_touch=True) as console:
        page = console.open(f"/g/{harbour}/devices")
        places = page.get_by_role("navigation", name="Sections")
        first = ["Overview", "Alarms", "Devices", "Map", "Live"]
        expect(places.get_by_role("link")).to_have_text(first)
        for target in (page.locator(".top button"), places.locator("a, button")):
            for each in target.filter(visible=True).all():
                box = each.bounding_box()
                assert box and min(box["width"], box["height"]) >= 40, (each.inner_text(), box)
        places.get_by_role("button", name="More").click()
        console.check_accessibility()
        page.get_by_role("dialog").get_by_role("link", name="Audit log").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.get_by_role("heading", name="Audit log", level=1)).to_be_visible()
        page.get_by_role("button", name="Harbour").click()
        page.get_by_role("button", name="Quay 3").click()
        expect(page.get_by_role("button", name="Quay 3")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


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
        quay_3 = page.get_by_role("button", name="Quay 3 in Harbour")
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
