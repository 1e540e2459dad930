"""Roles: named sets of permissions."""

from functools import partial
from typing import Annotated

from msgspec import Meta

from longwire.api.identity.permissions import PermissionId
from longwire.api.services import Context
from longwire.api.types import CHANGED_MEANWHILE, GroupId, IfUpdatedAt, parse_version
from longwire.dates import format_date
from longwire.identity import roles
from longwire.model import Role as RoleValue
from longwire.web.fields import Body, DateText, Id, Name, Paged, Query, Reply, Text
from longwire.web.openapi_schemas import HIDDEN
from longwire.web.routing import Route


class Role(Reply):
    """A named set of permissions."""

    id: str
    name: str
    description: str
    permissions: list[str]
    removable: bool | None = None
    updated_at: DateText | None = None


class RoleConnection(Reply):
    """A page of roles."""

    items: list[Role]
    next_token: str | None = None


class RoleInput(Body):
    """A role to create."""

    name: Name
    description: Text
    permissions: (
        Annotated[
            str,
            Meta(
                max_length=8_192,
                description="Permission ids, separated by commas or spaces.",
                examples=["device.read, record.read"],
            ),
        ]
        # One type for generated clients; a list is taken all the same.
        | Annotated[list[PermissionId], Meta(max_length=1_000, extra_json_schema={HIDDEN: True})]
    )


class RoleChange(Body):
    """Changes to a role."""

    role_id: Id
    group_id: GroupId
    name: Name | None = None
    description: Text | None = None
    permissions: Annotated[list[PermissionId], Meta(max_length=1_000)] | None = None
    if_updated_at: IfUpdatedAt | None = None


class RoleQuery(Query):
    """Which role to delete, through which group, and who falls back to the default role."""

    group_id: GroupId
    role_id: Id
    user_id: Id


def role_wire(role: RoleValue) -> Role:
    return Role(
        id=role.id,
        name=role.name,
        description=role.description,
        permissions=list(role.permissions),
        removable=role.is_removable,
        updated_at=format_date(role.updated_at),
    )


def list_roles(context: Context, query: Paged) -> RoleConnection:
    """List roles.

    The built-in roles, those created by the caller, and those used in groups where the caller has
    `role.read`.
    """
    page = roles.list_page(context.tx, context.actor, context.page_tokens.page_request(query))
    return RoleConnection(
        items=[role_wire(role) for role in page.items],
        next_token=context.page_tokens.next_token(query, page),
    )


def create_role(context: Context, body: RoleInput) -> Role:
    """Create a role.

    It can contain only permissions that the caller has in a group where it has `role.write`.
    `permissions` is one string of ids, separated by commas or spaces; a list is accepted as well.
    """
    return role_wire(
        roles.create(
            context.tx,
            context.actor,
            body.name,
            body.description,
            _permission_ids(body.permissions),
            context.services.quotas,
        )
    )


def update_role(context: Context, body: RoleChange) -> Role:
    """Update a role.

    The change applies to everyone with the role. All groups that use it must be at or below
    `groupId`. Added permissions must be held by the caller.
    """
    return role_wire(
        roles.update(
            context.tx,
            context.actor,
            body.role_id,
            body.group_id,
            name=body.name,
            description=body.description,
            permissions=body.permissions,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def delete_role(context: Context, query: RoleQuery) -> Role:
    """Delete a role.

    The user `userId`, if they have it in the group, gets the group's default role. A role that
    anyone else has cannot be deleted.
    """
    return role_wire(
        roles.delete(context.tx, context.actor, query.role_id, query.group_id, query.user_id)
    )


def _permission_ids(wanted: str | list[str]) -> list[str]:
    """The interface declares the list as one string."""
    return wanted.replace(",", " ").split() if isinstance(wanted, str) else wanted


_role_route = partial(Route, tag="Roles")

ROUTES = [
    _role_route(
        "GET",
        "/group/roles",
        list_roles,
        "role.read",
        object_rule="built-in roles, one's own, and those used in groups where role.read is held",
    ),
    _role_route(
        "POST",
        "/role",
        create_role,
        "role.write",
        object_rule="held in some group together with every permission the role gets",
        conflicts="The caller has created as many roles as one may.",
        not_found_is_bad_request=True,
    ),
    _role_route(
        "PUT",
        "/role",
        update_role,
        "role.write",
        object_rule="in groupId, at or above every group that uses the role",
        conflicts=CHANGED_MEANWHILE,
        not_found_is_bad_request=True,
    ),
    _role_route(
        "DELETE",
        "/role",
        delete_role,
        "role.write",
        object_rule="in groupId, at or above every group that uses the role",
        not_found_is_bad_request=True,
    ),
]
