"""Alarms and changes of the registry, forwarded by the connectors that ask for them."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from longwire import change_forwarding
from longwire.dates import format_date
from longwire.delivery.connectors import replays
from longwire.delivery.matching import budgets
from longwire.notifications import alarm_work
from longwire.process import maintenance
from longwire.store.delivery import change_messages
from tests.delivery.receiver import Receiver
from tests.waiting import eventually
from tests.world import Person, World, device_in, ok, refused

Json = dict[str, Any]
NOBODY = "http://127.0.0.1:9/hook"
TOO_WARM = {"measurement": "temperature", "above": -15, "severity": "critical"}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as receiver:
        yield receiver


@pytest.fixture
def ada(world: World) -> Person:
    return world.person("ada")


class Listener:
    """A connector that asks for some kinds, and what it was sent."""

    def __init__(self, person: Person, group: str, *kinds: str, **fields: Any) -> None:
        self.person, self.group, self.receiver = person, group, Receiver()
        params = {"kinds": list(kinds), **fields.pop("params", {})} if kinds else {}
        self.receiver.__enter__()
        self.id = person.connector(group, self.receiver.url, params=params, **fields)

    @property
    def named(self) -> dict[str, str]:
        return {"groupId": self.group, "connectorId": self.id}

    def received(self, count: int) -> list[Json]:
        """The messages in the order of their changes, once all have arrived; there are no more."""
        assert self.count() == count
        arrived = self.receiver.wait_for(count)[:count]
        assert len({each.id for each in arrived}) == count
        return [each.json for each in sorted(arrived, key=lambda each: _place(each.id))]

    def types(self, count: int) -> list[str]:
        return [each["type"] for each in self.received(count)]

    def count(self) -> int:
        """How many messages it has, sent or not."""
        stats = self.person.events(self.group, self.id)["stats"]
        return sum(stats.values())


def _place(message_id: str) -> int:
    return int(message_id.rpartition("_")[2], 16)


@pytest.fixture
def listen() -> Iterator[Callable[..., Listener]]:
    made: list[Listener] = []

    def make(*arguments: Any, **fields: Any) -> Listener:
        made.append(Listener(*arguments, **fields))
        return made[-1]

    yield make
    for each in made:
        each.receiver.__exit__(None, None, None)


def reads(person: Person, device: str, celsius: float) -> None:
    at = format_date(person.world.clock.now())
    person.reports(device, timestamp=at, data=json.dumps({"temperature": celsius}))


def test_the_life_of_a_device_is_forwarded_to_who_asks_for_the_registry(
    world: World, ada: Person, listen: Callable[..., Listener]
) -> None:
    group = ada.group()
    registry = listen(ada, group, "registry")
    filtered = listen(
        ada, group, "registry", "data", messageFilter='message.type == "device.deleted"'
    )
    plain = listen(ada, group)
    device = ada.device(group, name="Store", originalId="01", tags=["dairy"])
    which = {"deviceId": device, "groupId": group}
    ada.reports(device)
    ok(ada.put("/device", {**which, "name": "Cold room", "tags": ["milk"]}))
    ok(ada.put("/device", {**which, "name": "Cold room"}))  # changes nothing
    ok(ada.put("/device", {**which, "originalId": "02"}))
    ok(ada.delete("/device", deviceId=device, groupId=group))

    created, updated, replaced, deleted = registry.received(4)
    assert created.pop("id").startswith("msg_") and created.pop("timestamp")
    assert created == {
        **{"kind": "registry", "type": "device.created", "deviceId": device, "groupId": group},
        **{"network": "mqtt", "originalId": "01", "configuration": "{}"},
        **{"deviceName": "Store", "deviceType": "generic", "tags": ["dairy"]},
    }
    assert (updated["type"], updated["deviceName"]) == ("device.updated", "Cold room")
    assert updated["before"] == {"deviceName": "Store", "tags": ["dairy"]}
    assert (replaced["type"], replaced["before"]) == (
        *("device.hardwareReplaced",),
        {"originalId": "01"},
    )
    assert (deleted["type"], deleted["deviceName"]) == ("device.deleted", "Cold room")
    assert (deleted["originalId"], deleted["tags"]) == ("02", ["milk"])
    assert "before" not in deleted
    assert filtered.types(1) == ["device.deleted"]
    assert [each["kind"] for each in plain.received(1)] == ["data"]

    event = ada.events(group, registry.id)["items"][-1]
    assert (event["kind"], event["deviceId"]) == ("registry", device)
    message = ok(ada.get("/connector/message", id=event["id"]))
    assert message["record"]["type"] == "device.deleted"
    assert "recordId" not in message
    listed = ok(ada.get("/connector/messages", groupId=group, kind="registry"))
    assert len(listed["items"]) == 5
    _assert_counted(world, ada, group, {registry.id: 4, filtered.id: 1, plain.id: 1})


def _assert_counted(world: World, person: Person, group: str, metrics: dict[str, int]) -> None:
    """The counters of a group and of its connectors are those of its deliveries."""
    messages = sum(metrics.values())
    now = world.clock.now() // 1_000
    period = {"beginDate": str(now - 3_600_000), "endDate": str(now + 60_000)}
    report = ok(person.get("/group/metrics", groupId=group, **period))
    assert report["totalConnectorMessageStarted"] == messages
    for connector, made in metrics.items():
        shown = ok(person.get("/connector/metrics", groupId=group, connectorId=connector, **period))
        assert sum(each["made"] for each in shown["items"]) == made
    assert len(world.list_rows("delivery")) == messages == sum(metrics.values())


def test_both_groups_of_a_device_that_moves_get_what_they_may_see(
    ada: Person, listen: Callable[..., Listener]
) -> None:
    root = ada.group()
    old, new = ada.group(parent=root), ada.group(parent=root)
    device = ada.device(old)
    above = listen(ada, root, "registry", params={"subgroups": True})
    left, joined = listen(ada, old, "registry"), listen(ada, new, "registry")
    narrowed = listen(ada, new, "registry", deviceTypes=["generic"], params={"subgroups": True})
    only_root = listen(ada, root, "registry")
    body = {"deviceIds": [device], "groupId": old, "toGroupId": new}
    ok(ada.put("/devices/transfer", body))

    [moved] = above.received(1)
    assert (moved["type"], moved["fromGroupId"], moved["groupId"]) == ("device.moved", old, new)
    [out] = left.received(1)
    assert (out["type"], out["groupId"]) == ("device.movedOut", old)
    assert new not in json.dumps(out)
    for each in (joined, narrowed):
        [into] = each.received(1)
        assert (into["type"], into["groupId"]) == ("device.movedIn", new)
        assert old not in json.dumps(into)
    assert only_root.count() == 0

    # A replay is of the same messages.
    eventually(lambda: all(map(_is_done, (above, left, joined))))
    now = ada.world.clock.now()
    period = {"beginDate": format_date(now - 10**9), "endDate": format_date(now + 10**9)}
    for each in (above, left, joined):
        estimate = ok(ada.post("/connector/replay/preview", {**each.named, **period}))
        assert (estimate["matches"], estimate["sentBefore"]) == (1, 1)
        first = each.receiver.wait_for(1)[0]
        ok(ada.post("/connector/replay", {**each.named, **period}))
        again = each.receiver.wait_for(2)[1]
        assert (again.id, again.json) == (first.id, first.json)


def test_an_alarm_is_forwarded_when_it_is_raised_acknowledged_and_resolved(
    make_world: Callable[..., World],
    monkeypatch: pytest.MonkeyPatch,
    listen: Callable[..., Listener],
) -> None:
    monkeypatch.setattr(alarm_work, "INTERVAL_S", 3_600)
    world = make_world(token_lifetime_s=10**8)
    world.clock.freeze()
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group, name="Freezer", tags=["cold"])
    early = listen(ada, group, "alarm")
    events = listen(ada, group, "alarm", format="cloudevents")
    template = '{"what": message.type, "who": message.deviceName, "value": message.value}'
    custom = listen(
        *(ada, group, "alarm"),
        format="custom",
        params={"template": template},
        messageFilter='message.kind == "alarm" && has(message.value) && message.value > -12.0',
    )
    raw = listen(ada, group, "alarm", format="raw", deviceIds=[device])
    others = listen(ada, group, "alarm", deviceTypes=["tracker"])
    plain = listen(ada, group)
    notification = ada.notification(group, NOBODY, reason="measurement", params=TOO_WARM)
    reads(ada, device, -10)
    [raised] = early.received(1)
    alarm = raised["alarmId"]
    world.clock.let_pass(seconds=5)
    ok(ada.post("/alarm/acknowledge", {"groupId": group, "alarmId": alarm, "comment": "Going"}))
    ok(ada.post("/alarm/acknowledge", {"groupId": group, "alarmId": alarm}))  # changes nothing
    world.clock.let_pass(seconds=5)
    reads(ada, device, -5)
    world.clock.let_pass(seconds=5)
    reads(ada, device, -18)

    raised, acknowledged, resolved = early.received(3)
    assert raised.pop("id") and raised.pop("timestamp") == raised["raisedAt"]
    assert raised == {
        **{"kind": "alarm", "type": "alarm.raised", "deviceId": device, "groupId": group},
        **{"alarmId": alarm, "notificationId": notification, "reason": "measurement"},
        **{"severity": "critical", "measurement": "temperature", "above": -15},
        **{"raisedAt": raised["raisedAt"], "value": -10, "worstValue": -10},
        **{"deviceName": "Freezer", "deviceType": "generic", "tags": ["cold"]},
    }
    assert acknowledged["type"] == "alarm.acknowledged"
    assert (acknowledged["comment"], acknowledged["acknowledgedBy"]) == ("Going", ada.id)
    assert acknowledged["timestamp"] == acknowledged["acknowledgedAt"]
    assert (resolved["type"], resolved["worstValue"]) == ("alarm.resolved", -5)
    assert resolved["timestamp"] == resolved["resolvedAt"]
    first = events.received(3)[0]
    assert first["type"] == "longwire.alarm.raised"
    assert (first["subject"], first["data"]["alarmId"]) == (device, alarm)
    assert custom.received(3)[0] == {"what": "alarm.raised", "who": "Freezer", "value": -10}
    assert raw.received(3)[2]["type"] == "alarm.resolved"
    assert others.count() == 0
    assert {each["kind"] for each in plain.received(3)} == {"data"}

    # Traced from the record that has raised it, and from the message about it.
    record = ok(ada.get("/connector/messages", groupId=group, kind="alarm"))["items"]
    ids = [each["id"] for each in record if each["connectorId"] == early.id]
    cause = ok(ada.get("/connector/message", id=min(ids, key=_place)))["recordId"]
    trace = ok(ada.get("/record/trace", recordId=cause))
    forwarded = [
        each["message"]["event"]["kind"] for each in trace["connectors"] if "message" in each
    ]
    assert sorted(forwarded) == ["alarm", "alarm", "alarm", "alarm", "data"]
    assert {each.get("notTaken") for each in trace["connectors"]} == {None, "kind"}
    by_message = ok(ada.get("/record/trace", messageId=min(ids, key=_place)))
    assert by_message["arrival"] == trace["arrival"]

    # One that comes later may have what was before.
    late = listen(ada, group, "alarm", "registry")
    preview = ok(ada.post("/connector/preview", late.named))
    assert [each["kind"] for each in preview["items"] if each["matches"]] == ["alarm"] * 3
    assert {each.get("code") for each in preview["items"]} == {None, "kind"}
    assert preview["kindsWithoutExamples"] == ["registry"]
    world.clock.let_pass(seconds=5)
    now = world.clock.now()
    period = {"beginDate": format_date(now - 10**9), "endDate": format_date(now + 10**9)}
    ok(ada.post("/connector/replay", {**late.named, **period}))
    assert late.types(3) == ["alarm.raised", "alarm.acknowledged", "alarm.resolved"]

    # What goes with the device, its notification or its connector is resolved, too.
    reads(ada, device, -10)
    ok(ada.delete("/device", deviceId=device, groupId=group))
    *_, closed, deleted = late.received(6)
    assert (closed["type"], closed["resolution"]) == ("alarm.resolved", "the device was deleted")
    assert (closed["deviceName"], deleted["type"]) == ("Freezer", "device.deleted")
    another = ada.device(group)
    reads(ada, another, -10)
    ok(ada.delete("/notification", notificationId=notification, name=group))
    assert late.types(9)[6:] == ["device.created", "alarm.raised", "alarm.resolved"]

    # They are kept as long as alarms.
    world.clock.let_pass(days=400)
    world._run(maintenance.delete_old_alarms(world.database, 365))
    assert world.list_rows("change_message") == []


def test_nothing_is_lost_or_sent_twice_whatever_stops(
    world: World, ada: Person, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    group = ada.group()
    registry = listen(ada, group, "registry")
    off = listen(ada, group, "registry", enabled=False)

    # The commit fails: neither the device nor a message.
    def fail(*_: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(change_forwarding.store_deliveries, "insert", fail)
        answer = ada.post("/device", device_in(world, group))
        assert answer.status_code == 500
    assert ok(ada.get("/devices", groupId=group))["items"] == []
    assert registry.count() == 0

    # The service stops between the commit and the response of the receiver.
    registry.receiver.respond_with(503)
    device = ada.device(group)
    registry.receiver.wait_for(1)
    world.restart()
    registry.receiver.respond_with(200)
    [queued] = ada.events(group, registry.id)["items"]
    ok(ada.post("/connector/messages/retry", {"groupId": group, "ids": [queued["id"]]}))
    eventually(lambda: ada.events(group, registry.id)["items"][0]["status"] == "succeed")
    assert {each.id for each in registry.receiver.requests} == {queued["id"]}
    assert registry.receiver.requests[-1].json["deviceId"] == device

    # What a connector has missed while it was disabled, it gets by a replay.
    assert off.count() == 0
    ok(ada.put("/connector", {**off.named, "enabled": True}))
    now = world.clock.now()
    period = {"beginDate": format_date(now - 10**9), "endDate": format_date(now + 10**9)}
    ok(ada.post("/connector/replay", {**off.named, **period}))
    assert off.types(1) == ["device.created"]


def test_a_replay_looks_at_a_few_changes_in_a_transaction(
    world: World, ada: Person, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "ARRIVALS_PER_STEP_MAX", 2)
    list_in_order, looked_at = change_messages.list_in_order, list[int]()

    def record(*arguments: Any) -> list[change_messages.ChangeRow]:
        found = list_in_order(*arguments)
        looked_at.append(len(found))
        return found

    monkeypatch.setattr(replays.change_messages, "list_in_order", record)
    group = ada.group()
    off = listen(ada, group, "data", "registry", enabled=False)
    device = ada.device(group)
    for number in range(3):
        ok(ada.put("/device", {"deviceId": device, "groupId": group, "name": f"door {number}"}))
        reads(ada, device, number)
    ok(ada.put("/connector", {**off.named, "enabled": True}))
    now = world.clock.now()
    period = {"beginDate": format_date(now - 10**9), "endDate": format_date(now + 10**9)}
    ok(ada.post("/connector/replay", {**off.named, **period}))
    eventually(lambda: off.count() == 7)
    kinds = [each["kind"] for each in off.received(7)]
    assert kinds == ["registry", *["registry", "data"] * 3]
    assert max(looked_at) <= 2


def test_many_changes_at_once_are_matched_later_and_all_of_them(
    world: World, ada: Person, listen: Callable[..., Listener], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = ada.group()
    old, new = ada.group(parent=root), ada.group(parent=root)
    above = listen(ada, root, "registry", params={"subgroups": True, "batch": 100})
    joined = listen(ada, new, "registry", params={"batch": 100}, messageFilter="message.type != ''")
    body = {"groupId": old, "type": "generic", "network": "other"}
    names = [f"d{number}" for number in range(300)]
    created = ok(ada.post("/devices", {**body, "originalDevicesIds": names}))
    ids = [each["deviceId"] for each in created["items"]]
    monkeypatch.setattr(budgets, "INLINE_DELIVERIES_PER_GROUP_MAX", 50)
    ok(ada.put("/devices/transfer", {"deviceIds": ids, "groupId": old, "toGroupId": new}))
    selection = {"groupId": new, "deviceIds": ids, "kind": "delete", "parameters": {}}
    job = ok(ada.post("/job", selection))["job"]["jobId"]
    eventually(lambda: "endedAt" in ok(ada.get("/job", groupId=new, jobId=job)))
    eventually(lambda: (above.count(), joined.count()) == (900, 600))
    for each, types in (
        (above, ("device.created", "device.moved", "device.deleted")),
        (joined, ("device.movedIn", "device.deleted")),
    ):
        eventually(partial(_is_done, each))
        sent = [item for request in each.receiver.requests for item in request.json]
        assert Counter(item["type"] for item in sent) == dict.fromkeys(types, 300)
        assert {item["deviceId"] for item in sent} == set(ids)
    assert world.list_rows("deferral") == []


def _is_done(listener: Listener) -> bool:
    stats = listener.person.events(listener.group, listener.id)["stats"]
    return bool(stats["totalSucceed"] == listener.count())


def test_kinds_are_checked_and_only_for_who_may_change_the_connector(
    world: World, ada: Person
) -> None:
    group = ada.group()

    def create(kinds: Any, person: Person = ada) -> Any:
        params = json.dumps({"url": NOBODY, "kinds": kinds})
        return person.post("/connector", {"groupId": group, "type": "http", "params": params})

    refused(create(["alarms"]), 400, "params.kinds[0]")
    refused(create(["data", "data"]), 400, "params.kinds[1]")
    refused(create([]), 400, "params.kinds")
    refused(create("alarm"), 400, "params.kinds")
    eve = world.person("eve")
    refused(create(["alarm"], eve), 400, "groupId")
    ada.invite(eve, group, "viewer")
    refused(create(["alarm"], eve), 403)
    connector = ok(create(["alarm", "data"]))
    assert json.loads(connector["params"])["kinds"] == ["alarm", "data"]
    which = {"groupId": group, "connectorId": connector["id"]}
    wrong = {**which, "messageFilter": 'message.kind = "alarm"'}
    refused(ada.put("/connector", wrong), 400, "messageFilter")
    listed = ok(ada.get("/connector/messages", groupId=group, kind="alarm"))
    assert listed["items"] == []
    draft = {"type": "http", "params": json.dumps({"url": NOBODY, "kinds": ["registry"]})}
    preview = ok(ada.post("/connector/preview", {"groupId": group, "draft": draft}))
    assert preview == {"items": [], "kindsWithoutExamples": ["registry"]}
