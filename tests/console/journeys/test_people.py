"""Groups and the people in them: who may do what, why not, and what can be taken back."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.console.conftest import OpenConsole
from tests.waiting import eventually
from tests.world import World, ok

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])
# Follows a link, without loading the page again.
GO = "path => history.pushState({}, '', '/console' + path)"


def test_a_viewer_is_shown_who_can_help_instead_of_a_refusal(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    ada.invite(grace, harbour, ada.role("group.read", "member.read", name="Onlooker"))
    with browse(world, grace) as console:
        page = console.open(f"/g/{harbour}/people")
        expect(page.get_by_role("cell", name="ada@example.com", exact=True)).to_be_visible()
        # Sections that are not theirs are not listed.
        sections = page.get_by_role("navigation", name="Sections")
        expect(sections.get_by_role("link", name="People", exact=True)).to_be_visible()
        for section in ("Connectors", "Audit log", "Platform"):
            expect(sections.get_by_role("link", name=section)).to_have_count(0)
        expect(page.get_by_role("button", name="Invite")).to_have_count(0)
        expect(page.get_by_role("combobox")).to_have_count(0)
        page.get_by_role("button", name="Why?").click()
        dialog = page.get_by_role("dialog", name="Why may I not?")
        expect(dialog).to_contain_text("It needs the permission member.write.")
        expect(dialog).to_contain_text("your role is Onlooker")
        expect(dialog).to_contain_text("ada@example.com can give it to you")
        page.keyboard.press("Escape")
        # By an address one gets there, and reads why there is nothing.
        page.evaluate(GO, f"/g/{harbour}/live")
        expect(page.get_by_text("You see Harbour, but may not see this.")).to_be_visible()
        expect(page.get_by_role("button", name="Live updates: off")).to_be_visible()
        page.evaluate(GO, f"/g/{harbour}/overview")
        page.get_by_role("button", name="Why?").click()
        expect(page.get_by_text("It needs the permission metrics.read.")).to_be_visible()


def test_somebody_is_invited_given_another_role_and_gets_the_old_one_back(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    with browse(world, ada) as console:
        console.keep_toasts()
        page = console.open(f"/g/{harbour}/people")
        expect(page.get_by_text("(the last administrator)")).to_be_visible()
        page.get_by_role("button", name="Invite").click()
        page.get_by_label("Email").fill(world.email_of(grace))
        page.get_by_label("Role", exact=True).select_option("Viewer")
        page.get_by_role("dialog").get_by_role("button", name="Invite").click()
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        role = page.get_by_label(f"Role of {world.email_of(grace)}")
        expect(role).to_have_value("viewer")
        role.select_option("Manager")
        page.get_by_role("button", name="Undo").click()

        def roles() -> list[str]:
            members = ok(ada.get("/group/users", groupId=harbour))["items"]
            return [member["role"]["id"] for member in members]

        eventually(lambda: roles() == ["administrator", "viewer"])
        expect(role).to_have_value("viewer")


def test_without_a_mail_server_the_link_of_an_invitation_is_handed_over(
    world: World, browse: OpenConsole
) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")

    def invite(page: Page, email: str) -> str:
        """The link that the dialog shows; its path below /console."""
        page.get_by_role("button", name="Invite").click()
        page.get_by_label("Email").fill(email)
        page.get_by_role("dialog").get_by_role("button", name="Invite").click()
        expect(page.get_by_text("This service sends no mail")).to_be_visible()
        url = page.get_by_role("dialog").locator("pre").inner_text()
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        return "/sign-in" + url.partition("/console/sign-in")[2]

    with browse(world, ada) as console:
        page = console.open(f"/g/{harbour}/people")
        new = invite(page, "new@example.com")
        known = invite(page, world.email_of(grace))
        # One that was lost is replaced; a link that signs somebody in is for members only.
        page.get_by_label("Actions for new@example.com").click()
        expect(page.get_by_role("menuitem", name="Copy a sign-in link…")).to_have_count(0)
        page.get_by_role("menuitem", name="Invite again…").click()
        expect(page.get_by_role("dialog").locator("pre")).to_contain_text("#token=")
    with browse(world) as console:
        page = console.open(new)
        expect(page.get_by_text("You are invited to the group Harbour.")).to_be_visible()
        assert "token" not in page.url
        page.get_by_role("button", name="Accept").click()
        expect(page).to_have_url(re.compile("/console/(groups|g/)"))
        page = console.open("/account")
        expect(page.get_by_text("Somebody else was shown the link of this session")).to_be_visible()
        expect(page.get_by_label("New password")).to_have_count(0)
    with browse(world) as console:
        page = console.open(known)
        page.get_by_role("button", name="Accept").click()
        expect(page.get_by_text("You have an account: sign in to accept")).to_be_visible()
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("Use a client id and secret").click()
        page.get_by_label("Client id").fill(grace.client_id)
        page.get_by_label("Client secret").fill(grace.client_secret)
        page.get_by_role("button", name="Sign in with the secret").click()
        expect(page).to_have_url(re.compile(f"/console/g/{harbour}/overview"))

        def has_accepted() -> bool:
            return "seenAt" in ok(ada.get("/user", userId=grace.id))

        expect(page.get_by_text("Its members see your name when you accept")).to_be_visible()
        assert not has_accepted()  # opening the group is no consent
        page.get_by_role("button", name="Accept").click()
        expect(page.get_by_text("You are invited")).to_have_count(0)
        eventually(has_accepted)


def test_a_group_is_created_with_its_network_token_and_an_app_client(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    with browse(world, ada) as console:
        console.keep_toasts()
        page = console.open("/groups")
        expect(page.get_by_text("A group holds devices")).to_be_visible()
        page.get_by_role("button", name="New group").first.click()
        page.get_by_label("Name", exact=True).fill("Harbour")
        page.get_by_role("button", name="Create").click()
        expect(page.get_by_role("button", name="Group Harbour")).to_be_visible()
        group = ok(ada.get("/groups"))["items"][0]["id"]
        page.evaluate(GO, f"/g/{group}/settings")
        page.get_by_role("button", name="Show the token").click()
        expect(page.get_by_text("lwg_").first).to_be_visible()
        page.get_by_role("button", name="Hide").click()
        expect(page.get_by_text("lwg_")).to_have_count(0)
        role = page.get_by_label("Default role")
        chosen = role.locator("option:checked")
        expect(chosen).to_have_text("Member")
        role.select_option("Viewer")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("The group is changed.")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(chosen).to_have_text("Member")
        # A secret is shown once, and a deletion can be taken back.
        page.get_by_role("link", name="App clients").click()
        page.get_by_role("button", name="New app client").first.click()
        page.get_by_label("Name").fill("dashboard")
        page.get_by_role("button", name="Create").click()
        secret = page.get_by_role("dialog").locator("dd code").last.text_content()
        page.get_by_role("button", name="I have kept it").click()
        expect(page.get_by_text(str(secret))).to_have_count(0)
        row = page.get_by_role("row", name="dashboard")
        expect(row).to_contain_text("default")
        row.get_by_role("button", name="Change role").click()
        page.get_by_role("dialog").get_by_label("Role").select_option("Viewer")
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(row).to_contain_text("Viewer")
        row.get_by_role("button", name="Delete").click()
        expect(row).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(row).to_be_visible()
    assert len(ok(ada.get("/group/appClients", groupId=group))["items"]) == 1


@pytest.mark.soak  # tests/identity/test_roles.py has this without the screen
def test_a_role_holds_only_what_its_maker_holds(world: World, browse: OpenConsole) -> None:
    ada, grace = world.person("ada"), world.person("grace")
    harbour = ada.group("Harbour")
    held = ("group.read", "device.read", "role.read", "role.write")
    ada.invite(grace, harbour, ada.role(*held, name="crew lead"))
    with browse(world, grace) as console:
        page = console.open(f"/g/{harbour}/devices")
        page.get_by_role("link", name="Roles").click()
        page.get_by_role("button", name="New role").click()
        dialog = page.get_by_role("dialog", name="New role")
        dialog.get_by_label("Name", exact=True).fill("Field crew")
        expect(dialog.get_by_label("Change connectors")).to_be_disabled()
        dialog.get_by_label("See devices").check()
        dialog.get_by_role("button", name="Create").click()
        expect(page.get_by_role("columnheader", name="Field crew")).to_be_visible()


def test_an_operator_sees_groups_they_are_no_member_of_and_how_the_service_is(
    world: World, browse: OpenConsole
) -> None:
    world.person("ada").group("Harbour")
    chief = world.person("chief", operator=True)
    with browse(world, chief) as console:
        page = console.open("/groups")
        page.get_by_role("link", name="Harbour").click()
        expect(page.get_by_role("button", name="Group Harbour")).to_be_visible()
        page.get_by_role("link", name="Platform").click()
        expect(page.get_by_text("✓ ready")).to_be_visible()
        expect(page.get_by_text("Stored since the start")).to_be_visible()
        expect(page.get_by_role("cell", name="ada@example.com")).to_be_visible()
