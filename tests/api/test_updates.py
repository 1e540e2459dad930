"""Updates that are based on what somebody saw, and updates of many devices at once."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.world import Person, World, nothing_happens, ok, refused, walk


@pytest.fixture
def ada(world: World) -> Person:
    return world.person("ada")


def updatable(ada: Person, group: str) -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """By path: the object as it was created, and an update of it."""
    device = ok(ada.get("/device", deviceId=ada.device(group)))
    hook = {"groupId": group, "params": json.dumps({"url": "http://127.0.0.1:9/"})}
    connector = ok(ada.post("/connector", {**hook, "type": "http"}))
    notification = ok(ada.post("/notification", {**hook, "type": "webhook", "name": "a"}))
    role = {"name": "r", "description": "", "permissions": "group.read"}
    of_device = {"deviceId": device["deviceId"], "groupId": group}
    (home,) = ok(ada.get("/group", groupId=group))
    client = ok(ada.post("/appClient", {"groupId": group, "name": "same"}))
    created_role = ok(ada.post("/role", role))
    return {
        "/device": (device, {**of_device, "name": "new"}),
        "/group": (home, {"groupId": group, "name": "new"}),
        "/connector": (
            connector,
            {"connectorId": connector["id"], "groupId": group, "name": "new"},
        ),
        "/notification": (
            notification,
            {"notificationId": notification["id"], "groupId": group, "name": "new"},
        ),
        "/role": (
            created_role,
            {"roleId": created_role["id"], "groupId": group, "name": "new"},
        ),
        "/appClient": (client, {"groupId": group, "name": "same", "newName": "same"}),
    }


@pytest.mark.slow
def test_an_update_of_what_was_changed_meanwhile_is_refused(world: World, ada: Person) -> None:
    group = ada.group("group")
    world.clock.freeze()  # two updates in one moment are two versions all the same
    for path, (seen, body) in updatable(ada, group).items():
        first = ok(ada.put(path, {**body, "ifUpdatedAt": seen["updatedAt"]}))
        assert first["updatedAt"] != seen["updatedAt"], path
        with nothing_happens(world):
            problem = refused(
                ada.put(path, {**body, "ifUpdatedAt": seen["updatedAt"]}), 409, "ifUpdatedAt"
            )
            assert problem["code"] == "changed_meanwhile", path
            refused(ada.put(path, {**body, "ifUpdatedAt": "yesterday"}), 400, "ifUpdatedAt")
        # A client may have parsed the date, and have milliseconds left of it.
        milliseconds = first["updatedAt"][:23] + "Z"
        second = ok(ada.put(path, {**body, "ifUpdatedAt": milliseconds}))
        assert second["updatedAt"] > first["updatedAt"], path
        ok(ada.put(path, body))


@pytest.mark.slow
def test_of_updates_of_one_version_at_the_same_time_one_succeeds(ada: Person) -> None:
    group = ada.group("group")
    for path, (seen, body) in updatable(ada, group).items():
        based = {**body, "ifUpdatedAt": seen["updatedAt"]}
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(partial(ada.put, path), [based] * 6))
        assert sorted(each.status_code for each in answers) == [200, *[409] * 5], path


@pytest.mark.engine_free
def test_an_object_can_be_sent_back_as_it_was_read(ada: Person) -> None:
    group = ada.group("group")
    for path, (seen, body) in updatable(ada, group).items():
        changed = ok(ada.put(path, {**seen, **body}))
        assert changed["updatedAt"] > seen["updatedAt"], path
        del seen["updatedAt"]
        ok(ada.put(path, {**seen, **changed, **body}))


@pytest.mark.engine_free
def test_a_change_of_type_can_be_based_on_a_version_too(ada: Person) -> None:
    group = ada.group("group")
    device = ada.device(group)
    body = {"deviceId": device, "groupId": group, "type": "meter"}
    seen = ok(ada.get("/device", deviceId=device))["updatedAt"]
    ok(ada.put("/device/type", {**body, "ifUpdatedAt": seen}))
    refused(ada.put("/device/type", {**body, "ifUpdatedAt": seen}), 409, "ifUpdatedAt")
    renamed = {"deviceId": device, "groupId": group, "name": "new", "ifUpdatedAt": seen}
    refused(ada.put("/device", renamed), 409, "ifUpdatedAt")


def test_a_role_that_somebody_else_has_changed_meanwhile_is_not_overwritten(
    world: World, ada: Person
) -> None:
    group, bob = ada.group("group"), world.person("bob")
    ada.invite(bob, group, "viewer")
    (_, member) = ok(ada.get("/group/users", groupId=group))["items"]
    seen = member["membershipUpdatedAt"]
    body = {"userId": bob.id, "groupId": group, "ifUpdatedAt": seen}
    world.clock.freeze()
    first = ok(ada.put("/group/user", {**body, "roleId": "manager"}))
    with nothing_happens(world):
        problem = refused(ada.put("/group/user", {**body, "roleId": "viewer"}), 409, "ifUpdatedAt")
        assert problem["code"] == "changed_meanwhile"
        assert first["updatedAt"] in problem["message"]
        refused(
            ada.put("/group/user", {**body, "roleId": "viewer", "ifUpdatedAt": "soon"}),
            400,
            "ifUpdatedAt",
        )
    based = {**body, "roleId": "viewer", "ifUpdatedAt": first["updatedAt"]}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(partial(ada.put, "/group/user"), [based] * 4))
    assert sorted(each.status_code for each in answers) == [200, *[409] * 3]
    (_, member) = ok(ada.get("/group/users", groupId=group))["items"]
    assert (member["role"]["id"], member["membershipUpdatedAt"] > seen) == ("viewer", True)


def test_many_devices_are_changed_at_once(world: World, ada: Person) -> None:
    group = ada.group("group")
    tagged = ada.device(group, tags=["old", "kept"], type="tracker")
    others = [ada.device(group) for _ in range(3)]
    untouched = ada.device(group, tags=["old"])
    body = {"groupId": group, "deviceIds": [tagged, *others]}
    changed = ok(ada.put("/devices", {**body, "addTags": ["new"], "removeTags": ["old"]}))
    assert changed["message"] == "4 updated."
    assert [each["deviceId"] for each in changed["items"]] == [tagged, *others]
    assert [each["tags"] for each in changed["items"]] == [["kept", "new"], *[["new"]] * 3]
    assert changed["items"][0]["configuration"] != "{}"
    assert ok(ada.get("/device", deviceId=untouched))["tags"] == ["old"]
    with nothing_happens(world):  # the second time there is nothing to do
        ok(ada.put("/devices", {**body, "addTags": ["new"], "removeTags": ["old"]}))

    ok(ada.put("/devices", {**body, "type": "button"}))
    kept = ok(ada.get("/device", deviceId=tagged))
    assert (kept["type"], "longPressSeconds" in kept["configuration"]) == ("button", True)
    both = ok(ada.put("/devices", {**body, "type": "meter", "configuration": "any text"}))
    assert {(each["type"], each["configuration"]) for each in both["items"]} == {
        ("meter", "any text")
    }
    of_one = {"groupId": group, "objectId": tagged}
    newest, *_ = walk(lambda **query: ada.get("/group/audit", **query), **of_one)
    assert newest["before"]["type"] == "button"
    assert newest["after"] == {"type": "meter", "configuration": "any text"}


@pytest.mark.engine_free
def test_of_many_devices_all_are_changed_or_none(world: World, ada: Person) -> None:
    eve = world.person("eve")
    group, other = ada.group("group"), ada.group("other")
    mine, elsewhere, foreign = ada.device(group), ada.device(other), eve.device(eve.group("her"))
    full = ada.device(group, tags=[str(number) for number in range(50)])
    viewer = world.person("bob")
    ada.invite(viewer, group, "viewer")
    with nothing_happens(world):
        body = {"groupId": group, "deviceIds": [mine, elsewhere, foreign, "dev_none"]}
        missing = [f"deviceIds[{number}]" for number in (1, 2, 3)]
        refused(ada.put("/devices", {**body, "addTags": ["x"]}), 404, *missing)
        body = {"groupId": group, "deviceIds": [mine, full]}
        refused(ada.put("/devices", {**body, "addTags": ["x"]}), 400, "deviceIds[1]")
        refused(ada.put("/devices", {**body, "type": "none"}), 400, "type")
        refused(ada.put("/devices", body), 400)
        both = {"addTags": ["x"], "removeTags": ["y", "x"]}
        refused(ada.put("/devices", {**body, **both}), 400, "removeTags[1]")
        twice = {"groupId": group, "deviceIds": [mine, mine], "addTags": ["x"]}
        refused(ada.put("/devices", twice), 400, "deviceIds[1]")
        long = {"groupId": group, "deviceIds": [mine], "configuration": "x" * 16_385}
        refused(ada.put("/devices", long), 400, "configuration")
        many = {"groupId": group, "deviceIds": [f"d{n}" for n in range(1_001)], "addTags": ["x"]}
        refused(ada.put("/devices", many), 400, "deviceIds")
        refused(viewer.put("/devices", {**body, "addTags": ["x"]}), 403)
        refused(eve.put("/devices", {**body, "addTags": ["x"]}), 404, "groupId")
