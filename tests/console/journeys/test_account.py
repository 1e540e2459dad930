"""What people do with their own account: sessions, password, authenticator app."""

import base64

import pytest
from playwright.sync_api import Page, expect

from longwire.identity import sign_in_links, totp
from longwire.identity.sign_in_links import LinkPurpose
from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])
PASSWORD = "correct horse battery"


def link_to(world: World, email: str, purpose: LinkPurpose) -> str:
    """A link, as mails have it; the path below /console."""
    secret = world.write(lambda tx: sign_in_links.create_for_terminal(tx, email))
    url = sign_in_links.build_url(world.url, secret, purpose)
    assert url.startswith(f"{world.url}/console/")
    return url.removeprefix(f"{world.url}/console")


def test_the_account_page_lists_what_changed_in_how_its_owner_signs_in(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    with browse(world, ada) as console:
        console.expected_statuses = {403}
        page = console.open("/account")
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_role("button", name="Set the password").click()
        expect(page.get_by_text("Password set")).to_be_visible()
        page = console.open("/account")
        expect(page.get_by_text("Password set")).to_be_visible()
        world.clock.let_pass(seconds=601)
        page.get_by_role("button", name="Turn on").click()
        expect(page.get_by_text("Sign in again by yourself first")).to_be_visible()
        page.get_by_label("New password").fill(f"{PASSWORD} 2")
        page.get_by_role("button", name="Set the password").click()
        page.get_by_label("Present password").fill(PASSWORD)
        page.get_by_role("button", name="Set the password").click()
        expect(page.get_by_text("Password set")).to_have_count(2)


def sign_out(page: Page) -> None:
    page.get_by_role("main").get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()


def test_a_mailed_link_signs_in_when_a_button_is_pressed_and_another_session_is_ended(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    mailed = link_to(world, world.email_of(ada), LinkPurpose.CONFIRM)
    with browse(world, ada) as first, browse(world) as second:
        first.expected_statuses = second.expected_statuses = {401}
        page = second.open(mailed)
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Not now").click()
        expect(page).to_have_url(f"{world.url}/console/groups")
        page = second.open("/account")
        ends = page.get_by_role("button", name="End", exact=True)
        expect(ends).to_have_count(1)
        ends.click()
        expect(ends).to_have_count(0)
        expect(first.open("/account")).to_have_url(f"{world.url}/console/sign-in?next=%2Faccount")
        sign_out(page)
        # The address that links had before there was a console; the fragment is kept.
        page.goto(f"{world.url}{mailed}")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_contain_text("no longer valid")


def test_a_person_resets_the_password_turns_on_codes_and_signs_in_with_both(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    email = world.email_of(ada)
    with browse(world) as console:
        console.expected_statuses = {401}
        page = console.open(link_to(world, email, LinkPurpose.RESET_PASSWORD))
        page.get_by_role("button", name="Continue").click()
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_role("button", name="Set the password").click()
        expect(page).to_have_url(f"{world.url}/console/groups")
        page = console.open("/account")
        page.get_by_role("button", name="Turn on").click()
        secret = base64.b32decode(
            page.get_by_text("Enter this secret").locator("code").inner_text()
        )

        def code() -> str:
            return totp.compute_code(secret, world.clock.now() // 30_000_000)

        page.get_by_label("Code", exact=True).fill(code())
        page.get_by_role("button", name="Confirm").click()
        expect(page.get_by_text("Keep these recovery codes")).to_be_visible()
        sign_out(page)
        page.get_by_label("Email", exact=True).fill(email)
        page.get_by_label("Password").fill(PASSWORD)
        submit = page.get_by_role("button", name="Sign in", exact=True)
        submit.click()
        world.clock.let_pass(seconds=60)
        page.get_by_label("Code of your authenticator app").fill(code())
        submit.click()
        expect(page).to_have_url(f"{world.url}/console/groups")
