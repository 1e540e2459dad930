"""Invitation mails, where the operator has configured mail."""

from longwire.identity.bootstrap import MEMBER
from longwire.store import channels as store_channels
from longwire.store.deliveries import DeliveryState
from longwire.store.schema import delivery
from tests.notifications.standins import MailServer, wait_for_tries
from tests.world import ok, refused


def invited(person, email, group, role=MEMBER):
    return person.put("/group/invite", {"email": email, "groupId": group, "roleId": role})


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


def test_without_a_mail_server_an_invitation_is_only_a_membership(world):
    ada = world.person("ada")
    cellar = ada.group()
    ok(invited(ada, "bob@example.com", cellar))
    assert world.read(lambda tx: tx.rows(delivery.select())) == []
    assert world.read(store_channels.list_all) == []
