"""The catalogue of permissions."""

import sqlalchemy as sa

from longwire.model import Permission
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.rows import Rows
from longwire.store.statement import Statement

PERMISSIONS = Rows(Permission, schema.permission)

LIST_IDS = Statement("""
select id
from permission
""")


def list_ids(tx: Tx) -> frozenset[str]:
    return frozenset(row[0] for row in tx.fetch(LIST_IDS))


def delete(tx: Tx, permission_id: str) -> None:
    """Remove a permission, out of every role first."""
    held = schema.role_permission
    tx.execute(sa.delete(held).where(held.c.permission_id == permission_id))
    PERMISSIONS.delete(tx, permission_id)
