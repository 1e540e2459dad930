"""What is declared of device types, for whom, and that it holds for what is stored as well."""

import json
from typing import Any

import pytest

from tests.fleet.test_current_values import NOON_S, says, values
from tests.fleet.test_summaries import run_work
from tests.world import Person, World, ok, refused


def measurement(name: str, path: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "path": path or f"/data/{name}", **fields}


def declare(
    person: Person, group: str | None, *measurements: dict[str, Any], type_name: str = "generic"
) -> dict[str, Any]:
    body: dict[str, Any] = {"type": type_name, "measurements": list(measurements)}
    if group is not None:
        body["groupId"] = group
    return dict(ok(person.put("/device/type/measurements", body)))


def declared(person: Person, **query: str) -> list[str]:
    found = ok(person.get("/device/type", type="generic", **query))
    return [each["name"] for each in found["measurements"]]


def listed(person: Person, group: str, **query: Any) -> dict[str, tuple[bool, int]]:
    """Of the measurements of a group: whether they are declared, and how many devices have one."""
    items = ok(person.get("/group/measurements", groupId=group, **query))["items"]
    return {each["name"]: (each["isDeclared"], each["devices"]) for each in items}


@pytest.mark.engine_free
def test_an_operator_declares_for_all_and_a_group_for_its_tree(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    device, other = ada.device(branch), ada.device(ada.group("elsewhere"))
    full = measurement("moisture", unit="%", label="Soil", decimals=1, minimum=0, maximum=100)
    shown = declare(world.operator, None, full)
    assert shown["measurements"] == [{**full, "kind": "data", "class": "gauge"}]
    for each in (device, other):
        says(ada, each, NOON_S, moisture=17, rssi=-90)
    declare(ada, root, measurement("wet", "/data/moisture", unit="‰"))
    assert values(ada, device) == {"wet": 17, "rssi": -90}
    assert values(ada, other) == {"moisture": 17, "rssi": -90}
    declare(ada, branch, measurement("moisture", "/data/rssi"))
    assert values(ada, device) == {"wet": 17, "moisture": -90}
    # Nothing declared is as it was.
    assert declared(ada) == ["moisture"]
    assert declared(ada, groupId=root) == ["wet"]
    declare(ada, branch)
    declare(ada, root)
    declare(world.operator, None)
    assert declared(ada) == declared(ada, groupId=root) == []
    assert values(ada, device) == {"moisture": 17, "rssi": -90}

    refused(ada.put("/device/type/measurements", {"type": "generic", "measurements": []}), 403)
    body = {"type": "generic", "groupId": root, "measurements": []}
    refused(bob.put("/device/type/measurements", body), 404, "groupId")
    ada.invite(bob, root, "viewer")
    refused(bob.put("/device/type/measurements", body), 403)
    refused(ada.put("/device/type/measurements", {**body, "type": "no such"}), 404, "type")


@pytest.mark.engine_free
def test_every_wrong_field_is_named(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    wrong = [
        measurement("moisture"),
        measurement("moisture", "/data/decoded/moisture"),
        measurement("a b", "data/x"),
        measurement("low", minimum=5, maximum=4),
        measurement("state", **{"class": "state"}, minimum=1),
        measurement("rssi", "/rssi", kind="telemetry"),
    ]
    body = {"type": "generic", "groupId": group, "measurements": wrong}
    refused(
        ada.put("/device/type/measurements", body),
        400,
        "measurements[1].name",
        "measurements[1].path",
        "measurements[2].name",
        "measurements[2].path",
        "measurements[3].minimum",
        "measurements[4].minimum",
        "measurements[5].path",
    )
    body["measurements"] = [measurement(f"m{index}") for index in range(201)]
    refused(ada.put("/device/type/measurements", body), 400, "measurements")
    body["measurements"] = [measurement("m", kind="words", **{"class": "curve"})]
    named = ("measurements[0].kind", "measurements[0].class")
    refused(ada.put("/device/type/measurements", body), 400, *named)
    body["measurements"] = [measurement("m", unit="x" * 33, decimals=-1)]
    named = ("measurements[0].unit", "measurements[0].decimals")
    refused(ada.put("/device/type/measurements", body), 400, *named)


def test_a_change_is_audited_and_refused_if_another_was_faster(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    first = declare(ada, group, measurement("moisture"))
    second = declare(ada, group, measurement("moisture", unit="%"))
    stale = {"type": "generic", "groupId": group, "measurements": []}
    stale["ifUpdatedAt"] = first["updatedAt"]
    refused(ada.put("/device/type/measurements", stale), 409, "ifUpdatedAt")
    ok(ada.put("/device/type/measurements", {**stale, "ifUpdatedAt": second["updatedAt"]}))
    query = {"groupId": group, "action": "deviceType.updateMeasurements"}
    entries = ok(ada.get("/group/audit", **query))["items"]
    assert len(entries) == 3
    before, after = entries[0]["before"], entries[0]["after"]
    assert [each["unit"] for each in before["measurements"]] == ["%"]
    assert after == {"measurements": []}


@pytest.mark.parametrize("ahead", [False, True])
def test_a_declaration_holds_for_what_is_stored(world: World, ahead: bool) -> None:
    ada = world.person("ada")
    group = ada.group()
    device, silent = ada.device(group), ada.device(group)
    at_s = NOON_S
    for step, (inner, moisture, door) in enumerate(
        [(1, 20, "open"), (2, 30, "shut"), (3, 500, "open"), (4, 700, "shut")]
    ):
        data = {"a": {"b": {"c": inner}}, "moisture": moisture, "door": door}
        says(ada, device, at_s + 86_400 * 10 * step, **data)
    if ahead:
        ada.reports(device, timestamp="2099-01-01", data='{"moisture": 900, "other": 1}')
    says(ada, silent, at_s, moisture=999)
    newest = 900 if ahead else 700
    found = {"moisture": newest} | ({"other": 1} if ahead else {})
    assert values(ada, device) == found
    declare(
        ada,
        group,
        measurement("deep", "/data/a/b/c"),
        measurement("moisture", maximum=100),
        measurement("door", **{"class": "state"}),
    )
    # What is out of bounds is hidden at once; the rest follows.
    del found["moisture"]
    assert values(ada, device) == found
    assert values(ada, silent) == {}
    run_work(world)
    assert values(ada, device) == {**found, "deep": 4, "moisture": 30, "door": "shut"}
    assert values(ada, silent) == {}
    declare(ada, group, measurement("moisture", maximum=600))
    run_work(world)
    assert values(ada, device) == {**found, "moisture": 500}
    declare(ada, group)
    run_work(world)
    assert values(ada, device) == {**found, "moisture": newest}
    assert values(ada, silent) == {"moisture": 999}


def test_a_value_that_arrives_before_the_recount_stays(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    says(ada, device, NOON_S, moisture=17)
    declare(ada, group, measurement("moisture", minimum=20))
    says(ada, device, NOON_S + 60, moisture=40)
    run_work(world)
    assert values(ada, device) == {"moisture": 40}
    # A device that has left takes nothing of this with it.
    away = ada.group("away")
    declare(ada, group)
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": group, "toGroupId": away}))
    run_work(world)
    assert values(ada, device) == {}


def test_a_group_lists_its_measurements(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    first, second = ada.device(root), ada.device(branch)
    third = ada.device(branch, type="meter")
    says(ada, first, NOON_S, moisture=1)
    says(ada, second, NOON_S, moisture=1, celsius=2)
    says(ada, third, NOON_S, moisture=1)
    declare(ada, root, measurement("wet", "/data/moisture", unit="%"), measurement("level"))
    assert listed(ada, root) == {"wet": (True, 1), "level": (True, 0)}
    items = ok(ada.get("/group/measurements", groupId=root, subgroups=True))["items"]
    assert [(each["type"], each["name"], each["devices"]) for each in items] == [
        ("generic", "wet", 2),
        ("generic", "level", 0),
        ("generic", "celsius", 1),
        ("meter", "moisture", 1),
    ]
    assert items[0] == {
        **{"name": "wet", "kind": "data", "path": "/data/moisture", "class": "gauge"},
        **{"unit": "%", "type": "generic", "isDeclared": True, "devices": 2},
    }
    # What a group below declares, and what it has found, is its own.
    declare(ada, branch, measurement("heat", "/data/celsius"), measurement("only"))
    assert listed(ada, branch) == {
        **{"wet": (True, 1), "level": (True, 0), "heat": (True, 1), "only": (True, 0)},
        "moisture": (False, 1),
    }
    assert "heat" not in listed(ada, root)
    assert "heat" in listed(ada, root, subgroups=True)
    refused(bob.get("/group/measurements", groupId=root), 404, "groupId")
    ada.invite(bob, root, ada.role("device.read"))
    refused(bob.get("/group/measurements", groupId=root), 403)
    assert json.dumps(listed(ada, ada.group("empty"))) == "{}"


@pytest.mark.engine_free
def test_a_group_that_is_moved_has_the_measurements_of_where_it_is(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    leaf = ada.group("leaf", parent=branch)
    device = ada.device(leaf)
    declare(ada, root, measurement("deep", "/data/a/b/c"), measurement("wet", "/data/moisture"))
    says(ada, device, NOON_S, a={"b": {"c": 4}}, moisture=17)
    assert values(ada, device) == {"deep": 4, "wet": 17}
    ok(ada.put("/group", {"groupId": branch, "parent": ""}))
    assert values(ada, device)["moisture"] == 17
    run_work(world)
    assert values(ada, device) == {"moisture": 17}
    ok(ada.put("/group", {"groupId": branch, "parent": root}))
    run_work(world)
    assert values(ada, device) == {"deep": 4, "wet": 17}
