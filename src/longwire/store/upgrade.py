"""Bring a database to today's schema; cheap when it is there already."""

import functools
from importlib import resources

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from longwire.errors import OperatorError
from longwire.store.database import Tx


class DatabaseTooNew(OperatorError):
    """The database was made by a newer longwire than this one."""


def upgrade(tx: Tx) -> list[str]:
    """Run the missing steps; which ones were run."""
    missing = missing_steps(tx)
    if missing:
        command.upgrade(alembic_config(tx.connection), "head")
    return missing


def upgrade_to(tx: Tx, revision: str) -> None:
    """Make the tables of a revision in an empty database."""
    if revision not in _known_steps():
        raise DatabaseTooNew(
            f"The step {revision} is of a newer version of longwire than this one; use that."
        )
    command.upgrade(alembic_config(tx.connection), revision)


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


@functools.cache
def _known_steps() -> tuple[str, ...]:
    """The steps of this version, the first one first."""
    script = ScriptDirectory.from_config(alembic_config())
    return tuple(step.revision for step in reversed(list(script.walk_revisions())))


def get_current_revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def alembic_config(connection: sa.Connection | None = None) -> Config:
    config = Config()
    folder = resources.files("longwire.store") / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
