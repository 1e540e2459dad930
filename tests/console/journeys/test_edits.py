"""Two people at one form: what is typed stays, and whoever saves over a change sees both."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

MINE = "function decodeUplink(input) { return {data: {celsius: input.bytes[0]}}; }"
THEIRS = "function decodeUplink(input) { return {data: {kelvin: input.bytes[0]}}; }"


def choose(page: Page, label: str) -> None:
    dialog = page.get_by_role("dialog", name="Somebody changed it meanwhile")
    dialog.get_by_role("button", name=label).click()
    expect(dialog).to_have_count(0)


def test_what_is_typed_about_a_group_stays_while_others_change_it(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    port = ada.group("Port")
    ada.group("Rail")
    harbour = ada.group("Harbour", parent=port)
    with browse(world, ada) as console:
        console.keep_toasts()
        console.expected_statuses = {409}
        page = console.open(f"/g/{harbour}/settings")
        toasts = page.locator(".toasts")
        description = page.get_by_label("Description")
        save = page.get_by_role("button", name="Save", exact=True)
        description.fill("Ships")
        page.get_by_role("button", name="Move…").click()
        dialog = page.get_by_role("dialog", name="Move Harbour")
        dialog.get_by_role("button", name="Rail").click()
        dialog.get_by_role("button", name="Move below Rail").click()
        expect(toasts).to_contain_text("Harbour is moved.")
        expect(description).to_have_value("Ships")
        save.click()  # where it is does not stand in this form: nothing to ask
        expect(toasts).to_contain_text("The group is changed.")
        undo = page.get_by_role("button", name="Undo")
        undo.first.click()  # each undoes its own, whatever was changed in between
        eventually(lambda: ok(ada.get("/group", groupId=harbour))[0]["parent"] == port)
        undo.click()
        expect(description).to_have_value("")

        description.fill("Ships and cranes")
        ok(ada.put("/group", {"groupId": harbour, "name": "Quay"}))  # by somebody else
        save.click()
        expect(page.get_by_role("row", name="Name Harbour Quay")).to_be_visible()
        choose(page, "Take both")
        expect(page.get_by_role("heading", level=1)).to_have_text("Quay")
        expect(description).to_have_value("Ships and cranes")
        tags = page.get_by_label("Tags")
        tags.fill("wet")  # typed after it was saved, and not undone
        undo.click()
        expect(description).to_have_value("")
        expect(tags).to_have_value("wet")
        save.click()
        eventually(lambda: ok(ada.get("/group", groupId=harbour))[0]["tags"] == ["wet"])
        group = ok(ada.get("/group", groupId=harbour))[0]
        assert (group["name"], group.get("description", "")) == ("Quay", "")


def test_what_is_typed_into_a_policy_stays_while_others_change_it(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        console.keep_toasts()
        console.expected_statuses = {409}
        page = console.open(f"/g/{harbour}/settings")
        page.get_by_label("Add a value").select_option("reportEverySeconds")
        every = page.get_by_role("textbox", name="Report every")
        save = page.get_by_role("button", name="Save the policy")
        page.get_by_text("Other values, as JSON").click()
        other = page.get_by_label("Other values", exact=True)
        other.fill('{"radio": ')
        expect(save).to_have_attribute("title", "Other values are not a JSON object")
        other.fill('{"radio": {"adr": true}}')
        every.fill("2")
        page.get_by_label("Report every, unit").select_option("minutes")
        theirs = {"groupId": harbour, "policy": {"reportEverySeconds": 300}}
        ok(ada.put("/group/configuration", theirs))
        every.press("Control+Enter")
        row = page.get_by_role("dialog").get_by_role("row", name="Report every")
        expect(row).to_contain_text("300")
        choose(page, "Save mine")
        expect(page.locator(".toasts")).to_contain_text("The policy is saved.")
        stored = ok(ada.get("/group/configuration", groupId=harbour))["policy"]
        assert stored == {"reportEverySeconds": 120, "radio": {"adr": True}}
        page.get_by_role("button", name="Undo").click()
        expect(every).to_have_value("5")


def test_a_secret_that_somebody_else_replaced_is_not_saved_over_and_an_undo_restores_one(
    world: World, browse: OpenConsole
) -> None:
    """The form shows neither, so that it cannot tell them apart."""
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    url = "http://127.0.0.1:9/"
    connector = ada.connector(harbour, url, params={"bearer": "first"}, enabled=False)
    which = {"groupId": harbour, "connectorId": connector}

    def stored() -> str:
        params = json.loads(ok(ada.get("/connector", **which))["params"])
        return str(params["bearer"])

    with browse(world, ada) as console:
        console.keep_toasts()
        console.expected_statuses = {409}
        page = console.open(f"/g/{harbour}/connectors/{connector}?tab=edit")
        form = page.get_by_role("tabpanel")
        replace = form.get_by_role("button", name="Replace Bearer token")
        bearer = form.get_by_label("Bearer token", exact=True)
        save = form.get_by_role("button", name="Save", exact=True)
        replace.click()
        bearer.fill("second")
        save.click()
        eventually(lambda: stored() == "second")
        page.get_by_role("button", name="Undo").click()
        eventually(lambda: stored() == "first")

        replace.click()
        bearer.fill("mine")
        ok(ada.put("/connector", {**which, "params": json.dumps({"url": url, "bearer": "theirs"})}))
        save.click()
        choose(page, "Take theirs")
        expect(replace).to_be_visible()
        expect(save).to_have_attribute("aria-disabled", "true")
        assert stored() == "theirs"


def test_a_draft_of_a_decoder_is_not_left_by_mistake_and_is_undone(
    world: World, browse: OpenConsole
) -> None:
    operator = world.operator
    harbour = operator.group("Harbour")

    def stored() -> str | None:
        found: str | None = ok(operator.get("/device/type/decoder", type="temperature")).get(
            "decoderSource"
        )
        return found

    with browse(world, operator) as console:
        console.keep_toasts()
        console.expected_statuses = {409}
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Device types").click()
        page.get_by_role("link", name="Temperature and humidity sensor").click()
        source = page.get_by_label("Source")
        save = page.get_by_role("button", name="Save for all devices")
        source.fill(MINE)
        page.get_by_role("link", name="Device types").last.click()
        asked = page.get_by_role("dialog", name="Leave without saving?")
        asked.get_by_role("button", name="Stay").click()
        expect(source).to_have_value(MINE)
        save.click()
        expect(page.get_by_text("Saved and in use")).to_be_visible()
        assert stored() == MINE
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Saved and in use")).to_have_count(0)
        assert stored() is None

        source.fill(MINE)
        theirs = {"type": "temperature", "decoder": "javascript", "decoderSource": THEIRS}
        ok(operator.put("/device/type/decoder", theirs))
        save.click()
        expect(page.get_by_role("row", name="Source")).to_contain_text("kelvin")
        choose(page, "Take theirs")
        expect(source).to_have_value(THEIRS)
        expect(page.get_by_text("Saved and in use")).to_be_visible()
        assert stored() == THEIRS
