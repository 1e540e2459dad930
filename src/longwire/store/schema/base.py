"""What all tables are made of: the metadata, types of columns, partial indexes.

What only PostgreSQL knows is in `info`, and the migrations say it to the server: as an argument of
a table it would load the code for PostgreSQL, which takes memory, on SQLite as well.
"""

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = sa.MetaData(naming_convention=NAMING)

NO_GROUP = -1  # what a text that is no group id becomes: a number that no group has


class GroupNumber(sa.types.TypeDecorator[str]):
    """A group id: digits in Python, eight bytes in the database."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:
        return None if value is None else group_number(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else str(value)


def group_number(group_id: str) -> int:
    """The number behind a group id. `007`, `٣` and 2^53 are not ids, so they find nothing."""
    if group_id.isascii() and group_id.isdigit() and len(group_id) <= 16 and group_id[0] != "0":
        number = int(group_id)
        return number if number < 2**53 else NO_GROUP
    return NO_GROUP


# A text to search and sort by: in the order of its bytes, so that both engines agree.
KeyText = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

# On PostgreSQL every row that a record touches has the `slot` of its device as well, as the last
# part of its key: see `slots`. A table says what it is found by: a column with the number or the id
# of a device, or the transaction that stores the row. The tables themselves are without it, because
# SQLite has one slot; the baseline adds it.
SLOT_BY = "slot_by"
TRANSACTION = "transaction"


def partial_index(name: str, *columns: str, where: str) -> sa.Index:
    condition = sa.text(where)
    return sa.Index(name, *columns, sqlite_where=condition, info={"postgresql_where": condition})


def moment(name: str, *, required: bool = True) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=not required)


def serial_key(name: str) -> sa.Column[int]:
    """A key that the database counts up."""
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column(name, kind, primary_key=True, autoincrement=True)
