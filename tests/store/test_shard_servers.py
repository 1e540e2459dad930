"""Commits of records straight on the server that has their slot.

On an ordinary PostgreSQL: the server of the slots is the same one, so a commit has two connections
to it, as it has to a coordinator and a worker of Citus. With these it is in `tests/cluster`.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from structlog.testing import capture_logs

from longwire.errors import Unavailable
from longwire.settings import Settings
from longwire.store import postgres as postgres_store
from longwire.store.arrival_horizon import ANNOUNCEMENTS
from longwire.store.database import Tx
from longwire.store.postgres import Postgres
from longwire.store.postgres_connections import cut_after
from longwire.store.postgres_errors import translate
from longwire.store.postgres_pipeline import StatementPipeline
from longwire.store.shard_servers import GET_IDENTITY, ShardPool, ShardServers
from tests.waiting import eventually
from tests.world import World, not_on_citus, record_of

LOCKED_DEVICES = """
select count(*)
from pg_locks l
join pg_class c
    on c.oid = l.relation
where c.relname = 'device'
    and l.mode = 'RowShareLock'
"""

ANNOUNCED = f"select count(*) from pg_locks where classid = {ANNOUNCEMENTS} and objsubid = 2"

# A commit waits until nobody else has this lock, as it waits for a standby that stalls.
STALL_COMMITS = """
create function stall() returns trigger language plpgsql set lock_timeout = 0 as $$
begin
    perform pg_advisory_xact_lock_shared(4711);
    return null;
