"""Alarms on measurements, seen from outside: raised once, resolved once, whatever happens."""

import asyncio
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.dates import format_date
from longwire.notifications import alarm_work
from longwire.process import maintenance
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.migrations.versions import v0015_alarms_of_alerts
from tests.delivery.receiver import Receiver
from tests.notifications.stories import Alarm, count_alerts
from tests.world import World, ok, record_of, refused, walk

TOO_WARM = {"measurement": "temperature", "above": -15, "hysteresis": 2}


@pytest.fixture
def world(make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    """Its alarms are looked at when a test asks for it, and its clock stands still."""
    monkeypatch.setattr(alarm_work, "INTERVAL_S", 3_600)
    world = make_world(token_lifetime_s=10**8)
    world.clock.freeze()
    return world


class Freezer(Alarm):
    """A freezer that reports its temperature, and an alarm about it."""

    def reads(self, celsius: float, *, ago_s: float = 0, **fields: Any) -> None:
        at = self.world.clock.now() - int(ago_s * 1_000_000)
        self.person.reports(
            fields.pop("device", self.device),
            timestamp=format_date(at),
            data=json.dumps({"temperature": celsius}),
            **fields,
        )

    def passes(self, seconds: float) -> None:
        self.world.clock.let_pass(seconds=seconds)
        self.world.run_alarms_once()

    def sent(self, count: int) -> list[str]:
        """What was sent: state, value and worst value."""
        return [
            f"{each['message']['state']} {each['message']['value']} {each['message']['worstValue']}"
            for each in self.alerts(count)
        ]


@pytest.fixture
def make_freezer(world: World) -> Iterator[Callable[..., Freezer]]:
    with Receiver() as receiver:

        def make(**params: Any) -> Freezer:
            person = world.person(f"ada{next(world.numbers)}")
            return Freezer(person, receiver, reason="measurement", params={**TOO_WARM, **params})

        yield make


@pytest.mark.engine_free
def test_a_freezer_that_is_too_warm_for_ten_minutes_raises_one_alarm_and_resolves_it(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer(**{"for": 600, "resolveFor": 60, "severity": "critical"})
    freezer.reads(-18)
    for _ in range(5):
        world.clock.let_pass(seconds=60)
        freezer.reads(-10)
    world.restart()
    freezer.passes(300)
    assert freezer.queued == 0
    freezer.passes(60)
    [raised] = freezer.alerts(1)
    message = raised["message"]
    assert (raised["reason"], message["state"], message["measurement"]) == (
        *("measurement", "raised"),
        "temperature",
    )
    assert (message["value"], message["worstValue"], message["severity"]) == (-10, -10, "critical")
    assert message["since"] == message["timestamp"] == format_date(world.clock.now())
    freezer.reads(-8)
    freezer.reads(-8)  # a duplicate
    freezer.reads(-20, ago_s=30)  # late
    freezer.passes(3_600)
    assert freezer.queued == 1
    freezer.reads(-16)  # neither
    freezer.reads(-17)
    freezer.passes(59)
    world.restart()
    assert freezer.queued == 1
    freezer.passes(1)
    resolved = freezer.alerts(2)[1]["message"]
    assert (resolved["state"], resolved["worstValue"]) == ("resolved", -8)
    assert (resolved["since"], resolved["alarmId"]) == (message["since"], message["alarmId"])
    freezer.passes(3_600)
    assert freezer.queued == 2


@pytest.mark.engine_free
def test_what_a_batch_says_is_decided_by_its_times(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer(**{"for": 600})
    world.clock.let_pass(seconds=7_200)
    now = world.clock.now()

    def record(minutes_ago: int, celsius: float) -> dict[str, Any]:
        at = format_date(now - minutes_ago * 60_000_000)
        return {"deviceId": freezer.device, "timestamp": at, "data": f'{{"temperature":{celsius}}}'}

    some = [(60, -20), (50, -10), (45, -12), (39, -9), (30, -18), (20, -5), (15, -18), (9, -1)]
    for minutes_ago, celsius in some:
        freezer.person.reports(freezer.device, **record(minutes_ago, celsius))
    assert freezer.sent(2) == ["raised -12.0 -12.0", "resolved -12.0 -9.0"]
    freezer.passes(59)
    assert freezer.queued == 2
    freezer.passes(1)
    assert freezer.sent(3)[2] == "raised -1.0 -1.0"


@pytest.mark.engine_free
def test_values_that_stay_away_raise_or_resolve_an_alarm_as_chosen(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    kept = make_freezer(staleAfter=600)
    resolving = Freezer(
        kept.person,
        kept.receiver,
        group=kept.group,
        reason="measurement",
        params={**TOO_WARM, "staleAfter": 600, "onStale": "resolve"},
    )
    raising = Freezer(
        kept.person,
        kept.receiver,
        group=kept.group,
        reason="measurement",
        params={**TOO_WARM, "staleAfter": 600, "onStale": "raise"},
    )
    for each in (kept, resolving):
        each.change(deviceId=kept.device)
    raising.change(deviceId=raising.device)
    kept.reads(-10)
    raising.reads(-20)
    world.clock.let_pass(seconds=300)
    raising.reads(-20)
    assert (kept.queued, resolving.queued, raising.queued) == (1, 1, 0)
    kept.passes(300)
    assert (kept.queued, resolving.queued, raising.queued) == (1, 2, 0)
    world.restart()
    kept.passes(300)
    assert (kept.queued, resolving.queued, raising.queued) == (1, 2, 1)
    raising.reads(-16)
    assert (kept.queued, resolving.queued, raising.queued) == (1, 2, 2)


@pytest.mark.engine_free
def test_what_is_wrong_with_a_condition_is_named(make_freezer: Callable[..., Freezer]) -> None:
    freezer = make_freezer()
    group = freezer.group

    def create(reason: str, **params: Any) -> Any:
        text = json.dumps({"url": freezer.receiver.url, **params})
        body = {"groupId": group, "type": "webhook", "name": "a", "reason": reason, "params": text}
        return freezer.person.post("/notification", body)

    refused(create("measurement"), 400, "params.measurement")
    refused(create("measurement", measurement="x"), 400, "params.above")
    refused(create("measurement", measurement="x", above=1, below=0), 400, "params.below")
    refused(create("measurement", above=1), 400, "params.above")
    refused(
        create("measurement", measurement="a b", onStale="raise"),
        400,
        *("params.measurement", "params.above", "params.onStale"),
    )
    refused(create("opened", measurement="x", above=1), 400, "params.measurement", "params.above")
    wrong = {"measurement": "x", "above": 1, "for": 0}
    refused(create("measurement", **wrong), 400, "params.for")
    refused(freezer.person.put("/notification", {**freezer.name, "reason": "opened"}), 400)
    ok(create("measurement", measurement="x", below=1))


@pytest.mark.engine_free
def test_transferred_deleted_changed_and_disabled(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer(**{"for": 60})
    ada, elsewhere = freezer.person, freezer.person.group("elsewhere")
    others = [ada.device(freezer.group) for _ in range(2)]
    for device in (freezer.device, *others):
        freezer.reads(-10, device=device)
    # Moved and deleted devices raise nothing any more.
    moved = {"deviceId": others[0], "groupId": freezer.group, "toGroupId": elsewhere}
    ok(ada.put("/device/transfer", moved))
    ok(ada.delete("/device", deviceId=others[1], groupId=freezer.group))
    freezer.passes(60)
    assert freezer.sent(1) == ["raised -10.0 -10.0"]
    # While it is disabled nothing is observed, and an open alarm stays open.
    freezer.change(enabled=False)
    freezer.reads(-20)
    freezer.passes(60)
    freezer.change(enabled=True)
    freezer.passes(60)
    assert freezer.queued == 1
    world.clock.let_pass(seconds=1)
    freezer.reads(-20)
    assert freezer.queued == 2
    # A new limit applies from the next value.
    world.clock.let_pass(seconds=1)
    freezer.reads(-12)
    warmer = {**TOO_WARM, "above": -5, "for": 60, "url": freezer.receiver.url}
    freezer.change(params=json.dumps(warmer))
    world.clock.let_pass(seconds=1)
    freezer.reads(-12)
    freezer.passes(60)
    assert freezer.queued == 2


@pytest.mark.engine_free
def test_an_alarm_outside_of_the_schedule_is_sent_when_that_begins_if_it_is_still_open(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer()
    tomorrow = (world.clock.now() // 86_400_000_000 + 4) % 7 + 1
    freezer.change(schedule=json.dumps({"Day": tomorrow}))
    freezer.reads(-10)
    world.clock.let_pass(seconds=10)
    freezer.reads(-20)
    world.clock.let_pass(seconds=10)
    freezer.reads(-11)
    freezer.passes(60)
    assert freezer.queued == 0
    world.clock.let_pass(days=1)
    world.run_alarms_once()
    assert freezer.sent(1) == ["raised -11.0 -11.0"]


@pytest.mark.engine_free
def test_a_condition_may_be_an_expression_over_current_values_and_the_device(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer()
    freezer.change(enabled=False)
    ada, group = freezer.person, freezer.group
    params = {
        "condition": "values.temperature > double(device.configuration.limit) && !values.defrosts",
        "resolve": "values.temperature < -17.0",
        "for": 60,
    }
    dear = Freezer(ada, freezer.receiver, group=group, reason="measurement", params=params)
    declared = {"name": "defrosts", "kind": "data", "path": "/data/defrosts", "class": "state"}
    declaration = {"type": "generic", "groupId": group, "measurements": [declared]}
    ok(ada.put("/device/type/measurements", declaration))
    limit = {"deviceId": dear.device, "groupId": group, "configuration": '{"limit": -15}'}
    ok(ada.put("/device", limit))

    def says(**data: Any) -> None:
        world.clock.let_pass(seconds=1)
        at = format_date(world.clock.now())
        ada.reports(dear.device, data=json.dumps(data), timestamp=at)

    says(temperature=-10)  # nothing is known of the other one yet
    says(defrosts=True)
    dear.passes(3_600)
    assert dear.queued == 0
    says(defrosts=False)
    dear.passes(30)
    says(humidity=3)  # the values that a record does not have are those of before
    dear.reads(-20, ago_s=600)  # late
    world.restart()
    dear.passes(30)
    [raised] = dear.alerts(1)
    assert raised["message"]["state"] == "raised" and "measurement" not in raised["message"]
    says(temperature=-16)
    assert dear.queued == 1
    says(temperature=-18)
    assert dear.alerts(2)[1]["message"]["state"] == "resolved"
    wrong = {**params, "url": dear.receiver.url}
    for change, field in (
        ({"condition": "value.temperature > 1"}, "condition"),
        ({"resolve": "values."}, "resolve"),
        ({"above": 1}, "above"),
    ):
        text = json.dumps({**wrong, **change})
        refused(ada.put("/notification", {**dear.name, "params": text}), 400, f"params.{field}")


@pytest.mark.engine_free
@pytest.mark.parametrize("is_long", [False, True])
def test_neither_its_length_nor_a_filter_keeps_a_condition_from_being_evaluated(
    world: World, make_freezer: Callable[..., Freezer], *, is_long: bool
) -> None:
    """To compile what is this long costs more than the filters of a commit may."""
    freezer = make_freezer()
    freezer.change(enabled=False)
    ada, group = freezer.person, freezer.group
    padding = f'message.deviceName != "{"x" * 2_000}"'
    if not is_long:
        ada.connector(group, freezer.receiver.url, messageFilter=f"{padding} && false")
    condition = "values.temperature > 4.0"
    params = {"condition": f"{condition} && {padding}" if is_long else condition}
    dear = Freezer(ada, freezer.receiver, group=group, reason="measurement", params=params)
    dear.reads(8)
    dear.reads(2)
    assert [each["message"]["state"] for each in dear.alerts(2)] == ["raised", "resolved"]


# --- alarms as rows ---


@pytest.mark.engine_free
def test_an_alarm_is_a_row_that_is_acknowledged_and_resolved(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer(severity="critical")
    ada, group = freezer.person, freezer.group

    def listed(**params: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = walk(
            partial(ada.get, "/group/alarms"), groupId=group, **params
        )
        return found

    freezer.reads(-10)
    raised_at = format_date(world.clock.now())
    world.clock.let_pass(seconds=60)
    freezer.reads(-5)
    [alarm] = listed()
    assert alarm == {
        "id": freezer.alerts(1)[0]["message"]["alarmId"],
        "groupId": group,
        "notificationId": freezer.id,
        "notificationName": "alarm",
        "reason": "measurement",
        "deviceId": freezer.device,
        "deviceName": alarm["deviceName"],
        "severity": "critical",
        "state": "raised",
        "raisedAt": raised_at,
        **{"measurement": "temperature", "above": TOO_WARM["above"]},
        "value": -10,
        "worstValue": -5,
        "notifiedAt": raised_at,
    }
    overview = ok(ada.get("/group/overview", groupId=group))
    assert overview["alarms"] == {
        **{"total": 1, "acknowledged": 0},
        **{"critical": 1, "warning": 0, "info": 0},
    }
    named = {"groupId": group, "alarmId": alarm["id"]}
    done = ok(ada.post("/alarm/acknowledge", {**named, "comment": "The door"}))
    assert (done["state"], done["comment"], done["acknowledgedBy"]) == (
        *("acknowledged", "The door"),
        ada.id,
    )
    again = ok(ada.post("/alarm/acknowledge", {**named, "comment": "Once more"}))
    assert again == done
    assert [each[1] for each in world.audit()].count("alarm.acknowledge") == 1
    # Those who may not read records see no values; those who may see nothing find nothing.
    bob, eve = world.person("bob"), world.person("eve")
    ada.invite(bob, group, ada.role("notification.read", "group.read"))
    seen = ok(bob.get("/group/alarms", groupId=group))["items"][0]
    assert seen["state"] == "acknowledged" and not seen.keys() & {"value", "worstValue"}
    refused(bob.post("/alarm/acknowledge", named), 403)
    refused(eve.get("/group/alarms", groupId=group), 404, "groupId")
    other = {**named, "groupId": eve.group()}
    refused(eve.post("/alarm/acknowledge", other), 404, "alarmId")
    world.clock.let_pass(seconds=60)
    freezer.reads(-20)
    assert listed() == []
    [resolved] = listed(state="all")
    assert (resolved["state"], resolved["worstValue"], resolved["comment"]) == (
        *("resolved", -5),
        "The door",
    )
    refused(ada.post("/alarm/acknowledge", {**named, "comment": "Too late"}), 409)
    freezer.reads(-11)
    world.clock.let_pass(seconds=1)
    [next_one] = listed()
    freezer.reads(-20)
    refused(ada.post("/alarm/acknowledge", {"groupId": group, "alarmId": next_one["id"]}), 409)


@pytest.mark.engine_free
def test_alarms_of_all_reasons_are_in_one_list(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer()
    ada, group = freezer.person, freezer.group
    below = ada.group("below", parent=group)
    deep = ada.device(below)
    everywhere = {"subgroups": True, "silentAfter": 600, "severity": "info"}
    url = freezer.receiver.url
    silent = ada.notification(group, url, reason="deviceSilent", params=everywhere)
    fence = {"geofence": {"lat": 0, "lng": 0, "radius": 1_000}}
    ada.notification(group, url, reason="geofenceExit", params=fence)
    freezer.fix(0, 0)
    world.clock.let_pass(seconds=1)
    freezer.fix(1, 1)
    world.clock.let_pass(seconds=1)
    freezer.reads(-10)
    world.clock.let_pass(seconds=700)
    freezer.reads(-9)
    world.run_monitors_once()

    def listed(**params: Any) -> list[tuple[str, str, str]]:
        found = walk(
            partial(ada.get, "/group/alarms"), groupId=group, subgroups="true", limit=1, **params
        )
        return [(each["reason"], each["deviceId"], each["groupId"]) for each in found]

    mine = freezer.device, group
    assert listed() == [
        ("deviceSilent", deep, below),
        ("measurement", *mine),
        ("geofenceExit", *mine),
    ]
    assert listed(severity="info") == listed(reason="deviceSilent") == listed()[:1]
    assert listed(deviceId=freezer.device) == listed()[1:]
    begin = format_date(world.clock.now() - 600_000_000)
    assert listed(beginDate=begin) == listed()[:1]
    assert listed(endDate=begin) == listed()[1:]
    assert len(ok(ada.get("/group/alarms", groupId=group))["items"]) == 2
    refused(ada.get("/group/alarms", groupId=group, state="none"), 400, "state")
    # Closed with what they are about, without a message.
    sent = count_alerts(world, silent)
    ok(ada.delete("/device", deviceId=deep, groupId=below))
    freezer.change(deviceTypes=["tracker"])
    ok(ada.delete("/notification", name=group, notificationId=silent))
    freezer.fix(0, 0)
    assert listed() == []
    ended = walk(partial(ada.get, "/group/alarms"), groupId=group, subgroups="true", state="all")
    assert [each.get("resolution") for each in ended] == [
        "the device was deleted",
        "the notification was changed",
        None,
    ]
    assert sent in (0, 1) and freezer.queued == 1
    world.clock.let_pass(days=400)
    world._run(maintenance.delete_old_alarms(world.database, 365))
    assert listed(state="all") == []


def test_a_device_that_gets_another_type_leaves_the_alarms_that_are_not_for_it(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer(repeatEvery=600)
    ada, group = freezer.person, freezer.group
    freezer.change(deviceTypes=["generic"])
    params = {"silentAfter": 600, "repeatEvery": 600}
    fields: dict[str, Any] = {"reason": "deviceSilent", "deviceTypes": ["generic"]}
    silent = Freezer(ada, freezer.receiver, group=group, params=params, **fields)
    freezer.reads(-10)
    world.clock.let_pass(seconds=700)
    world.run_monitors_once()
    retyped = {"groupId": group, "type": "tracker"}
    for device in (freezer.device, silent.device):
        ok(ada.put("/device/type", {"deviceId": device, **retyped}))
    sent = freezer.queued, silent.queued
    freezer.passes(6_000)
    world.run_monitors_once()
    assert (freezer.queued, silent.queued) == sent
    ended = ok(ada.get("/group/alarms", groupId=group, state="all"))["items"]
    assert [(each["state"], each["resolution"]) for each in ended] == [
        ("resolved", "the type of the device was changed")
    ] * 3


def test_alarms_raised_while_their_notification_or_device_went_away_are_closed(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer, other = make_freezer(), make_freezer()
    ada, group = freezer.person, freezer.group
    deleted, moved = ada.device(group), ada.device(group)
    for device in (freezer.device, deleted, moved):
        freezer.reads(-10, device=device)
    other.reads(-10)
    ok(ada.delete("/device", deviceId=deleted, groupId=group))
    there = {"groupId": group, "toGroupId": ada.group("elsewhere")}
    ok(ada.put("/device/transfer", {"deviceId": moved, **there}))
    ok(other.person.delete("/notification", name=other.group, notificationId=other.id))

    def raise_late(tx: Tx) -> None:
        """As a transaction does that began before, and is committed after."""
        tx.execute(sa.update(schema.alarm).values(resolved_at=None, resolution=None))

    def list_devices(alarm: Freezer) -> set[str]:
        found = ok(alarm.person.get("/group/alarms", groupId=alarm.group))["items"]
        return {each["deviceId"] for each in found}

    world.write(raise_late)
    assert list_devices(freezer) == {freezer.device, deleted, moved}
    assert list_devices(other) == {other.device}
    world._run(maintenance.delete_old_alarms(world.database, 0))
    assert (list_devices(freezer), list_devices(other)) == ({freezer.device}, set())


def test_an_alarm_is_repeated_and_escalated_until_somebody_acknowledges_it(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    other = make_freezer()
    ada, group = other.person, other.group
    other.change(reason="escalation", params=json.dumps({"url": other.receiver.url}))
    params = {**TOO_WARM, "repeatEvery": 600, "escalateAfter": 900, "escalateTo": other.id}
    freezer = Freezer(ada, other.receiver, group=group, reason="measurement", params=params)
    wrong = json.dumps({**params, "url": other.receiver.url, "escalateTo": freezer.id})
    refused(ada.put("/notification", {**freezer.name, "params": wrong}), 400, "params.escalateTo")
    freezer.reads(-10)
    counts = []
    for _ in range(5):
        freezer.passes(300)
        world.restart()
        counts.append((freezer.queued, other.queued))
    # Sent after 0, 600, 900 and 1,500 seconds; escalated with the third.
    assert counts == [(1, 0), (2, 0), (3, 1), (3, 1), (4, 2)]
    [alarm] = ok(ada.get("/group/alarms", groupId=group))["items"]
    ok(ada.post("/alarm/acknowledge", {"groupId": group, "alarmId": alarm["id"]}))
    freezer.passes(6_000)
    assert (freezer.queued, other.queued) == (4, 2)
    freezer.reads(-20)
    assert (freezer.queued, other.queued) == (5, 3)
    freezer.passes(6_000)
    assert (freezer.queued, other.queued) == (5, 3)


@pytest.mark.engine_free
def test_alerts_that_the_service_raises_are_repeated_as_well(world: World) -> None:
    with Receiver() as receiver:
        ada = world.person("ada")
        params = {"silentAfter": 600, "repeatEvery": 600}
        silent = Freezer(ada, receiver, reason="deviceSilent", params=params)
        world.clock.let_pass(seconds=700)
        world.run_monitors_once()
        silent.passes(599)
        assert silent.queued == 1
        silent.passes(1)
        assert silent.queued == 2
        silent.reads(-20)
        world.run_monitors_once()
        assert [each["message"]["state"] for each in silent.alerts(3)] == [
            *("raised", "raised"),
            "resolved",
        ]
        silent.passes(500)
        assert silent.queued == 3


def test_of_many_processes_that_find_alarms_due_one_raises_each(
    world: World, make_freezer: Callable[..., Freezer]
) -> None:
    freezer = make_freezer(**{"for": 60})
    ada, group = freezer.person, freezer.group
    devices = [freezer.device, *(ada.device(group) for _ in range(4))]
    for device in devices:
        freezer.reads(-10, device=device)
    world.clock.let_pass(seconds=60)
    step = partial(world.app.alarm_work._evaluate_due, group=int(group))

    async def all_at_once() -> None:
        await asyncio.gather(*(world.database.write(step) for _ in range(8)))

    world._run(all_at_once())
    world.run_alarms_once()
    assert {each["message"]["deviceId"] for each in freezer.alerts(len(devices))} == {*devices}
    assert len(walk(partial(ada.get, "/group/alarms"), groupId=group)) == len(devices)


def test_alerts_that_were_raised_before_there_were_alarms_become_some(world: World) -> None:
    with Receiver() as receiver:
        silent = Freezer(
            world.person("ada"), receiver, reason="deviceSilent", params={"silentAfter": 600}
        )
        world.clock.let_pass(seconds=700)
        world.run_monitors_once()
        [before] = ok(silent.person.get("/group/alarms", groupId=silent.group))["items"]

        def upgrade_again(tx: Tx) -> None:
            tx.execute(sa.delete(schema.alarm))
            for statement in v0015_alarms_of_alerts.list_statements(tx.connection.dialect.name):
                tx.execute(sa.text(statement))

        world.write(upgrade_again)
        [after] = ok(silent.person.get("/group/alarms", groupId=silent.group))["items"]
        assert {**after, "id": before["id"]} == before
        silent.reads(-20)
        world.run_monitors_once()
        assert silent.alerts(2)[1]["message"]["alarmId"] == after["id"]


@pytest.mark.engine_free
def test_records_that_a_costly_condition_skips_are_counted(
    make_freezer: Callable[..., Freezer],
) -> None:
    freezer = make_freezer()
    costly = " || ".join(f"string(message.data) == 'x{number}'" for number in range(60))
    freezer.change(params=json.dumps({"url": freezer.receiver.url, "condition": costly}))
    now = freezer.world.clock.now()
    batch = [
        record_of(
            freezer.device,
            timestamp=format_date(now - number * 1_000_000),
            data=json.dumps({"temperature": number}),
        )
        for number in range(200, 0, -1)
    ]
    ok(freezer.person.post("/device/data/batch", {"items": batch}))
    shown = freezer.shown
    assert "filter_too_expensive" in shown["error"]["message"]
    assert shown["filterFailing"]["failed"] > 50
