"""Somebody says what is too dry, is notified, cares about it, and sees that it is fine again."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.delivery.receiver import Receiver
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

HOUR_MS = 3_600_000


def test_a_sentence_becomes_an_alarm_that_is_acknowledged_and_resolved(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    moisture = {"name": "moisture", "path": "/data/moisture", "label": "Soil moisture"}
    declared = {
        "type": "temperature",
        "groupId": harbour,
        "measurements": [{**moisture, "unit": "%"}],
    }
    ok(ada.put("/device/type/measurements", declared))
    field = ada.device(quay, name="Field 7", type="temperature")

    def reads(percent: float, *, hours_ago: float = 0) -> None:
        at = world.clock.now() // 1_000 - int(hours_ago * HOUR_MS)
        ada.reports(field, timestamp=at, data=json.dumps({"moisture": percent}))

    for hours_ago in (20, 9, 3):
        reads(20 + hours_ago, hours_ago=hours_ago)
    with Receiver() as receiver, browse(world, ada) as console:
        console.expected_statuses = {400}
        page = console.open(f"/g/{harbour}/notifications/new?type=webhook")
        page.get_by_role("textbox", name="Name", exact=True).fill("Too dry")
        page.get_by_label("URL (required)").fill(receiver.url)
        page.get_by_label("Devices of the groups below as well").check()
        sentence = page.get_by_role("group", name="Condition")
        sentence.get_by_label("Measurement").select_option("Soil moisture")
        sentence.get_by_label("Above or below").select_option("below")
        backtest = page.get_by_role("region", name="In the last week")
        sentence.get_by_label("Limit").fill("25")
        expect(backtest).to_contain_text("would have been raised once, 1 delivery")
        sentence.get_by_label("Limit").fill("15")
        expect(backtest).to_contain_text("would not have been raised")
        expect(sentence).to_contain_text(f"notify {receiver.url}")
        sentence.get_by_label("Severity").select_option("critical")
        sentence.get_by_label("Back to normal at").fill("16")
        sentence.get_by_label("For at least", exact=True).fill("soon")
        page.get_by_role("button", name="Save").click()
        expect(sentence.get_by_label("For at least", exact=True)).to_have_attribute(
            "aria-invalid", "true"
        )
        console.check_accessibility()
        sentence.get_by_label("For at least", exact=True).fill("")
        # The same as an expression, and back.
        page.get_by_role("button", name="Write it as an expression").click()
        expect(page.get_by_label("Condition", exact=True)).to_have_value("values.moisture < 15.0")
        page.get_by_role("button", name="Write it as a sentence").click()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("main")).to_contain_text("Soil moisture is below 15 %")

        reads(12)
        receiver.wait_for(1)
        reads(9)
        side = page.get_by_role("navigation", name="Sections")
        console.open(f"/d/{field}")
        open_alarms = page.get_by_role("region", name="Open alarms")
        expect(open_alarms).to_contain_text("Soil moisture 12 % below 15 %")
        expect(open_alarms).to_contain_text("worst 9 %")
        console.check_accessibility()
        console.open(f"/g/{harbour}/overview")
        side.get_by_role("link", name=re.compile("Alarms.*1 open")).click()
        row = page.get_by_role("grid", name="Alarms").locator("[data-index]")
        expect(row).to_contain_text("critical")
        expect(row).to_contain_text("Quay 3")
        # By keys alone: to the list, acknowledge.
        page.keyboard.press("j")
        expect(row).to_be_focused()
        page.keyboard.press("a")
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("Field 7: Soil moisture 12 % below 15 %")
        console.check_accessibility()
        dialog.get_by_label("Comment").fill("The valve is stuck")
        page.keyboard.press("Control+Enter")
        expect(row).to_contain_text("acknowledged by ada")
        expect(row).to_contain_text("The valve is stuck")
        row.get_by_text("Soil moisture").click()
        expect(page.get_by_role("dialog")).to_contain_text("The valve is stuck")
        console.check_accessibility()
        page.get_by_role("button", name="Silence…").last.click()
        silence = page.get_by_role("dialog", name="Silence Field 7")
        silence.get_by_label("For").select_option("8 hours")
        silence.get_by_label("Reason").fill("A new valve")
        silence.get_by_role("button", name="Silence").click()
        expect(silence).to_have_count(0)
        page.keyboard.press("Escape")
        page.get_by_role("tab", name="Silences").click()
        silenced = page.get_by_role("row").filter(has_text="A new valve")
        expect(silenced).to_contain_text("Field 7")
        expect(silenced).to_contain_text("active")
        console.check_accessibility()
        silenced.get_by_role("button", name="End").click()
        expect(page.get_by_text("Nothing is silenced")).to_be_visible()
        page.get_by_role("tab", name="Open").click()

        reads(30)
        expect(page.get_by_text("No alarm is open")).to_be_visible()
        page.get_by_role("tab", name="History").click()
        expect(row).to_contain_text("resolved")
        row.get_by_role("link", name="Field 7").click()
        page.get_by_role("tab", name="Chart").click()
        expect(page.get_by_role("list", name="Legend").first).to_contain_text("1 alarm")
        assert [each.json["message"]["state"] for each in receiver.wait_for(2)] == [
            "raised",
            "resolved",
        ]
