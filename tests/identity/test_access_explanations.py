"""Why somebody may do something, or not, and whom they could ask."""

from typing import Any

import pytest

from tests.world import Person, World, ok, refused


def explained(person: Person, group: str, permission: str, **params: Any) -> dict[str, Any]:
    return dict(ok(person.get("/access", groupId=group, permission=permission, **params)))


def steps(found: dict[str, Any]) -> list[tuple[str | None, str | None, bool]]:
    return [
        (step.get("name"), step.get("role", {}).get("roleId"), step["holds"])
        for step in found["path"]
    ]


def ids(items: list[dict[str, Any]], key: str) -> list[str]:
    return [item[key] for item in items]


@pytest.mark.engine_free
def test_a_denial_shows_the_roles_on_the_path_and_who_can_grant_it(world: World) -> None:
    ada, bob, eve, gus = (world.person(name) for name in ("ada", "bob", "eve", "gus"))
    harbour = ada.group("Harbour")
    quay = ada.group("Quay", harbour)
    ada.invite(bob, harbour, "viewer")
    found = explained(bob, quay, "connector.write")
    assert (found["isAllowed"], found["userId"]) == (False, bob.id)
    assert steps(found) == [("Harbour", "viewer", False), ("Quay", None, False)]
    assert {"administrator", "manager"} <= set(ids(found["roles"], "roleId"))
    assert "viewer" not in ids(found["roles"], "roleId")
    assert ids(found["askable"], "userId") == [ada.id]
    allowed = explained(bob, quay, "device.read")
    assert (allowed["isAllowed"], allowed["askable"]) == (True, [])
    assert steps(allowed)[0] == ("Harbour", "viewer", True)
    # Somebody who may invite but lacks the permission cannot grant it; nor may one ask oneself.
    inviter = ada.role("member.write", "member.read", name="Inviter")
    ada.invite(eve, quay, inviter)
    assert ids(explained(bob, quay, "connector.write")["askable"], "userId") == [ada.id]
    ok(ada.put("/group/user", {"userId": eve.id, "groupId": quay, "roleId": "administrator"}))
    ada.invite(gus, harbour, "administrator")
    all_three = explained(bob, quay, "connector.write")
    assert ids(all_three["askable"], "userId") == [ada.id, eve.id, gus.id], "the nearest first"


@pytest.mark.engine_free
def test_only_what_the_caller_can_see_is_shown(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    harbour = ada.group("Harbour")
    quay = ada.group("Quay", harbour)
    ada.invite(bob, quay, ada.role("device.read", name="Narrow"))
    narrow = explained(bob, quay, "connector.write")
    assert [name for name, _, _ in steps(narrow)] == [None], "neither the parent nor a name"
    assert narrow["askable"] == []
    refused(eve.get("/access", groupId=quay, permission="device.read"), 404, "groupId")
    refused(bob.get("/access", groupId=harbour, permission="device.read"), 404, "groupId")
    wanted = {"groupId": quay, "permission": "device.read"}
    refused(bob.get("/access", **wanted, userId=ada.id), 403)
    refused(ada.get("/access", **wanted, userId=eve.id), 404, "userId")
    refused(ada.get("/access", groupId=quay, permission="no.such"), 400, "permission")
    # Who manages a branch sees the roles of others there, and not what they are above it.
    ada.invite(eve, quay, "administrator")
    about_ada = explained(eve, quay, "connector.write", userId=ada.id)
    assert about_ada["isAllowed"]
    assert [name for name, _, _ in steps(about_ada)] == ["Quay"]
    about_bob = explained(ada, quay, "connector.write", userId=bob.id)
    assert [name for name, _, _ in steps(about_bob)] == ["Harbour", "Quay"]
    assert set(ids(about_bob["askable"], "userId")) == {ada.id, eve.id}


def test_an_operator_and_an_app_client_are_explained_too(world: World) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    found = explained(world.operator, harbour, "connector.write")
    assert (found["isAllowed"], found["isOperator"]) == (True, True)
    assert steps(found) == [("Harbour", None, False)]
    client = ada.app_client(harbour)
    own = explained(client, harbour, "connector.write")
    assert (own["isAllowed"], own["userId"]) == (False, client.id)
    assert steps(own) == [("Harbour", "member", False)]
    # An invited operator who has not accepted keeps all permissions after being asked about.
    body = {"email": "chief@example.com", "groupId": harbour, "roleId": "viewer"}
    ok(ada.put("/group/invite", body))
    about = explained(ada, harbour, "connector.write", userId=world.operator.id)
    assert about["isAllowed"] and "isOperator" not in about
    assert explained(world.operator, harbour, "connector.write")["isAllowed"]
