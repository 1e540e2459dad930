"""Authorisation: turns an actor and a permission into a `Scope`, which every store read requires.

A role in a group also applies to every group below it, and the permissions of all roles on a
group's path (at most 16 levels) add up. The tables this needs are cached, and invalidated by the
auth epoch as soon as one of them changes.

An actor without any permission in a group gets "not found"; one with some, but not the required
permission, gets "not allowed" with its name.
"""

from collections.abc import Collection, Iterable, Set
from dataclasses import dataclass, replace

from longwire.errors import NotAllowed, not_found
from longwire.identity.bootstrap import ADMINISTRATOR
from longwire.model import Actor, Role, Scope, User
from longwire.store.database import Tx
from longwire.store.identity import clients as store_clients
from longwire.store.identity import credentials as store_credentials
from longwire.store.identity import groups as store_groups
from longwire.store.identity import members as store_members
from longwire.store.identity import permissions as store_permissions
from longwire.store.identity import roles as store_roles

# What a group token permits, in that group and below.
NETWORK_PERMISSIONS = frozenset(["record.create"])

# Of an actor with more, only the roles on the path of a group are loaded: any change of permissions
# makes everybody's roles be loaded again, and somebody may be a member of 100,000 groups.
ASSIGNMENTS_CACHED_MAX = 1_000

RoleAssignments = dict[str, str]  # group id -> role id


@dataclass(frozen=True, slots=True)
class EffectiveRole:
    """An actor's permissions in a group, inherited ones included, and the role to display."""

    permissions: frozenset[str]
    role: Role | None  # the nearest one on the group's path, with the inherited permissions


def authorize(
    tx: Tx, actor: Actor, permission: str, group_id: str, *, field: str = "group_id"
) -> Scope:
    """The scope of one group for one permission; NotFound or NotAllowed without it."""
    permissions = get_permissions(tx, actor, group_id)
    if not permissions:
        raise not_found(field, "group")
    if permission not in permissions:
        raise NotAllowed(f"This needs the permission {permission} in group {group_id}.")
    return Scope(permission, frozenset([group_id]))


def authorize_tree(
    tx: Tx, actor: Actor, permission: str, group_id: str, *, subgroups: bool = True
) -> Scope:
    """The scope of a group and all groups below, in which the permission holds as well."""
    scope = authorize(tx, actor, permission, group_id)
    if not subgroups:
        return scope
    return Scope(permission, frozenset(store_groups.list_subtree(tx, group_id)))


def authorize_own_membership(tx: Tx, actor: Actor, group_id: str) -> Scope:
    """The scope of a group the actor is a member of, whatever their role; used to leave it."""
    is_member = bool(get_direct_roles(tx, actor, [group_id]))
    if not is_member and not get_permissions(tx, actor, group_id):
        raise not_found("group_id", "group")
    return Scope("own membership", frozenset([group_id]))


def scope_all_groups(actor: Actor, permission: str) -> Scope:
    """The scope of every group in which the actor has the permission."""
    return Scope(permission, holder=actor)


def authorize_optional_group(tx: Tx, actor: Actor, permission: str, group_id: str | None) -> Scope:
    """The scope of the given group, else of every group in which the actor has the permission."""
    if group_id is None:
        return scope_all_groups(actor, permission)
    return authorize(tx, actor, permission, group_id)


def require_operator(actor: Actor, permission: str) -> None:
    """Only operators have platform-wide permissions."""
    if not actor.is_operator:
        raise NotAllowed(f"This needs the permission {permission}, which only operators have.")


def get_permissions(tx: Tx, actor: Actor, group_id: str) -> frozenset[str]:
    """The actor's permissions in a group; empty if the group does not exist."""
    return get_effective_role(tx, actor, group_id).permissions


def can_grant(tx: Tx, actor: Actor, group_id: str, permissions: Iterable[str]) -> bool:
    """Whether the actor has all these permissions; nobody grants more than they have."""
    return set(permissions) <= get_permissions(tx, actor, group_id)


def require_can_grant(tx: Tx, actor: Actor, group_id: str, role: Role) -> None:
    """Refuse to assign or revoke a role with permissions that the actor lacks."""
    excess = set(role.permissions) - get_permissions(tx, actor, group_id)
    if excess:
        raise NotAllowed(
            f"The role {role.name} has permissions that you do not have in group {group_id}: "
            f"{', '.join(sorted(excess))}."
        )


