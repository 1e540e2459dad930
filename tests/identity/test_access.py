"""Access control: built-in roles, inheritance, operators and app clients."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.world import Person, World, ok, refused, walk

READING = {
    "group.read",
    "member.read",
    "role.read",
    "device.read",
    "record.read",
    "connector.read",
    "notification.read",
    "metrics.read",
}
ON_DEVICES = {
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
}
ON_PEOPLE = {
    "group.read",
    "group.create",
    "group.update",
    "member.read",
    "member.write",
    "role.read",
    "role.write",
    "appClient.write",
    "audit.read",
}
OPERATORS_ONLY = {"user.create", "deviceType.write", "group.limit", "permission.write"}

BUILT_IN = {
    "administrator": ("Administrator", ON_PEOPLE | ON_DEVICES),
    "manager": ("Manager", ON_DEVICES | {"group.read", "member.read", "role.read"}),
    "member": ("Member", READING | {"record.create"}),
    "viewer": ("Viewer", READING),
}


def role_shown(person: Person, group: str) -> dict[str, Any]:
    return dict(ok(person.get("/group", groupId=group))[0]["role"])


def holds(person: Person, group: str) -> set[str]:
    return set(role_shown(person, group)["permissions"])


# --- built-in roles ---


@pytest.mark.engine_free
@pytest.mark.slow
def test_each_built_in_role_has_exactly_these_permissions(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    listed = walk(lambda **page: ada.get("/group/roles", **page))
    assert {
        role["id"]: (role["name"], set(role["permissions"]), role["removable"]) for role in listed
    } == {id_: (name, permissions, False) for id_, (name, permissions) in BUILT_IN.items()}
    catalogue = walk(lambda **page: ada.get("/permission", **page))
    assert {each["id"] for each in catalogue} == ON_PEOPLE | ON_DEVICES | OPERATORS_ONLY
    for id_, (name, permissions) in BUILT_IN.items():
        person = world.person(id_)
        ada.invite(person, group, id_)
        role = role_shown(person, group)
        assert (role["id"], role["name"], role["removable"]) == (id_, name, False)
        assert role["permissions"] == sorted(permissions), id_


@pytest.mark.engine_free
def test_an_administrator_gets_permissions_that_an_operator_adds(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    ada.invite(bob, group, "manager")
    report = {"permissionId": "report.read", "name": "Reports", "description": "See reports"}
    ok(world.operator.post("/permission", report))
    assert holds(ada, group) == BUILT_IN["administrator"][1] | {"report.read"}
    assert holds(bob, group) == BUILT_IN["manager"][1]
    assert "report.read" in holds(world.operator, group)
    reader = ada.role("report.read", name="reader")
    ok(ada.put("/group/user", {"userId": bob.id, "groupId": group, "roleId": reader}))
    assert holds_nothing_else(bob, group)
    ok(world.operator.delete("/permission", permissionId="report.read"))
    assert holds(ada, group) == BUILT_IN["administrator"][1]
    # Bob's role is empty now: the group is invisible to him, but he can still leave it.
    refused(bob.get("/group", groupId=group), 400, "groupId")
    ok(bob.delete("/group/user", groupId=group))


def holds_nothing_else(person: Person, group: str) -> bool:
    """Without group.read only the existence of the group is visible."""
    refused(person.get("/group", groupId=group), 403)
    listed = ok(person.get("/user/groups", groupId=group))["items"]
    return [each["role"]["permissions"] for each in listed] == [["report.read"]]


# --- inheritance ---


@pytest.mark.engine_free
def test_permissions_along_the_path_add_up_and_the_nearest_role_is_shown(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    middle = ada.group("middle", parent=root)
    plain = ada.group("plain", parent=middle)
    leaf = ada.group("leaf", parent=plain)
    side = ada.group("side", parent=root)
    cleaner = ada.role("record.delete", name="cleaner")
    namer = ada.role("group.update", name="namer")
    ada.invite(bob, root, "viewer")
    ada.invite(bob, middle, cleaner)
    ada.invite(bob, leaf, namer)
    for group, role, permissions in [
        (root, "viewer", READING),
        (side, "viewer", READING),
        (middle, cleaner, READING | {"record.delete"}),
        (plain, cleaner, READING | {"record.delete"}),
        (leaf, namer, READING | {"record.delete", "group.update"}),
    ]:
        shown = role_shown(bob, group)
        assert (shown["id"], shown["permissions"]) == (role, sorted(permissions)), role
    refused(bob.put("/group", {"groupId": plain, "name": "x"}), 403)
    ok(bob.put("/group", {"groupId": leaf, "name": "x"}))
    # A weaker role below takes nothing away from a stronger one above.
    ada.invite(bob, side, "administrator")
    inner = bob.group("inner", parent=side)
    ok(ada.put("/group/user", {"userId": bob.id, "groupId": inner, "roleId": "viewer"}))
    assert role_shown(bob, inner)["id"] == "viewer"
    assert holds(bob, inner) == BUILT_IN["administrator"][1]
    # Without the role above only the ones below are left.
    ok(ada.delete("/group/user", groupId=root, userId=bob.id))
    refused(bob.get("/group", groupId=root), 400, "groupId")
    refused(bob.get("/group", groupId=plain), 403)
    refused(bob.get("/group", groupId=leaf), 403)
    ok(bob.put("/group", {"groupId": leaf, "name": "y"}))


# --- invisible is 404, visible but forbidden is 403 ---

SendRequest = Callable[[Person, "Scene"], httpx.Response]


class Scene:
    """A tree of three groups, with every kind of user who could access one of them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.ada = world.person("ada")
        self.root = self.ada.group("root")
        self.group = self.ada.group("group", parent=self.root)
        self.sibling = self.ada.group("sibling", parent=self.root)
        self.guest = self._with("guest", self.group, "viewer")
        self.outside = {
            "stranger": world.person("stranger"),
            "head of a sibling": self._with("sister", self.sibling, "administrator"),
            "client of a sibling": self.ada.app_client(self.sibling),
        }
        self.reading = {
            "viewer": self._with("viewer", self.group, "viewer"),
            "member": self._with("member", self.group, "member"),
            "manager": self._with("manager", self.group, "manager"),
            "viewer above": self._with("upper", self.root, "viewer"),
            "client": self.ada.app_client(self.group),
            "client above": self.ada.app_client(self.root),
        }
        self.ruling = {
            "head": self._with("head", self.group, "administrator"),
            "head above": self._with("boss", self.root, "administrator"),
            "operator": world.operator,
        }

    def _with(self, name: str, group: str, role: str) -> Person:
        person = self.world.person(name)
        self.ada.invite(person, group, role)
        return person


