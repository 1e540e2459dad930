"""Contact points: recipients with a name, for several notifications; and rotas."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from longwire.clock import SECOND
from longwire.dates import parse_date
from longwire.notifications.types.rota import RotaParams, RotaShift
from longwire.notifications.webpush import generate_vapid_key
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

Json = dict[str, Any]
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
DAY_S = 86_400


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(token_lifetime_s=10**8)


def create(ada: Person, group: str, name: str, params: Json, type_name: str = "webhook") -> Json:
    body = {"groupId": group, "name": name, "type": type_name, "params": json.dumps(params)}
    return dict(ok(ada.post("/contactPoint", body)))


def hook(receiver: Receiver, place: str = "", **params: Any) -> Json:
    return {"url": f"{receiver.url}{place}", **params}


def notification_of(ada: Person, group: str, *contacts: str, **params: Any) -> str:
    body = {
        "groupId": group,
        "name": "door",
        "type": "contactPoints",
        "reason": "opened",
        "params": json.dumps({"contactPoints": contacts, **params}),
    }
    return str(ok(ada.post("/notification", body))["id"])


def list_names(ada: Person, group: str, **params: Any) -> list[str]:
    found = ok(ada.get("/group/contactPoints", groupId=group, **params))["items"]
    return [each["name"] for each in found]


def test_a_contact_point_is_used_by_notifications_of_its_group_and_of_those_below(
    world: World,
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    home = ada.group("home")
    below = ada.group("below", parent=home)
    ada.invite(bob, below, "administrator")
    with Receiver() as receiver, Receiver() as own:
        shared = create(ada, home, "night shift", hook(receiver, subgroups=True, secret=SECRET))
        private = create(ada, home, "boss", hook(receiver, "/boss"))
        named = {"contactPointId": shared["id"], "groupId": home}
        assert ok(ada.get("/contactPoint", **named)) == shared
        assert json.loads(shared["params"])["secret"] == SECRET

        # Who may read notifications in a group below sees what is needed to choose one.
        assert list_names(bob, below) == []
        [seen] = ok(bob.get("/group/contactPoints", groupId=below, usable=True))["items"]
        assert seen == {
            "groupId": home,
            "id": shared["id"],
            "name": "night shift",
            "type": "webhook",
        }
        assert list_names(ada, below, usable=True) == ["night shift"]
        assert list_names(ada, home) == ["night shift", "boss"]
        refused(bob.get("/contactPoint", contactPointId=shared["id"]), 404, "contactPointId")
        refused(bob.get("/contactPoint", **named), 404, "groupId")
        refused(bob.post("/contactPoint/test", named), 404, "groupId")
        wrong = {"contactPoints": [shared["id"], private["id"], "cpt_none"]}
        body = {"groupId": below, "name": "x", "type": "contactPoints", "params": json.dumps(wrong)}
        places = ("params.contactPoints[1]", "params.contactPoints[2]")
        refused(bob.post("/notification", body), 400, *places)
        refused(bob.post("/notification", {**body, "params": "{}"}), 400, "params.contactPoints")

        # It is sent through the contact point, beside its own recipients.
        device = bob.device(below)
        params = {"contactPoints": [shared["id"], shared["id"]]}
        both = bob.notification(below, own.url, params=params, reason="opened")
        only = notification_of(bob, below, shared["id"])
        bob.reports(device, "event", type="opened", timestamp="2026-03-01T12:00:00Z")
        sent = [each.json for each in receiver.wait_for(2)]
        assert [each.json["message"] for each in own.wait_for(1)] == [sent[0]["message"]]
        assert sent[0]["message"]["groupId"] == below
        assert receiver.requests[0].headers["webhook-signature"].startswith("v1,")

        def list_sent() -> list[bool]:
            shown = [
                ok(ada.get("/contactPoint", **named)),
                *(ok(bob.get("/notification", notificationId=each)) for each in (both, only)),
            ]
            return ["lastSentAt" in each for each in shown]

        eventually(lambda: list_sent() == [True] * 3)
        found = ok(ada.get("/record/trace", messageId=receiver.requests[0].id))
        [traced] = found["contactPoints"]
        assert (traced["contactPointId"], len(traced["deliveries"])) == (shared["id"], 2)
        assert [each["notificationId"] for each in found["notifications"]] == [both]
        assert ok(bob.get("/record/trace", recordId=found["arrival"]["id"]))["hiddenNotifications"]

        # What is in use stays what it is.
        problem = refused(ada.delete("/contactPoint", **named), 409)
        assert "door" in problem["detail"]
        update = {**named, "params": json.dumps(hook(receiver))}
        refused(ada.put("/contactPoint", update), 409)
        refused(ada.put("/group", {"groupId": below, "parent": ""}), 409)
        ok(ada.put("/contactPoint", {**update, "params": json.dumps(hook(own, subgroups=True))}))
        bob.reports(device, "event", type="opened", timestamp="2026-03-01T12:00:01Z")
        own.wait_for(4)
        for each in (both, only):
            ok(bob.delete("/notification", name=below, notificationId=each))
        assert ok(ada.delete("/contactPoint", **named))["id"] == shared["id"]
        refused(ada.get("/contactPoint", **named), 404, "contactPointId")
        assert list_names(ada, home) == ["boss"]


def test_what_is_wrong_with_a_contact_point_is_refused_and_secrets_are_masked(
    world: World,
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    home = ada.group("home")
    ada.invite(bob, home, "viewer")
    with Receiver() as receiver:
        made = create(ada, home, "hook", hook(receiver, secret=SECRET))
        named = {"contactPointId": made["id"], "groupId": home}
        shown = json.loads(ok(bob.get("/contactPoint", **named))["params"])
        assert shown["secret"] != SECRET and "hook" not in shown["url"]
        # A mask keeps the secret.
        masked = json.dumps({**shown, "method": "PUT"})
        after = ok(ada.put("/contactPoint", {**named, "params": masked, "description": "loud"}))
        assert json.loads(after["params"]) == hook(receiver, secret=SECRET, method="PUT")
        stale = {**named, "name": "x", "ifUpdatedAt": made["updatedAt"]}
        refused(ada.put("/contactPoint", stale), 409)
        for call, body in (
            (bob.post, {"groupId": home, "name": "x", "type": "push", "params": "{}"}),
            (bob.put, {**named, "name": "x"}),
        ):
            refused(call("/contactPoint", body), 403)
        refused(bob.delete("/contactPoint", **named), 403)
        refused(bob.post("/contactPoint/test", named), 403)

        new = {"groupId": home, "name": "x", "type": "rota"}
        shift = {"contactPoint": made["id"], "days": [1], "from": "08:00"}
        rota = {"timezone": "Europe/Paris", "shifts": [shift], "fallback": made["id"]}
        nested = create(ada, home, "rota", rota, "rota")["id"]
        for wrong, *places in (
            ({**rota, "timezone": "Nowhere"}, "params.timezone"),
            ({**rota, "shifts": []}, "params.shifts"),
            ({**rota, "shifts": [{**shift, "from": "24:00"}]}, "params.shifts[0].from"),
            ({**rota, "shifts": [{**shift, "days": [8]}]}, "params.shifts[0].days[0]"),
            (
                {**rota, "fallback": "cpt_no", "shifts": [{**shift, "contactPoint": nested}]},
                *("params.shifts[0].contactPoint", "params.fallback"),
            ),
            ({"timezone": "UTC", "shifts": [shift]}, "params.fallback"),
        ):
            refused(ada.post("/contactPoint", {**new, "params": json.dumps(wrong)}), 400, *places)
        refused(ada.post("/contactPoint", {**new, "type": "sms", "params": "{}"}), 400, "type")
        # A member of a rota is no rota, and is not deleted.
        into_rota = {**named, "type": "rota", "params": json.dumps(rota)}
        places = ("params.shifts[0].contactPoint", "params.fallback")
        refused(ada.put("/contactPoint", into_rota), 400, *places)
        other = create(ada, home, "other", hook(receiver))["id"]
        of_another = json.dumps({**rota, "shifts": [{"contactPoint": other}], "fallback": other})
        refused(ada.put("/contactPoint", {**into_rota, "params": of_another}), 409)
        refused(ada.delete("/contactPoint", **named), 409)


@pytest.mark.engine_free
def test_a_rota_notifies_who_is_on_call_and_else_the_fallback(world: World) -> None:
    ada = world.person("ada")
    home = ada.group("home")
    with Receiver() as day, Receiver() as fallback:
        early = create(ada, home, "early", hook(day))["id"]
        nobody = create(ada, home, "nobody", hook(fallback))["id"]
        today = datetime.fromtimestamp(world.clock.now() / SECOND, UTC).isoweekday()
        # From a day before to a day after: the clock goes on while this runs.
        days = [(today - 2) % 7 + 1, today, today % 7 + 1]
        shift = {"contactPoint": early, "days": days}
        params = {"timezone": "UTC", "shifts": [shift], "fallback": nobody}
        rota = create(ada, home, "on call", params, "rota")
        assert rota["onCall"] == [early]
        named = {"contactPointId": rota["id"], "groupId": home}
        assert ok(ada.post("/contactPoint/test", named))["queued"] == 1
        [test] = day.wait_for(1)
        assert test.json["reason"] == "test" and "on call" in test.json["subject"]
        notification_of(ada, home, rota["id"])
        device = ada.device(home)
        ada.reports(device, "event", type="opened", timestamp="2026-03-01T12:00:00Z")
        day.wait_for(2)
        world.clock.let_pass(days=3)
        assert ok(ada.get("/contactPoint", **named))["onCall"] == [nobody]
        ada.reports(device, "event", type="opened", timestamp="2026-03-01T12:00:01Z")
        assert fallback.wait_for(1)[0].json["reason"] == "opened"
        assert len(day.requests) == 2


def test_a_contact_point_without_recipients_does_not_say_that_a_notification_has_none(
    make_world: Callable[..., World],
) -> None:
    world = make_world(vapid_key=generate_vapid_key(), vapid_contact="mailto:ops@example.com")
    ada = world.person("ada")
    home = ada.group("home")
    with Receiver() as receiver:
        phones = create(ada, home, "phones", {}, "push")["id"]
        params = {"silentAfter": 600, "escalateAfter": 900, "escalateTo": phones}
        name = ada.notification(home, receiver.url, params=params, reason="deviceSilent")
        ada.device(home)
        world.clock.let_pass(seconds=700)
        world.run_monitors_once()
        receiver.wait_for(1)
        world.clock.let_pass(seconds=1_000)
        world.run_alarms_once()
        shown = ok(ada.get("/notification", notificationId=name))
        assert shown.get("error", {}).get("message") != "there are no recipients"


@pytest.mark.engine_free
def test_an_alarm_is_escalated_to_a_contact_point(world: World) -> None:
    ada = world.person("ada")
    home = ada.group("home")
    with Receiver() as first, Receiver() as second:
        boss = create(ada, home, "boss", hook(second))["id"]
        params = {"silentAfter": 600, "escalateAfter": 900, "escalateTo": boss}
        ada.notification(home, first.url, params=params, reason="deviceSilent")
        refused(ada.delete("/contactPoint", groupId=home, contactPointId=boss), 409)
        device = ada.device(home)
        world.clock.let_pass(seconds=700)
        world.run_monitors_once()
        first.wait_for(1)
        world.clock.let_pass(seconds=1_000)
        world.run_alarms_once()
        assert [each.json["message"]["state"] for each in second.wait_for(1)] == ["raised"]
        ada.reports(device, timestamp=world.clock.now() // 1_000)
        world.run_monitors_once()
        assert second.wait_for(2)[1].json["message"]["state"] == "resolved"


PARIS = "Europe/Paris"


@pytest.mark.engine_free
@pytest.mark.parametrize(
    ("at", "on_call"),
    [
        ("2026-03-27T21:59:00Z", ["rest"]),  # Friday, 22:59 in Paris
        ("2026-03-27T22:00:00Z", ["night"]),
        ("2026-03-28T04:59:59Z", ["night"]),  # Saturday, 05:59
        ("2026-03-28T05:00:00Z", ["rest"]),
        # Clocks go forward in the night to Sunday, which has an hour less.
        ("2026-03-28T22:00:00Z", ["night"]),
        ("2026-03-29T03:59:59Z", ["night"]),
        ("2026-03-29T04:00:00Z", ["sunday"]),
        ("2026-03-29T10:00:00Z", ["sunday", "noon"]),
        ("2026-03-29T21:59:59Z", ["sunday"]),
        ("2026-03-29T22:00:00Z", ["rest"]),
        # And back in the night to the 25th of October, which has one more.
        ("2026-10-24T21:00:00Z", ["night"]),
        ("2026-10-25T04:59:59Z", ["night"]),
        ("2026-10-25T05:00:00Z", ["sunday"]),
    ],
)
def test_who_is_on_call_follows_the_local_time_of_the_rota(at: str, on_call: list[str]) -> None:
    rota = RotaParams(
        timezone=PARIS,
        shifts=[
            RotaShift(contact_point="night", days=[5, 6], begin="23:00", end="06:00"),
            RotaShift(contact_point="sunday", days=[7], begin="06:00"),
            RotaShift(contact_point="noon", days=[7], begin="12:00", end="13:00"),
        ],
        fallback="rest",
    )
    assert rota.list_on_call(parse_date(at)) == on_call
