"""Roles: named sets of permissions that people hold in groups."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from longwire.errors import BadInput, Fault, NotAllowed, missing, wrong
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, Membership, Page, PageRequest, Role
from longwire.store import audit, auth_epoch
from longwire.store import groups as store_groups
from longwire.store import permissions as store_permissions
from longwire.store import roles as store
from longwire.store.database import Tx


def list_page(tx: Tx, actor: Actor, request: PageRequest) -> Page[Role]:
    """The built-in roles, one's own, and those in use where one may read roles."""
    return store.list_page(tx, access.everywhere(actor, "role.read"), actor, request)


def visible(tx: Tx, actor: Actor, role_id: str, *, field: str = "role_id") -> Role:
    """A role the actor may know of."""
    scope = access.everywhere(actor, "role.read")
    role = store.get(tx, role_id) if store.is_visible(tx, scope, actor, role_id) else None
    if role is None:
        raise missing(field, "role")
    return role


def create(tx: Tx, actor: Actor, name: str, description: str, permissions: Sequence[str]) -> Role:
    """Make a role out of permissions that the actor holds in a group where they manage roles."""
    wanted = _known(tx, permissions)
    if not actor.is_operator:
        homes = access.groups_where(tx, actor, "role.write")
        if not homes:
            raise NotAllowed("This needs the permission role.write in some group.")
        if not any(access.can_grant(tx, actor, group_id, wanted) for group_id in homes):
            raise NotAllowed(
                "A role can hold only what you hold yourself in a group where you have role.write."
            )
    auth_epoch.change(tx)
    role = Role(new_id("rol"), name, description, wanted, created_by=actor.id)
    store.insert(tx, role)
    audit.note(tx, actor, "role.create", role.id, detail=" ".join(wanted))
    return role


def change(
    tx: Tx,
    actor: Actor,
    role_id: str,
    group_id: str,
    *,
    name: str | None,
    description: str | None,
    permissions: Sequence[str] | None,
) -> Role:
    """Change a role for everyone who holds it; all of them at or below the group."""
    auth_epoch.change(tx)
    role = _in_hands(tx, actor, role_id, group_id)
    changed = replace(
        role,
        name=role.name if name is None else name,
        description=role.description if description is None else description,
        permissions=role.permissions if permissions is None else _known(tx, permissions),
    )
    added = set(changed.permissions) - set(role.permissions)
    if not access.can_grant(tx, actor, group_id, added):
        raise NotAllowed("A role can be given only what you hold yourself in this group.")
    store.save(tx, changed)
    audit.note(
        tx, actor, "role.update", role_id, group_id=group_id, detail=" ".join(changed.permissions)
    )
    return changed


def delete(tx: Tx, actor: Actor, role_id: str, group_id: str, user_id: str) -> Role:
    """Delete a role; the named person, if they hold it in the group, falls back to its default."""
    auth_epoch.change(tx)
    role = _in_hands(tx, actor, role_id, group_id)
    scope = access.enter(tx, actor, "role.write", group_id)
    holder = store_groups.member(tx, scope, group_id, user_id)
    if holder is None and user_id != actor.id:
        raise missing("user_id", "member of the group")
    falls_back = holder is not None and holder.role_id == role_id
    others = store_groups.count_holding(tx, role_id) - int(falls_back)
    if others:
        raise wrong("role_id", f"is still held by {others} other member(s); give them another role")
    if store.is_default_somewhere(tx, role_id):
        raise wrong("role_id", "is the default role of a group; choose another default first")
    if holder is not None and falls_back:
        _fall_back(tx, actor, holder)
    store.delete(tx, role_id)
    audit.note(tx, actor, "role.delete", role_id, group_id=group_id)
    return role


def _in_hands(tx: Tx, actor: Actor, role_id: str, group_id: str) -> Role:
    """The role, when the actor may change it through this group."""
    access.enter(tx, actor, "role.write", group_id)
    role = visible(tx, actor, role_id)
    if not role.is_removable:
        raise NotAllowed(f"The role {role.name} is built in and cannot be changed.")
    using = store.groups_using(tx, role_id)
    if not using and role.created_by != actor.id and not actor.is_operator:
        raise NotAllowed("Nobody uses this role, and it was made by somebody else.")
    if not store_groups.are_within(tx, using, group_id):
        raise NotAllowed("This role is also used in groups that do not lie below this one.")
    return role


def _fall_back(tx: Tx, actor: Actor, holder: Membership) -> None:
    default_id = store_groups.default_role_id(tx, holder.group_id)
    default = access.role_named(tx, default_id) if default_id else None
    assert default is not None  # a member's group exists, and so does its default role
    # Else somebody could delete a small role and so give its holder, or themselves, a large one.
    access.require_grant(tx, actor, holder.group_id, default)
    store_groups.set_role(tx, replace(holder, role_id=default.id))
    audit.note(
        tx, actor, "member.update", holder.user_id, group_id=holder.group_id, detail=default.id
    )


def _known(tx: Tx, permissions: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(sorted(set(permissions)))
    if not wanted:
        raise wrong("permissions", "must name at least one permission")
    unknown = set(wanted) - store_permissions.known(tx, wanted)
    if unknown:
        raise BadInput(
            faults=[
                Fault("permissions", f"there is no permission {each}") for each in sorted(unknown)
            ]
        )
    return wanted
