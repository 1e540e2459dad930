"""Many rows in one statement, on either engine.

A statement per row would cost a round trip on PostgreSQL and, on SQLite, hand the interpreter lock
back and forth for every row while the event loop wants it too.
"""

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import sqlalchemy as sa

from longwire.errors import Unavailable
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.binary_arrays import encode_array

# Not every size, so that prepared statements serve again and again; but never far from the next.
_SIZES = (
    *range(1, 16),
    *range(16, 64, 4),
    *range(64, 128, 8),
    *range(128, 512, 32),
    *range(512, 1025, 64),
)
_SIZE_MAX = _SIZES[-1]


class OnConflict(NamedTuple):
    """What an insert does with rows whose key is there: nothing, unless it updates them."""

    update: str = ""  # assignments, and perhaps a condition
    columns: tuple[str, ...] = ()  # that are unique together, if not those of the key


IGNORE = OnConflict()


def insert_many(
    tx: Tx,
    table: sa.Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    on_conflict: OnConflict | None = None,
    *,
    is_repeatable: bool = False,
) -> int:
    """Insert rows of plain values (no type is converted); how many were inserted or changed.

    Where there are slots, rows get theirs.

    `is_repeatable` says that repeating a row changes nothing, because of `on_conflict`; a statement
    may be padded with its last row: one that is a little too long costs less than several.
    """
    if not rows:
        return 0
    if tx.is_postgres:
        is_slotted = tx.slots > 1 and _has_slot(table)
        stored = (*columns, "slot") if is_slotted else columns
        sql, types = _unnested(table, stored, on_conflict, tx.connection.dialect)
        arrays = list(map(encode_array, types, zip(*rows, strict=True)))
        if is_slotted:
            arrays.append(encode_array("SMALLINT", _list_slots(tx, table, columns, rows)))
        return tx.insert_raw(sql, arrays)
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
        changed += tx.driver.execute(_listed(table, columns, size, on_conflict), flat).rowcount
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
    stored = insert_many(tx, table, columns, rows, IGNORE, is_repeatable=True)
    if stored != len(rows):
        raise Unavailable(f"A sequence number of {table.name} is in use; nothing was changed.")


def _list_slots(
    tx: Tx, table: sa.Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]
) -> list[int]:
    """The slot of each row."""
    found_by = table.info[schema.SLOT_BY]
    if found_by == schema.TRANSACTION:
        return [tx.slot] * len(rows)
    index = columns.index(found_by)
    if found_by == "device_id":
        return [slots.get_slot_by_id(tx, row[index]) for row in rows]
    return [slots.get_slot_by_number(tx, row[index]) for row in rows]


@functools.cache
def _listed(
    table: sa.Table, columns: tuple[str, ...], size: int, on_conflict: OnConflict | None
) -> str:
    row = f"({', '.join('?' * len(columns))})"
    names, values = ", ".join(columns), ", ".join([row] * size)
    then = _render(on_conflict, [column.name for column in table.primary_key.columns])
    # What fails fails the work, and with it all that it did. Else SQLite would copy each page that
    # it changes, in case that it had to undo this statement alone.
    return f"insert or fail into {table.name} ({names}) values {values} {then}"


@functools.cache
def _unnested(
    table: sa.Table, columns: tuple[str, ...], on_conflict: OnConflict | None, dialect: sa.Dialect
) -> tuple[str, tuple[str, ...]]:
    """The statement, and the types of its parameters, which are arrays."""
    types = tuple(_get_type(table, name, dialect) for name in columns)
    key = [column.name for column in table.primary_key.columns]
    then = _render(on_conflict, [*key, "slot"] if _has_slot(table) else key)
    if _has_slot(table) and on_conflict == IGNORE:
        # Citus counts the rows that it was given, unless it is asked for those that are new.
        then += " returning slot"
    arrays = ", ".join(f"${number}::{each}[]" for number, each in enumerate(types, 1))
    sql = f"insert into {table.name} ({', '.join(columns)}) select * from unnest({arrays}) {then}"
    return sql, types


def _render(on_conflict: OnConflict | None, key: Sequence[str]) -> str:
    if on_conflict is None:
        return ""
    columns = on_conflict.columns or key if on_conflict.update else on_conflict.columns
    target = f" ({', '.join(columns)})" if columns else ""
    then = f"update set {on_conflict.update}" if on_conflict.update else "nothing"
    return f"on conflict{target} do {then}"


def _get_type(table: sa.Table, name: str, dialect: sa.Dialect) -> str:
    if name not in table.c:  # the slot, which the tables of PostgreSQL alone have
        return "SMALLINT"
    return table.c[name].type.compile(dialect).partition(" COLLATE")[0]


def _has_slot(table: sa.Table) -> bool:
    return schema.SLOT_BY in table.info and "slot" not in table.c
