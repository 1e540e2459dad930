"""App clients: programs that act for a group."""

import re
from typing import Any

import pytest

from longwire.clock import SECOND
from longwire.store.schema import metadata
from tests.world import Person, World, ok, refused, walk

pytestmark = pytest.mark.engine_free


def every_row(world: World) -> str:
    """All rows of the database as text."""
    return world.read(
        lambda tx: "\n".join(
            repr(tuple(row)) for table in metadata.sorted_tables for row in tx.rows(table.select())
        )
    )


def epoch_s(world: World) -> int:
    return world.clock.now() // SECOND


# --- the credentials ---


def test_a_new_app_client_gets_tokens_with_the_secret_it_was_shown(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    created = ok(ada.post("/appClient", {"groupId": group, "name": "Gateway"}))
    assert created == {
        "groupId": group,
        "appClientId": created["appClientId"],
        "secret": created["secret"],
        "name": "Gateway",
        "updatedAt": created["updatedAt"],
    }
    assert re.fullmatch(r"lws_[A-Za-z0-9_-]{43}", created["secret"])  # 256 bits
    granted = ok(world.ask_token(created["appClientId"], created["secret"]))
    assert (granted["token_type"], granted["expires_in"]) == ("Bearer", 3_600)
    app = Person(world, granted["access_token"], "", ("", ""))
    shown = ok(app.get("/group", groupId=group))[0]
    assert (shown["userId"], shown["role"]["id"]) == (created["appClientId"], "member")
    assert "token" not in shown  # the group's own token takes group.update
    assert (ada.id, "appClient.create", created["appClientId"]) in world.audit()

    other = ok(ada.post("/appClient", {"groupId": group, "name": "Other", "description": "Spare"}))
    assert other["description"] == "Spare"
    assert other["secret"] != created["secret"]
    assert other["appClientId"] != created["appClientId"]


def test_renaming_keeps_the_secret_and_shows_it(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    expires_s = epoch_s(world) + 86_400
    body = {"groupId": group, "name": "Gateway", "expiration": expires_s}
    created = ok(ada.post("/appClient", body))
    app = Person(world, world.token(created["appClientId"], created["secret"]), "", ("", ""))

    world.restart()  # the secret survives a restart
    renamed = ok(ada.put("/appClient", {"groupId": group, "name": "Gateway", "newName": "Gate"}))
    assert renamed == {
        "appClientId": created["appClientId"],
        "secret": created["secret"],
        "name": "Gate",
        "expiration": expires_s,
        "updatedAt": renamed["updatedAt"],
    }
    ok(app.get("/group", groupId=group))
    world.token(created["appClientId"], created["secret"])
    refused(ada.put("/appClient", {"groupId": group, "name": "Gateway", "newName": "x"}), 404)
    same = ok(ada.put("/appClient", {"groupId": group, "name": "Gate", "newName": "Gate"}))
    assert same == renamed | {"updatedAt": same["updatedAt"]}


def test_names_are_unique_within_a_group(world: World) -> None:
    ada = world.person("ada")
    group, other = ada.group("one"), ada.group("other")
    ok(ada.post("/appClient", {"groupId": group, "name": "Gateway"}))
    ok(ada.post("/appClient", {"groupId": group, "name": "gateway"}))  # another name
    ok(ada.post("/appClient", {"groupId": other, "name": "Gateway"}))  # another group
    before = world.everything()
    refused(ada.post("/appClient", {"groupId": group, "name": "Gateway"}), 409, "name")
    taken = {"groupId": group, "name": "gateway", "newName": "Gateway"}
    refused(ada.put("/appClient", taken), 409, "newName")
    assert world.everything() == before


def test_a_deleted_app_client_loses_all_its_tokens_at_once(world: World) -> None:
    ada = world.person("ada")
    group, other = ada.group("one"), ada.group("other")
    app, second = ada.app_client(group, "first"), ada.app_client(group, "second")
    another_token = Person(world, world.token(app.client_id, app.client_secret), "", ("", ""))
    for person in (app, another_token, second):
        ok(person.get("/group", groupId=group))

    before = world.everything()
    # `name` carries the group's id, and it must be the client's own group.
    refused(ada.delete("/appClient", name=other, appClientId=app.id), 404, "appClientId")
    refused(ada.delete("/appClient", name="first", appClientId=app.id), 404, "name")
    refused(ada.delete("/appClient", groupId=group, appClientId=app.id), 400, "name")
    refused(ada.delete("/appClient"), 400, "name", "appClientId")
    refused(ada.delete("/appClient", name=group, appClientId=ada.client_id), 404, "appClientId")
    assert world.everything() == before

    deleted = ok(ada.delete("/appClient", name=group, appClientId=app.id))
    assert deleted["value"] is True and deleted["message"]
    for person in (app, another_token):
        refused(person.get("/group", groupId=group), 401)
    assert world.ask_token(app.client_id, app.client_secret).status_code == 401
    ok(second.get("/group", groupId=group))
    refused(ada.delete("/appClient", name=group, appClientId=app.id), 404, "appClientId")
    ok(ada.post("/appClient", {"groupId": group, "name": "first"}))  # the name is free again


def test_an_expired_app_client_neither_gets_nor_uses_tokens(world: World) -> None:
    world.clock.freeze()
    ada = world.person("ada")
    group = ada.group()
    expires_s = epoch_s(world) + 1_800
    body = {"groupId": group, "name": "Visitor", "expiration": expires_s}
    created = ok(ada.post("/appClient", body))
    assert created["expiration"] == expires_s
    client = (created["appClientId"], created["secret"])
    granted = ok(world.ask_token(*client))
    assert 1_790 <= granted["expires_in"] <= 1_800
    visitor = Person(world, granted["access_token"], "", client)
    world.clock.let_pass(seconds=1_700)
    ok(visitor.get("/group", groupId=group))
    ok(world.ask_token(*client))
    world.clock.let_pass(seconds=101)
    refused(visitor.get("/group", groupId=group), 401)
    late = world.ask_token(*client)
    assert (late.status_code, late.json()["error"]) == (401, "invalid_client")
    ok(ada.get("/group", groupId=group))

    # A far expiry shortens nothing; a past or invalid one is refused.
    far = ok(ada.post("/appClient", {**body, "name": "Guest", "expiration": epoch_s(world) * 2}))
    assert ok(world.ask_token(far["appClientId"], far["secret"]))["expires_in"] == 3_600
    before = world.everything()
    bad: list[Any] = [expires_s, 0, -1, 1.5, "soon", "2030-01-01", 2**63, True]
    for wrong in bad:
        late_body = {**body, "name": "Late", "expiration": wrong}
        refused(ada.post("/appClient", late_body), 400, "expiration")
    assert world.everything() == before


def test_the_secret_of_an_app_client_is_not_stored_in_plain_text(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    app = ada.app_client(group, "Gateway")
    ok(ada.put("/appClient", {"groupId": group, "name": "Gateway", "newName": "Gate"}))
    rows = every_row(world)
    assert app.client_id in rows and "Gate" in rows
    assert app.client_secret not in rows
    assert app.client_secret.removeprefix("lws_") not in rows
    assert app.token is not None and app.token not in rows
    assert app.token.replace("-", "") not in rows


# --- permissions ---


def test_an_app_client_acts_with_the_default_role_of_its_group(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    home = ada.group("home", parent=root)
    below = ada.group("below", parent=home)
    sibling = ada.group("beside", parent=root)
    app = ada.app_client(home)

    for group in (home, below):
        assert ok(app.get("/group", groupId=group))[0]["role"]["name"] == "Member"
        refused(app.put("/group", {"groupId": group, "name": "mine"}), 403)
    for group in (root, sibling):
        refused(app.get("/group", groupId=group), 400, "groupId")
    assert [each["id"] for each in walk(app.get, path="/user/groups")] == [home, below]

    # Another default role applies at once; nothing is inherited from above.
    ok(ada.put("/group", {"groupId": root, "roleId": "administrator"}))
    refused(app.put("/group", {"groupId": home, "name": "mine"}), 403)
    ok(ada.put("/group", {"groupId": home, "roleId": "administrator"}))
    assert ok(app.put("/group", {"groupId": home, "name": "mine"}))["updatedBy"] == app.id
    created = ok(app.post("/group", {"name": "made"}, parentId=home))
    assert (created["ownerId"], created["createdBy"]) == (ada.id, app.id)
    refused(app.post("/group", {"name": "root"}), 403)
    ok(app.post("/appClient", {"groupId": below, "name": "child"}))
    ok(ada.put("/group", {"groupId": home, "roleId": "viewer"}))
    refused(app.put("/group", {"groupId": home, "name": "mine"}), 403)
    refused(app.delete("/group/user", groupId=home), 403)  # it is no member and cannot leave


def test_seeing_a_secret_requires_all_permissions_of_the_client(world: World) -> None:
    ada, bob, carol, eve = (world.person(name) for name in ("ada", "bob", "carol", "eve"))
    group = ada.group()
    ok(ada.post("/appClient", {"groupId": group, "name": "Gateway"}))
    keeper = ada.role("appClient.write", "group.read", name="keeper")
    ada.invite(bob, group, keeper)
    ada.invite(carol, group, "manager")

    def create(person: Person, name: str = "new") -> Any:
        return person.post("/appClient", {"groupId": group, "name": name})

    def rename(person: Person) -> Any:
        return person.put("/appClient", {"groupId": group, "name": "Gateway", "newName": "Gateway"})

    before = world.everything()
    for attempt in (create, rename):
        refused(attempt(bob), 403)  # may write app clients, but holds less than Member
        refused(attempt(carol), 403)  # holds more than Member, but may not write app clients
        refused(attempt(eve), 404, "groupId")
        refused(attempt(world.nobody), 401)
    assert world.everything() == before

    small = ada.role("group.read", name="small")
    ok(ada.put("/group", {"groupId": group, "roleId": small}))
    ok(rename(bob))
    created = ok(create(bob))
    refused(carol.delete("/appClient", name=group, appClientId=created["appClientId"]), 403)
    refused(eve.delete("/appClient", name=group, appClientId=created["appClientId"]), 404, "name")
    ok(ada.put("/group", {"groupId": group, "roleId": "member"}))
    refused(create(bob, "third"), 403)
    # Deleting a client does not show its secret.
    ok(bob.delete("/appClient", name=group, appClientId=created["appClientId"]))


def test_all_invalid_fields_of_an_app_client_are_reported_at_once(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    ok(ada.post("/appClient", {"groupId": group, "name": "Gateway"}))
    before = world.everything()
    refused(ada.post("/appClient", {}), 400, "groupId", "name")
    wrong = {"groupId": group, "name": "", "description": 1, "expiration": "x"}
    refused(ada.post("/appClient", wrong), 400, "name", "description", "expiration")
    refused(ada.post("/appClient", {"groupId": group, "name": "x" * 257}), 400, "name")
    refused(ada.post("/appClient", {"groupId": "1", "name": "x"}), 404, "groupId")
    refused(ada.put("/appClient", {}), 400, "name", "newName", "groupId")
    rename = {"groupId": group, "name": "Gateway"}
    refused(ada.put("/appClient", {**rename, "newName": ""}), 400, "newName")
    refused(ada.put("/appClient", {**rename, "name": "no", "newName": "x"}), 404, "name")
    refused(ada.put("/appClient", {**rename, "groupId": "1", "newName": "x"}), 404, "groupId")
    assert world.everything() == before


# --- a role of its own ---


def with_role(person: Person, group: str, role: str, name: str = "Gateway") -> Person:
    created = ok(person.post("/appClient", {"groupId": group, "name": name, "roleId": role}))
    assert created["roleId"] == role
    client = (created["appClientId"], created["secret"])
    return Person(person.world, person.world.token(*client), created["appClientId"], client)


def test_an_app_client_acts_with_a_role_of_its_own_until_it_is_changed(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    below = ada.group("below", parent=group)
    device = ada.device(below)
    reader = with_role(ada, group, "viewer")
    ada.device(group)
    assert ok(reader.get("/group", groupId=below))[0]["role"]["id"] == "viewer"
    refused(reader.put("/device", {"deviceId": device, "groupId": below, "name": "x"}), 403)
    why = ok(reader.get("/access", groupId=below, permission="device.update"))
    assert why["isAllowed"] is False
    assert [each.get("role", {}).get("roleId") for each in why["path"]] == ["viewer", None]
    # It does not follow the default role.
    ok(ada.put("/group", {"groupId": group, "roleId": "manager"}))
    refused(reader.put("/device", {"deviceId": device, "groupId": below, "name": "x"}), 403)
    (listed,) = ok(ada.get("/group/appClients", groupId=group))["items"]
    assert listed["roleId"] == "viewer"

    body = {"groupId": group, "name": "Gateway", "newName": "Gateway"}
    kept = ok(ada.put("/appClient", body))
    assert kept["roleId"] == "viewer"
    changed = ok(ada.put("/appClient", {**body, "roleId": "administrator"}))
    assert (changed["roleId"], changed["secret"]) == ("administrator", reader.client_secret)
    ok(reader.put("/device", {"deviceId": device, "groupId": below, "name": "x"}))  # at once
    ok(reader.put("/group", {"groupId": group, "description": "its own"}))
    default = ok(ada.put("/appClient", {**body, "roleId": ""}))
    assert "roleId" not in default
    ok(reader.put("/device", {"deviceId": device, "groupId": below, "name": "y"}))
    refused(reader.put("/group", {"groupId": group, "description": "x"}), 403)
    found = ok(ada.get("/group/audit", groupId=group, objectId=reader.id))["items"]
    assert (found[0]["before"], found[0]["after"]) == (
        {"roleId": "administrator"},
        {"roleId": ""},
    )
    ok(ada.put("/appClient", {**body, **found[0]["before"]}))
    ok(reader.put("/group", {"groupId": group, "description": "again"}))


def test_an_app_client_finds_groups_and_people_by_its_own_role(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    ada.group("below", parent=group)
    reader = with_role(ada, group, ada.role("record.read"))
    assert ok(reader.get("/groups"))["items"] == []
    refused(reader.get("/user", userId=ada.id), 404, "userId")
    body = {"groupId": group, "name": "Gateway", "newName": "Gateway"}
    ok(ada.put("/appClient", {**body, "roleId": "administrator"}))
    assert [each["id"] for each in ok(reader.get("/groups"))["items"]] == [group]
    assert ok(reader.get("/user", userId=ada.id))["id"] == ada.id
    # By the default role of its group, if it has none.
    ok(ada.put("/appClient", {**body, "roleId": ""}))
    ok(ada.put("/group", {"groupId": group, "roleId": ada.role("record.create", name="least")}))
    assert ok(reader.get("/groups"))["items"] == []


def test_nobody_gives_an_app_client_a_role_with_more_than_they_have(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group = ada.group()
    keeper = ada.role("appClient.write", "group.read", "role.read", name="keeper")
    ada.invite(bob, group, keeper)
    eve.group()
    foreign = eve.role("group.read", name="foreign")
    strong = with_role(ada, group, "administrator", "strong")
    body = {"groupId": group, "name": "new"}
    change = {"groupId": group, "name": "strong", "newName": "strong"}
    before = world.everything()
    refused(bob.post("/appClient", {**body, "roleId": "viewer"}), 403)
    refused(bob.post("/appClient", body), 403)  # the default role has more, too
    # To see the secret of a stronger one, or to weaken it.
    refused(bob.put("/appClient", change), 403)
    refused(bob.put("/appClient", {**change, "roleId": keeper}), 403)
    for person in (ada, bob):
        refused(person.post("/appClient", {**body, "roleId": foreign}), 404, "roleId")
        refused(person.post("/appClient", {**body, "roleId": "nothing"}), 404, "roleId")
    refused(ada.put("/appClient", {**change, "roleId": foreign}), 404, "roleId")
    refused(ada.post("/appClient", {**body, "roleId": 7}), 400, "roleId")
    assert world.everything() == before
    own = with_role(bob, group, keeper, "weak")
    refused(own.post("/appClient", {**body, "roleId": "member"}), 403)
    ok(strong.post("/appClient", {**body, "roleId": "member"}))


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"], indirect=True)
def test_a_role_of_an_app_client_is_in_use(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    other = ada.group("other")
    role = ada.role("group.read", "device.read", name="reader")
    reader = with_role(ada, group, role)
    gone = {"groupId": group, "roleId": role, "userId": ada.id}
    assert "app client" in refused(ada.delete("/role", **gone), 400, "roleId")["message"]
    # What is added to the role, the client may do; only who may change all that have it adds it.
    ada.role("group.read")
    refused(ada.put("/role", {"roleId": role, "groupId": other, "description": "x"}), 403)
    permissions = ["group.read", "device.read", "role.read"]
    ok(ada.put("/role", {"roleId": role, "groupId": group, "permissions": permissions}))
    assert role in [each["id"] for each in walk(reader.get, path="/group/roles")]
    ok(ada.put("/appClient", {"groupId": group, "name": "Gateway", "newName": "x", "roleId": ""}))
    ok(ada.delete("/role", **gone))
    assert ok(reader.get("/group", groupId=group))[0]["role"]["id"] == "member"
