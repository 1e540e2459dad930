"""Why somebody is allowed or denied something: the roles on the way, and who could help."""

from collections.abc import Iterator
from dataclasses import dataclass

from longwire.errors import invalid_field, not_found
from longwire.identity import access, users
from longwire.model import Actor, Role, User
from longwire.store.database import Tx
from longwire.store.identity import groups as store_groups
from longwire.store.identity import members as store_members
from longwire.store.identity import roles as store_roles
from longwire.store.identity import users as store_users
from longwire.store.identity.permissions import PERMISSIONS

ROLES_MAX = 20
ASKABLE_MAX = 5
# Members of each group on the path who are considered.
CANDIDATES_MAX = 50


@dataclass(frozen=True, slots=True)
class PathStep:
    """A group on the path, and the role that somebody has in it."""

    group_id: str
    name: str | None
    role: Role | None
    holds: bool  # whether that role has the permission


@dataclass(frozen=True, slots=True)
class AccessExplanation:
    user_id: str
    permission: str
    is_allowed: bool
    is_operator: bool
    path: list[PathStep]  # from the root on
    roles: list[Role]  # that have the permission
    askable: list[User]


def explain(
    tx: Tx, actor: Actor, group_id: str, permission: str, user_id: str | None
) -> AccessExplanation:
    """Explain whether the actor, or a user they see, has a permission in a group.

    Of the path only those groups are shown that the actor has access to; of another user's path
    those in which the actor may see the members.
    """
    is_own = user_id is None or (actor.kind, actor.id) == ("user", user_id)
    subject = actor
    if is_own or user_id is None:
        if not access.get_permissions(tx, actor, group_id):
            raise not_found("group_id", "group")
    else:
        access.authorize(tx, actor, "member.read", group_id)
        users.get_visible(tx, actor, user_id)
        subject = _actor(store_users.USERS.get(tx, user_id))
    if PERMISSIONS.get(tx, permission) is None:
        raise invalid_field("permission", "is no permission")
    path = list(reversed(access.get_group_path(tx, group_id)))
    needed = None if is_own else "member.read"
    shown = [each for each in path if _sees(tx, actor, each, needed)]
    is_allowed = permission in access.get_permissions(tx, subject, group_id)
    scope = access.scope_all_groups(actor, "role.read")
    return AccessExplanation(
        subject.id,
        permission,
        is_allowed,
        subject.is_operator and (is_own or actor.is_operator),
        [_step(tx, actor, subject, each, permission) for each in shown],
        store_roles.list_holding(tx, scope, actor, permission, ROLES_MAX),
        [] if is_allowed else _list_askable(tx, actor, subject, path, permission),
    )


def _sees(tx: Tx, actor: Actor, group_id: str, permission: str | None) -> bool:
    held = access.get_permissions(tx, actor, group_id)
    return bool(held) if permission is None else permission in held


def _step(tx: Tx, actor: Actor, subject: Actor, group_id: str, permission: str) -> PathStep:
    role_id = access.get_direct_roles(tx, subject, [group_id]).get(group_id)
    role = access.get_role(tx, role_id) if role_id else None
    name = None
    if "group.read" in access.get_permissions(tx, actor, group_id):
        group = store_groups.get(tx, access.authorize(tx, actor, "group.read", group_id), group_id)
        name = group.name if group else None
    return PathStep(group_id, name, role, role is not None and permission in role.permissions)


def _list_askable(
    tx: Tx, actor: Actor, subject: Actor, path: list[str], permission: str
) -> list[User]:
    """Members on the path who have the permission and may grant it; the nearest first."""
    found: dict[str, User] = {}
    for user in _list_granting(tx, actor, path):
        if user.id == subject.id or user.id in found:
            continue
        held = access.get_permissions(tx, _actor(user), path[-1])
        if {"member.write", permission} <= held:
            found[user.id] = user
            if len(found) == ASKABLE_MAX:
                break
    return list(found.values())


def _list_granting(tx: Tx, actor: Actor, path: list[str]) -> Iterator[User]:
    for group_id in reversed(path):
        if _sees(tx, actor, group_id, "member.read"):
            scope = access.authorize(tx, actor, "member.read", group_id)
            yield from store_members.list_holders(
                tx, scope, group_id, "member.write", CANDIDATES_MAX
            )


def _actor(user: User | None) -> Actor:
    assert user is not None  # it was just seen
    return Actor("user", user.id, is_operator=user.is_operator)
