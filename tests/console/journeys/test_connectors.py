"""Connectors: what they take, what became of their messages, and how a new one is made."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.console.browser import PHONE, drag
from tests.console.conftest import NOWHERE, OpenConsole
from tests.delivery.receiver import Received, Receiver, StubResponse
from tests.waiting import eventually
from tests.world import Person, World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

ONCE = {"retryDelay": 1, "maxRetry": 0}
HOURLY = {"retryDelay": 3_600, "maxRetry": 5}


def warm(person: Person, device: str, *degrees: float) -> None:
    """Records of the last minutes, newest last."""
    now = datetime.now(UTC)
    for number, celsius in enumerate(degrees):
        at = now - timedelta(minutes=len(degrees) - number)
        person.reports(device, timestamp=at.isoformat(), data=json.dumps({"celsius": celsius}))


def messages(person: Person, group: str, **params: Any) -> list[dict[str, Any]]:
    return list(ok(person.get("/connector/messages", groupId=group, **params))["items"])


def fetch(person: Person, group: str, connector: str) -> dict[str, Any]:
    return dict(ok(person.get("/connector", groupId=group, connectorId=connector)))


def listed(person: Person, group: str) -> list[dict[str, Any]]:
    return list(ok(person.get("/connector/connectors", groupId=group))["test"])


def filter_box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Filter", exact=True)


def test_a_filter_is_tried_on_stored_records_before_it_is_saved(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, name="Cold room")
    saved = "message.data.celsius > 8"
    with Receiver() as receiver, browse(world, ada) as console:
        console.keep_toasts()
        connector = ada.connector(harbour, receiver.url, name="Cellar", messageFilter=saved)
        warm(ada, device, 9, 7, 3)
        page = console.open(f"/g/{harbour}/connectors/{connector}")
        main = page.get_by_role("main")
        expect(main).to_contain_text(f"of all devices in Harbour, where {saved}")
        page.get_by_role("button", name="Edit", exact=True).click()
        expect(main).to_contain_text("On the last records 1 of 3 passes")

        # A mistake is shown at its place, and the saved filter stays.
        console.expected_statuses = {400}
        filter_box(page).fill("message.data.celsius >> 6")
        expect(main).to_contain_text("Line 1, column 23")
        expect(page.locator(".mistake mark")).to_have_text(">")
        expect(main).to_contain_text("The saved filter stays in use.")
        save = page.get_by_role("button", name="Save", exact=True)
        expect(save).to_have_attribute("title", "The filter has a mistake")
        assert fetch(ada, harbour, connector)["messageFilter"] == saved

        # So is what it cannot be evaluated for, and what lacks a field.
        filter_box(page).fill("message.data.celsius > 'x'")
        expect(main).to_contain_text("0 of 3 pass")
        expect(main).to_contain_text("For 3 the filter cannot be evaluated: the types of these")
        filter_box(page).fill("message.data.kelvin > 6")
        expect(main).to_contain_text("3 have no message.data.kelvin.")
        expect(main).not_to_contain_text("cannot be evaluated")

        # What would change is marked.
        filter_box(page).fill("message.data.celsius > 6")
        expect(main).to_contain_text("2 of 3 pass, 1 did with the saved one")
        tried = page.get_by_role("region", name="Records that were tried").get_by_role("row")
        expect(tried.nth(1)).to_contain_text("now")
        expect(tried.filter(has_text="the filter is false")).to_have_count(1)
        expect(page.locator(".would-send")).to_contain_text("webhook-id: msg_")
        filter_box(page).press("Control+Enter")
        page.get_by_role("button", name="Undo").wait_for()
        assert fetch(ada, harbour, connector)["messageFilter"] == "message.data.celsius > 6"
        page.get_by_role("button", name="Undo").click()
        expect(filter_box(page)).to_have_value(saved)
        assert fetch(ada, harbour, connector)["messageFilter"] == saved

        other = console.new_tab(f"/g/{harbour}/connectors/con_nothing")
        expect(other.get_by_role("main")).to_contain_text("There is no such connector")


def test_a_receiver_that_is_down_loses_nothing(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour)
    with Receiver(503) as receiver, browse(world, ada) as console:
        console.keep_toasts()
        connector = ada.connector(harbour, receiver.url, name="To the cellar", retryPolicy=ONCE)
        warm(ada, device, 9, 7, 3)
        eventually(lambda: len(messages(ada, harbour, status="failed")) == 3)
        page = console.open(f"/g/{harbour}/connectors")
        row = page.get_by_role("row").filter(has_text="To the cellar")
        expect(row).to_contain_text("everything from all devices in Harbour")
        expect(row).to_contain_text("failing, 3 in a row")
        row.get_by_role("link", name="To the cellar").click()
        # First of all how it is, and what that means.
        state = page.get_by_role("region", name="Failing since")
        expect(state).to_contain_text("answered with status 503")
        expect(state).to_contain_text("It has to be mended there.")
        expect(state.get_by_role("term").filter(has_text="Dead letters")).to_be_visible()
        # Then what failed, by error, with a request and what came back.
        group = page.locator(".failure")
        expect(group).to_have_count(1)
        expect(group).to_contain_text("3 deliveries")
        expect(group.get_by_label("Sent", exact=True)).to_contain_text("webhook-id: msg_")
        expect(group.get_by_label("Answered", exact=True)).to_contain_text("Status 503")
        console.check_accessibility()
        receiver.respond_with(204)
        page.get_by_role("button", name="Send a test").click()
        result = page.get_by_role("dialog", name="Test delivery")
        expect(result).to_contain_text("status 204")
        expect(result.get_by_label("Sent", exact=True)).to_contain_text("webhook-test")
        page.keyboard.press("Escape")
        assert len(messages(ada, harbour, status="failed")) == 3, "a test is no delivery"
        page.get_by_role("button", name="Resend 3 dead letters").click()
        expect(page.locator(".toasts")).to_contain_text("being sent again")
        expect(page.get_by_role("main")).to_contain_text("forwarding")
        expect(page.get_by_role("button", name=re.compile("Resend"))).to_have_count(0)
        assert len(messages(ada, harbour, status="succeed")) == 3

        # The switch acts at once, says what it means, and is undone.
        page.get_by_role("link", name="Connectors", exact=True).last.click()
        switch = page.get_by_role("switch", name="Forward through To the cellar")
        switch.click()
        expect(page.locator(".toasts")).to_contain_text("A replay fetches what arrived")
        assert fetch(ada, harbour, connector)["enabled"] is False
        page.get_by_role("button", name="Undo").click()
        expect(switch).to_be_checked()
        eventually(lambda: fetch(ada, harbour, connector)["enabled"] is True)


def test_a_webhook_id_leads_to_every_attempt_and_another_is_made(
    world: World, browse: OpenConsole
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 3", parent=harbour)
    ada.invite(bob, quay, "viewer")
    device = ada.device(quay, name="Crane 7")
    with Receiver(503) as receiver:
        cellar = ada.connector(quay, receiver.url, name="To the cellar", retryPolicy=HOURLY)
        ada.connector(quay, receiver.url, name="Alarms", messageFilter="message.kind == 'event'")
        ada.connector(
            harbour, receiver.url, name="From above", params={"subgroups": True}, retryPolicy=HOURLY
        )
        warm(ada, device, 9)
        webhook_id = next(each.id for each in receiver.wait_for(2))
        eventually(lambda: all(each["attempts"] == 1 for each in messages(ada, quay)))
        with browse(world, ada) as console:
            page = console.open(f"/m/{webhook_id}")
            main = page.get_by_role("main")
            expect(main).to_contain_text("Sent by the API")
            attempts = page.get_by_role("table", name="Attempts of To the cellar")
            expect(attempts).to_contain_text("status 503, rejected")
            expect(attempts).to_contain_text("waits, in")
            expect(main).to_contain_text("Not forwarded by: Alarms (its filter is false)")
            expect(main).to_contain_text("2 connectors")
            receiver.respond_with(204)
            step = page.get_by_role("listitem").filter(has=attempts)
            step.get_by_role("button", name="Retry now").click()
            expect(attempts.get_by_role("row").filter(has_text="status 204")).to_have_count(1)
            expect(step).to_contain_text("delivered")
        # Somebody below sees how far it went, and nothing more of it.
        with browse(world, bob, size=PHONE, color_scheme="dark") as console:
            page = console.open(f"/r/{messages(ada, quay)[0]['id'].replace('msg', 'rec', 1)}")
            console.expected_statuses = {404}
            expect(page.get_by_role("main")).to_contain_text("There is no such record")
            record = ok(bob.get("/group/records", groupId=quay))["items"][0]["id"]
            console.open(f"/r/{record}")
            expect(page.get_by_role("main")).to_contain_text("1 connector that you may not see")
            expect(page.get_by_role("main")).not_to_contain_text("From above")
            expect(page.get_by_role("button", name="Retry now")).to_have_count(0)
            # Nor is there anything on the other screens that ends in a refusal.
            console.expected_statuses = set()
            console.open(f"/g/{quay}/connectors")
            expect(page.get_by_role("button", name="Why?")).to_be_visible()
            expect(page.get_by_role("switch")).to_have_count(0)
            page.get_by_role("link", name="To the cellar").click()
            main = page.get_by_role("main")
            for name in (
                "Send a test",
                "Edit",
                "Disable",
                "Enable",
                "Replay all of this range…",
                "More actions",
            ):
                expect(page.get_by_role("button", name=name)).to_have_count(0)
            page.get_by_role("tab", name="Edit").click()
            expect(filter_box(page)).not_to_be_editable()
            expect(main).to_contain_text("On the last records 1 of 1 passes")
            # Nor what the receiver answered, which is said.
            shown = messages(ada, quay, connectorId=cellar)[0]["id"]
            console.open(f"/g/{quay}/connectors/{cellar}?message={shown}")
            drawer = page.get_by_role("dialog")
            expect(drawer).to_contain_text("shown to people who may change the connector")
            expect(drawer.get_by_label("Answered")).to_have_count(0)


def test_a_span_of_the_chart_is_replayed_under_the_old_ids(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    ada.invite(grace, harbour, "manager")
    device = ada.device(harbour)
    warm(ada, device, 1, 2)  # before the connector exists
    with Receiver() as receiver, browse(world, ada) as console:
        connector = ada.connector(harbour, receiver.url, name="To the lake")
        warm(ada, device, 9, 7, 3)
        before = {each.id for each in receiver.wait_for(3)}
        page = console.open(f"/g/{harbour}/connectors/{connector}?from=now-1h&to=now")
        drag(page.locator(".u-over"), (0.5, 0.5), (0.99, 0.5))
        main = page.get_by_role("main")
        expect(main).to_contain_text("5 records, 5 pass; 3 were sent before")
        assert "replayFrom=" in page.url
        # A colleague in another zone gets the same span by the same link.
        with browse(world, grace, timezone_id="Asia/Tokyo") as elsewhere:
            elsewhere.page.goto(page.url)
            shown = elsewhere.page.get_by_role("main")
            expect(shown).to_contain_text("5 records, 5 pass; 3 were sent before")
            expect(shown.get_by_role("button", name="Replay 5", exact=True)).to_be_visible()
            offers = [each.locator(".replay-offer p").inner_text() for each in (shown, main)]
            assert offers[0] != offers[1], "times are those of the zone"
        page.get_by_role("button", name="Replay 5", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("They keep their ids")
        dialog.get_by_role("button", name="Replay 5", exact=True).click()
        expect(main).to_contain_text("5 records looked at, 5 queued")
        again = receiver.wait_for(8)[3:]
        assert len({each.id for each in again} - before) == 2
        page.get_by_role("tab", name="Replays").click()
        expect(page.get_by_role("tabpanel").get_by_role("row")).to_have_count(2)


def test_while_the_service_is_unreachable_nothing_is_changed_and_nothing_typed_is_lost(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with Receiver() as receiver, browse(world, ada) as console:
        connector = ada.connector(harbour, receiver.url, name="Cellar")
        page = console.open(f"/g/{harbour}/connectors/{connector}?tab=edit")
        name = page.get_by_role("textbox", name="Name", exact=True)
        name.fill("Attic")
        save = page.get_by_role("button", name="Save")
        expect(save).to_be_enabled()
        console.context.set_offline(True)
        for button in (save, page.get_by_role("button", name="Disable")):
            expect(button).to_have_attribute("aria-disabled", "true")
            expect(button).to_have_attribute("title", "The service cannot be reached")
        for keys in ("Enter", "Control+Enter"):
            name.press(keys)
        expect(name).to_have_value("Attic")
        page.get_by_role("button", name="More actions").click()
        delete = page.get_by_role("menuitem", name="Delete")
        expect(delete).to_have_attribute("title", "The service cannot be reached")
        delete.click(force=True)
        expect(page.get_by_role("status").get_by_text("Undo")).to_have_count(0)
        page.keyboard.press("Escape")
        assert fetch(ada, harbour, connector)["name"] == "Cellar"
        console.context.set_offline(False)
        expect(save).to_be_enabled()
        name.press("Enter")
        eventually(lambda: fetch(ada, harbour, connector)["name"] == "Attic")


def test_a_connector_that_could_not_be_disabled_is_shown_as_enabled(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    connector = ada.connector(harbour, "http://127.0.0.1:9/", name="Cellar")
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/connectors/{connector}")
        disable = page.get_by_role("button", name="Disable")
        expect(disable).to_be_visible()
        # Neither changed nor read again, so that only the page itself can set it back.
        page.route(re.compile(r"/connector(\?.*)?$"), lambda route: route.abort())
        disable.click()
        expect(page.locator(".toast")).to_be_visible()
        expect(disable).to_be_visible()


def test_two_people_who_edit_one_connector_see_both_versions(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    secret = {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
    connector = ada.connector(
        harbour, "http://127.0.0.1:9/hook", name="To the lake", params=secret, enabled=False
    )
    with browse(world, ada) as console:
        console.keep_toasts()
        page = console.open(f"/g/{harbour}/connectors/{connector}?tab=edit")
        form = page.get_by_role("tabpanel")
        expect(form).not_to_contain_text("whsec_Mf")
        form.get_by_label("URL").fill("http://127.0.0.1:9/mine")
        which = {"groupId": harbour, "connectorId": connector}
        ok(ada.put("/connector", {**which, "name": "To the sea"}))  # by somebody else
        console.expected_statuses = {409}
        form.get_by_role("button", name="Save", exact=True).click()
        dialog = page.get_by_role("dialog", name="Somebody changed it meanwhile")
        row = dialog.get_by_role("row")
        expect(row.filter(has_text="Name")).to_contain_text("To the lake" + "To the sea")
        expect(row.filter(has_text="URL")).to_contain_text("http://127.0.0.1:9/mine")
        assert "mine" not in fetch(ada, harbour, connector)["params"]
        console.check_accessibility()
        dialog.get_by_role("button", name="Take both").click()
        expect(page.locator(".toasts")).to_contain_text("Saved.")
        expect(page.get_by_role("heading", name="To the sea")).to_be_visible()
        saved = fetch(ada, harbour, connector)
        assert json.loads(saved["params"]) == {"url": "http://127.0.0.1:9/mine", **secret}
        page.get_by_role("button", name="Undo").click()
        expect(form.get_by_label("URL")).to_have_value("http://127.0.0.1:9/hook")
        assert (
            fetch(ada, harbour, connector)["name"] == "To the sea"
        )  # not what the form began with
        page.get_by_role("tab", name="Changes").click()
        expect(page.get_by_role("tabpanel")).to_contain_text("Changed where it is masked: params")


def test_a_signing_secret_is_replaced_while_both_sign(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    old = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    connector = ada.connector(harbour, NOWHERE, params={"secret": old}, enabled=False)
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/connectors/{connector}?tab=edit")
        page.get_by_role("button", name="Replace the secret…").click()
        page.get_by_role("button", name="Replace it").click()
        dialog = page.get_by_role("dialog", name="The new signing secret")
        expect(dialog).to_contain_text("The old secret signs as well until")
        shown = dialog.locator("code").inner_text()
        params = json.loads(fetch(ada, harbour, connector)["params"])
        assert shown == params["secret"] != old
        console.check_accessibility()
        dialog.get_by_role("button", name="Done").click()
        expect(page.get_by_role("main")).not_to_contain_text(shown)
        page.get_by_role("button", name="End the old secret now").click()
        eventually(lambda: "previousSecretUntil" not in fetch(ada, harbour, connector))


def test_messages_that_are_held_back_are_shown(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    stuck, fine = ada.device(harbour), ada.device(harbour)

    def respond(got: Received) -> StubResponse:
        return StubResponse(status=500 if stuck.encode() in got.body else 204)

    with Receiver(respond) as receiver, browse(world, ada) as console:
        connector = ada.connector(
            harbour, receiver.url, params={"ordered": True}, retryPolicy=HOURLY
        )
        warm(ada, stuck, 9, 7, 3)
        eventually(lambda: fetch(ada, harbour, connector).get("error") is not None)
        warm(ada, fine, 1)
        receiver.wait_for(2)
        page = console.open(f"/g/{harbour}/connectors/{connector}")
        state = page.get_by_role("region", name="Deliveries are held back")
        expect(state).to_contain_text("2 for an earlier one of their device")
        expect(state).to_contain_text(
            re.compile("Next attempt.*in (59|60) min|Next attempt.*in 1 h")
        )
        expect(page.locator(".failure")).to_contain_text("1 is attempted again")
        console.check_accessibility()


def test_a_new_connector_is_tested_by_a_real_delivery(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour)
    warm(ada, device, 9, 3)
    with Receiver(500) as receiver, browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/connectors")
        page.get_by_role("button", name="Create the first connector").click()
        page.get_by_role("button", name="HTTP webhook").click()
        console.expected_statuses = {400}
        page.get_by_label("URL").fill("nowhere")
        main = page.get_by_role("main")
        expect(main).to_contain_text("must be an absolute URL")
        page.get_by_label("URL").fill(receiver.url)
        page.get_by_label("Name", exact=True).fill("To the lake")
        expect(main).to_contain_text("Forwards everything from all devices in Harbour")
        page.get_by_label("Filter").fill("message.data.celsius > 8")
        expect(main).to_contain_text("On the last records 1 of 2 passes")
        page.get_by_role("button", name="Send a test").click()
        result = page.get_by_role("status", name="Result of the test")
        expect(result).to_contain_text("status 500, rejected")
        receiver.respond_with(204)
        page.get_by_role("button", name="Send again").click()
        expect(result).to_contain_text("status 204")
        assert listed(ada, harbour) == [], "a test saves nothing"
        console.check_accessibility()
        warm(ada, device, 30)  # is not forwarded yet
        page.get_by_role("button", name="Save and forward").click()
        expect(page.get_by_role("heading", name="To the lake")).to_be_visible()
        warm(ada, device, 40)
        sent = [json.loads(each.json["data"])["celsius"] for each in receiver.wait_for(3)]
        assert sent == [9, 9, 40]
        (saved,) = listed(ada, harbour)
        assert (saved["messageFilter"], saved["enabled"]) == ("message.data.celsius > 8", True)
        assert "retryPolicy" not in saved


def test_an_error_in_a_folded_field_unfolds_it_once(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    connector = ada.connector(harbour, NOWHERE, name="erp")
    error = "the username must not contain a colon"
    with browse(world, ada) as console:
        console.expected_statuses = {400}
        page = console.open(f"/g/{harbour}/connectors/new?type=http")
        page.get_by_label("URL").fill(NOWHERE)
        page.get_by_role("textbox", name="Name", exact=True).fill("erp two")
        more = page.get_by_text("More settings of this type")
        more.click()
        page.get_by_label("Username").fill("a:b")
        page.get_by_label(re.compile("^Password")).fill("secret")
        expect(page.get_by_text(error)).to_be_visible()
        more.click()
        with page.expect_response("**/connector/preview"):
            page.get_by_label("Filter").fill("true")
        expect(page.get_by_text(error)).to_be_attached()
        expect(page.get_by_label("Username")).to_be_hidden()
        page.get_by_role("button", name="Save and forward").click()
        expect(page.get_by_label("Username")).to_be_visible()
        console.open(f"/g/{harbour}/connectors/{connector}?tab=edit")
        more.click()
        page.get_by_label("Username").fill("a:b")
        page.get_by_label(re.compile("^Password")).fill("secret")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text(error)).to_have_count(1)
