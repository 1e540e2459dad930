"""Silences: alarms are recorded and not sent; what is still open at their end is sent then."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from longwire.clock import DAY, MINUTE
from longwire.dates import format_date
from longwire.notifications import alarm_work, monitoring, schedules
from longwire.process import maintenance
from tests.delivery.receiver import Receiver
from tests.notifications.test_measured_alarms import TOO_WARM, Freezer
from tests.world import Person, World, ok, record_of, refused, walk

Json = dict[str, Any]


@pytest.fixture
def world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    """Its alarms and devices are looked at when a test asks for it, and its clock stands still."""
    monkeypatch.setattr(alarm_work, "INTERVAL_S", 3_600)
    monkeypatch.setattr(monitoring, "INTERVAL_S", 3_600)
    world = make_world(token_lifetime_s=10**8)
    world.clock.freeze()
    return world


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


def make_freezer(person: Person, receiver: Receiver, group: str, **params: Any) -> Freezer:
    params = {**TOO_WARM, **params}
    return Freezer(person, receiver, group=group, reason="measurement", params=params)


def silence(person: Person, group: str, *, seconds: int = 3_600, **fields: Any) -> Json:
    until = format_date(person.world.clock.now() + seconds * 1_000_000)
    body = {"groupId": group, "until": until, "reason": "The door is repaired", **fields}
    return dict(ok(person.post("/alarm/silence", body)))


def list_alarms(person: Person, group: str, **params: Any) -> list[Json]:
    return list(ok(person.get("/group/alarms", groupId=group, state="all", **params))["items"])


def list_silences(person: Person, group: str, **params: Any) -> list[Json]:
    return list(ok(person.get("/group/silences", groupId=group, **params))["items"])


@pytest.mark.engine_free
def test_what_is_open_at_the_end_of_a_silence_is_sent_then_once(
    world: World, receiver: Receiver
) -> None:
    ada = world.person("ada")
    group = ada.group()
    target = Freezer(ada, receiver, group=group, reason="escalation")
    params = {"repeatEvery": 600, "escalateAfter": 900, "escalateTo": target.id}
    freezer = make_freezer(ada, receiver, group, **params)
    sent, open_, acknowledged, over = (ada.device(group) for _ in range(4))
    freezer.reads(-10, device=sent)
    made = silence(ada, group)
    assert made == {
        "id": made["id"],
        "groupId": group,
        "subgroups": False,
        "from": format_date(world.clock.now()),
        "until": format_date(world.clock.now() + 60 * MINUTE),
        "reason": "The door is repaired",
        "state": "active",
        "heldBack": 0,
        "createdAt": format_date(world.clock.now()),
        "createdBy": ada.id,
    }
    for device in (open_, acknowledged, over):
        freezer.reads(-10, device=device)
    for _ in range(3):
        freezer.passes(900)  # neither repeated nor escalated
        world.restart()
    assert freezer.queued == 1
    for device in (sent, over):
        freezer.reads(-20, device=device)  # of what nobody knows of, no end is sent
    by_device = {each["deviceId"]: each for each in list_alarms(ada, group)}
    assert all(each["silenceId"] == made["id"] for each in by_device.values())
    assert [each for each in by_device if "notifiedAt" in by_device[each]] == [sent]
    body = {"groupId": group, "alarmId": by_device[acknowledged]["id"]}
    ok(ada.post("/alarm/acknowledge", body))
    assert freezer.queued == 1
    assert list_silences(ada, group) == [{**made, "heldBack": 4}]
    assert {each["deviceId"] for each in list_alarms(ada, group, silenceId=made["id"])} == {
        *by_device
    }
    freezer.passes(899)
    assert freezer.queued == 1
    freezer.passes(1)
    messages = [each["message"] for each in freezer.alerts(3)]
    assert {(each["deviceId"], each["state"]) for each in messages} == {
        *((sent, "raised"), (sent, "resolved")),
        (open_, "raised"),
    }
    assert target.queued == 0
    # From now on it is as if it had just been raised.
    freezer.passes(599)
    assert (freezer.queued, target.queued) == (3, 0)
    freezer.passes(1)
    freezer.passes(300)
    assert (freezer.queued, target.queued) == (5, 1)
    [expired] = list_silences(ada, group)
    assert expired["state"] == "expired"
    world.clock.let_pass(days=29)
    world._run(maintenance.delete_old_silences(world.database))
    assert list_silences(ada, group) == [expired]
    world.clock.let_pass(days=1)
    world._run(maintenance.delete_old_silences(world.database))
    assert list_silences(ada, group) == []


@pytest.mark.engine_free
def test_a_silence_is_for_what_it_names(world: World, receiver: Receiver) -> None:
    ada = world.person("ada")
    group = ada.group()
    below = ada.group("below", parent=group)
    freezer = make_freezer(ada, receiver, group, subgroups=True, severity="critical")
    wanted: dict[str, Json] = {
        ada.device(group): {"deviceIds": [freezer.device]},
        ada.device(group, tags=["cellar"]): {"tags": ["cellar", "cold"]},
        ada.device(group, type="tracker"): {"types": ["generic"]},
        ada.device(below): {},
        ada.device(group): {"severity": "warning"},
        ada.device(group): {"from": format_date(world.clock.now() + MINUTE)},
    }
    for device, fields in wanted.items():
        made = silence(ada, group, **fields)
        freezer.reads(-10, device=device)
        ok(ada.delete("/alarm/silence", groupId=group, silenceId=made["id"]))
    assert freezer.queued == len(wanted)
    silenced: dict[str, Json] = {
        freezer.device: {"deviceIds": [freezer.device], "severity": "critical"},
        ada.device(group, tags=["cellar", "cold"]): {"tags": ["cold", "cellar"]},
        ada.device(below, type="tracker"): {"types": ["tracker"], "subgroups": True},
    }
    for device, fields in silenced.items():
        silence(ada, group, **fields)
        freezer.reads(-10, device=device)
    assert freezer.queued == len(wanted)


def test_maintenance_on_a_schedule_and_a_silence_that_is_deleted(
    world: World, receiver: Receiver
) -> None:
    ada = world.person("ada")
    group = ada.group()
    freezer = make_freezer(ada, receiver, group)
    tomorrow = (world.clock.now() // DAY + 4) % 7 + 1
    schedule = {"Day": tomorrow}
    made = silence(ada, group, seconds=30 * 86_400, schedule=schedule, timezone="UTC")
    assert made["state"] == "pending"
    assert (json.loads(made["schedule"]), made["timezone"]) == (schedule, "UTC")
    freezer.reads(-10)
    assert freezer.queued == 1
    world.clock.let_pass(days=1)
    other = ada.device(group)
    freezer.reads(-10, device=other)
    assert (freezer.queued, list_silences(ada, group)[0]["state"]) == (1, "active")
    world.clock.let_pass(days=1)
    freezer.passes(60)
    assert freezer.queued == 2
    now = silence(ada, group, seconds=3 * 86_400)
    freezer.reads(-10, device=ada.device(group))
    freezer.passes(60)
    assert freezer.queued == 2
    ended = ok(ada.delete("/alarm/silence", groupId=group, silenceId=now["id"]))
    assert (ended["id"], ended["heldBack"]) == (now["id"], 1)
    freezer.passes(60)
    assert freezer.queued == 3
    name = {"groupId": group, "silenceId": now["id"]}
    refused(ada.delete("/alarm/silence", **name), 404, "silenceId")
    logged = [each for each in world.audit() if each[1].startswith("silence.")]
    assert [each[1] for each in logged] == ["silence.create", "silence.create", "silence.delete"]


@pytest.mark.engine_free
def test_alarms_of_all_reasons_are_silenced(world: World, receiver: Receiver) -> None:
    ada = world.person("ada")
    group = ada.group()
    silent = Freezer(ada, receiver, group=group, reason="deviceSilent", params={"silentAfter": 600})
    world.clock.let_pass(seconds=700)
    silence(ada, group)
    world.run_monitors_once()
    [alarm] = list_alarms(ada, group)
    assert alarm["state"] == "raised" and "notifiedAt" not in alarm
    silent.reads(-20)
    world.run_monitors_once()  # nobody knows
    world.clock.let_pass(seconds=700)
    world.run_monitors_once()
    assert silent.queued == 0
    silent.passes(2_900)
    [sent] = silent.alerts(1)
    assert (sent["message"]["state"], sent["message"]["alarmId"]) == (
        "raised",
        list_alarms(ada, group)[0]["id"],
    )
    silence(ada, group)
    silent.reads(-20)
    world.run_monitors_once()
    assert silent.queued == 1
    silent.passes(3_600)
    assert silent.alerts(2)[1]["message"]["state"] == "resolved"


def test_of_a_device_that_is_elsewhere_by_then_nothing_is_sent(
    world: World, receiver: Receiver
) -> None:
    ada = world.person("ada")
    group, elsewhere = ada.group(), ada.group("elsewhere")
    freezer = make_freezer(ada, receiver, group, throttle=600)
    freezer.change(deviceTypes=["generic"])
    moved, retyped, gone = (ada.device(group) for _ in range(3))
    devices = (freezer.device, moved, retyped, gone)
    for device in devices:
        freezer.reads(-10, device=device)
    assert freezer.queued == 4
    silence(ada, group, seconds=1_000)
    world.clock.let_pass(seconds=1)
    for device in devices:
        freezer.reads(-20, device=device)
    ended = list_alarms(ada, group)
    body = {"deviceId": moved, "groupId": group, "toGroupId": elsewhere}
    ok(ada.put("/device/transfer", body))
    ok(ada.put("/device/type", {"deviceId": retyped, "groupId": group, "type": "tracker"}))
    ok(ada.delete("/device", deviceId=gone, groupId=group))
    freezer.passes(1_000)
    resolved = freezer.alerts(5)[4]["message"]
    assert (resolved["state"], resolved["deviceId"]) == ("resolved", freezer.device)
    # What was resolved before stays as it was, and its end is no reason to wait with the next one.
    after = {each["id"]: each for each in list_alarms(ada, group)}
    assert all(after[each["id"]]["resolvedAt"] == each["resolvedAt"] for each in ended)
    freezer.reads(-10)
    assert freezer.queued == 6


def test_the_schedule_of_a_silence_is_looked_at_once_for_many_alarms(
    world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    group = ada.group()
    freezer = make_freezer(ada, receiver, group)
    devices = [ada.device(group) for _ in range(3)]
    day = (world.clock.now() // DAY + 3) % 7 + 1
    asked = []
    is_open = schedules.is_open

    def is_open_counted(*args: Any) -> bool:
        asked.append(args)
        return is_open(*args)

    schedule = {"Day": day}
    for fields in ({"tags": ["cellar"]}, {"deviceIds": devices}):
        silence(ada, group, schedule=schedule, timezone="UTC", **fields)
    monkeypatch.setattr(schedules, "is_open", is_open_counted)
    common = {"timestamp": format_date(world.clock.now()), "data": '{"temperature": -10}'}
    items = [record_of(each, "data", **common) for each in devices]
    ok(ada.post("/device/data/batch", {"items": items}))
    assert (freezer.queued, len(asked)) == (0, 1)


def test_nobody_silences_what_others_want_to_know(world: World, receiver: Receiver) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    below = ada.group("below", parent=group)
    ada.invite(bob, below, ada.role("notification.read", "notification.write", "group.read"))
    above = make_freezer(ada, receiver, group, subgroups=True)
    own = make_freezer(ada, receiver, below)
    by_bob = silence(bob, below)
    own.reads(-10)
    assert (above.queued, own.queued) == (1, 0)
    [alarm] = list_alarms(bob, below, silenceId=by_bob["id"])
    assert alarm["notificationId"] == own.id
    # Whoever may change notifications above silences those as well.
    by_ada = silence(ada, below)
    other = ada.device(below)
    own.reads(-10, device=other)
    assert (above.queued, own.queued) == (1, 0)
    seen = list_silences(ada, group, subgroups="true")
    assert {each["id"] for each in seen} == {by_bob["id"], by_ada["id"]}
    assert len(walk(lambda **page: bob.get("/group/silences", groupId=below, limit=1, **page))) == 2
    refused(bob.get("/group/silences", groupId=group), 404, "groupId")
    eve = world.person("eve")
    ada.invite(eve, below, "viewer")
    body = {"groupId": below, "until": "2100-01-01", "reason": "x"}
    refused(eve.post("/alarm/silence", body), 403)
    refused(eve.delete("/alarm/silence", groupId=below, silenceId=by_bob["id"]), 403)
    elsewhere = {"groupId": eve.group(), "silenceId": by_bob["id"]}
    refused(eve.delete("/alarm/silence", **elsewhere), 404, "silenceId")


@pytest.mark.engine_free
def test_what_is_wrong_with_a_silence_is_named(make_world: Callable[..., World]) -> None:
    world = make_world(silences_per_group_max=2)
    ada = world.person("ada")
    group, elsewhere = ada.group(), ada.group("elsewhere")

    def create(**fields: Any) -> Any:
        body = {"groupId": group, "until": "2100-01-01", "reason": "x", **fields}
        return ada.post("/alarm/silence", body)

    refused(create(until="soon", reason="", severity="bad"), 400, "until", "reason", "severity")
    refused(create(**{"from": "now", "until": "soon"}), 400, "from", "until")
    refused(
        create(
            until="2001-01-01",
            deviceIds=[ada.device(elsewhere)],
            types=["none"],
            tags=[],
            timezone="Mars",
        ),
        400,
        *("deviceIds[0]", "types[0]", "tags", "until", "timezone"),
    )
    refused(create(**{"from": "2101-01-01"}), 400, "until")
    refused(create(schedule="[]"), 400, "schedule")
    for _ in range(2):
        ok(create())
    refused(create(), 409)
