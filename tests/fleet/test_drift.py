"""Drift: devices that report another configuration than they should have."""

import json
from functools import partial
from typing import Any

import pytest

from longwire.fleet import configurations
from longwire.store.database import Tx
from longwire.store.fleet import device_reports
from tests.waiting import eventually
from tests.world import NOON, Person, World, ok, record_of, refused, walk


def set_policy(person: Person, group: str, **policy: Any) -> None:
    ok(person.put("/group/configuration", {"groupId": group, "policy": policy}))


def report(person: Person, device: str, second: int, **values: Any) -> None:
    timestamp = NOON.replace(":00.000", f":{second:02}.000")
    person.reports(device, timestamp=timestamp, configuration=json.dumps(values))


def compare(world: World) -> None:
    """Compare everything that is pending; the service may be at it as well."""

    def work(tx: Tx) -> bool:
        while device_reports.do_next_check(tx):
            pass
        configurations.save_results(tx, configurations.compare_pending(tx, 0, 1_000))
        return not device_reports.has_check(tx) and not device_reports.list_pending(tx, 0, 1)

    eventually(lambda: world.write(work))


def drifting(person: Person, group: str, **query: Any) -> dict[str, list[Any]]:
    """By device: paths, what should be there, and what is reported."""
    found = walk(partial(person.get, "/group/drift"), groupId=group, **query)
    return {
        each["deviceId"]: [
            (one["path"], one["expected"], one.get("reported")) for one in each["differences"]
        ]
        for each in found
    }


def overview(person: Person, group: str, **query: Any) -> tuple[int, list[Any]]:
    """How many devices drift, and what needs attention; a new one, not that of the last seconds."""
    person.world.clock.let_pass(seconds=6)
    found = ok(person.get("/group/overview", groupId=group, **query))
    attention = [
        (each["what"], each["groupId"], each["count"])
        for each in found["attention"]
        if each["what"] != "devicesSilent"  # their records are old
    ]
    return found["devices"]["drifting"], attention


