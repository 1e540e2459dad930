"""Slots on PostgreSQL: who has which, and that a commit holds one."""

import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from longwire.backup import operations
from longwire.backup.repository import Repository
from longwire.blobs import FolderStore
from longwire.clock import SECOND, Clock
from longwire.delivery.engine import engine as engine_module
from longwire.fleet.summaries import SummaryWork
from longwire.process.startup import build_database, prepare
from longwire.settings import Settings
from longwire.store import schema, slots
from longwire.store.database import Cluster, NodeRole
from longwire.store.delivery import dead_letters, deliveries, delivery_leases
from longwire.store.engines import node_lease, slot_count
from longwire.store.engines.slot_count import COUNTS, SlotsFixed
from longwire.store.fleet import redecoding, reporting_devices
from longwire.store.records import (
    arrived_records,
    record_deletion,
    record_pages,
    record_scans,
    records,
)
from tests.conftest import LOOPBACK, PostgresServer
from tests.delivery.receiver import Receiver, StubResponse
from tests.process import longwire
from tests.waiting import PATIENCE_S, eventually
from tests.world import (
    CITUS_URL,
    KINDS,
    AdjustableClock,
    Person,
    World,
    copy_data_folder,
    ok,
    record_of,
    refused,
)

SLOTS = 4
SLOTTED = [
    table.name
    for table in schema.metadata.sorted_tables
    if schema.SLOT_BY in table.info and "slot" not in table.c
]

MakeSettings = Callable[..., Settings]
MakeNode = Callable[..., World]


@pytest.fixture
def make_settings(
    postgres: PostgresServer, postgres_template: tuple[Path, str], tmp_path: Path
) -> Iterator[MakeSettings]:
    """Settings with a new database, of which the slots are chosen."""
    if CITUS_URL:
        pytest.skip("the slots of a distributed database are fixed")
    folder, template = postgres_template
    names: list[str] = []

    def make(count: int = SLOTS) -> Settings:
        names.append(postgres.create(template))
        data = copy_data_folder(folder, tmp_path / names[-1])
        url = postgres.url(names[-1])
        settings = Settings(data=data, database=url, database_connections=6, egress_allow=LOOPBACK)
        database, _ = build_database(settings, Clock())
        database.upgrade(lambda tx: slot_count.change(tx, count))
        database.close()
        return settings

    yield make
    for name in names:
        postgres.drop(name)


@pytest.fixture
def start() -> Iterator[MakeNode]:
    """Starts processes, and stops them afterwards."""
    worlds: list[World] = []

    def make(settings: Settings) -> World:
        worlds.append(World(settings, AdjustableClock(), is_prepared=True))
        return worlds[-1]

    yield make
    for world in worlds:
        world.stop()


