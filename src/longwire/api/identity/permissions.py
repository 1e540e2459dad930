"""The catalogue of permissions: the built-in ones, and those an operator adds."""

import re
from dataclasses import replace
from functools import partial
from typing import Annotated

from msgspec import Meta

from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.errors import conflicting_field, invalid_field, not_found
from longwire.identity import access, bootstrap
from longwire.model import Permission as PermissionValue
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import permissions as store
from longwire.store.identity import roles as store_roles
from longwire.store.identity.permissions import PERMISSIONS
from longwire.web.fields import Body, Name, Paged, Query, Text
from longwire.web.routing import ANY_TOKEN, Route

WRITE = "permission.write"

_ID = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)+")
_ID_CHARACTERS_MAX = 64

PermissionId = Annotated[
    str, Meta(min_length=1, max_length=_ID_CHARACTERS_MAX, examples=["report.read"])
]


class Permission(Shown[PermissionValue]):
    """Something that a role can allow."""

    id: str
    name: str
    description: str


class PermissionConnection(Page[Permission]):
    """A page of permissions."""


class PermissionBody(Body):
    """A permission to create or update."""

    permission_id: PermissionId
    name: Name
    description: Text


class PermissionQuery(Query):
    """Which permission."""

    permission_id: PermissionId


def list_permissions(context: Context, query: Paged) -> PermissionConnection:
    """List all permissions."""
    page = PERMISSIONS.page(context.tx, context.page_tokens.page_request(query), order="id")
    return PermissionConnection.show(context, query, page, Permission.show)


def create_permission(context: Context, body: PermissionBody) -> Permission:
    """Create a permission.

    Administrators have it at once; other roles when it is added to them.
    """
    tx, permission_id = context.tx, body.permission_id
    access.require_operator(context.actor, WRITE)
    if not _ID.fullmatch(permission_id):
        raise invalid_field("permission_id", "must be words separated by dots, such as report.read")
    if PERMISSIONS.get(tx, permission_id):
        raise conflicting_field("permission_id", "exists already")
    cache_epochs.bump_auth_epoch(tx)
    permission = PermissionValue(permission_id, body.name, body.description)
    PERMISSIONS.insert(tx, permission)
    store_roles.insert_permissions(tx, bootstrap.ADMINISTRATOR, [permission_id])
    audit.log(tx, context.actor, "permission.create", permission_id)
    return Permission.show(permission)


def update_permission(context: Context, body: PermissionBody) -> Permission:
    """Update a permission's name and description."""
    tx = context.tx
    access.require_operator(context.actor, WRITE)
    permission = _get_permission(tx, body.permission_id)
    changed = replace(permission, name=body.name, description=body.description)
    PERMISSIONS.save(tx, permission, changed)
    audit.log(tx, context.actor, "permission.update", permission.id)
    return Permission.show(changed)


def delete_permission(context: Context, query: PermissionQuery) -> Permission:
    """Delete a permission.

    It is removed from every role. Built-in permissions cannot be deleted.
    """
    tx = context.tx
    access.require_operator(context.actor, WRITE)
    permission = _get_permission(tx, query.permission_id)
    if permission.is_built_in:
        raise conflicting_field("permission_id", "is built in and cannot be deleted")
    cache_epochs.bump_auth_epoch(tx)
    store.delete(tx, permission.id)
    audit.log(tx, context.actor, "permission.delete", permission.id)
    return Permission.show(permission)


def _get_permission(tx: Tx, permission_id: str) -> PermissionValue:
    permission = PERMISSIONS.get(tx, permission_id)
    if permission is None:
        raise not_found("permission_id", "permission")
    return permission


_route = partial(Route, tag="Permissions", object_rule="operators only")

ROUTES = [
    _route(
        "GET",
        "/permission",
        list_permissions,
        ANY_TOKEN,
        object_rule="the catalogue is the same for everyone",
    ),
    _route(
        "POST",
        "/permission",
        create_permission,
        WRITE,
        conflicts="A permission of this id exists.",
    ),
    _route("PUT", "/permission", update_permission, WRITE),
    _route(
        "DELETE",
        "/permission",
        delete_permission,
        WRITE,
        conflicts="The permission is built in.",
    ),
]
