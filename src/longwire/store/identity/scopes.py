"""A `Scope` in SQL: the condition that keeps a query inside the groups it was authorized for.

Conditions are cached by caller, because building one takes longer than the database needs for it.
"""

import functools
from typing import Any

import sqlalchemy as sa

from longwire.model import Actor, Scope
from longwire.store import schema

CONDITIONS_CACHED_MAX = 1_024


def within(column: sa.ColumnElement[Any], scope: Scope) -> sa.ColumnElement[bool]:
    """True for rows whose group (`column`) the scope reaches."""
    if scope.holder is None:
        return column.in_(scope.group_ids)
    if scope.holder.is_operator:
        return sa.true()
    return column.in_(_subtrees(scope.holder, scope.permission))


def topmost(
    column: sa.ColumnElement[Any], parent: sa.ColumnElement[Any], scope: Scope
) -> sa.ColumnElement[bool]:
    """True for groups that a scope with a holder reaches, but none above them."""
    assert scope.holder is not None
    if scope.holder.is_operator:
        return parent.is_(None)
    roots = _roots(scope.holder, scope.permission)
    path = schema.group_path
    above = sa.select(path.c.group_id).where(
        path.c.group_id == column, path.c.depth > 0, path.c.ancestor_id.in_(roots)
    )
    return sa.and_(column.in_(roots), ~above.exists())


def reaches(scope: Scope, group_id: str) -> bool:
    """The same for a group that is known already, when the scope is for single groups.

    Saves the database the question; a scope with a holder is always asked in SQL.
    """
    return group_id in scope.group_ids


def belongs(column: sa.ColumnElement[Any], actor: Actor) -> sa.ColumnElement[bool]:
    """True for groups that somebody belongs to, directly or through a group above."""
    return column.in_(_homes(actor))


@functools.lru_cache(maxsize=CONDITIONS_CACHED_MAX)
def _homes(actor: Actor) -> sa.Select[Any]:
    """The groups that somebody belongs to, and all below them."""
    if actor.kind == "client":
        own = sa.select(schema.group.c.id).where(schema.group.c.id == actor.group_id)
    else:
        own = sa.select(schema.member.c.group_id).where(schema.member.c.user_id == actor.id)
    return _at_or_below(own)


@functools.lru_cache(maxsize=CONDITIONS_CACHED_MAX)
def _subtrees(actor: Actor, permission: str) -> sa.Select[Any]:
    """The groups in which the actor holds the permission."""
    return _at_or_below(_roots(actor, permission))


def _at_or_below(groups: sa.Select[Any]) -> sa.Select[Any]:
    path = schema.group_path
    return sa.select(path.c.group_id).where(path.c.ancestor_id.in_(groups))


def _roots(actor: Actor, permission: str) -> sa.Select[Any]:
    """The groups in which the actor's own role holds the permission; it holds below them too."""
    held = schema.role_permission
    if actor.kind == "client":
        group = schema.group
        return (
            sa.select(group.c.id)
            .join(held, held.c.role_id == group.c.default_role_id)
            .where(group.c.id == actor.group_id, held.c.permission_id == permission)
        )
    member = schema.member
    return (
        sa.select(member.c.group_id)
        .join(held, held.c.role_id == member.c.role_id)
        .where(member.c.user_id == actor.id, held.c.permission_id == permission)
    )
