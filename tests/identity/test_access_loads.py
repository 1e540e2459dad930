"""What authorization loads when permissions have changed: the same as ever, by few statements."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from longwire.api.identity.roles import Role as ShownRole
from longwire.api.identity.roles import RoleInput, create_role
from longwire.clock import Clock
from longwire.errors import LongwireError, NotAllowed
from longwire.identity import access, groups, sessions, tokens
from longwire.identity.sessions import SessionRules
from longwire.ingest import storing
from longwire.model import Actor, Membership, Role, SignInMethod
from longwire.process.startup import build_database
from longwire.quotas import Quotas
from longwire.settings import Settings
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.identity import groups as store_groups
from longwire.store.identity import members as store_members
from longwire.store.identity import roles as store_roles
from tests.operations import context_of
from tests.store.test_tree import IDS, forests, in_a_trial, paths_of, plant, way_up
from tests.world import AdjustableClock, World, ok, record_of, refused

PERMISSIONS = ["role.write", "device.read", "device.update", "record.read"]
permission_sets = st.frozensets(st.sampled_from(PERMISSIONS), min_size=1)


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    made, _ = build_database(settings, Clock())
    yield made
    made.close()


class Statements:
    """The statements of a transaction, by the way in which they are run."""

    def __init__(self) -> None:
        self.raw: list[Any] = []
        self.built: list[str] = []  # by SQLAlchemy


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Callable[[Tx], Statements]:
    """Starts to record the statements of one transaction."""
    recorded: dict[Tx, Statements] = {}
    fetch = Tx.fetch

    def fetch_and_note(tx: Tx, statement: Any, **values: Any) -> list[Any]:
        if tx in recorded:
            recorded[tx].raw.append(statement)
        return fetch(tx, statement, **values)

    def start(tx: Tx) -> Statements:
        statements = recorded[tx] = Statements()

        def note(connection: Any, statement: Any, *_: Any) -> None:
            if recorded.get(tx) is statements:
                statements.built.append(str(statement))

        sa.event.listen(tx.connection, "before_execute", note)
        return statements

    monkeypatch.setattr(Tx, "fetch", fetch_and_note)
    return start


# --- the same decisions ---


@pytest.mark.engine_free
@hypothesis_settings(
    max_examples=60,
    deadline=None,
    # Every example is taken back, so one database serves them all.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    forest=forests,
    held=st.lists(permission_sets, min_size=1, max_size=4),
    assigned=st.dictionaries(st.integers(0, len(IDS) - 1), st.integers(0, 3), max_size=6),
    wanted=st.lists(permission_sets, min_size=1, max_size=4),
    cached_max=st.sampled_from([0, 1, 1_000]),
)
def test_any_tree_and_roles_give_what_the_parents_say(
    database: Database,
    forest: tuple[int | None, ...],
    held: list[frozenset[str]],
    assigned: dict[int, int],
    wanted: list[frozenset[str]],
    cached_max: int,
) -> None:
    """Also for somebody who has too many groups for their roles to be cached."""

    def story(tx: Tx) -> None:
        parents = plant(tx, forest)
        tx.cache.changes_auth = True  # nothing is cached
        for number, permissions in enumerate(held):
            store_roles.insert(tx, Role(f"rol_{number}", "", "", tuple(permissions), updated_at=0))
        direct = {IDS[group]: role % len(held) for group, role in assigned.items()}
        for group_id, role in direct.items():
            store_members.MEMBERS.insert(tx, Membership(group_id, "usr_a", f"rol_{role}", 0, 0))
        actor = Actor("user", "usr_a")
        effective: dict[str, frozenset[str]] = {}
        for group_id in IDS:
            path = [each for each in way_up(parents, group_id) if each in direct]
            effective[group_id] = frozenset().union(*(held[direct[each]] for each in path))
            shown = access.get_effective_role(tx, actor, group_id)
            assert shown.permissions == effective[group_id]
            assert shown.role is None or shown.role.id == f"rol_{direct[path[0]]}"
            assert (shown.role is None) == (not path)
        for permissions in wanted:
            # As it was decided once: by a look at each group with a direct role.
            expected = any(permissions <= effective[each] for each in direct)
            assert access.has_in_one_group(tx, actor, permissions) == expected

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(access, "ASSIGNMENTS_CACHED_MAX", cached_max)
        in_a_trial(database, story)


def test_the_paths_of_many_groups_are_those_of_each(database: Database) -> None:
    def story(tx: Tx) -> None:
        parents = plant(tx, (None, 0, 1, 2, None, 4, 4, 6, 7, 8))
        odd = ["999", "01000", "", "٣", "9" * 40]
        paths = store_groups.list_paths(tx, [*IDS, *odd])
        assert paths == {each: store_groups.get_path(tx, each) for each in [*IDS, *odd]}
        assert len(paths_of(parents)) == sum(map(len, paths.values()))

    in_a_trial(database, story)


@pytest.mark.parametrize("cached_max", [2, 1_000])
def test_somebody_with_many_groups_has_their_roles_in_each(
    world: World, monkeypatch: pytest.MonkeyPatch, cached_max: int
) -> None:
    monkeypatch.setattr(access, "ASSIGNMENTS_CACHED_MAX", cached_max)
    ada, bob = world.person("ada"), world.person("bob")
    root = ada.group("root")
    below = [ada.group(f"below {number}", parent=root) for number in range(4)]
    roles_given = ["viewer", "manager", "administrator", "viewer"]
    for group, role in zip(below, roles_given, strict=True):
        ada.invite(bob, group, role)
    for group, role in zip(below, roles_given, strict=True):
        (shown,) = ok(bob.get("/group", groupId=group))
        assert shown["role"]["id"] == role
    refused(bob.get("/group", groupId=root), 400, "groupId")
    refused(bob.put("/group", {"groupId": below[0], "name": "mine"}), 403)
    ok(bob.put("/group", {"groupId": below[2], "name": "mine"}))
    ok(bob.delete("/group/user", groupId=below[3]))
    refused(bob.get("/group", groupId=below[3]), 400, "groupId")
    ok(ada.put("/group/user", {"groupId": below[0], "userId": bob.id, "roleId": "manager"}))
    (shown,) = ok(bob.get("/group", groupId=below[0]))
    assert shown["role"]["id"] == "manager"


# --- few statements ---


def test_all_that_is_loaded_of_a_caller_bypasses_sqlalchemy(
    world: World, record: Callable[[Tx], Statements]
) -> None:
    """A statement that SQLAlchemy builds costs ten times as much as running it."""
    ada = world.person("ada")
    group = ada.group()
    below = ada.group(parent=group)
    client = ada.app_client(group)
    created = world.write(
        lambda tx: sessions.create(
            tx,
            ada.id,
            SignInMethod.LINK,
            address="",
            user_agent="browser",
            rules=SessionRules(),
        )
    )
    (shown,) = ok(ada.get("/group", groupId=group))
    people = [ada, client, world.operator]

    def load_all(tx: Tx) -> None:
        world.database.context.caches.auth.clear()
        statements = record(tx)
        actors = [
            tokens.authenticate_token(tx, tx.keyring.digest(str(person.token)))[0]
            for person in people
        ]
        actors.append(groups.authenticate_network(tx, tx.keyring.digest(shown["token"])))
        session, user = sessions.authenticate(tx, tx.keyring.digest(created.secret))
        assert all(access.get_permissions(tx, actor, below) for actor in actors)
        assert statements.raw
        assert statements.built == []
        assert session == created.session
        assert user == actors[0] == Actor("user", ada.id)
        assert actors[1] == Actor("client", client.id, group_id=group, owner_id=ada.id)
        assert actors[2] == Actor("user", world.operator.id, is_operator=True)
        assert actors[3] == Actor("network", group, group_id=group, owner_id=ada.id)

    world.read(load_all)


def test_a_change_costs_a_caller_five_statements_and_one_for_each_further_group(
    world: World, record: Callable[[Tx], Statements]
) -> None:
    ada = world.person("ada")
    home, *others = (ada.group() for _ in range(4))

    def load(tx: Tx) -> list[int]:
        world.database.context.caches.auth.clear()
        statements = record(tx)
        actor, _ = tokens.authenticate_token(tx, tx.keyring.digest(str(ada.token)))
        access.authorize(tx, actor, "record.create", home)
        counts = [len(statements.raw)]
        for group in others:
            access.authorize(tx, actor, "record.create", group)
        return [*counts, len(statements.raw)]

    assert world.write(load) == [5, 8]


def test_the_paths_of_a_commit_are_loaded_together(
    world: World, record: Callable[[Tx], Statements], monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[Statements] = []
    build_rows = storing.build_rows

    def build_recorded(tx: Tx, *args: Any) -> Any:
        commits.append(record(tx))
        return build_rows(tx, *args)

    ada, bob = world.person("ada"), world.person("bob")
    devices = [ada.device(ada.group(f"group {number}")) for number in range(5)]

    def post(timestamp: int) -> None:
        items = [record_of(device, timestamp=timestamp) for device in devices]
        ok(ada.post("/device/data/batch", {"items": items}))

    post(1_700_000_000_000)
    bob.group()  # empties what is cached of permissions
    monkeypatch.setattr(storing, "build_rows", build_recorded)
    post(1_700_000_000_001)
    (commit,) = commits
    assert commit.raw.count(store_groups.LIST_PATHS) == 1
    assert commit.raw.count(store_groups.GET_PATH) == 0
    assert [len(ada.records(device)) for device in devices] == [2] * 5


@pytest.mark.engine_free
def test_a_new_role_takes_no_more_statements_of_somebody_with_many_groups(
    world: World, record: Callable[[Tx], Statements]
) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    home = ada.group()
    keeper = ada.role("role.write", name="keeper")
    reader = ada.role("device.read", "record.read", name="reader")

    def create(*permissions: str) -> tuple[type | None, int]:
        """What it is refused with, and how many statements it takes."""
        world.database.context.caches.auth.clear()

        def work(tx: Tx) -> tuple[type | None, int]:
            statements = record(tx)
            refusal: type | None = None
            try:
                body = RoleInput(name="made", description="", permissions=list(permissions))
                create_role(context_of(tx, Actor("user", bob.id)), body)
            except LongwireError as error:
                refusal = type(error)
            return refusal, len(statements.raw) + len(statements.built)

        return world.write(work)

    def give(count: int) -> None:
        for _ in range(count):
            ada.invite(bob, ada.group(parent=home), reader)
            ada.invite(bob, ada.group(), keeper)

    give(1)
    wanted = [["role.write"], ["device.read"], ["device.delete"], ["role.write", "record.read"]]
    few = [create(*each) for each in wanted]
    assert [refusal for refusal, _ in few] == [None, NotAllowed, NotAllowed, NotAllowed]
    give(9)
    assert [create(*each) for each in wanted] == few
    # Above all those groups, the role makes up for what it lacks in each.
    ada.invite(bob, home, keeper)
    assert create("role.write", "record.read")[0] is None
    refusal, count = create("device.delete")
    assert (refusal, count) == few[2]


# --- what need not be loaded again ---


def test_a_new_role_evicts_nothing_and_can_be_given_at_once(
    make_world: Callable[..., World], engine: str
) -> None:
    here = make_world()
    ada, bob = here.person("ada"), here.person("bob")
    group = ada.group()
    there = World(here.settings, AdjustableClock()) if engine == "postgresql" else here

    try:
        ok(ada.at(there).get("/group", groupId=group))
        epoch = here.read(cache_epochs.read_epochs).auth
        role = ada.role("group.read", "member.read")
        assert here.read(cache_epochs.read_epochs).auth == epoch
        # By a process that may have cached its creator as they were before.
        body = {"email": here.email_of(bob), "groupId": group, "roleId": role}
        ok(ada.at(there).put("/group/invite", body))
        ok(bob.at(there).get("/group/users", groupId=group))
        refused(bob.at(there).get("/group/devices", groupId=group), 403)
    finally:
        if there is not here:
            there.stop()


def test_roles_created_at_once_stay_within_the_quota(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    ada.group()
    both_counted = threading.Barrier(2)
    count_roles = store_roles.ROLES.count

    def count_and_wait(tx: Tx, **conditions: str) -> int:
        count = count_roles(tx, **conditions)
        with contextlib.suppress(threading.BrokenBarrierError):
            both_counted.wait(0.5)  # nobody else gets here before the commit
        return count

    monkeypatch.setattr(store_roles.ROLES, "count", count_and_wait)

    def work(tx: Tx) -> ShownRole:
        context = context_of(tx, Actor("user", ada.id), Quotas(roles_per_creator_max=1))
        return create_role(
            context, RoleInput(name="made", description="", permissions="group.read")
        )

    async def create_two() -> list[ShownRole | BaseException]:
        both = [world.database.write(work) for _ in range(2)]
        return await asyncio.gather(*both, return_exceptions=True)

    assert sorted(type(each).__name__ for each in world._run(create_two())) == [
        "LimitReached",
        "Role",
    ]
