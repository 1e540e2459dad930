"""A `Scope` in SQL: the condition that keeps a query inside the groups it was authorized for.

A statement with it has a text for each way to reach groups:

    LIST_NAMES = for_scopes(
        '''
    select id, name
    from app_client
    where {within}
    ''',
        within={"within": "group_id"},
    )
    rows = fetch_within(tx, scope, LIST_NAMES)

Of the conditions for `Rows`, those of a caller are cached, because building one takes longer than
the database needs for it.
"""

import enum
import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import sqlalchemy as sa

from longwire.model import Actor, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Sql, Statement

T = TypeVar("T")

CONDITIONS_CACHED_MAX = 1_024


class Reach(enum.Enum):
    """How a scope says which groups it reaches."""

    GROUPS = "these groups"
    ALL = "all groups"  # of an operator
    MEMBER = "those of a user"
    CLIENT = "those of an app client"


_REACH_OF_KIND = {"user": Reach.MEMBER, "client": Reach.CLIENT}
# The groups in which the holder's own role has the permission; it holds below them, too.
ROOTS: Mapping[Reach, str] = {
    Reach.MEMBER: """
select member.group_id
from member
join role_permission held
    on held.role_id = member.role_id
where member.user_id = :holder
    and held.permission_id = :permission
""",
    Reach.CLIENT: """
select holder.group_id
from app_client holder
join device_group home
    on home.id = holder.group_id
join role_permission held
    on held.role_id = coalesce(holder.role_id, home.default_role_id)
where holder.id = :holder
    and held.permission_id = :permission
""",
}
_REACHED = {
    reach: f"""
select reached.group_id
from group_path reached
where reached.ancestor_id in ({roots})
"""
    for reach, roots in ROOTS.items()
}


def for_scopes(
    text: str,
    /,
    *,
    within: Mapping[str, str],
    into: Callable[..., Any] | None = None,
    **pieces: Sql | str,
) -> Mapping[Reach, Statement[Any]]:
    """A statement by how its scope reaches groups; `within` has a column for each such piece."""
    statements: dict[Reach, Statement[Any]] = {}
    for reach in Reach:
        conditions = {name: _build_within(column, reach) for name, column in within.items()}
        sql = Sql(text, **pieces, **conditions)
        statements[reach] = Statement(sql) if into is None else Statement(sql, into=into)
    return statements


def _build_within(column: str, reach: Reach) -> Sql:
    if reach is Reach.GROUPS:
        return Sql(f"{column} {{in:reached}}")
    return Sql("1 = 1" if reach is Reach.ALL else f"{column} in ({_REACHED[reach]})")


def get_reach(scope: Scope) -> Reach:
    if scope.holder is None:
        return Reach.GROUPS
    return Reach.ALL if scope.holder.is_operator else _REACH_OF_KIND[scope.holder.kind]


def get_reach_values(scope: Scope) -> dict[str, Any]:
    """The values of a statement's pieces."""
    if scope.holder is None:
        return {"reached": [schema.group_number(each) for each in scope.group_ids]}
    return {"holder": scope.holder.id, "permission": scope.permission}


def fetch_within(
    tx: Tx, scope: Scope, statements: Mapping[Reach, Statement[T]], /, **values: Any
) -> list[T]:
    """Run a statement as a scope reaches its groups; what its rows become."""
    return tx.fetch(statements[get_reach(scope)], **values, **get_reach_values(scope))


def within(column: sa.ColumnElement[Any], scope: Scope) -> sa.ColumnElement[bool]:
    """True for rows whose group (`column`) the scope reaches."""
    if scope.holder is None:
        return column.in_(scope.group_ids)
    if scope.holder.is_operator:
        return sa.true()
    return column.in_(_subtrees(scope.holder, scope.permission))


def reaches(scope: Scope, group_id: str) -> bool:
    """The same for a group that is known already, when the scope is for single groups.

    Saves the database the question; a scope with a holder is always asked in SQL.
    """
    return group_id in scope.group_ids


@functools.lru_cache(maxsize=CONDITIONS_CACHED_MAX)
def _subtrees(actor: Actor, permission: str) -> sa.TextualSelect:
    """The groups in which the actor holds the permission."""
    text = sa.text(_REACHED[_REACH_OF_KIND[actor.kind]])
    return text.bindparams(holder=actor.id, permission=permission).columns(schema.group.c.id)
