"""Users and their push tokens."""

import re
from dataclasses import dataclass, replace

from longwire.errors import NotAllowed, conflicting_field, invalid_field, not_found
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, Membership, Page, PageRequest, PushToken, User
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.identity import audit, request_owners
from longwire.store.identity import groups as store_groups
from longwire.store.identity import users as store

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]{1,189}")


@dataclass(frozen=True, slots=True)
class RegisteredPushToken:
    """A push token in plain text."""

    push: PushToken
    token: str


def get_current(tx: Tx, actor: Actor) -> User:
    if actor.kind != "user":
        raise NotAllowed("This needs a user; an app client is not one.")
    user = store.get(tx, actor.id)
    if user is None:
        raise not_found("user_id", "user")
    return user


def get_visible(tx: Tx, actor: Actor, user_id: str) -> User:
    """A user who shares a group with the actor in which the actor has member.read."""
    membership = None
    if not actor.is_operator:
        scope = access.scope_all_groups(actor, "member.read")
        membership = store_groups.get_shared_membership(tx, scope, user_id)
    user = store.get(tx, user_id) if membership or actor.is_operator else None
    if user is None:
        raise not_found("user_id", "user")
    return user if membership is None else show_member(actor, user, membership)


def list_page(tx: Tx, actor: Actor, request: PageRequest) -> Page[User]:
    """The users that `get_visible` would find; for an operator all of them."""
    scope = access.scope_all_groups(actor, "member.read")
    page = store.list_page(tx, scope, request)
    shown = [
        user if is_accepted else get_visible(tx, actor, user.id) for user, is_accepted in page.items
    ]
    return Page(shown, page.last_key)


def show_member(actor: Actor, user: User, membership: Membership) -> User:
    """A member as others see them: before they have accepted, only what the inviter typed.

    Otherwise an invitation would show whether an address has an account, and whose.
    """
    is_accepted = membership.accepted_at is not None
    if is_accepted or actor.is_operator or (actor.kind, actor.id) == ("user", user.id):
        return user
    return User(
        id=user.id,
        email=membership.invited_as or user.email,
        created_at=membership.created_at,
        updated_at=membership.created_at,
    )


def create(
    tx: Tx, actor: Actor, email: str, *, first_name: str | None, last_name: str | None
) -> User:
    access.require_operator(actor, "user.create")
    if store.get_by_email(tx, email):
        raise conflicting_field("email", "is already in use")
    return register(tx, actor, email, first_name=first_name, last_name=last_name)


def register(
    tx: Tx,
    actor: Actor,
    email: str,
    *,
    first_name: str | None = None,
    last_name: str | None = None,
    is_operator: bool = False,
) -> User:
    """Create a user without checking permissions."""
    user = _build(tx, email, first_name, last_name, is_operator=is_operator)
    store.insert(tx, user)
    audit.log(tx, actor, "user.create", user.id)
    return user


def get_or_register(tx: Tx, actor: Actor, email: str, group_id: str) -> User:
    """The user with this address, who is invited to a group.

    It takes as long to find one as to create one.
    """
    user = _build(tx, email, None, None)
    if store.insert_if_absent(tx, user, request_owners.get_owner_id(tx, group_id)):
        audit.log(tx, actor, "user.create", user.id)
    found = store.get_by_email(tx, email)
    assert found is not None  # it is there now
    return found


def _build(
    tx: Tx, email: str, first_name: str | None, last_name: str | None, *, is_operator: bool = False
) -> User:
    if not _EMAIL.fullmatch(email):
        raise invalid_field("email", "must be an e-mail address")
    return User(
        id=new_id("usr"),
        email=email,
        name=" ".join(part for part in (first_name, last_name) if part) or None,
        first_name=first_name,
        last_name=last_name,
        is_operator=is_operator,
        created_at=tx.now,
        updated_at=tx.now,
    )


def update_current(
    tx: Tx,
    actor: Actor,
    *,
    gender: str | None,
    name: str | None,
    first_name: str | None,
    last_name: str | None,
) -> User:
    user = get_current(tx, actor)
    changed = replace(
        user,
        gender=user.gender if gender is None else gender,
        name=user.name if name is None else name,
        first_name=user.first_name if first_name is None else first_name,
        last_name=user.last_name if last_name is None else last_name,
        updated_at=tx.now,
    )
    store.save(tx, changed)
    audit.log(tx, actor, "user.update", user.id)
    return changed


# --- push tokens ---


def get_latest_push_token(tx: Tx, user: User) -> RegisteredPushToken | None:
    return _unseal(tx, store.get_latest_push_token(tx, user.id))


def register_push_token(
    tx: Tx,
    actor: Actor,
    token: str,
    device_name: str | None,
    quotas: Quotas = DEFAULT_QUOTAS,
) -> RegisteredPushToken:
    """Link a push token to the user; one that another user registered is reassigned."""
    user = get_current(tx, actor)
    push = PushToken(
        sealed_token="",
        digest=tx.keyring.digest(token),
        type="webpush" if token.lstrip().startswith("{") else "fcm",
        created_at=tx.now,
        created_by=user.id,
        device_name=device_name,
    )
    locks.acquire_lock(tx, "push tokens of user", user.id)
    others = store.count_other_push_tokens(tx, user.id, push.digest)
    quotas.require_room("push_tokens_per_user_max", others)
    push = replace(push, sealed_token=tx.keyring.seal(token, _seal_purpose(push)))
    store.upsert_push_token(tx, push)
    audit.log(tx, actor, "pushToken.register", user.id)
    return RegisteredPushToken(push, token)


def remove_push_token(tx: Tx, actor: Actor, token: str) -> None:
    user = get_current(tx, actor)
    if not store.delete_push_token(tx, user.id, tx.keyring.digest(token)):
        raise not_found("token", "push token of yours")
    audit.log(tx, actor, "pushToken.remove", user.id)


def get_push_token(tx: Tx, digest: bytes) -> RegisteredPushToken | None:
    """A push token by its digest; None once it was removed or disabled."""
    return _unseal(tx, store.get_push_token(tx, digest))


def _unseal(tx: Tx, push: PushToken | None) -> RegisteredPushToken | None:
    if push is None:
        return None
    return RegisteredPushToken(push, tx.keyring.unseal(push.sealed_token, _seal_purpose(push)))


def _seal_purpose(push: PushToken) -> str:
    return f"push_token|{push.created_by}"
