"""From any earlier shape of a database to today's: all of the way, once, or not at all."""

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from longwire.clock import Clock
from longwire.process import startup
from longwire.seal import KEY_BYTES, Keyring
from longwire.settings import Settings
from longwire.store import migrations, schema
from longwire.store.database import Database, Tx
from longwire.store.engines import sqlite, upgrade
from longwire.store.engines.postgres import UPGRADE_LOCK
from longwire.store.schema.base import NAMING
from tests.conftest import PostgresServer
from tests.process import longwire
from tests.waiting import eventually
from tests.world import World, not_on_citus, ok

Opened = Callable[[Settings], Database]


@pytest.fixture
def empty(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Settings]:
    """Settings with a database that nothing has ever been put into."""
    if engine == "sqlite":
        yield Settings(data=tmp_path / "data")
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    name = server.create()
    yield Settings(data=tmp_path / "data", database=server.url(name))
    server.drop(name)


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens databases that are closed afterwards."""
    databases: list[Database] = []

    def open_one(settings: Settings) -> Database:
        databases.append(startup.build_database(settings, Clock())[0])
        return databases[-1]

    yield open_one
    for database in databases:
        database.close()


@pytest.fixture
def release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str], pytest.MonkeyPatch]:
    """Makes this longwire a later release, with one more step."""
    folder = tmp_path / "migrations"

    def make(upgrade_body: str, revision: str = "9999") -> pytest.MonkeyPatch:
        shutil.copytree(Path(migrations.__file__).parent, folder)
        step = dedent(
            """
            import sqlalchemy as sa
            from alembic import op

            revision = "{revision}"
            down_revision = "{latest}"


            def upgrade() -> None:
            """
        ).format(revision=revision, latest=latest_step())
        body = "".join(f"    {line}\n" for line in dedent(upgrade_body).strip().splitlines())
        (folder / "versions" / f"v{revision}_news.py").write_text(step + body)

        monkeypatch.setattr(upgrade, "get_steps_folder", lambda: folder)
        monkeypatch.setattr(upgrade, "_known_steps", upgrade._known_steps.__wrapped__)
        return monkeypatch

    return make


def latest_step() -> str:
    steps = Path(migrations.__file__).parent / "versions"
    return max(step.name[1:5] for step in steps.glob("v*.py"))


def prepare(settings: Settings) -> startup.PreparationResult:
    database, save_key = startup.build_database(settings, Clock())
    try:
        return startup.prepare(database, settings, save_key)
    finally:
        database.close()


def tables(database: Database) -> set[str]:
    return database.upgrade(lambda tx: set(sa.inspect(tx.connection).get_table_names()))


# --- the tables that the steps arrive at ---


ONLY_ON_POSTGRESQL = {
    *("seen_hour", "ix_device_state_seen"),
    *("number_rank", "ix_current_value_number_rank"),
}
# An index that differs: on PostgreSQL what is due is looked for in a slot.
DUE_ON_POSTGRESQL = ["channel_number", "slot", "due_at", "seq"]


def is_slotted(table: sa.Table | None) -> bool:
    """Whether a table has a slot on PostgreSQL alone."""
    return table is not None and schema.SLOT_BY in table.info and "slot" not in table.c


def partitions(tx: Tx) -> set[str]:
    """Tables that are a piece of another one."""
    if not tx.is_postgres:
        return set()
    return {row[0] for row in tx.rows(sa.text("select inhrelid::regclass::text from pg_inherits"))}


def differences(
    database: Database, wanted: sa.MetaData, only: Container[str | None] | None = None
) -> list[Any]:
    """What would have to be changed to get from the database to the wanted tables.

    `only` names the tables that are compared: reading all of them takes long.
    """

    def is_left_out(name: str | None, kind: str) -> bool:
        return kind == "table" and only is not None and name not in only

    def work(tx: Tx) -> list[Any]:
        left_out = partitions(tx) | ONLY_ON_POSTGRESQL
        if tx.is_postgres:
            left_out.add("ix_delivery_due")

        def is_compared(name: str | None, kind: str, parents: Any) -> bool:
            if tx.is_postgres and kind == "column" and name == "slot":
                return not is_slotted(wanted.tables.get(parents["table_name"]))
            # The months come and go while the service runs; their shape is their parent's.
            return name not in left_out and not is_left_out(name, kind)

        options = {
            "compare_type": True,
            "compare_server_default": True,
            "include_name": is_compared,
            "include_object": lambda item, name, kind, *_: (
                name not in left_out and not is_left_out(name, kind)
            ),
        }
        context = MigrationContext.configure(tx.connection, opts=options)
        found = sa.inspect(tx.connection)
        keys = [
            ("primary key", table.name)
            for table in wanted.sorted_tables
            if not is_left_out(table.name, "table")
            and found.has_table(table.name)
            and found.get_pk_constraint(table.name)["constrained_columns"]
            != [
                *(column.name for column in table.primary_key.columns),
                *(["slot"] if tx.is_postgres and is_slotted(table) else []),
            ]
        ]
        if tx.is_postgres:
            indexes = {each["name"]: each for each in found.get_indexes("delivery")}
            assert indexes["ix_delivery_due"]["column_names"] == DUE_ON_POSTGRESQL
        return compare_metadata(context, wanted) + keys

    return database.upgrade(work)


def copy_of_the_tables() -> sa.MetaData:
    copy = sa.MetaData(naming_convention=NAMING)
    for table in schema.metadata.tables.values():
        table.to_metadata(copy)
    return copy


# The tables that the functions below change.
CHANGED = {"member", "device_group", "credential", "pigeon"}


def another_column(tables: sa.MetaData) -> None:
    tables.tables["member"].append_column(sa.Column("nickname", sa.Text))


def another_table(tables: sa.MetaData) -> None:
    sa.Table("pigeon", tables, sa.Column("id", sa.Text, primary_key=True))


def another_type(tables: sa.MetaData) -> None:
    tables.tables["device_group"].c.name.type = sa.BigInteger()


def another_default(tables: sa.MetaData) -> None:
    column = tables.tables["device_group"].c.device_count
    column.server_default = sa.DefaultClause("7")


def another_necessity(tables: sa.MetaData) -> None:
    tables.tables["device_group"].c.name.nullable = False


def another_index(tables: sa.MetaData) -> None:
    sa.Index("ix_member_role_id_user_id", *(tables.tables["member"].c[n] for n in ("role_id",)))


def another_reference(tables: sa.MetaData) -> None:
    tables.tables["credential"].append_constraint(
        sa.ForeignKeyConstraint(["client_id"], ["app_client.id"])
    )


def another_key(tables: sa.MetaData) -> None:
    member = tables.tables["member"]
    tables.remove(member)
    columns = [
        sa.Column(each.name, each.type, primary_key=each.name == "user_id", nullable=each.nullable)
        for each in member.columns
    ]
    sa.Table("member", tables, *columns)


def test_the_steps_arrive_at_exactly_the_tables_of_the_schema(
    empty: Settings, opened: Opened
) -> None:
    database = opened(empty)
    database.upgrade(lambda tx: upgrade.upgrade_to(tx, latest_step()))
    pieces = database.upgrade(partitions)
    assert bool(pieces) == (database.engine_name == "postgresql")
    assert differences(database, schema.metadata) == []
    # And the comparison sees every kind of difference, so that its silence means something.
    assert differences(database, copy_of_the_tables(), CHANGED) == []
    for change in (
        another_column,
        another_table,
        another_type,
        another_default,
        another_necessity,
        another_index,
        another_reference,
        another_key,
    ):
        changed = copy_of_the_tables()
        change(changed)
        assert differences(database, changed, CHANGED) != [], f"{change.__name__} went unnoticed"


SHAPE = (
    "select m.name, c.* from sqlite_master m, pragma_table_xinfo(m.name) c",
    "select type, name, tbl_name, sql from sqlite_master",
)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)  # the other one runs the steps
def test_an_empty_database_gets_the_same_tables_without_the_steps(
    empty: Settings, opened: Opened
) -> None:
    database = opened(empty)

    def describe(tx: Tx) -> list[Any]:
        """The shape of everything, and all rows."""
        queries = [sa.text(query) for query in SHAPE]
        names = sorted({*schema.metadata.tables, "alembic_version"})
        queries += [sa.text(f"select * from {name}") for name in names]
        return [sorted(repr(comparable(row)) for row in tx.rows(query)) for query in queries]

    def comparable(row: sa.Row[Any]) -> list[Any]:
        """Without the order of the text of a table, where a new column is behind all conditions."""
        return [
            sorted(each.strip(" \t()") for each in re.split(r"[\n,]", value) if each.strip(" \t)"))
            if "\n" in str(value)
            else value
            for value in row
        ]

    def compare(tx: Tx) -> tuple[list[Any], list[Any]]:
        upgrade.upgrade_to(tx, latest_step())
        by_steps = describe(tx)
        for name in [*schema.metadata.tables, "alembic_version"]:
            tx.execute(sa.text(f"drop table {name}"))
        assert upgrade.upgrade(tx)[-1] == latest_step()
        return by_steps, describe(tx)

    by_steps, at_once = database.upgrade(compare)
    for expected, found in zip(by_steps, at_once, strict=True):
        assert found == expected


def test_every_reference_has_an_index() -> None:
    """Deleting what it points to would else read the whole table for each row."""
    missing = [
        f"{table.name}.{column.name}"
        for table in schema.metadata.sorted_tables
        for column in (reference.parent for reference in table.foreign_keys)
        if not any(
            next(iter(each.columns)) is column
            for each in (table.primary_key, *_list_uniques(table), *table.indexes)
        )
    ]
    assert missing == []


def _list_uniques(table: sa.Table) -> list[sa.UniqueConstraint]:
    return [each for each in table.constraints if isinstance(each, sa.UniqueConstraint)]


def test_the_names_of_the_files_are_the_steps_in_their_order() -> None:
    config = Config()
    config.set_main_option("script_location", str(upgrade.get_steps_folder()))
    steps = reversed(list(ScriptDirectory.from_config(config).walk_revisions()))
    assert [step.revision for step in steps] == list(upgrade._known_steps())


# --- running them ---


def test_an_empty_database_is_brought_up_to_date_once(empty: Settings) -> None:
    first = prepare(empty)
    assert first.steps[0] == "0001"
    assert first.steps[-1] == latest_step()
    assert first.operator is not None
    second = prepare(empty)
    assert second.steps == []
    assert second.operator is None


def test_a_later_release_runs_only_its_own_steps_which_an_earlier_one_does_not_know(
    settings: Settings, opened: Opened, release: Callable[..., pytest.MonkeyPatch]
) -> None:
    database = opened(settings)
    later = release("op.create_table('news', sa.Column('id', sa.Text(), primary_key=True))")
    assert database.upgrade(upgrade.upgrade) == ["9999"]
    assert database.upgrade(upgrade.upgrade) == []
    assert "news" in tables(database)

    later.undo()
    with pytest.raises(upgrade.DatabaseTooNew, match=r"9999.*newer version"):
        database.upgrade(upgrade.missing_steps)


@not_on_citus("a foreign key is dropped there")
def test_a_step_that_fails_midway_leaves_the_database_as_it_was(
    settings: Settings, opened: Opened, release: Callable[..., pytest.MonkeyPatch]
) -> None:
    database = opened(settings)
    before = tables(database)
    release(
        """
        op.create_table("news", sa.Column("id", sa.Text(), primary_key=True))
        op.add_column("member", sa.Column("nickname", sa.Text()))
        op.execute("update member set role_id = role_id")
        op.execute("drop table of_the_year_2000")
        """
    )
    with pytest.raises(sa.exc.DBAPIError, match="of_the_year_2000"):
        database.upgrade(upgrade.upgrade)
    assert tables(database) == before
    assert differences(database, schema.metadata) == []
    assert database.upgrade(lambda tx: upgrade.get_current_revision(tx.connection)) == latest_step()


def test_a_first_start_that_cannot_write_its_credentials_leaves_no_table(
    empty: Settings, opened: Opened
) -> None:
    (empty.data / "operator.json" / "in the way").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        prepare(empty)
    assert tables(opened(empty)) == set()

    shutil.rmtree(empty.data / "operator.json")
    assert prepare(empty).operator is not None


def test_a_step_may_rebuild_a_table_that_others_point_to(
    make_world: Callable[..., World], release: Callable[..., pytest.MonkeyPatch]
) -> None:
    world = make_world()
    ada = world.person("ada")
    parent = ada.group("above")
    ada.group("below", parent=parent)
    before = world.everything()
    groups = ok(ada.get("/user/groups"))

    release(
        """
        with op.batch_alter_table("device_group", recreate="auto") as table:
            table.alter_column("tags", existing_type=sa.Text(), nullable=True)
        """
    )
    world.restart()
    assert world.everything() == before
    assert ok(ada.get("/user/groups")) == groups
    # The references are watched again once the step is done.
    with pytest.raises(Exception, match="conflicts with something"):
        world.write(lambda tx: tx.execute(sa.delete(schema.user).where(schema.user.c.id == ada.id)))


def test_processes_that_start_at_once_on_one_empty_postgresql_found_it_once(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    name = postgres.create()
    shared = {"LONGWIRE_DATABASE": postgres.url(name), "LONGWIRE_SECRET_KEY": "5a" * 32}
    queue = "select count(*) from pg_locks where locktype = 'advisory' and not granted"

    def migrate(number: int) -> subprocess.CompletedProcess[str]:
        data = str(tmp_path / f"machine-{number}")
        return longwire("migrate", "--json", "--data", data, cwd=tmp_path, **shared)

    with ThreadPoolExecutor(4) as pool:
        with psycopg.connect(postgres.url(name), autocommit=True) as gate:
            gate.execute("select pg_advisory_lock(%s)", [UPGRADE_LOCK])
            starting = [pool.submit(migrate, number) for number in range(4)]
            eventually(lambda: gate.execute(queue).fetchone() == (4,))
        ended = [each.result() for each in starting]
    assert [each.returncode for each in ended] == [0, 0, 0, 0], ended
    prepared = [json.loads(each.stdout) for each in ended]
    assert sorted(each["bootstrapped"] for each in prepared) == [False, False, False, True]
    ran = [each["steps"] for each in prepared if each["steps"]]
    assert len(ran) == 1, "each step is run by one of them alone"
    kept = list(tmp_path.glob("machine-*/operator.json"))
    assert len(kept) == 1, "only the founder has credentials to keep"
    postgres.drop(name)


def test_whoever_starts_at_once_in_one_empty_folder_goes_on_with_the_one_key_that_is_kept(
    empty: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_MS", 600_000)
    many = 4
    all_without_a_key = threading.Barrier(many)
    thought_of: list[bytes] = []

    def new_key() -> bytes:
        all_without_a_key.wait(timeout=60)
        thought_of.append(os.urandom(KEY_BYTES))
        return thought_of[-1]

    def start(_: int) -> tuple[bool, str]:
        database, prepared = startup.open_prepared_database(empty, Clock())
        database.close()
        return prepared.operator is not None, database.context.keyring.fingerprint

    monkeypatch.setattr(startup, "new_key", new_key)
    with ThreadPoolExecutor(many) as processes:
        started = list(processes.map(start, range(many)))
    assert len(thought_of) == many, "none had seen the key of another"
    assert sorted(founded for founded, _ in started) == [False] * (many - 1) + [True]
    kept = bytes.fromhex((empty.data / "secret.key").read_text())
    assert {fingerprint for _, fingerprint in started} == {Keyring(kept).fingerprint}
    assert (empty.data / "secret.key").stat().st_mode & 0o777 == 0o600
    assert list(empty.data.glob("*.part")) == []


def test_a_key_that_another_database_has_put_into_the_folder_meanwhile_is_not_overwritten(
    empty: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = empty.data / "secret.key"

    def new_key() -> bytes:
        path.parent.mkdir(exist_ok=True)
        path.write_text("5a" * KEY_BYTES)
        return os.urandom(KEY_BYTES)

    monkeypatch.setattr(startup, "new_key", new_key)
    database, prepared = startup.open_prepared_database(empty, Clock())
    database.close()
    assert prepared.operator is not None
    assert path.read_text() == "5a" * KEY_BYTES
    assert database.context.keyring.fingerprint == Keyring(b"\x5a" * KEY_BYTES).fingerprint


def test_a_step_that_leaves_rows_pointing_to_nothing_is_taken_back(
    make_world: Callable[..., World], release: Callable[..., pytest.MonkeyPatch]
) -> None:
    world = make_world()
    ada = world.person("ada")
    ada.group()
    before = world.everything()
    release(
        """
        op.create_table("news", sa.Column("id", sa.Text(), primary_key=True))
        op.execute("delete from device_group")
        """
    )
    with pytest.raises((RuntimeError, sa.exc.IntegrityError), match=r"device_group|group_path"):
        prepare(world.settings)
    assert world.everything() == before
