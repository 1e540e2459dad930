"""Users and their push tokens."""

import re

from longwire.errors import NotAllowed, invalid_field, not_found
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, Membership, PushToken, User
from longwire.store.database import Tx
from longwire.store.identity import audit, request_owners
from longwire.store.identity import members as store_members
from longwire.store.identity import users as store

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]{1,189}")


def get_current(tx: Tx, actor: Actor) -> User:
    if actor.kind != "user":
        raise NotAllowed("This needs a user; an app client is not one.")
    user = store.USERS.get(tx, actor.id)
    if user is None:
        raise not_found("user_id", "user")
    return user


def get_visible(tx: Tx, actor: Actor, user_id: str) -> User:
    """A user who shares a group with the actor in which the actor has member.read."""
    membership = None
    if not actor.is_operator:
        scope = access.scope_all_groups(actor, "member.read")
        membership = store_members.get_shared_membership(tx, scope, user_id)
    user = store.USERS.get(tx, user_id) if membership or actor.is_operator else None
    if user is None:
        raise not_found("user_id", "user")
    return user if membership is None else show_member(actor, user, membership)


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


def register(
    tx: Tx,
    actor: Actor,
    email: str,
    *,
    first_name: str | None = None,
    last_name: str | None = None,
    is_operator: bool = False,
    language: str | None = None,
) -> User:
    """Create a user without checking permissions."""
    user = _build(tx, email, first_name, last_name, is_operator=is_operator, language=language)
    store.USERS.insert(tx, user)
    audit.log(tx, actor, "user.create", user.id)
    return user


def get_or_register(
    tx: Tx, actor: Actor, email: str, group_id: str, language: str | None = None
) -> User:
    """The user with this address, who is invited to a group; a new one has the language.

    It takes as long to find one as to create one.
    """
    user = _build(tx, email, None, None, language=language)
    if store.insert_if_absent(tx, user, request_owners.get_owner_id(tx, group_id)):
        audit.log(tx, actor, "user.create", user.id)
    found = store.get_by_email(tx, email)
    assert found is not None  # it is there now
    return found


def _build(
    tx: Tx,
    email: str,
    first_name: str | None,
    last_name: str | None,
    *,
    is_operator: bool = False,
    language: str | None = None,
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
        language=language,
    )


# --- push tokens ---


def reveal_push_token(tx: Tx, push: PushToken) -> str:
    """A push token in plain text."""
    return tx.keyring.unseal(push.sealed_token, seal_purpose(push.user_id))


def seal_purpose(user_id: str) -> str:
    return f"push_token|{user_id}"
