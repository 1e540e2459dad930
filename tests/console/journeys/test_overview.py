"""Somebody looks how a group is."""

import re
import shutil
import subprocess

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import drag
from tests.console.conftest import OpenConsole
from tests.delivery.receiver import Receiver
from tests.inbound.test_unknown_devices import flush
from tests.waiting import PATIENCE_S
from tests.world import World, ok, record_of

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])
# A field of each network's own form, and which networks a device can be tried out with.
FORMS = {
    "ChirpStack": "Event endpoint URL(s)",
    "The Things Stack": "Base URL",
    "LORIOT": "Target URL for POSTs",
    "ThingPark": "Content Type",
    "Other vendor": "Url pattern",
}


def step(page: Page, title: str) -> Locator:
    return page.get_by_role("listitem").filter(has=page.get_by_role("heading", name=title))


def run(command: str) -> str:
    """Paste it into a terminal; returns the status of the response."""
    pasted = f"{command} \\\n  -s -o /dev/null -w '%{{http_code}}'"
    return subprocess.run(
        ["bash", "-c", pasted], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl")
def test_a_new_group_leads_to_a_forwarded_record_in_four_steps(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with Receiver() as receiver, browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/overview")
        expect(page.get_by_role("heading", name="Four steps")).to_be_visible()
        page.get_by_role("button", name="Show the token").click()
        token = page.get_by_text(re.compile(r"^lwg_\S+$")).inner_text()
        shown = page.locator(".command pre")
        # Each network has its form, and a command that sends what the network would send.
        for name, field in FORMS.items():
            page.get_by_role("tab", name=name, exact=True).click()
            panel = page.get_by_role("tabpanel", name=name)
            expect(panel.get_by_text(field, exact=True)).to_be_visible()
            expect(panel).to_contain_text(token)
            assert run(shown.inner_text()) == "404"
        console.check_accessibility()
        flush(world)
        arrived = page.get_by_role("list", name="Unknown devices").get_by_role("listitem")
        expect(arrived).to_have_count(len(FORMS))
        expect(step(page, "Connect a network")).to_contain_text("done")
        eui = f"f0{int(harbour):014x}"
        arrived.filter(has_text=eui).filter(has_text="chirpstack").get_by_role("button").click()
        world.clock.let_pass(seconds=6)  # what was counted is not fresh any more
        page.get_by_role("dialog").get_by_role("button", name="Create").click()
        expect(step(page, "Create a device")).to_contain_text("done")
        expect(arrived).to_have_count(len(FORMS) - 1)
        world.clock.let_pass(seconds=6)
        ada.connector(harbour, receiver.url)
        expect(step(page, "Forward it")).to_contain_text("There is a connector")
        device = ok(ada.get("/group/devices", groupId=harbour))["items"][0]["deviceId"]
        ok(ada.post("/device/data", record_of(device)))
        expect(step(page, "Receive the first record")).to_contain_text("done")
        expect(step(page, "Forward it")).to_contain_text("done")
        expect(page.get_by_role("heading", name="All four steps are done")).to_be_visible()
        expect(page.get_by_role("link", name="Raise an alarm")).to_be_visible()
        expect(page.get_by_role("link", name="Help", exact=True)).to_have_attribute(
            "href", "/guide/guides/console/#first-steps"
        )


def test_a_sample_device_is_alive_at_once_and_deleted_in_one_click(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/overview")
        page.get_by_role("button", name="Use a sample device").click()
        bar = page.get_by_role("region", name="Sample device")
        expect(bar).to_contain_text("its values are made up")
        expect(bar).to_contain_text("reports every five seconds")
        (sample,) = ok(ada.get("/group/devices", groupId=harbour))["items"]
        assert (sample["network"], sample["tags"]) == ("vendor", ["sample"])
        # It is no device of one's own: the steps still wait for one.
        expect(step(page, "Create a device")).not_to_contain_text("done")
        bar.get_by_role("link", name="Watch it live").click()
        grid = page.get_by_role("grid", name="Records")
        expect(grid).to_have_attribute("aria-rowcount", re.compile(r"^3\d$"))
        assert all("celsius" in each["data"] for each in ada.records(sample["deviceId"]))
        page.go_back()
        bar.get_by_role("link", name="See its chart").click()
        expect(page.get_by_role("group", name=re.compile("celsius")).first).to_be_visible()
        # Somebody who comes later sees what it is, and that it is at rest.
        page.reload()
        expect(bar).to_contain_text("does not report at the moment")
        bar.get_by_role("button", name="Delete the sample").click()
        expect(page.get_by_text("deleted with its records")).to_be_visible()
        expect(page.get_by_role("button", name="Use a sample device")).to_be_visible()
        assert ok(ada.get("/group/devices", groupId=harbour))["items"] == []


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
