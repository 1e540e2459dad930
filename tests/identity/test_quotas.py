"""Quotas: how much one user or group may have, and what a request beyond them gets."""

from collections.abc import Callable

import httpx
import pytest

from tests.world import World, nothing_happens, ok, refused


def beyond(response: httpx.Response, setting: str, maximum: int) -> None:
    problem = refused(response, 409)
    assert problem["code"] == "limit_reached"
    assert f"{setting} to {maximum}" in problem["detail"]


def test_the_codecs_of_a_group_are_limited_together(make_world: Callable[..., World]) -> None:
    world = make_world(device_type_bytes_per_group_max=1_000)
    ada = world.person("ada")
    home, below = ada.group("home"), ada.group("below")
    codec = "function decodeUplink(input) { return {data: {n: 1}}; } //"

    def codecs(size: int) -> dict[str, str]:
        return {"decoder": "javascript", "decoderSource": codec.ljust(size, "é")}

    def create(group: str | None, name: str, size: int) -> httpx.Response:
        home = {} if group is None else {"groupId": group}
        return (ada if group else world.operator).post(
            "/device/type", {"name": name, **home, **codecs(size)}
        )

    ok(create(home, "first", 600))
    configuration = {"type": "first", "defaultConfiguration": "x" * 501}
    larger = {"type": "second", **codecs(500)}
    imported = {"groupId": home, "name": "third", "files": {"a.js": codec.ljust(400)}}
    with nothing_happens(world):
        beyond(create(home, "second", 600), "device_type_bytes_per_group_max", 1_000)
        answer = ada.put("/device/type/definition", configuration)
        beyond(answer, "device_type_bytes_per_group_max", 1_000)
    ok(create(home, "second", 300))
    with nothing_happens(world):
        for path in ("/device/type/definition", "/device/type/decoder"):
            beyond(ada.put(path, larger), "device_type_bytes_per_group_max", 1_000)
        for asked in (imported, {**imported, "name": "second", "replace": True}):
            answer = ada.post("/device/type/import", asked)
            beyond(answer, "device_type_bytes_per_group_max", 1_000)
    # Of each group, and not of the types for all; what gets smaller is stored.
    ok(create(below, "below", 900))
    ok(create(None, "for all", 2_000))
    ok(ada.put("/device/type/decoder", {"type": "first", **codecs(500)}))
    ok(ada.put("/device/type/decoder", larger | codecs(400)))


@pytest.mark.engine_free
def test_groups_are_limited_by_whoever_created_them(make_world: Callable[..., World]) -> None:
    world = make_world(groups_per_owner_max=3)
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    ok(ada.put("/group", {"groupId": root, "roleId": "administrator"}))
    client = ada.app_client(root)
    ok(client.post("/group", {"name": "by a program"}, parentId=root))
    given = ada.group("given")
    with nothing_happens(world):
        beyond(ada.post("/group", {"name": "one more"}), "groups_per_owner_max", 3)
        beyond(client.post("/group", {}, parentId=root), "groups_per_owner_max", 3)
    # A group handed over still counts for ada, so nobody can use up the quota of another.
    ada.invite(bob, given, "administrator")
    ok(ada.put("/group", {"groupId": given, "ownerId": bob.id}))
    beyond(ada.post("/group", {"name": "one more"}), "groups_per_owner_max", 3)
    for _ in range(3):
        bob.group()
    beyond(bob.post("/group", {}), "groups_per_owner_max", 3)


def test_members_roles_clients_and_push_tokens_are_limited(
    make_world: Callable[..., World],
) -> None:
    world = make_world(
        members_per_group_max=2,
        roles_per_creator_max=2,
        app_clients_per_group_max=1,
        device_types_per_group_max=1,
        push_tokens_per_user_max=2,
    )
    ada, bob = world.person("ada"), world.person("bob")
    home, other = ada.group("home"), ada.group("other")
    role = {"name": "r", "description": "", "permissions": "group.read"}
    invitation = {"email": "bob@example.com", "groupId": home, "roleId": "viewer"}

    ok(ada.put("/group/invite", invitation))
    roles = [ok(ada.post("/role", role))["id"] for _ in range(2)]
    ok(ada.post("/appClient", {"groupId": home, "name": "first"}))
    ok(ada.post("/device/type", {"groupId": home, "name": "first"}))
    for token in ("one", "two"):
        ok(ada.put("/user/vendorToken", {"token": token}))
    with nothing_happens(world):
        second = {"groupId": home, "name": "second"}
        beyond(ada.post("/device/type", second), "device_types_per_group_max", 1)
        for email in ("carl@example.com", "new@example.com"):
            more = {**invitation, "email": email}
            beyond(ada.put("/group/invite", more), "members_per_group_max", 2)
        beyond(ada.post("/role", role), "roles_per_creator_max", 2)
        second = {"groupId": home, "name": "second"}
        beyond(ada.post("/appClient", second), "app_clients_per_group_max", 1)
        beyond(ada.put("/user/vendorToken", {"token": "three"}), "push_tokens_per_user_max", 2)
        ok(ada.put("/group/invite", invitation))  # a member already

    # Elsewhere, for others, and after something was removed there is room.
    ok(ada.put("/group/invite", {**invitation, "groupId": other}))
    ok(ada.post("/appClient", {"groupId": other, "name": "first"}))
    ok(ada.put("/user/vendorToken", {"token": "one", "deviceName": "again"}))
    ok(bob.put("/user/vendorToken", {"token": "two"}))  # moves to bob
    ok(ada.put("/user/vendorToken", {"token": "three"}))
    ok(ada.delete("/role", roleId=roles[0], groupId=home, userId=ada.id))
    ok(ada.post("/role", role))
    ok(ada.delete("/group/user", groupId=home, userId=bob.id))
    ok(ada.put("/group/invite", {**invitation, "email": "carl@example.com"}))
