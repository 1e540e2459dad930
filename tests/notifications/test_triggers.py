"""From a record to a mailbox, a browser, a phone and a chat."""

import json
from dataclasses import replace

import pytest
from apprise.plugins.telegram import NotifyTelegram

from longwire.delivery.destinations.base import MASK
from longwire.delivery.mail.smtp import MAIL_NOT_CONFIGURED
from longwire.identity.bootstrap import MEMBER, VIEWER
from longwire.notifications import webpush
from longwire.store.delivery.delivery_states import DeliveryState
from longwire.store.schema import connector, push_token
from tests.delivery.receiver import Receiver, StubResponse
from tests.notifications.standins import (
    Browser,
    Firebase,
    MailServer,
    fcm_error,
    wait_for_tries,
)
from tests.waiting import eventually
from tests.world import ok, refused

pytestmark = pytest.mark.engine_free

TELEGRAM = "tgram://123456789:AbCdEf1234567890_kLmNoPqRsTuVwXyZ12/87654321"


def notification(group: str, type: str, **params) -> dict[str, str]:
    return {"groupId": group, "name": "alarm", "type": type, "params": json.dumps(params)}


def test_an_event_reaches_every_address_once_although_the_server_was_away(make_world):
    with MailServer() as server:
        server.replies["RCPT"] = ["450 greylisted", "450 greylisted"]
        world = make_world(**server.settings(mail_domains="example.com"))
        ada = world.person("ada")
        group = ada.group()
        device = ada.device(group, name="Cellar")
        to = ["ada@example.com", "bob@example.com"]
        params = {"to": to, "subject": "{{ message.deviceName }} {{ message.type }}"}
        made = ok(ada.post("/notification", notification(group, "email", **params)))
        ada.reports(device, "event", type="flood")
        wait_for_tries(world, [(DeliveryState.QUEUED, 1)] * 2)
        world.clock.let_pass(seconds=60)
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 2)] * 2)
        assert sorted(mail.to[0] for mail in server.mails) == to
        assert {mail.message["Subject"] for mail in server.mails} == {"Cellar flood"}
        assert len({mail.message["Message-ID"] for mail in server.mails}) == 2

        server.replies["RCPT"] = ["550 nobody here", "550 nobody here"]
        ada.reports(device, "event", type="fire")
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 2)] * 2 + [(DeliveryState.FAILED, 1)] * 2)
        shown = ok(ada.get("/notification", notificationId=made["id"], groupId=group))
        assert "did not accept the address (550)" in shown["error"]["message"]


def test_what_waits_goes_to_nobody_whom_it_is_not_for_any_more(make_world):
    """An address that was taken out, a member who left, a type that was changed."""
    with MailServer() as server, Receiver(503) as push_service:
        vapid = {
            "vapid_key": webpush.generate_vapid_key(),
            "vapid_contact": "mailto:ops@example.com",
        }
        world = make_world(**server.settings(), **vapid)
        ada, bob = world.person("ada"), world.person("bob")
        group = ada.group()
        device = ada.device(group)
        ada.invite(bob, group, VIEWER)
        invitation = (DeliveryState.SUCCEEDED, 1)
        wait_for_tries(world, [invitation])
        server.replies["RCPT"] = ["450 greylisted", "450 greylisted"]
        ok(bob.put("/user/vendorToken", {"token": Browser(push_service.url).token}))
        to = ["ada@example.com", "bob@example.com"]
        email = ok(ada.post("/notification", notification(group, "email", to=to)))
        phones = ok(ada.post("/notification", notification(group, "push")))
        ada.reports(device, "event", type="flood")
        wait_for_tries(world, [invitation] + [(DeliveryState.QUEUED, 1)] * 3)
        fewer = {"groupId": group, "params": json.dumps({"to": ["ADA@example.com"]})}
        ok(ada.put("/notification", {**fewer, "notificationId": email["id"]}))
        ok(ada.delete("/group/user", groupId=group, userId=bob.id))
        world.clock.let_pass(seconds=60)
        wait_for_tries(
            world,
            [
                invitation,
                (DeliveryState.SUCCEEDED, 2),
                (DeliveryState.FAILED, 2),
                (DeliveryState.FAILED, 2),
            ],
        )
        assert [mail.to[0] for mail in server.mails[1:]] == ["ada@example.com"]
        assert len(push_service.requests) == 1
        shown = ok(ada.get("/notification", notificationId=phones["id"]))
        assert "is not registered any more" in shown["error"]["message"]

        server.replies["RCPT"] = ["450 greylisted"]
        ada.reports(device, "event", type="fire")
        wait_for_tries(
            world,
            [
                invitation,
                (DeliveryState.SUCCEEDED, 2),
                (DeliveryState.FAILED, 2),
                (DeliveryState.FAILED, 2),
                (DeliveryState.QUEUED, 1),
            ],
        )
        other = {"groupId": group, "type": "push", "params": "{}"}
        ok(ada.put("/notification", {**other, "notificationId": email["id"]}))
        world.clock.let_pass(seconds=60)
        wait_for_tries(
            world, [invitation, (DeliveryState.SUCCEEDED, 2)] + [(DeliveryState.FAILED, 2)] * 3
        )


