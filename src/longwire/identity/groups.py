"""Groups: their tree, members, owner, default role and group token."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from longwire.clock import Moment
from longwire.errors import (
    Conflict,
    NotAllowed,
    NotAuthenticated,
    conflicting_field,
    invalid_field,
    not_found,
)
from longwire.identity import access, roles, sessions, users
from longwire.identity.bootstrap import ADMINISTRATOR, MEMBER
from longwire.ids import new_secret
from longwire.model import (
    Actor,
    Group,
    Membership,
    Page,
    PageRequest,
    Role,
    Scope,
    User,
)
from longwire.object_versions import NewText, next_version, require_version, update_text
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.fleet import device_reports as store_reports
from longwire.store.fleet import device_types, devices, measurements, summaries
from longwire.store.identity import audit, group_limits, request_owners
from longwire.store.identity import groups as store
from longwire.store.identity import members as store_members
from longwire.store.identity.members import MEMBERS
from longwire.store.notifications import contact_points

LEVELS_MAX = 16
COUNTED_DEVICES_MAX = 10_000
NAMED_TYPES_MAX = 10
NAMED_CONTACT_POINTS_MAX = 10


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as one caller may see it, with the role of one user."""

    group: Group
    user_id: str
    role: Role | None
    token: str | None
    is_invited: bool = False  # the user has not accepted the membership yet


