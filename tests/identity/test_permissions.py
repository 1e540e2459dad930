"""The catalogue of permissions: readable for every user, writable for operators."""

import pytest

from tests.world import Person, World, ok, refused, walk

pytestmark = pytest.mark.engine_free

BUILT_IN = {
    "group.read",
    "group.create",
    "group.update",
    "member.read",
    "member.write",
    "role.read",
    "role.write",
    "appClient.write",
    "device.read",
    "device.create",
    "device.update",
    "device.delete",
    "device.transfer",
    "device.downlink",
    "record.read",
    "record.create",
    "record.delete",
    "connector.read",
    "connector.write",
    "connector.resend",
    "notification.read",
    "notification.write",
    "metrics.read",
    "audit.read",
    "user.create",
    "deviceType.write",
    "group.limit",
    "permission.write",
}
REPORT = {"permissionId": "report.read", "name": "Read reports", "description": "All of them"}


def held(person: Person, group: str) -> list[str]:
    """The permissions of a user in a group, as the service returns them."""
    permissions: list[str] = ok(person.get("/group", groupId=group))[0]["role"]["permissions"]
    return permissions


@pytest.mark.slow
def test_every_user_reads_the_same_catalogue_page_by_page(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    whole = ok(world.person("stranger").get("/permission"))
    assert "nextToken" not in whole
    assert {each["id"] for each in whole["items"]} == BUILT_IN
    assert all(set(each) == {"id", "name", "description"} for each in whole["items"])
    assert all(each["name"] and each["description"] for each in whole["items"])
    for person in (ada, ada.app_client(group), world.operator):
        for limit in (1, 7, 25, 1_000):
            assert walk(person.get, path="/permission", limit=limit) == whole["items"], limit
    token = ok(ada.get("/permission", limit=3))["nextToken"]
    refused(world.operator.get("/permission", nextToken=token), 400, "nextToken")
    refused(ada.get("/group/roles", nextToken=token), 400, "nextToken")
    refused(ada.get("/permission", limit=0), 400, "limit")
    refused(world.nobody.get("/permission"), 401)


@pytest.mark.both_engines
def test_a_permission_stays_in_roles_until_it_is_deleted(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    assert "report.read" not in held(ada, group)

    added = ok(world.operator.post("/permission", REPORT))
    assert added == {"id": "report.read", "name": "Read reports", "description": "All of them"}
    assert added in walk(ada.get, path="/permission")
    assert "report.read" in held(ada, group)  # Administrators have it from now on,
    assert "report.read" not in held(bob, group)  # others when it is put into their role
    role = ada.role("report.read", "group.read", name="Reporter")
    ok(ada.put("/group/user", {"userId": bob.id, "groupId": group, "roleId": role}))
    assert held(bob, group) == ["group.read", "report.read"]

    changed = ok(
        world.operator.put("/permission", {**REPORT, "name": "Reports", "description": ""})
    )
    assert changed == {"id": "report.read", "name": "Reports", "description": ""}
    assert changed in walk(ada.get, path="/permission")

    query = {"permissionId": "report.read"}
    assert ok(world.operator.delete("/permission", **query)) == changed
    assert changed not in walk(ada.get, path="/permission")
    assert held(bob, group) == ["group.read"]
    assert "report.read" not in held(ada, group)
    roles = {each["id"]: each["permissions"] for each in walk(ada.get, path="/group/roles")}
    assert roles[role] == ["group.read"]
    assert not any("report.read" in permissions for permissions in roles.values())
    refused(world.operator.delete("/permission", **query), 404, "permissionId")
    refused(world.operator.put("/permission", REPORT), 404, "permissionId")
    body = {"name": "late", "description": "", "permissions": "report.read"}
    refused(ada.post("/role", body), 400, "permissions")
    # The id can be created again; then only Administrators have it.
    ok(world.operator.post("/permission", REPORT))
    assert "report.read" in held(ada, group)
    assert held(bob, group) == ["group.read"]


def test_a_role_with_only_a_deleted_permission_is_empty(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ok(world.operator.post("/permission", REPORT))
    ada.invite(bob, group, ada.role("report.read"))
    refused(bob.get("/group", groupId=group), 403)  # sees it, may not read it
    ok(world.operator.delete("/permission", permissionId="report.read"))
    refused(bob.get("/group", groupId=group), 400, "groupId")  # does not even see it
    assert ok(bob.delete("/group/user", groupId=group))["userId"] == bob.id  # but may leave


def test_only_operators_change_the_catalogue(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    ok(world.operator.post("/permission", REPORT))
    # A role with the permission does not make an operator.
    role = ok(
        world.operator.post(
            "/role",
            {"name": "Boss", "description": "", "permissions": "permission.write user.create"},
        )
    )["id"]
    bob, stranger, app = world.person("bob"), world.person("stranger"), ada.app_client(group)
    world.operator.invite(bob, group, role)
    before = world.everything()
    for person in (ada, bob, app, stranger):
        new = {"permissionId": "other.read", "name": "x", "description": ""}
        refused(person.post("/permission", new), 403)
        refused(person.put("/permission", REPORT), 403)
        refused(person.delete("/permission", permissionId="report.read"), 403)
    assert world.everything() == before


def test_an_existing_built_in_or_invalid_permission_is_refused(
    world: World,
) -> None:
    operator = world.operator
    ok(operator.post("/permission", REPORT))
    ok(operator.put("/permission", {"permissionId": "group.read", "name": "x", "description": ""}))
    before = world.everything()
    for taken in ("report.read", "group.read", "user.create"):
        refused(
            operator.post("/permission", {**REPORT, "permissionId": taken}), 409, "permissionId"
        )
    for built_in in sorted(BUILT_IN):
        refused(operator.delete("/permission", permissionId=built_in), 409, "permissionId")
    for wrong in (
        "",
        "report",
        ".read",
        "report.",
        "report..read",
        "1report.read",
        "report read",
        "report.read,group.read",
        "report.read ",
        "répört.read",
        "report.read\n",
        "report.read\x00",
        "r" * 60 + ".read",
        7,
        None,
    ):
        refused(
            operator.post("/permission", {**REPORT, "permissionId": wrong}), 400, "permissionId"
        )
    refused(operator.post("/permission", {}), 400, "permissionId", "name", "description")
    refused(operator.put("/permission", {}), 400, "permissionId", "name", "description")
    refused(operator.delete("/permission"), 400, "permissionId")
    refused(operator.delete("/permission", permissionId="no.such"), 404, "permissionId")
    assert world.everything() == before
    ok(operator.post("/permission", {**REPORT, "permissionId": "r" * 59 + ".read"}))
    ok(operator.post("/permission", {**REPORT, "permissionId": "report.read.all"}))
