"""What the link in a mail of a report leads to: its file, for whoever has the link."""

import pytest
from playwright.sync_api import expect

from longwire.reports import sending
from tests.console.conftest import OpenConsole
from tests.notifications.standins import MailServer
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


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
