"""Bring a database to today's schema; cheap when it is there already.

An empty SQLite gets the tables of `schema` at once, any other database the steps in `migrations`
that it lacks. Both lead to the same tables; a test compares them. Alembic, which runs the steps, is
large, so it is imported only when there is one to run.

The processes of two releases may serve one database while one after the other is upgraded: the
newer one notes in the database from which step on older code works with its tables.
"""

import functools
import importlib
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from longwire.errors import OperatorError
from longwire.store import instance, schema
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx

# The table that Alembic keeps the step in; a database that was never prepared has none.
_REVISION = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32), nullable=False),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
# The newest step of the previous release, whose code works with today's tables as well.
PREVIOUS_RELEASE = "0001"
COMPATIBLE_FROM = "schema_compatible_from"  # the fact that tells the code of that release
_STEP_FILE = re.compile(r"v([0-9]{4})_\w+\.py")


class DatabaseTooNew(OperatorError):
    """The database was made by a newer longwire than this one."""


def upgrade(tx: Tx) -> list[str]:
    """Create the tables, or run the missing steps; the steps that the database now has."""
    if _is_newer_and_compatible(tx):
        return []
    missing = missing_steps(tx)
    if not missing:
        return []
    if get_current_revision(tx.connection) is None and not tx.is_postgres:
        _create_tables(tx, missing[-1])
    else:
        _run_steps(tx.connection, "head")
    return missing


def _create_tables(tx: Tx, revision: str) -> None:
    """What all steps together make, in an empty SQLite."""
    schema.metadata.create_all(tx.connection, checkfirst=False)
    epochs = [{"name": name, "epoch": 0} for name in cache_epochs.NAMES]
    tx.execute(schema.cache_epoch.insert(), epochs)
    _REVISION.create(tx.connection)
    tx.execute(_REVISION.insert().values(version_num=revision))


def note_compatibility(tx: Tx) -> None:
    """Let the code of the previous release use this database."""
    instance.save_fact(tx, COMPATIBLE_FROM, PREVIOUS_RELEASE)


def _is_newer_and_compatible(tx: Tx) -> bool:
    """Whether the next release has upgraded the database, and this one can still serve it."""
    known = _known_steps()
    here = get_current_revision(tx.connection)
    if here is None or here in known:
        return False
    return instance.get_fact(tx, COMPATIBLE_FROM) in known


def upgrade_to(tx: Tx, revision: str) -> None:
    """Make the tables of a revision in an empty database."""
    if revision not in missing_steps(tx):
        raise DatabaseTooNew(
            f"The step {revision} is of a newer version of longwire than this one; use that."
        )
    _run_steps(tx.connection, revision)


def missing_steps(tx: Tx) -> list[str]:
    """The steps between the database and today's schema."""
    known = _known_steps()
    here = get_current_revision(tx.connection)
    if here is not None and here not in known:
        raise DatabaseTooNew(
            f"The database is at step {here}, which this version of longwire does not know. "
            "It was used by a newer version; run that one."
        )
    return list(known[known.index(here) + 1 :] if here else known)


def get_current_revision(connection: sa.Connection) -> str | None:
    """The step that the database is at; None if it is empty."""
    if not sa.inspect(connection).has_table(_REVISION.name):
        return None
    return connection.execute(sa.select(_REVISION.c.version_num)).scalar()


def get_steps_folder() -> Path:
    return Path(str(resources.files("longwire.store") / "migrations"))


@functools.cache
def _known_steps() -> Sequence[str]:
    """The steps of this version, the first one first. The name of a file begins with its step."""
    names = (path.name for path in (get_steps_folder() / "versions").iterdir())
    return tuple(sorted(found[1] for found in map(_STEP_FILE.fullmatch, names) if found))


def _run_steps(connection: sa.Connection, revision: str) -> None:
    """Run steps in the transaction of the connection, which has asked for the revision before.

    On a connection that has done nothing yet Alembic would begin a transaction, and commit it.
    """
    # Imported on demand: it is large, and almost no start has a step to run.
    command: Any = importlib.import_module("alembic.command")
    config: Any = importlib.import_module("alembic.config").Config()
    config.set_main_option("script_location", str(get_steps_folder()).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
