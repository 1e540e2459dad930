"""Members: invitations, roles, removal, and the permissions they need."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from tests.world import Person, World, nothing_happens, ok, refused, walk

RELATION = {"id", "userId", "role", "token", "description", "name", "updatedAt"}
PUBLIC_USER = {"id", "email", "name", "seenAt", "firstName", "lastName", "createdAt", "updatedAt"}
IN_GROUP = {"role", "membershipUpdatedAt"}


@contextmanager
def adds_to_audit_log(world: World, *expected: tuple[str, str, str]) -> Iterator[None]:
    """This block must add exactly these rows to the audit log: (actor, action, object)."""
    audit_log = world.audit()
    yield
    assert world.audit() == [*audit_log, *expected]


def invitation(email: str, group: str, role: str) -> dict[str, str]:
    return {"email": email, "groupId": group, "roleId": role}


def place(person: Person | str, group: str, role: str) -> dict[str, str]:
    user_id = person if isinstance(person, str) else person.id
    return {"userId": user_id, "groupId": group, "roleId": role}


def roles_in(reader: Person, group: str) -> dict[str, str]:
    """The members and their roles."""
    listed = walk(lambda **page: reader.get("/group/users", groupId=group, **page))
    return {member["id"]: member["role"]["id"] for member in listed}


# --- inviting ---


@pytest.mark.engine_free
def test_an_invitation_does_not_reveal_whether_the_user_exists(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    created = ok(ada.post("/group", {"name": "Harbour", "description": "Quay"}))
    group = created["id"]
    with adds_to_audit_log(world, (ada.id, "member.invite", bob.id)):
        existing = ok(ada.put("/group/invite", invitation("bob@example.com", group, "viewer")))
    audit_log = world.audit()
    unknown = ok(ada.put("/group/invite", invitation("carl@example.com", group, "viewer")))
    newcomer = unknown["userId"]
    assert world.audit()[len(audit_log) :] == [
        (ada.id, "user.create", newcomer),
        (ada.id, "member.invite", newcomer),
    ]
    assert existing["userId"] == bob.id != newcomer
    assert len(newcomer) == len(bob.id)
    urls = [each.pop("invitationUrl") for each in (existing, unknown)]
    assert {each.pop("mail") for each in (existing, unknown)} == {"not_configured"}
    assert len(urls[0]) == len(urls[1])
    assert existing.keys() == unknown.keys() == RELATION
    for response in (existing, unknown):
        assert response | {"userId": ""} == {
            "id": group,
            "userId": "",
            "role": response["role"],
            "updatedAt": response["updatedAt"],
            "token": created["token"],
            "name": "Harbour",
            "description": "Quay",
        }
        assert (response["role"]["id"], response["role"]["removable"]) == ("viewer", False)
    # A new user is a member from the moment they get credentials.
    carl = world.person("carl")
    assert carl.id == newcomer
    assert ok(carl.get("/group", groupId=group))[0]["role"]["id"] == "viewer"


def test_email_addresses_are_case_insensitive(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    first, second = ada.group("first"), ada.group("second")
    invited = ok(ada.put("/group/invite", invitation("BOB@Example.COM", first, "viewer")))
    assert invited["userId"] == bob.id
    new = ok(ada.put("/group/invite", invitation("Zoë.Straße@Example.com", first, "viewer")))
    same = ok(ada.put("/group/invite", invitation("ZOË.STRAßE@example.COM", second, "viewer")))
    assert new["userId"] == same["userId"]
    members = ok(ada.get("/group/users", groupId=second))["items"]
    assert [member["email"] for member in members] == ["ada@example.com", "ZOË.STRAßE@example.COM"]


@pytest.mark.engine_free
def test_a_repeated_invitation_changes_nothing_and_another_role_is_a_conflict(
    world: World,
) -> None:
    ada = world.person("ada")
    group = ada.group()
    first = ok(ada.put("/group/invite", invitation("bob@example.com", group, "viewer")))
    del first["invitationUrl"]
    with nothing_happens(world):
        for email in ("bob@example.com", "Bob@example.com"):
            again = ok(ada.put("/group/invite", invitation(email, group, "viewer")))
            del again["invitationUrl"]  # which is another one each time
            assert again == first
        refused(
            ada.put("/group/invite", invitation("bob@example.com", group, "manager")), 409, "email"
        )
        refused(
            ada.put("/group/invite", invitation("ada@example.com", group, "viewer")), 409, "email"
        )
    assert roles_in(ada, group) == {ada.id: "administrator", first["userId"]: "viewer"}


@pytest.mark.engine_free
def test_an_invalid_invitation_is_refused_with_every_invalid_field_named(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group()
    bob.group("other")
    hidden = bob.role("device.read", name="hidden")
    fine = invitation("carl@example.com", group, "viewer")
    with nothing_happens(world):
        for change, fields in [
            ({"email": None}, ("email",)),
            ({"email": 5, "groupId": 5, "roleId": 5}, ("email", "groupId", "roleId")),
            ({"email": "", "groupId": "", "roleId": ""}, ("email", "groupId", "roleId")),
            ({"email": "carl"}, ("email",)),
            ({"email": "carl@"}, ("email",)),
            ({"email": "@example.com"}, ("email",)),
            ({"email": "carl @example.com"}, ("email",)),
            ({"email": " carl@example.com"}, ("email",)),
            ({"email": "carl@example.com\n"}, ("email",)),
            ({"email": "carl@exam@ple.com"}, ("email",)),
            ({"email": "carl@example.com\x00"}, ("email",)),
            ({"email": f"{'c' * 65}@example.com"}, ("email",)),
            ({"email": f"carl@{'e' * 250}"}, ("email",)),
            ({"roleId": "r" * 129}, ("roleId",)),
        ]:
            refused(ada.put("/group/invite", {**fine, **change}), 400, *fields)
        refused(ada.put("/group/invite", {}), 400, "email", "groupId", "roleId")
        for change, field in [
            ({"groupId": "1"}, "groupId"),
            ({"groupId": "invalid"}, "groupId"),
            ({"roleId": "invalid"}, "roleId"),
            ({"roleId": hidden}, "roleId"),
        ]:
            refused(ada.put("/group/invite", {**fine, **change}), 404, field)


# --- consent ---


@pytest.mark.slow
@pytest.mark.engine_free
def test_until_they_accept_others_see_only_the_address_that_was_typed(world: World) -> None:
    """And the same of everybody, whether they had an account before or not."""
    ada, bob, carl = (world.person(name) for name in ("ada", "bob", "carl"))
    ok(bob.put("/user", {"name": "Bob", "firstName": "Robert", "lastName": "B."}))
    group, other = ada.group("group"), ada.group("other")
    ada.invite(carl, group, "viewer")
    world.clock.freeze()
    world.clock.let_pass(seconds=600)
    for email in ("BOB@example.com", "new@example.com", "chief@example.com"):
        ok(ada.put("/group/invite", invitation(email, group, "manager")))

    def shown(reader: Person, email: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """In the list of members, and alone."""
        listed = ok(reader.get("/group/users", groupId=group))["items"]
        (member,) = [each for each in listed if each.get("email") == email]
        return member, ok(reader.get("/user", userId=member["id"]))

    for reader in (ada, carl, ada.app_client(group)):
        seen = [shown(reader, each) for each in ("BOB@example.com", "new@example.com")]
        seen.append(shown(reader, "chief@example.com"))
        for listed, alone in seen:
            assert listed.keys() == {"id", "email", "createdAt", "updatedAt"} | IN_GROUP
            assert alone == {key: listed[key] for key in listed.keys() - IN_GROUP}
        assert len({listed["createdAt"] for listed, _ in seen}) == 1  # of the invitation
        places = [ok(reader.get("/user/groups", userId=one["id"]))["items"] for one, _ in seen]
        assert [[each["role"]["id"] for each in one] for one in places] == [["manager"]] * 3
    # Bob himself and operators see everything; a request that names no group accepts nothing.
    assert ok(bob.get("/user/me"))["name"] == "Bob"
    assert [each["id"] for each in ok(bob.get("/user/groups"))["items"]] == [group]
    refused(bob.put("/group/user", place(bob, group, "viewer")), 403)
    assert shown(ada, "BOB@example.com")[0].keys() == {
        *("id", "email", "createdAt", "updatedAt", *IN_GROUP)
    }
    assert ok(world.operator.get("/user", userId=bob.id))["name"] == "Bob"

    eve = world.person("eve")
    with nothing_happens(world):
        # His permissions count, but a GET, to which any link may lead, accepts nothing.
        (seen_by_bob,) = ok(bob.get("/group", groupId=group))
        assert seen_by_bob["isInvited"] is True
        assert [each["isInvited"] for each in ok(bob.get("/user/groups"))["items"]] == [True]
        ok(bob.get("/group/devices", groupId=group))
        # Nobody else accepts it.
        refused(eve.post("/group/accept", {"groupId": group}), 404, "groupId")
        ok(carl.post("/group/accept", {"groupId": group}))
        assert "isInvited" not in ok(carl.get("/group", groupId=group))[0]
    with adds_to_audit_log(world, (bob.id, "member.accept", bob.id)):
        assert "isInvited" not in ok(bob.post("/group/accept", {"groupId": group}))
    with nothing_happens(world):
        assert "isInvited" not in ok(bob.post("/group/accept", {"groupId": group}))
        assert "isInvited" not in ok(bob.get("/group", groupId=group))[0]
    listed, alone = shown(carl, "bob@example.com")
    assert listed.keys() == PUBLIC_USER | IN_GROUP
    assert (alone["name"], alone["firstName"]) == ("Bob", "Robert")
    # Accepting one invitation accepts no other.
    dora = world.person("dora")
    world.clock.let_pass(seconds=1)
    ok(ada.put("/group/invite", invitation("bob@example.com", other, "viewer")))
    world.clock.let_pass(seconds=1)
    ada.invite(dora, other, "viewer")
    listed = ok(dora.get("/group/users", groupId=other))["items"][1]
    assert (listed["id"], "name" in listed) == (bob.id, False)
    # So does a change in the group.
    third = ada.group("third")
    ok(ada.put("/group/invite", invitation("bob@example.com", third, "administrator")))
    with adds_to_audit_log(
        world, (bob.id, "group.update", third), (bob.id, "member.accept", bob.id)
    ):
        ok(bob.put("/group", {"groupId": third, "name": "third group"}))
    # Leaving declines.
    with adds_to_audit_log(world, (bob.id, "member.remove", bob.id)):
        ok(bob.delete("/group/user", groupId=other))


# --- no privilege escalation ---


@pytest.mark.engine_free
def test_a_role_with_more_permissions_than_ones_own_cannot_be_granted(world: World) -> None:
    ada, bob, carl = (world.person(name) for name in ("ada", "bob", "carl"))
    group = ada.group()
    host = ada.role("member.read", "member.write", "role.read", "device.read", name="host")
    guest = ada.role("member.read", "device.read", name="guest")
    ada.invite(bob, group, host)
    # A custom role is visible to its creator and where it is in use.
    ada.invite(world.person("guest"), group, guest)
    with nothing_happens(world):
        for role in ("administrator", "manager", "member", "viewer"):
            refused(bob.put("/group/invite", invitation("carl@example.com", group, role)), 403)
            refused(bob.put("/group/invite", invitation("new@example.com", group, role)), 403)
            refused(bob.put("/group/user", place(bob, group, role)), 403)
    with adds_to_audit_log(world, (bob.id, "member.invite", carl.id)):
        ok(bob.put("/group/invite", invitation("carl@example.com", group, guest)))
    with adds_to_audit_log(world, (bob.id, "member.update", carl.id)):
        given = ok(bob.put("/group/user", place(carl, group, host)))
    # Bob sees no token, as he may not update the group.
    assert given.keys() == RELATION - {"token", "description"}
    assert given["role"]["id"] == host
    assert set(given["role"]["permissions"]) == {
        "member.read",
        "member.write",
        "role.read",
        "device.read",
    }
    assert roles_in(ada, group)[carl.id] == host
    # Bob's permissions from above add to those he has here, and only here.
    below = ada.group("below", parent=group)
    extra = ada.role("record.delete", name="extra")
    mixed = ada.role("record.delete", "device.read", name="mixed")
    ada.invite(bob, below, extra)
    ada.invite(world.person("mixed"), below, mixed)
    with nothing_happens(world):
        refused(bob.put("/group/invite", invitation("carl@example.com", group, mixed)), 403)
        refused(bob.put("/group/invite", invitation("carl@example.com", below, "viewer")), 403)
    ok(bob.put("/group/invite", invitation("carl@example.com", below, mixed)))


@pytest.mark.engine_free
def test_a_member_with_more_permissions_cannot_be_changed(world: World) -> None:
    ada, bob, carl = (world.person(name) for name in ("ada", "bob", "carl"))
    group = ada.group()
    host = ada.role("member.read", "member.write", "role.read", "group.read", name="host")
    small = ada.role("group.read", name="small")
    ada.invite(bob, group, host)
    ada.invite(carl, group, "viewer")
    ada.invite(world.person("dora"), group, small)
    with nothing_happens(world):
        for stronger in (ada, carl):
            refused(bob.put("/group/user", place(stronger, group, small)), 403)
            refused(bob.delete("/group/user", groupId=group, userId=stronger.id), 403)
    ok(ada.put("/group/user", place(carl, group, host)))
    ok(bob.put("/group/user", place(carl, group, small)))
    removed = ok(bob.delete("/group/user", groupId=group, userId=carl.id))
    assert (removed["userId"], removed["role"]["id"]) == (carl.id, small)


# --- changing roles ---


@pytest.mark.engine_free
def test_a_changed_role_of_a_member_applies_at_once(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    group = ada.group("group")
    below = ada.group("below", parent=group)
    rename = {"groupId": below, "name": "new"}

    def role_of_bob() -> str:
        """Requested before every change too, so that the cache is filled."""
        return str(ok(bob.get("/group", groupId=below))[0]["role"]["id"])

    refused(bob.get("/group", groupId=below), 400, "groupId")
    ada.invite(bob, group, "viewer")
    assert role_of_bob() == "viewer"
    refused(bob.put("/group", rename), 403)
    with adds_to_audit_log(world, (ada.id, "member.update", bob.id)):
        response = ok(ada.put("/group/user", place(bob, group, "administrator")))
    assert response.keys() == RELATION - {"description"}
    assert (response["id"], response["userId"], response["name"]) == (group, bob.id, "group")
    assert response["role"]["name"] == "Administrator"
    ok(bob.put("/group", rename))
    assert role_of_bob() == "administrator"
    with nothing_happens(world):
        assert ok(ada.put("/group/user", place(bob, group, "administrator"))) == response
    # Bob lowers his own role, and cannot restore it.
    ok(bob.put("/group/user", place(bob, group, "viewer")))
    assert role_of_bob() == "viewer"
    with nothing_happens(world):
        refused(bob.put("/group", rename), 403)
        refused(bob.put("/group/user", place(bob, group, "administrator")), 403)
    # The role itself is changed.
    custom = ada.role("group.read", "group.update", name="custom")
    ok(ada.put("/group/user", place(bob, group, custom)))
    assert role_of_bob() == custom
    ok(bob.put("/group", rename))
    ok(ada.put("/role", {"roleId": custom, "groupId": group, "permissions": ["group.read"]}))
    assert role_of_bob() == custom
    refused(bob.put("/group", rename), 403)
    # Finally he is removed.
    ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    refused(bob.get("/group", groupId=below), 400, "groupId")
    refused(bob.put("/group", rename), 404, "groupId")
    assert ok(bob.get("/user/groups"))["items"] == []


@pytest.mark.engine_free
def test_an_invalid_update_of_a_member_is_refused_with_the_invalid_field_named(
    world: World,
) -> None:
    ada, bob, carl = (world.person(name) for name in ("ada", "bob", "carl"))
    root = ada.group("root")
    group = ada.group("group", parent=root)
    ada.invite(bob, root, "viewer")  # a member above is not a member here
    bob.group("other")
    hidden = bob.role("device.read", name="hidden")
    fine = place(ada, group, "administrator")
    with nothing_happens(world):
        refused(ada.put("/group/user", {}), 400, "userId", "groupId", "roleId")
        for field in fine:
            for wrong in (None, "", 7, "x" * 129, ["x"]):
                refused(ada.put("/group/user", {**fine, field: wrong}), 400, field)
        for change, field in [
            ({"userId": "nobody"}, "userId"),
            ({"userId": bob.id}, "userId"),
            ({"userId": carl.id}, "userId"),
            ({"userId": group}, "userId"),
            ({"groupId": "1"}, "groupId"),
            ({"roleId": "invalid"}, "roleId"),
            ({"roleId": hidden}, "roleId"),
        ]:
            refused(ada.put("/group/user", {**fine, **change}), 404, field)
        refused(ada.delete("/group/user"), 400, "groupId")
        refused(ada.delete("/group/user", groupId="", userId=""), 400, "groupId", "userId")
        for user_id in ("nobody", bob.id, carl.id):
            refused(ada.delete("/group/user", groupId=group, userId=user_id), 404, "userId")
        refused(ada.delete("/group/user", groupId="1", userId=bob.id), 404, "groupId")


# --- removing and leaving ---


@pytest.mark.engine_free
def test_a_member_is_removed_once(world: World) -> None:
    ada, bob, carl = (world.person(name) for name in ("ada", "bob", "carl"))
    created = ok(ada.post("/group", {"name": "Harbour", "description": "Quay"}))
    group = created["id"]
    ada.invite(bob, group, "manager")
    ada.invite(carl, group, "viewer")
    with adds_to_audit_log(world, (ada.id, "member.remove", bob.id)):
        gone = ok(ada.delete("/group/user", groupId=group, userId=bob.id))
    assert gone.keys() == RELATION - {"token"}
    assert (gone["id"], gone["userId"], gone["role"]["id"]) == (group, bob.id, "manager")
    assert (gone["name"], gone["description"]) == ("Harbour", "Quay")
    with nothing_happens(world):
        refused(ada.delete("/group/user", groupId=group, userId=bob.id), 404, "userId")
        refused(bob.get("/group", groupId=group), 400, "groupId")
        refused(bob.delete("/group/user", groupId=group), 404, "groupId")
    assert roles_in(carl, group) == {ada.id: "administrator", carl.id: "viewer"}
    # They can be invited again with another role.
    ada.invite(bob, group, "viewer")
    assert roles_in(carl, group)[bob.id] == "viewer"


@pytest.mark.slow
@pytest.mark.engine_free
def test_every_direct_member_may_leave_a_group(world: World) -> None:
    ada, bob, carl, eve = (world.person(name) for name in ("ada", "bob", "carl", "eve"))
    root = ada.group("root")
    group = ada.group("group", parent=root)
    tiny = ada.role("record.create", name="tiny")
    ada.invite(bob, root, "viewer")
    ada.invite(bob, group, "manager")
    ada.invite(carl, group, tiny)
    client = ada.app_client(group)
    with nothing_happens(world):
        refused(bob.delete("/group/user", groupId=group, userId=carl.id), 403)
        refused(eve.delete("/group/user", groupId=group), 404, "groupId")
        refused(eve.delete("/group/user", groupId=group, userId=eve.id), 404, "groupId")
        refused(client.delete("/group/user", groupId=group), 403)
        refused(client.delete("/group/user", groupId=group, userId=client.id), 403)
        refused(world.operator.delete("/group/user", groupId=group), 404, "userId")
    with adds_to_audit_log(world, (carl.id, "member.remove", carl.id)):
        ok(carl.delete("/group/user", groupId=group))
    refused(carl.get("/group", groupId=group), 400, "groupId")
    with adds_to_audit_log(world, (bob.id, "member.remove", bob.id)):
        left = ok(bob.delete("/group/user", groupId=group, userId=bob.id))
    assert left["role"]["id"] == "manager"
    # Bob still has access through the group above, which he has not left.
    assert ok(bob.get("/group", groupId=group))[0]["role"]["id"] == "viewer"
    with nothing_happens(world):
        refused(bob.delete("/group/user", groupId=group), 404, "userId")
    assert roles_in(ada, group) == {ada.id: "administrator"}


@pytest.mark.engine_free
def test_the_last_administrator_of_a_root_group_cannot_leave(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    everything = ok(ada.get("/group", groupId=root))[0]["role"]["permissions"]
    equal = ada.role(*everything, name="as good as")
    ada.invite(bob, root, equal)
    child = ada.group("child", parent=root)
    with nothing_happens(world):
        refused(ada.delete("/group/user", groupId=root), 409)
        refused(ada.delete("/group/user", groupId=root, userId=ada.id), 409)
        for who in (ada, bob, world.operator):
            refused(who.put("/group/user", place(ada, root, "viewer")), 409)
        # A role of the same strength is not the role itself.
        refused(ada.put("/group/user", place(ada, root, equal)), 409)
        for who in (bob, world.operator):
            refused(who.delete("/group/user", groupId=root, userId=ada.id), 409)
    ok(ada.put("/group/user", place(ada, root, "administrator")))
    # In a subgroup, administrators above can always appoint one.
    ok(ada.put("/group/user", place(ada, child, "viewer")))
    ok(ada.delete("/group/user", groupId=child))
    # With a second one, either can leave, but not both.
    ok(ada.put("/group/user", place(bob, root, "administrator")))
    ok(ada.delete("/group/user", groupId=root))
    refused(bob.delete("/group/user", groupId=root), 409)
    assert roles_in(bob, root) == {bob.id: "administrator"}


def test_the_last_two_administrators_cannot_leave_concurrently(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    with ThreadPoolExecutor() as pool:
        for _ in range(4):
            group = ada.group()
            ada.invite(bob, group, "administrator")
            responses = pool.map(
                lambda person, group=group: person.delete("/group/user", groupId=group), (ada, bob)
            )
            assert sorted(response.status_code for response in responses) == [200, 409]
            assert len(roles_in(world.operator, group)) == 1


def test_concurrent_invitations_of_a_new_address_create_one_user(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    homes = {ada.id: ada.group("north"), bob.id: bob.group("south")}
    with ThreadPoolExecutor() as pool:
        for number in range(4):
            email = f"new{number}@example.com"
            responses = pool.map(
                lambda person, email=email: person.put(
                    "/group/invite", invitation(email, homes[person.id], "viewer")
                ),
                (ada, bob),
            )
            assert len({ok(response)["userId"] for response in responses}) == 1


# --- the list of members ---


@pytest.mark.slow
def test_members_are_listed_in_the_order_they_joined_page_by_page(world: World) -> None:
    ada = world.person("ada")
    root = ada.group("root")
    group = ada.group("group", parent=root)
    ada.invite(world.person("above"), root, "viewer")
    people = [world.person(f"person{number}") for number in range(6)]
    # Not in the order in which the users were created.
    for person in people[3:] + people[:3]:
        world.clock.let_pass(seconds=1)
        ada.invite(person, group, "viewer")
    expected = [ada.id, *(person.id for person in people[3:] + people[:3])]

    def members(**page: Any) -> Any:
        return people[0].get("/group/users", groupId=group, **page)

    assert [member["id"] for member in walk(members)] == expected
    assert [member["id"] for member in walk(members, limit=1)] == expected
    page = ok(members(limit=3))
    assert [member["id"] for member in page["items"]] == expected[:3]
    # Between the pages one shown and one unseen member leave, and a new one joins.
    for person in (people[3], people[5]):
        ok(person.delete("/group/user", groupId=group))
    world.clock.let_pass(seconds=1)
    ada.invite(people[3], group, "manager")
    rest = walk(members, limit=2, nextToken=page["nextToken"])
    assert [member["id"] for member in rest] == [person.id for person in [*people[:3], people[3]]]
    refused(members(limit=0), 400, "limit")
    refused(members(nextToken="x"), 400, "nextToken")
    refused(people[0].get("/group/users"), 400, "groupId")
    # The nextToken is bound to one group and one reader.
    token = ok(members(limit=1))["nextToken"]
    refused(ada.get("/group/users", groupId=group, nextToken=token), 400, "nextToken")
    ada.invite(people[0], root, "viewer")
    refused(people[0].get("/group/users", groupId=root, nextToken=token), 400, "nextToken")


@pytest.mark.engine_free
def test_a_listed_member_has_the_public_fields_and_the_role_in_that_group(
    world: World,
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    ok(ada.put("/user", {"firstName": "Ada", "lastName": "L", "name": "Ada L", "gender": "f"}))
    ok(ada.put("/user/vendorToken", {"token": "push"}))
    root = ada.group("root")
    group = ada.group("group", parent=root)
    ada.invite(bob, root, "administrator")
    ada.invite(bob, group, "viewer")
    ok(ada.put("/group/invite", invitation("new@example.com", group, "member")))
    first, second, third = ok(bob.get("/group/users", groupId=group))["items"]
    assert first.keys() == PUBLIC_USER | IN_GROUP
    assert (first["firstName"], first["lastName"], first["name"]) == ("Ada", "L", "Ada L")
    assert first["email"] == "ada@example.com"
    # The role in this group, without inherited ones.
    assert (second["id"], second["role"]["id"]) == (bob.id, "viewer")
    assert "group.update" not in second["role"]["permissions"]
    assert third.keys() == {"id", "email", "createdAt", "updatedAt"} | IN_GROUP
    assert (third["email"], third["role"]["name"]) == ("new@example.com", "Member")
