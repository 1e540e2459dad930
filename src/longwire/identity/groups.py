"""Groups: the tree, who belongs to which, and what may be changed about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from longwire.errors import Conflict, Fault, NotAllowed, NotAuthenticated, missing, wrong
from longwire.identity import access, roles, users
from longwire.identity.bootstrap import ADMINISTRATOR, MEMBER
from longwire.ids import new_group_id, new_secret
from longwire.model import Actor, Group, Membership, Page, PageRequest, Role, Scope, User
from longwire.store import audit, auth_epoch
from longwire.store import groups as store
from longwire.store import users as store_users
from longwire.store.database import Tx

LEVELS_MAX = 16


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group as one caller may see it, about one user."""

    group: Group
    about: str
    role: Role | None
    token: str | None


@dataclass(frozen=True, slots=True)
class Relation:
    """Somebody's place in a group."""

    group: Group
    user_id: str
    role: Role
    token: str | None
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class GroupChange:
    """What is to be different; None leaves a thing as it is."""

    name: str | None = None
    description: str | None = None
    tags: Sequence[str] | None = None
    owner_id: str | None = None
    role_id: str | None = None
    parent_id: str | None = None  # "" makes the group a root


def show(tx: Tx, actor: Actor, group_id: str) -> GroupView:
    scope = access.enter(tx, actor, "group.read", group_id)
    return view(tx, actor, _existing(tx, scope, group_id))


def of_user(
    tx: Tx, actor: Actor, user_id: str | None, group_id: str | None, request: PageRequest
) -> Page[GroupView]:
    """The groups somebody belongs to, as far as the caller may see them."""
    if group_id is not None and not access.permissions_in(tx, actor, group_id):
        raise missing("group_id", "group")
    if user_id is None or user_id == actor.id:
        about, scope = actor, None
    else:
        found = users.seen(tx, actor, user_id)
        about = Actor("user", found.id, is_operator=found.is_operator)
        scope = access.everywhere(actor, "member.read")
    page = store.of(tx, about, scope, group_id, request)
    return Page([view(tx, actor, group, about) for group in page.items], page.last_key)


def view(tx: Tx, actor: Actor, group: Group, about: Actor | None = None) -> GroupView:
    """The group as the actor sees it, about themselves or somebody else."""
    about = about or actor
    return GroupView(
        group, about.id, access.role_in(tx, about, group.id), _token_for(tx, actor, group)
    )


def create(
    tx: Tx,
    actor: Actor,
    parent_id: str | None,
    *,
    name: str | None,
    description: str | None,
    tags: Sequence[str],
) -> GroupView:
    """A new group; whoever makes it owns it and is its Administrator."""
    auth_epoch.change(tx)
    owner_id = actor.id
    if parent_id is not None:
        scope = access.enter(tx, actor, "group.create", parent_id, field="parent_id")
        if len(access.path_up(tx, parent_id)) >= LEVELS_MAX:
            raise wrong("parent_id", f"lies at level {LEVELS_MAX} already, the deepest there is")
        if actor.kind == "client":
            owner_id = _existing(tx, scope, parent_id).owner_id
    elif actor.kind == "client":
        raise NotAllowed("An app client can create groups only below its own: send parentId.")
    group_id, token = new_group_id(tx.now), new_secret("lwg")
    group = Group(
        id=group_id,
        parent_id=parent_id,
        owner_id=owner_id,
        name=name,
        description=description,
        tags=tuple(tags),
        sealed_token=tx.keyring.seal(token, _purpose(group_id)),
        administrator_role_id=ADMINISTRATOR,
        default_role_id=MEMBER,
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
        updated_by=actor.id,
    )
    store.insert(tx, group, tx.keyring.digest(token))
    store.add_member(tx, Membership(group_id, owner_id, ADMINISTRATOR, tx.now))
    audit.note(tx, actor, "group.create", group_id, group_id=group_id, detail=parent_id or "")
    return view(tx, actor, group)


