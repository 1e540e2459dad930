"""While nodes are upgraded one after the other, the code of two releases uses the same tables."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from longwire.clock import Clock
from longwire.process import startup
from longwire.settings import Settings
from longwire.store import instance, schema
from longwire.store.database import Database, Tx
from longwire.store.engines import upgrade
from tests.store import releases
from tests.store.test_migrations import partitions, release

__all__ = ["release"]  # a fixture


def list_breaks(tx: Tx, previous: sa.MetaData, only: Collection[str] = ()) -> list[str]:
    """What the code that was written for other tables would find missing, or in its way.

    Of these tables only, if any are named: reading all of them takes long.
    """
    pieces = partitions(tx)

    def is_compared(name: str | None, kind: str) -> bool:
        return name not in pieces and (kind != "table" or not only or name in only)

    options = {
        "compare_type": True,
        "include_name": lambda name, kind, parents: is_compared(name, kind),
        "include_object": lambda thing, name, kind, *others: is_compared(name, kind),
    }
    context = MigrationContext.configure(tx.connection, opts=options)
    breaks = []
    for found in compare_metadata(context, previous):
        # Changes of one column come as a list.
        for change in found if isinstance(found, list) else [found]:
            breaks += _describe_break(change)
    return breaks


def _describe_break(change: tuple[Any, ...]) -> list[str]:
    """A change that leads from the database back to the tables of before, if it matters."""
    match change:
        case ("add_table", table):
            return [f"{table.name} is gone"]
        case ("add_column", _, table, column):
            return [f"{table}.{column.name} is gone"]
        case ("remove_column", _, table, column):
            is_filled = column.nullable or column.server_default is not None
            is_filled = is_filled or column.computed is not None
            return [] if is_filled else [f"{table}.{column.name} must be given, and is not"]
        case ("modify_type", _, table, column, _, now, before):
            return [f"{table}.{column} is {now!r} instead of {before!r}"]
        case ("modify_nullable", _, table, column, _, is_nullable_now, _):
            return [] if is_nullable_now else [f"{table}.{column} must be given now"]
        case ("remove_index", index) if index.unique:
            return [f"{index.name} must be unique now"]
        case ("remove_constraint" | "remove_fk", constraint):
            return [f"{constraint.name} is a new condition"]
        case _:  # more tables, and what makes something faster or is not required any more
            return []


class _UndoneError(Exception):
    """Leaves the database as it was."""


def breaks_of(database: Database, statement: str) -> list[str]:
    """What a statement of the next release would break in the code of this one."""
    found: list[str] = []

    def work(tx: Tx) -> None:
        tx.execute(sa.text(statement))
        found.extend(list_breaks(tx, schema.metadata, {"device", "member", "pigeon", "thing"}))
        raise _UndoneError

    with pytest.raises(_UndoneError):
        database.upgrade(work)
    return found


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    opened = startup.build_database(settings, Clock())[0]
    yield opened
    opened.close()


def test_the_previous_release_finds_all_that_it_uses(database: Database, tmp_path: Path) -> None:
    """Fails for a step that changes or removes what the previous release still uses."""
    previous = releases.previous_tables(tmp_path)
    assert database.upgrade(lambda tx: list_breaks(tx, previous)) == []


HARMLESS = (
    "create table pigeon (id text primary key)",
    "alter table member add column nickname text",
    "alter table device add column wheels integer not null default 4",
    "create index ix_device_tags on device (tags)",
)
BREAKING = {
    "alter table device drop column original_id": "device.original_id is gone",
    "alter table device rename column name to title": "device.name is gone",
    "alter table device rename to thing": "device is gone",
    "create unique index one_name on device (name)": "one_name must be unique now",
}
BREAKING_POSTGRESQL = {  # SQLite has no such statements
    "alter table device add column colour text not null": (
        "device.colour must be given, and is not"
    ),
    "alter table device alter column reported_digest set not null": (
        "device.reported_digest must be given now"
    ),
    "alter table device alter column stay type bigint": (
        "device.stay is BIGINT() instead of Integer()"
    ),
    "alter table device add constraint own foreign key (id) references user_account (id)": (
        "own is a new condition"
    ),
}


def test_a_step_that_the_previous_release_cannot_live_with_is_found(database: Database) -> None:
    for statement in HARMLESS:
        assert breaks_of(database, statement) == [], statement
    for statement, expected in BREAKING.items():
        assert expected in breaks_of(database, statement), statement
    if database.engine_name == "postgresql":
        for statement, expected in BREAKING_POSTGRESQL.items():
            assert expected in breaks_of(database, statement), statement


def test_the_release_before_is_the_one_of_the_newest_tag(tmp_path: Path) -> None:
    if not releases.run_git("rev-parse", "HEAD"):
        pytest.skip("this is not a git repository")
    assert releases.load_tables("HEAD", tmp_path).tables.keys() >= {"device", "instance"}
    assert releases.list_steps("HEAD")[0] == "0001"
    # A copy of the repository may have no tags, and no history either.
    release = releases.find_previous_tag() or releases.find_newest_in_changelog()
    if release is None:
        assert upgrade.PREVIOUS_RELEASE in releases.list_steps("HEAD")
    else:
        assert releases.list_steps(release)[-1] == upgrade.PREVIOUS_RELEASE


# --- what a release does with a database that the next one has upgraded ---


ADD_TABLE = "op.create_table('news', sa.Column('id', sa.Text(), primary_key=True))"


def test_a_release_serves_what_the_next_one_has_upgraded_and_no_command_changes_it(
    settings: Settings, release: Callable[..., pytest.MonkeyPatch]
) -> None:
    later = release(ADD_TABLE)
    opened, prepared = startup.open_prepared_database(settings, Clock())
    opened.close()
    assert prepared.steps == ["9999"]
    later.undo()
    opened, prepared = startup.open_prepared_database(settings, Clock())
    opened.close()
    assert prepared.steps == []
    with pytest.raises(upgrade.DatabaseTooNew, match=r"9999.*newer version"):
        startup.open_prepared_database(settings, Clock(), requires_current_schema=True)


def test_a_release_does_not_serve_what_a_much_later_one_has_upgraded(
    settings: Settings, release: Callable[..., pytest.MonkeyPatch]
) -> None:
    later = release(ADD_TABLE)
    later.setattr(upgrade, "PREVIOUS_RELEASE", "9998")
    opened, _ = startup.open_prepared_database(settings, Clock())
    fact = opened.upgrade(lambda tx: instance.get_fact(tx, upgrade.COMPATIBLE_FROM))
    opened.close()
    assert fact == "9998"
    later.undo()
    with pytest.raises(upgrade.DatabaseTooNew, match=r"9999.*newer version"):
        startup.open_prepared_database(settings, Clock())
