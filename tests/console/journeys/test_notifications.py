"""Who is notified when a device leaves, drawn on a map."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.console.browser import drag
from tests.console.conftest import NOWHERE, OpenConsole
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_an_area_is_drawn_and_whoever_leaves_it_is_reported(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    crane = ada.device(harbour, name="Crane")
    now = world.clock.now() // 1_000
    fix = {"status": 1, "source": 1, "radius": 80}
    ada.reports(crane, "geoloc", timestamp=now - 2_000, lat=51.95, lng=4.14, **fix)
    with Receiver() as receiver, browse(world, ada) as console:
        console.expected_statuses = {400, 409}
        page = console.open(f"/g/{harbour}/notifications")
        page.get_by_role("button", name="Create the first notification").click()
        page.get_by_role("button", name="HTTP webhook").click()
        page.get_by_role("textbox", name="Name", exact=True).fill("Left the port")
        page.get_by_label("URL (required)").fill(receiver.url)
        page.get_by_role("radio", name="A device leaves an area").check()
        page.get_by_role("button", name="Draw a circle").click()
        area = page.get_by_role("application", name="Area")
        drag(area, (0.5, 0.5), (0.6, 0.5))
        expect(page.get_by_label("Latitude")).to_have_value(re.compile(r"^51\.9"))
        # What was drawn can be taken: by the mouse, and by keys.
        radius = page.get_by_label("Radius in metres")
        drawn = int(radius.input_value())
        drag(area, (0.6, 0.5), (0.65, 0.5))
        expect(radius).not_to_have_value(str(drawn))
        dragged = int(radius.input_value())
        assert dragged > drawn * 1.3
        edge = page.get_by_role("button", name="Edge of the circle")
        edge.press("ArrowLeft")
        expect(radius).not_to_have_value(str(dragged))
        expect(edge).to_be_focused()
        page.get_by_role("textbox", name="Subject").fill("{{ mesage.deviceName }} left")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("line 1, column 4")).to_be_visible()
        page.get_by_role("textbox", name="Subject").fill("{{ message.deviceName }} left")
        # An error in a field that is folded away unfolds it.
        more = page.get_by_text("More settings of this type")
        signing = page.get_by_label("Signing secret", exact=True)
        more.click()
        signing.fill("too short")
        more.click()
        expect(signing).to_be_hidden()
        page.get_by_role("button", name="Save").click()
        expect(signing).to_be_visible()
        expect(signing).to_have_attribute("aria-invalid", "true")
        signing.fill("")
        # So does one in an object as a whole, at its first field.
        page.get_by_label("Username").fill("a:b")
        page.get_by_label("Password").fill("secret")
        more.click()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("the username must not contain a colon")).to_be_visible()
        page.get_by_text("As GeoJSON").click()
        console.check_accessibility()
        page.get_by_label("Username").fill("")
        page.get_by_label("Password").fill("")
        page.get_by_role("button", name="Save").click()
        expect(page).to_have_url(re.compile("/notifications/ntf_"))
        # The first position says where it is; the second one, far away, that it has left.
        ada.reports(crane, "geoloc", timestamp=now - 1_000, lat=51.95, lng=4.14, **fix)
        ada.reports(crane, "geoloc", timestamp=now, lat=48.85, lng=2.35, **fix)
        expect(page.get_by_text(re.compile("A device leaves a circle of"))).to_be_visible()
        assert receiver.wait_for(1)[0].json["subject"] == "Crane left"
        # Somebody else was faster.
        notification = page.url.rsplit("/", 1)[1].partition("?")[0]
        named = {"notificationId": notification, "groupId": harbour}
        page.get_by_role("textbox", name="Throttle").fill("60")
        ok(ada.put("/notification", named | {"name": "Gone"}))
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("row", name="Name Left the port Gone")).to_be_visible()
        page.get_by_role("button", name="Take theirs").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Gone")
        # A time of the week is drawn, from eight to five on a Tuesday; nobody keeps it.
        drag(page.locator(".week-ground-area"), (8 / 24, 1.5 / 7), (17 / 24, 1.5 / 7))
        expect(page.get_by_role("main")).to_contain_text("Tuesday 08:00 to 17:00")
        page.get_by_role("button", name="Discard").click()
        page.get_by_role("link", name="Notifications").last.click()
        row = page.get_by_role("grid", name="Notifications").locator("[data-index]")
        expect(row).to_contain_text("A device leaves a circle of")
        expect(row.get_by_role("img", name="Always")).to_be_visible()


def test_an_undo_restores_what_somebody_else_had_saved(world: World, browse: OpenConsole) -> None:
    """Not what the form began with, which theirs had replaced."""
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    notification = ada.notification(harbour, NOWHERE, name="alarm", params={"bearer": "first"})
    with browse(world, ada) as console:
        console.keep_toasts()
        console.expected_statuses = {409}
        page = console.open(f"/g/{harbour}/notifications/{notification}")
        url = page.get_by_label("URL (required)")
        url.fill("http://127.0.0.1:9/mine")
        which = {"groupId": harbour, "notificationId": notification}
        ok(ada.put("/notification", {**which, "name": "theirs"}))
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Save mine").click()
        expect(page.locator(".toasts")).to_contain_text("Saved.")
        assert ok(ada.get("/notification", **which))["name"] == "alarm"
        page.get_by_role("button", name="Undo").click()
        expect(url).to_have_value(NOWHERE)
        assert ok(ada.get("/notification", **which))["name"] == "theirs"

        def bearer() -> object:
            return json.loads(ok(ada.get("/notification", **which))["params"])["bearer"]

        page.get_by_role("button", name="Replace Bearer token").click()
        page.get_by_label("Bearer token", exact=True).fill("second")
        page.get_by_role("button", name="Save", exact=True).click()
        eventually(lambda: bearer() == "second")
        page.get_by_role("button", name="Undo").click()
        eventually(lambda: bearer() == "first")