def invite_guest(person: Person, scene: Scene) -> httpx.Response:
    body = {"email": "guest@example.com", "groupId": scene.group, "roleId": "viewer"}
    return person.put("/group/invite", body)


def keep_guest(person: Person, scene: Scene) -> httpx.Response:
    body = {"userId": scene.guest.id, "groupId": scene.group, "roleId": "viewer"}
    return person.put("/group/user", body)


def swap_guest(person: Person, scene: Scene) -> httpx.Response:
    response = person.delete("/group/user", groupId=scene.group, userId=scene.guest.id)
    if response.status_code == 200:
        ok(invite_guest(person, scene))
    return response


READS: dict[str, tuple[int, str, SendRequest]] = {
    "see": (400, "groupId", lambda person, at: person.get("/group", groupId=at.group)),
    "see members": (
        404,
        "groupId",
        lambda person, at: person.get("/group/users", groupId=at.group),
    ),
    "list below": (404, "groupId", lambda person, at: person.get("/user/groups", groupId=at.group)),
    "see whose": (404, "userId", lambda person, at: person.get("/user/groups", userId=at.guest.id)),
}
WRITES: dict[str, tuple[int, str, SendRequest]] = {
    "create": (404, "parentId", lambda person, at: person.post("/group", {}, parentId=at.group)),
    "rename": (
        404,
        "groupId",
        lambda person, at: person.put("/group", {"groupId": at.group, "name": "x"}),
    ),
    "move": (
        404,
        "groupId",
        lambda person, at: person.put("/group", {"groupId": at.group, "parent": at.root}),
    ),
    "invite": (404, "groupId", invite_guest),
    "change a member": (404, "groupId", keep_guest),
    "remove a member": (404, "groupId", swap_guest),
    "add a client": (
        404,
        "groupId",
        lambda person, at: person.post("/appClient", {"groupId": at.group, "name": person.id}),
    ),
}


