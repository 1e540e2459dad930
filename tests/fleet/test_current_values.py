"""The newest value of each measurement of a device, committed with its record."""

import json
from typing import Any

import pytest

from tests.jobs import test_jobs as jobs
from tests.world import Person, World, ok, refused

NOON_S = 1_772_366_400  # 2026-03-01T12:00:00Z


def values(person: Person, device: str) -> dict[str, Any]:
    """The current values of a device by name."""
    items = ok(person.get("/device/values", deviceId=device))["items"]
    return {each["name"]: each.get("value") for each in items}


def times(person: Person, device: str) -> dict[str, str]:
    items = ok(person.get("/device/values", deviceId=device))["items"]
    return {each["name"]: each["timestamp"] for each in items}


def invalid(person: Person, device: str) -> dict[str, int]:
    items = ok(person.get("/device/values", deviceId=device))["items"]
    return {each["name"]: each["invalid"] for each in items if "invalid" in each}


def forget(person: Person, device: str, at: float | str) -> None:
    """Delete the records of an instant."""
    ok(person.put("/device/data", deviceId=device, timestamp=str(at)))


def says(person: Person, device: str, at_s: float, /, **data: Any) -> None:
    person.reports(device, timestamp=at_s, data=json.dumps(data))


def test_the_newest_value_by_time_is_current_whatever_comes_late(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    assert values(ada, device) == {}
    says(ada, device, NOON_S, moisture=17, soil={"celsius": 4.5}, word="dry", on=True)
    assert values(ada, device) == {"moisture": 17, "soil.celsius": 4.5}
    says(ada, device, NOON_S + 60, moisture=18)
    says(ada, device, NOON_S + 30, moisture=1, battery=3.6)  # late, and the first of its kind
    assert values(ada, device) == {"moisture": 18, "soil.celsius": 4.5, "battery": 3.6}
    assert times(ada, device)["moisture"] == "2026-03-01T12:01:00.000Z"
    # At one instant the later arrival is the newer one.
    says(ada, device, NOON_S + 60, moisture=19)
    assert values(ada, device)["moisture"] == 19
    ada.reports(device, "telemetry", timestamp=NOON_S, data='{"rtt": 5}')
    assert values(ada, device)["telemetry.rtt"] == 5


def test_a_clock_that_runs_ahead_keeps_no_later_value_away(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device, timestamp="2099-01-01", data='{"moisture": 1}')
    now_s = world.clock.now() // 1_000_000
    assert times(ada, device)["moisture"] < "2099"
    world.clock.let_pass(seconds=60)
    says(ada, device, now_s + 50, moisture=2)
    assert values(ada, device) == {"moisture": 2}


@pytest.mark.engine_free
def test_a_batch_has_the_newest_of_each_and_a_duplicate_changes_nothing(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    devices = [ada.device(group) for _ in range(3)]
    items = [
        {
            **{"deviceId": device, "timestamp": NOON_S + step, "configuration": "", "__raw": ""},
            **{"deviceType": "generic", "data": json.dumps({"n": step, f"only{step}": index})},
        }
        for index, device in enumerate(devices)
        for step in (1, 3, 2)
    ]
    ok(ada.post("/device/data/batch", {"items": items}))
    for index, device in enumerate(devices):
        expected = {"n": 3, "only1": index, "only2": index, "only3": index}
        assert values(ada, device) == expected
    ok(ada.post("/device/data/batch", {"items": items}))
    assert values(ada, devices[0])["n"] == 3
    assert invalid(ada, devices[0]) == {}


@pytest.mark.engine_free
def test_a_transferred_device_begins_without_values_wherever_it_goes(world: World) -> None:
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    home, away = ada.group("home"), ada.group("away")
    device = ada.device(home)
    ada.invite(bob, home, "viewer")
    ada.invite(eve, away, "viewer")
    says(ada, device, NOON_S, moisture=17)
    assert values(bob, device) == {"moisture": 17}
    refused(eve.get("/device/values", deviceId=device), 404, "deviceId")
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": home, "toGroupId": away}))
    # Who sees the old group alone sees that its time is over.
    assert values(ada, device) == values(bob, device) == values(eve, device) == {}
    says(ada, device, NOON_S - 60, moisture=3)
    assert values(eve, device) == values(ada, device) == {"moisture": 3}
    assert values(bob, device) == {}
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": away, "toGroupId": home}))
    assert values(ada, device) == values(bob, device) == {}


def test_deleting_a_record_leaves_the_newest_of_the_others(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    for step in range(3):
        says(ada, device, NOON_S + step, moisture=step)
    says(ada, device, NOON_S + 5, battery=3)
    ada.reports(device, timestamp="2099-01-01", data='{"moisture": 99}')
    assert values(ada, device) == {"moisture": 99, "battery": 3}
    forget(ada, device, "2099-01-01")
    assert values(ada, device) == {"moisture": 2, "battery": 3}
    forget(ada, device, NOON_S + 1)
    assert values(ada, device) == {"moisture": 2, "battery": 3}
    forget(ada, device, NOON_S + 2)
    forget(ada, device, NOON_S + 5)
    assert values(ada, device) == {"moisture": 0}
    ok(ada.request("DELETE", "/device/data", json={"deviceId": device}))
    assert values(ada, device) == {}
    says(ada, device, NOON_S, moisture=7)
    assert values(ada, device) == {"moisture": 7}


@pytest.mark.engine_free
def test_what_is_no_number_spoils_nothing(world: World) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    texts = ['{"a": 1, "b": 2}', '{"a": 1e400, "b": 3}', '{"a": NaN, "b": 4}', '{"a": {}, "b": 5}']
    texts += ["no JSON", "[1, 2]", "7", '{"b": ', '{"a": "word", "b": 6}', ""]
    for step, text in enumerate(texts):
        ada.reports(device, timestamp=NOON_S + step, data=text)
    assert values(ada, device) == {"a": 1, "b": 6}
    assert times(ada, device)["a"] == "2026-03-01T12:00:00.000Z"
    assert invalid(ada, device) == {"a": 2}
    assert len(ada.records(device)) == len(texts)


@pytest.mark.engine_free
def test_a_message_with_ten_thousand_numbers_is_bounded_and_says_so(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    first, second = ada.device(group), ada.device(group)
    numbers = {f"n{index}": index for index in range(10_000)}
    says(ada, first, NOON_S, **numbers)
    found = ok(ada.get("/device/values", deviceId=first))
    assert found["leftOut"] == 10_000 - len(found["items"])
    assert values(ada, first) == {name: numbers[name] for name in list(numbers)[:64]}
    # The list of the type is full, in this group.
    says(ada, second, NOON_S, n1=5, other=6)
    assert values(ada, second) == {"n1": 5}
    assert ok(ada.get("/device/values", deviceId=second))["leftOut"] == 1
    elsewhere = ada.device(ada.group())
    says(ada, elsewhere, NOON_S, other=6)
    assert values(ada, elsewhere) == {"other": 6}


@pytest.mark.engine_free
def test_who_may_not_read_records_reads_no_values(world: World) -> None:
    ada, bob, eve = world.person("ada"), world.person("bob"), world.person("eve")
    group = ada.group()
    device = ada.device(group)
    says(ada, device, NOON_S, moisture=17)
    ada.invite(bob, group, ada.role("device.read"))
    refused(bob.get("/device/values", deviceId=device), 403)
    refused(eve.get("/device/values", deviceId=device), 404, "deviceId")
    refused(ada.get("/device/values"), 400, "deviceId")


@pytest.mark.parametrize("undo", [True, False])
def test_values_go_with_their_device_and_come_back_with_it(world: World, undo: bool) -> None:
    ada = world.person("ada")
    group = ada.group()
    device, other = ada.device(group), ada.device(group)
    says(ada, device, NOON_S, moisture=17, battery=3)
    ada.reports(device, timestamp=NOON_S, data='{"battery": NaN}')
    says(ada, other, NOON_S, moisture=1)
    if not undo:
        ok(ada.delete("/device", deviceId=device, groupId=group))
        refused(ada.get("/device/values", deviceId=device), 404, "deviceId")
        assert values(ada, other) == {"moisture": 1}
        return
    job = jobs.succeeded(ada, jobs.start(ada, group, "delete", deviceIds=[device]))
    refused(ada.get("/device/values", deviceId=device), 404, "deviceId")
    jobs.undo(ada, job)
    assert values(ada, device) == {"moisture": 17, "battery": 3}
    assert invalid(ada, device) == {"battery": 1}
