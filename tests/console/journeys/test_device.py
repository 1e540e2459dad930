"""One device: its records, its numbers, its configuration, and what is done to it."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

MINUTE_MS = 60_000


def test_records_lead_to_their_trace_and_numbers_to_a_chart(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    depot = ada.group("Depot", parent=harbour)
    device = ada.device(depot, name="Cold room", type="temperature")
    now = world.clock.now() // 1_000
    for number in range(6):
        values = {"celsius": 4 + number, "door": "shut", "air": {"humidity": 50}}
        ada.reports(device, timestamp=now - number * MINUTE_MS, data=json.dumps(values))
    for lat, at in ((51.95, now - 1_000), (51.96, now)):
        ada.reports(device, "geoloc", lat=lat, lng=4.14, radius=80, timestamp=at)
    ada.reports(device, "event", type="opened", timestamp=now)
    with browse(world, ada) as console:
        page = console.open(f"/d/{device}")
        expect(page.get_by_role("navigation", name="Groups")).to_have_text("Harbour / Depot")
        records = page.get_by_role("grid", name="Records").locator("[data-index]")
        expect(records).to_have_count(9)
        page.get_by_role("checkbox", name="data").uncheck()
        expect(records).to_have_count(3)
        page.go_back()
        expect(records).to_have_count(9)
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("dialog").get_by_role("button", name="Export").click()
        assert len(download.value.path().read_text().splitlines()) == 7
        assert download.value.suggested_filename == "Cold-room-data.csv"
        page.get_by_role("dialog").get_by_role("button", name="Close").last.click()
        records.filter(has_text="celsius 9").click()
        drawer = page.get_by_role("dialog")
        expect(drawer).to_contain_text("air.humidity50")
        drawer.get_by_role("link", name="Open trace").click()
        expect(page).to_have_url(re.compile("/console/r/rec_"))
        page.go_back()
        page.keyboard.press("Escape")
        page.get_by_role("tab", name="Map").click()
        expect(page.get_by_role("application", name="Track of Cold room")).to_be_visible()
        expect(page.get_by_text("2 positions")).to_be_visible()
        page.get_by_role("slider", name="Until").press("ArrowLeft")
        expect(page.get_by_text("51.95000, 4.14000 ± 80 m")).to_be_visible()
        page.get_by_role("tab", name="Chart").click()
        expect(page.get_by_role("heading", name="air.humidity")).to_be_visible()
        page.get_by_role("checkbox", name="celsius").uncheck()
        expect(page).to_have_url(re.compile("measurement=air.humidity"))
        expect(page.get_by_role("heading", name="celsius")).to_have_count(0)
        expect(page.get_by_role("figure")).to_contain_text("1 event")
        page.get_by_role("group", name=re.compile("air.humidity")).press("End")
        expect(page.get_by_role("status").filter(has_text="Cold room 50")).to_contain_text("opened")
        page.get_by_role("button", name="As table").click()
        expect(page.get_by_role("cell", name="50").first).to_be_visible()


def test_a_configuration_says_where_it_is_from_and_a_change_of_somebody_else_is_seen(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    policy = {"groupId": harbour, "policy": {"reportEverySeconds": 300}}
    ok(ada.put("/group/configuration", policy))
    device = ada.device(harbour, name="Cold room", type="temperature")
    ada.reports(device, configuration=json.dumps({"reportEverySeconds": 900}))
    with browse(world, ada) as console:
        console.keep_toasts()
        console.expected_statuses = {409}
        page = console.open(f"/d/{device}?tab=configuration")
        row = page.get_by_role("row").filter(has_text="/reportEverySeconds")
        expect(row).to_contain_text("5 minutespolicy of Harbour")
        expect(row).to_contain_text("differs 15 minutes")
        every = page.get_by_role("textbox", name="Report every")
        every.fill("20")
        page.get_by_role("tab", name="Changes").click()
        asked = page.get_by_role("dialog", name="Leave without saving?")
        expect(asked).to_be_visible()
        console.check_accessibility()
        asked.get_by_role("button", name="Stay").click()
        expect(every).to_have_value("20")
        which = {"deviceId": device, "groupId": harbour}
        ok(ada.put("/device", {**which, "name": "Warm room", "configuration": '{"theirs": 1}'}))
        page.get_by_role("button", name="Save").click()
        dialog = page.get_by_role("dialog", name="Somebody changed it meanwhile")
        expect(dialog.get_by_role("row").last).to_contain_text("Theirs")
        expect(page.get_by_role("heading", level=1)).to_have_text("Warm room")
        dialog.get_by_role("button", name="Save mine").click()
        expect(page.get_by_text("Saved the configuration of Warm room")).to_be_visible()
        ok(ada.put("/device", {**which, "name": "Cool room"}))  # which the undo leaves alone
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Theirs")).to_have_value("1")
        assert ok(ada.get("/device", deviceId=device))["name"] == "Cool room"


def test_a_device_is_tagged_moved_written_to_and_its_records_deleted(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    rail = ada.group("Rail")
    device = ada.device(harbour, name="Cold room", network="vendor", originalId="1FD48BE")
    ada.reports(device, data="{}")
    with browse(world, ada) as console:
        console.keep_toasts()
        page = console.open(f"/d/{device}")
        page.get_by_role("button", name="+ tag").click()
        page.get_by_role("textbox", name="Add a tag").fill("dairy")
        page.get_by_role("textbox", name="Add a tag").press("Enter")
        expect(page.get_by_role("button", name="Remove the tag dairy")).to_be_visible()
        tagged = {"groupId": harbour, "deviceIds": [device], "addTags": ["cooled"]}
        ok(ada.put("/devices", tagged))  # somebody else, meanwhile
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Remove the tag dairy")).to_have_count(0)

        assert ok(ada.get("/device", deviceId=device))["tags"] == ["cooled"]
        page.get_by_role("button", name="Send a downlink").click()
        page.get_by_role("textbox", name="Payload").fill("0102030405060708")
        page.get_by_role("button", name="Send", exact=True).click()
        page.get_by_role("tab", name="Downlinks").click()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("grid", name="Downlinks")).to_contain_text("cancelled")

        page.get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name="Delete records").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("data1")
        dialog.get_by_role("textbox").fill("Cold room")
        dialog.get_by_role("button", name="Delete records").click()
        expect(dialog).to_have_count(0)
        assert ok(ada.get("/device/data", deviceId=device))["items"] == []

        page.get_by_role("button", name="Move…").click()
        dialog.get_by_role("button", name="Rail").click()
        dialog.get_by_role("button", name="Move to Rail").click()
        expect(page.get_by_role("navigation", name="Groups")).to_have_text("Rail")
        assert ok(ada.get("/device", deviceId=device))["groupId"] == rail
        page.get_by_role("tab", name="Changes").click()
        expect(page.get_by_role("listitem").filter(has_text="moved the device")).to_be_visible()


def test_the_hardware_of_a_device_is_replaced(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, name="Cold room", network="vendor", originalId="1FD48BE")
    ada.device(harbour, network="chirpstack", originalId="70b3d57ed0041a2b")
    with browse(world, ada) as console:
        console.expected_statuses = {400, 409}
        page = console.open(f"/d/{device}")
        page.get_by_role("button", name="More actions").click()
        page.get_by_role("menuitem", name="Replace hardware").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("It reports through").select_option("ChirpStack")
        dialog.get_by_role("button", name="Replace").click()
        expect(dialog.get_by_text("1FD48BE has 7 hex digits; a DevEUI has 16")).to_be_visible()
        field = dialog.get_by_label("Original id")
        field.fill("70-B3-D5-7E-D0-04-1A-2B")
        dialog.get_by_role("button", name="Replace").click()
        expect(dialog.get_by_text("is taken in this network")).to_be_visible()
        field.fill("70-B3-D5-7E-D0-04-1A-2C")
        dialog.get_by_role("button", name="Replace").click()
        expect(dialog).to_have_count(0)
        expect(page.get_by_text("70b3d57ed0041a2c on chirpstack", exact=True)).to_be_visible()
        page.get_by_role("tab", name="Changes").click()
        entry = page.get_by_role("listitem").filter(has_text="replaced the hardware")
        expect(entry).to_be_visible()


@pytest.mark.soak  # test_connectors.py does this with buttons and forms
def test_while_the_service_is_unreachable_a_menu_offers_nothing_that_changes_the_device(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group("Harbour"), name="Cold room")
    with browse(world, ada) as console:
        page = console.open(f"/d/{device}")
        menu = page.get_by_role("button", name="More actions")
        expect(menu).to_be_visible()
        console.context.set_offline(True)
        expect(page.locator(".offline")).to_be_visible()
        menu.click()
        items = page.get_by_role("menuitem")
        deletions = ["Delete records", "Delete device"]
        expect(items).to_have_text(
            [
                *("Rename", "Replace hardware", "Silence alarms", "Share"),
                *("Change type", "Redecode records", *deletions),
            ]
        )
        for item in items.all():
            expect(item).to_have_attribute("aria-disabled", "true")
            expect(item).to_have_attribute("title", "The service cannot be reached")
            item.click(force=True)
        expect(page.get_by_role("dialog")).to_have_count(0)
        console.context.set_offline(False)
        expect(page.locator(".offline")).to_have_count(0)
        # A browser that believes to be offline still asks.
        page.evaluate("dispatchEvent(new Event('offline'))")
        expect(page.locator(".offline")).to_have_count(0)
        items.filter(has_text="Rename").click()
        dialog = page.get_by_role("dialog", name="Rename")
        dialog.get_by_role("textbox").fill("Cellar")
        dialog.get_by_role("textbox").press("Enter")
        expect(page.get_by_role("heading", name="Cellar")).to_be_visible()


@pytest.mark.soak  # tests/fleet/test_drift.py has what the list shows
def test_devices_that_drift_are_listed_with_what_differs(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    device = ada.device(quay, name="Meter 1", type="meter")
    ada.device(quay, name="Meter 2", type="meter")
    ada.reports(device, configuration=json.dumps({"reportEverySeconds": 60}))
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="1 with configuration drift").click()
        row = page.get_by_role("grid", name="Devices that drift").locator("[data-index]")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("reportEverySeconds 3600 reports 60")
        page.get_by_role("switch", name="With groups below").uncheck()
        expect(page.get_by_text("Every device of this group")).to_be_visible()
        page.go_back()
        row.get_by_role("link", name="Meter 1").click()
        expect(page.get_by_role("row").filter(has_text="differs")).to_contain_text("60")


@pytest.mark.soak  # test_people.py has a viewer, test_live.py the keys of a list
def test_a_viewer_reaches_a_device_by_keys_and_sees_nothing_that_is_refused(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    ada.invite(grace, harbour, ada.role("group.read", "device.read"))
    for name in ("Cold room", "Crane 7"):
        ada.device(harbour, name=name, tags=["port"])
    with browse(world, grace, color_scheme="dark") as console:
        page = console.open(f"/g/{harbour}/devices")
        rows = page.get_by_role("grid", name="Devices").locator("[data-index]")
        rows.first.focus()
        page.keyboard.press("x")
        expect(page.get_by_text("1 selected")).to_be_visible()
        bar = page.get_by_role("region", name="Selection")
        left = ["Select all 2 that match", "Export", "Clear"]
        expect(bar.get_by_role("button")).to_have_text(left)
        page.keyboard.press("Escape")
        expect(bar).to_have_count(0)
        page.keyboard.press("j")
        expect(rows.nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Crane 7")
        expect(page.get_by_role("tab")).to_have_text(["Configuration", "Downlinks"])
        page.get_by_role("tab", name="Downlinks").click()
        expect(page.get_by_text("Why?")).to_be_visible()
        actions = page.get_by_role("button", name=re.compile(r"^(Send|Move|More|Remove|\+ tag)"))
        expect(actions).to_have_count(0)
