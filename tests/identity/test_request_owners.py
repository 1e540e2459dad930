"""On whose account requests go: whoever has many groups, app clients or users is one owner."""

import pytest

from longwire.identity import groups, tokens
from longwire.model import SYSTEM, Actor
from longwire.store.database import Tx
from longwire.store.identity import credentials, request_owners
from tests.world import Person, World, ok


def owner_of(world: World, person: Person) -> str:
    """The owner for whom the requests of a token count."""
    assert person.token is not None
    digest = world.database.context.keyring.digest(person.token)
    found = world.read(lambda tx: credentials.get_token_actor(tx, digest))
    assert found is not None
    return found[0].caller.owner


def owner_of_user(world: World, user_id: str) -> str:
    actor = world.read(lambda tx: credentials.get_actor(tx, "user", user_id))
    assert actor is not None
    return actor.caller.owner


def owner_of_group(world: World, group: str) -> str:
    return world.read(lambda tx: request_owners.get_owner_id(tx, group))


def invite(person: Person, email: str, group: str) -> str:
    """Invite somebody, who does not accept yet; their id."""
    body = {"email": email, "groupId": group, "roleId": "administrator"}
    return str(ok(person.put("/group/invite", body))["userId"])


def accept(world: World, user_id: str, group: str) -> None:
    def work(tx: Tx) -> None:
        groups.accept_invitations(tx, Actor("user", user_id), [group])

    world.write(work)


@pytest.mark.engine_free
def test_groups_app_clients_and_tokens_count_for_who_created_the_group(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    root, other = ada.group(), ada.group()
    ok(ada.put("/group", {"groupId": root, "roleId": "administrator"}))
    client = ada.app_client(root)
    below = client.group(parent=root)
    callers = [ada, client, ada.app_client(other), ada.app_client(below)]
    assert {owner_of(world, caller) for caller in callers} == {ada.id}
    token = ok(ada.get("/group", groupId=below))[0]["token"]
    digest = world.database.context.keyring.digest(token)
    network = world.read(lambda tx: groups.authenticate_network(tx, digest))
    assert network.caller == (ada.id, below)

    # A member counts for themself, with what they create in groups of others; so do their groups.
    ada.invite(bob, root, "administrator")
    own = bob.group(parent=root)
    assert {owner_of(world, bob), owner_of(world, bob.app_client(own))} == {bob.id}
    # Handing a group over moves no requests onto somebody else's account.
    ok(ada.put("/group", {"groupId": root, "ownerId": bob.id}))
    assert owner_of(world, client) == ada.id


@pytest.mark.engine_free
def test_each_tree_that_an_operator_has_created_is_an_owner(world: World) -> None:
    first, second = world.operator.group(), world.operator.group()
    below = world.operator.group(parent=first)
    owners = [owner_of_group(world, group) for group in (first, below, second)]
    assert owners == [f"group {first}", f"group {first}", f"group {second}"]
    assert owner_of(world, world.operator) == world.operator.id
    client = world.operator.app_client(below)
    assert owner_of(world, client) == f"group {first}"
    assert owner_of_user(world, invite(world.operator, "new@example.org", below)) == owners[0]
    # Moved into another tree, it counts with that, also for those who are known already.
    ok(world.operator.put("/group", {"groupId": below, "parent": second}))
    assert owner_of(world, client) == owner_of_group(world, below) == f"group {second}"


@pytest.mark.engine_free
def test_whoever_invites_users_into_being_has_no_more_turns(world: World) -> None:
    mallory = world.person("mallory")
    group = mallory.group()
    first = invite(mallory, "first@example.org", group)
    assert owner_of_user(world, first) == mallory.id
    accept(world, first, group)

    def work(tx: Tx) -> tuple[str, str]:
        actor = credentials.get_actor(tx, "user", first)
        assert actor is not None
        own = groups.create(tx, actor, None, name="own", description=None, tags=()).group.id
        view = groups.invite(tx, actor, "second@example.org", own, "administrator")
        return own, view.user_id

    own, second = world.write(work)
    assert owner_of_group(world, own) == owner_of_user(world, second) == mallory.id
    accept(world, second, own)
    assert owner_of_user(world, second) == mallory.id


@pytest.mark.engine_free
def test_an_invitation_that_nobody_accepted_makes_nobody_one_of_the_inviters(world: World) -> None:
    ada, mallory = world.person("ada"), world.person("mallory")
    hostile, home = mallory.group(), ada.group()
    user = invite(mallory, "carl@example.org", hostile)
    assert invite(ada, "carl@example.org", home) == user
    assert owner_of_user(world, user) == mallory.id
    accept(world, user, home)
    assert owner_of_user(world, user) == ada.id
    # Those who were there by themselves count for themselves, whatever they accept.
    ada.invite(mallory, home, "viewer")
    assert owner_of(world, mallory) == mallory.id


@pytest.mark.engine_free
def test_whom_the_operator_gives_credentials_counts_for_themself(world: World) -> None:
    mallory = world.person("mallory")
    user = invite(mallory, "dora@example.org", mallory.group())
    world.write(lambda tx: tokens.issue_credential(tx, SYSTEM, "dora@example.org"))
    assert owner_of_user(world, user) == user
