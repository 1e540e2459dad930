"""Roles: create, update, delete, and their visibility."""

from typing import Any

import pytest

from tests.identity.test_access import ON_DEVICES
from tests.world import Person, World, ok, refused, walk

pytestmark = pytest.mark.engine_free

BUILT_IN = ["Administrator", "Manager", "Member", "Viewer"]
READS = {
    "group.read",
    "member.read",
    "role.read",
    "device.read",
    "record.read",
    "connector.read",
    "notification.read",
    "metrics.read",
}


def roles_seen_by(person: Person) -> dict[str, dict[str, Any]]:
    return {role["name"]: role for role in walk(person.get, path="/group/roles")}


def members_of(person: Person, group: str) -> dict[str, str]:
    """The members of a group, and the names of their roles."""
    people = ok(person.get("/group/users", groupId=group))["items"]
    return {each["id"]: each["role"]["name"] for each in people}


# --- built-in roles ---


def test_the_four_built_in_roles_cannot_be_changed(world: World) -> None:
    ada, everyone = world.person("ada"), world.person("stranger")
    group = ada.group()
    seen = roles_seen_by(everyone)
    assert sorted(seen) == BUILT_IN
    held = {name: set(role["permissions"]) for name, role in seen.items()}
    assert held["Viewer"] == READS
    assert held["Member"] == READS | {"record.create"}
    assert held["Manager"] == ON_DEVICES | {"group.read", "member.read", "role.read"}
    platform_wide = {"user.create", "deviceType.write", "permission.write", "group.limit"}
    every = {each["id"] for each in walk(ada.get, path="/permission")}
    assert held["Administrator"] == every - platform_wide
    assert len(held["Administrator"]) == 24

    before = world.everything()
    for person in (ada, world.operator):
        for role in seen.values():
            assert role["removable"] is False
            body = {"roleId": role["id"], "groupId": group, "description": "Mine now"}
            refused(person.put("/role", body), 403)
            query = {"roleId": role["id"], "groupId": group, "userId": ada.id}
            refused(person.delete("/role", **query), 403)
    assert world.everything() == before


# --- create ---


def test_the_permissions_of_a_new_role_are_one_string_or_a_list(world: World) -> None:
    ada = world.person("ada")
    ada.group()
    variants: list[tuple[object, list[str]]] = [
        ("device.read", ["device.read"]),
        ("record.read,device.read", ["device.read", "record.read"]),
        ("record.read device.read", ["device.read", "record.read"]),
        (" device.read , record.read ,, ", ["device.read", "record.read"]),
        ("device.read\tdevice.read\ndevice.read", ["device.read"]),
        (["record.read", "device.read"], ["device.read", "record.read"]),
    ]
    for given, meant in variants:
        body = {"name": "Reader", "description": "", "permissions": given}
        role = ok(ada.post("/role", body))
        assert role["permissions"] == meant, f"{given!r}"
        assert role == {
            "id": role["id"],
            "name": "Reader",
            "description": "",
            "permissions": meant,
            "removable": True,
            "updatedAt": role["updatedAt"],
        }
    # Two roles may have one name: the id distinguishes them.
    mine = [role for role in walk(ada.get, path="/group/roles") if role["name"] == "Reader"]
    assert len({role["id"] for role in mine}) == len(variants)


def test_a_role_with_unknown_or_no_permissions_is_refused(world: World) -> None:
    ada = world.person("ada")
    ada.group()
    before = world.everything()
    for given in ("", " ,, ", [], 7, None, {"id": "device.read"}, ["device.read record.read"]):
        body = {"name": "Reader", "description": "", "permissions": given}
        refused(ada.post("/role", body), 400, "permissions")
    body = {"name": "Reader", "description": "", "permissions": "fly,device.read dig"}
    problem = refused(ada.post("/role", body), 400, "permissions")
    assert [error["message"].split()[-1] for error in problem["errors"]] == ["dig", "fly"]
    refused(ada.post("/role", {}), 400, "name", "description", "permissions")
    assert world.everything() == before


