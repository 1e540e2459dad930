"""Invitation mails, where the operator has configured mail."""

import base64
import re

import pytest

from longwire.identity import totp
from longwire.identity.bootstrap import MEMBER
from longwire.store import cache_epochs
from longwire.store import channels as store_channels
from longwire.store.delivery_states import DeliveryState
from longwire.store.schema import delivery
from tests.browser import Browser
from tests.notifications.standins import MailServer, wait_for_tries
from tests.world import ok, refused

EMAIL = "new@example.com"


def invited(person, email, group, role=MEMBER):
    return person.put("/group/invite", {"email": email, "groupId": group, "roleId": role})


@pytest.mark.slow
@pytest.mark.engine_free
def test_whoever_is_made_a_member_gets_one_mail_about_it(make_world):
    with MailServer() as server:
        server.replies["RCPT"].append("451 not now")
        world = make_world(**server.settings())
        ada = world.person("ada")
        cellar = ada.group("Cellar & attic")
        ok(ada.put("/user", {"name": "Ada Lovelace"}))
        for _ in range(2):  # the second time they are there already
            ok(invited(ada, "bob@example.com", cellar))
        refused(invited(ada, "not an address", cellar), 400)
        refused(invited(world.person("eve"), "eve2@example.com", cellar), 404)
        wait_for_tries(world, [(DeliveryState.QUEUED, 1)])
        world.clock.let_pass(seconds=60)
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 2)])
        assert ok(ada.get("/connector/connectors", groupId=cellar))["test"] == []
    (mail,) = server.mails
    assert mail.to == ["bob@example.com"]
    assert mail.message["Subject"] == "You are a member of a group now"
    assert mail.text.startswith("Ada Lovelace (ada@example.com) has made you a member")
    assert "“Cellar & attic”, with the role Member." in mail.text


@pytest.mark.engine_free
def test_the_link_in_the_mail_accepts_the_invitation(make_world):
    with MailServer() as server:
        world = make_world(**server.settings(), public_url="https://longwire.example/")
        ada, bob = world.person("ada"), world.person("bob")
        ok(bob.put("/user", {"name": "Bob"}))
        cellar = ada.group("<Cellar>")
        ok(invited(ada, "bob@example.com", cellar))
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)])

        def name_of_bob():
            return ok(ada.get("/user", userId=bob.id)).get("name")

        link = re.search(
            r"https://longwire.example(/invitation\?token=(\S+))", server.mails[0].text
        )
        page = world.http.get(link[1])  # as mail programs do by themselves
        assert (page.status_code, "&lt;Cellar&gt;" in page.text) == (200, True)
        assert name_of_bob() is None
        for token in ("", link[2][:-1], link[2] + "A", "x" * 2_000, "%00"):
            assert world.http.get("/invitation", params={"token": token}).status_code == 404
            assert world.http.post("/invitation", data={"token": token}).status_code == 404
        for _ in range(2):
            assert world.http.post("/invitation", data={"token": link[2]}).status_code == 200
            assert name_of_bob() == "Bob"
        # Whoever repeats that without an account invalidates nothing that is cached for others.
        epoch = world.read(cache_epochs.read_epochs).auth
        assert world.http.post("/invitation", data={"token": link[2]}).status_code == 200
        assert world.read(cache_epochs.read_epochs).auth == epoch
        # It is the invitation to this membership, and to no later one.
        ok(ada.delete("/group/user", groupId=cellar, userId=bob.id))
        assert world.http.post("/invitation", data={"token": link[2]}).status_code == 404
        ok(invited(ada, "bob@example.com", cellar))
        assert world.http.post("/invitation", data={"token": link[2]}).status_code == 404
        assert name_of_bob() is None


def test_who_accepts_by_the_link_is_signed_in_once(make_world):
    with MailServer() as server:
        world = make_world(**server.settings())
        ada = world.person("ada")
        for name in ("one", "two", "three", "four"):
            ok(invited(ada, "New@example.com" if name == "two" else EMAIL, ada.group(name)))
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)] * 4)
        assert {mail.to[0] for mail in server.mails} == {EMAIL}  # not as somebody has typed it
        found = [re.search(r"token=(\S+)", mail.text)[1] for mail in server.mails]
        rows = repr(world.everything())
        assert not any(token in rows for token in found)
        first, second, third, fourth = found
        own = {"Origin": world.url, "Sec-Fetch-Site": "same-origin"}

        def accept(token, **headers):
            return world.http.post("/invitation", data={"token": token}, headers=headers)

        # Another site, or a program, accepts at most: nobody is signed in by what others send.
        for headers in ({}, {**own, "Origin": "null"}, {**own, "Sec-Fetch-Site": "cross-site"}):
            assert "set-cookie" not in accept(first, **headers).headers
        with Browser(world) as browser:
            accepted = accept(second, **own)
            browser.http.cookies.set("longwire", accepted.cookies["longwire"])
            world.http.cookies.clear()
            session = ok(browser.http.get("/session"))
            assert (session["user"]["email"], session["method"]) == (EMAIL, "link")
            for _ in range(2):
                again = accept(second, **own)
                assert (again.status_code, "set-cookie" in again.headers) == (200, False)
            # Whoever has turned on codes of an app is not let in without one.
            secret = base64.b32decode(ok(browser.http.post("/user/totp"))["secret"])
            code = totp.compute_code(secret, world.clock.now() // 30_000_000)
            ok(browser.http.put("/user/totp", json={"code": code}))
            accepted = accept(third, **own)
            assert "You have accepted" in accepted.text
            assert "set-cookie" not in accepted.headers
            code = totp.compute_code(secret, world.clock.now() // 30_000_000 + 1)
            ok(browser.http.request("DELETE", "/user/totp", json={"code": code}))
            world.clock.let_pass(days=15)
            assert "set-cookie" not in accept(fourth, **own).headers


@pytest.mark.engine_free
def test_without_a_mail_server_an_invitation_is_only_a_membership(world):
    ada = world.person("ada")
    cellar = ada.group()
    ok(invited(ada, "bob@example.com", cellar))
    assert world.read(lambda tx: tx.rows(delivery.select())) == []
    assert world.read(store_channels.list_all) == []
