"""The catalogue of permissions: the built-in ones, and those an operator adds."""

import re
from dataclasses import replace

from longwire.errors import BadInput, Conflict, Fault, missing
from longwire.identity import access, bootstrap
from longwire.model import Actor, Page, PageRequest, Permission
from longwire.store import audit, auth_epoch
from longwire.store import permissions as store
from longwire.store import roles as store_roles
from longwire.store.database import Tx

_ID = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)+")
_ID_CHARACTERS_MAX = 64


def list_page(tx: Tx, request: PageRequest) -> Page[Permission]:
    return store.list_page(tx, request)


def create(tx: Tx, actor: Actor, permission_id: str, name: str, description: str) -> Permission:
    """Add a permission; Administrators hold it from now on."""
    access.require_platform(tx, actor, "permission.write")
    if not _ID.fullmatch(permission_id) or len(permission_id) > _ID_CHARACTERS_MAX:
        raise BadInput(
            faults=[Fault("permission_id", "must be words joined by dots, such as report.read")]
        )
    if store.get(tx, permission_id):
        raise Conflict(faults=[Fault("permission_id", "exists already")])
    auth_epoch.change(tx)
    permission = Permission(permission_id, name, description)
    store.insert(tx, permission)
    store_roles.hold(tx, bootstrap.ADMINISTRATOR, [permission_id])
    audit.note(tx, actor, "permission.create", permission_id)
    return permission


def change(tx: Tx, actor: Actor, permission_id: str, name: str, description: str) -> Permission:
    access.require_platform(tx, actor, "permission.write")
    permission = replace(_existing(tx, permission_id), name=name, description=description)
    store.save(tx, permission)
    audit.note(tx, actor, "permission.update", permission_id)
    return permission


def delete(tx: Tx, actor: Actor, permission_id: str) -> Permission:
    """Remove a permission from the catalogue and from every role."""
    access.require_platform(tx, actor, "permission.write")
    permission = _existing(tx, permission_id)
    if permission.is_built_in:
        raise Conflict(faults=[Fault("permission_id", "is built in and cannot be deleted")])
    auth_epoch.change(tx)
    store.delete(tx, permission_id)
    audit.note(tx, actor, "permission.delete", permission_id)
    return permission


def _existing(tx: Tx, permission_id: str) -> Permission:
    permission = store.get(tx, permission_id)
    if permission is None:
        raise missing("permission_id", "permission")
    return permission