@pytest.mark.slow
def test_invisible_groups_do_not_exist_and_visible_ones_may_be_forbidden(world: World) -> None:
    scene = Scene(world)
    rows, audit_log = world.everything(), world.audit()
    for who, person in scene.outside.items():
        for what, (status, field, send) in {**READS, **WRITES}.items():
            response = send(person, scene)
            assert response.status_code == status, (who, what, response.text)
            refused(response, status, field)
    for who, person in scene.reading.items():
        for what, (_, _, send) in READS.items():
            assert send(person, scene).status_code == 200, (who, what)
        for what, (_, _, send) in WRITES.items():
            response = send(person, scene)
            assert response.status_code == 403, (who, what, response.text)
            assert refused(response, 403)["errors"] == []
    for _, _, send in [*READS.values(), *WRITES.values()]:
        refused(send(world.nobody, scene), 401)
    assert (world.everything(), world.audit()) == (rows, audit_log)
    for who, person in scene.ruling.items():
        for what, (_, _, send) in {**READS, **WRITES}.items():
            response = send(person, scene)
            assert response.status_code == 200, (who, what, response.text)


@pytest.mark.engine_free
@pytest.mark.slow
def test_every_operation_requires_its_own_permission_and_no_other(world: World) -> None:
    ada, guest = world.person("ada"), world.person("guest")
    group = ada.group()
    ada.invite(guest, group, "viewer")

    def invite(who: Person, role: str) -> httpx.Response:
        body = {"email": f"{who.id}@example.com", "groupId": group, "roleId": role}
        return who.put("/group/invite", body)

    def keep_own_role(who: Person, role: str) -> httpx.Response:
        return who.put("/group/user", {"userId": who.id, "groupId": group, "roleId": role})

    def create_role(who: Person, role: str) -> httpx.Response:
        body = {"name": "new", "description": "", "permissions": "role.write"}
        return who.post("/role", body)

    # The permission, further permissions it needs, the status without it.
    operations: list[tuple[str, set[str], int, Callable[[Person, str], httpx.Response]]] = [
        ("group.read", set(), 403, lambda who, _: who.get("/group", groupId=group)),
        ("group.create", set(), 403, lambda who, _: who.post("/group", {}, parentId=group)),
        ("group.update", set(), 403, lambda who, _: who.put("/group", {"groupId": group})),
        ("member.read", set(), 403, lambda who, _: who.get("/group/users", groupId=group)),
        ("member.read", set(), 404, lambda who, _: who.get("/user/groups", userId=guest.id)),
        # Granting a role requires seeing it.
        ("member.write", {"role.read"}, 403, invite),
        ("member.write", {"role.read"}, 403, keep_own_role),
        ("role.write", set(), 403, create_role),
        # An app client acts with the default role, so its creator must hold that.
        (
            "appClient.write",
            BUILT_IN["member"][1],
            403,
            lambda who, _: who.post("/appClient", {"groupId": group, "name": who.id}),
        ),
    ]
    for number, (permission, further, status, send) in enumerate(operations):
        only = ada.role(permission, *further, name="only")
        without = ada.role(*(ON_PEOPLE | ON_DEVICES) - {permission}, name="without")
        able, unable = world.person(f"able{number}"), world.person(f"unable{number}")
        ada.invite(able, group, only)
        ada.invite(unable, group, without)
        response = send(unable, without)
        assert response.status_code == status, (permission, number, response.text)
        response = send(able, only)
        assert response.status_code == 200, (permission, number, response.text)


# --- operators ---


