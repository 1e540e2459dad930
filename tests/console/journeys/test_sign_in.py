"""Ways in: a link, a password, and what is refused."""

import re

import pytest
from playwright.sync_api import Page, expect

from longwire.identity import sign_in_links
from tests.console.conftest import OpenConsole
from tests.world import World

pytestmark = pytest.mark.parametrize("engine", ["sqlite"])
TRIES_MAX = 12
PASSWORD = "correct horse battery"


def link_for(world: World, email: str) -> str:
    """The path below /console of a link, as the terminal prints it."""
    secret = world.write(lambda tx: sign_in_links.create_for_terminal(tx, email))
    return f"/sign-in#link={secret}"


def sign_in(page: Page, email: str, password: str) -> None:
    page.get_by_label("Email", exact=True).fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_the_link_of_the_terminal_signs_in_once_and_sets_a_password(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    path = link_for(world, world.email_of(ada))
    with browse(world) as console:
        page = console.open(path)
        expect(page.get_by_role("heading", name="You are signed in")).to_be_visible()
        assert "lwl_" not in page.url
        # Whom a password manager keeps it for is said, in the form.
        address = page.get_by_label("Your address for signing in")
        expect(address).to_have_value(world.email_of(ada))
        expect(address).to_have_attribute("autocomplete", "username")
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_role("button", name="Set the password").click()
        expect(page).to_have_url(f"{world.url}/console/groups")
    with browse(world) as console:
        console.expected_statuses = {401}
        page = console.open(path)
        expect(page.get_by_role("alert")).to_contain_text("no longer valid")
        expect(page.get_by_role("alert")).to_contain_text("longwire console link")
        console.check_accessibility()
        page = console.open(path.replace("#link=", "#token="))
        console.expected_statuses.add(404)
        page.reload()
        expect(page.get_by_role("alert")).to_contain_text("invite you again")
        sign_in(page, world.email_of(ada), PASSWORD)
        expect(page).to_have_url(f"{world.url}/console/groups")


def test_a_wrong_password_says_what_an_unknown_address_says_and_guessing_waits(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    with browse(world) as console:
        console.expected_statuses = {401, 429}
        # Who is not signed in is asked to, and gets no further than this console.
        page = console.open("/groups")
        expect(page).to_have_url(f"{world.url}/console/sign-in?next=%2Fgroups")
        page = console.open("/sign-in?next=//elsewhere.example/")
        said = []
        for email in (world.email_of(ada), "nobody@example.com"):
            sign_in(page, email, "something wrong")
            expect(page.get_by_role("alert")).to_be_visible()
            said.append(page.get_by_role("alert").text_content())
        assert said[0] == said[1]
        # Whoever goes on guessing waits, and sees for how long.
        waits = page.get_by_role("button", name=re.compile(r"^Wait \d+ s$"))
        for _ in range(TRIES_MAX):
            sign_in(page, world.email_of(ada), "something wrong")
            expect(page.get_by_role("alert")).to_be_visible()
            if waits.count() > 0:
                break
        expect(waits.first).to_be_visible()
        world.clock.let_pass(seconds=3_600)
        page.reload()
        page.get_by_text("Use a client id and secret").click()
        page.get_by_label("Client id").fill(ada.client_id)
        page.get_by_label("Client secret").fill(ada.client_secret)
        page.get_by_role("button", name="Sign in with the secret").click()
        expect(page).to_have_url(f"{world.url}/console/groups")


def test_a_session_that_ended_elsewhere_goes_on_where_it_was(
    world: World, browse: OpenConsole
) -> None:
    ada = world.person("ada")
    group = ada.group("Harbour")
    with browse(world) as console:
        console.expected_statuses = {401}
        page = console.open(link_for(world, world.email_of(ada)))
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_role("button", name="Set the password").click()
        expect(page).to_have_url(f"{world.url}/console/groups")
        page.goto(f"{world.url}/console/g/{group}/devices?q=crane")
        page.get_by_role("button", name="New device").first.click()
        fields = page.get_by_role("dialog", name="New device")
        for label in ("Name", "Original id", "Network"):
            fields.get_by_label(label, exact=True).fill("Crane")
        console.context.clear_cookies()
        # Whatever asks the service next is refused; something of the page may have been first.
        fields.get_by_role("button", name="Create").dispatch_event("click")
        dialog = page.get_by_role("dialog", name="Your session has ended")
        expect(dialog).to_be_visible()
        dialog.get_by_label("Password").fill(PASSWORD)
        dialog.get_by_role("button", name="Sign in", exact=True).click()
        expect(dialog).to_be_hidden()
        expect(page).to_have_url(f"{world.url}/console/g/{group}/devices?q=crane")
        # What was typed is there, and is sent.
        expect(fields.get_by_label("Network")).to_have_value("Crane")
        fields.get_by_role("button", name="Create").click()
        expect(page.get_by_role("grid", name="Devices")).to_contain_text("Crane")
