"""What devices measure: now, over time, and in lists."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.conftest import OpenConsole
from tests.world import Person, World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS


def declare(person: Person, group: str, type_: str, *measurements: dict[str, object]) -> None:
    body = {"type": type_, "groupId": group, "measurements": list(measurements)}
    ok(person.put("/device/type/measurements", body))


def value_now(page: Page, name: str) -> Locator:
    values = page.get_by_role("region", name="Now").get_by_role("listitem")
    return values.filter(has=page.get_by_text(name, exact=True))


def test_current_values_are_the_first_thing_seen_and_follow_what_arrives(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    moisture = {"name": "moisture", "path": "/data/moisture", "label": "Soil moisture"}
    bounds = {"unit": "%", "decimals": 1, "minimum": 0, "maximum": 100}
    door = {"name": "door", "path": "/data/door", "class": "state"}
    declare(ada, harbour, "temperature", {**moisture, **bounds}, door)
    device = ada.device(harbour, name="Field 7", type="temperature")
    now = world.clock.now() // 1_000
    for hours in (20, 19, 18, 3, 2, 1):
        data = {"moisture": 20 - hours / 2, "celsius": 4.25}
        ada.reports(device, timestamp=now - hours * HOUR_MS, data=json.dumps(data))
    silent = ada.device(harbour, name="Gate")
    ada.reports(silent, "event", type="opened")
    with browse(world, ada) as console:
        page = console.open(f"/d/{device}")
        values = page.get_by_role("region", name="Now").get_by_role("listitem")
        expect(values).to_have_count(2)
        first = values.first
        expect(first).to_contain_text("Soil moisture")
        expect(first).to_contain_text("19.5 %")
        expect(first).to_contain_text("1 h ago")
        expect(first.get_by_role("img", name="Soil moisture in the last day")).to_be_visible()
        expect(value_now(page, "celsius")).to_contain_text("4.25")
        live = page.get_by_role("button", name=re.compile("Live updates: live"))
        expect(live).to_be_visible()
        now = world.clock.now() // 1_000
        arriving = json.dumps({"moisture": 15, "door": "open"})
        ada.reports(device, timestamp=now, data=arriving)
        expect(value_now(page, "Soil moisture")).to_contain_text("15.0 %")
        expect(value_now(page, "door")).to_contain_text("open")
        ada.reports(device, timestamp=now, data=json.dumps({"moisture": 140}))
        expect(value_now(page, "Soil moisture")).to_contain_text("1 invalid")
        expect(value_now(page, "Soil moisture")).to_contain_text("15.0 %")

        console.open(f"/d/{silent}")
        expect(page.get_by_role("grid", name="Records")).to_contain_text("opened")
        expect(page.get_by_role("region", name="Now")).to_have_count(0)


def test_values_of_a_device_that_should_have_reported_are_marked(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    ok(ada.put("/group/configuration", {"groupId": harbour, "policy": {"reportEverySeconds": 60}}))
    device = ada.device(harbour, name="Field 7", type="temperature")
    now = world.clock.now() // 1_000
    names = [f"channel{number:02}" for number in range(12)]
    data = json.dumps(dict.fromkeys(names, 1))
    ada.reports(device, timestamp=now - HOUR_MS, data=data)
    with browse(world, ada) as console:
        page = console.open(f"/d/{device}")
        values = page.get_by_role("region", name="Now").get_by_role("listitem")
        expect(values).to_have_count(8)
        page.get_by_role("button", name="Show all 12").click()
        expect(values).to_have_count(12)
        expect(value_now(page, "channel11")).to_contain_text("stale")


def test_charts_compare_devices_and_show_what_a_counter_has_added(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    meter = {"name": "volume", "path": "/data/pulses", "class": "counter", "unit": "l"}
    declare(ada, harbour, "meter", {**meter, "label": "Water", "decimals": 1})
    devices = {name: ada.device(harbour, name=name, type="meter") for name in ("Tap 1", "Tap 2")}
    today = world.clock.now() // 1_000 // DAY_MS * DAY_MS
    for device in devices.values():
        # Noon in Amsterdam, and nothing on the third day.
        for days, pulses in ((5, 100), (4, 103), (2, 110), (1, 111.5)):
            data = json.dumps({"pulses": pulses, "bar": days, "deep": {"er": {"level": days}}})
            ada.reports(device, timestamp=today - days * DAY_MS + 11 * HOUR_MS, data=data)
    with browse(world, ada) as console:
        page = console.open(f"/d/{devices['Tap 1']}")
        page.get_by_role("region", name="Now").get_by_role("link", name="Water").click()
        page.get_by_role("group", name="Range").get_by_role("button", name="Week").click()
        expect(page.get_by_role("heading", name="Water, l, each day")).to_be_visible()
        expect(page.get_by_text("11.5 l in all; 1 bar includes what was added")).to_be_visible()
        page.get_by_role("button", name="As table").click()
        table = page.get_by_role("region", name="Water, l, each day, as table")
        expect(table.get_by_role("row")).to_have_count(5)
        expect(table.get_by_role("row").nth(3)).to_contain_text("7.0")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download CSV of Water").click()
        lines = download.value.path().read_text().splitlines()
        assert len(lines) == 5
        assert "increase" in lines[0]

        page.get_by_role("button", name=re.compile("Choose a device")).click()
        page.get_by_role("button", name=re.compile("Tap 2")).click()
        expect(page.get_by_text("23.0 l in all; 2 bars include what was added")).to_be_visible()
        expect(table.get_by_role("columnheader")).to_contain_text(["From", "Tap 1", "Tap 2"])
        page.get_by_label("Consumption").select_option("the meter reading")
        expect(page.get_by_role("heading", name="Water, l", exact=True)).to_be_visible()
        readings = page.get_by_role("region", name="Water, l, as table")
        expect(readings.get_by_role("row").last).to_contain_text("111.5111.5")

        page.get_by_text("Other path").click()
        field = page.get_by_label("JSON pointer to a number")
        field.fill("data")
        page.get_by_role("button", name="Add a chart").click()
        expect(page.get_by_text("A path begins with a slash")).to_be_visible()
        field.fill("/data/deep/er/level")
        page.get_by_role("button", name="Add a chart").click()
        expect(page.get_by_role("heading", name="deep.er.level")).to_be_visible()
        page.get_by_role("button", name="Remove deep.er.level").click()
        expect(page.get_by_role("heading", name="deep.er.level")).to_have_count(0)


def test_a_group_is_explored_from_its_sum_to_single_devices(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    below = ada.group("Quay", parent=harbour)
    meter = {"name": "volume", "path": "/data/pulses", "class": "counter", "unit": "l"}
    door = {"name": "door", "path": "/data/door", "class": "state", "label": "Door"}
    declare(ada, harbour, "meter", {**meter, "label": "Water", "decimals": 1}, door)
    today = world.clock.now() // 1_000 // DAY_MS * DAY_MS
    for name, group, factor in (("Tap 1", harbour, 1), ("Tap 2", below, 3)):
        device = ada.device(group, name=name, type="meter")
        for days, pulses in ((5, 0), (4, 10), (3, 16), (2, 20)):
            at = today - days * DAY_MS + 11 * HOUR_MS
            data = {"pulses": pulses * factor, "door": "open" if days == 4 else "closed"}
            ada.reports(device, timestamp=at, data=json.dumps(data))
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/overview")
        page.get_by_role("link", name="Explore").click()
        page.get_by_role("button", name="Week").click()
        # Nothing is chosen: what the group consumes, as one.
        expect(page.get_by_role("heading", name="Water, l, each day")).to_be_visible()
        expect(page.get_by_text("sum of 2 devices; 80.0 l in all")).to_be_visible()
        table = page.get_by_role("region", name="Water, l, each day, as table")
        expect(table.get_by_role("row").nth(2)).to_contain_text("40.02")
        most = page.get_by_role("region", name="Most of it: Water")
        expect(most.get_by_role("row")).to_have_count(2)
        expect(most.get_by_role("row").first).to_contain_text("Tap 260.0 l75 %")
        with page.expect_download() as download:
            page.get_by_role("button", name="Download CSV of Water, l, each day").click()
        assert download.value.path().read_text().startswith("timestamp,value,devices")

        most.get_by_role("button", name="Draw each of them").click()
        headers = table.get_by_role("columnheader")
        expect(headers).to_contain_text(["From", "Tap 2 (l)", "Tap 1 (l)"])
        page.get_by_role("button", name=re.compile("Measurements")).click()
        page.get_by_role("checkbox", name="Door").check()
        page.keyboard.press("Escape")
        band = page.get_by_role("img", name="Door of Tap 1: 3 states, the last one closed")
        expect(band).to_be_visible()
        for name in ("Remove Tap 2", "Remove Tap 1", "Draw up to 20 devices that have it"):
            page.get_by_role("button", name=name).click()
        expect(band).to_be_visible()
        page.get_by_role("button", name="Freeze range").click()
        expect(page.get_by_role("button", name="Freeze range")).to_have_count(0)
        frozen = sorted(page.url.partition("?")[2].split("&"))

        page.get_by_role("button", name=re.compile("^Views")).click()
        page.get_by_label("Save what is shown as").fill("Taps and doors")
        page.get_by_role("button", name="Save", exact=True).click()
        console.open(f"/g/{harbour}/explore")
        expect(band).to_have_count(0)
        page.get_by_role("button", name="Views (1)").click()
        page.get_by_role("button", name="Taps and doors", exact=True).click()
        expect(band).to_be_visible()
        assert sorted(page.url.partition("?")[2].split("&")) == frozen


def test_devices_are_listed_by_what_they_measure(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    moisture = {"name": "moisture", "path": "/data/moisture", "label": "Soil moisture"}
    declare(ada, harbour, "temperature", {**moisture, "unit": "%", "decimals": 1})
    now = world.clock.now() // 1_000
    for name, percent, hours in (("Field 1", 30, 1), ("Field 2", 12, 2), ("Field 3", 9, 50)):
        device = ada.device(harbour, name=name, type="temperature")
        data = json.dumps({"moisture": percent})
        ada.reports(device, timestamp=now - hours * HOUR_MS, data=data)
    ada.device(harbour, name="Gate")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        grid = page.get_by_role("grid", name="Devices")
        rows = grid.get_by_role("rowgroup").last.get_by_role("row")
        expect(rows).to_have_count(4)
        page.get_by_role("button", name="Values").click()
        page.get_by_role("checkbox", name="Soil moisture %").check()
        page.keyboard.press("Escape")
        expect(rows.filter(has_text="Field 2")).to_contain_text("12.0 %2 h")
        gate = rows.filter(has_text="Gate").get_by_role("gridcell")
        expect(gate.nth(4)).to_contain_text("\N{EN DASH}")
        grid.get_by_role("button", name="Soil moisture").click()
        expect(rows.locator(".row-link")).to_have_text(["Field 3", "Field 2", "Field 1", "Gate"])
        page.get_by_role("button", name="Filter by value").click()
        page.get_by_label("Value, %").fill("15")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(rows.locator(".row-link")).to_have_text(["Field 3", "Field 2"])
        page.get_by_role("button", name="Filter by value").click()
        page.get_by_label("Comparison").select_option("is older than")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(rows.locator(".row-link")).to_have_text(["Field 3"])
        # The address has all of it.
        assert "where=moisture%40%3Cnow-1d" in page.url
        page.reload()
        expect(rows.locator(".row-link")).to_have_text(["Field 3"])
        page.get_by_role("button", name=re.compile("Remove the filter: .* 15 %")).click()
        page.get_by_role("button", name=re.compile("Remove the filter: .* 1 day")).click()
        expect(rows).to_have_count(4)
