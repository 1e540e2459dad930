"""The catalogue of permissions: the built-in ones, and those an operator adds."""

import re
from dataclasses import replace

from longwire.errors import conflicting_field, invalid_field, not_found
from longwire.identity import access, bootstrap
from longwire.model import Actor, Page, PageRequest, Permission
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import permissions as store
from longwire.store.identity import roles as store_roles

_ID = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)+")
_ID_CHARACTERS_MAX = 64


def list_page(tx: Tx, request: PageRequest) -> Page[Permission]:
    return store.list_page(tx, request)


def create(tx: Tx, actor: Actor, permission_id: str, name: str, description: str) -> Permission:
    """Add a permission, and grant it to the role Administrator."""
    access.require_operator(actor, "permission.write")
    if not _ID.fullmatch(permission_id) or len(permission_id) > _ID_CHARACTERS_MAX:
        raise invalid_field("permission_id", "must be words separated by dots, such as report.read")
    if store.get(tx, permission_id):
        raise conflicting_field("permission_id", "exists already")
    cache_epochs.bump_auth_epoch(tx)
    permission = Permission(permission_id, name, description)
    store.insert(tx, permission)
    store_roles.insert_permissions(tx, bootstrap.ADMINISTRATOR, [permission_id])
    audit.log(tx, actor, "permission.create", permission_id)
    return permission


def update(tx: Tx, actor: Actor, permission_id: str, name: str, description: str) -> Permission:
    access.require_operator(actor, "permission.write")
    permission = replace(_get_permission(tx, permission_id), name=name, description=description)
    store.save(tx, permission)
    audit.log(tx, actor, "permission.update", permission_id)
    return permission


def delete(tx: Tx, actor: Actor, permission_id: str) -> Permission:
    """Remove a permission from the catalogue and from every role."""
    access.require_operator(actor, "permission.write")
    permission = _get_permission(tx, permission_id)
    if permission.is_built_in:
        raise conflicting_field("permission_id", "is built in and cannot be deleted")
    cache_epochs.bump_auth_epoch(tx)
    store.delete(tx, permission_id)
    audit.log(tx, actor, "permission.delete", permission_id)
    return permission


def _get_permission(tx: Tx, permission_id: str) -> Permission:
    permission = store.get(tx, permission_id)
    if permission is None:
        raise not_found("permission_id", "permission")
    return permission