@dataclass(frozen=True, slots=True)
class MembershipView:
    """A user's membership in a group, as the caller may see it."""

    group: Group
    user_id: str
    role: Role
    token: str | None
    updated_at: Moment
    is_pending: bool = False  # the member has not accepted it yet


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a group, as the caller may see them."""

    user: User
    role: Role | None
    updated_at: Moment  # of the membership


@dataclass(frozen=True, slots=True)
class GroupUpdate:
    """The fields to update; None leaves a field unchanged."""

    name: NewText = None
    description: NewText = None
    tags: Sequence[str] | None = None
    owner_id: str | None = None
    role_id: str | None = None
    parent_id: str | None = None  # "" for a root group
    if_updated_at: Moment | None = None  # the version that the update is based on


def get(tx: Tx, actor: Actor, group_id: str) -> GroupView:
    scope = access.authorize(tx, actor, "group.read", group_id)
    return build_view(tx, actor, _get_group(tx, scope, group_id))


def list_for_user(
    tx: Tx, actor: Actor, user_id: str | None, group_id: str | None, request: PageRequest
) -> Page[GroupView]:
    """The groups of a user, as far as the caller may see them."""
    if group_id is not None and not access.get_permissions(tx, actor, group_id):
        raise not_found("group_id", "group")
    if user_id is None or user_id == actor.id:
        about, scope = actor, None
    else:
        found = users.get_visible(tx, actor, user_id)
        about = Actor("user", found.id, is_operator=found.is_operator)
        scope = access.scope_all_groups(actor, "member.read")
    page = store.list_page(tx, about, scope, group_id, request)
    return Page([build_view(tx, actor, group, about) for group in page.items], page.last_key)


def list_tree(
    tx: Tx, actor: Actor, parent_id: str | None, q: str | None, request: PageRequest
) -> Page[tuple[GroupView, int]]:
    """Groups as a tree: those below one, else the topmost ones; each with how many are below it.

    With a text, those with that text in their name, at any depth. Without their tokens: a list
    need not carry secrets.
    """
    if parent_id is not None:
        access.authorize(tx, actor, "group.read", parent_id, field="parent_id")
    scope = access.scope_all_groups(actor, "group.read")
    page = store.list_tree(tx, scope, parent_id, q, request)
    counts = store.count_children(tx, [group.id for group in page.items])
    views = [
        (
            GroupView(
                group, actor.id, access.get_effective_role(tx, actor, group.id).role, token=None
            ),
            counts.get(group.id, 0),
        )
        for group in page.items
    ]
    return Page(views, page.last_key)


def build_view(tx: Tx, actor: Actor, group: Group, about: Actor | None = None) -> GroupView:
    """The group as the actor sees it, with the role of `about`, by default the actor."""
    about = about or actor
    return GroupView(
        group,
        about.id,
        access.get_effective_role(tx, about, group.id).role,
        _get_visible_token(tx, actor, group),
        is_invited=about.has_invitations and is_invited(tx, about, [group.id]),
    )


def create(
    tx: Tx,
    actor: Actor,
    parent_id: str | None,
    *,
    name: str | None,
    description: str | None,
    tags: Sequence[str],
    quotas: Quotas = DEFAULT_QUOTAS,
) -> GroupView:
    """Create a group; its creator is its owner and Administrator."""
    cache_epochs.bump_auth_epoch(tx)
    owner_id = actor.id
    if parent_id is not None:
        scope = access.authorize(tx, actor, "group.create", parent_id, field="parent_id")
        if len(access.get_group_path(tx, parent_id)) >= LEVELS_MAX:
            raise invalid_field("parent_id", f"is at level {LEVELS_MAX} already, the maximum")
        if actor.kind == "client":
            owner_id = _get_group(tx, scope, parent_id).owner_id
    elif actor.kind == "client":
        raise NotAllowed("An app client can create groups only below its own: send parentId.")
    else:
        sessions.require_oneself(tx)  # it would belong to the user for ever
    quotas.require_room("groups_per_owner_max", store.GROUPS.count(tx, quota_user_id=owner_id))
    group_id, token = tx.context.group_ids.next(tx.now), new_secret("lwg")
    group = Group(
        id=group_id,
        parent_id=parent_id,
        owner_id=owner_id,
        name=name,
        description=description,
        tags=tuple(tags),
        sealed_token=tx.keyring.seal(token, _seal_purpose(group_id)),
        administrator_role_id=ADMINISTRATOR,
        default_role_id=MEMBER,
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
        updated_by=actor.id,
    )
    store.insert(tx, group, tx.keyring.digest(token))
    MEMBERS.insert(
        tx, Membership(group_id, owner_id, ADMINISTRATOR, tx.now, tx.now, accepted_at=tx.now)
    )
    audit.log(
        tx,
        actor,
        "group.create",
        group_id,
        group_id=group_id,
        detail=parent_id or "",
        name=name,
        after=_audited(group),
    )
    return build_view(tx, actor, group)


def update(tx: Tx, actor: Actor, group_id: str, changes: GroupUpdate) -> GroupView:
    """Update a group: name, description, tags, owner, default role, parent."""
    # Only these three affect authorisation; a new name must not invalidate the auth cache.
    if changes.owner_id is not None or changes.role_id is not None or changes.parent_id is not None:
        cache_epochs.bump_auth_epoch(tx)
    if changes.parent_id is not None:
        # Before the group's row is locked: connector updates lock in this order.
        cache_epochs.bump_config_epoch(tx, group_id)
    scope = access.authorize(tx, actor, "group.update", group_id)
    # Of two at once, the second one finds what the first has changed.
    store.lock(tx, group_id)
    group = _get_group(tx, scope, group_id)
    require_version(group.updated_at, changes.if_updated_at)
    changed = replace(
        group,
        name=update_text(changes.name, group.name),
        description=update_text(changes.description, group.description),
        tags=group.tags if changes.tags is None else tuple(changes.tags),
        owner_id=_validate_new_owner(tx, actor, scope, group, changes.owner_id),
        default_role_id=_validate_new_default_role(tx, actor, group, changes.role_id),
        updated_at=next_version(tx.now, group.updated_at),
        updated_by=actor.id,
    )
    if changes.parent_id is not None:
        changed = replace(changed, parent_id=_move(tx, actor, group, changes.parent_id or None))
    store.GROUPS.save(tx, group, changed)
    audit.log(
        tx,
        actor,
        "group.update",
        group_id,
        group_id=group_id,
        detail=_list_changed_fields(group, changed),
        name=changed.name,
        before=_audited(group),
        after=_audited(changed),
    )
    return build_view(tx, actor, changed)


# --- members ---


def list_members(tx: Tx, actor: Actor, group_id: str, request: PageRequest) -> Page[MemberView]:
    scope = access.authorize(tx, actor, "member.read", group_id)
    page = store_members.list_members(tx, scope, group_id, request)
    people = [
        MemberView(
            users.show_member(actor, user, member),
            access.get_role(tx, member.role_id),
            member.updated_at,
        )
        for user, member in page.items
    ]
    return Page(people, page.last_key)


def invite(
    tx: Tx,
    actor: Actor,
    email: str,
    group_id: str,
    role_id: str,
    quotas: Quotas = DEFAULT_QUOTAS,
    *,
    language: str | None = None,
) -> MembershipView:
    """Add a member by e-mail address; the result does not reveal whether the user existed."""
    cache_epochs.bump_auth_epoch(tx)
    scope = access.authorize(tx, actor, "member.write", group_id)
    group = _get_group(tx, scope, group_id)
    role = roles.get_visible(tx, actor, role_id)
    access.require_can_grant(tx, actor, group_id, role)
    user = users.get_or_register(tx, actor, email, group_id, language)
    present = MEMBERS.get(tx, scope, group_id, user.id)
    if present is None:
        quotas.require_room("members_per_group_max", MEMBERS.count(tx, group_id=group_id))
        MEMBERS.insert(tx, Membership(group_id, user.id, role_id, tx.now, tx.now, invited_as=email))
        after = {"email": email, "role_id": role_id}
        audit.log(
            tx, actor, "member.invite", user.id, group_id=group_id, detail=role_id, after=after
        )
    elif present.role_id != role_id:
        raise conflicting_field("email", "is already a member with another role; update that role")
    return MembershipView(
        group,
        user.id,
        role,
        _get_visible_token(tx, actor, group),
        tx.now if present is None else present.updated_at,
        is_pending=present is None or present.accepted_at is None,
    )


def is_invited(tx: Tx, actor: Actor, group_ids: Iterable[str]) -> bool:
    """Whether the actor has not accepted a membership in one of these groups."""
    return bool(store_members.list_invitations(tx, actor.id, group_ids))


def accept_invitations(tx: Tx, actor: Actor, group_ids: Iterable[str]) -> None:
    """A user accepts memberships in these groups."""
    cache_epochs.bump_auth_epoch(tx)
    for membership in store_members.list_invitations(tx, actor.id, group_ids):
        MEMBERS.save(tx, membership, replace(membership, accepted_at=tx.now))
        owner_id = request_owners.get_owner_id(tx, membership.group_id)
        request_owners.move_to_sponsor(tx, actor.id, owner_id)
        audit.log(tx, actor, "member.accept", actor.id, group_id=membership.group_id)


def accept_invitation(tx: Tx, actor: Actor, group_id: str) -> GroupView:
    """Accept one's membership in a group; nothing changes if it is accepted."""
    scope = access.authorize_own_membership(tx, actor, group_id)
    group = _get_group(tx, scope, group_id)
    if is_invited(tx, actor, [group_id]):
        accept_invitations(tx, actor, [group_id])
    return replace(build_view(tx, actor, group), is_invited=False)


