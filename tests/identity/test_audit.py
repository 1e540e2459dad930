"""The audit log: who changed what, before and after; nothing foreign, and no secret."""

import json
from functools import partial
from typing import Any

import pytest

from longwire.store.identity import audit
from tests.world import Person, World, ok, refused, walk


def entries(person: Person, group: str, **query: Any) -> list[dict[str, Any]]:
    return walk(partial(person.get, "/group/audit"), groupId=group, **query)


@pytest.mark.engine_free
def test_the_audit_log_of_a_group_is_read_newest_first(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group("group")
    below = ada.group("below", parent=group)
    ada.invite(bob, group, "manager")
    renamed = ada.put("/group", {"groupId": group, "name": "new"})
    eve.group("foreign")
    found = entries(ada, group, limit=2)
    assert [each["action"] for each in found] == [
        *("group.update", "member.accept", "member.invite", "group.create")
    ]
    newest = found[0]
    assert newest.pop("timestamp") == ok(renamed)["updatedAt"]
    assert newest.pop("id")
    assert newest == {
        "actorKind": "user",
        "actorId": ada.id,
        "actorName": "ada@example.com",
        "action": "group.update",
        "objectId": group,
        "objectName": "new",
        "groupId": group,
        "requestId": renamed.headers["x-request-id"],
        "detail": "name",
        "before": {"name": "group"},
        "after": {"name": "new"},
    }
    (seen,) = ok(world.operator.get("/group/audit", groupId=group, limit=1))["items"]
    assert seen["address"] == "127.0.0.1"
    refused(bob.get("/group/audit", groupId=group), 403)
    refused(eve.get("/group/audit", groupId=group), 404, "groupId")
    refused(ada.get("/group/audit"), 400, "groupId")
    token = ok(ada.get("/group/audit", groupId=group, limit=1))["nextToken"]
    refused(world.operator.get("/group/audit", groupId=group, nextToken=token), 400, "nextToken")
    refused(ada.get("/group/audit", groupId=group, nextToken=token, subgroups=True), 400)
    assert {each["groupId"] for each in entries(ada, group, subgroups=True)} == {group, below}
    # The operator belongs to no group of ada's: she sees the id alone.
    ok(world.operator.put("/group", {"groupId": group, "name": "newer"}))
    (by_operator,) = entries(ada, group, actorId=world.operator.id)
    assert "actorName" not in by_operator and "address" not in by_operator


def test_a_tree_is_read_in_order_and_by_every_filter(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "SCAN_BATCH", 3)
    monkeypatch.setattr(audit, "SCAN_MAX", 6)
    ada, eve = world.person("ada"), world.person("eve")
    root = ada.group("root")
    branches = [ada.group(f"branch {number}", parent=root) for number in range(4)]
    world.clock.let_pass(seconds=600)
    devices = [ada.device(branches[number % 4], name=f"d{number}") for number in range(9)]
    body = {"deviceId": devices[0], "groupId": branches[0], "toGroupId": branches[1]}
    ok(ada.put("/device/transfer", body))
    client = ada.app_client(branches[2], "robot")
    ok(ada.put("/group", {"groupId": branches[2], "roleId": "manager"}))
    ok(client.put("/device", {"deviceId": devices[2], "groupId": branches[2], "tags": ["x"]}))
    foreign = eve.group("foreign")
    eve.device(foreign)

    everything = entries(ada, root, subgroups=True, limit=2)
    assert everything == entries(ada, root, subgroups=True, limit=1000)
    assert len(everything) == 5 + 9 + 2 + 1 + 1 + 1
    assert everything == sorted(
        everything, key=lambda each: (each["timestamp"], int(each["id"])), reverse=True
    )
    assert all(each["groupId"] in (root, *branches) for each in everything)
    (by_robot,) = entries(ada, root, subgroups=True, actorId=client.id, limit=1)
    assert (by_robot["actorName"], by_robot["objectName"]) == ("robot", "d2")
    assert (by_robot["before"], by_robot["after"]) == ({"tags": []}, {"tags": ["x"]})
    assert entries(ada, root, subgroups=True, requestId=by_robot["requestId"]) == [by_robot]
    created = entries(ada, root, subgroups=True, action="device.create", limit=4)
    assert [each["objectId"] for each in created] == devices[::-1]
    moved = entries(ada, root, subgroups=True, objectId=devices[0])
    assert [each["action"] for each in moved] == [*["device.transfer"] * 2, "device.create"]
    assert moved[0]["after"] == {"groupId": branches[1]}
    # The new group sees that it came, and not how it was made.
    assert [each["action"] for each in entries(ada, branches[1], objectId=devices[0])] == [
        "device.transfer"
    ]
    assert entries(ada, branches[3], objectId=devices[0]) == []
    assert entries(eve, foreign, objectId=devices[0], subgroups=True) == []
    first = everything[-1]["timestamp"]
    old = entries(ada, root, subgroups=True, endDate=everything[-6]["timestamp"])
    assert [each["action"] for each in old] == ["group.create"] * 5
    assert len(entries(ada, root, subgroups=True, beginDate=first)) == len(everything)
    wrong = ada.get("/group/audit", groupId=root, beginDate="x", endDate="y")
    refused(wrong, 400, "beginDate", "endDate")


@pytest.mark.engine_free
def test_a_change_is_logged_before_and_after_without_its_secrets(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group("group")
    secret = "whsec_" + "c2VjcmV0" * 4
    connector = ada.connector(group, "http://127.0.0.1:9/", params={"secret": secret}, name="out")
    params = json.dumps({"url": "http://127.0.0.1:9/", "secret": secret[:-8] + "QUJDREVG"})
    body = {"connectorId": connector, "groupId": group}
    ok(ada.put("/connector", {**body, "params": params}))
    ok(ada.put("/connector", {**body, "enabled": False, "tags": ["off"]}))
    ok(ada.delete("/connector", **body))
    deleted, disabled, resealed, created = entries(ada, group, objectId=connector)
    assert disabled["before"] == {"enabled": True, "tags": []}
    assert disabled["after"] == {"enabled": False, "tags": ["off"]}
    assert resealed["before"].keys() == resealed["after"].keys() == {"params"}
    assert "after" not in deleted and "before" not in created
    assert created["objectName"] == "out" and created["after"]["type"] == "http"
    stored = repr(world.read(lambda tx: tx.rows(audit.schema.audit.select())))
    assert "c2VjcmV0" not in stored and "QUJDREVG" not in stored

    ada.invite(bob, group, "viewer")
    ok(ada.put("/group/user", {"userId": bob.id, "groupId": group, "roleId": "manager"}))
    ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    gone, changed, _, invited = entries(ada, group, objectId=bob.id)
    assert invited["after"] == {"email": "bob@example.com", "roleId": "viewer"}
    assert (changed["before"], changed["after"]) == ({"roleId": "viewer"}, {"roleId": "manager"})
    assert gone["before"] == {"roleId": "manager"}
    client = ada.app_client(group, "robot")
    ok(ada.put("/appClient", {"groupId": group, "name": "robot", "newName": "android"}))
    renamed, _ = entries(ada, group, objectId=client.id)
    assert (renamed["before"], renamed["after"]) == ({"name": "robot"}, {"name": "android"})
    role = ada.role("group.read", name="few")
    ok(ada.put("/role", {"roleId": role, "groupId": group, "permissions": ["device.read"]}))
    (of_role,) = entries(ada, group, objectId=role)
    assert of_role["after"] == {"permissions": ["device.read"]}


@pytest.mark.engine_free
def test_what_is_too_large_for_an_entry_is_only_named(world: World) -> None:
    ada = world.person("ada")
    group = ada.group("group")
    device = ada.device(group)
    body = {"deviceId": device, "groupId": group}
    ok(ada.put("/device", {**body, "configuration": "x" * 20_000, "name": "large"}))
    ok(ada.put("/device", {**body, "name": "large"}))
    same, large, _ = entries(ada, group, objectId=device)
    assert large["omittedFields"] == ["configuration"]
    assert large["after"] == {"name": "large"}
    assert "after" not in same and "omittedFields" not in same
