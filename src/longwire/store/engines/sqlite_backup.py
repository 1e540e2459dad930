"""Copies of an embedded database while it is used.

A read transaction holds one snapshot, and its pages are copied in steps. Writers go on meanwhile;
only the write-ahead log grows, because what the snapshot needs cannot be checkpointed.
"""

import sqlite3
from pathlib import Path

from longwire.errors import OperatorError

PAGES_PER_STEP = 2_000
BUSY_TIMEOUT_S = 5.0

TAKE_SNAPSHOT = "select count(*) from sqlite_schema"
QUICK_CHECK = "pragma quick_check(1)"
GET_REVISION = "select version_num from alembic_version"
GET_FACT = "select value from instance where name = ?"


class DamagedDatabase(OperatorError):
    """A file is not a sound database."""


def copy_snapshot(source: Path, target: Path) -> None:
    """Copy what is committed now into a new file."""
    reading = sqlite3.connect(
        f"{source.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_TIMEOUT_S
    )
    writing = sqlite3.connect(target, isolation_level=None)
    try:
        reading.isolation_level = None
        reading.execute("pragma query_only = on")
        reading.execute("pragma wal_autocheckpoint = 0")
        reading.execute("begin")
        reading.execute(TAKE_SNAPSHOT).fetchone()
        # Within a transaction of its source, a backup is not begun again when others write.
        reading.backup(writing, pages=PAGES_PER_STEP)
        reading.execute("rollback")
        # A file on its own: no log belongs to it.
        writing.execute("pragma journal_mode = delete")
    finally:
        writing.close()
        reading.close()


def check_copy(path: Path) -> tuple[str, str]:
    """Open a copy and read all of it; the revision of its schema, and the print of its key."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        result = connection.execute(QUICK_CHECK).fetchone()[0]
        if result != "ok":
            raise DamagedDatabase(f"The copy of the database is damaged: {result}")
        revision = connection.execute(GET_REVISION).fetchone()[0]
        key = connection.execute(GET_FACT, ("key_fingerprint",)).fetchone()[0]
    except (sqlite3.DatabaseError, TypeError) as error:
        raise DamagedDatabase(f"The copy is not a database of longwire: {error}") from error
    finally:
        connection.close()
    return str(revision), str(key)
