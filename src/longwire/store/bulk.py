"""Many rows in one statement, on either engine.

A statement per row would cost a round trip on PostgreSQL and, on SQLite, hand the interpreter lock
back and forth for every row while the event loop wants it too.
"""

import functools
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from longwire.store.database import Tx

# A few sizes, so that a few prepared statements serve every number of rows.
_CHUNKS = (256, 128, 64, 32, 16, 8, 4, 2, 1)


def insert_many(
    tx: Tx,
    table: sa.Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    then: str = "",
) -> int:
    """Insert rows of plain values (no type is converted); how many were inserted or changed."""
    if not rows:
        return 0
    if tx.is_postgres:
        values = [list(column) for column in zip(*rows, strict=True)]
        return tx.driver.execute(_unnested(table, columns, then), values).rowcount  # type: ignore[no-any-return]
    changed = 0
    start = 0
    for size in _CHUNKS:
        while len(rows) - start >= size:
            flat = [value for row in rows[start : start + size] for value in row]
            changed += tx.driver.execute(_listed(table, columns, size, then), flat).rowcount
            start += size
    return changed


@functools.cache
def _listed(table: sa.Table, columns: tuple[str, ...], size: int, then: str) -> str:
    row = f"({', '.join('?' * len(columns))})"
    return (
        f"insert into {table.name} ({', '.join(columns)}) values {', '.join([row] * size)} {then}"
    )


@functools.cache
def _unnested(table: sa.Table, columns: tuple[str, ...], then: str) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    arrays = ", ".join(f"%s::{table.c[name].type.compile(dialect)}[]" for name in columns)
    return f"insert into {table.name} ({', '.join(columns)}) select * from unnest({arrays}) {then}"
