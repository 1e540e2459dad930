"""Statements whose text differs between the two engines, written once."""

import json
import re
from collections.abc import Collection
from typing import Any

from longwire.store.database import DialectSql, Tx
from longwire.store.engines.binary_arrays import encode_bigints


def dialect_sql(template: str, **fragments: DialectSql) -> DialectSql:
    """The template with the fragments put in where it names them in braces."""
    return DialectSql(
        template.format(**{name: each.sqlite for name, each in fragments.items()}),
        template.format(**{name: each.postgres for name, each in fragments.items()}),
    )


def in_array(name: str) -> DialectSql:
    """A condition: one of the values of a parameter made by `array_param`."""
    return DialectSql(f"in (select value from json_each(:{name}))", f"= any(:{name})")


def listed_in(name: str, table: str, column: str) -> DialectSql:
    """In a from clause: the values of a parameter made by `array_param`, as a table.

    For numbers. In it, and not in a table of its own, they can be joined wherever a slot is.
    """
    return DialectSql(
        f"(select value as {column} from json_each(:{name})) {table}",
        f"unnest(cast(:{name} as bigint[])) {table} ({column})",
    )


def in_unlocked(select: DialectSql) -> DialectSql:
    """A condition: one of the rows that a limited query finds and nobody else has locked.

    As an array, because PostgreSQL may run a subquery behind `in` once for every row, and finds
    others each time when those it had are locked.
    """
    return DialectSql(
        f"in ({select.sqlite})", f"= any(array({select.postgres} for update skip locked))"
    )


def using_index(name: str) -> DialectSql:
    """Behind a table: read it by this index, where SQLite would choose a larger one.

    SQLite prefers the key, which has the whole history, to a partial index with the few rows that
    matter, because it knows neither how many there are.
    """
    return DialectSql(f"indexed by {name}", "")


def on_postgres(text: str) -> DialectSql:
    """A clause, such as a lock, that SQLite with its one writer does not need."""
    return DialectSql("", text)


def array_param(tx: Tx, values: Collection[Any]) -> Any:
    """Numbers or texts as the value of one parameter."""
    listed = list(values)
    if not tx.is_postgres:
        return json.dumps(listed)
    if listed and all(type(each) is int for each in listed):
        return encode_bigints(listed) or listed
    return listed


_SLOT_CONDITION = re.compile(r"\n *and (?:\w+\.)?slot = [^\n]*")


def by_slot(sql: str | DialectSql) -> DialectSql:
    """A statement whose conditions on the slot, lines of their own, are for PostgreSQL alone."""
    if isinstance(sql, str):
        sql = DialectSql(sql, sql)
    return DialectSql(_SLOT_CONDITION.sub("", sql.sqlite), sql.postgres)