def test_a_role_has_only_permissions_that_its_creator_has_where_they_create_roles(
    world: World,
) -> None:
    ada, bob, carol, dora = (world.person(name) for name in ("ada", "bob", "carol", "dora"))
    root = ada.group("root")
    below = ada.group("below", parent=root)

    def create(person: Person, *permissions: str) -> Any:
        body = {"name": "made", "description": "", "permissions": ",".join(permissions)}
        return person.post("/role", body)

    refused(create(bob, "device.read"), 403)  # member of no group
    ada.invite(bob, root, "manager")
    refused(create(bob, "device.read"), 403)  # a member, but without role.write
    refused(create(ada, "user.create"), 403)  # only operators have that
    ok(create(world.operator, "user.create", "device.read"))

    keeper = ada.role("role.write", "device.read", name="keeper")
    ada.invite(carol, root, keeper)
    ok(create(carol, "device.read", "role.write"))
    refused(create(carol, "device.read", "device.delete"), 403)

    # Permissions from above and from here add up, so a role may contain both.
    ada.invite(dora, root, ada.role("role.write", name="role maker"))
    ada.invite(dora, below, ada.role("device.delete", name="remover"))
    ok(create(dora, "device.delete", "role.write"))
    refused(create(dora, "device.create"), 403)


# --- update ---


def test_a_changed_role_applies_at_once_to_all_its_holders(world: World) -> None:
    ada, bob, carol = world.person("ada"), world.person("bob"), world.person("carol")
    root = ada.group("root")
    below = ada.group("below", parent=root)
    role = ada.role("group.read", name="watcher")
    ada.invite(bob, root, role)
    ada.invite(carol, below, role)
    refused(bob.get("/group/users", groupId=root), 403)
    refused(carol.get("/group/users", groupId=below), 403)

    wider = {"roleId": role, "groupId": root, "permissions": ["member.read", "group.read"]}
    changed = ok(ada.put("/role", wider))
    assert changed["permissions"] == ["group.read", "member.read"]
    assert (changed["name"], changed["description"]) == ("watcher", "")
    ok(bob.get("/group/users", groupId=root))
    ok(carol.get("/group/users", groupId=below))

    texts = {"roleId": role, "groupId": root, "name": "Guest", "description": "Looks around"}
    changed = ok(ada.put("/role", texts))
    assert (changed["name"], changed["description"]) == ("Guest", "Looks around")
    assert changed["permissions"] == ["group.read", "member.read"]
    assert roles_seen_by(ada)["Guest"] == changed

    ok(ada.put("/role", {"roleId": role, "groupId": root, "permissions": ["group.read"]}))
    refused(bob.get("/group/users", groupId=root), 403)
    refused(carol.get("/group/users", groupId=below), 403)


@pytest.mark.slow
def test_updating_a_role_requires_role_write_above_all_groups_that_use_it(world: World) -> None:
    ada, bob, carol, eve = (world.person(name) for name in ("ada", "bob", "carol", "eve"))
    root = ada.group("root")
    left, right = ada.group("left", parent=root), ada.group("right", parent=root)
    elsewhere = carol.group("elsewhere")
    role = ada.role("group.read", name="shared")
    ada.invite(bob, left, role)
    ok(ada.put("/group", {"groupId": right, "roleId": role}))
    keeper = ada.role("role.write", "role.read", name="keeper")
    ada.invite(carol, root, keeper)

    def change(person: Person, group: str, **changes: object) -> Any:
        return person.put("/role", {"roleId": role, "groupId": group, **changes})

    before = world.everything()
    for group in (left, right):  # siblings of each other
        refused(change(ada, group, name="mine"), 403)
    refused(change(bob, left, name="mine"), 403)  # has the role, but not role.write
    refused(change(carol, root, permissions=["group.read", "device.read"]), 403)
    refused(change(carol, elsewhere, name="mine"), 403)  # Administrator of the wrong group
    refused(change(eve, root, name="mine"), 400, "groupId")
    refused(change(ada, "123", name="mine"), 400, "groupId")
    refused(change(ada, root, permissions="group.read"), 400, "permissions")
    refused(change(ada, root, permissions=[]), 400, "permissions")
    refused(change(ada, root, permissions=["fly"]), 400, "permissions")
    refused(ada.put("/role", {"name": ""}), 400, "roleId", "groupId", "name")
    refused(ada.put("/role", {"roleId": "rol_x", "groupId": root}), 400, "roleId")
    unused = ada.role("group.read", name="unused")
    refused(carol.put("/role", {"roleId": unused, "groupId": root}), 400, "roleId")
    ok(ada.delete("/role", groupId=root, roleId=unused, userId=ada.id))
    assert world.everything() == before

    # With fewer permissions than the role one may rename and reduce it, but not extend it.
    assert ok(change(carol, root, name="renamed"))["name"] == "renamed"
    ok(change(carol, root, permissions=["role.read"]))
    refused(change(carol, root, permissions=["role.read", "group.read"]), 403)