def set_role(
    tx: Tx,
    actor: Actor,
    user_id: str,
    group_id: str,
    role_id: str,
    if_updated_at: Moment | None = None,
) -> MembershipView:
    """Change a member's role."""
    cache_epochs.bump_auth_epoch(tx)
    scope = access.authorize(tx, actor, "member.write", group_id)
    group = _get_group(tx, scope, group_id)
    member = _get_member(tx, scope, group_id, user_id)
    role = roles.get_visible(tx, actor, role_id)
    access.require_can_grant(tx, actor, group_id, role)
    _require_can_manage_member(tx, actor, member)
    require_version(member.updated_at, if_updated_at)
    updated_at = member.updated_at
    if role_id != member.role_id:
        _require_another_administrator(tx, group, member)
        updated_at = next_version(tx.now, member.updated_at)
        MEMBERS.save(tx, member, replace(member, role_id=role_id, updated_at=updated_at))
        audit.log(
            tx,
            actor,
            "member.update",
            user_id,
            group_id=group_id,
            detail=role_id,
            before={"role_id": member.role_id},
            after={"role_id": role_id},
        )
    return MembershipView(group, user_id, role, _get_visible_token(tx, actor, group), updated_at)


def remove_member(tx: Tx, actor: Actor, group_id: str, user_id: str | None) -> MembershipView:
    """Remove a member; every member may leave by themselves."""
    cache_epochs.bump_auth_epoch(tx)
    leaving = user_id is None or user_id == actor.id
    person = actor.id if user_id is None else user_id
    if leaving and actor.kind == "client":
        raise NotAllowed("An app client is not a member and cannot leave: send userId.")
    scope = (
        access.authorize_own_membership(tx, actor, group_id)
        if leaving
        else access.authorize(tx, actor, "member.write", group_id)
    )
    group = _get_group(tx, scope, group_id)
    member = _get_member(tx, scope, group_id, person)
    if not leaving:
        _require_can_manage_member(tx, actor, member)
    _require_another_administrator(tx, group, member)
    role = access.get_role(tx, member.role_id)
    assert role is not None  # an assigned role cannot be deleted
    MEMBERS.delete(tx, group_id, person)
    before = {"role_id": member.role_id}
    audit.log(tx, actor, "member.remove", person, group_id=group_id, before=before)
    return MembershipView(group, person, role, None, member.updated_at)


