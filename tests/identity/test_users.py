"""Users: their own and public fields, and push tokens."""

from typing import Any

import pytest

from longwire.dates import format_date
from longwire.store.schema import metadata
from tests.world import World, ok, refused, walk

pytestmark = pytest.mark.engine_free

PRIVATE = {"gender", "devices"}


def every_row(world: World) -> str:
    """All rows of the database as text."""
    return world.read(
        lambda tx: "\n".join(
            repr(tuple(row)) for table in metadata.sorted_tables for row in tx.rows(table.select())
        )
    )


# --- the own user ---


def test_users_see_all_their_own_fields(world: World) -> None:
    ada = world.person("ada")
    me = ok(ada.get("/user/me"))
    assert me.pop("createdAt") == me.pop("updatedAt")
    assert me.pop("seenAt") <= format_date(world.clock.now())
    assert me == {"id": ada.id, "email": "ada@example.com"}
    assert ok(ada.get("/user", userId=ada.id)) == ok(ada.get("/user/me"))
    # The contract has the bare token in the header here.
    bare = world.nobody.request("GET", "/user/me", headers={"authorization": ada.token})
    assert ok(bare)["id"] == ada.id
    refused(world.nobody.get("/user/me"), 401)
    refused(world.nobody.get("/user", userId=ada.id), 401)


def test_seen_at_is_the_time_of_the_last_token_request(world: World) -> None:
    ada = world.person("ada")
    first = ok(ada.get("/user/me"))["seenAt"]
    world.clock.let_pass(seconds=60)
    assert ok(ada.get("/user/me"))["seenAt"] == first
    world.token(ada.client_id, ada.client_secret)
    assert ok(ada.get("/user/me"))["seenAt"] > first


