"""Many rows in one statement, on either engine.

A statement per row would cost a round trip on PostgreSQL and, on SQLite, hand the interpreter lock
back and forth for every row while the event loop wants it too.
"""

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import Any

import sqlalchemy as sa

from longwire.errors import Unavailable
from longwire.store.binary_arrays import encode_array
from longwire.store.database import Tx

# Not every size, so that prepared statements serve again and again; but never far from the next.
_SIZES = (
    *range(1, 16),
    *range(16, 64, 4),
    *range(64, 128, 8),
    *range(128, 512, 32),
    *range(512, 1025, 64),
)
_SIZE_MAX = _SIZES[-1]


def insert_many(
    tx: Tx,
    table: sa.Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    then: str = "",
    *,
    is_repeatable: bool = False,
) -> int:
    """Insert rows of plain values (no type is converted); how many were inserted or changed.

    `is_repeatable` says that repeating a row changes nothing, because of `then`; a statement may
    then be padded with its last row: one that is a little too long costs less than several.
    """
    if not rows:
        return 0
    if tx.is_postgres:
        sql, types = _unnested(table, columns, then, tx.connection.dialect)
        arrays = map(encode_array, types, zip(*rows, strict=True))
        return tx.insert_raw(sql, list(arrays))
    changed = 0
    start = 0
    while start < len(rows):
        left = len(rows) - start
        if is_repeatable:
            size = _SIZE_MAX if left >= _SIZE_MAX else _SIZES[bisect_left(_SIZES, left)]
        else:
            size = _SIZES[bisect_right(_SIZES, left) - 1]
        some = rows[start : start + size]
        flat = list(chain.from_iterable(some))
        if len(some) < size:
            flat += list(some[-1]) * (size - len(some))
        changed += tx.driver.execute(_listed(table, columns, size, then), flat).rowcount
        start += size
    return changed


def insert_new(
    tx: Tx, table: sa.Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows under sequence numbers that were just taken; none is ever dropped silently.

    Should another process have used one of the numbers, everything is rolled back. PostgreSQL
    retries, and a retry takes other numbers.
    """
    if tx.is_postgres:
        insert_many(tx, table, columns, rows)
        return
    stored = insert_many(tx, table, columns, rows, "on conflict do nothing", is_repeatable=True)
    if stored != len(rows):
        raise Unavailable(f"A sequence number of {table.name} is in use; nothing was changed.")


@functools.cache
def _listed(table: sa.Table, columns: tuple[str, ...], size: int, then: str) -> str:
    row = f"({', '.join('?' * len(columns))})"
    return (
        f"insert into {table.name} ({', '.join(columns)}) values {', '.join([row] * size)} {then}"
    )


@functools.cache
def _unnested(
    table: sa.Table, columns: tuple[str, ...], then: str, dialect: sa.Dialect
) -> tuple[str, tuple[str, ...]]:
    """The statement, and the types of its parameters, which are arrays."""
    types = tuple(table.c[name].type.compile(dialect).partition(" COLLATE")[0] for name in columns)
    arrays = ", ".join(f"${number}::{each}[]" for number, each in enumerate(types, 1))
    sql = f"insert into {table.name} ({', '.join(columns)}) select * from unnest({arrays}) {then}"
    return sql, types
