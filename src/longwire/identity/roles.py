"""Roles: named sets of permissions, assigned to users in groups."""

from longwire.errors import not_found
from longwire.identity import access
from longwire.model import Actor, Role
from longwire.store.database import Tx
from longwire.store.identity import roles as store


def get_visible(tx: Tx, actor: Actor, role_id: str, *, field: str = "role_id") -> Role:
    """A role that the actor may see."""
    scope = access.scope_all_groups(actor, "role.read")
    role = store.get(tx, role_id) if store.is_visible(tx, scope, actor, role_id) else None
    if role is None:
        raise not_found(field, "role")
    return role
