"""The sign-in page: self-contained, and what a person sees of it in a real browser."""

import base64
import re
import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from longwire.identity import sign_in_links, totp
from longwire.identity.sign_in_links import LinkPurpose
from longwire.web.sign_in_page import ASSETS
from tests.waiting import PATIENCE_S
from tests.world import World

expect.set_options(timeout=PATIENCE_S * 1_000)

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is missing; `make signin` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[[str], Page]]:
    """Opens pages, each in a browser of its own; nothing may be refused by the policy."""
    complaints: list[str] = []
    contexts = []

    def open_page(url: str) -> Page:
        contexts.append(chromium.new_context())
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: "Content Security" in message.text and complaints.append(message.text),
        )
        page.goto(url)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def link_to(world: World, email: str, purpose: LinkPurpose = LinkPurpose.SIGN_IN) -> str:
    secret = world.write(lambda tx: sign_in_links.create_for_terminal(tx, email))
    return sign_in_links.build_url(world.url, secret, purpose)


def test_the_page_has_no_inline_code_and_loads_nothing_from_elsewhere() -> None:
    page = ASSETS["/sign-in"].content.decode()
    assert re.search(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page) is None
    for asset in ASSETS.values():
        assert b"http:" not in asset.content and b"https:" not in asset.content
        assert b"innerHTML" not in asset.content
    used = set(re.findall(r'byId\("([\w-]+)"\)', ASSETS["/sign-in/sign-in.js"].content.decode()))
    assert used <= set(re.findall(r'id="([\w-]+)"', page))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_printed_link_signs_in_and_another_session_is_ended(
    world: World, open_page: Callable[[str], Page]
) -> None:
    world.person("ada")
    first = open_page(link_to(world, "ada@example.com"))
    expect(first.get_by_role("heading", name="You are signed in", exact=True)).to_be_visible()
    assert first.url == f"{world.url}/sign-in"
    mailed = link_to(world, "ada@example.com", LinkPurpose.CONFIRM)
    second = open_page(mailed)
    second.get_by_role("button", name="Continue").click()
    expect(second.locator("#sessions li")).to_have_count(2)
    expect(second.get_by_text("ada@example.com")).to_be_visible()
    second.get_by_role("button", name="End").click()
    expect(second.locator("#sessions li")).to_have_count(1)
    first.reload()
    expect(first.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()

    second.get_by_role("button", name="Sign out").click()
    expect(second.get_by_role("heading", name="Sign in", exact=True)).to_be_visible()
    again = open_page(mailed)
    again.get_by_role("button", name="Continue").click()
    expect(again.get_by_role("alert")).to_contain_text("unknown, wrong or expired")


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_person_sets_a_password_turns_on_codes_and_signs_in_with_both(
    world: World, open_page: Callable[[str], Page]
) -> None:
    world.person("ada")
    page = open_page(link_to(world, "ada@example.com", LinkPurpose.RESET_PASSWORD))
    page.get_by_role("button", name="Continue").click()
    page.get_by_label("New password").fill("correct horse battery")
    page.get_by_role("button", name="Set the password").click()
    expect(page.get_by_role("status")).to_contain_text("The password is set")
    page.get_by_role("button", name="Turn on").click()
    secret = base64.b32decode(page.locator("#totp-secret code").inner_text())

    def code(steps: int = 0) -> str:
        return totp.compute_code(secret, world.clock.now() // 30_000_000 + steps)

    page.locator("#totp").get_by_label("Code").fill(code())
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("#recovery li")).to_have_count(10)
    page.get_by_role("button", name="Sign out").click()
    form = page.locator("#password-form")
    form.get_by_label("E-mail").fill("ada@example.com")
    form.get_by_label("Password").fill("correct horse battery")
    form.get_by_role("button", name="Sign in").click()
    world.clock.let_pass(seconds=60)
    form.get_by_label("Code").fill(code())
    form.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="You are signed in", exact=True)).to_be_visible()
