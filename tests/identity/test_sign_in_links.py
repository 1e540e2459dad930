"""Links to sign in: once, for a while, mailed or shown; nobody gets more than they have by one."""

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from longwire.identity import sign_in_links
from longwire.store.identity import expiry
from longwire.store.identity.sign_in_codes import SIGN_IN_CODES
from tests.browser import OWN_PAGE, Browser
from tests.notifications.standins import MailServer
from tests.waiting import eventually
from tests.world import Person, World, nothing_happens, ok, refused

MakeWorld = Callable[..., World]
URL = re.compile(r"(\S+)/console/sign-in#(link|mail|reset)=(lwl_[\w-]{43})")


@pytest.fixture
def browsers(world: World) -> Iterator[Callable[[], Browser]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Browser(world))


def terminal_link(world: World, email: str) -> str:
    return world.write(lambda tx: sign_in_links.create_for_terminal(tx, email))


def ask_for_mail(world: World, email: str, **given: Any) -> httpx.Response:
    return world.http.post("/session/link", json={"email": email, **given}, headers=OWN_PAGE)


def show_link(caller: Person | Browser, email: str, group: str | None) -> httpx.Response:
    """Ask for a link to hand over; a person who can sign in does that before."""
    body = {"email": email, "groupId": group, "show": True}
    if isinstance(caller, Browser):
        return caller.http.post("/session/link", json=body)
    with Browser(caller.world) as browser:
        browser.sign_in_as(caller)
        return show_link(browser, email, group)


def signed_in(browsers: Callable[[], Browser], person: Person) -> Browser:
    browser = browsers()
    browser.sign_in_as(person)
    return browser


def secret_of(response: httpx.Response) -> str:
    match = URL.fullmatch(ok(response)["url"])
    assert match
    return match[3]


# --- redeeming ---


@pytest.mark.engine_free
def test_a_link_signs_in_once(world: World, browsers: Callable[[], Browser]) -> None:
    ada = world.person("ada")
    secret = terminal_link(world, "ADA@example.com")
    assert secret not in repr(world.everything())
    first, second = browsers(), browsers()
    signed_in = ok(first.sign_in(link=secret))
    assert (signed_in["user"]["id"], signed_in["method"]) == (ada.id, "link")
    refused(second.sign_in(link=secret), 401)
    assert not second.is_signed_in()


def test_of_two_who_use_a_link_at_once_one_gets_in(world: World) -> None:
    world.person("ada")
    secret = terminal_link(world, "ada@example.com")
    with ThreadPoolExecutor(8) as pool:
        sent = [
            pool.submit(world.http.post, "/session", json={"link": secret}, headers=OWN_PAGE)
            for _ in range(8)
        ]
    assert sorted(each.result().status_code for each in sent)[:2] == [200, 401]


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_link_is_valid_for_15_minutes_and_failures_are_limited(make_world: MakeWorld) -> None:
    world = make_world(sign_in_failures_per_address_max=3)
    world.clock.freeze()
    ada = world.person("ada")
    late = terminal_link(world, "ada@example.com")
    world.clock.let_pass(seconds=899)
    with Browser(world) as browser:
        ok(browser.sign_in(link=terminal_link(world, "ada@example.com")))
        world.clock.let_pass(seconds=1)
        with nothing_happens(world):
            refused(browser.sign_in(link=late), 401)
            refused(browser.sign_in(link="lwl_" + "x" * 43), 401)
            refused(browser.sign_in(link="\u2603"), 401)
            refused(browser.sign_in(link=late, clientId="x"), 400)
        refused(browser.sign_in(link=terminal_link(world, "ada@example.com")), 429)
    assert world.write(lambda tx: expiry.delete_expired(tx, "sign_in_code", 100)) == 1
    for _ in range(20):
        terminal_link(world, "ada@example.com")
    assert world.read(lambda tx: SIGN_IN_CODES.count(tx, user_id=ada.id)) == 10


# --- mailed ---


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_link_is_mailed_to_users_and_nobody_learns_who_is_one(make_world: MakeWorld) -> None:
    with MailServer() as server:
        world = make_world(**server.settings(), sign_in_mails_per_address_max=8)
        world.clock.freeze()
        ada = world.person("ada")
        assert ok(world.nobody.get("/console/settings"))["mail"] is True
        responses = [
            ask_for_mail(world, email)
            for email in ("nobody@example.com", "Ada@Example.com", "not an address")
        ]
        assert len({(each.status_code, each.content) for each in responses}) == 1
        eventually(lambda: len(server.mails) == 1)
        (mail,) = server.mails
        assert mail.to == ["ada@example.com"]
        found = URL.search(mail.text)
        assert found is not None and found[2] == "mail"
        assert "from 127.0.0.1" in mail.text
        with Browser(world) as browser:
            assert ok(browser.sign_in(link=found[3]))["user"]["id"] == ada.id
        # Nobody's mailbox is flooded: three valid ones are enough.
        for _ in range(5):
            ok(ask_for_mail(world, "ada@example.com"))
        refused(ask_for_mail(world, "ada@example.com"), 429)
        eventually(lambda: len(server.mails) == 4)
        assert world.read(lambda tx: SIGN_IN_CODES.count(tx, user_id=ada.id)) == 3
        assert all(each[3] not in repr(world.everything()) for each in URL.finditer(mail.text))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_without_a_mail_server_the_response_is_the_same(world: World) -> None:
    world.person("ada")
    assert ok(world.nobody.get("/console/settings"))["mail"] is False
    with nothing_happens(world):
        assert set(ok(ask_for_mail(world, "ada@example.com"))) == {"message"}
        refused(ask_for_mail(world, ""), 400, "email")
        cross = {"X-Longwire-Console": "1", "Origin": "https://evil.example"}
        body = {"email": "ada@example.com"}
        refused(world.http.post("/session/link", json=body, headers=cross), 403)