def test_what_the_operator_has_not_set_up_is_refused_when_saved(make_world):
    world = make_world()
    ada = world.person("ada")
    group = ada.group()
    email = notification(group, "email", to=["ada@example.com", "nobody"])
    problem = refused(ada.post("/notification", email), 400, "type", "params.to[1]")
    assert MAIL_NOT_CONFIGURED in str(problem["errors"])
    refused(ada.post("/notification", notification(group, "push")), 400, "type")


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_mails_go_only_where_the_operator_lets_them(make_world):
    with MailServer() as server:
        world = make_world(**server.settings())
        ada = world.person("ada")
        group = ada.group()
        device = ada.device(group)
        to = ["ada@example.com", "eve@example.net"]
        made = ok(ada.post("/notification", notification(group, "email", to=to)))
        world.stop()
        world.settings = replace(world.settings, mail_domains="example.com, Example.org")
        world.start()
        # What was saved before goes to those only to whom it may.
        ada.reports(device, "event", type="flood")
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1), (DeliveryState.FAILED, 1)])
        assert [mail.to for mail in server.mails] == [["ada@example.com"]]
        named = {"notificationId": made["id"], "groupId": group}
        assert (
            "not in a domain that the operator"
            in ok(ada.get("/notification", **named))["error"]["message"]
        )
        ok(ada.put("/notification", {**named, "name": "still changed"}))
        several = {"to": [*to, "a@below.example.org", "b@EXAMPLE.org", "nobody"], "throttle": 60}
        for answer in (
            ada.post("/notification", notification(group, "email", **several)),
            ada.put("/notification", {**named, "params": json.dumps(several)}),
        ):
            places = ("params.to[1]", "params.to[2]", "params.to[4]")
            assert "eve@example.net" in str(refused(answer, 400, *places)["errors"])
        # Nor is an invitation a way around it.
        for address in ("carl@example.net", "dora@example.org"):
            ok(ada.put("/group/invite", {"email": address, "groupId": group, "roleId": VIEWER}))
        wait_for_tries(world, [(DeliveryState.SUCCEEDED, 1)] * 2 + [(DeliveryState.FAILED, 1)])
        assert server.mails[-1].to == ["dora@example.org"]


