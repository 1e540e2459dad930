"""Facts about the database as a whole."""

import sqlalchemy as sa

from longwire.store import schema
from longwire.store.database import Tx


def fact(tx: Tx, name: str) -> str | None:
    row = tx.row(sa.select(schema.instance.c.value).where(schema.instance.c.name == name))
    return row[0] if row else None


def state(tx: Tx, name: str, value: str) -> None:
    tx.change(sa.insert(schema.instance), {"name": name, "value": value})
