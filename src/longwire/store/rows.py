"""The rows of a noun by key: each is a value of the model, whose fields are columns by name.

What is asked in another way has a statement in the file of its noun.
"""

import enum
import functools
import json
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, Generic, TypeVar

import msgspec
import sqlalchemy as sa

from longwire.model import Page, PageRequest, Scope
from longwire.store.database import Tx
from longwire.store.identity.scopes import within
from longwire.store.schema.base import GroupNumber

V = TypeVar("V")
Conditions = Sequence[sa.ColumnElement[bool]]


class _Table(Generic[V]):
    """What all tables have in common.

    Conditions are columns by name: with the value that they have, or with those of which they have
    one; None for those that have no value.
    """

    def __init__(
        self,
        value: type[V],
        table: sa.Table,
        *key: str,
        derived: Mapping[str, Callable[[V], Any]] | None = None,
    ) -> None:
        """The key is `id` unless there is another; derived columns depend on the others.

        A field that is a value itself has columns of its own.
        """
        hints = typing.get_type_hints(value)
        own = [name for name in hints if name in table.c]
        self._nested = {name: kind for name, kind in hints.items() if _is_part(kind, table)}
        # By the name of such a field; those of the value itself by an empty one.
        self._fields = {"": own}
        for name, kind in self._nested.items():
            hints |= typing.get_type_hints(kind)
            self._fields[name] = [each.name for each in fields(kind)]
        names = [name for some in self._fields.values() for name in some]
        self.table = table
        self.key = [table.c[name] for name in key or ("id",)]
        self.columns = [table.c[name] for name in names]
        self.select = sa.select(*self.columns)
        self._value = value
        self._names = names
        self._derived = derived or {}
        self._parsers = {
            name: parse for name in names if (parse := _find_parser(hints[name], table.c[name]))
        }

    @property
    def column_names(self) -> list[str]:
        """Those of its fields, and those that are derived from them."""
        return [*self._names, *self._derived]

    def sql(self, alias: str | None = None) -> str:
        """The columns as a statement selects them."""
        return ", ".join(f"{alias}.{name}" if alias else name for name in self._names)

    def count(self, tx: Tx, **conditions: Any) -> int:
        return tx.count(*self._where(conditions))

    def insert(self, tx: Tx, value: V, **more: Any) -> None:
        """Insert a row; `more` are columns that are no fields of the value."""
        tx.execute(sa.insert(self.table), self.to_row(value) | more)

    def save(self, tx: Tx, before: V, after: V, **conditions: Any) -> None:
        """Save what has changed, and nothing else: the rest may have been changed by others.

        With conditions, only if the row fulfils them.
        """
        old, new = self.to_row(before), self.to_row(after)
        changed = {name: new[name] for name in new if new[name] != old[name]}
        if changed:
            is_same = self._has_key([new[column.name] for column in self.key])
            statement = sa.update(self.table).where(*is_same, *self._where(conditions))
            tx.execute(statement.values(changed))

    def delete(self, tx: Tx, *key: str | bytes) -> bool:
        """Delete a row; of two that do so at once, one gets True."""
        return tx.execute(sa.delete(self.table).where(*self._has_key(key))) > 0

    def delete_all(self, tx: Tx, **conditions: Any) -> int:
        """Delete the rows that fulfil the conditions; how many."""
        return tx.execute(sa.delete(self.table).where(*self._where(conditions)))

    def parse(self, row: Sequence[Any], **more: Any) -> V:
        """The value of a row that begins with its columns; `more` are fields that are none."""
        parts = dict(zip(self._names, row, strict=False))
        for name, parse in self._parsers.items():
            parts[name] = parse(parts[name])
        for name, kind in self._nested.items():
            parts[name] = kind(**{each: parts.pop(each) for each in self._fields[name]})
        return self._value(**parts, **more)

    def to_row(self, value: V) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for field, names in self._fields.items():
            part = getattr(value, field) if field else value
            for name in names:
                row[name] = _to_column(getattr(part, name))
        for name, derive in self._derived.items():
            row[name] = derive(value)
        return row

    def _has_key(self, key: Sequence[Any]) -> Conditions:
        return [column == part for column, part in zip(self.key, key, strict=True)]

    def _where(self, conditions: Mapping[str, Any]) -> Conditions:
        return [_is(self.table.c[name], value) for name, value in conditions.items()]

    def _find(self, tx: Tx, conditions: Conditions, *, is_locked: bool = False) -> V | None:
        statement = self.select.where(*conditions)
        row = tx.row(statement.with_for_update() if is_locked else statement)
        return None if row is None else self.parse(row)

    def _page(self, tx: Tx, request: PageRequest, order: str, conditions: Conditions) -> Page[V]:
        """In the order of some columns; in descending order with a minus before them.

        The next page starts after the key of the last row, so pages neither skip nor repeat rows
        while others write, and the thousandth page costs what the first one does.
        """
        key = [self.table.c[name] for name in order.removeprefix("-").split()]
        is_ascending = not order.startswith("-")
        statement = self.select.where(*conditions)
        if request.after is not None:
            statement = statement.where(_beyond(key, request.after, is_ascending))
        sorted_by = [column.asc() if is_ascending else column.desc() for column in key]
        rows = tx.rows(statement.order_by(*sorted_by).limit(request.limit + 1))
        items = [self.parse(row) for row in rows[: request.limit]]
        if len(rows) <= request.limit:
            return Page(items)
        last = rows[request.limit - 1]._mapping
        return Page(items, tuple(last[column] for column in key))


