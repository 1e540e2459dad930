"""The devices of a group: found, filtered, selected, and changed many at a time."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Locator, Page, expect

from tests.console.browser import PHONE, seed_devices
from tests.console.conftest import OpenConsole
from tests.world import Person, World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def rows(page: Page) -> Locator:
    return page.get_by_role("grid", name="Devices").locator("[data-index]")


def names(page: Page) -> list[str]:
    return rows(page).locator("a").all_inner_texts()


def total(person: Person, group: str, **filters: Any) -> int:
    return int(ok(person.get("/devices", groupId=group, limit=1, **filters))["total"])


@pytest.mark.soak
@pytest.mark.parametrize("count", [2_000, 100_000])
def test_thousands_scroll_and_one_is_found_by_the_end_of_its_id(
    world: World, browse: OpenConsole, count: int
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    seed_devices(ada, harbour, count)
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        expect(page.get_by_role("main")).to_contain_text(f"Devices{count:,}")
        first = rows(page).first
        first.focus()
        for _ in range(3):  # each time the end of what is loaded comes into view
            before = int(first.get_attribute("data-index") or 0)
            page.locator(".table-body").evaluate("body => body.scrollBy(0, body.scrollHeight)")
            expect(rows(page).first).not_to_have_attribute("data-index", str(before))
        assert rows(page).count() < 100  # the rest is not in the document
        page.get_by_role("searchbox", name="Name, id or tag").fill(f"{count - 3:X}")
        found = rows(page).filter(has_text=f"{count - 3:016X}")
        expect(found).to_have_count(1)
        found.get_by_role("link").click()
        expect(page).to_have_url(re.compile(r"/console/d/dev_"))
        page.go_back()
        expect(found).to_have_count(1)


def test_a_link_opens_the_same_rows_for_a_colleague_elsewhere(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    ada.invite(grace, harbour, ada.role("group.read", "device.read"))
    for group, name, tags in (
        (harbour, "Cold room", ["dairy"]),
        (quay, "Warm room", ["dairy"]),
        (quay, "Crane 7", ["port"]),
    ):
        ada.device(group, name=name, tags=tags)
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        expect(rows(page)).to_have_count(3)
        page.get_by_role("searchbox", name="Tag").fill("dairy")
        expect(rows(page)).to_have_count(2)
        page.get_by_role("button", name="Name").click()
        page.get_by_role("button", name="Name").click()
        expect(page).to_have_url(re.compile("sort=name&order=desc"))
        expect(rows(page).first).to_contain_text("Warm room")
        address, seen = page.url, names(page)
        # What the filter matches is exported.
        page.get_by_role("button", name="Export").click()
        with page.expect_download() as download:
            page.get_by_role("dialog").get_by_role("button", name="Export").click()
        text = download.value.path().read_text(encoding="utf-8-sig")
        assert (download.value.suggested_filename, len(text.splitlines())) == ("devices.csv", 3)
        expect(page.get_by_role("dialog")).to_contain_text("Done: 3 lines")
    with browse(world, grace, timezone_id="Asia/Tokyo", size=PHONE) as console:
        page = console.page
        page.goto(address)
        expect(rows(page)).to_have_count(2)
        assert names(page) == seen == ["Warm room", "Cold room"]
        expect(page.get_by_role("button", name="New device")).to_have_count(0)


@pytest.mark.soak  # the one above has the filters, and their address
def test_going_back_takes_a_chosen_filter_away_and_typing_made_no_history(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    ada.device(harbour, name="Cold room", type="temperature")
    ada.device(harbour, name="Crane 7", type="tracker")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        expect(rows(page)).to_have_count(2)
        page.get_by_role("searchbox", name="Name, id or tag").press_sequentially("cold", delay=40)
        expect(page).to_have_url(f"{world.url}/console/g/{harbour}/devices?q=cold")
        expect(rows(page)).to_have_count(1)
        page.get_by_role("combobox", name="Type").select_option("tracker")
        expect(page.get_by_text("Nothing matches.")).to_be_visible()
        page.go_back()
        expect(rows(page)).to_have_count(1)
        expect(page.get_by_role("combobox", name="Type")).to_have_value("")
        expect(page).to_have_url(f"{world.url}/console/g/{harbour}/devices?q=cold")
        page.go_back()
        expect(page).not_to_have_url(re.compile("/console/g/"))
        page.go_forward()
        page.get_by_role("combobox", name="Type").select_option("tracker")
        page.get_by_role("button", name="Remove “cold”").click()
        expect(rows(page)).to_have_count(1)
        expect(page.get_by_role("searchbox", name="Name, id or tag")).to_have_value("")


@pytest.mark.parametrize("others", [796, pytest.param(9_796, marks=pytest.mark.soak)])
def test_some_of_many_are_tagged_at_once_and_undone(
    world: World, browse: OpenConsole, others: int
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    seed_devices(ada, harbour, others)
    seed_devices(ada, harbour, 204, network="mqtt")
    marked = ok(ada.get("/devices", groupId=harbour, network="mqtt", limit=1))["items"][0]
    body = {"groupId": harbour, "deviceIds": [marked["deviceId"]], "addTags": ["winter"]}
    ok(ada.put("/devices", body))
    with browse(world, ada) as console:
        console.keep_toasts()
        page = console.open(f"/g/{harbour}/devices?network=mqtt")
        page.get_by_role("checkbox", name="Select all that are loaded").check()
        page.get_by_role("button", name="Select all 204 that match").click()
        expect(page.get_by_text("204 selected")).to_be_visible()
        page.get_by_role("button", name="Tag", exact=True).click()
        page.get_by_role("textbox", name="Add tags").fill("winter")
        page.get_by_role("textbox", name="Add tags").press("Enter")
        expect(page.get_by_text("Tagged 204 devices", exact=True)).to_be_visible()
        expect(rows(page).nth(5)).to_contain_text("winter")
        assert total(ada, harbour, tag="winter") == 204
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone: tagged 204 devices")).to_be_visible()
        assert total(ada, harbour, tag="winter") == 1  # what one had before, it keeps


def test_one_that_is_gone_is_named_and_none_of_its_thousand_is_moved(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    rail, elsewhere = ada.group("Rail"), ada.group("Elsewhere")
    gone = seed_devices(ada, harbour, 1_500)[3]
    with browse(world, ada) as console:
        console.keep_toasts()
        console.expected_statuses = {404}
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("checkbox", name="Select all that are loaded").check()
        page.get_by_role("button", name="Select all 1,500 that match").click()
        expect(page.get_by_text("1,500 selected")).to_be_visible()
        moved = {"deviceIds": [gone], "groupId": harbour, "toGroupId": elsewhere}
        ok(ada.put("/devices/transfer", moved))
        page.get_by_role("button", name="Move to…").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Rail").click()
        dialog.get_by_role("button", name="Move to Rail").click()
        expect(dialog.get_by_role("heading")).to_have_text("Moved 500 devices to Rail")
        expect(dialog).to_contain_text(f"{gone}: names no device in this group")
        assert (total(ada, harbour), total(ada, rail)) == (999, 500)
        dialog.get_by_role("button", name="Move 999 devices to Rail without it").click()
        expect(page.get_by_text("Moved 999 devices to Rail")).to_be_visible()
        assert (total(ada, harbour), total(ada, rail)) == (0, 1_499)
        page.get_by_role("button", name="Undo").last.click()
        expect(page.get_by_text("Undone: moved 999 devices to rail")).to_be_visible()
        assert (total(ada, harbour), total(ada, rail)) == (999, 500)


@pytest.mark.soak  # test_jobs.py has such a job, begun elsewhere
def test_all_that_match_are_a_job_that_is_counted_first_and_undone(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    seed_devices(ada, harbour, 2_001)
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices?network=lorawan")
        rows(page).first.get_by_role("checkbox").check()
        page.get_by_role("button", name="Select all 2,001 that match").click()
        page.get_by_role("button", name="Tag", exact=True).click()
        page.get_by_role("textbox", name="Add tags").fill("winter")
        page.get_by_role("textbox", name="Add tags").press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("heading")).to_have_text("Tag 2,001 devices")
        expect(dialog).to_contain_text("and 1,996 more")
        dialog.get_by_role("button", name="Start job").click()
        banner = page.locator(".job-banner")
        expect(banner).to_contain_text("2,001 changed")
        assert total(ada, harbour, tag="winter") == 2_001
        banner.get_by_role("button", name="Undo").click()
        expect(banner).to_contain_text("Undo: 2,001 of 2,001 done")
        assert total(ada, harbour, tag="winter") == 0


def test_a_delete_can_be_called_off_and_leaving_deletes_nothing(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    for name in ("Cold room", "Crane 7"):
        ada.device(harbour, name=name)

    def delete(page: Page, name: str) -> None:
        rows(page).filter(has_text=name).get_by_role("checkbox").check()
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("Deleting 1 device with all records")).to_be_visible()

    with browse(world, ada) as console:
        console.page.clock.install()
        page = console.open(f"/g/{harbour}/devices")
        delete(page, "Crane 7")
        page.get_by_role("button", name="Undo").click()
        page.clock.fast_forward(10_000)
        expect(rows(page)).to_have_count(2)
        delete(page, "Crane 7")
        page.on("dialog", lambda dialog: dialog.accept())
        page.reload()
        expect(rows(page)).to_have_count(2)
        page.clock.fast_forward(10_000)
        assert total(ada, harbour) == 2
        delete(page, "Cold room")
        page.clock.fast_forward(8_000)
        expect(rows(page)).to_have_count(1)
        assert total(ada, harbour) == 1


def test_a_new_device_shows_every_invalid_field_at_once(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        console.expected_statuses = {400}
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("button", name="New device").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Create").click()
        expect(dialog.get_by_text("must not be empty")).to_have_count(3)
        for label, text in (("Name", "Cold room"), ("Original id", "1FD48BE")):
            dialog.get_by_label(label, exact=True).fill(text)
        dialog.get_by_label("It reports through").select_option("The Things Stack")
        dialog.get_by_role("button", name="Create").click()
        expect(dialog.get_by_text("1FD48BE has 7 hex digits; a DevEUI has 16")).to_be_visible()
        dialog.get_by_label("Original id").fill("70-B3-D5-7E-D0-04-1A-2B")
        dialog.get_by_label("Tags").fill("dairy, north")
        dialog.get_by_role("button", name="Create").click()
        expect(rows(page)).to_contain_text("dairy")
        assert total(ada, harbour, tag="north") == 1
        # One that the vendor's network does not know yet.
        page.get_by_role("button", name="New device").first.click()
        dialog.get_by_label("It reports through").select_option("The vendor's network")
        for label, text in {"Name": "Wagon", "Original id": "A4C10007"}.items():
            dialog.get_by_label(label, exact=True).fill(text)
        dialog.get_by_role("checkbox", name="Register it").check()
        dialog.get_by_role("button", name="Create and register").click()
        expect(dialog.get_by_text("must not be empty")).to_have_count(2)
        dialog.get_by_label("PAC").fill("0123456789ABCDEF")
        dialog.get_by_label("Device type at the vendor").fill("5f3a")
        dialog.get_by_role("button", name="Create and register").click()
        expect(rows(page)).to_have_count(2)
        wagon = ok(ada.get("/devices", groupId=harbour, q="Wagon"))["items"][0]
        assert json.loads(wagon["information"])["registration"]["state"] == "pending"


def csv(lines: list[str]) -> str:
    return "\n".join(["name;Original ID;type", *lines])


def csv_file(lines: list[str]) -> FilePayload:
    return {"name": "cranes.csv", "mimeType": "text/csv", "buffer": csv(lines).encode()}


def test_an_import_shows_wrong_lines_before_anything_is_created(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour, elsewhere = ada.group("Harbour"), ada.group("Elsewhere")
    ada.device(elsewhere, network="plant", originalId="TAKEN")
    lines = [f"Crane {number};{number:04X};tracker" for number in range(1_100)]
    lines[7] = "no id;;tracker"
    lines[20] = "of another group;TAKEN;tracker"
    lines[1_050] = "twice;0003;tracker"
    with browse(world, ada, permissions=["clipboard-read", "clipboard-write"]) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Import").click()
        page.get_by_role("textbox", name="Network").fill("plant")
        page.get_by_label("Choose a file").set_input_files(csv_file(lines))
        expect(page.get_by_text("1,097 new, 0 already there, 3 wrong")).to_be_visible()
        assert total(ada, harbour) == 0
        page.get_by_role("checkbox", name="Only wrong lines").check()
        table = page.get_by_role("grid", name="Lines")
        expect(table.locator("[data-index]")).to_have_count(3)
        expect(table).to_contain_text("9▲ originalId is required")
        expect(table).to_contain_text("1,052▲ originalId is that of line 5")
        expect(page.get_by_role("button", name="Import 1,097")).to_be_disabled()
        for wrong in (7, 20, 1_050):
            lines[wrong] = f"Mended;{wrong + 0x8000:X};tracker"
        # Pasted, as out of a spreadsheet: of what is typed every line is laid out by itself.
        page.evaluate("text => navigator.clipboard.writeText(text)", csv(lines))
        page.get_by_role("textbox", name="CSV").focus()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.press("ControlOrMeta+v")
        page.get_by_role("button", name="Import 1,100 devices").click()
        expect(page.get_by_text("1,100 devices created")).to_be_visible()
        assert total(ada, harbour) == 1_100
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("1,100 devices deleted again")).to_be_visible()
        assert total(ada, harbour) == 0
