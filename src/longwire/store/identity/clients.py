"""App clients: credentials that belong to a group."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from longwire.model import AppClient, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.scopes import within
from longwire.store.paging import page

_table = schema.app_client

# As text: it is run for every caller that is loaded.
GET_ROLE_ID = """
select coalesce(app_client.role_id, device_group.default_role_id)
from app_client
join device_group
    on device_group.id = app_client.group_id
where app_client.id = :client_id
"""


def get(tx: Tx, scope: Scope, client_id: str) -> AppClient | None:
    row = tx.row(
        sa.select(_table).where(_table.c.id == client_id, within(_table.c.group_id, scope))
    )
    return _app_client(row) if row else None


def get_by_name(tx: Tx, scope: Scope, name: str) -> AppClient | None:
    row = tx.row(sa.select(_table).where(_table.c.name == name, within(_table.c.group_id, scope)))
    return _app_client(row) if row else None


def get_role_id(tx: Tx, client_id: str) -> str | None:
    """The role that an app client acts with: its own, or the default role of its group."""
    rows = tx.fetch_raw(GET_ROLE_ID, {"client_id": client_id})
    return rows[0][0] if rows else None


def list_page(tx: Tx, scope: Scope, group_id: str, request: PageRequest) -> Page[AppClient]:
    statement = sa.select(_table).where(
        _table.c.group_id == group_id, within(_table.c.group_id, scope)
    )
    return page(tx, statement, [_table.c.name], request, _app_client)


def list_names(tx: Tx, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """The names of those of the app clients that are within the scope."""
    statement = sa.select(_table.c.id, _table.c.name).where(
        _table.c.id.in_(ids), within(_table.c.group_id, scope)
    )
    return {row.id: row.name for row in tx.rows(statement)}


def count(tx: Tx, group_id: str) -> int:
    return tx.count(_table.c.group_id == group_id)


def count_with_role(tx: Tx, role_id: str) -> int:
    return tx.count(_table.c.role_id == role_id)


def insert(tx: Tx, client: AppClient, secret_digest: bytes) -> None:
    tx.execute(
        sa.insert(_table),
        {
            "id": client.id,
            "group_id": client.group_id,
            "name": client.name,
            "description": client.description,
            "secret_digest": secret_digest,
            "sealed_secret": client.sealed_secret,
            "expires_at": client.expires_at,
            "created_at": client.created_at,
            "updated_at": client.updated_at,
            "created_by": client.created_by,
            "role_id": client.role_id,
        },
    )


def save(tx: Tx, client: AppClient) -> None:
    tx.execute(
        sa.update(_table)
        .where(_table.c.id == client.id)
        .values(name=client.name, role_id=client.role_id, updated_at=client.updated_at)
    )


def delete(tx: Tx, client_id: str) -> None:
    tx.execute(sa.delete(_table).where(_table.c.id == client_id))


def _app_client(row: sa.Row[Any]) -> AppClient:
    return AppClient(
        id=row.id,
        group_id=row.group_id,
        name=row.name,
        description=row.description,
        sealed_secret=row.sealed_secret,
        expires_at=row.expires_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        created_by=row.created_by,
        role_id=row.role_id,
    )
