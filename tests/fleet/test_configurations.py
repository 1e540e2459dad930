"""Configuration policies: what devices should have, where it is from, and who does not have it."""

import json
from typing import Any

import pytest

from tests.world import Person, World, nothing_happens, ok, refused


def set_policy(person: Person, group: str, **policy: Any) -> dict[str, Any]:
    return dict(ok(person.put("/group/configuration", {"groupId": group, "policy": policy})))


def sources(person: Person, device: str) -> dict[str, tuple[Any, str, str | None]]:
    """By path: the value, and where it is from."""
    shown = ok(person.get("/device/configuration", deviceId=device))
    return {
        each["path"]: (each["value"], each["source"], each.get("sourceId"))
        for each in shown["values"]
    }


@pytest.mark.engine_free
def test_a_device_should_have_what_its_type_its_groups_and_itself_want(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    ada.invite(bob, branch, "viewer")
    device = ada.device(branch, type="meter")
    own = {"pulsesPerUnit": 10, "reportEverySeconds": 3_600, "unit": "m3"}
    change = {"deviceId": device, "groupId": branch, "configuration": json.dumps(own)}
    ok(ada.put("/device", change))
    assert ok(ada.get("/device/configuration", deviceId=device))["configuration"] == own

    for_meters = {"type": "meter", "policy": {"unit": "l", "a/b": {"~": [1]}, "site": "?"}}
    refused(ada.put("/device/type/configuration", for_meters), 403)
    ok(world.operator.put("/device/type/configuration", for_meters))
    set_policy(ada, root, reportEverySeconds=600, pulsesPerUnit=1, site="north", gone=1)
    set_policy(ada, branch, reportEverySeconds=300, gone=None)
    shown = ok(ada.get("/device/configuration", deviceId=device, groupId=branch))
    assert shown["configuration"] == {
        "pulsesPerUnit": 10,
        "reportEverySeconds": 300,
        "unit": "l",
        "a/b": {"~": [1]},
        "site": "north",
    }
    assert sources(ada, device) == {
        "/pulsesPerUnit": (10, "device", device),
        "/reportEverySeconds": (300, "group", branch),
        "/unit": ("l", "type", "meter"),
        "/a~1b/~0": ([1], "type", "meter"),
        "/site": ("north", "group", root),
    }
    # Bob is no member of the root group: the value holds for him, its group is not his to know.
    assert sources(bob, device)["/site"] == ("north", "group", None)
    assert ok(bob.get("/group/configuration", groupId=branch))["updatedBy"] == ada.id
    refused(bob.get("/group/configuration", groupId=root), 404, "groupId")
    refused(bob.put("/group/configuration", {"groupId": branch, "policy": {}}), 403)

    ok(ada.put("/device", change | {"configuration": "any text"}))
    odd = ok(ada.get("/device/configuration", deviceId=device))
    assert (odd["ownConfigurationMerged"], odd["configuration"]["pulsesPerUnit"]) == (False, 1)
    # A move to other groups brings their policies.
    other = ada.group("other")
    set_policy(ada, other, site="south")
    ok(ada.put("/group", {"groupId": branch, "parent": other}))
    assert sources(ada, device)["/site"] == ("south", "group", other)
    ok(ada.put("/device/transfer", {"deviceId": device, "groupId": branch, "toGroupId": root}))
    assert sources(ada, device)["/site"] == ("north", "group", root)
    assert set_policy(ada, root) == {"policy": {}}
    assert sources(ada, device)["/site"] == ("?", "type", "meter")


@pytest.mark.engine_free
def test_a_policy_is_small_and_its_changes_are_logged(world: World) -> None:
    ada = world.person("ada")
    group = ada.group("group")
    assert ok(ada.get("/group/configuration", groupId=group)) == {"policy": {}}
    unset = {"groupId": group, "policy": {"a": 1}, "ifUpdatedAt": 0}
    first = ok(ada.put("/group/configuration", unset))
    assert ok(ada.get("/group/configuration", groupId=group)) == first
    second = set_policy(ada, group, a=2)
    body = {"groupId": group, "policy": {"a": 3}, "ifUpdatedAt": first["updatedAt"]}
    deep: dict[str, Any] = {}
    for _ in range(17):
        deep = {"a": deep}
    with nothing_happens(world):
        problem = refused(ada.put("/group/configuration", body), 409, "ifUpdatedAt")
        assert problem["code"] == "changed_meanwhile"
        refused(ada.put("/group/configuration", unset), 409, "ifUpdatedAt")
        large = {"groupId": group, "policy": {"a": "x" * 8_192}}
        refused(ada.put("/group/configuration", large), 400, "policy")
        many = {f"v{number}": {"a": 1} for number in range(201)}
        refused(ada.put("/group/configuration", large | {"policy": many}), 400, "policy")
        refused(ada.put("/group/configuration", large | {"policy": deep}), 400, "policy")
        refused(ada.put("/group/configuration", large | {"policy": [1]}), 400, "policy")
        unknown = {"type": "none", "policy": {}}
        refused(world.operator.put("/device/type/configuration", unknown), 404, "type")
        refused(ada.get("/device/type/configuration", type="none"), 404, "type")
    ok(ada.put("/group/configuration", body | {"ifUpdatedAt": second["updatedAt"]}))
    query = {"groupId": group, "action": "group.updateConfiguration"}
    newest, *_ = ok(ada.get("/group/audit", **query))["items"]
    assert (newest["before"], newest["after"]) == ({"policy": {"a": 2}}, {"policy": {"a": 3}})
    refused(world.person("eve").get("/group/configuration", groupId=group), 404, "groupId")