def query(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(settings.database, autocommit=True) as connection:
        return connection.execute(sql).fetchall()  # type: ignore[call-overload]


def make_fleet(ada: Person, group: str, count: int = 12) -> list[str]:
    return [ada.device(group) for _ in range(count)]


def slot_of(device_id: str, count: int = SLOTS) -> int:
    return slots.bucket_of(device_id) % count


def read_slots(settings: Settings) -> dict[str, set[tuple[str, int]]]:
    """(device, slot) of all rows that say of which device they are, by table."""
    found = {"device": set(query(settings, "select id, slot from device"))}
    for name in SLOTTED:
        by = schema.metadata.tables[name].info[schema.SLOT_BY]
        if by == "device_id":
            found[name] = set(query(settings, f"select device_id, slot from {name}"))
        elif by == "device_number":
            joined = f"select d.id, t.slot from {name} t join device d on d.number = t.{by}"
            found[name] = set(query(settings, joined))
    return found


def read_slots_by_transaction(settings: Settings) -> dict[int, set[int]]:
    """The slots of the rows that each transaction has written last."""
    found: dict[int, set[int]] = defaultdict(set)
    for name in SLOTTED:
        for transaction, slot in query(settings, f"select cast(xmin as text), slot from {name}"):
            found[int(transaction)].add(slot)
    return found


def test_a_fleet_in_several_slots_works_as_in_one(
    make_settings: MakeSettings, start: MakeNode
) -> None:
    settings = make_settings()
    world = start(settings)
    ada = world.person()
    group = ada.group()
    fleet = make_fleet(ada, group)
    assert len({slot_of(each) for each in fleet}) > 1
    with Receiver() as receiver:
        connector = ada.connector(group, receiver.url)
        with ThreadPoolExecutor(8) as pool:
            kinds = [(device, kind) for device in fleet for kind in KINDS if kind != "data"]
            list(pool.map(lambda each: ada.reports(*each), kinds))
            # The summaries of the present hour are not due yet, and those of another one are.
            present = {"timestamp": world.clock.now() // SECOND, "data": '{"moisture": 17}'}
            list(pool.map(lambda each: ada.reports(each, "data", **present), fleet))
        past = present | {"timestamp": "2026-03-02T12:00:00Z"}
        # A request with devices of several slots is stored as a whole, or not at all.
        batch = [record_of(each, "data", **past) for each in fleet]
        ok(ada.post("/device/data/batch", {"items": batch}))
        unknown = record_of("dev_nobody", "data")
        assert ada.post("/device/data/batch", {"items": [*batch[:3], unknown]}).status_code == 404
        repeated = ok(ada.post("/device/data/batch", {"items": batch}))
        assert (repeated["stored"], repeated["duplicates"]) == (0, len(fleet))
        receiver.wait_for(len(fleet) * 5)
        eventually(lambda: len(ada.events(group, connector)["items"]) == len(fleet) * 5)
        open_count = "select count(*) from delivery where state <> 2"
        eventually(lambda: query(settings, open_count) == [(0,)])
    assert len(set(receiver.ids)) == len(receiver.ids) == len(fleet) * 5
    for device in fleet:
        assert [len(ada.records(device, kind)) for kind in KINDS] == [2, 1, 1, 1]
    arrivals = ok(ada.get("/group/records", groupId=group, limit=100))["items"]
    assert len(arrivals) == len(fleet) * 5
    world._run(SummaryWork(world.database).run_round())
    for name, rows in read_slots(settings).items():
        assert rows, name
        assert all(slot == slot_of(device) for device, slot in rows), name
    moved = ada.group("elsewhere")
    transfer = {"deviceId": fleet[0], "groupId": group, "toGroupId": moved}
    ok(ada.put("/device/transfer", transfer))
    assert all(slot == slot_of(device) for device, slot in read_slots(settings)["device_stay"])


def test_a_commit_of_records_and_a_settled_delivery_hold_one_slot(
    make_settings: MakeSettings, start: MakeNode
) -> None:
    settings = make_settings()
    world = start(settings)
    ada = world.person()
    group = ada.group()
    fleet = make_fleet(ada, group, 24)
    before = {
        each for (each,) in query(settings, "select cast(xmin as text)::bigint from device_state")
    }
    with Receiver() as receiver:
        ada.connector(group, receiver.url)
        with ThreadPoolExecutor(12) as pool:
            sent = [(device, "data", n) for n in range(4) for device in fleet]
            list(
                pool.map(
                    lambda each: ada.reports(
                        each[0], each[1], timestamp=f"2026-03-01T12:00:0{each[2]}Z"
                    ),
                    sent,
                )
            )
        receiver.wait_for(len(sent))
        open_count = "select count(*) from delivery where state < 2"
        eventually(lambda: query(settings, open_count) == [(0,)])
    written = read_slots_by_transaction(settings)
    assert {slot for found in written.values() for slot in found} == set(range(SLOTS))
    several = {key: found for key, found in written.items() if len(found) > 1}
    assert several.keys() <= before, several  # the devices were made by one request each


HOT_STATEMENTS = {
    *("REQUEUE", "LIST_DUE_CHANNELS", "CLAIM", "SUCCEED", "RETRY", "FAIL", "FAIL_AND_KEEP"),
    *("RELEASE", "LOCK_ORPHANED_LEASES", "RESEND", "EXPIRE", "PRUNE"),
    *("LIST_DATA", "LIST_DATA_AFTER", "LIST_DATA_SIZES", "LIST_DATA_SIZES_AFTER", "UPDATE_BODY"),
}


def statements() -> Iterator[tuple[str, Any]]:
    for module in (records, record_scans, record_deletion, arrived_records):
        for name, value in vars(module).items():
            if isinstance(value, dict) and value and name.isupper() and name != "LIST_ARRIVED":
                yield f"{module.__name__}.{name}", next(iter(value.values()))
    for module in (deliveries, delivery_leases, dead_letters, redecoding):
        for name, value in vars(module).items():
            if name in HOT_STATEMENTS:
                yield name, value
    for ascending in (True, False):
        for has_predecessor in (True, False):
            for template in (record_pages._LIST_PAGE, record_pages._LIST_SIZES):
                page = record_pages._build_statement(template, "data", ascending, has_predecessor)
                yield "a page of records", page
    for each in (
        reporting_devices.LOCK_REPORTING,
        reporting_devices.LOCK_COUNTERS,
        delivery_leases.LOCK_LEASES_OF_DEAD_NODES,
    ):
        yield "in one slot", each


def test_every_hot_statement_names_its_slot_on_postgresql_and_none_on_sqlite() -> None:
    found = list(statements())
    assert {name for name, _ in found} >= HOT_STATEMENTS
    assert len(found) > 35
    for name, statement in found:
        assert re.search(r"\bslot = (:slot\b|any\(:slots\)|[a-z]\.slot\b)", statement.postgres), (
            name
        )
        assert "slot =" not in statement.sqlite, name


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 70])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("total", [1, 2, 16])
def test_processes_divide_the_slots_of_every_channel(nodes: int, count: int, total: int) -> None:
    roles = {number * 3: NodeRole.SERVE for number in range(nodes)}
    clusters = [Cluster(number, roles) for number in roles]
    for channel in range(4):
        shares = [each.get_share(channel, total) for each in clusters]
        taken = [each.list_slots(channel, total, count) for each in clusters]
        assert {slot for found in taken for slot in found} == set(range(count))
        assert all(bool(found) == bool(share) for found, share in zip(taken, shares, strict=True))
        sizes = [len(found) for found, share in zip(taken, shares, strict=True) if share]
        assert max(sizes) - min(sizes) <= 1
        if len(sizes) <= count:
            assert sum(sizes) == count  # nobody has one of another


