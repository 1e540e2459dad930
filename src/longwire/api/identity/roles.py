"""Roles: named sets of permissions."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, field

from longwire.api.identity.permissions import PermissionId
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import CHANGED_MEANWHILE, GroupId, IfUpdatedAt, parse_version
from longwire.errors import BadInput, FieldError, NotAllowed, invalid_field, not_found
from longwire.identity import access, roles
from longwire.ids import new_id
from longwire.model import Actor, Membership
from longwire.model import Role as RoleValue
from longwire.object_versions import next_version, require_version
from longwire.store import locks
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import groups as store_groups
from longwire.store.identity import permissions as store_permissions
from longwire.store.identity import roles as store
from longwire.store.identity.clients import CLIENTS
from longwire.store.identity.members import MEMBERS
from longwire.web.fields import Body, DateText, Id, Name, Paged, Query, Text
from longwire.web.openapi_schemas import HIDDEN
from longwire.web.routing import Route

WRITE = "role.write"


class Role(Shown[RoleValue]):
    """A named set of permissions."""

    id: str
    name: str
    description: str
    permissions: list[str]
    is_removable: bool | None = field(default=None, name="removable")
    updated_at: DateText | None = None


class RoleConnection(Page[Role]):
    """A page of roles."""


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


def list_roles(context: Context, query: Paged) -> RoleConnection:
    """List roles.

    The built-in roles, those created by the caller, and those used in groups where the caller has
    `role.read`.
    """
    tx, actor = context.tx, context.actor
    scope = access.scope_all_groups(actor, "role.read")
    page = store.list_page(tx, scope, actor, context.page_tokens.page_request(query))
    return RoleConnection.show(context, query, page, Role.show)


def create_role(context: Context, body: RoleInput) -> Role:
    """Create a role.

    It can contain only permissions that the caller has in a group where it has `role.write`.
    `permissions` is one string of ids, separated by commas or spaces; a list is accepted as well.
    """
    tx, actor = context.tx, context.actor
    wanted = _validate_permissions(tx, _permission_ids(body.permissions))
    if not access.has_in_one_group(tx, actor, {WRITE, *wanted}):
        if not access.has_in_one_group(tx, actor, {WRITE}):
            raise NotAllowed("This needs the permission role.write in some group.")
        raise NotAllowed(
            "A role can contain only permissions that you have in a group where you have "
            "role.write."
        )
    # Nobody has the new role, and nobody can have asked for its random id, so nothing that is
    # cached changes. The lock is for the quota.
    locks.acquire_lock(tx, "roles of creator", actor.id)
    count = store.ROLES.count(tx, created_by=actor.id)
    context.services.quotas.require_room("roles_per_creator_max", count)
    role = RoleValue(
        id=new_id("rol"),
        name=body.name,
        description=body.description,
        permissions=wanted,
        created_by=actor.id,
        updated_at=tx.now,
    )
    store.insert(tx, role)
    _log(context, "create", role, detail=" ".join(wanted), after=_audited(role))
    return Role.show(role)


def update_role(context: Context, body: RoleChange) -> Role:
    """Update a role.

    The change applies to everyone with the role. All groups that use it must be at or below
    `groupId`. Added permissions must be held by the caller.
    """
    tx, actor, group_id = context.tx, context.actor, body.group_id
    cache_epochs.bump_auth_epoch(tx)
    role = _get_editable_role(tx, actor, body.role_id, group_id)
    require_version(role.updated_at, parse_version(body.if_updated_at))
    wanted = body.permissions
    changed = replace(
        role,
        name=role.name if body.name is None else body.name,
        description=role.description if body.description is None else body.description,
        permissions=role.permissions if wanted is None else _validate_permissions(tx, wanted),
        updated_at=next_version(tx.now, role.updated_at),
    )
    added = set(changed.permissions) - set(role.permissions)
    if not access.can_grant(tx, actor, group_id, added):
        raise NotAllowed("You can add only permissions that you have in this group.")
    store.save(tx, role, changed)
    before, after, detail = _audited(role), _audited(changed), " ".join(changed.permissions)
    _log(context, "update", changed, group_id, detail=detail, before=before, after=after)
    return Role.show(changed)


def delete_role(context: Context, query: RoleQuery) -> Role:
    """Delete a role.

    The user `userId`, if they have it in the group, gets the group's default role. A role that
    anyone else has cannot be deleted.
    """
    tx, actor, group_id, user_id = context.tx, context.actor, query.group_id, query.user_id
    cache_epochs.bump_auth_epoch(tx)
    role = _get_editable_role(tx, actor, query.role_id, group_id)
    scope = access.authorize(tx, actor, WRITE, group_id)
    holder = MEMBERS.get(tx, scope, group_id, user_id)
    if holder is None and user_id != actor.id:
        raise not_found("user_id", "member of the group")
    falls_back = holder is not None and holder.role_id == role.id
    others = MEMBERS.count(tx, role_id=role.id) - int(falls_back)
    if others:
        raise invalid_field("role_id", f"is still assigned to {others} other member(s)")
    clients = CLIENTS.count(tx, role_id=role.id)
    if clients:
        raise invalid_field("role_id", f"is the role of {clients} app client(s)")
    if store.is_default_somewhere(tx, role.id):
        raise invalid_field(
            "role_id", "is the default role of a group; choose another default first"
        )
    if holder is not None and falls_back:
        _assign_default_role(tx, actor, holder)
    store.delete(tx, [role.id])
    _log(context, "delete", role, group_id, before=_audited(role))
    return Role.show(role)


def _log(
    context: Context, action: str, role: RoleValue, group_id: str | None = None, **changes: Any
) -> None:
    action, tx, actor = f"role.{action}", context.tx, context.actor
    audit.log(tx, actor, action, role.id, group_id=group_id, name=role.name, **changes)


def _audited(role: RoleValue) -> audit.Fields:
    return {
        "name": role.name,
        "description": role.description,
        "permissions": role.permissions,
    }


def _get_editable_role(tx: Tx, actor: Actor, role_id: str, group_id: str) -> RoleValue:
    """The role, if the actor may edit it by role.write in this group."""
    access.authorize(tx, actor, WRITE, group_id)
    role = roles.get_visible(tx, actor, role_id)
    if not role.is_removable:
        raise NotAllowed(f"The role {role.name} is built in and cannot be changed.")
    using = store.list_groups_using(tx, role_id)
    if not using and role.created_by != actor.id and not actor.is_operator:
        raise NotAllowed("Only its creator can change a role that is not in use.")
    if not store_groups.are_within(tx, using, group_id):
        raise NotAllowed("This role is also used in groups that are not below this one.")
    return role


def _assign_default_role(tx: Tx, actor: Actor, holder: Membership) -> None:
    default_id = store_groups.get_default_role_id(tx, holder.group_id)
    default = access.get_role(tx, default_id) if default_id else None
    assert default is not None  # a member's group exists, and so does its default role
    # Otherwise deleting a role could escalate its holder to a larger default role.
    access.require_can_grant(tx, actor, holder.group_id, default)
    updated_at = next_version(tx.now, holder.updated_at)
    MEMBERS.save(tx, holder, replace(holder, role_id=default.id, updated_at=updated_at))
    audit.log(
        tx,
        actor,
        "member.update",
        holder.user_id,
        group_id=holder.group_id,
        detail=default.id,
        before={"role_id": holder.role_id},
        after={"role_id": default.id},
    )


def _validate_permissions(tx: Tx, permissions: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(sorted(set(permissions)))
    if not wanted:
        raise invalid_field("permissions", "must contain at least one permission")
    unknown = sorted(set(wanted) - store_permissions.list_ids(tx))
    if unknown:
        errors = [FieldError("permissions", f"there is no permission {each}") for each in unknown]
        raise BadInput(field_errors=errors)
    return wanted


def _permission_ids(wanted: str | list[str]) -> list[str]:
    """The interface declares the list as one string."""
    return wanted.replace(",", " ").split() if isinstance(wanted, str) else wanted


_route = partial(Route, tag="Roles")

ROUTES = [
    _route(
        "GET",
        "/group/roles",
        list_roles,
        "role.read",
        object_rule="built-in roles, one's own, and those used in groups where role.read is held",
    ),
    _route(
        "POST",
        "/role",
        create_role,
        WRITE,
        object_rule="held in some group together with every permission the role gets",
        conflicts="The caller has created as many roles as one may.",
        not_found_is_bad_request=True,
    ),
    _route(
        "PUT",
        "/role",
        update_role,
        WRITE,
        object_rule="in groupId, at or above every group that uses the role",
        conflicts=CHANGED_MEANWHILE,
        not_found_is_bad_request=True,
    ),
    _route(
        "DELETE",
        "/role",
        delete_role,
        WRITE,
        object_rule="in groupId, at or above every group that uses the role",
        not_found_is_bad_request=True,
    ),
]