class Rows(_Table[V]):
    """The rows of a table that knows no groups."""

    def get(self, tx: Tx, *key: str | bytes) -> V | None:
        names = [f"key_{number}" for number in range(len(key))]
        row = tx.row(self._by_key, dict(zip(names, key, strict=True)))
        return None if row is None else self.parse(row)

    @functools.cached_property
    def _by_key(self) -> sa.Select[Any]:
        """Built once, because building it takes longer than running it."""
        names: list[Any] = [sa.bindparam(f"key_{number}") for number in range(len(self.key))]
        return self.select.where(*self._has_key(names))

    def find(self, tx: Tx, **conditions: Any) -> V | None:
        return self._find(tx, self._where(conditions))

    def list_all(
        self, tx: Tx, *, order: str, most: int | None = None, **conditions: Any
    ) -> list[V]:
        """Those that fulfil the conditions; in descending order with a minus before its column."""
        by = [self.table.c[order.removeprefix("-")], *self.key]
        sorted_by = [column.desc() for column in by] if order.startswith("-") else by
        statement = self.select.where(*self._where(conditions)).order_by(*sorted_by).limit(most)
        return [self.parse(row) for row in tx.rows(statement)]

    def page(self, tx: Tx, request: PageRequest, *, order: str, **conditions: Any) -> Page[V]:
        return self._page(tx, request, order, self._where(conditions))


class GroupRows(_Table[V]):
    """The rows of a table with groups, which are read within a scope."""

    def get(self, tx: Tx, scope: Scope, *key: str) -> V | None:
        return self._find(tx, [*self._has_key(key), *self._within(scope, {})])

    def lock(self, tx: Tx, scope: Scope, *key: str) -> V | None:
        """The same; nobody else changes it until the commit."""
        return self._find(tx, [*self._has_key(key), *self._within(scope, {})], is_locked=True)

    def find(self, tx: Tx, scope: Scope, **conditions: Any) -> V | None:
        return self._find(tx, self._within(scope, conditions))

    def page(
        self, tx: Tx, scope: Scope, request: PageRequest, *, order: str, **conditions: Any
    ) -> Page[V]:
        return self._page(tx, request, order, self._within(scope, conditions))

    def _within(self, scope: Scope, conditions: Mapping[str, Any]) -> Conditions:
        group = self.table.c.get("group_id", self.key[0])  # a group is in itself
        return [*self._where(conditions), within(group, scope)]


def _is_part(kind: Any, table: sa.Table) -> bool:
    return is_dataclass(kind) and all(each.name in table.c for each in fields(kind))


def _is(column: sa.Column[Any], value: Any) -> sa.ColumnElement[bool]:
    several = isinstance(value, Collection) and not isinstance(value, str | bytes)
    return column.in_(value) if several else column == value


def _find_parser(annotated: Any, column: sa.Column[Any]) -> Callable[[Any], Any] | None:
    """What makes the value of a field out of a column's, unless that is one.

    Also if the statement was a text, of whose columns nobody knows the types.
    """
    if isinstance(column.type, GroupNumber):
        return _parse_group_number
    if isinstance(annotated, type) and issubclass(annotated, enum.Enum | bool):
        return annotated  # SQLite has numbers for truth values
    if typing.get_origin(annotated) is tuple:
        return _parse_list
    return None


def _parse_group_number(number: int | str | None) -> str | None:
    return None if number is None else str(number)


_parse_list = msgspec.json.Decoder(tuple[Any, ...]).decode


def _to_column(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    return json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else value


def _beyond(
    key: Sequence[sa.ColumnElement[Any]], after: tuple[int | str, ...], ascending: bool
) -> sa.ColumnElement[bool]:
    values = [sa.literal(value, column.type) for value, column in zip(after, key, strict=True)]
    if len(key) == 1:
        return key[0] > values[0] if ascending else key[0] < values[0]
    there, here = sa.tuple_(*key), sa.tuple_(*values)
    return there > here if ascending else there < here
