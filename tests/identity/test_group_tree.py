"""Groups as a tree: level by level, searched, as far as one can see."""

from functools import partial
from typing import Any

from tests.world import Person, World, ok, refused, walk


def names(person: Person, **params: Any) -> list[str]:
    """The names of all listed groups, walking small pages."""
    return [item["name"] for item in walk(partial(person.get, "/groups"), limit=2, **params)]


def test_a_tree_is_listed_level_by_level_by_name(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    harbour = ada.group("Harbour")
    quays = {name: ada.group(name, harbour) for name in ("quay b", "Quay A", "öl", "Zoll", "x")}
    ada.group("Crane", quays["Quay A"])
    ada.group("Airport")
    bob.group("Bakery")
    assert names(ada) == ["Airport", "Harbour"]
    assert names(ada, parentId=harbour) == ["Quay A", "quay b", "x", "Zoll", "öl"]
    items = ok(ada.get("/groups"))["items"]
    assert [item["numberOfGroups"] for item in items] == [0, 5]
    assert all("token" not in item and item["role"]["id"] == "administrator" for item in items)
    assert ok(ada.get("/group", groupId=harbour))[0]["token"]
    refused(bob.get("/groups", parentId=harbour), 404, "parentId")
    # Who belongs to a branch sees it as the top; a role further below adds no second top.
    ada.invite(bob, quays["Quay A"], "viewer")
    assert names(bob) == ["Bakery", "Quay A"]
    assert names(bob, parentId=quays["Quay A"]) == ["Crane"]
    client = ada.app_client(harbour)
    assert names(client) == ["Harbour"]
    # Renamed and moved groups are listed as they are now.
    ok(ada.put("/group", {"groupId": quays["x"], "name": "Ägir", "parent": quays["Zoll"]}))
    assert names(ada, parentId=quays["Zoll"]) == ["Ägir"]
    assert names(ada, q="ÄG") == ["Ägir"]


def test_a_search_finds_groups_at_any_depth_that_one_can_see(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    harbour = ada.group("Harbour")
    quay = ada.group("Quay 100%", harbour)
    ada.group("quayside", quay)
    bob.group("Quay of Bob")
    assert names(ada, q="QUAY") == ["Quay 100%", "quayside"]
    assert names(ada, q="quay", parentId=quay) == ["quayside"]
    assert names(ada, q="0%") == names(ada, q=quay) == ["Quay 100%"]
    assert names(bob, q="quay") == ["Quay of Bob"]
    assert names(bob, q=quay) == []
    reader = ada.role("device.read")
    ada.invite(bob, quay, reader)
    assert names(bob, q="quay") == ["Quay of Bob"], "without group.read"
    refused(ada.get("/groups", q="", limit=0), 400, "q", "limit")


def test_an_operator_sees_all_roots_but_none_that_is_deleted(world: World) -> None:
    ada = world.person("ada")
    harbour = ada.group("Harbour")
    ada.group("Quay", harbour)
    gone = ada.group("Gone")
    before = names(world.operator)
    ok(ada.delete("/group", groupId=gone))
    assert [name for name in before if name != "Gone"] == names(world.operator)
    assert {"Harbour", "Gone"} <= set(before)
    assert names(world.operator, parentId=harbour) == ["Quay"]
