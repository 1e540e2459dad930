"""The catalogue of permissions."""

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from longwire.model import Page, PageRequest, Permission
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.paging import page
from longwire.store.statement import Statement

_table = schema.permission

LIST_IDS = Statement("""
select id
from permission
""")


def get(tx: Tx, permission_id: str) -> Permission | None:
    row = tx.row(sa.select(_table).where(_table.c.id == permission_id))
    return _permission(row) if row else None


def list_existing_ids(tx: Tx, permission_ids: Iterable[str]) -> frozenset[str]:
    """Those of the ids that exist."""
    wanted = list(permission_ids)
    return frozenset(tx.connection.scalars(sa.select(_table.c.id).where(_table.c.id.in_(wanted))))


def list_all(tx: Tx) -> tuple[Permission, ...]:
    return tuple(_permission(row) for row in tx.rows(sa.select(_table).order_by(_table.c.id)))


def list_ids(tx: Tx) -> frozenset[str]:
    return frozenset(row[0] for row in tx.fetch(LIST_IDS))


def list_page(tx: Tx, request: PageRequest) -> Page[Permission]:
    return page(tx, sa.select(_table), [_table.c.id], request, _permission)


def insert(tx: Tx, permission: Permission) -> None:
    tx.execute(
        sa.insert(_table),
        {
            "id": permission.id,
            "name": permission.name,
            "description": permission.description,
            "is_built_in": permission.is_built_in,
            "is_platform_wide": permission.is_platform_wide,
        },
    )


def save(tx: Tx, permission: Permission) -> None:
    tx.execute(
        sa.update(_table)
        .where(_table.c.id == permission.id)
        .values(name=permission.name, description=permission.description)
    )


def delete(tx: Tx, permission_id: str) -> None:
    """Remove a permission, out of every role first."""
    held = schema.role_permission
    tx.execute(sa.delete(held).where(held.c.permission_id == permission_id))
    tx.execute(sa.delete(_table).where(_table.c.id == permission_id))


def _permission(row: sa.Row[Any]) -> Permission:
    return Permission(row.id, row.name, row.description, row.is_built_in, row.is_platform_wide)
