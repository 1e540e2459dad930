"""Messages of all connectors of a group: found, opened, retried and cancelled."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import PHONE
from tests.console.conftest import OpenConsole
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok, record_of

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def rows(page: Page) -> Locator:
    return page.get_by_role("grid", name="Deliveries").locator(".table-row-link")


def send(person: Person, device: str, count: int) -> None:
    items = [record_of(device, timestamp=f"2026-03-01T12:{each:02d}:00Z") for each in range(count)]
    ok(person.post("/device/data/batch", {"items": items}))


def messages(person: Person, group: str, status: str) -> list[dict[str, Any]]:
    found = ok(person.get("/connector/messages", groupId=group, status=status))
    return list(found["items"])


def test_all_that_match_are_retried_and_one_is_opened(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, name="Cold room")
    with Receiver(503) as receiver, browse(world, ada, size=PHONE, color_scheme="dark") as console:
        once = {"retryDelay": 1, "maxRetry": 0}
        ada.connector(harbour, receiver.url, name="To the lake", retryPolicy=once)
        ada.connector(harbour, receiver.url, name="To the sea", retryPolicy=once)
        send(ada, device, 5)
        eventually(lambda: len(messages(ada, harbour, "failed")) == 10)
        receiver.respond_with(204)
        page = console.open(f"/g/{harbour}/messages?status=failed")
        expect(page.get_by_role("main")).to_contain_text("10 failed")
        expect(rows(page)).to_have_count(10)
        page.get_by_role("button", name="Retry all that match").click()
        expect(page.locator(".toasts")).to_contain_text("10 deliveries queued again")
        eventually(lambda: len(messages(ada, harbour, "succeed")) == 10)
        expect(page.get_by_role("main")).to_contain_text("Nothing matches.")
        page.get_by_role("button", name="Remove status failed").click()
        expect(rows(page)).to_have_count(10)
        page.get_by_role("button", name="Any device").click()
        page.get_by_role("searchbox", name="Find a device").fill("cold")
        page.get_by_role("button", name="Cold room").click()
        expect(page).to_have_url(re.compile(f"device={device}"))
        expect(rows(page)).to_have_count(10)
        rows(page).first.press("Enter")
        drawer = page.get_by_role("dialog", name="Delivery")
        expect(drawer.get_by_role("table", name="Attempts")).to_contain_text("status 503")
        expect(drawer.get_by_role("table", name="Attempts")).to_contain_text("status 204")
        expect(drawer).to_contain_text("Sent again1")
        drawer.get_by_role("link", name="Trace").click()
        expect(page.get_by_role("main")).to_contain_text(
            "One record, from network to every attempt"
        )
        page.go_back()
        expect(drawer).to_be_visible()


def test_a_cancellation_can_be_called_off(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour)
    with Receiver(503) as receiver, browse(world, ada) as console:
        console.keep_toasts()
        hourly = {"retryDelay": 3_600, "maxRetry": 5}
        ada.connector(harbour, receiver.url, retryPolicy=hourly)
        send(ada, device, 3)
        receiver.wait_for(3)
        page = console.open(f"/g/{harbour}/messages?status=processing")
        expect(rows(page)).to_have_count(3)
        rows(page).first.focus()
        page.keyboard.press("x")
        page.keyboard.press("j")
        page.keyboard.press("x")
        bar = page.get_by_role("region", name="Selected deliveries")
        expect(bar).to_contain_text("2 selected")
        bar.get_by_role("button", name="Cancel deliveries").click()
        expect(page.locator(".toasts")).to_contain_text("2 deliveries will not be sent.")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".toast")).to_have_count(0)
        page.get_by_role("checkbox", name="Select all that are loaded").check()
        bar.get_by_role("button", name="Retry", exact=True).click()
        expect(page.locator(".toasts")).to_contain_text("3 deliveries queued again")
        receiver.wait_for(6)
        assert len(messages(ada, harbour, "processing")) == 3
