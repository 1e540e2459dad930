"""What outlives a token or a session: only its owner makes it, who has just signed in."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from longwire.identity import sign_in_links, sign_in_methods
from longwire.model import SYSTEM
from tests.browser import Browser
from tests.identity.test_audit import entries
from tests.identity.test_passwords import BETTER, EMAIL, GOOD, set_password, turn_on
from tests.identity.test_sign_in_links import secret_of, show_link, signed_in, terminal_link
from tests.jobs.test_jobs import ended
from tests.notifications.standins import MailServer
from tests.sign_in.authenticator import SoftPasskey
from tests.waiting import eventually
from tests.world import World, nothing_happens, ok, refused

MakeWorld = Callable[..., World]
Send = Callable[..., httpx.Response]
BOB = "bob@example.com"


@pytest.fixture
def browsers(world: World) -> Iterator[Callable[[], Browser]]:
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Browser(world))


def change_how_to_sign_in(group: str, email: str, passkey: str) -> list[tuple[str, str, Any]]:
    """Every request that makes, or changes, a way to sign in."""
    return [
        ("PUT", "/user/password", {"json": {"new": BETTER}}),
        ("POST", "/user/totp", {}),
        ("PUT", "/user/totp", {"json": {"code": "1"}}),
        ("DELETE", "/user/totp", {"json": {"code": "1"}}),
        ("POST", "/user/passkey/options", {}),
        ("POST", "/user/passkey", {"json": {"name": "Phone", "credential": {}}}),
        ("PUT", "/user/passkey", {"json": {"passkeyId": passkey, "name": "Old phone"}}),
        ("DELETE", "/user/passkey", {"params": {"passkeyId": passkey}}),
        *(
            ("POST", "/session/link", {"json": {"email": each, "groupId": group, "show": True}})
            for each in (email, BOB)
        ),
    ]


def register_passkey(browser: Browser) -> str:
    options = ok(browser.http.post("/user/passkey/options"))["publicKey"]
    credential = SoftPasskey(origin=browser.http.headers["origin"]).create(options)
    body = {"name": "Phone", "credential": credential}
    return str(ok(browser.http.post("/user/passkey", json=body))["passkeyId"])


@pytest.mark.engine_free
@pytest.mark.parametrize("is_operator", [False, True], ids=["somebody", "an operator"])
def test_no_way_leads_from_a_token_or_an_old_session_to_one_that_stays(
    make_world: MakeWorld, is_operator: bool
) -> None:
    world = make_world(public_url="http://localhost:8080")
    with ExitStack() as stack:
        browsers = [stack.enter_context(Browser(world)) for _ in range(5)]
        for each in browsers:
            each.http.headers["origin"] = "http://localhost:8080"
        old, own, begun_by_link, again, of_bob = browsers
        ada, bob = world.person("ada", operator=is_operator), world.person("bob")
        group = ada.group()
        ada.invite(bob, group, "viewer")
        old.sign_in_as(ada)
        ok(set_password(old, GOOD))
        passkey = register_passkey(old)
        # A link to oneself, for another device, and one for Bob: neither begins a fresh session.
        own.sign_in_as(ada)
        ok(begun_by_link.sign_in(link=secret_of(show_link(own, EMAIL, group))))
        ok(of_bob.sign_in(link=secret_of(show_link(own, BOB, group))))
        session = ok(begun_by_link.http.get("/session"))
        assert ("issuedBy" in session, session["isFresh"]) == (False, False)
        assert ok(own.http.get("/session"))["isFresh"] is True
        ok(begun_by_link.http.put("/user", json={"name": "Ada"}))
        world.clock.let_pass(seconds=601)
        assert ok(old.http.get("/session"))["isFresh"] is False
        assert of_bob.is_signed_in()  # which is noted
        begun_by_link.sign_in_as(ada)
        link = secret_of(show_link(begun_by_link, EMAIL, group))
        ok(begun_by_link.sign_in(link=link))

        callers: dict[str, Send] = {
            "a token": lambda *given, **more: ada.request(*given, **more),
            "an old session": old.http.request,
            "a session by a link that was shown": begun_by_link.http.request,
            "a session that was handed over": of_bob.http.request,
        }
        for name, send in callers.items():
            with nothing_happens(world):
                for method, path, given in change_how_to_sign_in(group, EMAIL, passkey):
                    problem = refused(send(method, path, **given), 403)
                    assert problem["code"] == "session_not_fresh", (name, method, path)
        # The present password is known to its owner; a token with it is not signed in.
        with nothing_happens(world):
            refused(ada.put("/user/password", {"new": BETTER, "old": GOOD}), 403)
            refused(begun_by_link.http.delete("/user/passkey", params={"passkeyId": "x"}), 403)
        ok(set_password(old, BETTER, GOOD))
        # Whoever signs in again can do all of it.
        ok(again.sign_in(email=EMAIL, password=BETTER))
        ok(again.http.delete("/user/passkey", params={"passkeyId": passkey}))
        ok(show_link(again, BOB, group))


@pytest.mark.engine_free
def test_links_of_the_terminal_and_of_mails_lead_to_an_account_of_ones_own(
    world: World, browsers: Callable[[], Browser]
) -> None:
    browser = browsers()
    world.person("ada")
    ok(browser.sign_in(link=terminal_link(world, EMAIL)))
    ok(set_password(browser, GOOD))
    turn_on(world, browser)
    ok(world.http.get("/health/live"))


@pytest.mark.engine_free
def test_whoever_was_handed_a_session_over_takes_nothing_along(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group("home")
    below = ada.group("below", parent=group)
    ada.invite(bob, group, "administrator")
    ok(bob.put("/user/vendorToken", {"token": "of Bob's phone"}))
    mallory = browsers()  # who is Ada
    ok(mallory.sign_in(link=secret_of(show_link(ada, BOB, group))))
    assert ok(mallory.http.get("/session"))["issuedBy"] == ada.id

    ada.app_client(group)
    http = mallory.http
    attempts: list[tuple[str, str, Any]] = [
        ("POST", "/group", {"json": {"name": "of Bob's"}}),
        ("PUT", "/group", {"json": {"groupId": below, "parent": ""}}),
        ("POST", "/appClient", {"json": {"groupId": group, "name": "mine"}}),
        ("PUT", "/appClient", {"json": {"groupId": group, "name": "app", "newName": "x"}}),
        ("PUT", "/user/vendorToken", {"json": {"token": "of Mallory's phone"}}),
        ("GET", "/user/signInChanges", {}),
    ]
    with nothing_happens(world):
        for method, path, given in attempts:
            problem = refused(http.request(method, path, **given), 403)
            assert problem["code"] == "session_not_fresh", (method, path)
    (shown,) = ok(http.get("/group", params={"groupId": group}))
    assert "token" not in shown
    assert "token" in ok(ada.get("/group", groupId=group))[0]
    for path in ("/user/me", "/session"):
        assert "of Bob's phone" not in http.get(path).text
    # Where Bob is signed in, and since when, is his.
    own = signed_in(browsers, bob)
    (session,) = ok(http.get("/sessions"))["items"]
    assert session["issuedBy"] == ada.id
    mine = next(each for each in ok(own.http.get("/sessions"))["items"] if each["isThis"])
    refused(http.delete("/session", params={"sessionId": mine["sessionId"]}), 403)
    assert own.is_signed_in()
    ok(http.post("/group", params={"parentId": group}, json={"name": "mine"}))
    assert not mallory.is_signed_in()  # Bob owns a group now, which Ada does not


@pytest.mark.engine_free
def test_the_audit_log_names_who_was_shown_the_link(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "administrator")
    device = ada.device(group)
    mallory = browsers()
    ok(mallory.sign_in(link=secret_of(show_link(ada, BOB, group))))
    ok(mallory.http.put("/device", json={"groupId": group, "deviceId": device, "name": "x"}))
    body = {"groupId": group, "kind": "tag", "filter": {}, "parameters": {"addTags": ["new"]}}
    ended(ada, ok(mallory.http.post("/job", json=body))["job"])
    ok(bob.put("/device", {"groupId": group, "deviceId": device, "name": "by Bob"}))
    found = [each for each in entries(ada, group) if each["actorId"] == bob.id]
    by_bob = [each["action"] for each in found if "issuedBy" not in each]
    assert by_bob == ["device.update", "member.accept"]
    of_ada = [each for each in found if "issuedBy" in each]
    assert {each["action"] for each in of_ada} >= {"device.update", "job.create"}
    assert {(each["issuedBy"], each["issuerName"]) for each in of_ada} == {
        (ada.id, "ada@example.com")
    }
    # What the job changed is Ada's doing as well, also when it goes on after the session.
    assert sum(each["action"] == "device.update" for each in of_ada) == 2


@pytest.mark.parametrize("engine", ["sqlite"])
def test_an_invitation_is_not_accepted_by_a_session_that_was_handed_over(
    world: World, browsers: Callable[[], Browser]
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group, other = ada.group(), ada.group("other")
    ada.invite(bob, group, "viewer")
    ok(ada.put("/group/invite", {"email": BOB, "groupId": other, "roleId": "viewer"}))
    mallory = browsers()
    ok(mallory.sign_in(link=secret_of(show_link(ada, BOB, group))))
    ok(mallory.http.get("/group", params={"groupId": other}))
    assert not [each for each in entries(ada, other) if each["action"] == "member.accept"]
    ok(bob.post("/group/accept", {"groupId": other}))
    assert [each for each in entries(ada, other) if each["action"] == "member.accept"]


def test_the_owner_learns_what_changed_in_how_they_sign_in(make_world: MakeWorld) -> None:
    with MailServer() as server, ExitStack() as stack:
        world = make_world(**server.settings(), public_url="http://localhost:8080")
        browser, other = (stack.enter_context(Browser(world)) for _ in range(2))
        browser.http.headers["origin"] = "http://localhost:8080"
        ada = world.person("ada")
        group = ada.group()
        browser.sign_in_as(ada)
        ok(set_password(browser, GOOD))
        app, _ = turn_on(world, browser)
        passkey = register_passkey(browser)
        ok(browser.http.put("/user/passkey", json={"passkeyId": passkey, "name": "Old phone"}))
        ok(browser.http.delete("/user/passkey", params={"passkeyId": passkey}))
        ok(browser.http.request("DELETE", "/user/totp", json={"code": app.next_code()}))
        ok(show_link(world.operator, EMAIL, group))
        ok(other.http.post("/session/link", json={"email": EMAIL}))  # by anybody
        refused(set_password(browser, "short"), 400)
        refused(browser.http.request("DELETE", "/user/totp", json={"code": "1"}), 409)

        changes = ok(browser.http.get("/user/signInChanges"))["items"]
        assert [(each["change"], each["byOther"]) for each in changes] == [
            ("signInLink.create", True),
            ("totp.disable", False),
            ("passkey.delete", False),
            ("passkey.update", False),
            ("passkey.create", False),
            ("totp.enable", False),
            ("password.set", False),
        ]
        assert [each.get("name") for each in changes[2:5]] == ["Old phone", "Old phone", "Phone"]
        assert {each["address"] for each in changes} == {"127.0.0.1"}
        refused(ada.app_client(group).get("/user/signInChanges"), 403)

        # Five changes, and the link that was asked for.
        eventually(lambda: len(server.mails) == 6)
        notices = [
            each for each in server.mails if "How you sign in" in str(each.message["subject"])
        ]
        assert {tuple(each.to) for each in server.mails} == {(EMAIL,)}
        assert len(notices) == 5
        for words in ("password was set", "turned on", "turned off", "added", "deleted"):
            assert any(words in each.text and "127.0.0.1" in each.text for each in notices), words
        assert not any("Old phone" in each.text for each in notices)

        # Whoever sets a password in a loop does not keep the mail server busy.
        for number in range(8):
            ok(set_password(browser, f"{GOOD} {number}"))
        eventually(lambda: len(server.mails) == 6 + 5)
        world.write(lambda tx: sign_in_methods.delete_all(tx, SYSTEM, EMAIL))
        ok(other.sign_in(link=world.write(lambda tx: sign_in_links.create_for_terminal(tx, EMAIL))))
        first, second, *_ = ok(other.http.get("/user/signInChanges"))["items"]
        assert (first["change"], second["change"]) == ("signInLink.create", "user.resetSignIn")
        assert (first["byOther"], second["byOther"]) == (True, True)
        assert len(ok(other.http.get("/user/signInChanges"))["items"]) <= 20
