"""Roles and the permissions they hold."""

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from longwire.model import Actor, Page, PageRequest, Role, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.scopes import within
from longwire.store.paging import page
from longwire.store.rows import Rows
from longwire.store.statement import Statement

_table = schema.role
ROLES = Rows(Role, _table)
_held = schema.role_permission
_member = schema.member
_group = schema.group
_client = schema.app_client

# These run for every role on the path of a group whenever permissions have changed.
GET_ROLE = Statement(
    """
select {columns}
from role
where id = :role_id
""",
    columns=ROLES.sql(),
)
LIST_PERMISSIONS = Statement("""
select permission_id
from role_permission
where role_id = :role_id
order by permission_id
""")

LIST_UNUSED = Statement("""
select id
from role
where id {in:ids}
    and id not in (
        select role_id
        from member
        where role_id {in:ids}
        union
        select default_role_id
        from device_group
        where default_role_id {in:ids}
        union
        select administrator_role_id
        from device_group
        where administrator_role_id {in:ids}
        union
        select role_id
        from app_client
        where role_id {in:ids}
    )
""")


def get(tx: Tx, role_id: str) -> Role | None:
    """A role by id, without a scope: a role shows nothing of any group."""
    rows = tx.fetch(GET_ROLE, role_id=role_id)
    return ROLES.parse(rows[0], permissions=list_permissions(tx, role_id)) if rows else None


def list_permissions(tx: Tx, role_id: str) -> tuple[str, ...]:
    return tuple(row[0] for row in tx.fetch(LIST_PERMISSIONS, role_id=role_id))


def is_visible(tx: Tx, scope: Scope, actor: Actor, role_id: str) -> bool:
    statement = sa.select(_table.c.id).where(_table.c.id == role_id, _visible(scope, actor))
    return tx.row(statement) is not None


def list_page(tx: Tx, scope: Scope, actor: Actor, request: PageRequest) -> Page[Role]:
    """Built-in roles, those the actor made, and those in use within the scope."""
    statement = sa.select(*ROLES.columns, _table.c.created_at).where(_visible(scope, actor))
    found = page(tx, statement, [_table.c.created_at, _table.c.id], request, tuple)
    held = _permissions_by_role(tx, [role_id for role_id, *_ in found.items])
    items = [ROLES.parse(row, permissions=held.get(row[0], ())) for row in found.items]
    return Page(items, found.last_key)


def list_holding(tx: Tx, scope: Scope, actor: Actor, permission: str, most: int) -> list[Role]:
    """Those of the same roles that have a permission."""
    holding = sa.select(_held.c.role_id).where(_held.c.permission_id == permission)
    statement = ROLES.select.where(_visible(scope, actor), _table.c.id.in_(holding))
    rows = tx.rows(statement.order_by(_table.c.created_at, _table.c.id).limit(most))
    return [ROLES.parse(row, permissions=()) for row in rows]


def list_groups_using(tx: Tx, role_id: str) -> frozenset[str]:
    """Every group in which somebody or an app client has the role, or that falls back to it."""
    members = sa.select(_member.c.group_id).where(_member.c.role_id == role_id)
    defaults = sa.select(_group.c.id).where(
        sa.or_(_group.c.default_role_id == role_id, _group.c.administrator_role_id == role_id)
    )
    clients = sa.select(_client.c.group_id).where(_client.c.role_id == role_id)
    return frozenset(row[0] for row in tx.rows(members.union(defaults, clients)))


def is_default_somewhere(tx: Tx, role_id: str) -> bool:
    statement = sa.select(_group.c.id).where(_group.c.default_role_id == role_id).limit(1)
    return tx.row(statement) is not None


def insert(tx: Tx, role: Role) -> None:
    ROLES.insert(tx, role, created_at=role.updated_at)
    insert_permissions(tx, role.id, role.permissions)


def save(tx: Tx, before: Role, after: Role) -> None:
    ROLES.save(tx, before, after)
    tx.execute(sa.delete(_held).where(_held.c.role_id == after.id))
    insert_permissions(tx, after.id, after.permissions)


def insert_permissions(tx: Tx, role_id: str, permission_ids: Iterable[str]) -> None:
    rows = [{"role_id": role_id, "permission_id": each} for each in permission_ids]
    if rows:
        tx.execute(sa.insert(_held), rows)


def delete(tx: Tx, role_ids: Sequence[str]) -> None:
    tx.execute(sa.delete(_held).where(_held.c.role_id.in_(role_ids)))
    tx.execute(sa.delete(_table).where(_table.c.id.in_(role_ids)))


def delete_unused(tx: Tx, role_ids: Sequence[str]) -> None:
    """Delete those that nobody has in any group, and no group falls back to."""
    unused = tx.fetch(LIST_UNUSED, ids=role_ids) if role_ids else ()
    if unused:
        delete(tx, [role_id for (role_id,) in unused])


def _visible(scope: Scope, actor: Actor) -> sa.ColumnElement[bool]:
    in_use = sa.union(
        sa.select(_member.c.role_id).where(within(_member.c.group_id, scope)),
        sa.select(_group.c.default_role_id).where(within(_group.c.id, scope)),
        sa.select(_client.c.role_id).where(
            _client.c.role_id.is_not(None), within(_client.c.group_id, scope)
        ),
    )
    return sa.or_(
        sa.not_(_table.c.is_removable),
        _table.c.created_by == actor.id,
        _table.c.id.in_(in_use),
    )


def _permissions_by_role(tx: Tx, role_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    statement = (
        sa.select(_held.c.role_id, _held.c.permission_id)
        .where(_held.c.role_id.in_(role_ids))
        .order_by(_held.c.permission_id)
    )
    held: dict[str, tuple[str, ...]] = {}
    for row in tx.rows(statement):
        held[row.role_id] = (*held.get(row.role_id, ()), row.permission_id)
    return held
