"""What no honest person does: hostile names, odd addresses, other people's tabs and pages."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])

SCRIPT = "<img src=x onerror=alert(1)>"
NAMES = (
    SCRIPT,
    "\u202egnp.exe\u202c \u05d0\u05d1\u05d2",
    "W" * 256,
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "two\nlines",
    "   ",
)
GO = "path => history.pushState({}, '', '/console' + path)"
WIDTHS = "() => [document.scrollingElement.scrollWidth, window.innerWidth]"
UNKNOWN = re.compile("There is no such (group|device|connector|notification|job|delivery|record)")


def go(page: Page, path: str) -> None:
    page.evaluate(GO, path)


def test_names_and_values_are_text_wherever_they_stand(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group(f"Harbour {SCRIPT}")
    devices = [ada.device(harbour, name=name, tags=[name.strip()[:64] or "x"]) for name in NAMES]
    for name in NAMES:
        ada.connector(harbour, "http://127.0.0.1:9/", name=name, enable=False)
        ada.group(name, parent=harbour)
    deep = "[" * 9_000 + "]" * 9_000
    for data in (SCRIPT, json.dumps({SCRIPT: {"__proto__": SCRIPT}}), deep, '{"a":1e999}'):
        ada.reports(devices[0], data=data)
    ada.reports(devices[0], "event", type=SCRIPT, message="y" * 4_000)
    blank = devices[-1]
    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/overview")
        # A script that ran would ask.
        page.on("dialog", lambda dialog: console.complaints.append(dialog.message))
        for path in ("/overview", "/live", "/devices", "/connectors", "/map", "/audit", "/people"):
            go(page, f"/g/{harbour}{path}")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.locator("main [aria-busy=true]")).to_have_count(0)
            width, room = page.evaluate(WIDTHS)
            assert width <= room, path
            expect(page.locator("img[src=x]")).to_have_count(0)
        go(page, f"/g/{harbour}/live")
        records = page.get_by_role("grid", name="Records").locator("[data-index]")
        expect(records).to_have_count(5)
        records.filter(has_text="[[[[").press("Enter")
        expect(page.get_by_role("dialog")).to_contain_text("[[[[")
        page.keyboard.press("Escape")
        expect(page).not_to_have_url(re.compile("record="))  # closing it changes the address later
        go(page, "/groups")
        expect(page.get_by_role("link", name="W" * 256)).to_be_visible()
        box = page.get_by_role("link", name="W" * 256).bounding_box()
        assert box and box["width"] < 900
        # A name of nothing but spaces is no link that could be pressed: its id is.
        go(page, f"/g/{harbour}/devices")
        page.get_by_role("link", name=blank).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(blank)


def test_what_is_not_there_is_said_to_be_not_there(world: World, browse: OpenConsole) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    elsewhere = world.person("grace").group("Elsewhere")
    here = f"/g/{harbour}"
    with browse(world, ada) as console:
        console.expected_statuses = {400, 404}
        page = console.open(f"{here}/settings")
        expect(page.get_by_role("heading", level=1)).to_have_text("Harbour")
        sections = ("overview", "live", "devices", "map", "messages", "people", "jobs", "drift")
        for path in (
            *(f"/g/{elsewhere}/{section}" for section in sections),
            "/g/%F0%9F%92%A5/connectors",
            "/d/dev_nothing",
            "/d/..%2F..",
            f"{here}/connectors/none",
            f"{here}/notifications/none",
            f"{here}/jobs/none",
            "/m/msg_1_1",
            "/r/rec_ffffffffffffffff",
        ):
            go(page, path)
            expect(page).to_have_url(f"{world.url}/console{path}")
            expect(page.locator("main [role=alert]"), path).to_contain_text(UNKNOWN)
            go(page, f"{here}/settings")
            expect(page.get_by_role("heading", level=1)).to_have_text("Harbour")
        # What an address has too much of is left out.
        go(page, f"{here}/devices?sort=evil&order=3&seen=%00")
        expect(page.get_by_text("Devices of this group are listed here")).to_be_visible()
        go(page, f"{here}/overview?from=never&to=9999&tz=Mars%2FOlympus")
        expect(page.get_by_role("button", name="Europe/Amsterdam")).to_be_visible()
        go(page, f"{here}/map?at=999,a,99")
        expect(page.get_by_role("application", name=re.compile("Map|Devices"))).to_be_visible()


def test_a_right_that_is_taken_away_and_a_session_that_becomes_anothers(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    ada.invite(grace, harbour, "manager")
    with browse(world, grace) as console:
        console.expected_statuses = {403}
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("button", name="New device").first.click()
        dialog = page.get_by_role("dialog")
        body = {"groupId": harbour, "userId": grace.id, "roleId": "viewer"}
        ok(ada.put("/group/user", body))
        for label in ("Name", "Original id", "Network"):
            dialog.get_by_label(label, exact=True).fill("Crane")
        dialog.get_by_role("button", name="Create").click()
        expect(dialog.get_by_role("alert")).to_be_visible()
        dialog.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("button", name="New device")).to_have_count(0)
        # In another tab somebody else signs in; this one does not go on as the one before.
        person = page.get_by_role("button", name=re.compile("Signed in as"))
        expect(person).to_have_accessible_name(re.compile("grace"))
        console.sign_in_as(ada)
        page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
        expect(person).to_have_accessible_name(re.compile("ada"))
        expect(page.get_by_role("button", name="New device").first).to_be_visible()


FORGE = """url => {
    const form = document.createElement('form');
    Object.assign(form, {method: 'post', action: `${url}/group`, enctype: 'text/plain'});
    const field = document.createElement('input');
    Object.assign(field, {name: '{"name": "forged", "description": "', value: '"}'});
    form.append(field);
    document.body.append(form);
    form.submit();
}"""


def test_a_page_of_another_origin_changes_nothing(world: World, browse: OpenConsole) -> None:
    """On another port of the same host, where the browser sends the cookie along."""
    ada = world.person("ada")
    ada.group("Harbour")
    other = "http://127.0.0.1:9/"
    with browse(world, ada) as console:
        console.expected_statuses = {403}
        page = console.open("/groups")
        expect(page.get_by_role("link", name="Harbour")).to_be_visible()
        console.context.route(other, lambda route: route.fulfill(body="<title>Prize</title>"))
        forged = console.context.new_page()
        forged.goto(other)
        with forged.expect_response(f"{world.url}/group") as answer:
            forged.evaluate(FORGE, world.url)
        assert answer.value.request.all_headers()["cookie"].startswith("longwire=")
        assert answer.value.status == 403
        assert answer.value.json()["code"] == "cross_site"
        forged.close()
        console.complaints = [each for each in console.complaints if other not in each]
        page.reload()
        expect(page.get_by_role("link", name="Harbour")).to_be_visible()
    assert [each["name"] for each in ok(ada.get("/groups"))["items"]] == ["Harbour"]
