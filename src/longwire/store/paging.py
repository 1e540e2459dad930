"""Every list of the service, a page at a time.

Keyset paging: the next page starts after the key of the last row seen, so pages neither skip nor
repeat rows while others write, and the thousandth page costs what the first one does.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import sqlalchemy as sa

from longwire.model import Page, PageRequest
from longwire.store.database import Tx

T = TypeVar("T")


def page(
    tx: Tx,
    statement: sa.Select[Any],
    key: Sequence[sa.ColumnElement[Any]],
    request: PageRequest,
    shape: Callable[[sa.Row[Any]], T],
    *,
    ascending: bool = True,
) -> Page[T]:
    """One page of `statement` in the order of `key`, whose columns must be selected."""
    if request.after is not None:
        statement = statement.where(_beyond(key, request.after, ascending))
    order = [column.asc() if ascending else column.desc() for column in key]
    rows = tx.rows(statement.order_by(*order).limit(request.limit + 1))
    items = [shape(row) for row in rows[: request.limit]]
    if len(rows) <= request.limit:
        return Page(items)
    last = rows[request.limit - 1]._mapping
    return Page(items, tuple(last[column] for column in key))


def _beyond(
    key: Sequence[sa.ColumnElement[Any]], after: tuple[int | str, ...], ascending: bool
) -> sa.ColumnElement[bool]:
    values = [sa.literal(value, column.type) for value, column in zip(after, key, strict=True)]
    if len(key) == 1:
        return key[0] > values[0] if ascending else key[0] < values[0]
    there, here = sa.tuple_(*key), sa.tuple_(*values)
    return there > here if ascending else there < here