def test_each_process_sends_what_is_in_its_slots_and_another_one_takes_them_over(
    make_settings: MakeSettings, start: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_lease, "RENEWAL_INTERVAL_S", 0.1)
    monkeypatch.setattr(node_lease, "LEASE_S", PATIENCE_S)  # nobody is slower than that
    monkeypatch.setattr(engine_module, "SCANS_PER_FULL_SCAN", 10**9)
    settings = make_settings()
    first, second = start(settings), start(settings)
    for world in (first, second):
        eventually(lambda: len(world.database.cluster.delivering) == 2)  # noqa: B023 (it is called right here)
    ada = first.person()
    group = ada.group()
    fleet = make_fleet(ada, group)
    claimed: dict[World, set[int]] = {first: set(), second: set()}

    def note(world: World) -> None:
        apply = world.app.engine._apply

        def noting(result: Any, slot: int, lease: Any) -> None:
            claimed[world].update([slot] if any(result.claimed.values()) else [])
            apply(result, slot, lease)

        monkeypatch.setattr(world.app.engine, "_apply", noting)

    note(first)
    note(second)
    with Receiver() as receiver:
        ada.connector(group, receiver.url)
        for device in fleet:
            ada.reports(device)
        receiver.wait_for(len(fleet))
        assert claimed[first] | claimed[second] == {slot_of(each) for each in fleet}
        assert not claimed[first] & claimed[second]
        # Somebody who stops leaves all slots to the other.
        receiver.respond_with(StubResponse())
        ada.world = second
        first.stop()
        monkeypatch.setattr(first, "stop", lambda: None)
        for device in fleet:
            ada.reports(device, timestamp="2026-03-05T12:00:00Z")
        receiver.wait_for(2 * len(fleet))
        assert claimed[second] == {slot_of(each) for each in fleet}


def test_a_slot_whose_messages_nobody_sends_is_named(
    make_settings: MakeSettings, start: MakeNode
) -> None:
    world = start(replace(make_settings(), delivery=False))
    ada = world.person()
    group = ada.group()
    device = ada.device(group)
    connector = ada.connector(group, "http://127.0.0.1:9/")
    ada.reports(device)
    assert ok(world.http.get("/health/ready")) == {"status": "ok"}
    world.clock.let_pass(seconds=61)
    slot = slot_of(device)
    eventually(lambda: world.http.get("/health/ready").json().get("slots") == f"lagging: {slot}")
    assert world.http.get("/health/ready").status_code == 200
    lines = world.http.get("/metrics").text.splitlines()
    queued = {line for line in lines if line.startswith("longwire_slot_queued")}
    assert queued == {
        f'longwire_slot_queued{{slot="{each}"}} {float(each == slot)}' for each in range(SLOTS)
    }
    # What waits for somebody to enable its connector again does not wait for a process.
    ok(ada.put("/connector", {"groupId": group, "connectorId": connector, "enabled": False}))
    eventually(lambda: "slots" not in world.http.get("/health/ready").json())
    assert queued < set(world.http.get("/metrics").text.splitlines())


# --- how many ---


