"""Facts about the database as a whole."""

import sqlalchemy as sa

from longwire.store import schema
from longwire.store.database import Database, Tx
from longwire.store.records import WRITER_BITS

WRITERS_MAX = 1 << WRITER_BITS


def fact(tx: Tx, name: str) -> str | None:
    row = tx.row(sa.select(schema.instance.c.value).where(schema.instance.c.name == name))
    return row[0] if row else None


def state(tx: Tx, name: str, value: str) -> None:
    tx.change(sa.insert(schema.instance), {"name": name, "value": value})


def writer_number(database: Database) -> int:
    """The number of this process among those that write to the database."""
    if database.engine_name != "postgresql":
        return 0
    return database.upgrade(
        lambda tx: int(tx.rows(sa.select(schema.writer_number.next_value()))[0][0]) % WRITERS_MAX
    )