# --- rules ---


def _get_group(tx: Tx, scope: Scope, group_id: str) -> Group:
    group = store.get(tx, scope, group_id)
    if group is None:
        raise not_found("group_id", "group")
    return group


def _get_member(tx: Tx, scope: Scope, group_id: str, user_id: str) -> Membership:
    member = MEMBERS.get(tx, scope, group_id, user_id)
    if member is None:
        raise not_found("user_id", "member of this group")
    return member


def rotate_token(tx: Tx, actor: Actor, group_id: str) -> str:
    """Replace the group token; the old one is invalid at once."""
    cache_epochs.bump_auth_epoch(tx)
    scope = access.authorize(tx, actor, "group.update", group_id)
    group = _get_group(tx, scope, group_id)
    token = new_secret("lwg")
    sealed = tx.keyring.seal(token, _seal_purpose(group_id))
    store.update_token(tx, group_id, tx.keyring.digest(token), sealed)
    name = group.name
    audit.log(tx, actor, "group.rotateToken", group_id, group_id=group_id, name=name)
    return token


def authenticate_network(tx: Tx, digest: bytes) -> Actor:
    """The network actor of a group token, given its digest."""
    group_id = tx.cache.get_auth(
        "network tokens", digest, lambda: store.get_id_by_token(tx, digest)
    )
    if group_id is None:
        raise NotAuthenticated("The group token is invalid; GET /group shows the current one.")
    owner_id = request_owners.get_owner_id(tx, group_id)
    rates = group_limits.list_rates(tx, group_id)
    return Actor("network", group_id, group_id=group_id, owner_id=owner_id, rates=rates)


def _get_visible_token(tx: Tx, actor: Actor, group: Group) -> str | None:
    """The group token can impersonate the group's devices, so reading it needs group.update.

    It outlives a session, so that it is not shown to somebody who was handed one over.
    """
    if "group.update" not in access.get_permissions(tx, actor, group.id):
        return None
    if tx.origin.issued_by is not None:
        return None
    return tx.keyring.unseal(group.sealed_token, _seal_purpose(group.id))


def _validate_new_owner(
    tx: Tx, actor: Actor, scope: Scope, group: Group, owner_id: str | None
) -> str:
    if owner_id is None or owner_id == group.owner_id:
        return group.owner_id
    if actor.id != group.owner_id and not actor.is_operator:
        raise NotAllowed("Only the owner can transfer the ownership of a group.")
    if MEMBERS.get(tx, scope, group.id, owner_id) is None:
        raise invalid_field("owner_id", "must be a member of this group")
    return owner_id


def _validate_new_default_role(tx: Tx, actor: Actor, group: Group, role_id: str | None) -> str:
    if role_id is None or role_id == group.default_role_id:
        return group.default_role_id
    access.require_can_grant(tx, actor, group.id, roles.get_visible(tx, actor, role_id))
    return role_id


def _move(tx: Tx, actor: Actor, group: Group, parent_id: str | None) -> str | None:
    """Move the group below another parent, or to the root; returns the new parent's id."""
    if parent_id == group.parent_id:
        return parent_id
    if parent_id is not None:
        _require_valid_parent(tx, actor, group, parent_id)
    elif actor.kind == "client":
        raise NotAllowed("An app client cannot create a root group.")
    else:
        sessions.require_oneself(tx)
    require_can_take_out(tx, actor, group)
    if parent_id is None and not _count_administrators(tx, group):
        raise Conflict("A root group needs an Administrator of its own; add one first.")
    before = store.get_path(tx, group.id)
    store.move(tx, group.id, parent_id)
    _require_types(tx, group, before)
    _require_contact_points(tx, group, before)
    # Other policies apply now, and other measurements.
    cache_epochs.bump_config_epoch(tx, group.id)
    store_reports.schedule_check_of_group(tx, group.id)
    below = store.list_subtree(tx, group.id)
    others = {*before} ^ {*store.get_path(tx, group.id)}
    for type_name in {each.type for each in measurements.list_declared(tx, sorted(others))}:
        summaries.mark_all_of_type(tx, type_name, below)
    return parent_id


