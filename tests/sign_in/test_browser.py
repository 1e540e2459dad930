"""The sign-in page in a real Chromium, with its virtual authenticator."""

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page, expect, sync_playwright

from tests.sign_in.identity_provider import PUBLIC_URL, IdentityProvider
from tests.waiting import PATIENCE_S
from tests.world import World

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
PATIENCE_MS = PATIENCE_S * 1_000

expect.set_options(timeout=PATIENCE_MS)
pytestmark = pytest.mark.parametrize("engine", ["sqlite"])


@pytest.fixture(scope="module")
def launch() -> Iterator[Callable[..., Browser]]:
    """Starts Chromium, with more flags if needed."""
    if CHROMIUM is None:
        pytest.skip("Chromium is missing; `make signin` installs it")
    with sync_playwright() as playwright:
        yield lambda *flags: playwright.chromium.launch(
            executable_path=CHROMIUM, args=[*FLAGS, *flags]
        )


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
    page.goto(f"http://localhost:{world.port}/sign-in")
    return page, complaints


def sign_in_by_secret(page: Page, client: tuple[str, str]) -> None:
    details = page.locator("#by-client")
    if details.get_attribute("open") is None:
        details.locator("summary").click()
    page.get_by_label("Client id").fill(client[0])
    page.get_by_label("Client secret").fill(client[1])
    details.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="You are signed in", exact=True)).to_be_visible()


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
    expect(page.locator("#passkeys li")).to_contain_text(["Laptop"])
    (created,) = authenticator.passkeys()
    assert created["rpId"] == "localhost"
    assert created["isResidentCredential"]

    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.locator("#name")).to_have_text("ada@example.com")
    expect(page.locator("#sessions")).to_contain_text("by passkey")
    assert complaints == []

    # Somebody else's finger, then a copy of the authenticator.
    page.get_by_role("button", name="Sign out").click()
    authenticator.set_finger(is_right=False)
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("No passkey was used")
    authenticator.set_finger(is_right=True)
    authenticator.reset_counter()
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("did not work")
    expect(page.locator("#signed-in")).to_be_hidden()


def test_a_person_renames_and_deletes_a_passkey(
    make_world: Callable[..., World], context: BrowserContext
) -> None:
    world = make_world()
    ada = world.person("ada")
    page, _ = open_sign_in(world, context)
    Authenticator(context, page)
    sign_in_by_secret(page, (ada.client_id, ada.client_secret))
    page.get_by_label("Name of this device").fill("Laptop")
    page.get_by_role("button", name="Add a passkey").click()
    item = page.locator("#passkeys li")
    item.get_by_role("button", name="Rename").click()
    page.get_by_label("Name of the passkey").fill("<b>Work</b>")
    item.get_by_role("button", name="Save").click()
    expect(item).to_contain_text(["<b>Work</b>"])
    # The device has one already, and says so.
    page.get_by_label("Name of this device").fill("Again")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("alert")).to_contain_text("has a passkey of yours already")
    item.get_by_role("button", name="Delete").click()
    item.get_by_role("button", name="Delete it for good").click()
    expect(page.locator("#extra")).to_contain_text("None.")


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
        page.goto(f"{PUBLIC_URL}/sign-in")
        page.get_by_role("link", name="Sign in with Harbour ID").click()
        page.locator("[name=login]").fill("b-1")
        page.locator("[name=password]").fill("anything")
        page.get_by_role("button", name="Sign-in").click()
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert")).to_contain_text("does not vouch for your e-mail")

        page.context.clear_cookies()
        page.get_by_role("link", name="Sign in with Harbour ID").click()
        page.locator("[name=login]").fill("a-1")
        page.locator("[name=password]").fill("anything")
        page.get_by_role("button", name="Sign-in").click()
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#name")).to_have_text("ada@example.com")
        assert page.url == f"{PUBLIC_URL}/sign-in"
    finally:
        browser.close()
        provider.stop()
