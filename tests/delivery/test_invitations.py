"""Invitation mails, where the operator has configured mail."""

import re
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network

import pytest

from longwire.identity.bootstrap import MEMBER
from longwire.store.cache import cache_epochs
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.schema import delivery
from tests.browser import OWN_PAGE, Browser
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


def link_in(mail):
    """The secret of the link, which is in the fragment: no server and no log gets to see it."""
    return re.search(r"\S+/console/sign-in#token=(\S+)", mail.text)[1]


def opened(http, token, *, accept=False):
    return http.post("/invitation", json={"token": token, "accept": accept}, headers=OWN_PAGE)


def accept(http, token):
    return opened(http, token, accept=True)


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

        assert "https://longwire.example/console/sign-in#token=" in server.mails[0].text
        assert "?" not in server.mails[0].text
        link = link_in(server.mails[0])
        found = ok(opened(world.http, link))
        assert (found["groupId"], found["groupName"]) == (cellar, "<Cellar>")
        assert (found["isAccepted"], name_of_bob()) == (False, None)
        for token in (link[:-1], link + "A", "x" * 500, "%00"):
            refused(opened(world.http, token), 404)
            refused(accept(world.http, token), 404)
        refused(accept(world.http, "x" * 501), 400, "token")
        refused(world.http.post("/invitation", json={"token": link, "accept": True}), 403)
        assert world.http.get("/invitation", params={"token": link}).status_code == 405
        assert name_of_bob() is None
        for _ in range(2):
            # Bob has an account: whoever reads his link in a log is not signed in as him.
            accepted = accept(world.http, link)
            assert (ok(accepted)["isAccepted"], ok(accepted)["isSignedIn"]) == (True, False)
            assert "set-cookie" not in accepted.headers
            assert name_of_bob() == "Bob"
        # Whoever repeats that without an account invalidates nothing that is cached for others.
        epoch = world.read(cache_epochs.read_epochs).auth
        ok(accept(world.http, link))
        assert world.read(cache_epochs.read_epochs).auth == epoch
        # It is the invitation to this membership, and to no later one.
        ok(ada.delete("/group/user", groupId=cellar, userId=bob.id))
        refused(accept(world.http, link), 404)
        ok(invited(ada, "bob@example.com", cellar))
        refused(accept(world.http, link), 404)
        assert name_of_bob() is None


@pytest.mark.engine_free
def test_whoever_has_never_signed_in_is_signed_in_by_the_link_once(make_world):
    with MailServer() as server:
        world = make_world(**server.settings())
        ada = world.person("ada")
        for name in ("one", "two", "three"):
            ok(invited(ada, "New@example.com" if name == "two" else EMAIL, ada.group(name)))
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)] * 3)
        assert {mail.to[0] for mail in server.mails} == {EMAIL}  # not as somebody has typed it
        found = [link_in(mail) for mail in server.mails]
        rows = repr(world.everything())
        assert not any(token in rows for token in found)
        first, second, third = found
        with Browser(world) as browser, Browser(world) as other:
            accepted = ok(accept(browser.http, first))
            assert (accepted["isAccepted"], accepted["isSignedIn"]) == (True, True)
            session = ok(browser.http.get("/session"))
            assert (session["user"]["email"], session["method"]) == (EMAIL, "link")
            # The mailbox is theirs alone, so that the account is theirs.
            assert (session["isFresh"], "issuedBy" in session) == (True, False)
            ok(browser.http.put("/user/password", json={"new": "correct horse battery"}))
            for token in (first, second):
                assert ok(accept(other.http, token))["isAccepted"] is True
                assert not other.is_signed_in()
            world.clock.let_pass(seconds=24 * 3_600 + 1)
            refused(accept(other.http, third), 404)


def test_of_two_who_accept_at_once_one_is_signed_in(make_world):
    with MailServer() as server:
        world = make_world(**server.settings())
        ada = world.person("ada")
        ok(invited(ada, EMAIL, ada.group()))
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)])
        link = link_in(server.mails[0])
        with ThreadPoolExecutor(8) as pool:
            sent = list(pool.map(lambda _: accept(world.http, link), range(8)))
        assert sorted(ok(each)["isSignedIn"] for each in sent) == [False] * 7 + [True]


@pytest.mark.engine_free
def test_who_has_not_accepted_is_invited_again_but_not_without_end(make_world):
    with MailServer() as server:
        world = make_world(**server.settings())
        world.clock.freeze()
        ada = world.person("ada")
        cellar = ada.group()
        assert ok(invited(ada, EMAIL, cellar))["mail"] == "queued"
        world.clock.let_pass(seconds=25 * 3_600)
        ada.token = world.token(ada.client_id, ada.client_secret)
        assert ok(invited(ada, EMAIL, cellar))["mail"] == "queued"
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)] * 2)
        old, new = (link_in(mail) for mail in server.mails)
        refused(accept(world.http, old), 404)
        ok(accept(world.http, new))
        sent = ok(invited(ada, EMAIL, cellar))
        assert (sent["mail"], "invitationUrl" in sent) == ("accepted", False)
        # Nobody's mailbox is flooded, by whatever groups.
        statuses = [invited(ada, "victim@example.com", ada.group()).status_code for _ in range(11)]
        assert statuses == [200] * 10 + [429]


