"""The overview of a group: counts, what needs attention, and who may see which part."""

import json
from typing import Any
from unittest.mock import ANY

import pytest

from longwire.store.fleet import overviews
from tests.delivery.receiver import Receiver
from tests.notifications.stories import Alarm
from tests.waiting import eventually
from tests.world import Person, World, ok, refused

NOWHERE = "http://127.0.0.1:9/"  # nobody listens there
SILENT_AFTER_S = 600


def overview(person: Person, group: str, **params: Any) -> dict[str, Any]:
    """A new one, not one of the last seconds."""
    person.world.clock.let_pass(seconds=6)
    return dict(ok(person.get("/group/overview", groupId=group, **params)))


def now_ms(world: World) -> int:
    return world.clock.now() // 1_000


@pytest.mark.slow
def test_devices_are_counted_and_those_that_are_silent_need_attention(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    below = ada.group("below", root)
    hours = 3_600_000
    for group, ago in ((root, 0), (root, 5 * hours), (below, 0), (below, 90 * hours)):
        ada.reports(ada.device(group), timestamp=now_ms(world) - ago)
    ada.device(root)
    assert overview(ada, root)["devices"] == {
        **{"total": 3, "seenHour": 1, "seenDay": 2},
        **{"never": 1, "silent": 0, "batteryLow": 0, "drifting": 0},
    }
    tree = overview(ada, root, subgroups="true")
    assert (tree["devices"]["total"], tree["devices"]["seenHour"], tree["attention"]) == (5, 2, [])
    monkeypatch.setattr(overviews, "LARGE_GROUP", 3)
    assert overview(ada, root, subgroups="true") == {**tree, "asOf": ANY}

    quiet = ada.device(below, name="quiet")
    configuration = f'{{"silentAfterSeconds":{SILENT_AFTER_S}}}'
    ok(ada.put("/device", {"deviceId": quiet, "groupId": below, "configuration": configuration}))
    ada.reports(quiet, timestamp=now_ms(world))
    world.clock.let_pass(seconds=SILENT_AFTER_S + 1)
    eventually(lambda: overview(ada, root, subgroups="true")["devices"]["silent"] == 1)
    tree = overview(ada, root, subgroups="true")
    (item,) = tree["attention"]
    assert (item["what"], item["groupId"], item["count"]) == ("devicesSilent", below, 1)
    assert item["since"] <= tree["asOf"]
    found = ok(ada.get("/devices", groupId=root, subgroups="true", seen="silent"))["items"]
    assert [device["name"] for device in found] == ["quiet"]
    assert overview(ada, root)["attention"] == []
    ada.reports(quiet, timestamp=now_ms(world))
    # `overview` lets time pass, after which it would be silent again.
    eventually(
        lambda: not ok(ada.get("/devices", groupId=below, subgroups="true", seen="silent"))["items"]
    )
    assert overview(ada, below)["devices"]["silent"] == 0


@pytest.mark.engine_free
def test_connectors_that_fail_and_their_dead_letters_need_attention(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    policy = {"retryPolicy": {"maxRetry": 0, "retryDelay": 1}}
    failing = ada.connector(group, NOWHERE, name="To the cellar", **policy)
    ada.connector(group, NOWHERE, enabled=False)
    ada.reports(ada.device(group))
    eventually(lambda: overview(ada, group)["connectors"]["deadLetters"] == 1)
    found = overview(ada, group)
    counts = {"total": 2, "enabled": 1, "failing": 1, "waiting": 0, "deadLetters": 1}
    assert found["connectors"] == counts
    sorts = {item["what"]: item for item in found["attention"]}
    assert set(sorts) == {"connectorFailing", "deadLetters"}
    assert all((item["id"], item["name"]) == (failing, "To the cellar") for item in sorts.values())
    assert sorts["connectorFailing"]["detail"] and sorts["connectorFailing"]["since"]
    assert sorts["deadLetters"]["count"] == 1
    # Parts that somebody may not read are left out, also of what needs attention.
    ada.invite(bob, group, ada.role("metrics.read", "device.read"))
    part = overview(bob, group)
    assert set(part) == {"asOf", "devices", "attention"} and part["attention"] == []


def test_a_connector_fails_since_its_first_failed_attempt_also_after_a_restart(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    with Receiver() as receiver:
        receiver.respond_with(503)
        policy = {"retryPolicy": {"maxRetry": 0, "retryDelay": 1}}
        connector = ada.connector(group, receiver.url, **policy)
        which = {"groupId": group, "connectorId": connector}
        alarm = Alarm(ada, receiver, group=group)

        def fail(after_s: float) -> dict[str, Any]:
            """The error after one more failure of both."""
            failures = ok(ada.get("/connector/health", **which))["failures"]
            world.clock.let_pass(seconds=after_s)
            alarm.event()
            eventually(lambda: ok(ada.get("/connector/health", **which))["failures"] > failures)
            return dict(ok(ada.get("/connector", **which))["error"])

        first = fail(0)
        assert first["since"] == first["at"]
        eventually(lambda: "since" in alarm.shown.get("error", {}))
        since = alarm.shown["error"]["since"]
        later = fail(600)
        assert (later["since"], later["at"] > first["at"]) == (first["since"], True)
        world.restart()
        later = fail(600)
        assert later["since"] == first["since"]
        eventually(lambda: alarm.shown["error"]["at"] > later["since"])
        assert alarm.shown["error"]["since"] == since
        sorts = {item["what"]: item for item in overview(ada, group)["attention"]}
        assert sorts["connectorFailing"]["since"] == first["since"]
        # A success ends it, and the next failure begins another one.
        receiver.respond_with(200)
        ada.reports(device, timestamp=now_ms(world))
        eventually(lambda: "since" not in ok(ada.get("/connector", **which))["error"])
        receiver.respond_with(503)
        again = fail(60)
        assert again["since"] == again["at"] > later["at"]


@pytest.mark.engine_free
def test_a_filter_that_fails_for_most_records_needs_attention(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    typed = "message.data.celsius + 1 > 7"  # works for whole numbers
    connector = ada.connector(group, NOWHERE, name="Warm", messageFilter=typed)
    which = {"groupId": group, "connectorId": connector}
    notification = ada.notification(group, NOWHERE, params={"when": "message.severity > 3"})

    def report(*values: float) -> dict[str, Any] | None:
        for value in values:
            world.clock.let_pass(seconds=1)
            data = json.dumps({"celsius": value})
            ada.reports(device, data=data, timestamp=now_ms(world))
        found: dict[str, Any] | None = ok(ada.get("/connector", **which)).get("filterFailing")
        return found

    def attention() -> dict[str, Any]:
        return {item["what"]: item for item in overview(ada, group)["attention"]}

    assert report(2) is None
    first = report(2.5)
    assert first is not None and (first["failed"], first["evaluated"]) == (1, 1)
    # Records without the field are no failures, but evaluations.
    ada.reports(device, "geoloc")
    assert report(2) is None
    assert attention() == {}
    found = report(3.5, 4.5)
    assert found is not None and (found["failed"], found["evaluated"]) == (3, 5)
    assert found["since"] > first["since"]
    world.restart()
    found = report(5.5)
    assert found is not None and (found["failed"], found["evaluated"]) == (4, 6)
    ada.reports(device, "event", type="opened", severity="high")
    items = attention()
    assert set(items) == {"filterFailing", "conditionFailing"}
    failing = items["filterFailing"]
    assert (failing["id"], failing["name"]) == (connector, "Warm")
    assert (failing["count"], failing["total"], failing["since"]) == (4, 7, found["since"])
    assert "double + int is not defined" in failing["detail"]
    assert items["conditionFailing"]["id"] == notification
    shown = ok(ada.get("/notification", groupId=group, notificationId=notification))
    assert (shown["filterFailing"]["failed"], shown["filterFailing"]["evaluated"]) == (1, 1)
    # Who may not read notifications does not learn of them.
    bob = world.person("bob")
    ada.invite(bob, group, ada.role("metrics.read", "connector.read"))
    assert [item["what"] for item in overview(bob, group)["attention"]] == ["filterFailing"]
    # A disabled one needs nobody, and of a repaired one nothing is known.
    ok(
        ada.put(
            "/notification", {"groupId": group, "notificationId": notification, "enabled": False}
        )
    )
    ok(ada.put("/connector", {**which, "name": "Warm goods"}))
    assert set(attention()) == {"filterFailing"}
    changed = ok(ada.put("/connector", {**which, "messageFilter": "message.data.celsius > 600"}))
    assert "filterFailing" not in changed
    assert report(2.5) is None and attention() == {}


@pytest.mark.engine_free
def test_an_overview_is_counted_once_in_five_seconds_for_all_who_may_see_the_same(
    world: World, monkeypatch: Any
) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group()
    ada.invite(bob, group, "viewer")
    world.clock.freeze()
    devices = []

    def is_counted_once() -> bool:
        """What is cached is invalidated by the invitation, which takes a moment to be noticed."""
        first = ok(ada.get("/group/overview", groupId=group))
        devices.append(ada.device(group))
        return bool(ok(bob.get("/group/overview", groupId=group)) == first)

    eventually(is_counted_once)
    refused(eve.get("/group/overview", groupId=group), 404, "groupId")
    ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    refused(bob.get("/group/overview", groupId=group), 404, "groupId")
    assert overview(ada, group)["devices"]["total"] == len(devices)
    monkeypatch.setattr("longwire.overview.EXAMINED_MAX", 0)
    assert overview(ada, group)["devices"] == {"total": len(devices)}
