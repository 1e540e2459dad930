"""The audit log: what was changed, by whom, and taken back as long as nobody was there since."""

import json

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_a_change_is_undone_and_not_once_somebody_was_there_since(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    device = ada.device(harbour, name="Crane")

    def rename(name: str) -> str:
        body = {"deviceId": device, "groupId": harbour, "name": name}
        return str(ada.put("/device", body).headers["X-Request-Id"])

    rename("Crane 1")
    request = rename("Crane 2")
    with browse(world, ada) as console:
        console.keep_toasts()
        page = console.open(f"/g/{harbour}/audit")
        page.get_by_role("row", name="name: Crane → Crane 1").get_by_text("changed the").click()
        drawer = page.get_by_role("dialog", name="changed the device")
        drawer.get_by_role("button", name="Undo this change").click()
        expect(drawer.get_by_role("alert")).to_contain_text("It was changed since.")
        drawer.get_by_role("button", name="Close").click()
        page.get_by_label("Request id").fill(request)
        expect(page.get_by_role("row", name="changed the device")).to_have_count(1)
        page.get_by_role("row", name="changed the device").get_by_text("changed the").click()
        expect(drawer).to_contain_text("Crane 2")
        drawer.get_by_role("button", name="Undo this change").click()
        expect(page.get_by_text("Undone.")).to_be_visible()
        expect(drawer).to_have_count(0)
        assert ok(ada.get("/device", deviceId=device))["name"] == "Crane 1"
        # The overview lists what was changed last, and undoes it as well: the undo itself.
        page.get_by_role("link", name="Overview").click()
        page.get_by_role("button", name="Undo: changed the device").first.click()
        expect(page.get_by_text("Undone.").nth(1)).to_be_visible()
    assert ok(ada.get("/device", deviceId=device))["name"] == "Crane 2"


def test_changes_of_a_connector_are_undone_and_its_secrets_stay(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    params = {"url": "http://127.0.0.1:9/hook?key=1", "secret": "whsec_" + "c2VjcmV0" * 4}
    connector = ada.connector(harbour, params["url"], params=params)
    which = {"connectorId": connector, "groupId": harbour}
    changes = (
        {"params": json.dumps({**params, "batch": 5})},
        {"name": "To the cellar", "messageFilter": "message.kind == 'data'"},
        {"retryPolicy": {"retryDelay": 60, "maxRetry": 3}},
    )
    with browse(world, ada) as console:
        console.keep_toasts()
        for number, change in enumerate(changes):
            before = ok(ada.get("/connector", **which))
            ok(ada.put("/connector", {**which, **change}))
            page = console.open(f"/g/{harbour}/audit")
            row = page.get_by_role("row", name="changed the connector").first
            row.get_by_text("changed the").click()
            drawer = page.get_by_role("dialog", name="changed the connector")
            drawer.get_by_role("button", name="Undo this change").click()
            expect(page.get_by_text("Undone.").first).to_be_visible()
            expect(drawer).to_have_count(0)
            after = ok(ada.get("/connector", **which))
            assert json.loads(after.pop("params")) == json.loads(before.pop("params")), number
            assert {**after, "updatedAt": ""} == {**before, "updatedAt": ""}, number
