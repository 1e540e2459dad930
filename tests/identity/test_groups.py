"""Groups: creating, seeing, changing and moving them."""

from tests.world import World, ok, refused


def test_whoever_creates_a_group_owns_it_and_administers_it(world: World) -> None:
    ada = world.person("ada")
    group = ok(ada.post("/group", {"name": "Harbour", "description": "Quay", "tags": ["north"]}))
    assert group["ownerId"] == group["userId"] == group["createdBy"] == ada.id
    assert group["role"]["name"] == "Administrator"
    assert group["tags"] == ["north"]
    assert ok(ada.get("/group", groupId=group["id"])) == [group]


def test_a_stranger_sees_nothing_of_a_group(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    before = world.everything()
    refused(bob.get("/group", groupId=group), 400, "groupId")
    refused(bob.put("/group", {"groupId": group, "name": "mine"}), 404, "groupId")
    assert world.everything() == before
