"""Groups: create, get, update and move."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from longwire.identity import groups
from longwire.model import Actor
from longwire.store.database import Tx
from tests.waiting import eventually
from tests.world import Person, World, nothing_happens, ok, refused, walk

LEVELS = 16


@contextmanager
def adds_to_audit_log(world: World, *expected: tuple[str, str, str]) -> Iterator[None]:
    """This block must add exactly these rows to the audit log: (actor, action, object)."""
    audit_log = world.audit()
    yield
    assert world.audit() == [*audit_log, *expected]


def shown(person: Person, group: str) -> dict[str, Any]:
    return dict(ok(person.get("/group", groupId=group))[0])


def chain(person: Person, levels: int, parent: str | None = None) -> list[str]:
    """A chain of nested groups, the topmost first."""
    made: list[str] = []
    for level in range(levels):
        parent = person.group(f"level {level}", parent=parent)
        made.append(parent)
    return made


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in items]


def own_groups(person: Person, **params: Any) -> list[str]:
    return ids(walk(lambda **page: person.get("/user/groups", **page), **params))


def seconds_ago(text: str, world: World) -> float:
    assert text.endswith("Z")
    now = datetime.fromtimestamp(world.clock.now() / 1_000_000, UTC)
    return (now - datetime.fromisoformat(text)) / timedelta(seconds=1)


# --- creating ---


@pytest.mark.engine_free
def test_the_creator_of_a_group_is_its_owner_and_administrator(world: World) -> None:
    ada = world.person("ada")
    group = ok(ada.post("/group", {"name": "Harbour", "description": "Quay", "tags": ["north"]}))
    assert group["ownerId"] == group["userId"] == group["createdBy"] == ada.id
    assert group["role"]["name"] == "Administrator"
    assert group["tags"] == ["north"]
    assert ok(ada.get("/group", groupId=group["id"])) == [group]


@pytest.mark.engine_free
def test_a_new_group_has_every_field_and_read_only_fields_are_ignored(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    ada.invite(bob, root, "administrator")
    body = {
        "name": "Pier",
        "description": "",
        "tags": [],
        "id": "77",
        "userId": ada.id,
        "ownerId": ada.id,
        "parent": "12345",
        "token": "mine",
        "administratorRole": "viewer",
        "defaultRole": "administrator",
        "createdAt": "2001-01-01",
        "createdBy": ada.id,
        "numberOfDevices": 9,
        "color": "blue",
    }
    audit_log = world.audit()
    group = ok(bob.post("/group", body, parentId=root))
    assert world.audit() == [*audit_log, (bob.id, "group.create", group["id"])]
    assert shown(bob, group["id"]) == group
    assert shown(ada, group["id"])["role"]["name"] == "Administrator"  # from above
    number = group.pop("id")
    assert group.pop("token").startswith("lwg_")
    assert 0 <= seconds_ago(group.pop("createdAt"), world) < 60
    assert 0 <= seconds_ago(group.pop("updatedAt"), world) < 60
    role = group.pop("role")
    assert (role["id"], role["removable"]) == ("administrator", False)
    assert group == {
        "name": "Pier",
        "description": "",
        "tags": [],
        "userId": bob.id,
        "ownerId": bob.id,
        "parent": root,
        "administratorRole": "administrator",
        "defaultRole": "member",
        "createdBy": bob.id,
        "updatedBy": bob.id,
        "numberOfDevices": 0,
        "numberOfNotifications": 0,
        "numberOfConnectors": 0,
    }
    bare = [ok(ada.post("/group", {})) for _ in range(4)]
    assert {"name", "description", "parent"}.isdisjoint(bare[0])
    assert bare[0]["tags"] == []
    # Each has its own number, increasing with time, and its own token.
    numbers = [int(root), int(number), *(int(each["id"]) for each in bare)]
    assert numbers == sorted(set(numbers))
    assert max(numbers) < 2**53
    assert len({each["token"] for each in bare}) == 4


@pytest.mark.engine_free
def test_an_invalid_new_group_is_refused_with_every_invalid_field_named(world: World) -> None:
    ada = world.person("ada")
    wrong_bodies: list[tuple[Any, tuple[str, ...]]] = [
        ({"name": ""}, ("name",)),
        ({"name": "n" * 257}, ("name",)),
        ({"name": 7}, ("name",)),
        ({"name": "a\x00b"}, ("name",)),
        ({"description": "d" * 4_097}, ("description",)),
        ({"description": ["x"]}, ("description",)),
        ({"tags": "north"}, ("tags",)),
        ({"tags": ["t"] * 51}, ("tags",)),
        ({"tags": ["ok", "", "t" * 65, 4]}, ("tags[1]", "tags[2]", "tags[3]")),
        ({"name": "", "description": 7, "tags": {}}, ("name", "description", "tags")),
        ([], ("body",)),
        ("text", ("body",)),
    ]
    with nothing_happens(world):
        refused(ada.post("/group"), 400)
        for body, fields in wrong_bodies:
            problem = refused(ada.post("/group", body), 400, *fields)
            assert {error["in"] for error in problem["errors"]} == {"body"}, body
        refused(ada.request("POST", "/group", content=b"{"), 400)
        refused(ada.request("POST", "/group", content=rb'{"name": "\ud800"}'), 400, "name")
        for parent in ("", "p" * 129):
            refused(ada.post("/group", {}, parentId=parent), 400, "parentId")
        refused(ada.request("POST", "/group?parentId=1&parentId=1", json={}), 400, "parentId")
        for parent in ("1", "nowhere", "007", "-1", str(2**53), "9" * 100, "٣"):
            problem = refused(ada.post("/group", {}, parentId=parent), 404, "parentId")
            assert problem["errors"][0]["in"] == "query", parent
    longest = {"name": "n" * 256, "description": "d" * 4_096, "tags": ["t" * 64] * 50}
    assert longest.items() <= ok(ada.post("/group", longest)).items()


@pytest.mark.engine_free
def test_a_group_created_by_an_app_client_belongs_to_the_owner_of_its_parent(
    world: World,
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    ada.invite(bob, root, "administrator")
    client = bob.app_client(root)
    with nothing_happens(world):
        refused(client.post("/group", {"name": "x"}), 403)
        refused(client.post("/group", {"name": "x"}, parentId=root), 403)
    ok(ada.put("/group", {"groupId": root, "roleId": "administrator"}))
    made = ok(client.post("/group", {"name": "x"}, parentId=root))
    assert made["ownerId"] == ada.id
    assert made["userId"] == made["createdBy"] == made["updatedBy"] == client.id
    assert made["role"]["name"] == "Administrator"
    members = ok(ada.get("/group/users", groupId=made["id"]))["items"]
    assert [(member["id"], member["role"]["id"]) for member in members] == [
        (ada.id, "administrator")
    ]
    refused(client.post("/group", {"name": "x"}), 403)


# --- seeing ---


@pytest.mark.engine_free
def test_a_stranger_sees_nothing_of_a_group(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    with nothing_happens(world):
        real = refused(bob.get("/group", groupId=group), 400, "groupId")
        refused(bob.put("/group", {"groupId": group, "name": "mine"}), 404, "groupId")
        refused(bob.get("/user/groups", groupId=group), 404, "groupId")
        refused(bob.get("/user/groups", userId=ada.id), 404, "userId")
        assert own_groups(bob) == []
        # The response is the same as for a group that does not exist.
        for number in ("1", str(int(group) + 1), f"0{group}", f"{group} ", "x", "-1", str(2**53)):
            made_up = refused(bob.get("/group", groupId=number), 400, "groupId")
            assert made_up | {"requestId": ""} == real | {"requestId": ""}, number
        refused(bob.get("/group"), 400, "groupId")
        refused(bob.get("/group", groupId=""), 400, "groupId")


@pytest.mark.engine_free
def test_the_token_is_shown_to_those_who_may_update_the_group(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    child = ada.group("child", parent=root)
    token = shown(ada, child)["token"]
    custom = ada.role("group.read", "group.update", "member.read", name="editor")
    for name, role, group, sees in [
        ("viewer", "viewer", child, False),
        ("member", "member", child, False),
        ("manager", "manager", child, False),
        ("editor", custom, child, True),
        ("head", "administrator", root, True),
    ]:
        person = world.person(name)
        ada.invite(person, group, role)
        expected = token if sees else None
        assert shown(person, child).get("token") == expected, name
        listed = ok(person.get("/user/groups", groupId=child))["items"]
        assert [group.get("token") for group in listed] == [expected], name
    # The requesting user counts, not the user in the query.
    viewer = world.person("second")
    ada.invite(viewer, child, "viewer")
    assert ok(viewer.get("/user/groups", userId=ada.id))["items"][0].get("token") is None
    assert ok(ada.get("/user/groups", userId=viewer.id))["items"][0]["token"] == token
    assert shown(world.operator, child)["token"] == token
    assert "token" not in shown(ada.app_client(child), child)


# --- groups of a user ---


def test_a_user_sees_their_groups_and_all_subgroups_in_order_of_creation(
    world: World,
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    first = ada.group("first")
    second = ada.group("second")
    deep = ada.group("deep", parent=second)
    deeper = ada.group("deeper", parent=deep)
    late = ada.group("late", parent=first)
    assert own_groups(ada) == [first, second, deep, deeper, late]
    ada.invite(bob, deep, "viewer")
    ada.invite(bob, deeper, "manager")
    ada.invite(bob, late, "viewer")
    assert own_groups(bob) == [deep, deeper, late]
    listed = ok(bob.get("/user/groups"))["items"]
    assert [(group["userId"], group["role"]["id"]) for group in listed] == [
        (bob.id, "viewer"),
        (bob.id, "manager"),
        (bob.id, "viewer"),
    ]
    assert listed == [shown(bob, group) for group in (deep, deeper, late)]
    assert own_groups(bob, userId=bob.id) == [deep, deeper, late]
    # A groupId restricts the list to its subtree.
    assert own_groups(bob, groupId=deep) == [deep, deeper]
    assert own_groups(bob, groupId=deeper) == [deeper]
    assert own_groups(ada, groupId=second) == [second, deep, deeper]
    refused(bob.get("/user/groups", groupId=second), 404, "groupId")
    refused(bob.get("/user/groups", groupId="1"), 404, "groupId")


def test_groups_of_another_user_are_shown_where_members_are_visible(world: World) -> None:
    ada, bob, carl, eve = (world.person(name) for name in ("ada", "bob", "carl", "eve"))
    shared = ada.group("shared")
    below = ada.group("below", parent=shared)
    ada.invite(bob, shared, "manager")
    ada.invite(carl, shared, "viewer")
    private = bob.group("private")
    assert own_groups(bob) == [shared, below, private]

    seen = ok(carl.get("/user/groups", userId=bob.id))["items"]
    assert ids(seen) == [shared, below]
    assert [(group["userId"], group["role"]["id"]) for group in seen] == [(bob.id, "manager")] * 2
    assert "device.delete" in seen[0]["role"]["permissions"]  # bob's, not carl's
    assert own_groups(carl, userId=bob.id, groupId=below) == [below]
    refused(carl.get("/user/groups", userId=bob.id, groupId=private), 404, "groupId")
    refused(eve.get("/user/groups", userId=bob.id), 404, "userId")
    refused(carl.get("/user/groups", userId=eve.id), 404, "userId")
    refused(carl.get("/user/groups", userId="nobody"), 404, "userId")
    # Without member.read other users are invisible.
    blind = ada.role("group.read", name="blind")
    ok(ada.put("/group/user", {"userId": carl.id, "groupId": shared, "roleId": blind}))
    refused(carl.get("/user/groups", userId=bob.id), 404, "userId")
    assert own_groups(carl) == [shared, below]
    assert own_groups(world.operator, userId=bob.id) == [shared, below, private]
    assert own_groups(world.operator, userId=eve.id) == []


def test_an_app_client_sees_its_group_and_all_subgroups(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    home = ada.group("home", parent=root)
    below = ada.group("below", parent=home)
    client = ada.app_client(home)
    listed = ok(client.get("/user/groups"))["items"]
    assert ids(listed) == [home, below]
    assert {group["userId"] for group in listed} == {client.id}
    assert {group["role"]["id"] for group in listed} == {"member"}
    assert own_groups(client, userId=ada.id) == [home, below]
    refused(client.get("/user/groups", groupId=root), 404, "groupId")


@pytest.mark.slow
def test_pages_neither_skip_nor_repeat_while_others_write(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    there = [root, *(ada.group(f"g{number}", parent=root) for number in range(7))]
    elsewhere = bob.group("elsewhere")
    ada.invite(bob, root, "administrator")
    page = ok(bob.get("/user/groups", limit=3))
    seen = ids(page["items"])
    assert seen == there[:3]
    # Between the pages one shown and one unseen group disappear, and new ones appear.
    ok(ada.put("/group", {"groupId": there[1], "parent": ""}))
    ok(ada.put("/group", {"groupId": there[5], "parent": ""}))
    new = [ada.group("new", parent=root), bob.group("newer")]
    while "nextToken" in page:
        page = ok(bob.get("/user/groups", limit=3, nextToken=page["nextToken"]))
        assert 1 <= len(page["items"]) <= 3
        seen += ids(page["items"])
    assert seen == [*there[:5], *there[6:], elsewhere, *new]


@pytest.mark.slow
@pytest.mark.engine_free
def test_a_page_has_a_hundred_groups_by_default(world: World) -> None:
    ada = world.person("ada")
    bulk = 101

    def work(tx: Tx) -> list[str]:
        return [
            groups.create(
                tx, Actor("user", ada.id), None, name=None, description=None, tags=()
            ).group.id
            for _ in range(bulk)
        ]

    made = world.write(work)
    page = ok(ada.get("/user/groups"))
    assert ids(page["items"]) == made[:100]
    last = ok(ada.get("/user/groups", nextToken=page["nextToken"]))
    assert ids(last["items"]) == made[100:]
    assert "nextToken" not in last
    whole = ok(ada.get("/user/groups", limit=bulk))
    assert ids(whole["items"]) == made
    assert "nextToken" not in whole
    assert len(ok(ada.get("/user/groups", limit=1_000))["items"]) == bulk
    for limit in ("0", "-1", "1001", "x", "", "1.5", "9" * 30):
        refused(ada.get("/user/groups", limit=limit), 400, "limit")


@pytest.mark.engine_free
def test_a_next_token_is_valid_only_for_its_own_list_and_reader(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    for number in range(3):
        ada.group(f"g{number}", parent=root)
    for person in (bob, world.person("carl")):
        ada.invite(person, root, "viewer")
    token = ok(ada.get("/user/groups", limit=1))["nextToken"]
    assert len(ok(ada.get("/user/groups", limit=2, nextToken=token))["items"]) == 2
    members = ok(ada.get("/group/users", groupId=root, limit=1))["nextToken"]
    for reader, params in [
        (bob, {"nextToken": token}),
        (ada, {"nextToken": token, "groupId": root}),
        (ada, {"nextToken": token, "userId": bob.id}),
        (ada, {"nextToken": members}),
        (ada, {"nextToken": token[:-2]}),
        (ada, {"nextToken": token + "A"}),
        (ada, {"nextToken": ""}),
        (ada, {"nextToken": "invalid ü"}),
    ]:
        refused(reader.get("/user/groups", **params), 400, "nextToken")
    refused(ada.get("/user/groups", limit=0, nextToken="x"), 400, "limit")


# --- changing ---


@pytest.mark.engine_free
def test_omitted_fields_stay_unchanged(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    ada.invite(bob, root, "administrator")
    body = {"name": "Harbour", "description": "Quay", "tags": ["north"]}
    group = ok(ada.post("/group", body, parentId=root))
    which = {"groupId": group["id"]}
    for change, expected in [
        ({"name": "Pier"}, {"name": "Pier"}),
        ({"description": ""}, {"description": ""}),
        ({"tags": ["a", "b", "a"]}, {"tags": ["a", "b", "a"]}),
        ({"tags": []}, {"tags": []}),
        ({"roleId": "viewer"}, {"defaultRole": "viewer"}),
        ({"tags": None, "roleId": None, "ownerId": None}, {}),
        ({}, {}),
        ({"id": "1", "token": "x", "createdBy": "x", "numberOfDevices": 3, "role": {}}, {}),
    ]:
        world.clock.let_pass(seconds=1)
        with adds_to_audit_log(world, (bob.id, "group.update", group["id"])):
            changed = ok(bob.put("/group", {**which, **change}))
        assert changed["updatedAt"] > group["updatedAt"]
        times = {"updatedAt": changed["updatedAt"], "updatedBy": bob.id, "userId": bob.id}
        assert changed == {**group, **expected, **times}, change
        assert shown(bob, group["id"]) == changed
        group = changed


@pytest.mark.engine_free
def test_an_invalid_update_is_refused_with_every_invalid_field_named(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    with nothing_happens(world):
        for body, fields in [
            ({}, ("groupId",)),
            ({"groupId": ""}, ("groupId",)),
            ({"groupId": int(group)}, ("groupId",)),
            ({"groupId": group, "name": ""}, ("name",)),
            ({"groupId": group, "name": "n" * 257}, ("name",)),
            ({"groupId": group, "description": "d" * 4_097}, ("description",)),
            ({"groupId": group, "tags": ["t"] * 51}, ("tags",)),
            ({"groupId": group, "tags": ["", 1]}, ("tags[0]", "tags[1]")),
            ({"groupId": group, "ownerId": ""}, ("ownerId",)),
            ({"groupId": group, "roleId": ""}, ("roleId",)),
            ({"groupId": group, "parent": 4}, ("parent",)),
            ({"groupId": group, "parent": "p" * 129}, ("parent",)),
            (
                {"name": 1, "description": 1, "tags": 1, "ownerId": 1, "roleId": 1, "parent": 1},
                ("groupId", "name", "description", "tags", "ownerId", "roleId", "parent"),
            ),
            ([], ("body",)),
        ]:
            refused(ada.put("/group", body), 400, *fields)
        for body, field in [
            ({"groupId": "1"}, "groupId"),
            ({"groupId": group, "roleId": "invalid"}, "roleId"),
            ({"groupId": group, "parent": "1"}, "parent"),
            ({"groupId": group, "parent": "invalid"}, "parent"),
        ]:
            refused(ada.put("/group", body), 404, field)
        # One invalid field prevents the whole update.
        fine = {"groupId": group, "name": "new", "description": "new", "tags": ["new"]}
        refused(ada.put("/group", {**fine, "ownerId": "nobody"}), 400, "ownerId")
        refused(ada.put("/group", {**fine, "roleId": "invalid"}), 404, "roleId")
        refused(ada.put("/group", {**fine, "roleId": "viewer", "parent": group}), 400, "parent")


@pytest.mark.engine_free
def test_the_default_role_must_be_one_that_the_user_could_grant(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    small = ada.role("group.read", "group.update", "role.read", name="small")
    ada.invite(bob, group, small)
    bob.group("other")  # where bob may create roles that ada cannot see
    hidden = bob.role("device.read", name="hidden")
    with nothing_happens(world):
        for role in ("administrator", "manager", "viewer"):
            refused(bob.put("/group", {"groupId": group, "roleId": role}), 403)
        refused(ada.put("/group", {"groupId": group, "roleId": hidden}), 404, "roleId")
    assert ok(bob.put("/group", {"groupId": group, "roleId": small}))["defaultRole"] == small
    client = ada.app_client(group)
    assert shown(client, group)["role"]["id"] == small
    ok(ada.put("/group", {"groupId": group, "roleId": "viewer"}))
    assert shown(client, group)["role"]["id"] == "viewer"
    refused(bob.put("/group", {"groupId": group, "roleId": "administrator"}), 403)
    # Repeating the current role grants nothing.
    assert ok(bob.put("/group", {"groupId": group, "roleId": "viewer"}))["defaultRole"] == "viewer"


@pytest.mark.engine_free
def test_only_the_owner_can_transfer_ownership_and_only_to_a_member(world: World) -> None:
    ada, bob, carl, eve = (world.person(name) for name in ("ada", "bob", "carl", "eve"))
    root = ada.group("root")
    group = ada.group("group", parent=root)
    ada.invite(bob, group, "administrator")
    ada.invite(carl, root, "viewer")
    with nothing_happens(world):
        for stranger in (eve.id, carl.id, world.operator.id, "nobody", group):
            refused(ada.put("/group", {"groupId": group, "ownerId": stranger}), 400, "ownerId")
        refused(bob.put("/group", {"groupId": group, "ownerId": bob.id}), 403)
        refused(carl.put("/group", {"groupId": group, "ownerId": carl.id}), 403)
        refused(eve.put("/group", {"groupId": group, "ownerId": eve.id}), 404, "groupId")
    same = ok(bob.put("/group", {"groupId": group, "ownerId": ada.id}))
    assert same["ownerId"] == ada.id
    with adds_to_audit_log(world, (ada.id, "group.update", group)):
        assert ok(ada.put("/group", {"groupId": group, "ownerId": bob.id}))["ownerId"] == bob.id
    assert shown(ada, group)["ownerId"] == bob.id
    assert shown(ada, group)["createdBy"] == ada.id
    with nothing_happens(world):
        refused(ada.put("/group", {"groupId": group, "ownerId": ada.id}), 403)
        refused(world.operator.put("/group", {"groupId": group, "ownerId": eve.id}), 400, "ownerId")
    ok(world.operator.put("/group", {"groupId": group, "ownerId": ada.id}))
    assert shown(bob, group)["ownerId"] == ada.id


def test_concurrent_updates_are_both_applied(world: World) -> None:
    """A rename and a concurrent move: neither may overwrite the other with stale values."""
    ada, bob = world.person("ada"), world.person("bob")
    root, other = ada.group("root"), ada.group("other")
    group = ada.group("old name", parent=root)
    renamed, go_on = threading.Event(), threading.Event()

    def rename(tx: Tx) -> None:
        groups.update(tx, Actor("user", ada.id), group, groups.GroupUpdate(name="new name"))
        renamed.set()
        assert go_on.wait(60)

    ada.invite(bob, root, "administrator")
    ada.invite(bob, other, "administrator")
    with ThreadPoolExecutor() as pool:
        renaming = pool.submit(world.write, rename)
        assert renamed.wait(60)
        moving = pool.submit(bob.put, "/group", {"groupId": group, "parent": other})
        eventually(lambda: is_write_waiting(world))
        go_on.set()
        renaming.result(120)
        ok(moving.result(120))
    after = shown(ada, group)
    assert (after["name"], after["parent"]) == ("new name", other)
    assert_paths_follow_from_parents(world)


def is_write_waiting(world: World) -> bool:
    if world.database.engine_name == "sqlite":
        return world.database.waiting["write"] > 0
    waiting = sa.text(
        "select count(*) from pg_stat_activity"
        " where datname = current_database() and wait_event_type = 'Lock'"
    )
    return bool(world.read(lambda tx: tx.rows(waiting)[0][0]))


# --- moving ---


def stored_parents(world: World) -> dict[str, str | None]:
    return {row[0]: row[1] for row in world.list_rows("device_group")}


def paths_of(parents: dict[str, str | None]) -> set[tuple[str, str, int]]:
    """(ancestor, group, depth) for every group and each ancestor, from the parents alone."""
    paths = set()
    for group in parents:
        at: str | None = group
        depth = 0
        while at is not None:
            paths.add((at, group, depth))
            at, depth = parents[at], depth + 1
            assert depth <= len(parents), "a circle"
    return paths


def assert_paths_follow_from_parents(world: World) -> None:
    stored = world.list_rows("group_path")
    assert set(stored) == paths_of(stored_parents(world))
    assert len(set(stored)) == len(stored)


@pytest.mark.engine_free
def test_a_group_moves_with_its_subtree_and_the_permissions_follow(world: World) -> None:
    ada, bob, carl = (world.person(name) for name in ("ada", "bob", "carl"))
    north, south = ada.group("north"), ada.group("south")
    group = ada.group("group", parent=north)
    deep = ada.group("deep", parent=group)
    ada.invite(bob, north, "viewer")
    ada.invite(carl, south, "manager")
    assert own_groups(bob) == [north, group, deep]
    assert own_groups(carl) == [south]
    with adds_to_audit_log(world, (ada.id, "group.update", group)):
        assert ok(ada.put("/group", {"groupId": group, "parent": south}))["parent"] == south
    assert own_groups(bob) == [north]
    assert own_groups(carl) == [south, group, deep]
    refused(bob.get("/group", groupId=deep), 400, "groupId")
    assert shown(carl, deep)["role"]["id"] == "manager"
    assert shown(carl, deep)["parent"] == group
    assert own_groups(ada, groupId=north) == [north]
    # Moving it to the same parent changes nothing.
    parents = stored_parents(world)
    assert ok(ada.put("/group", {"groupId": group, "parent": south}))["parent"] == south
    assert stored_parents(world) == parents
    # Make it a root.
    assert "parent" not in ok(ada.put("/group", {"groupId": group, "parent": ""}))
    assert own_groups(carl) == [south]
    assert own_groups(ada, groupId=group) == [group, deep]
    assert "parent" not in ok(ada.put("/group", {"groupId": group, "parent": ""}))
    assert_paths_follow_from_parents(world)


@pytest.mark.engine_free
@pytest.mark.slow
def test_moving_requires_permissions_at_the_group_and_at_both_parents(world: World) -> None:
    ada = world.person("ada")
    source, target = ada.group("source"), ada.group("target")
    group = ada.group("group", parent=source)
    mover = ada.role("group.read", "group.update", name="mover")
    host = ada.role("group.read", "group.create", name="host")
    everything_but = ",".join(
        permission
        for permission in shown(ada, group)["role"]["permissions"]
        if permission not in ("group.update", "group.create")
    )
    most = ada.role(everything_but, name="most")
    move = {"groupId": group, "parent": target}
    for number, (at_source, at_group, at_target, status, field) in enumerate(
        [
            (None, None, "administrator", 404, "groupId"),
            (mover, "administrator", None, 404, "parent"),
            (None, "viewer", "administrator", 403, None),
            (None, most, "administrator", 403, None),
            (None, host, "administrator", 403, None),
            (mover, "administrator", "manager", 403, None),
            (mover, "administrator", most, 403, None),
            (mover, "administrator", mover, 403, None),
            (None, "administrator", "administrator", 403, None),
            (most, "administrator", "administrator", 403, None),
            (mover, None, "administrator", 403, None),
            (mover, "administrator", host, 200, None),
        ]
    ):
        person = world.person(f"person{number}")
        for where, role in ((source, at_source), (group, at_group), (target, at_target)):
            if role is not None:
                ada.invite(person, where, role)
        if status == 200:
            assert ok(person.put("/group", move))["parent"] == target
            continue
        with nothing_happens(world):
            problem = refused(person.put("/group", move), status, *([field] if field else []))
            assert bool(problem["errors"]) == bool(field), number


@pytest.mark.engine_free
def test_nobody_takes_a_branch_out_of_its_company_without_the_companys_consent(
    world: World,
) -> None:
    ada, bob, carl = world.person("ada"), world.person("bob"), world.person("carl")
    root = ada.group("root")
    branch = ada.group("branch", parent=root)
    ada.invite(bob, branch, "administrator")
    ada.invite(carl, root, ada.role("group.read", "group.update", "member.write"))
    home = bob.group("home")
    with nothing_happens(world):
        refused(bob.put("/group", {"groupId": root, "parent": home}), 404, "groupId")
        refused(ada.put("/group", {"groupId": branch, "parent": home}), 404, "parent")
        # Neither the branch's Administrator, nor somebody with group.update alone.
        for person in (bob, carl):
            for parent in ("", home):
                move = {"groupId": branch, "parent": parent}
                assert person.put("/group", move).status_code in (403, 404)
    # Whatever bob does in the branch, the company's owner keeps it.
    ok(bob.delete("/group/user", groupId=branch, userId=ada.id))
    assert shown(ada, branch)["role"]["id"] == "administrator"
    ok(ada.delete("/group/user", groupId=branch, userId=bob.id))
    refused(bob.get("/group", groupId=branch), 400, "groupId")
    # With the company's consent he takes it.
    ada.invite(bob, root, "administrator")
    ok(bob.put("/group", {"groupId": branch, "parent": home}))
    refused(ada.get("/group", groupId=branch), 400, "groupId")
    assert own_groups(bob) == [root, branch, home]


@pytest.mark.engine_free
def test_a_group_becomes_a_root_only_if_it_has_its_own_administrator(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    group = ada.group("group", parent=root)
    ada.invite(bob, group, "viewer")
    ok(ada.delete("/group/user", groupId=group))
    to_the_top = {"groupId": group, "parent": ""}
    with nothing_happens(world):
        refused(ada.put("/group", to_the_top), 409)
        refused(world.operator.put("/group", to_the_top), 409)
        refused(bob.put("/group", to_the_top), 403)
    ok(ada.put("/group/user", {"userId": bob.id, "groupId": group, "roleId": "administrator"}))
    # Ada's role came from above, so she loses access.
    away = ok(ada.put("/group", to_the_top))
    assert {"parent", "role", "token"}.isdisjoint(away)
    refused(ada.get("/group", groupId=group), 400, "groupId")
    assert shown(bob, group)["role"]["id"] == "administrator"


@pytest.mark.engine_free
def test_an_app_client_can_move_groups_but_create_no_roots(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    home = ada.group("home", parent=root)
    branch, other = ada.group("branch", parent=home), ada.group("other", parent=home)
    ok(ada.put("/group", {"groupId": home, "roleId": "administrator"}))
    client = ada.app_client(home)
    with nothing_happens(world):
        refused(client.put("/group", {"groupId": branch, "parent": ""}), 403)
        refused(client.put("/group", {"groupId": branch, "parent": root}), 404, "parent")
        refused(client.put("/group", {"groupId": home, "ownerId": ada.id, "parent": "7"}), 404)
    with adds_to_audit_log(world, (client.id, "group.update", branch)):
        ok(client.put("/group", {"groupId": branch, "parent": other}))
    assert shown(ada, branch)["updatedBy"] == client.id


@pytest.mark.engine_free
def test_a_group_cannot_be_moved_below_itself(world: World) -> None:
    ada = world.person("ada")
    levels = chain(ada, 4)
    with nothing_happens(world):
        for parent in levels:
            refused(ada.put("/group", {"groupId": levels[0], "parent": parent}), 400, "parent")
        refused(ada.put("/group", {"groupId": levels[1], "parent": levels[3]}), 400, "parent")
    ok(ada.put("/group", {"groupId": levels[2], "parent": levels[0]}))
    ok(ada.put("/group", {"groupId": levels[1], "parent": levels[3]}))
    assert_paths_follow_from_parents(world)


@pytest.mark.slow
@pytest.mark.engine_free
def test_the_tree_has_at_most_sixteen_levels(world: World) -> None:
    ada = world.person("ada")
    deep = chain(ada, LEVELS)
    branch = chain(ada, 3)
    ada.group("twig", parent=branch[0])
    with nothing_happens(world):
        refused(ada.post("/group", {}, parentId=deep[15]), 400, "parentId")
        for parent in deep[13:]:
            refused(ada.put("/group", {"groupId": branch[0], "parent": parent}), 400, "parent")
    ok(ada.post("/group", {}, parentId=deep[14]))
    ok(ada.put("/group", {"groupId": branch[0], "parent": deep[12]}))
    with nothing_happens(world):
        refused(ada.post("/group", {}, parentId=branch[2]), 400, "parentId")
    # The lower part alone fits one level further down.
    ok(ada.put("/group", {"groupId": branch[1], "parent": deep[13]}))
    assert_paths_follow_from_parents(world)


@pytest.mark.engine_free
@pytest.mark.slow
def test_after_many_moves_access_follows_the_parents(world: World) -> None:
    chance = random.Random(20_260)
    ada, bob = world.person("ada"), world.person("bob")
    levels = chain(ada, LEVELS)
    everywhere = [*levels, *(ada.group(f"spare {number}") for number in range(3))]
    ada.invite(bob, levels[5], "viewer")
    parents = stored_parents(world)
    outcomes = {200: 0, 400: 0}
    for _ in range(40):
        group, parent = chance.choice(everywhere), chance.choice([*everywhere, *everywhere, ""])
        moved = {**parents, group: parent or None}
        status = 200 if is_a_tree(moved) else 400
        response = ada.put("/group", {"groupId": group, "parent": parent})
        assert response.status_code == status, (group, parent, response.text)
        outcomes[status] += 1
        if status == 200:
            parents = moved
    assert min(outcomes.values()) >= 8, outcomes
    assert stored_parents(world) == parents
    assert_paths_follow_from_parents(world)
    below = {group for ancestor, group, _ in paths_of(parents) if ancestor == levels[5]}
    assert own_groups(bob) == sorted(below, key=int)


def is_a_tree(parents: dict[str, str | None]) -> bool:
    """No cycle, and no group below the last level."""
    for group in parents:
        at: str | None = group
        for _ in range(LEVELS):
            at = parents[at] if at is not None else None
        if at is not None:
            return False
    return True


def test_concurrent_moves_below_each_other_create_no_cycle(world: World) -> None:
    ada = world.person("ada")
    north, south = ada.group("north"), ada.group("south")
    with ThreadPoolExecutor() as pool:
        for _ in range(5):
            responses = list(
                pool.map(
                    lambda pair: ada.put("/group", {"groupId": pair[0], "parent": pair[1]}),
                    [(north, south), (south, north)],
                )
            )
            assert sorted(response.status_code for response in responses) == [200, 400]
            assert_paths_follow_from_parents(world)
            for group in (north, south):
                ok(ada.put("/group", {"groupId": group, "parent": ""}))


@pytest.mark.engine_free
def test_moving_a_group_does_not_escalate_permissions(world: World) -> None:
    ada, eve = world.person("ada"), world.person("eve")
    group = ada.group()
    ada.invite(eve, group, ada.role("group.read", "group.update"))
    home = eve.group("home")
    with nothing_happens(world):
        refused(eve.put("/group", {"groupId": group, "parent": home}), 403)
