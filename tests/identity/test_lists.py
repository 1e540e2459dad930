"""Lists of app clients and users: pages, permissions, and nothing foreign."""

from functools import partial

from tests.world import World, ok, refused, walk


def test_app_clients_of_a_group_are_listed_by_name_without_secrets(world: World) -> None:
    ada, bob, eve = (world.person(name) for name in ("ada", "bob", "eve"))
    group, other = ada.group("group"), ada.group("other")
    ada.invite(bob, group, "manager")
    eve.group("foreign")
    body = {"groupId": group, "name": "b", "description": "reads", "expiration": 4_000_000_000}
    secret = ok(ada.post("/appClient", body))["secret"]
    for name in ("c", "a"):
        ok(ada.post("/appClient", {"groupId": group, "name": name}))
    ok(ada.post("/appClient", {"groupId": other, "name": "elsewhere"}))
    items = walk(partial(ada.get, "/group/appClients"), groupId=group, limit=1)
    assert [each["name"] for each in items] == ["a", "b", "c"]
    assert items[1].pop("updatedAt") == items[1]["createdAt"]
    assert items[1] | {"appClientId": "", "createdAt": ""} == {
        **body,
        "appClientId": "",
        "createdAt": "",
        "createdBy": ada.id,
    }
    assert secret not in repr(items)
    refused(bob.get("/group/appClients", groupId=group), 403)
    refused(eve.get("/group/appClients", groupId=group), 404, "groupId")
    assert len(ok(world.operator.get("/group/appClients", groupId=group))["items"]) == 3


def test_users_are_those_of_ones_groups_and_for_operators_all(world: World) -> None:
    ada, bob, carl, eve = (world.person(name) for name in ("ada", "bob", "carl", "eve"))
    root = ada.group("root")
    below, beside = ada.group("below", parent=root), ada.group("beside")
    ada.invite(bob, root, "viewer")
    ada.invite(bob, below, "viewer")
    ada.invite(carl, beside, ada.role("group.read", name="blind"))
    eve.group("foreign")
    ok(eve.put("/user", {"name": "Eve"}))
    ok(ada.put("/group/invite", {"email": "EVE@example.com", "groupId": below, "roleId": "viewer"}))

    def list_ids(person, **query):
        return {each["id"] for each in walk(partial(person.get, "/users"), **query)}

    assert list_ids(ada, limit=1) == {ada.id, bob.id, carl.id, eve.id}
    assert list_ids(bob) == {ada.id, bob.id, eve.id}
    assert list_ids(carl) == set()  # without member.read not even oneself
    assert list_ids(ada.app_client(beside)) == {ada.id, carl.id}
    assert list_ids(world.operator) > {ada.id, bob.id, carl.id, eve.id, world.operator.id}
    (invited,) = [each for each in ok(bob.get("/users"))["items"] if each["id"] == eve.id]
    assert (invited["email"], "name" in invited) == ("EVE@example.com", False)