def test_users_update_their_own_fields_one_at_a_time(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    texts = {"gender": "f", "name": "Ada L.", "firstName": "Ada", "lastName": "Lovelace"}
    world.clock.let_pass(seconds=1)
    changed = ok(ada.put("/user", texts))
    assert {name: changed[name] for name in texts} == texts
    assert changed["updatedAt"] > changed["createdAt"]
    assert changed == ok(ada.get("/user/me"))

    changed = ok(ada.put("/user", {"lastName": "Byron", "gender": ""}))
    assert (changed["lastName"], changed["firstName"], changed["gender"]) == ("Byron", "Ada", "")
    # The body cannot select another user, and read-only fields are ignored.
    body = {"userId": bob.id, "id": bob.id, "email": "x@example.com", "createdAt": "2000-01-01"}
    same = ok(ada.put("/user", {**body, "isOperator": True}))
    assert {**same, "updatedAt": ""} == {**changed, "updatedAt": ""}
    assert "name" not in ok(bob.get("/user/me"))
    refused(ada.post("/permission", {"permissionId": "a.b", "name": "x", "description": ""}), 403)

    before = world.everything()
    wrong = {"gender": 1, "name": "", "firstName": ["Ada"], "lastName": "x" * 257}
    refused(ada.put("/user", wrong), 400, "gender", "name", "firstName", "lastName")
    refused(ada.put("/user", {"name": "A\x00da"}), 400, "name")
    assert world.everything() == before


# --- other users ---


def test_public_fields_are_visible_only_to_users_who_share_a_group(world: World) -> None:
    ada, bob, carol, dora = (world.person(name) for name in ("ada", "bob", "carol", "dora"))
    root = ada.group("root")
    below = ada.group("below", parent=root)
    ada.invite(bob, root, "viewer")
    ada.invite(carol, below, "viewer")
    ada.invite(dora, below, ada.role("group.read"))
    ok(carol.put("/user", {"gender": "f", "name": "Carol"}))
    ok(carol.put("/user/vendorToken", {"token": "her phone"}))

    whole = ok(carol.get("/user/me"))
    public = {name: value for name, value in whole.items() if name not in PRIVATE}
    for person in (ada, bob, world.operator, ada.app_client(root)):
        assert ok(person.get("/user", userId=carol.id)) == public
    # Visibility goes down the tree, not up, and requires member.read.
    assert ok(carol.get("/user", userId=dora.id))["id"] == dora.id
    refused(carol.get("/user", userId=bob.id), 404, "userId")
    refused(dora.get("/user", userId=carol.id), 404, "userId")
    refused(world.person("eve").get("/user", userId=carol.id), 404, "userId")
    for unknown in ("usr_nobody", carol.client_id, root, "'"):
        refused(ada.get("/user", userId=unknown), 404, "userId")
    refused(ada.get("/user"), 400, "userId")
    refused(ada.get("/user", userId=""), 400, "userId")
    ok(ada.delete("/group/user", groupId=below, userId=carol.id))
    refused(bob.get("/user", userId=carol.id), 404, "userId")


def test_an_app_client_is_not_a_user(world: World) -> None:
    ada = world.person("ada")
    group = ada.group()
    app = ada.app_client(group)
    before = world.everything()
    refused(app.get("/user/me"), 403)
    refused(app.put("/user", {"name": "App"}), 403)
    refused(app.put("/user/vendorToken", {"token": "phone"}), 403)
    refused(app.delete("/user/vendorToken", token="phone"), 403)
    refused(app.post("/user", {"email": "x@example.com", "lastName": "X"}), 403)
    refused(app.get("/user", userId=app.id), 404, "userId")
    assert world.everything() == before
    assert [each["id"] for each in walk(app.get, path="/user/groups")] == [group]


# --- create ---


def test_operators_create_users_with_firstname_in_lower_case(world: World) -> None:
    body = {"email": "Grace@Example.com", "lastName": "Hopper", "firstname": "Grace"}
    created = ok(world.operator.post("/user", body))
    assert created.pop("createdAt") == created.pop("updatedAt")
    assert created == {
        "id": created["id"],
        "email": "Grace@Example.com",
        "name": "Grace Hopper",
        "firstName": "Grace",
        "lastName": "Hopper",
    }
    assert ok(world.operator.get("/user", userId=created["id"]))["firstName"] == "Grace"
    # The other spelling is an unknown field.
    body = {"email": "alan@example.com", "lastName": "Turing", "firstName": "Alan"}
    created = ok(world.operator.post("/user", body))
    assert "firstName" not in created
    assert created["name"] == "Turing"

    before = world.everything()
    for same in ("Grace@Example.com", "grace@example.com", "GRACE@EXAMPLE.COM"):
        refused(world.operator.post("/user", {"email": same, "lastName": "X"}), 409, "email")
    assert world.everything() == before


def test_only_operators_create_users_and_the_address_is_validated(world: World) -> None:
    ada = world.person("ada")
    ada.group()
    before = world.everything()
    body = {"email": "new@example.com", "lastName": "New"}
    refused(ada.post("/user", body), 403)
    # Other callers do not learn which users exist.
    refused(ada.post("/user", {**body, "email": "chief@example.com"}), 403)
    refused(world.nobody.post("/user", body), 401)
    for wrong in ("", "a", "ada", "a@", "@b", "a b@c", "a@b@c", "a@b\n", "x" * 65 + "@b", 7, None):
        refused(world.operator.post("/user", {**body, "email": wrong}), 400, "email")
    refused(world.operator.post("/user", {}), 400, "email", "lastName")
    refused(world.operator.post("/user", {"firstname": 1}), 400, "email", "lastName", "firstname")
    assert world.everything() == before


def test_credentials_are_issued_for_a_created_user(world: World) -> None:
    body = {"email": "ada@example.com", "lastName": "Lovelace", "firstname": "Ada"}
    created = ok(world.operator.post("/user", body))
    ada = world.person("ada")
    assert ada.id == created["id"]
    assert ok(ada.get("/user/me"))["name"] == "Ada Lovelace"


# --- push tokens ---


@pytest.mark.both_engines
def test_the_push_token_registered_last_is_the_one_shown(world: World) -> None:
    ada = world.person("ada")
    body = {"token": "phone-token", "deviceName": "Ada's phone"}
    phone = ok(ada.put("/user/vendorToken", body))
    assert phone == {
        "token": "phone-token",
        "type": "fcm",
        "createdAt": phone["createdAt"],
        "createdBy": ada.id,
        "deviceName": "Ada's phone",
        "enabled": True,
    }
    assert ok(ada.get("/user/me"))["devices"] == phone

    world.clock.let_pass(seconds=1)
    subscription = '{"endpoint":"https://push.example/1","keys":{}}'
    browser = ok(ada.put("/user/vendorToken", {"token": subscription}))
    assert (browser["token"], browser["type"]) == (subscription, "webpush")
    assert "deviceName" not in browser
    assert ok(ada.get("/user/me"))["devices"] == browser
    assert ok(ada.put("/user", {}))["devices"] == browser

    world.clock.let_pass(seconds=1)
    registered = ok(ada.put("/user/vendorToken", {"token": "phone-token"}))
    assert registered["createdAt"] > browser["createdAt"] > phone["createdAt"]
    assert "deviceName" not in registered  # registering again replaces it
    assert ok(ada.get("/user/me"))["devices"] == registered
    assert len(world.list_rows("push_token")) == 2

    removed = ok(ada.delete("/user/vendorToken", token="phone-token"))
    assert removed["value"] is True and removed["message"]
    assert ok(ada.get("/user/me"))["devices"] == browser
    refused(ada.delete("/user/vendorToken", token="phone-token"), 404, "token")
    ok(ada.delete("/user/vendorToken", token=subscription))
    assert "devices" not in ok(ada.get("/user/me"))


def test_a_push_token_moves_to_the_user_who_registers_it_last(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    ok(ada.put("/user/vendorToken", {"token": "shared phone", "deviceName": "hers"}))
    refused(bob.delete("/user/vendorToken", token="shared phone"), 404, "token")
    assert ok(ada.get("/user/me"))["devices"]["createdBy"] == ada.id

    world.clock.let_pass(seconds=1)
    moved = ok(bob.put("/user/vendorToken", {"token": "shared phone"}))
    assert moved["createdBy"] == bob.id
    assert ok(bob.get("/user/me"))["devices"] == moved
    assert "devices" not in ok(ada.get("/user/me"))
    refused(ada.delete("/user/vendorToken", token="shared phone"), 404, "token")
    ok(bob.delete("/user/vendorToken", token="shared phone"))


def test_push_tokens_are_validated_and_sealed_at_rest(world: World) -> None:
    ada = world.person("ada")
    before = world.everything()
    bad: list[Any] = ["", None, 7, ["phone"], "x" * 4_097, "a\x00b"]
    for wrong in bad:
        refused(ada.put("/user/vendorToken", {"token": wrong}), 400, "token")
    refused(ada.put("/user/vendorToken", {"deviceName": 1}), 400, "token", "deviceName")
    refused(ada.delete("/user/vendorToken"), 400, "token")
    refused(ada.delete("/user/vendorToken", token="never seen"), 404, "token")
    assert world.everything() == before

    longest = "t0ken-" + "x" * 4_090
    for token in ("fcm:APA91b-very-telling", longest, "späti 🚲"):
        assert ok(ada.put("/user/vendorToken", {"token": token}))["token"] == token
        assert ok(ada.get("/user/me"))["devices"]["token"] == token
        assert token not in every_row(world)
        world.clock.let_pass(seconds=1)
    assert "ada@example.com" in every_row(world)  # the rows do contain plain text elsewhere
    world.restart()
    assert ok(ada.get("/user/me"))["devices"]["token"] == "späti 🚲"
    ok(ada.delete("/user/vendorToken", token=longest))