def test_mails_go_to_members_who_have_accepted_and_only_so_many_in_an_hour(make_world):
    with MailServer() as server:
        world = make_world(
            **server.settings(mails_per_group_hour_max=3, mails_per_owner_hour_max=5),
            token_lifetime_s=10**8,
        )
        world.clock.freeze()
        world.clock.let_pass(seconds=3_600 - world.clock.now() // 1_000_000 % 3_600)
        ada, bob = world.person("ada"), world.person("bob")
        home = ada.group()
        group = ada.group(parent=home)
        device = ada.device(group)
        invitation = {"email": "bob@example.com", "groupId": group, "roleId": VIEWER}
        ok(ada.put("/group/invite", invitation))  # the first mail
        to = ["ada@example.com", "bob@example.com", "eve@example.net"]
        made = ok(ada.post("/notification", notification(group, "email", to=to)))
        named = {"notificationId": made["id"], "groupId": group}
        ada.reports(device, "event", type="flood")
        states = [(DeliveryState.SUCCEEDED, 1)] * 2 + [(DeliveryState.FAILED, 1)] * 2
        wait_for_tries(world, states)
        assert sorted(mail.to[0] for mail in server.mails) == ["ada@example.com", "bob@example.com"]
        assert "has accepted" in ok(ada.get("/notification", **named))["error"]["message"]
        ok(bob.post("/group/accept", {"groupId": group}))
        ok(ada.put("/notification", {**named, "params": json.dumps({"to": to[:2]})}))
        ada.reports(device, "event", type="fire")  # one more mail, and one too many
        wait_for_tries(world, [*states, (DeliveryState.SUCCEEDED, 1), (DeliveryState.QUEUED, 1)])
        assert "in an hour" in ok(ada.get("/notification", **named))["error"]["message"]
        answer = ada.put("/group/invite", {**invitation, "email": "carl@example.com"})
        refused(answer, 429)
        assert 0 < int(answer.headers["retry-after"]) <= 3_601
        assert len(ok(ada.get("/group/users", groupId=group))["items"]) == 2
        # Other groups have their own quota, but all of one creator share another.
        other = ada.group()
        answers = [
            ada.put("/group/invite", {**invitation, "email": f"{n}@example.com", "groupId": other})
            for n in range(3)
        ]
        assert [each.status_code for each in answers] == [200, 429, 429]
        ok(bob.put("/group/invite", {**invitation, "groupId": bob.group(), "email": "x@y.example"}))
        # A clock that is turned ends the leases of what is under way, which is sent again then.
        sent = [(DeliveryState.SUCCEEDED, 1)] * 3
        wait_for_tries(world, [*states, *sent, (DeliveryState.QUEUED, 1)])
        world.clock.let_pass(seconds=3_700)
        delivered = [(DeliveryState.SUCCEEDED, 1)] * 5 + [(DeliveryState.SUCCEEDED, 2)]
        wait_for_tries(world, [*delivered, *[(DeliveryState.FAILED, 1)] * 2])


def test_members_get_push_messages_on_all_tokens_and_invalid_tokens_are_disabled(
    make_world, tmp_path
):
    with Receiver(201) as push_service, Receiver() as google:
        firebase = Firebase(google)
        account = tmp_path / "account.json"
        account.write_text(firebase.account)
        world = make_world(
            vapid_key=webpush.generate_vapid_key(),
            vapid_contact="mailto:ops@example.com",
            fcm_account=str(account),
            fcm_url=firebase.url,
        )
        ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
        group = ada.group()
        device = ada.device(group, name="Cellar")
        ada.invite(bob, group, VIEWER)
        browser = Browser(push_service.url)
        ok(ada.put("/user/vendorToken", {"token": browser.token}))
        ok(bob.put("/user/vendorToken", {"token": "bobs-phone"}))
        ok(eve.put("/user/vendorToken", {"token": "eves-phone"}))  # no member
        phones = ok(ada.post("/notification", notification(group, "push")))["id"]

        ada.reports(device, "event", type="flood")
        (request,) = push_service.wait_for(1)
        assert browser.read(request.body)["title"] == "Cellar: flood"
        eventually(lambda: len(firebase.messages) == 1)
        assert firebase.messages[0]["token"] == "bobs-phone"

        push_service.respond_with(410)
        firebase.answers.append(fcm_error(404, "UNREGISTERED"))
        ada.reports(device, "event", type="fire")

        def enabled() -> list[bool]:
            rows = world.read(lambda tx: tx.rows(push_token.select()))
            return sorted(row.is_enabled for row in rows)

        eventually(lambda: enabled() == [False, False, True])
        ok(bob.put("/user/vendorToken", {"token": "bobs-phone"}))  # registered again, used again
        ada.reports(device, "event", type="quake")
        eventually(lambda: len(firebase.messages) == 3)
        assert len(push_service.requests) == 2

        # An account that is not the right one is no fault of anybody's phone.
        firebase.answers.append(fcm_error(403, "SENDER_ID_MISMATCH"))
        ada.reports(device, "event", type="storm")

        def trouble() -> str:
            shown = ok(ada.get("/notification", notificationId=phones))
            return shown["error"]["message"]

        eventually(lambda: "does not accept the operator's account" in trouble())
        assert enabled() == [False, True, True]
        world.clock.let_pass(seconds=60)
        eventually(lambda: len(firebase.messages) == 5)


@pytest.fixture
def telegram(monkeypatch):
    with Receiver(StubResponse(body=b'{"ok": true, "result": {"message_id": 1}}')) as receiver:
        monkeypatch.setattr(NotifyTelegram, "notify_url", f"http://127.0.0.1:{receiver.port}/bot")
        yield receiver


def test_a_chat_gets_messages_and_its_keys_stay_secret(world, telegram):
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    device = ada.device(group, name="Cellar")
    ada.invite(bob, group, MEMBER)
    wrong = notification(group, "chat", url="json://127.0.0.1/hook")
    refused(ada.post("/notification", wrong), 400, "params.url")
    made = ok(ada.post("/notification", notification(group, "chat", url=TELEGRAM)))
    assert json.loads(made["params"])["url"] == TELEGRAM
    named = {"notificationId": made["id"], "groupId": group}
    assert json.loads(ok(bob.get("/notification", **named))["params"])["url"] == MASK
    rows = str(world.read(lambda tx: tx.rows(connector.select())))
    assert "kLmNoPq" not in rows
    masked = {**named, "params": json.dumps({"url": MASK, "body": "Look!"})}
    ok(ada.put("/notification", masked))
    ada.reports(device, "event", type="flood")
    (request,) = telegram.wait_for(1)
    assert "Look!" in request.json["text"] and "Cellar: flood" in request.json["text"]
