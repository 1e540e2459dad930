"""Somebody has mistyped a DevEUI, or not created a device yet, and sees what arrives instead."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.inbound.test_callbacks import network_of
from tests.inbound.test_unknown_devices import EUI, NOON, UPLINK, flush
from tests.world import World, ok, refused

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_an_unknown_device_leads_from_the_overview_to_the_device_and_its_first_record(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    network = network_of(ada, harbour)
    refused(network.says("chirpstack", UPLINK, event="up"), 404)
    refused(network.says("loriot", {"cmd": "rx", "EUI": "not an id"}), 404)
    flush(world)
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/overview")
        attention = page.get_by_role("listitem").filter(has_text="unknown devices reported")
        expect(attention).to_contain_text("2 unknown devices reported")
        attention.get_by_role("link", name=re.compile("List")).click()
        expect(page).to_have_url(re.compile(f"/g/{harbour}/unknown-devices"))
        row = page.get_by_role("row").filter(has_text=EUI)
        expect(row).to_contain_text("chirpstack")
        expect(row).to_contain_text("not created")
        row.get_by_text("Show").click()
        expect(row).to_contain_text('"deviceName":"pump"')
        malformed = page.get_by_role("row").filter(has_text="not an id")
        expect(malformed).to_contain_text("no valid id")
        expect(malformed.get_by_role("button", name=re.compile("Create"))).to_have_count(0)
        console.check_accessibility()

        row.get_by_role("button", name=re.compile("Create this device")).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(EUI)
        expect(dialog.get_by_label("Name")).to_have_value("pump")
        dialog.get_by_label("Type").select_option("temperature")
        dialog.get_by_label("Group").select_option("Quay 3")
        expect(dialog.get_by_role("checkbox")).to_be_checked()
        console.check_accessibility()
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_text("Created pump")).to_be_visible()
        expect(row).to_have_count(0)
        page.get_by_role("button", name="Open", exact=True).click()
        expect(page.get_by_role("heading", name="pump")).to_be_visible()
        (device,) = ok(ada.get("/group/devices", groupId=quay))["items"]
        assert (device["network"], device["originalId"]) == ("chirpstack", EUI)
        assert device["type"] == "temperature"
        (record,) = ada.records(device["deviceId"])
        assert (record["timestamp"], json.loads(record["data"])["radio"]) == (
            NOON,
            {"seqNumber": 16, "port": 2},
        )


def test_what_is_dismissed_is_gone_and_a_viewer_only_looks(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    ada.invite(grace, harbour, "viewer")
    network = network_of(ada, harbour)
    refused(network.says("chirpstack", UPLINK, event="up"), 404)
    flush(world)
    address = f"/g/{harbour}/unknown-devices"
    with browse(world, grace) as console:
        page = console.open(address)
        row = page.get_by_role("row").filter(has_text=EUI)
        expect(row).to_be_visible()
        expect(row.get_by_role("button")).to_have_count(0)
    with browse(world, ada) as console:
        console.page.clock.install()
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="1 unknown device reported").click()
        row = page.get_by_role("row").filter(has_text=EUI)
        row.get_by_role("button", name=re.compile("Dismiss")).click()
        expect(page.get_by_text("Whatever reported in the last seven days")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(row).to_be_visible()
        row.get_by_role("button", name=re.compile("Dismiss")).click()
        page.clock.fast_forward(10_000)
        expect(page.get_by_text("Whatever reported in the last seven days")).to_be_visible()
        page.wait_for_function("() => true")
        assert world.list_rows("unknown_device") == []
