"""Somebody looks how a group is."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import drag
from tests.console.conftest import OpenConsole
from tests.delivery.receiver import Receiver
from tests.world import World, ok, record_of

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def step(page: Page, title: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=title))


def test_a_new_group_leads_to_a_forwarded_record_in_four_steps(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with Receiver() as receiver, browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/overview")
        expect(page.get_by_role("heading", name="Four steps")).to_be_visible()
        world.clock.let_pass(seconds=6)  # what was counted is not fresh any more
        device = ada.device(harbour, originalId="1FD48BE", network="vendor")
        expect(step(page, "Create a device")).to_contain_text("done")
        page.get_by_role("button", name="Show the token").click()
        token = page.get_by_text(re.compile(r"^lwg_\S+$")).inner_text()
        world.clock.let_pass(seconds=6)
        ada.connector(harbour, receiver.url)
        expect(step(page, "Forward it")).to_contain_text("There is a connector")
        ok(
            world.http.post(
                "/network/vendor/data",
                json={"device": "1FD48BE", "time": 1_794_731_400, "data": "0A1B"},
                headers={"Authorization": f"Bearer {token}"},
            )
        )
        expect(step(page, "Point a network here")).to_contain_text("done")
        expect(step(page, "Receive the first record")).to_contain_text("done")
        expect(step(page, "Forward it")).to_contain_text("done")
        expect(page.get_by_role("heading", name="All four steps are done")).to_be_visible()
        assert ada.records(device)


def test_figures_chart_and_attention_lead_to_what_is_behind_them(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, name="Cold room")
    connector = ada.connector(harbour, "http://127.0.0.1:9/", name="To the cellar", enable=True)
    items = [record_of(device, data=f'{{"n":{each}}}') for each in range(12)]
    ok(ada.post("/device/data/batch", {"items": items}))
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/overview?from=now-15m")
        expect(page.get_by_role("region", name="Records")).to_contain_text("12")
        expect(page.get_by_role("region", name="Devices seen today")).to_contain_text("of 1")
        expect(page.get_by_role("link", name="Open: To the cellar").first).to_have_attribute(
            "href", re.compile(f"/g/{harbour}/connectors/{connector}")
        )
        expect(page.get_by_text("created the connector")).to_be_visible()
        chart = page.get_by_role("group", name=re.compile("Records by kind"))
        chart.focus()
        page.keyboard.press("End")
        expect(page.get_by_role("status").filter(has_text="data")).to_contain_text("event 0")
        page.get_by_role("button", name="As table").click()
        table = page.get_by_role("region", name="Records by kind, as table")
        expect(table.get_by_role("cell", name="12", exact=True)).to_have_count(1)
        page.get_by_role("button", name="As chart").click()
        drag(chart, (0.5, 0.3), (0.95, 0.4))
        expect(page).to_have_url(re.compile(r"from=20\d\d-"))
        page.locator(".u-over").first.dispatch_event("dblclick")
        expect(page).to_have_url(re.compile("from=now-15m"))
        chart.focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile(f"/g/{harbour}/live.*until="))
        expect(page.get_by_role("grid", name="Records")).to_have_attribute("aria-rowcount", "12")
        page.get_by_role("button", name="Show what arrives now").click()
        expect(page).not_to_have_url(re.compile("until="))
