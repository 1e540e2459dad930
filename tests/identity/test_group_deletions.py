"""Deleting groups: empty ones at once, others with everything in them after a grace period."""

import asyncio
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from longwire.delivery.channels import ChannelPolicy, get_or_create_channel
from longwire.identity import group_deletions
from longwire.model import ChannelPurpose
from longwire.process import maintenance
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.records import record_deletion
from tests.tracing import traced
from tests.world import KINDS, World, nothing_happens, ok, refused, walk

HOUR_S = 3_600
NOWHERE = "http://127.0.0.1:9/"  # nobody listens there: messages wait for a retry


def clean_up(world: World) -> None:
    """What the background task does every half minute, twice: purging waits a minute."""

    async def run() -> None:
        await maintenance.delete_groups(world.database)
        await maintenance.delete_old_deliveries(world.database, 30)
        await maintenance._run_in_batches(world.database, record_deletion.delete_erased)

    for _ in range(2):
        asyncio.run_coroutine_threadsafe(run(), world._loop).result(timeout=120)
        world.clock.let_pass(seconds=61)
    asyncio.run_coroutine_threadsafe(run(), world._loop).result(timeout=120)


@pytest.mark.slow
def test_an_empty_group_is_deleted_at_once(world: World) -> None:
    ada, bob, carl, eve = (world.person(name) for name in ("ada", "bob", "carl", "eve"))
    root = ada.group("root")
    group = ada.group("group", parent=root)
    ada.invite(bob, group, "administrator")
    ada.invite(carl, root, "administrator")
    client = bob.app_client(group)
    token = ok(ada.get("/group", groupId=group))[0]["token"]
    with nothing_happens(world):
        refused(bob.delete("/group", groupId=group), 403)  # the company has a say
        refused(client.delete("/group", groupId=group), 403)
        refused(carl.delete("/group", groupId=root), 403)  # only the owner
        refused(ada.delete("/group", groupId=root), 409)  # not empty
        refused(eve.delete("/group", groupId=group), 404, "groupId")
        refused(ada.delete("/group"), 400, "groupId")
        refused(ada.delete("/group", groupId=group, recursive="perhaps"), 400, "recursive")
    deleted = ok(carl.delete("/group", groupId=group))
    assert (deleted["id"], "deletionAt" in deleted) == (group, False)
    assert world.audit()[-1] == (carl.id, "group.delete", group)
    for person in (ada, bob, carl, world.operator):
        refused(person.get("/group", groupId=group), 400, "groupId")
        refused(person.delete("/group", groupId=group), 404, "groupId")
    assert client.get("/user/groups").status_code == 401
    posted = world.http.post("/network/ttn", json={}, headers={"Authorization": f"Bearer {token}"})
    assert posted.status_code == 401
    assert ok(bob.get("/user/groups"))["items"] == []
    ok(ada.delete("/group", groupId=root))
    clean_up(world)
    rows = world.everything()
    assert rows["device_group"] == rows["group_path"] == rows["member"] == rows["app_client"] == []


def test_what_a_request_adds_while_its_group_is_deleted_goes_with_the_group(world: World) -> None:
    ada = world.person("ada")
    doomed = ada.group("doomed")
    role = {
        **{"group_id": doomed, "user_id": ada.id, "role_id": "member"},
        **{"created_at": 1, "updated_at": 1},
    }
    client = {
        **{"id": "app_late", "group_id": doomed, "name": "late", "sealed_secret": ""},
        **{"secret_digest": b"late", "created_at": 1, "updated_at": 1, "created_by": ada.id},
    }

    policy = {"group_id": doomed, "policy": "{}", "updated_at": 1, "updated_by": ada.id}

    def add_late(tx: Tx) -> None:
        """What was authorized before the deletion, and committed after it."""
        tx.execute(schema.app_client.insert(), client)
        tx.execute(schema.member.insert(), role)
        tx.execute(schema.configuration_policy.insert(), policy)
        get_or_create_channel(
            tx, ChannelPurpose.MAIL, f"mail:{doomed}", doomed, "email", ChannelPolicy()
        )

    ok(ada.delete("/group", groupId=doomed))
    world.write(add_late)
    clean_up(world)
    clean_up(world)
    rows = world.everything()
    assert rows["device_group"] == rows["app_client"] == rows["member"] == rows["channel"] == []
    assert rows["configuration_policy"] == []


@pytest.mark.engine_free
def test_another_administrator_cannot_move_a_root_group_to_where_he_could_delete_it(
    world: World,
) -> None:
    ada, carl = world.person("ada"), world.person("carl")
    root, home = ada.group("root"), carl.group("home")
    ada.device(root)
    ada.invite(carl, root, "administrator")
    with nothing_happens(world):
        refused(carl.delete("/group", groupId=root, recursive=True), 403)
        moved = refused(carl.put("/group", {"groupId": root, "parent": home}), 403)
        assert "owner" in moved["detail"]
    # The owner hands it over, or moves it herself.
    ok(ada.put("/group", {"groupId": root, "ownerId": carl.id}))
    ok(carl.put("/group", {"groupId": root, "parent": home}))


@pytest.mark.engine_free
def test_a_branch_cannot_cancel_its_deletion_by_the_company(world: World) -> None:
    ada, bob = world.person("ada"), world.person("bob")
    company = ada.group("company")
    branch = ada.group("branch", parent=company)
    ada.device(branch)
    ada.invite(bob, branch, "administrator")
    deletion_at = ok(ada.delete("/group", groupId=branch, recursive=True))["deletionAt"]
    refused(bob.post("/group/restore", {"groupId": branch}), 403)
    assert ok(bob.get("/group", groupId=branch))[0]["deletionAt"] == deletion_at
    ok(ada.post("/group/restore", {"groupId": branch}))