end
$$;
create constraint trigger stall after insert on arrival deferrable initially deferred
for each row execute function stall();
"""
IDLE_TIMEOUT = """
select setting
from pg_settings
where name = 'idle_in_transaction_session_timeout'
"""
STALLED = "select count(*) from pg_locks where classid = 0 and objid = 4711 and not granted"


@pytest.fixture
def engine() -> str:
    return "postgresql"


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return replace(settings, database_direct=True)


def get_shards(world: World) -> ShardServers:
    database = world.database
    assert isinstance(database, Postgres)
    assert database._shards is not None
    return database._shards


@pytest.fixture
def shards(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[ShardServers]:
    shards = get_shards(world)
    monkeypatch.setattr("longwire.store.shard_servers.LEFT_FOR_S", 0.0)
    engine = shards._create_engine(shards._connector)
    with psycopg.connect(world.settings.database) as connection:
        address = connection.info.host, connection.info.port
    shards._by_slot = dict.fromkeys(range(world.database.slots), ShardPool(address, engine))
    yield shards
    engine.dispose()


def run(world: World, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.settings.database) as connection:
        return connection.execute(sql).fetchall()  # type: ignore[call-overload, no-any-return]


@not_on_citus("it may have workers")
def test_a_database_without_workers_is_not_asked_for_them(world: World) -> None:
    shards = get_shards(world)
    assert shards.find(0) is None
    assert not shards._thread.is_alive()


@not_on_citus("it is refreshed by its thread")
def test_a_failure_without_words_is_logged_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shards = get_shards(world)
    failures = [OSError(), OSError(), OSError("in words")]

    def fail() -> bool:
        shards._stale.set()
        failure = failures.pop(0)
        if not failures:
            shards._closing.set()
        raise failure

    monkeypatch.setattr(shards, "_refresh", fail)
    monkeypatch.setattr("longwire.store.shard_servers.LEFT_FOR_S", 0.0)
    with capture_logs() as logs:
        shards._run()
    assert [each["error"] for each in logs] == ["OSError", "in words"]


def test_records_are_committed_on_the_server_of_their_slot(
    world: World, shards: ShardServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)  # by the way that knows everything: permissions were not cached
    assert shards.status.direct == 0
    seen: list[str] = []
    monkeypatch.setattr(StatementPipeline, "observe", seen.append)
    ada.reports(device, timestamp=1)
    ada.reports(device, timestamp=2)
    assert shards.status.direct == 2
    assert any("insert into arrival" in each for each in seen)
    assert len(ada.records(device)) == 3
    assert run(world, LOCKED_DEVICES) == [(0,)], "the devices are not locked any more"
    ada.reports(device, timestamp=2)  # once more
    assert len(ada.records(device)) == 3


def test_a_commit_that_needs_more_than_its_slot_is_made_where_everything_is(
    world: World, shards: ShardServers
) -> None:
    ada = world.person("ada")
    group = ada.group()
    device = ada.device(group)
    ada.reports(device)
    ada.reports(device, timestamp=1)
    assert shards.status.direct == 1
    ada.connector(group, "http://127.0.0.1:1/")  # which the next commit has to read
    ada.reports(device, timestamp=2)
    assert shards.status.direct == 1
    ada.reports(device, timestamp=3)
    assert shards.status.direct == 2
    assert run(world, "select count(*) from delivery") == [(2,)]


def test_an_operator_sees_what_was_committed_where(world: World, shards: ShardServers) -> None:
    def read(name: str) -> dict[str, float]:
        found = re.findall(rf'{name}{{\w+="(\w+)"}} (.+)', world.http.get("/metrics").text)
        return {label: float(value) for label, value in found}

    ada = world.person("ada")
    device = ada.device(ada.group())
    for number in range(3):
        ada.reports(device, timestamp=number)
    assert read("longwire_citus_commits_total") == {"direct": 2, "declined": 1}
    assert read("longwire_citus_workers") == {"used": 1, "left": 0}
    shards._placed = {pool.address for pool in shards._by_slot.values()}
    shards._by_slot = {}
    ada.reports(device, timestamp=3)
    assert read("longwire_citus_commits_total") == {"direct": 2, "declined": 2}
    assert read("longwire_citus_workers") == {"used": 0, "left": 1}


@not_on_citus("whose workers are looked for meanwhile")
def test_a_server_that_is_gone_is_left_and_nothing_is_lost(
    world: World, shards: ShardServers
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)
    connector = shards._connector.at(("127.0.0.1", 1))  # nobody listens there
    pool = ShardPool(("127.0.0.1", 1), shards._create_engine(connector))
    shards._by_slot = dict.fromkeys(shards._by_slot, pool)
    ada.reports(device, timestamp=1)
    assert shards.status.direct == 0
    assert shards.find(0) is None
    assert len(ada.records(device)) == 2
    assert shards._stale.is_set(), "and is looked for again"


def watch_commits(monkeypatch: pytest.MonkeyPatch) -> list[Tx]:
    """The transactions that are about to commit."""
    seen: list[Tx] = []
    commit = postgres_store._commit

    def watched(connection: Any, transaction: Any, tx: Tx) -> None:
        seen.append(tx)
        commit(connection, transaction, tx)

    monkeypatch.setattr(postgres_store, "_commit", watched)
    return seen


@not_on_citus("distributed tables have no triggers")
def test_what_a_commit_holds_is_held_until_the_server_of_the_slot_has_settled_it(
    world: World, shards: ShardServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)
    with psycopg.connect(world.settings.database, autocommit=True) as other:
        other.execute(STALL_COMMITS)
        other.execute("select pg_advisory_lock(4711)")
        seen = watch_commits(monkeypatch)
        with ThreadPoolExecutor() as threads:
            request = threads.submit(ada.post, "/device/data", record_of(device, timestamp=1))
            eventually(lambda: run(world, STALLED) == [(1,)])
            with cut_after(seen[0].driver, 0):
                assert request.result().status_code == 503
        assert run(world, STALLED) == [(1,)], "it may still be committed"
        assert run(world, ANNOUNCED) == [(1,)], "so readers in order do not pass it"
        other.execute("select pg_advisory_unlock(4711)")
        eventually(lambda: run(world, ANNOUNCED) == [(0,)])
    assert len(ada.records(device)) == 2
    assert run(world, LOCKED_DEVICES) == [(0,)]
    assert shards.find(0) is None, "until it is found to respond"


def test_the_coordinator_lets_a_commit_take_as_long_as_it_may(
    world: World, shards: ShardServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)
    allowed_ms: list[int] = []
    commit = postgres_store._commit

    def ask(connection: Any, transaction: Any, tx: Tx) -> None:
        if tx.coordinator is not tx:
            allowed_ms.append(int(tx.coordinator.fetch_raw(IDLE_TIMEOUT, {})[0][0]))
        commit(connection, transaction, tx)

    monkeypatch.setattr(postgres_store, "_commit", ask)
    ada.reports(device, timestamp=1)
    assert shards.status.direct == 1
    assert allowed_ms[0] > 2_000 * world.settings.database_timeout_s


def test_a_coordinator_that_fails_is_not_taken_for_its_worker(
    world: World, shards: ShardServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)
    monkeypatch.setattr(postgres_store, "GUARD_TRUSTED_S", 0.0)
    fetch = Tx.fetch_raw
    ended: list[str] = []

    def lose(tx: Tx, sql: str, *values: Any, **options: Any) -> list[tuple[Any, ...]]:
        if sql == "select 1" and not ended:
            ended.append(sql)
            run(world, f"select pg_terminate_backend({tx.driver.info.backend_pid}, 5000)")
        return fetch(tx, sql, *values, **options)

    monkeypatch.setattr(Tx, "fetch_raw", lose)
    ada.reports(device, timestamp=1)
    assert ended
    assert shards.status.direct == 1, "once more, on the same worker"
    assert shards.find(0) is not None
    assert len(ada.records(device)) == 2


def test_connections_to_a_server_that_was_replaced_are_not_used_again(
    world: World, shards: ShardServers
) -> None:
    address = shards._by_slot[0].address
    shards._renew_pools({address: "server 1"})
    before = shards._pools[address]
    with before.engine.connect() as connection:
        pid = connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
    shards._renew_pools({address: "server 1"})
    assert shards._pools[address] is before
    shards._renew_pools({address: "server 2"})  # as after a promotion
    assert shards._pools[address] is not before
    eventually(lambda: run(world, f"select 1 from pg_stat_activity where pid = {pid}") == [])
    shards._renew_pools({})  # the worker was removed
    assert not shards._pools


def test_a_worker_that_failed_while_workers_were_looked_for_is_not_used(
    world: World, shards: ShardServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = shards._by_slot[0]
    host, port = pool.address
    places = f"select 0, '{host}', {port} where %(slots)s > 0"
    known = f"select '{host}', {port}, ({GET_IDENTITY}) where %(command)s <> ''"
    monkeypatch.setattr("longwire.store.shard_servers.LIST_PLACES", places)
    monkeypatch.setattr("longwire.store.shard_servers.GET_IDENTITIES", known)
    assert shards._refresh()
    assert shards.find(0) is not None
    examine = shards._examine

    def fail_meanwhile(*arguments: Any) -> None:
        examine(*arguments)
        shards.drop(pool, OSError("lost"))

    monkeypatch.setattr(shards, "_examine", fail_meanwhile)
    assert not shards._refresh()
    assert shards.find(0) is None
    monkeypatch.setattr(shards, "_examine", examine)
    assert shards._refresh()
    with psycopg.connect(world.settings.database, autocommit=True) as other:
        name = other.info.dbname
        other.execute(f'alter database "{name}" set synchronous_commit = off')
    assert not shards._refresh(), "it may lose what it has confirmed"
    assert shards.find(0) is None


def test_a_coordinator_that_ends_while_it_waits_for_a_worker_is_unavailable() -> None:
    ended = psycopg.errors.InternalError_("postmaster was shut down, exiting")
    assert isinstance(translate(ended), Unavailable)
    other = psycopg.errors.InternalError_("cache lookup failed")
    assert translate(other) is other