@pytest.mark.engine_free
def test_what_a_mail_says_of_others_is_one_line_without_a_link(make_world):
    with MailServer() as server:
        world = make_world(**server.settings())
        ada = world.person("ada")
        ok(ada.put("/user", {"name": "Bank\nhttps://evil.example/ada"}))
        name = (
            "Your account is locked.\r\n\nSign in at\thttps://evil.example/a?b or www.evil.x \u202e"
        )
        group = ada.group(name + "x" * 150)
        role = ada.role("group.read", name="see evil\uff0eexample/x\n\nnow")
        ok(invited(ada, EMAIL, group, role))
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)])
        (mail,) = server.mails
        first, *rest = mail.text.replace("\r\n", "\n").split("\n\n")
        line = " ".join(first.split())
        assert "Bank https evil example/ada (ada@example.com)" in line
        assert "Your account is locked. Sign in at https evil example/a?b or www evil" in line
        assert "see evil example/x now" in line
        assert len(line) < 350 and "\u202e" not in mail.text
        assert not re.search(r"evil[.\uff0e]", mail.text)
        assert mail.text.count("://") == 2  # the link of the invitation, and of the sign-in page
        assert "Until you accept" in rest[0]


# --- without a mail ---


def test_without_a_mail_server_the_link_is_handed_over(world):
    ada, bob = world.person("ada"), world.person("bob")
    cellar = ada.group()
    sent = ok(invited(ada, EMAIL, cellar))
    assert sent["mail"] == "not_configured"
    assert world.read(lambda tx: tx.rows(delivery.select())) == []
    assert world.read(store_channels.list_all) == []
    link = sent["invitationUrl"].partition("#token=")[2]
    again = ok(invited(ada, EMAIL, cellar))["invitationUrl"].partition("#token=")[2]
    assert link not in repr(world.everything())
    # An app client is nobody, so that nobody could hold all that the session does.
    ok(ada.put("/group", {"groupId": cellar, "roleId": "administrator"}))
    app = ada.app_client(cellar)
    assert "invitationUrl" not in ok(invited(app, "x@example.com", cellar))
    with Browser(world) as browser, Browser(world) as other:
        assert ok(accept(browser.http, link))["isSignedIn"] is True
        session = ok(browser.http.get("/session"))
        # Whoever invites has the link, too: they could be who uses it.
        assert (session["issuedBy"], session["isFresh"]) == (ada.id, False)
        refused(browser.http.put("/user/password", json={"new": "correct horse battery"}), 403)
        refused(browser.http.post("/group", json={"name": "kept"}), 403)
        # Nor is a link shown by who was handed the session over.
        assert ok(accept(other.http, again))["isSignedIn"] is False
        new = session["user"]["id"]
        ok(bob.put("/group/invite", {"email": EMAIL, "groupId": bob.group(), "roleId": "viewer"}))
        assert not browser.is_signed_in()  # as soon as they hold what Ada does not

        # Of whom there is an account, the link accepts nothing: they sign in.
        taken = ok(invited(ada, "bob@example.com", cellar))["invitationUrl"]
        token = taken.partition("#token=")[2]
        for _ in range(2):
            refusal = ok(accept(other.http, token))
            assert (refusal["isAccepted"], refusal["isSignedIn"]) == (False, False)
        assert "name" not in ok(ada.get("/user", userId=bob.id))
        ok(bob.get("/group", groupId=cellar))
        assert ok(opened(other.http, token))["isAccepted"] is False
        refused(browser.http.post("/group/accept", json={"groupId": cellar}), 401)
        ok(bob.post("/group/accept", {"groupId": cellar}))
        assert ok(opened(other.http, token))["isAccepted"] is True
        entries = ok(ada.get("/group/audit", groupId=cellar, actorId=new))["items"]
        assert [each["action"] for each in entries] == ["member.accept"]


@pytest.mark.engine_free
def test_a_link_that_cannot_sign_in_changes_something_once(make_world):
    world = make_world(trusted_proxies=(ip_network("127.0.0.0/8"),))
    ada = world.person("ada")
    link = ok(invited(ada, EMAIL, ada.group()))["invitationUrl"].partition("#token=")[2]
    without_tls = {**OWN_PAGE, "X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http"}

    def accept_without_tls():
        body = {"token": link, "accept": True}
        answer = ok(world.http.post("/invitation", json=body, headers=without_tls))
        assert (answer["isAccepted"], answer["isSignedIn"]) == (True, False)
        return world.read(lambda tx: tx.cache.auth_generation)

    # Else whoever has it would have every process drop what it has cached, again and again.
    assert accept_without_tls() == accept_without_tls()
    with Browser(world) as browser:
        assert ok(accept(browser.http, link))["isSignedIn"] is True


@pytest.mark.engine_free
def test_an_address_that_gets_no_mail_is_said_to(make_world):
    with MailServer() as server:
        world = make_world(**server.settings(), mail_domains="example.com")
        ada = world.person("ada")
        group = ada.group()
        sent = ok(invited(ada, "new@elsewhere.example", group))
        assert sent["mail"] == "address_not_allowed"
        assert "/console/sign-in#token=" in sent["invitationUrl"]
        allowed = ok(invited(ada, EMAIL, group))
        assert (allowed["mail"], "invitationUrl" in allowed) == ("queued", False)
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)])
        # A link dies with the rights of who was shown it.
        token = sent["invitationUrl"].partition("#token=")[2]
        bob = world.person("bob")
        ada.invite(bob, group, "administrator")
        ok(bob.put("/group/user", {"groupId": group, "userId": ada.id, "roleId": "viewer"}))
        refusal = ok(accept(world.http, token))
        assert (refusal["isAccepted"], refusal["isSignedIn"]) == (False, False)