def open_and_prepare(settings: Settings) -> None:
    database, save_key = build_database(settings, Clock())
    try:
        prepare(database, settings, save_key)
    finally:
        database.close()


def test_the_setting_has_to_be_what_the_database_has(
    make_settings: MakeSettings, tmp_path: Path
) -> None:
    settings = make_settings(2)
    open_and_prepare(settings)
    open_and_prepare(replace(settings, database_slots=2))
    with pytest.raises(SlotsFixed, match=r"has 2 slots.*longwire migrate --slots 8"):
        open_and_prepare(replace(settings, database_slots=8))
    with pytest.raises(SlotsFixed, match="power of two"):
        open_and_prepare(replace(settings, database_slots=3))
    with pytest.raises(SlotsFixed, match="one writer"):
        open_and_prepare(Settings(data=tmp_path / "sqlite", database_slots=2))


def test_stored_records_get_other_slots_while_nobody_uses_them(
    make_settings: MakeSettings, start: MakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(1)
    world = start(settings)
    ada = world.person()
    group = ada.group()
    fleet = make_fleet(ada, group)
    with Receiver() as receiver:
        ada.connector(group, receiver.url)
        for device in fleet:
            ada.reports(device)
        receiver.wait_for(len(fleet))
    command = ("migrate", "--data", str(settings.data), "--database", settings.database)
    refused = longwire(*command, "--slots", "8", cwd=tmp_path)
    assert refused.returncode != 0
    assert "stop all of them" in refused.stderr
    world.stop()
    monkeypatch.setattr(world, "stop", lambda: None)
    assert longwire(*command, "--slots", "8", cwd=tmp_path).returncode == 0
    found = read_slots(settings)
    assert all(found[name] for name in ("device", "device_state", "record_data", "delivery"))
    for name, rows in found.items():
        assert all(slot == slot_of(device, 8) for device, slot in rows), name
    again = start(settings)
    ada.world = again
    assert again.database.slots == 8
    for device in fleet:
        assert len(ada.records(device)) == 1
        ada.reports(device)  # is known
        assert len(ada.records(device)) == 1


def test_a_process_that_stood_still_while_the_slots_were_changed_writes_nothing(
    make_settings: MakeSettings, start: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew = node_lease.NodeLease._renew
    is_stopped, stands_still, may_go_on = (threading.Event() for _ in range(3))

    def stand_still(self: node_lease.NodeLease, session: Any) -> bool:
        if is_stopped.is_set():
            stands_still.set()
            may_go_on.wait(60)
        return renew(self, session)

    monkeypatch.setattr(node_lease, "RENEWAL_INTERVAL_S", 0.05)
    monkeypatch.setattr(node_lease.NodeLease, "_renew", stand_still)
    settings = make_settings(1)
    world = start(settings)
    ada = world.person()
    device = ada.device(ada.group())
    is_stopped.set()
    assert stands_still.wait(60)
    query(settings, "update node set until_at = 0 returning number")  # as after ten seconds
    database, _ = build_database(settings, Clock())
    database.upgrade(lambda tx: slot_count.change(tx, SLOTS))
    database.close()
    may_go_on.set()
    eventually(lambda: world.database.broken is not None)
    refused(ada.post("/device/data", record_of(device)), 503)


def test_a_backup_is_restored_into_any_number_of_slots(
    make_settings: MakeSettings, start: MakeNode, postgres: PostgresServer, tmp_path: Path
) -> None:
    settings = make_settings()
    world = start(settings)
    ada = world.person()
    group = ada.group()
    fleet = make_fleet(ada, group)
    for device in fleet:
        ada.reports(device)
    repository = Repository(FolderStore(tmp_path / "backups"))
    made = operations.make_backup(settings, repository, includes_key=True)
    for chosen, count in ((0, SLOTS), (2, 2), (1, 1)):
        name = postgres.create()
        place = Settings(
            data=tmp_path / name,
            database=postgres.url(name),
            database_slots=chosen,
            egress_allow=LOOPBACK,
        )
        operations.restore(place, repository, made.manifest)
        for table, rows in read_slots(place).items():
            assert all(slot == slot_of(device, count) for device, slot in rows), table
        if chosen == 2:
            restored = start(place)
            ada.world = restored
            assert restored.database.slots == count
            assert [len(ada.records(device)) for device in fleet] == [1] * len(fleet)
            ada.reports(ada.device(group, originalId="another"))
            assert all(slot == slot_of(each, 2) for each, slot in read_slots(place)["record_data"])
            restored.stop()
            restored.stop = lambda: None  # type: ignore[method-assign]
        postgres.drop(name)
