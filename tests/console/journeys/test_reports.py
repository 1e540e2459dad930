"""Reports: set up and sent by hand; and what the link in a mail of one leads to."""

import re

import pytest
from playwright.sync_api import expect

from longwire.reports import sending
from tests.console.conftest import OpenConsole
from tests.delivery.receiver import Receiver
from tests.notifications.standins import MailServer
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_a_report_is_created_sent_at_once_changed_and_deleted(
    make_world, browse: OpenConsole
) -> None:
    with MailServer() as mails, Receiver() as receiver:
        world: World = make_world(**mails.settings())
        ada, bob = world.person("ada"), world.person("bob")
        group = ada.group("Cold store")
        ada.invite(bob, group, "viewer")
        now_ms = world.clock.now() // 1_000
        ada.reports(ada.device(group), data='{"celsius": 4.5}', timestamp=now_ms)
        eventually(lambda: ok(ada.get("/group/measurements", groupId=group))["items"] != [])
        receiver.respond_with(400)

        with browse(world, ada) as console:
            console.keep_toasts()
            console.expected_statuses = {400}
            page = console.open(f"/g/{group}/overview")
            page.get_by_role("link", name="Reports").click()
            page.get_by_role("button", name="Create the first report").click()
            save = page.get_by_role("button", name="Save", exact=True)
            expect(save).to_have_attribute("title", "It needs a measurement.")
            page.get_by_label("Measurement", exact=True).select_option("celsius")
            page.get_by_role("textbox", name="Name", exact=True).fill("Cold rooms")
            page.get_by_label("Time zone").select_option("Europe/Paris")
            addresses = page.get_by_role("textbox", name="Addresses")
            addresses.fill("ada@example.com, bob")
            save.click()
            expect(addresses).to_have_attribute("aria-invalid", "true")
            main = page.get_by_role("main")
            expect(main).to_contain_text("bob must be an e-mail address. ")
            expect(page.get_by_role("alert")).to_have_text("One field is wrong. Nothing is saved.")
            console.check_accessibility()
            assert ok(ada.get("/group/reports", groupId=group))["items"] == []
            addresses.fill("ada@example.com")
            save.click()
            expect(page).to_have_url(re.compile("/reports/rpt_"))
            expect(main).to_contain_text("celsius, each device by itself, by the hour; XLSX")
            expect(main).to_contain_text("Every day at 06:00 in Europe/Paris")

            outcome = page.get_by_role("status", name="Outcome of sending")
            send = page.get_by_role("button", name="Send now")
            send.click()
            expect(outcome).to_contain_text("✓ sent")
            expect(outcome).to_contain_text("to 1 recipient")
            subjects = [each.message["subject"] for each in mails.mails]
            assert len([each for each in subjects if each.startswith("Cold rooms: ")]) == 1
            console.check_accessibility()

            # What was changed is undone, and what was not changed is not sent.
            page.get_by_label("Every", exact=True).select_option("Monday")
            save.click()
            expect(page.locator(".toasts")).to_contain_text("Saved.")
            expect(main).to_contain_text("Every Monday at 06:00")
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_label("Every", exact=True)).to_have_value("day")

            # The cause of a failure is where it is looked for.
            page.get_by_role("radio", name="Webhook").check()
            page.get_by_label("URL (required)").fill(receiver.url)
            save.click()
            expect(page.locator(".toasts")).to_contain_text("Saved.")
            expect(save).to_have_attribute("title", "Nothing is changed")
            send.click()
            expect(outcome).to_contain_text("◆ to be tried again")
            expect(outcome).to_contain_text("answered with status 400")
            page.get_by_role("link", name="Reports").last.click()
            row = page.get_by_role("grid", name="Reports").locator("[data-index]")
            expect(row).to_contain_text("◆ to be tried again")
            expect(row).to_contain_text("answered with status 400")
            console.check_accessibility()

        with browse(world, bob) as console:
            page = console.open(f"/g/{group}/reports")
            main = page.get_by_role("main")
            expect(main).to_contain_text("New report Why?")
            page.get_by_role("link", name="Cold rooms").click()
            expect(main).to_contain_text("Edit Why?")
            expect(main).to_contain_text("◆ to be tried again")
            for each in ("Send now", "Delete", "Save"):
                expect(page.get_by_role("button", name=each)).to_have_count(0)
            console.check_accessibility()

        with browse(world, ada) as console:
            page = console.open(f"/g/{group}/reports")
            page.get_by_role("switch", name="Send Cold rooms").click()
            page.get_by_role("link", name="Cold rooms").click()
            disabled = "It is disabled: nothing is sent until it is enabled."
            expect(page.get_by_role("button", name="Send now")).to_have_attribute("title", disabled)
            page.get_by_role("button", name="Delete").click()
            dialog = page.get_by_role("dialog", name="Delete Cold rooms")
            dialog.get_by_role("button", name="Delete").click()
            expect(page.get_by_role("button", name="Create the first report")).to_be_visible()
            assert ok(ada.get("/group/reports", groupId=group))["items"] == []


def test_a_file_that_is_too_large_for_a_mail_is_saved_from_the_page_of_its_link(
    make_world, browse: OpenConsole, monkeypatch
) -> None:
    monkeypatch.setattr(sending, "ATTACHED_BYTES_MAX", 10)
    with MailServer() as server:
        world: World = make_world(**server.settings(public_url="https://longwire.example.com"))
        ada = world.person("ada")
        group = ada.group("Cold store")
        ada.device(group, name="Freezer")
        report = {
            **{"groupId": group, "name": "Cold rooms", "content": "devices", "every": "week"},
            **{"at": "06:00", "to": {"type": "email", "params": {"to": ["ada@example.com"]}}},
        }
        which = {"groupId": group, "reportId": ok(ada.post("/report", report))["id"]}
        ok(ada.post("/report/send", which))
        eventually(lambda: len(server.mails) == 1)
        text = server.mails[0].message.get_body(("plain",)).get_content()
    (secret,) = [each.partition("#")[2] for each in text.split() if "#lwr_" in each]
    for person in (None, ada):  # without signing in, and signed in
        with browse(world, person) as console:
            asked: list[str] = []
            console.context.on("request", lambda request, to=asked: to.append(request.url))
            page = console.open(f"/report#{secret}")
            main = page.get_by_role("main")
            expect(main).to_contain_text("Cold rooms")
            expect(main).to_contain_text(" to ")  # a week
            with page.expect_download() as started:
                page.get_by_role("button", name="Download").click()
            file = started.value
            assert file.suggested_filename.startswith("devices-")
            assert "Freezer" in file.path().read_text()
            expect(main).to_contain_text("is saved")
            stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
            assert secret not in f"{page.url} {stored} {asked[1:]}"
            assert "#" not in page.url
    with browse(world) as console:
        page = console.open("/report")
        expect(page.get_by_role("alert")).to_contain_text("open the link in the mail once more")
        console.expected_statuses = {401}
        ok(ada.delete("/report", **which))
        page = console.new_tab(f"/report#{secret}")
        expect(page.get_by_role("alert")).to_contain_text("is invalid or has expired")
        expect(page.get_by_role("main")).to_contain_text("send the report again")
        console.check_accessibility(page)