@pytest.mark.engine_free
def test_an_operator_has_all_permissions_everywhere_and_is_no_member(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    operator = world.operator
    root = ada.group("root")
    child = ada.group("child", parent=root)
    seen = ok(operator.get("/group", groupId=child))[0]
    assert seen["userId"] == operator.id
    assert (seen["role"]["id"], seen["role"]["name"]) == ("administrator", "Administrator")
    assert set(seen["role"]["permissions"]) >= ON_PEOPLE | ON_DEVICES
    assert ok(operator.get("/user/groups"))["items"] == []
    assert ok(operator.get("/user/groups", groupId=root))["items"] == []
    assert len(ok(operator.get("/user/groups", userId=ada.id))["items"]) == 2
    refused(operator.get("/group", groupId="1"), 400, "groupId")
    refused(operator.get("/user/groups", userId="nobody"), 404, "userId")
    # Acting in a group does not make an operator a member.
    ok(operator.put("/group", {"groupId": root, "name": "new"}))
    invited = {"email": "bob@example.com", "groupId": root, "roleId": "administrator"}
    ok(operator.put("/group/invite", invited))
    ok(operator.put("/group/user", {"userId": ada.id, "groupId": root, "roleId": "viewer"}))
    ok(operator.delete("/group/user", groupId=root, userId=ada.id))
    members = ok(operator.get("/group/users", groupId=root))["items"]
    assert [member["id"] for member in members] == [bob.id]
    # Where operators are members they are listed, with their role and all permissions.
    own = operator.group("own")
    ok(operator.put("/group/invite", {**invited, "groupId": own}))
    ok(bob.put("/group/user", {"userId": operator.id, "groupId": own, "roleId": "viewer"}))
    listed = ok(operator.get("/user/groups"))["items"]
    assert [(group["id"], group["role"]["id"]) for group in listed] == [(own, "viewer")]
    assert set(listed[0]["role"]["permissions"]) >= ON_PEOPLE | ON_DEVICES
    # A second operator has the rights from the first request on.
    assert holds(world.person("second", operator=True), child) >= ON_PEOPLE | ON_DEVICES


# --- app clients ---


@pytest.mark.engine_free
def test_an_app_client_acts_with_the_default_role_of_its_group(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    home = ada.group("home", parent=root)
    below = ada.group("below", parent=home)
    client = ada.app_client(home)
    for role in ("member", "viewer", "manager", "administrator"):
        ok(ada.put("/group", {"groupId": home, "roleId": role}))
        for group in (home, below):
            shown = role_shown(client, group)
            assert (shown["id"], set(shown["permissions"])) == (role, BUILT_IN[role][1]), role
        refused(client.get("/group", groupId=root), 400, "groupId")
    # The default role of a subgroup applies to its own app clients.
    ok(ada.put("/group", {"groupId": below, "roleId": "viewer"}))
    assert role_shown(client, below)["id"] == "administrator"
    assert role_shown(ada.app_client(below), below)["id"] == "viewer"
    # As an Administrator it acts under its own name.
    audit_log = world.audit()
    invited = {"email": "bob@example.com", "groupId": home, "roleId": "administrator"}
    ok(client.put("/group/invite", invited))
    ok(client.put("/group/user", {"userId": bob.id, "groupId": home, "roleId": "viewer"}))
    ok(client.delete("/group/user", groupId=home, userId=bob.id))
    assert world.audit()[len(audit_log) :] == [
        (client.id, "member.invite", bob.id),
        (client.id, "member.update", bob.id),
        (client.id, "member.remove", bob.id),
    ]
    # It is no user: it cannot be given a role, and is in no list of members.
    refused(
        ada.put("/group/user", {"userId": client.id, "groupId": home, "roleId": "viewer"}),
        404,
        "userId",
    )
    refused(ada.get("/user/groups", userId=client.id), 404, "userId")
    members = ok(ada.get("/group/users", groupId=home))["items"]
    assert [member["id"] for member in members] == [ada.id]
    refused(client.put("/group", {"groupId": home, "ownerId": client.id}), 403)
