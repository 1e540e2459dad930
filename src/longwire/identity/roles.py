"""Roles: named sets of permissions, assigned to users in groups."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from longwire.clock import Moment
from longwire.errors import BadInput, FieldError, NotAllowed, invalid_field, not_found
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, Membership, Page, PageRequest, Role
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store import locks
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import groups as store_groups
from longwire.store.identity import permissions as store_permissions
from longwire.store.identity import roles as store
from longwire.store.identity.clients import CLIENTS
from longwire.versions import next_version, require_version


def list_page(tx: Tx, actor: Actor, request: PageRequest) -> Page[Role]:
    """The built-in roles, the actor's own, and those used in groups where they have role.read."""
    return store.list_page(tx, access.scope_all_groups(actor, "role.read"), actor, request)


def get_visible(tx: Tx, actor: Actor, role_id: str, *, field: str = "role_id") -> Role:
    """A role that the actor may see."""
    scope = access.scope_all_groups(actor, "role.read")
    role = store.get(tx, role_id) if store.is_visible(tx, scope, actor, role_id) else None
    if role is None:
        raise not_found(field, "role")
    return role


def create(
    tx: Tx,
    actor: Actor,
    name: str,
    description: str,
    permissions: Sequence[str],
    quotas: Quotas = DEFAULT_QUOTAS,
) -> Role:
    """Create a role from permissions that the actor has in a group where they have role.write."""
    wanted = _validate_permissions(tx, permissions)
    if not access.has_in_one_group(tx, actor, {"role.write", *wanted}):
        if not access.has_in_one_group(tx, actor, {"role.write"}):
            raise NotAllowed("This needs the permission role.write in some group.")
        raise NotAllowed(
            "A role can contain only permissions that you have in a group where you have "
            "role.write."
        )
    # Nobody has the new role, and nobody can have asked for its random id, so nothing that is
    # cached changes. The lock is for the quota.
    locks.acquire_lock(tx, "roles of creator", actor.id)
    quotas.require_room("roles_per_creator_max", store.count_created(tx, actor.id))
    role = Role(new_id("rol"), name, description, wanted, created_by=actor.id, updated_at=tx.now)
    store.insert(tx, role)
    detail = " ".join(wanted)
    audit.log(tx, actor, "role.create", role.id, detail=detail, name=name, after=_audited(role))
    return role


def update(
    tx: Tx,
    actor: Actor,
    role_id: str,
    group_id: str,
    *,
    name: str | None,
    description: str | None,
    permissions: Sequence[str] | None,
    if_updated_at: Moment | None = None,
) -> Role:
    """Update a role, which must be used only in this group and below."""
    cache_epochs.bump_auth_epoch(tx)
    role = _get_editable_role(tx, actor, role_id, group_id)
    require_version(role.updated_at, if_updated_at)
    changed = replace(
        role,
        name=role.name if name is None else name,
        description=role.description if description is None else description,
        permissions=role.permissions
        if permissions is None
        else _validate_permissions(tx, permissions),
        updated_at=next_version(tx.now, role.updated_at),
    )
    added = set(changed.permissions) - set(role.permissions)
    if not access.can_grant(tx, actor, group_id, added):
        raise NotAllowed("You can add only permissions that you have in this group.")
    store.save(tx, changed)
    audit.log(
        tx,
        actor,
        "role.update",
        role_id,
        group_id=group_id,
        detail=" ".join(changed.permissions),
        name=changed.name,
        before=_audited(role),
        after=_audited(changed),
    )
    return changed


def delete(tx: Tx, actor: Actor, role_id: str, group_id: str, user_id: str) -> Role:
    """Delete a role; the given member, if they have it, gets the group's default role."""
    cache_epochs.bump_auth_epoch(tx)
    role = _get_editable_role(tx, actor, role_id, group_id)
    scope = access.authorize(tx, actor, "role.write", group_id)
    holder = store_groups.get_member(tx, scope, group_id, user_id)
    if holder is None and user_id != actor.id:
        raise not_found("user_id", "member of the group")
    falls_back = holder is not None and holder.role_id == role_id
    others = store_groups.count_members_with_role(tx, role_id) - int(falls_back)
    if others:
        raise invalid_field("role_id", f"is still assigned to {others} other member(s)")
    clients = CLIENTS.count(tx, role_id=role_id)
    if clients:
        raise invalid_field("role_id", f"is the role of {clients} app client(s)")
    if store.is_default_somewhere(tx, role_id):
        raise invalid_field(
            "role_id", "is the default role of a group; choose another default first"
        )
    if holder is not None and falls_back:
        _assign_default_role(tx, actor, holder)
    store.delete(tx, [role_id])
    before = _audited(role)
    audit.log(tx, actor, "role.delete", role_id, group_id=group_id, name=role.name, before=before)
    return role


def _audited(role: Role) -> audit.Fields:
    return {
        "name": role.name,
        "description": role.description,
        "permissions": role.permissions,
    }


def _get_editable_role(tx: Tx, actor: Actor, role_id: str, group_id: str) -> Role:
    """The role, if the actor may edit it by role.write in this group."""
    access.authorize(tx, actor, "role.write", group_id)
    role = get_visible(tx, actor, role_id)
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
    store_groups.update_member_role(tx, replace(holder, role_id=default.id, updated_at=updated_at))
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
    unknown = set(wanted) - store_permissions.list_ids(tx)
    if unknown:
        raise BadInput(
            field_errors=[
                FieldError("permissions", f"there is no permission {each}")
                for each in sorted(unknown)
            ]
        )
    return wanted
