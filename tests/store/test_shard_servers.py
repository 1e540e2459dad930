"""Commits of records straight on the server that has their slot.

On an ordinary PostgreSQL: the server of the slots is the same one, so a commit has two connections
to it, as it has to a coordinator and a worker of Citus. With these it is in `tests/cluster`.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from longwire.settings import Settings
from longwire.store.postgres import Postgres
from longwire.store.postgres_pipeline import StatementPipeline
from longwire.store.shard_servers import ShardPool, ShardServers
from tests.world import World

LOCKED_DEVICES = """
select count(*)
from pg_locks l
join pg_class c
    on c.oid = l.relation
where c.relname = 'device'
    and l.mode = 'RowShareLock'
"""


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
    shards._by_slot = dict.fromkeys(range(world.database.slots), ShardPool(("", 0), engine))
    yield shards
    engine.dispose()


def run(world: World, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(world.settings.database) as connection:
        return connection.execute(sql).fetchall()  # type: ignore[call-overload, no-any-return]


def test_a_database_without_workers_is_not_asked_for_them(world: World) -> None:
    shards = get_shards(world)
    assert shards.find(0) is None
    assert not shards._thread.is_alive()


def test_records_are_committed_on_the_server_of_their_slot(
    world: World, shards: ShardServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = world.person("ada")
    device = ada.device(ada.group())
    ada.reports(device)  # by the way that knows everything: permissions were not cached
    assert shards.commits == 0
    seen: list[str] = []
    monkeypatch.setattr(StatementPipeline, "observe", seen.append)
    ada.reports(device, timestamp=1)
    ada.reports(device, timestamp=2)
    assert shards.commits == 2
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
    assert shards.commits == 1
    ada.connector(group, "http://127.0.0.1:1/")  # which the next commit has to read
    ada.reports(device, timestamp=2)
    assert shards.commits == 1
    ada.reports(device, timestamp=3)
    assert shards.commits == 2
    assert run(world, "select count(*) from delivery") == [(2,)]


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
    assert shards.commits == 0
    assert shards.find(0) is None
    assert len(ada.records(device)) == 2