# --- delete ---


def test_holders_of_a_deleted_role_fall_back_to_the_default_role(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    more = ("group.update", "member.write")  # than a Member has
    role = ada.role("group.read", "member.read", "role.read", *more, name="host")
    ada.invite(bob, group, role)
    ok(bob.put("/group/invite", {"email": "new@example.com", "groupId": group, "roleId": role}))
    newcomer = next(each for each in members_of(ada, group) if each not in (ada.id, bob.id))

    before = world.everything()
    query = {"groupId": group, "roleId": role, "userId": bob.id}
    problem = refused(ada.delete("/role", **query), 400, "roleId")
    assert "assigned to 1 other" in problem["detail"]
    assert world.everything() == before

    ok(ada.delete("/group/user", groupId=group, userId=newcomer))
    assert "token" in ok(bob.get("/group", groupId=group))[0]
    deleted = ok(ada.delete("/role", **query))
    assert (deleted["id"], deleted["name"]) == (role, "host")
    assert members_of(ada, group) == {ada.id: "Administrator", bob.id: "Member"}
    assert "token" not in ok(bob.get("/group", groupId=group))[0]  # at once, with the same token
    invitation = {"email": "late@example.com", "groupId": group, "roleId": "viewer"}
    refused(bob.put("/group/invite", invitation), 403)
    assert "host" not in roles_seen_by(ada)
    refused(ada.delete("/role", **query), 400, "roleId")
    audited = [(who, what) for who, what, which in world.audit() if which in (role, bob.id)]
    assert audited[-2:] == [(ada.id, "member.update"), (ada.id, "role.delete")]


def test_deleting_a_role_affects_only_its_holders(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "viewer")
    unused = ada.role("group.read", name="unused")
    ok(ada.delete("/role", groupId=group, roleId=unused, userId=bob.id))
    assert members_of(ada, group)[bob.id] == "Viewer"


def test_a_role_in_use_elsewhere_or_without_permission_cannot_be_deleted(world: World) -> None:
    ada, bob, carol = world.person("ada"), world.person("bob"), world.person("carol")
    root = ada.group("root")
    here, sibling = ada.group("here", parent=root), ada.group("beside", parent=root)
    default = ada.role("group.read", name="default")
    ok(ada.put("/group", {"groupId": here, "roleId": default}))
    spread = ada.role("group.read", name="spread")
    for group in (here, sibling):
        ada.invite(bob, group, spread)
    ada.invite(carol, root, "manager")
    hidden = world.person("eve")
    hidden.group("elsewhere")
    foreign = hidden.role("group.read", name="foreign")

    def delete(person: Person, group: str, role: str, user: str) -> Any:
        return person.delete("/role", groupId=group, roleId=role, userId=user)

    before = world.everything()
    assert "default role" in refused(delete(ada, here, default, bob.id), 400, "roleId")["detail"]
    refused(delete(ada, here, spread, bob.id), 403)  # also used in the sibling group
    refused(delete(ada, root, spread, carol.id), 400, "roleId")  # bob has it twice
    refused(delete(carol, root, spread, bob.id), 403)  # a Manager has no role.write
    refused(delete(ada, here, foreign, bob.id), 400, "roleId")
    refused(delete(ada, root, spread, hidden.id), 400, "userId")  # no member there
    refused(delete(hidden, here, spread, bob.id), 400, "groupId")
    refused(delete(ada, "0", spread, bob.id), 400, "groupId")
    refused(ada.delete("/role"), 400, "groupId", "roleId", "userId")
    assert world.everything() == before


def test_deleting_a_role_cannot_escalate_to_a_stronger_default_role(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    keeper = ada.role("role.read", "role.write", name="keeper")
    ada.invite(bob, group, keeper)
    ok(ada.put("/group", {"groupId": group, "roleId": "manager"}))
    before = world.everything()
    refused(bob.delete("/role", groupId=group, roleId=keeper, userId=bob.id), 403)
    assert world.everything() == before
    ok(ada.delete("/role", groupId=group, roleId=keeper, userId=bob.id))
    assert members_of(ada, group)[bob.id] == "Manager"


# --- visibility ---


def test_roles_are_visible_to_their_creator_and_where_they_are_in_use(world: World) -> None:
    ada, bob, carol, dora = (world.person(name) for name in ("ada", "bob", "carol", "dora"))
    root = ada.group("root")
    below = ada.group("below", parent=root)
    ada.role("group.read", name="unused")
    held_below = ada.role("group.read", name="held below")
    default_below = ada.role("group.read", name="default below")
    held_above = ada.role("group.read", name="held above")
    ada.invite(dora, below, held_below)
    ok(ada.put("/group", {"groupId": below, "roleId": default_below}))
    ada.invite(dora, root, held_above)
    ada.invite(bob, root, "viewer")
    ada.invite(carol, below, "viewer")

    in_use_below = {"held below", "default below"}
    assert set(roles_seen_by(ada)) == {*BUILT_IN, "unused", "held above", *in_use_below}
    assert set(roles_seen_by(bob)) == {*BUILT_IN, "held above", *in_use_below}
    assert set(roles_seen_by(carol)) == {*BUILT_IN, *in_use_below}
    assert set(roles_seen_by(dora)) == set(BUILT_IN)  # her roles do not let her read roles
    assert set(roles_seen_by(world.person("eve"))) == set(BUILT_IN)
    assert set(roles_seen_by(world.operator)) == {*BUILT_IN, "held above", *in_use_below}
    # An invisible role cannot be granted either.
    invitation = {"email": "x@example.com", "groupId": below, "roleId": held_above}
    ok(ada.put("/group/user", {"userId": carol.id, "groupId": below, "roleId": "administrator"}))
    refused(carol.put("/group/invite", invitation), 404, "roleId")

    ok(ada.delete("/group/user", groupId=root, userId=bob.id))
    assert set(roles_seen_by(bob)) == set(BUILT_IN)


def test_the_list_of_roles_is_paged_per_reader(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    ada.group()
    created = [ada.role("group.read", name=f"role {number}") for number in range(5)]
    whole = ok(ada.get("/group/roles"))
    assert "nextToken" not in whole
    assert [role["id"] for role in whole["items"]][4:] == created
    assert {role["name"] for role in whole["items"][:4]} == set(BUILT_IN)
    for limit in (1, 2, 3, 8, 9):
        assert walk(ada.get, path="/group/roles", limit=limit) == whole["items"], limit

    first = ok(ada.get("/group/roles", limit=6))
    assert len(first["items"]) == 6
    token = first["nextToken"]
    for wrong in (token[:-1], token + "A", token[::-1], "", "0", "ä"):
        refused(ada.get("/group/roles", nextToken=wrong), 400, "nextToken")
    refused(bob.get("/group/roles", nextToken=token), 400, "nextToken")
    refused(ada.get("/permission", nextToken=token), 400, "nextToken")
    for limit in ("0", "-1", "1001", "1.5", "many", ""):
        refused(ada.get("/group/roles", limit=limit), 400, "limit")
    # New roles come later; nothing is skipped or repeated.
    added = ada.role("group.read", name="added")
    rest = ok(ada.get("/group/roles", nextToken=token))["items"]
    assert [role["id"] for role in rest] == [*created[2:], added]