def _require_types(tx: Tx, group: Group, path_before: Sequence[str]) -> None:
    """Refuse a move away from groups whose types devices in it or below have."""
    left = sorted({*path_before} - {*store.get_path(tx, group.id)})
    types = device_types.list_names_of_groups(tx, left)
    count = devices.count_below(tx, group.id, types, COUNTED_DEVICES_MAX) if types else 0
    if count:
        raise Conflict(
            f"{count:,} devices in the group or below it have types of groups that it would leave"
            f" ({', '.join(types[:NAMED_TYPES_MAX])}); give them other types first."
        )


def _require_contact_points(tx: Tx, group: Group, path_before: Sequence[str]) -> None:
    """Refuse a move away from groups whose contact points are used in it or below."""
    left = {*path_before} - {*store.get_path(tx, group.id)}
    names = contact_points.list_left_behind(tx, group.id, left)
    if names:
        raise Conflict(
            "Notifications in the group or below it use contact points of groups that it would"
            f" leave ({', '.join(names[:NAMED_CONTACT_POINTS_MAX])}); give them others first."
        )


def _require_valid_parent(tx: Tx, actor: Actor, group: Group, parent_id: str) -> None:
    access.authorize(tx, actor, "group.create", parent_id, field="parent_id")
    path = access.get_group_path(tx, parent_id)
    if group.id in path:
        raise invalid_field("parent_id", "is the group itself or below it")
    if len(path) + 1 + store.get_height(tx, group.id) > LEVELS_MAX:
        raise invalid_field("parent_id", f"would put groups below level {LEVELS_MAX}, the maximum")


def require_can_take_out(tx: Tx, actor: Actor, group: Group) -> None:
    """Administrators of the old parent lose this group, and those of the new one get it.

    So the parent has to consent, which is a permission there, or the owner if there is no parent;
    and the actor must be able to assign and revoke the role of an Administrator here. Otherwise the
    Administrator of a branch could take it away from its company, and a move would be a privilege
    escalation.
    """
    parent_id = group.parent_id
    if parent_id is None and actor.id != group.owner_id and not actor.is_operator:
        raise NotAllowed("Only its owner can delete a root group, or move it below another one.")
    if parent_id is not None and "group.update" not in access.get_permissions(tx, actor, parent_id):
        raise NotAllowed(
            "This needs the permission group.update in the parent that the group leaves."
        )
    administrator = access.get_role(tx, group.administrator_role_id)
    assert administrator is not None  # it is built in
    access.require_can_grant(tx, actor, group.id, administrator)


def _require_can_manage_member(tx: Tx, actor: Actor, member: Membership) -> None:
    """Members with permissions that the actor lacks cannot be changed by the actor."""
    role = access.get_role(tx, member.role_id)
    if role is not None:
        access.require_can_grant(tx, actor, member.group_id, role)


def _require_another_administrator(tx: Tx, group: Group, member: Membership) -> None:
    """A root group keeps an Administrator: no parent could provide one."""
    if group.parent_id is not None or member.role_id != group.administrator_role_id:
        return
    if _count_administrators(tx, group) <= 1:
        raise Conflict("This is the last Administrator of a root group; add another one first.")


def _count_administrators(tx: Tx, group: Group) -> int:
    return MEMBERS.count(tx, group_id=group.id, role_id=group.administrator_role_id)


def _audited(group: Group) -> audit.Fields:
    return {
        "name": group.name,
        "description": group.description,
        "tags": group.tags,
        "owner_id": group.owner_id,
        "role_id": group.default_role_id,
        "parent": group.parent_id,
    }


def _list_changed_fields(before: Group, after: Group) -> str:
    """The names of the changed fields, for the audit log."""
    names = ("name", "description", "tags", "owner_id", "default_role_id", "parent_id")
    return " ".join(each for each in names if getattr(before, each) != getattr(after, each))


def _seal_purpose(group_id: str) -> str:
    return f"device_group|{group_id}|token"