# --- shown ---


@pytest.mark.engine_free
def test_a_link_is_shown_to_whoever_holds_all_that_the_member_holds(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group()
    ada.invite(bob, group, "viewer")
    ada.invite(eve, group, "manager")  # who lacks member.write
    ok(ada.put("/group/invite", {"email": "new@example.com", "groupId": group, "roleId": "viewer"}))
    eves = eve.group()
    mallory, app = world.person("mallory"), ada.app_client(group)
    of_ada, of_eve, of_mallory = (signed_in(browsers, each) for each in (ada, eve, mallory))
    with nothing_happens(world):
        refused(show_link(of_eve, "bob@example.com", group), 403)
        refused(show_link(of_eve, "bob@example.com", eves), 400, "email")
        refused(show_link(of_mallory, "bob@example.com", group), 404, "groupId")
        refused(show_link(of_ada, "bob@example.com", None), 400, "groupId")
        # The same for who has not accepted yet, who is no member, and who is nobody.
        problems = [
            refused(show_link(of_ada, email, group), 400, "email")["errors"]
            for email in ("new@example.com", "mallory@example.com", "nobody@example.com")
        ]
        assert problems[0] == problems[1] == problems[2]
        # Eve owns a group that Ada is not in; and nobody is an operator by a link.
        refused(show_link(of_ada, "eve@example.com", group), 403)
        refused(show_link(browsers(), "bob@example.com", group), 401)
        body = {"email": "bob@example.com", "groupId": group, "show": True}
        for token in (ada, app):
            problem = refused(token.post("/session/link", body), 403)
            assert (problem["code"], "cookie" in problem["detail"]) == ("session_not_fresh", False)
    of_bob = browsers()
    ok(of_bob.sign_in(link=secret_of(show_link(ada, "bob@example.com", group))))
    assert ok(of_bob.http.get("/user/me"))["id"] == bob.id
    (item,) = ok(of_bob.http.get("/sessions"))["items"]
    assert item["issuedBy"] == ada.id
    shown = ok(ada.get("/group/audit", groupId=group))["items"][0]
    assert (shown["action"], shown["actorId"]) == ("signInLink.create", ada.id)
    # What would outlast the session, or lead on from it, is for Bob himself.
    body = {"email": "bob@example.com", "groupId": group, "show": True}
    with nothing_happens(world):
        refused(of_bob.http.put("/user", json={"name": "not Bob"}), 403)
        refused(of_bob.http.put("/user/vendorToken", json={"token": "of Ada's phone"}), 403)
        refused(of_bob.http.post("/session/link", json=body), 403)

    # As soon as Bob holds more than Ada, neither the session nor another link is hers.
    kept = secret_of(show_link(ada, "bob@example.com", group))
    eve.invite(bob, eves, "viewer")
    assert not of_bob.is_signed_in()
    refused(of_bob.sign_in(link=kept), 401)
    refused(show_link(ada, "bob@example.com", group), 403)
    ok(show_link(world.operator, "bob@example.com", group))


@pytest.mark.parametrize("engine", ["sqlite"])
def test_a_shown_link_ends_with_the_rights_of_who_was_shown_it(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, bob, carol = (world.person(name) for name in ("ada", "bob", "carol"))
    group = ada.group()
    ada.invite(bob, group, "member")
    ada.invite(carol, group, "administrator")
    browser, own = browsers(), browsers()
    ok(browser.sign_in(link=secret_of(show_link(carol, "bob@example.com", group))))
    ok(own.sign_in(link=secret_of(show_link(carol, "carol@example.com", group))))
    assert all("issuedBy" not in each for each in ok(own.http.get("/sessions"))["items"])
    assert browser.is_signed_in()
    ok(ada.put("/group/user", {"userId": carol.id, "groupId": group, "roleId": "viewer"}))
    assert not browser.is_signed_in()
    assert own.is_signed_in()


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_operator_is_nobody_elses_link(world: World) -> None:
    ada = world.person("ada")
    chief = world.person("chief2", operator=True)
    group = ada.group()
    ada.invite(chief, group, "viewer")
    refused(show_link(ada, "chief2@example.com", group), 403)
    ok(show_link(world.operator, "chief2@example.com", group))
