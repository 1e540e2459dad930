"""Roles and permissions on the wire."""

from typing import Annotated

from msgspec import Meta

from longwire.identity import permissions, roles
from longwire.model import Permission as PermissionValue
from longwire.model import Role as RoleValue
from longwire.web.routing import ANY_TOKEN, Call, Route
from longwire.web.validation import Body, GroupId, Id, Name, Paged, Query, Reply, Text

PermissionId = Annotated[str, Meta(min_length=1, max_length=64, examples=["report.read"])]


class Role(Reply):
    """A named set of permissions."""

    id: str
    name: str
    description: str
    permissions: list[str]
    removable: bool | None = None


class RoleConnection(Reply):
    """A page of roles."""

    items: list[Role]
    next_token: str | None = None


class Permission(Reply):
    """Something that a role can allow."""

    id: str
    name: str
    description: str


class PermissionConnection(Reply):
    """A page of permissions."""

    items: list[Permission]
    next_token: str | None = None


class PermissionBody(Body):
    """A permission to add or change."""

    permission_id: PermissionId
    name: Name
    description: Text


class PermissionQuery(Query):
    """Which permission."""

    permission_id: PermissionId


class RoleInput(Body):
    """A role to create."""

    name: Name
    description: Text
    permissions: (
        Annotated[
            str,
            Meta(
                max_length=8_192,
                description="One permission id, or several with commas or spaces between.",
                examples=["device.read, record.read"],
            ),
        ]
        | Annotated[list[PermissionId], Meta(max_length=1_000)]
    )


class RoleChange(Body):
    """What is to be different about a role."""

    role_id: Id
    group_id: GroupId
    name: Name | None = None
    description: Text | None = None
    permissions: Annotated[list[PermissionId], Meta(max_length=1_000)] | None = None


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
    )


def permission_wire(permission: PermissionValue) -> Permission:
    return Permission(id=permission.id, name=permission.name, description=permission.description)


def list_roles(call: Call, query: Paged) -> RoleConnection:
    """List roles.

    The built-in roles, those you made, and those in use in groups where you may read roles.
    """
    page = roles.list_page(call.tx, call.actor, call.pages.open(query))
    return RoleConnection(
        items=[role_wire(role) for role in page.items], next_token=call.pages.close(query, page)
    )


def create_role(call: Call, body: RoleInput) -> Role:
    """Create a role.

    It can hold only permissions that you hold yourself in a group where you have `role.write`.
    `permissions` is one string: an id, or several separated by commas or spaces. A list is taken
    as well.
    """
    return role_wire(
        roles.create(call.tx, call.actor, body.name, body.description, _split(body.permissions))
    )


def change_role(call: Call, body: RoleChange) -> Role:
    """Change a role.

    It changes for everyone who holds it. All groups that use it must lie at or below `groupId`.
    What you add you must hold yourself.
    """
    return role_wire(
        roles.change(
            call.tx,
            call.actor,
            body.role_id,
            body.group_id,
            name=body.name,
            description=body.description,
            permissions=body.permissions,
        )
    )


def delete_role(call: Call, query: RoleQuery) -> Role:
    """Delete a role.

    The user named by `userId`, if they hold it in the group, falls back to the group's default
    role. While anyone else holds it, it stays.
    """
    return role_wire(
        roles.delete(call.tx, call.actor, query.role_id, query.group_id, query.user_id)
    )


def list_permissions(call: Call, query: Paged) -> PermissionConnection:
    """List all permissions."""
    page = permissions.list_page(call.tx, call.pages.open(query))
    return PermissionConnection(
        items=[permission_wire(each) for each in page.items],
        next_token=call.pages.close(query, page),
    )


def create_permission(call: Call, body: PermissionBody) -> Permission:
    """Add a permission.

    Administrators hold it from then on; other roles when it is put into them.
    """
    return permission_wire(
        permissions.create(call.tx, call.actor, body.permission_id, body.name, body.description)
    )


def change_permission(call: Call, body: PermissionBody) -> Permission:
    """Change a permission's name and description."""
    return permission_wire(
        permissions.change(call.tx, call.actor, body.permission_id, body.name, body.description)
    )


def delete_permission(call: Call, query: PermissionQuery) -> Permission:
    """Delete a permission.

    It disappears from every role. The built-in ones cannot be deleted.
    """
    return permission_wire(permissions.delete(call.tx, call.actor, query.permission_id))


def _split(wanted: str | list[str]) -> list[str]:
    """The interface types the list as one string."""
    return wanted.replace(",", " ").split() if isinstance(wanted, str) else wanted


ROUTES = [
    Route(
        method="GET",
        path="/group/roles",
        handler=list_roles,
        needs="role.read",
        rule="built-in roles, one's own, and those used in groups where role.read is held",
        tag="Roles",
    ),
    Route(
        method="POST",
        path="/role",
        handler=create_role,
        needs="role.write",
        rule="held in some group together with every permission the role gets",
        tag="Roles",
        missing_is_bad=True,
    ),
    Route(
        method="PUT",
        path="/role",
        handler=change_role,
        needs="role.write",
        rule="in groupId, at or above every group that uses the role",
        tag="Roles",
        missing_is_bad=True,
    ),
    Route(
        method="DELETE",
        path="/role",
        handler=delete_role,
        needs="role.write",
        rule="in groupId, at or above every group that uses the role",
        tag="Roles",
        missing_is_bad=True,
    ),
    Route(
        method="GET",
        path="/permission",
        handler=list_permissions,
        needs=ANY_TOKEN,
        rule="the catalogue is the same for everyone",
        tag="Permissions",
    ),
    Route(
        method="POST",
        path="/permission",
        handler=create_permission,
        needs="permission.write",
        rule="operators only",
        tag="Permissions",
        conflicts="A permission of this id exists.",
    ),
    Route(
        method="PUT",
        path="/permission",
        handler=change_permission,
        needs="permission.write",
        rule="operators only",
        tag="Permissions",
    ),
    Route(
        method="DELETE",
        path="/permission",
        handler=delete_permission,
        needs="permission.write",
        rule="operators only",
        tag="Permissions",
        conflicts="The permission is built in.",
    ),
]