def change(tx: Tx, actor: Actor, group_id: str, wish: GroupChange) -> GroupView:
    """Change a group: its texts, its owner, its default role, its place in the tree."""
    # Only these three touch what anybody may do; a new name must not empty everyone's memory.
    if wish.owner_id is not None or wish.role_id is not None or wish.parent_id is not None:
        auth_epoch.change(tx)
    scope = access.enter(tx, actor, "group.update", group_id)
    # All fields are written back: without the lock a rename could undo a move made meanwhile.
    store.lock(tx, group_id)
    group = _existing(tx, scope, group_id)
    changed = replace(
        group,
        name=group.name if wish.name is None else wish.name,
        description=group.description if wish.description is None else wish.description,
        tags=group.tags if wish.tags is None else tuple(wish.tags),
        owner_id=_new_owner(tx, actor, scope, group, wish.owner_id),
        default_role_id=_new_default_role(tx, actor, group, wish.role_id),
        updated_at=tx.now,
        updated_by=actor.id,
    )
    if wish.parent_id is not None:
        changed = replace(changed, parent_id=_move(tx, actor, group, wish.parent_id or None))
    store.save(tx, changed)
    audit.note(tx, actor, "group.update", group_id, group_id=group_id, detail=_what(group, changed))
    return view(tx, actor, changed)


# --- members ---


def members(
    tx: Tx, actor: Actor, group_id: str, request: PageRequest
) -> Page[tuple[User, Role | None]]:
    scope = access.enter(tx, actor, "member.read", group_id)
    page = store.members(tx, scope, group_id, request)
    people = [(user, access.role_named(tx, member.role_id)) for user, member in page.items]
    return Page(people, page.last_key)


def invite(tx: Tx, actor: Actor, email: str, group_id: str, role_id: str) -> Relation:
    """Make somebody a member by their address, known or not; the answer does not tell which."""
    auth_epoch.change(tx)
    scope = access.enter(tx, actor, "member.write", group_id)
    group = _existing(tx, scope, group_id)
    role = roles.visible(tx, actor, role_id)
    access.require_grant(tx, actor, group_id, role)
    user = store_users.by_email(tx, email) or users.register(tx, actor, email)
    present = store.member(tx, scope, group_id, user.id)
    if present is None:
        store.add_member(tx, Membership(group_id, user.id, role_id, tx.now))
        audit.note(tx, actor, "member.invite", user.id, group_id=group_id, detail=role_id)
    elif present.role_id != role_id:
        raise Conflict(
            faults=[Fault("email", "belongs to a member with another role; change it there")]
        )
    return Relation(group, user.id, role, _token_for(tx, actor, group), present is None)


def set_role(tx: Tx, actor: Actor, user_id: str, group_id: str, role_id: str) -> Relation:
    """Give a member another role."""
    auth_epoch.change(tx)
    scope = access.enter(tx, actor, "member.write", group_id)
    group = _existing(tx, scope, group_id)
    member = _member(tx, scope, group_id, user_id)
    role = roles.visible(tx, actor, role_id)
    access.require_grant(tx, actor, group_id, role)
    _require_reach(tx, actor, member)
    if role_id != member.role_id:
        _require_another_administrator(tx, group, member)
        store.set_role(tx, replace(member, role_id=role_id))
        audit.note(tx, actor, "member.update", user_id, group_id=group_id, detail=role_id)
    return Relation(group, user_id, role, _token_for(tx, actor, group))


def remove(tx: Tx, actor: Actor, group_id: str, user_id: str | None) -> Relation:
    """Take somebody out of a group; anyone may leave."""
    auth_epoch.change(tx)
    leaving = user_id is None or user_id == actor.id
    person = actor.id if user_id is None else user_id
    if leaving and actor.kind == "client":
        raise NotAllowed("An app client is not a member and cannot leave: send userId.")
    scope = (
        access.own_place(tx, actor, group_id)
        if leaving
        else access.enter(tx, actor, "member.write", group_id)
    )
    group = _existing(tx, scope, group_id)
    member = _member(tx, scope, group_id, person)
    if not leaving:
        _require_reach(tx, actor, member)
    _require_another_administrator(tx, group, member)
    role = access.role_named(tx, member.role_id)
    assert role is not None  # a held role cannot be deleted
    store.remove_member(tx, group_id, person)
    audit.note(tx, actor, "member.remove", person, group_id=group_id)
    return Relation(group, person, role, None)


# --- the rules, one each ---


def _existing(tx: Tx, scope: Scope, group_id: str) -> Group:
    group = store.get(tx, scope, group_id)
    if group is None:
        raise missing("group_id", "group")
    return group


def _member(tx: Tx, scope: Scope, group_id: str, user_id: str) -> Membership:
    member = store.member(tx, scope, group_id, user_id)
    if member is None:
        raise missing("user_id", "member of this group")
    return member


