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