@pytest.mark.engine_free
def test_a_device_that_reports_something_else_drifts_until_it_does_not(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    group = ada.group("group", parent=root)
    device, quiet = ada.device(group, type="tracker"), ada.device(group)
    set_policy(ada, root, reportEverySeconds=300, alarm={"high": 8})
    report(ada, quiet, 1)  # an empty object reports nothing
    report(ada, device, 1, reportEverySeconds=600, firmware="2", alarm={"high": 8})
    eventually(lambda: device in drifting(ada, group))
    assert drifting(ada, group) == {device: [("/reportEverySeconds", 300, 600)]}
    assert drifting(ada, root) == {}
    assert drifting(ada, root, subgroups=True, limit=1) == drifting(ada, group)
    shown = ok(ada.get("/device/configuration", deviceId=device))
    assert shown["drift"] == [{"path": "/reportEverySeconds", "expected": 300, "reported": 600}]
    assert shown["reported"]["firmware"] == "2"
    assert overview(ada, root) == (0, [])
    assert overview(ada, root, subgroups="true") == (1, [("configurationDrift", group, 1)])

    report(ada, device, 2, reportEverySeconds=300)  # without the alarm
    compare(world)
    assert drifting(ada, group) == {device: [("/alarm/high", 8, None)]}
    report(ada, device, 0, reportEverySeconds=1, alarm={"high": 8})  # came late, and is older
    compare(world)
    assert drifting(ada, group) == {device: [("/alarm/high", 8, None)]}
    report(ada, device, 3, reportEverySeconds=300.0, alarm={"high": 8})
    compare(world)
    assert drifting(ada, group) == {}
    assert overview(ada, root, subgroups="true") == (0, [])


@pytest.mark.slow
def test_drift_follows_policies_devices_and_the_tree(world: World) -> None:
    ada = world.person("ada")
    root, other = ada.group("root"), ada.group("other")
    group = ada.group("group", parent=root)
    device = ada.device(group, type="meter")
    report(ada, device, 1, unit="m3", site="south")
    world.restart()  # what is to be compared is not forgotten
    eventually(lambda: not world.read(lambda tx: device_reports.list_pending(tx, 0, 1)))
    assert drifting(ada, group) == {}  # nobody wants anything else
    set_policy(ada, root, site="north")
    eventually(lambda: device in drifting(ada, group))
    set_policy(ada, root, site="south")
    compare(world)
    assert drifting(ada, group) == {}
    meters = {"type": "meter", "policy": {"unit": "l"}}
    ok(world.operator.put("/device/type/configuration", meters))
    compare(world)
    assert drifting(ada, group) == {device: [("/unit", "l", "m3")]}
    own = json.dumps({"unit": "gallon"})
    ok(ada.put("/device", {"deviceId": device, "groupId": group, "configuration": own}))
    compare(world)
    assert drifting(ada, group) == {device: [("/unit", "gallon", "m3")]}
    set_policy(ada, other, site="west")
    ok(ada.put("/group", {"groupId": group, "parent": other}))
    compare(world)
    assert ("/site", "west", "south") in drifting(ada, other, subgroups=True)[device]
    # What it reported belongs to the records of the group it leaves.
    body = {"deviceId": device, "groupId": group, "toGroupId": root}
    ok(ada.put("/device/transfer", body))
    compare(world)
    assert drifting(ada, root) == {}
    assert "reported" not in ok(ada.get("/device/configuration", deviceId=device))
    report(ada, device, 2, unit="m3", site="south")
    compare(world)
    assert drifting(ada, root) == {device: [("/unit", "gallon", "m3")]}
    ok(ada.request("DELETE", "/device/data", json={"deviceId": device}))
    assert drifting(ada, root) == {}
    report(ada, device, 3, unit="m3")
    ok(ada.delete("/device", deviceId=device, groupId=root))
    assert world.list_rows("device_report") == []


@pytest.mark.engine_free
def test_a_report_that_has_not_changed_is_not_stored_again(world: World) -> None:
    ada = world.person("ada")
    group = ada.group("group")
    devices = [ada.device(group) for _ in range(3)]
    records = [record_of(each, configuration='{"a":1}') for each in devices]
    ok(ada.post("/device/data/batch", {"items": records}))
    compare(world)

    def reports() -> list[Any]:
        return world.list_rows("device_report")

    stored = reports()
    assert len(stored) == 3
    later = [each | {"timestamp": NOON.replace("12:", "13:")} for each in records]
    ok(ada.post("/device/data/batch", {"items": later}))
    report(ada, devices[0], 5)
    large = json.dumps({"a": "x" * 20_000})
    ada.reports(devices[0], timestamp=NOON.replace("12:", "14:"), configuration=large)
    ada.reports(devices[0], timestamp=NOON.replace("12:", "15:"), configuration="any text")
    assert reports() == stored
    # A network's message has the device's own configuration, which is no report.
    (home,) = ok(ada.get("/group", groupId=group))
    vendor = ada.device(group, network="vendor", originalId="1FD48BE", type="tracker")
    callback = world.http.post(
        "/network/vendor/data",
        headers={"Authorization": f"Bearer {home['token']}"},
        json={"device": "1FD48BE", "time": "1772366400", "data": "0a1b", "seqNumber": "1"},
    )
    assert callback.status_code < 300, callback.text
    assert len(ada.records(vendor)) == 1
    assert reports() == stored


@pytest.mark.engine_free
def test_drift_is_for_those_who_may_read_records(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group("group")
    device = ada.device(group)
    ada.invite(bob, group, ada.role("device.read", "group.read", name="blind"))
    set_policy(ada, group, a=1)
    report(ada, device, 1, a=2)
    compare(world)
    assert drifting(ada, group) == {device: [("/a", 1, 2)]}
    refused(bob.get("/group/drift", groupId=group), 403)
    shown = ok(bob.get("/device/configuration", deviceId=device))
    assert shown["configuration"] == {"a": 1} and "reported" not in shown
    refused(eve.get("/group/drift", groupId=group), 404, "groupId")
    assert drifting(eve, eve.group("her"), subgroups=True) == {}


@pytest.mark.slow
def test_the_checks_of_a_large_tree_take_bounded_steps(world: World, monkeypatch: Any) -> None:
    monkeypatch.setattr(device_reports, "DEVICES_PER_STEP_MAX", 2)
    monkeypatch.setattr(device_reports, "GROUPS_PER_STEP_MAX", 2)
    ada = world.person("ada")
    root = ada.group("root")
    groups = [root, *(ada.group(f"g{number}", parent=root) for number in range(4))]
    devices = [ada.device(groups[number % 5]) for number in range(11)]
    for device in devices:
        report(ada, device, 1, a=1)
    compare(world)
    set_policy(ada, root, a=2)
    compare(world)
    assert drifting(ada, root, subgroups=True, limit=3).keys() == set(devices)
    generic = {"type": "generic", "policy": {"b": 1}}
    ok(world.operator.put("/device/type/configuration", generic))
    set_policy(ada, root)
    compare(world)
    found = drifting(ada, root, subgroups=True)
    assert found == {each: [("/b", 1, None)] for each in devices}
    assert world.list_rows("configuration_check") == []