def rotate_token(tx: Tx, actor: Actor, group_id: str) -> str:
    """Another token for the networks of a group. Whoever has only the old one is nobody now."""
    auth_epoch.change(tx)
    scope = access.enter(tx, actor, "group.update", group_id)
    _existing(tx, scope, group_id)
    token = new_secret("lwg")
    sealed = tx.keyring.seal(token, _purpose(group_id))
    store.set_token(tx, group_id, tx.keyring.digest(token), sealed)
    audit.note(tx, actor, "group.rotateToken", group_id, group_id=group_id)
    return token


def network_of(tx: Tx, digest: bytes) -> Actor:
    """Who speaks with the network token of this digest: a network, for the devices of a group."""
    group_id = tx.recall("network tokens", digest, lambda: store.by_token(tx, digest))
    if group_id is None:
        raise NotAuthenticated("The token of the group is unknown; GET /group shows it.")
    return Actor("network", group_id, group_id=group_id)


def _token_for(tx: Tx, actor: Actor, group: Group) -> str | None:
    """The network token lets anybody speak as the group's devices; only who changes it sees it."""
    if "group.update" not in access.permissions_in(tx, actor, group.id):
        return None
    return tx.keyring.unseal(group.sealed_token, _purpose(group.id))


def _new_owner(tx: Tx, actor: Actor, scope: Scope, group: Group, owner_id: str | None) -> str:
    if owner_id is None or owner_id == group.owner_id:
        return group.owner_id
    if actor.id != group.owner_id and not actor.is_operator:
        raise NotAllowed("Only the owner can hand a group over.")
    if store.member(tx, scope, group.id, owner_id) is None:
        raise wrong("owner_id", "must be a member of this group")
    return owner_id


def _new_default_role(tx: Tx, actor: Actor, group: Group, role_id: str | None) -> str:
    if role_id is None or role_id == group.default_role_id:
        return group.default_role_id
    access.require_grant(tx, actor, group.id, roles.visible(tx, actor, role_id))
    return role_id


def _move(tx: Tx, actor: Actor, group: Group, parent_id: str | None) -> str | None:
    """Hang the group elsewhere; the parent it has then."""
    if parent_id == group.parent_id:
        return parent_id
    if parent_id is None:
        if actor.kind == "client":
            raise NotAllowed("An app client cannot make a root group.")
        if store.count_holding(tx, group.administrator_role_id, group_id=group.id) == 0:
            raise Conflict("A root group needs an Administrator of its own; appoint one first.")
    else:
        _require_place(tx, actor, group, parent_id)
    store.move(tx, group.id, parent_id)
    return parent_id


def _require_place(tx: Tx, actor: Actor, group: Group, parent_id: str) -> None:
    access.enter(tx, actor, "group.create", parent_id, field="parent_id")
    # Whoever administers the new parent will administer this group: that is for somebody to grant
    # who holds as much themselves, or a small right would become a large one by way of a new home.
    administrator = access.role_named(tx, group.administrator_role_id)
    assert administrator is not None  # it is built in
    access.require_grant(tx, actor, group.id, administrator)
    path = access.path_up(tx, parent_id)
    if group.id in path:
        raise wrong("parent_id", "lies in the group itself")
    if len(path) + 1 + store.height(tx, group.id) > LEVELS_MAX:
        raise wrong("parent_id", f"would put groups below level {LEVELS_MAX}, the deepest there is")


def _require_reach(tx: Tx, actor: Actor, member: Membership) -> None:
    """A member who holds more than the actor is beyond the actor's reach."""
    role = access.role_named(tx, member.role_id)
    if role is not None:
        access.require_grant(tx, actor, member.group_id, role)


def _require_another_administrator(tx: Tx, group: Group, member: Membership) -> None:
    """A root group keeps an Administrator: nobody above could appoint one."""
    if group.parent_id is not None or member.role_id != group.administrator_role_id:
        return
    if store.count_holding(tx, group.administrator_role_id, group_id=group.id) <= 1:
        raise Conflict("This is the last Administrator of a root group; appoint another one first.")


def _what(before: Group, after: Group) -> str:
    """The names of the fields that changed, for the audit trail."""
    names = ("name", "description", "tags", "owner_id", "default_role_id", "parent_id")
    return " ".join(each for each in names if getattr(before, each) != getattr(after, each))


def _purpose(group_id: str) -> str:
    return f"device_group|{group_id}|token"
