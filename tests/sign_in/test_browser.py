"""Signing in with a real Chromium, with its virtual authenticator."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Locator,
    Page,
    expect,
)

from tests.chromium import Driver
from tests.sign_in.identity_provider import PUBLIC_URL, IdentityProvider
from tests.waiting import PATIENCE_S, eventually
from tests.world import World, ok

PATIENCE_MS = PATIENCE_S * 1_000

expect.set_options(timeout=PATIENCE_MS)
pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


@pytest.fixture
def launch(driver: Driver) -> Iterator[Callable[..., Browser]]:
    """Starts Chromium, with more flags if needed."""
    with driver.awake():
        yield driver.launch


@pytest.fixture
def context(launch: Callable[..., Browser]) -> Iterator[BrowserContext]:
    """A browser that has seen nothing yet."""
    browser = launch()
    fresh = browser.new_context()
    fresh.set_default_timeout(PATIENCE_MS)
    yield fresh
    browser.close()


class Authenticator:
    """The authenticator of a laptop, which a person unlocks with a finger."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self._devtools: CDPSession = context.new_cdp_session(page)
        self._devtools.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        added = self._devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self._id = {"authenticatorId": added["authenticatorId"]}

    def passkeys(self) -> list[dict[str, Any]]:
        return list(self._devtools.send("WebAuthn.getCredentials", self._id)["credentials"])

    def reset_counter(self) -> None:
        """As a copy of the authenticator from before would have it."""
        (passkey,) = self.passkeys()
        remove = {**self._id, "credentialId": passkey["credentialId"]}
        self._devtools.send("WebAuthn.removeCredential", remove)
        add = {**self._id, "credential": {**passkey, "signCount": 0}}
        self._devtools.send("WebAuthn.addCredential", add)

    def set_finger(self, *, is_right: bool) -> None:
        self._devtools.send("WebAuthn.setUserVerified", {**self._id, "isUserVerified": is_right})


def open_sign_in(world: World, context: BrowserContext) -> tuple[Page, list[str]]:
    """The page, by the host name that passkeys need, and what its policy has refused."""
    page = context.new_page()
    complaints: list[str] = []
    page.on(
        "console",
        lambda message: "Content Security" in message.text and complaints.append(message.text),
    )
    page.goto(f"http://localhost:{world.port}/console/sign-in")
    return page, complaints


def sign_in_by_secret(page: Page, client: tuple[str, str]) -> None:
    """Signs in, and opens the account."""
    page.get_by_text("Use a client id and secret").click()
    page.get_by_label("Client id").fill(client[0])
    page.get_by_label("Client secret").fill(client[1])
    page.get_by_role("button", name="Sign in with the secret").click()
    open_account(page)


def open_account(page: Page) -> None:
    expect(page).to_have_url(re.compile("/console/groups$"))
    page.goto(page.url.replace("/groups", "/account"))
    expect(page.get_by_role("heading", name="Account", exact=True)).to_be_visible()


def get_card(page: Page, title: str) -> Locator:
    heading = page.get_by_role("heading", name=title, exact=True)
    return page.locator("section").filter(has=heading).last


def sign_out(page: Page) -> None:
    page.get_by_role("main").get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/console/sign-in"))


def test_a_person_adds_a_passkey_and_signs_in_with_it(
    make_world: Callable[..., World], context: BrowserContext
) -> None:
    world = make_world()
    ada = world.person("ada")
    page, complaints = open_sign_in(world, context)
    authenticator = Authenticator(context, page)
    sign_in_by_secret(page, (ada.client_id, ada.client_secret))
    page.get_by_label("Name of this device").fill("Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    expect(get_card(page, "Passkeys").get_by_role("listitem")).to_contain_text(["Laptop"])
    (created,) = authenticator.passkeys()
    assert created["rpId"] == "localhost"
    assert created["isResidentCredential"]

    sign_out(page)
    page.get_by_role("button", name="Sign in with a passkey").click()
    open_account(page)
    expect(page.get_by_text("ada@example.com").first).to_be_visible()
    expect(get_card(page, "Sessions")).to_contain_text("by passkey")
    assert complaints == []

    # Somebody else's finger, then a copy of the authenticator.
    sign_out(page)
    authenticator.set_finger(is_right=False)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("No passkey was used")
    authenticator.set_finger(is_right=True)
    authenticator.reset_counter()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("did not work")
    expect(page).to_have_url(re.compile("/console/sign-in"))


@pytest.mark.soak  # test_passkeys.py does it without a browser
def test_a_person_renames_and_deletes_a_passkey(
    make_world: Callable[..., World], context: BrowserContext
) -> None:
    world = make_world()
    ada = world.person("ada")
    page, _ = open_sign_in(world, context)
    page.clock.install()
    Authenticator(context, page)
    sign_in_by_secret(page, (ada.client_id, ada.client_secret))
    page.get_by_label("Name of this device").fill("Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    item = get_card(page, "Passkeys").get_by_role("listitem")
    item.get_by_role("button", name="Rename").click()
    page.get_by_label("Name of the passkey").fill("<b>Work</b>")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(item).to_contain_text(["<b>Work</b>"])
    # The device has one already, and says so.
    page.get_by_label("Name of this device").fill("Again")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_text("has a passkey of yours already")).to_be_visible()
    # A deletion can be called off for a while.
    item.get_by_role("button", name="Delete").click()
    expect(get_card(page, "Passkeys")).to_contain_text("None.")
    assert len(ok(ada.get("/user/passkeys"))["items"]) == 1
    page.clock.fast_forward(10_000)
    eventually(lambda: ok(ada.get("/user/passkeys"))["items"] == [])


def test_a_person_comes_back_from_an_identity_provider_on_another_site(
    make_world: Callable[..., World], launch: Callable[..., Browser]
) -> None:
    """Cookies of cross-site redirects are the browser's to decide, so that one has to try."""
    provider = IdentityProvider()
    world = make_world(**provider.settings(oidc_name="Harbour ID"))
    world.person("ada")
    provider.account("a-1", email="ada@example.com", email_verified=True)
    browser = launch(f"--host-resolver-rules=MAP longwire.test 127.0.0.1:{world.port}")
    try:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{PUBLIC_URL}/console/sign-in")
        page.get_by_role("link", name="Sign in with Harbour ID").click()
        page.locator("[name=login]").fill("b-1")
        page.locator("[name=password]").fill("anything")
        page.get_by_role("button", name="Sign-in").click()
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_contain_text("does not vouch for your email")

        page.context.clear_cookies()
        page.get_by_role("link", name="Sign in with Harbour ID").click()
        page.locator("[name=login]").fill("a-1")
        page.locator("[name=password]").fill("anything")
        page.get_by_role("button", name="Sign-in").click()
        page.get_by_role("button", name="Continue").click()
        expect(page).to_have_url(f"{PUBLIC_URL}/console/groups")
    finally:
        browser.close()
        provider.stop()
