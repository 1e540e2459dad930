"""The catalogue of permissions."""

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


DELETE_HELD = Statement("""
delete from role_permission
where permission_id = :permission
""")


def list_ids(tx: Tx) -> frozenset[str]:
    return frozenset(row[0] for row in tx.fetch(LIST_IDS))


def delete(tx: Tx, permission_id: str) -> None:
    """Remove a permission, out of every role first."""
    tx.run(DELETE_HELD, permission=permission_id)
    PERMISSIONS.delete(tx, permission_id)
