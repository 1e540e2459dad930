"""Who is on call is notified, by name."""

import re

import pytest
from playwright.sync_api import expect

from tests.console.conftest import OpenConsole
from tests.delivery.receiver import Receiver
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


def test_contact_points_are_created_tested_used_and_kept_while_in_use(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    with Receiver() as receiver, browse(world, ada) as console:
        console.keep_toasts()
        page = console.open(f"/g/{harbour}/contact-points")
        save = page.get_by_role("button", name="Save", exact=True)
        page.get_by_role("button", name="Create the first contact point").click()
        page.get_by_role("button", name="HTTP webhook").click()
        page.get_by_role("textbox", name="Name", exact=True).fill("Technicians")
        page.get_by_label("URL (required)").fill(receiver.url)
        save.click()
        expect(page).to_have_url(re.compile("/contact-points/cpt_"))
        outcome = page.get_by_role("status", name="Outcome of the test")
        page.get_by_role("button", name="Test", exact=True).click()
        expect(outcome).to_contain_text("Technicians ✓ sent")
        assert receiver.wait_for(1)[0].json["subject"] == "Test of the contact point Technicians"

        # A rota is always on call: a shift for each day, all day.
        page.get_by_role("link", name="Contact points").last.click()
        page.get_by_role("button", name="New contact point").click()
        page.get_by_role("button", name="On call by schedule").click()
        page.get_by_role("textbox", name="Name", exact=True).fill("On call")
        page.get_by_role("button", name="Add a shift").click()
        shift = page.get_by_role("group", name="Shift 1")
        expect(shift.get_by_label("Contact point")).to_have_value(re.compile("cpt_"))
        for day in ("Saturday", "Sunday"):
            shift.get_by_label(day).check()
        for time in ("From", "To"):
            shift.get_by_label(time, exact=True).fill("")
        expect(shift).to_contain_text("every day")
        page.get_by_label("While nobody is on call").select_option("Technicians")
        console.check_accessibility()
        save.click()
        expect(page.get_by_role("main")).to_contain_text(re.compile("On call now\\s*Technicians"))
        page.get_by_role("button", name="Test", exact=True).click()
        expect(outcome).to_contain_text("Technicians ✓ sent")
        console.check_accessibility()

        # A notification chooses it by its name.
        page = console.open(f"/g/{harbour}/notifications/new?type=contactPoints")
        page.get_by_role("textbox", name="Name", exact=True).fill("Door open")
        page.get_by_role("radio", name="Custom event").check()
        expect(save).to_have_attribute("title", "It needs a contact point.")
        page.get_by_role("button", name="Choose a contact point").click()
        page.get_by_role("button", name="On call rota").click()
        save.click()
        expect(page).to_have_url(re.compile("/notifications/ntf_"))
        expect(page.get_by_role("main")).to_contain_text(re.compile("To\\s*On call"))

        # Whatever is in use is not deleted, and the list says by what.
        page = console.open(f"/g/{harbour}/contact-points")
        rows = page.get_by_role("grid", name="Contact points").locator("[data-index]")
        expect(rows.filter(has_text="Technicians").first).to_contain_text("On call")
        expect(rows.filter(has_text="Door open")).to_contain_text("On call by schedule")
        page.get_by_role("link", name="On call", exact=True).click()
        delete = page.get_by_role("button", name="Delete")
        used = "It is used by Door open; remove it there first."
        expect(delete).to_have_attribute("title", used)
        # A change is saved, and undone.
        named = {"groupId": harbour, "contactPointId": page.url.rsplit("/", 1)[1].partition("?")[0]}
        page.get_by_label("Description").fill("By day")
        save.click()
        expect(page.locator(".toasts")).to_contain_text("Saved.")
        assert ok(ada.get("/contactPoint", **named))["description"] == "By day"
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Description")).to_have_value("")