@pytest.mark.slow
def test_a_group_with_content_is_deleted_after_a_grace_period_that_can_be_cancelled(
    make_world: Callable[..., World],
) -> None:
    world = make_world(token_lifetime_s=10**8, group_deletion_grace_hours=48)
    ada, eve = world.person("ada"), world.person("eve")
    kept, doomed = ada.group("kept"), ada.group("doomed")
    below = ada.group("below", parent=doomed)
    elsewhere = ada.device(kept)
    devices = [ada.device(below) for _ in range(3)]
    ada.invite(eve, below, ada.role("group.read", name="only here"))
    ada.app_client(below)
    connector = ada.connector(below, NOWHERE, params={"subgroups": True})
    ada.notification(doomed, NOWHERE)
    grant = {"group_id": below, "network": "chirpstack", "created_at": 0}
    world.write(lambda tx: tx.execute(schema.downlink_grant.insert(), grant))
    traced_message = {"group_id": below, "first_seq": 1, "last_seq": 1, "sealed": b"body"}
    world.write(lambda tx: tx.execute(schema.reception.insert(), traced_message))
    for kind in KINDS:
        for device in devices:
            ada.reports(device, kind)
    # One device leaves: its records from before belong to the group that is deleted.
    transfer = {"deviceId": devices[0], "groupId": below, "toGroupId": kept}
    ok(ada.put("/device/transfer", transfer))
    ada.reports(devices[0], timestamp="2026-03-02T12:00:00Z")

    refused(ada.delete("/group", groupId=doomed), 409)
    shown = ok(ada.delete("/group", groupId=doomed, recursive=True))
    assert ok(ada.delete("/group", groupId=doomed, recursive=True)) == shown
    assert ok(ada.get("/group", groupId=doomed))[0]["deletionAt"] == shown["deletionAt"]
    assert "deletionAt" not in ok(ada.post("/group/restore", {"groupId": doomed}))
    refused(ada.post("/group/restore", {"groupId": doomed}), 409)
    world.clock.let_pass(seconds=49 * HOUR_S)
    clean_up(world)
    assert len(ada.records(devices[1])) == 1  # cancelled

    ok(ada.delete("/group", groupId=doomed, recursive=True))
    world.clock.let_pass(seconds=47 * HOUR_S)
    clean_up(world)
    ok(eve.get("/group", groupId=below))  # until then everything works
    world.clock.let_pass(seconds=2 * HOUR_S)
    clean_up(world)

    for person in (ada, eve, world.operator):
        refused(person.get("/group", groupId=below), 400, "groupId")
        refused(person.get("/device", deviceId=devices[1]), 404, "deviceId")
    refused(ada.get("/connector", connectorId=connector, groupId=below), 400, "groupId")
    # Nothing of it is left, and what is elsewhere is untouched.
    after = world.everything()
    for name in ("delivery", "notification", "connector", "erasure"):
        assert after[name] == [], name
    for name, table in schema.metadata.tables.items():
        columns = [column.name for column in table.columns]
        if "group_id" in columns and name in after:
            at = columns.index("group_id")
            found = {row[at] for row in after[name]} - {None}  # device types of everybody
            assert set(map(str, found)) <= {kept}, name
    assert [str(row[0]) for row in after["device_group"]] == [kept]
    assert len(after["record_data"]) == 1
    assert [each["timestamp"][:10] for each in ada.records(devices[0])] == ["2026-03-02"]
    assert {each["id"] for each in walk(lambda **q: ada.get("/group/roles", **q))} == {
        *("administrator", "manager", "member", "viewer")
    }
    ok(ada.get("/device", deviceId=elsewhere))
    actions = [(actor, action) for actor, action, which in world.audit() if which == doomed]
    assert actions[-4:] == [
        (ada.id, "group.scheduleDeletion"),
        (ada.id, "group.cancelDeletion"),
        (ada.id, "group.scheduleDeletion"),
        ("system", "group.delete"),
    ]


@pytest.mark.engine_free
def test_a_group_with_many_connectors_and_roles_takes_no_more_statements_than_one_with_few(
    make_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_S", 3_600)  # the test deletes by itself
    world = make_world(token_lifetime_s=10**8)
    ada = world.person("ada")
    people = [world.person(f"member{number}") for number in range(6)]
    kept = ada.group("kept")
    elsewhere = ada.role("group.read", name="elsewhere")
    ada.invite(people[0], kept, elsewhere)

    def make_group(size: int) -> str:
        group = ada.group(f"of {size}")
        ada.invite(people[0], group, elsewhere)
        for person in people[1:size]:
            ada.invite(person, group, ada.role("group.read", name=f"of {person.id} in {group}"))
        for _ in range(size):
            ada.connector(group, NOWHERE)
            ada.notification(group, NOWHERE)
        return group

    def delete_next(tx: Tx) -> int:
        with traced(tx) as statements:
            assert group_deletions.delete_due(tx)
        return len(statements)

    counts = []
    for size in (2, 6):
        group = make_group(size)
        ok(ada.delete("/group", groupId=group, recursive=True))
        world.clock.let_pass(seconds=1_000 * HOUR_S)
        counts.append(world.write(delete_next))
        refused(ada.get("/group", groupId=group), 400, "groupId")
    assert counts[0] == counts[1]
    assert world.write(group_deletions.delete_due) == 0
    channels = schema.channel
    there = sa.select(channels.c.id).where(channels.c.deleted_at.is_(None) | channels.c.is_enabled)
    assert world.read(lambda tx: tx.rows(there)) == []
    left = {each["id"] for each in walk(lambda **q: ada.get("/group/roles", **q))}
    assert left == {*("administrator", "manager", "member", "viewer"), elsewhere}
