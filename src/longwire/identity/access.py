"""Who may do what where. A permission buys a `Scope`; the store reads nothing without one.

A role held in a group holds in every group below it, and the roles along the way add up. What a
caller holds in a group is found by walking the group's path (at most 16 steps) through three small
tables that are kept in memory and dropped as soon as anything they rest on changes.

Whoever holds nothing in a group does not see it: for them it does not exist. Whoever holds
something, but not what the operation asks for, hears which permission is missing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from longwire.errors import NotAllowed, missing
from longwire.identity.bootstrap import ADMINISTRATOR
from longwire.model import Actor, Role, Scope
from longwire.store import credentials as store_credentials
from longwire.store import groups as store_groups
from longwire.store import permissions as store_permissions
from longwire.store import roles as store_roles
from longwire.store.database import Tx

# All that the token of a group lets a network do, in that group and below.
NETWORK = frozenset(["record.create"])

Holdings = dict[str, str]  # group id -> id of the role held there


@dataclass(frozen=True, slots=True)
class Standing:
    """What somebody is in a group: all they may do, and the role it is shown as."""

    permissions: frozenset[str]
    role: Role | None


def enter(
    tx: Tx, actor: Actor, permission: str, group_id: str, *, field: str = "group_id"
) -> Scope:
    """The scope of one group, for one permission; refuses who must not."""
    held = permissions_in(tx, actor, group_id)
    if not held:
        raise missing(field, "group")
    if permission not in held:
        raise NotAllowed(f"This needs the permission {permission} in group {group_id}.")
    return Scope(permission, frozenset([group_id]))


def own_place(tx: Tx, actor: Actor, group_id: str) -> Scope:
    """The scope of a group one belongs to oneself, whatever one may do there; for leaving it."""
    if group_id not in holdings_of(tx, actor) and not permissions_in(tx, actor, group_id):
        raise missing("group_id", "group")
    return Scope("own membership", frozenset([group_id]))


def everywhere(actor: Actor, permission: str) -> Scope:
    """The scope of every group in which the actor holds the permission."""
    return Scope(permission, holder=actor)


def within(tx: Tx, actor: Actor, permission: str, group_id: str | None) -> Scope:
    """The scope of a group if one is named, else of every group that the permission is held in."""
    if group_id is None:
        return everywhere(actor, permission)
    return enter(tx, actor, permission, group_id)


def require_platform(tx: Tx, actor: Actor, permission: str) -> None:
    """Platform-wide permissions are the operators' alone."""
    if not actor.is_operator:
        raise NotAllowed(f"This needs the permission {permission}, which only operators hold.")


def permissions_in(tx: Tx, actor: Actor, group_id: str) -> frozenset[str]:
    """Everything the actor may do in a group; nothing when the group does not exist."""
    return standing(tx, actor, group_id).permissions


def role_in(tx: Tx, actor: Actor, group_id: str) -> Role | None:
    """The nearest role on the way up, with all the permissions that add up."""
    return standing(tx, actor, group_id).role


def can_grant(tx: Tx, actor: Actor, group_id: str, permissions: Iterable[str]) -> bool:
    """Nobody grants more than they hold."""
    return set(permissions) <= permissions_in(tx, actor, group_id)


def require_grant(tx: Tx, actor: Actor, group_id: str, role: Role) -> None:
    """Refuse to hand on, or to take away, a role that is larger than one's own."""
    excess = set(role.permissions) - permissions_in(tx, actor, group_id)
    if excess:
        raise NotAllowed(
            f"The role {role.name} holds what you do not hold in group {group_id}: "
            f"{', '.join(sorted(excess))}."
        )


def groups_where(tx: Tx, actor: Actor, permission: str) -> list[str]:
    """Of the groups in which the actor holds a role, those where they hold the permission too."""
    return [
        group_id
        for group_id in holdings_of(tx, actor)
        if permission in permissions_in(tx, actor, group_id)
    ]


def actor_of_token(tx: Tx, digest: bytes) -> tuple[Actor, int] | None:
    return tx.recall("tokens", digest, lambda: store_credentials.token_actor(tx, digest))


# --- what is remembered ---


def standing(tx: Tx, actor: Actor, group_id: str) -> Standing:
    """What the actor is in a group: one look-up once it is known."""
    key = f"{actor.kind}:{actor.id}@{group_id}"
    return tx.recall("standings", key, lambda: _standing(tx, actor, group_id))


def _standing(tx: Tx, actor: Actor, group_id: str) -> Standing:
    path = path_up(tx, group_id)
    if actor.kind == "network":
        return Standing(NETWORK if actor.group_id in path else frozenset(), None)
    holdings = holdings_of(tx, actor)
    held = [holdings[each] for each in path if each in holdings]
    if actor.is_operator:
        permissions = every_permission(tx) if path else frozenset()
    else:
        permissions = frozenset().union(*(permissions_of_role(tx, each) for each in held))
    nearest = held[0] if held else ADMINISTRATOR if actor.is_operator else None
    role = role_named(tx, nearest) if nearest else None
    if role is not None:
        role = replace(role, permissions=tuple(sorted(permissions)))
    return Standing(permissions, role)


def holdings_of(tx: Tx, actor: Actor) -> Holdings:
    """The groups in which the actor holds a role of their own."""
    return tx.recall("holdings", f"{actor.kind}:{actor.id}", lambda: _holdings(tx, actor))


def path_up(tx: Tx, group_id: str) -> tuple[str, ...]:
    return tx.recall("paths", group_id, lambda: store_groups.path_up(tx, group_id))


def role_named(tx: Tx, role_id: str) -> Role | None:
    return tx.recall("roles", role_id, lambda: store_roles.get(tx, role_id))


def permissions_of_role(tx: Tx, role_id: str) -> frozenset[str]:
    return tx.recall(
        "role permissions", role_id, lambda: frozenset(store_roles.permissions_of(tx, role_id))
    )


def every_permission(tx: Tx) -> frozenset[str]:
    return tx.recall(
        "permissions", "", lambda: frozenset(each.id for each in store_permissions.every(tx))
    )


def _holdings(tx: Tx, actor: Actor) -> Holdings:
    if actor.kind == "client" and actor.group_id is not None:
        role_id = store_groups.default_role_id(tx, actor.group_id)
        return {actor.group_id: role_id} if role_id else {}
    return dict(store_groups.memberships(tx, actor.id))
