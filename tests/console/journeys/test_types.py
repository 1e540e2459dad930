"""Device types: a decoder is tried on what is stored, saved, and applied to the past."""

import re

import pytest
from playwright.sync_api import Route, expect

from tests.console.conftest import OpenConsole
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
        expect(page.get_by_text("As it is in use")).to_be_visible()
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
        dialog.get_by_role("button", name="Remove the declaration").click()
        expect(row).to_contain_text("found")
