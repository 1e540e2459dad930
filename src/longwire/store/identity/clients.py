"""App clients: credentials that belong to a group."""

from collections.abc import Collection

from longwire.model import AppClient, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.scopes import fetch_within, for_scopes
from longwire.store.rows import GroupRows
from longwire.store.statement import Statement

CLIENTS = GroupRows(AppClient, schema.app_client)

GET_ROLE_ID = Statement("""
select coalesce(app_client.role_id, device_group.default_role_id)
from app_client
join device_group
    on device_group.id = app_client.group_id
where app_client.id = :client_id
""")

LIST_NAMES = for_scopes(
    """
select id, name
from app_client
where id {in:ids}
    and {within}
""",
    within={"within": "app_client.group_id"},
)


def get_role_id(tx: Tx, client_id: str) -> str | None:
    """The role that an app client acts with: its own, or the default role of its group."""
    found = tx.first(GET_ROLE_ID, client_id=client_id)
    return None if found is None else found[0]


def list_names(tx: Tx, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """The names of those of the app clients that are within the scope."""
    return dict(fetch_within(tx, scope, LIST_NAMES, ids=ids))