def has_in_one_group(tx: Tx, actor: Actor, permissions: Set[str]) -> bool:
    """Whether there is a group with a direct role of the actor in which they have all of these.

    They may have very many groups, but few roles. Permissions in a group are those of roles on its
    path, so mostly the roles alone decide: one has all of these, or even together they lack one.
    Otherwise the tree does, as far as one role of theirs is above another.
    """
    if actor.is_operator:
        return True
    if actor.kind == "client" and actor.group_id is not None:
        return permissions <= get_permissions(tx, actor, actor.group_id)
    role_ids = store_members.list_role_ids(tx, actor.id)
    held = {each: permissions & get_role_permissions(tx, each) for each in role_ids}
    if permissions - frozenset().union(*held.values()):
        return False
    candidates = [role_id for role_id, some in held.items() if some == permissions]
    if not candidates:
        # Possibly more than what there is above one group; the last statement is exact.
        for below, above in store_members.list_role_pairs(tx, actor.id):
            held[below] = held.get(below, frozenset()) | held.get(above, frozenset())
        candidates = [role_id for role_id, some in held.items() if some == permissions]
    if not candidates:
        return False
    group_id = store_members.find_with_permissions(tx, actor.id, candidates, permissions)
    return group_id is not None and permissions <= get_permissions(tx, actor, group_id)


def get_token_actor(tx: Tx, digest: bytes) -> tuple[Actor, int] | None:
    return tx.cache.get_auth(
        "tokens", digest, lambda: store_credentials.get_token_actor(tx, digest)
    )


def holds_all_of(tx: Tx, actor: Actor, user: User) -> bool:
    """Whether the actor could do everything that a user can do; False if that takes too long.

    Owners can do more with their groups than their permissions say.
    """
    if actor.is_operator or (actor.kind, actor.id) == ("user", user.id):
        return True
    if user.is_operator or store_groups.owns_any(tx, user.id):
        return False
    other = Actor("user", user.id)
    assignments = _get_few_assignments(tx, other)
    return assignments is not None and all(
        get_permissions(tx, other, each) <= get_permissions(tx, actor, each) for each in assignments
    )


# --- cached lookups ---


def get_effective_role(tx: Tx, actor: Actor, group_id: str) -> EffectiveRole:
    """The actor's effective role in a group, cached."""
    key = f"{actor.kind}:{actor.id}@{group_id}"
    return tx.cache.get_auth("standings", key, lambda: _compute_effective_role(tx, actor, group_id))


def _compute_effective_role(tx: Tx, actor: Actor, group_id: str) -> EffectiveRole:
    path = get_group_path(tx, group_id)
    if actor.kind == "network":
        return EffectiveRole(NETWORK_PERMISSIONS if actor.group_id in path else frozenset(), None)
    role_ids = list(get_direct_roles(tx, actor, path).values())
    if actor.is_operator:
        permissions = get_all_permissions(tx) if path else frozenset()
    else:
        permissions = frozenset().union(*(get_role_permissions(tx, each) for each in role_ids))
    nearest = role_ids[0] if role_ids else ADMINISTRATOR if actor.is_operator else None
    role = get_role(tx, nearest) if nearest else None
    if role is not None:
        role = replace(role, permissions=tuple(sorted(permissions)))
    return EffectiveRole(permissions, role)


def get_direct_roles(tx: Tx, actor: Actor, group_ids: Collection[str]) -> RoleAssignments:
    """The actor's direct roles in some groups, in the order of these."""
    found = _get_few_assignments(tx, actor)
    if found is None:
        found = store_members.list_memberships_in(tx, actor.id, group_ids)
    return {each: found[each] for each in group_ids if each in found}


def _get_few_assignments(tx: Tx, actor: Actor) -> RoleAssignments | None:
    """The actor's direct roles in all groups; None if there are too many."""
    return tx.cache.get_auth(
        "assignments", f"{actor.kind}:{actor.id}", lambda: _load_few_assignments(tx, actor)
    )


def get_group_path(tx: Tx, group_id: str) -> tuple[str, ...]:
    return tx.cache.get_auth("paths", group_id, lambda: store_groups.get_path(tx, group_id))


def load_group_paths(tx: Tx, group_ids: Collection[str]) -> None:
    """Load the paths of many groups at once, for those who need each of them next."""
    tx.cache.load_missing("paths", group_ids, lambda missing: store_groups.list_paths(tx, missing))


def get_role(tx: Tx, role_id: str) -> Role | None:
    return tx.cache.get_auth("roles", role_id, lambda: store_roles.get(tx, role_id))


def get_role_permissions(tx: Tx, role_id: str) -> frozenset[str]:
    role = get_role(tx, role_id)
    return frozenset(role.permissions) if role else frozenset()


def get_all_permissions(tx: Tx) -> frozenset[str]:
    return tx.cache.get_auth("permissions", "", lambda: store_permissions.list_ids(tx))


def _load_few_assignments(tx: Tx, actor: Actor) -> RoleAssignments | None:
    if actor.kind == "client" and actor.group_id is not None:
        role_id = store_clients.get_role_id(tx, actor.id)
        return {actor.group_id: role_id} if role_id else {}
    found = store_members.list_memberships(tx, actor.id, ASSIGNMENTS_CACHED_MAX + 1)
    return found if len(found) <= ASSIGNMENTS_CACHED_MAX else None
