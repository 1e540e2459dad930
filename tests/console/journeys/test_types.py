"""Device types: a decoder is tried on what is stored, saved, and applied to the past."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.console.conftest import OpenConsole
from tests.fleet.test_type_imports import CHIRPSTACK, write_files
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

CODEC = "function decodeUplink(input) { return {data: {celsius: input.bytes[0]}}; }"


def test_a_decoder_is_tried_on_stored_payloads_and_then_saved(
    world: World, browse: OpenConsole
) -> None:
    operator = world.operator
    harbour = operator.group("Harbour")
    device = operator.device(harbour, type="temperature", name="Cold room")
    operator.reports(device, __raw="05")
    with browse(world, operator) as console:
        console.open(f"/g/{harbour}/devices")
        page = console.page
        page.get_by_role("link", name="Device types").click()
        page.get_by_role("link", name="Temperature and humidity sensor").click()
        source = page.get_by_label("Source")
        console.expected_statuses.add(400)
        source.fill("function decodeUplink(")
        page.get_by_role("button", name="Try it").click()
        expect(page.get_by_text("missing formal parameter")).to_be_visible()
        source.fill(CODEC)
        source.press("Control+Enter")
        expect(page.get_by_text("1 payload: 1 would change")).to_be_visible()
        expect(page.locator(".bench-item")).to_contain_text("celsius")
        measurements = page.locator(".bench-measurements")
        expect(measurements).to_contain_text("celsius gauge")
        expect(measurements).to_contain_text("found in 1 payload")
        assert "decoder" not in ok(operator.get("/device/type/decoder", type="temperature"))
        page.get_by_role("button", name="Save for all devices").click()
        expect(page.get_by_text("Saved and in use")).to_be_visible()
        page.get_by_role("link", name="Redecode stored records").click()
        dialog = page.get_by_role("dialog", name="New job")
        expect(dialog.get_by_role("status")).to_contain_text("1 device")
        dialog.get_by_role("button", name="Start job").click()
        # The list behind the dialog names states, too, and may have the job by now.
        expect(page.get_by_role("heading", name="Redecode records")).to_be_visible()
        expect(page.get_by_text("succeeded")).to_be_visible()
        expect(page.get_by_text("1 of 1 · 1 changed")).to_be_visible()
    assert '"celsius":5' in operator.records(device)[0]["data"]


def test_a_policy_is_shown_with_the_decoder_above_it(world: World, browse: OpenConsole) -> None:
    """It would be pushed down otherwise, away from under a click."""
    harbour = world.operator.group("Harbour")
    with browse(world, world.operator) as console:
        held: list[Route] = []
        decoder = re.compile(r"/device/type/decoder\?")
        console.open(f"/g/{harbour}/devices")
        console.context.route(decoder, lambda route: held.append(route))
        with console.page.expect_response(re.compile(r"/device/type/configuration\?")):
            page = console.open("/types/generic")
        policy = page.get_by_role("heading", name="Configuration policy")
        expect(page.get_by_role("heading", name="Generic device")).to_be_visible()
        expect(policy).to_have_count(0)
        page.get_by_role("button", name="Stop").click()
        expect(policy).to_be_visible()
        assert held


def test_a_found_measurement_is_declared_with_its_unit_and_its_bounds(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, type="temperature", name="Cold room")
    ada.reports(device, data='{"celsius": 4.5}')
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Device types").click()
        page.get_by_role("link", name="Temperature and humidity sensor").click()
        table = page.get_by_role("region", name="Measurements, as table")
        row = table.get_by_role("row").last
        expect(row).to_contain_text("/data/celsius of datafound1")
        row.get_by_role("button", name="celsius").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Label").fill("Air")
        dialog.get_by_label("Unit").fill("°C")
        dialog.get_by_label("Largest possible value").fill("60")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_have_count(0)
        expect(row).to_contain_text("celsius Airgauge°C… to 60/data/celsius of datadeclared")
        row.get_by_role("button", name="celsius").click()
        dialog.get_by_label("Label").fill("Air inside")
        # Somebody else is faster: nothing is overwritten.
        theirs = {"name": "celsius", "path": "/data/celsius", "label": "Air", "unit": "K"}
        body = {"type": "temperature", "groupId": harbour, "measurements": [theirs]}
        ok(ada.put("/device/type/measurements", body))
        console.expected_statuses.add(409)
        dialog.get_by_role("button", name="Save").click()
        page.get_by_role("button", name="Take both, mine where I changed it").click()
        expect(dialog).to_have_count(0)
        expect(row).to_contain_text("celsius Air insidegaugeK")
        row.get_by_role("button", name="celsius").click()
        dialog.get_by_role("button", name="Remove the declaration").click()
        expect(row).to_contain_text("found")


def test_a_group_makes_types_of_its_own_and_imports_them_from_files(
    world: World, browse: OpenConsole, tmp_path: Path
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    harbour = ada.group("Harbour")
    ada.invite(bob, harbour, "viewer")
    folder = write_files(tmp_path, CHIRPSTACK) / "vendors" / "acme"
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Device types").click()
        page.get_by_role("button", name="New type").click()
        dialog = page.get_by_role("dialog")
        console.expected_statuses |= {400, 409}
        dialog.get_by_label("Id").fill("TRACKER")
        dialog.get_by_role("button", name="Create").click()
        expect(dialog.get_by_text("is taken")).to_be_visible()
        dialog.get_by_label("Id").fill("sonar")
        dialog.get_by_label("Name").fill("Depth sounder")
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", name="Depth sounder")).to_be_visible()
        page.get_by_label("Source").fill(CODEC)
        page.get_by_role("button", name="Save for all devices").click()
        expect(page.get_by_text("Saved and in use")).to_be_visible()
        page.get_by_role("button", name="Edit").click()
        dialog.get_by_label("Battery").fill("1 x D")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("1 x D")).to_be_visible()
        device = ada.device(harbour, type="sonar")
        page.get_by_role("button", name="Delete").click()
        dialog.get_by_role("button", name="Delete").click()
        expect(dialog.get_by_text("1 device has the type sonar")).to_be_visible()
        ok(ada.delete("/device", deviceId=device, groupId=harbour))
        dialog.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("Deleted Depth sounder")).to_be_visible()
        page.get_by_role("button", name="Import").click()
        codec = folder / "codecs" / "sonar.js"
        codec.write_text(codec.read_text().replace("/ 10", "/ 100"))
        dialog.get_by_label("Choose a folder").set_input_files(folder)
        expect(dialog.get_by_text("2 of 4 examples passed")).to_be_visible()
        expect(dialog.get_by_text("expected").first).to_be_visible()
        codec.write_text(codec.read_text().replace("/ 100", "/ 10"))
        dialog.get_by_label("Choose a folder").set_input_files(folder)
        expect(dialog.get_by_text("4 of 4 examples passed")).to_be_visible()
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_role("heading", name="Acme Sonar")).to_be_visible()
    assert ok(ada.get("/device/type", type="acme-sonar"))["groupId"] == harbour
    with browse(world, bob) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Device types").click()
        expect(page.get_by_role("link", name="Acme Sonar")).to_be_visible()
        for name in ("New type", "Import"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        page.get_by_role("link", name="Acme Sonar").click()
        expect(page.get_by_role("heading", name="Acme Sonar")).to_be_visible()
        for name in ("Edit", "Delete", "Save for all devices"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
