"""People: who they are to themselves, to those who share a group, and to the operator."""

import re
from dataclasses import dataclass, replace

from longwire.errors import Conflict, Fault, NotAllowed, missing, wrong
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import Actor, PushToken, User
from longwire.store import audit
from longwire.store import users as store
from longwire.store.database import Tx

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f]{1,64}@[^@\s\x00-\x1f\x7f]{1,189}")


@dataclass(frozen=True, slots=True)
class Registered:
    """A push token, readable."""

    push: PushToken
    token: str


def me(tx: Tx, actor: Actor) -> User:
    if actor.kind != "user":
        raise NotAllowed("An app client acts here, so there is no user.")
    user = store.own(tx, actor.id)
    if user is None:
        raise missing("user_id", "user")
    return user


def seen(tx: Tx, actor: Actor, user_id: str) -> User:
    """Somebody who shares a group in which the actor may see members."""
    user = store.seen_by(tx, access.everywhere(actor, "member.read"), user_id)
    if user is None:
        raise missing("user_id", "user")
    return user


def create(
    tx: Tx, actor: Actor, email: str, *, first_name: str | None, last_name: str | None
) -> User:
    access.require_platform(tx, actor, "user.create")
    if store.by_email(tx, email):
        raise Conflict(faults=[Fault("email", "belongs to a user already")])
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
    """Enter somebody new, whoever asked for it."""
    if not _EMAIL.fullmatch(email):
        raise wrong("email", "must be an e-mail address")
    user = User(
        id=new_id("usr"),
        email=email,
        name=" ".join(part for part in (first_name, last_name) if part) or None,
        first_name=first_name,
        last_name=last_name,
        is_operator=is_operator,
        created_at=tx.now,
        updated_at=tx.now,
    )
    store.insert(tx, user)
    audit.note(tx, actor, "user.create", user.id)
    return user


def change_me(
    tx: Tx,
    actor: Actor,
    *,
    gender: str | None,
    name: str | None,
    first_name: str | None,
    last_name: str | None,
) -> User:
    user = me(tx, actor)
    changed = replace(
        user,
        gender=user.gender if gender is None else gender,
        name=user.name if name is None else name,
        first_name=user.first_name if first_name is None else first_name,
        last_name=user.last_name if last_name is None else last_name,
        updated_at=tx.now,
    )
    store.save(tx, changed)
    audit.note(tx, actor, "user.update", user.id)
    return changed


# --- push tokens ---


def latest_push_token(tx: Tx, user: User) -> Registered | None:
    push = store.latest_push_token(tx, user.id)
    return Registered(push, tx.keyring.unseal(push.sealed_token, _purpose(push))) if push else None


def register_push_token(tx: Tx, actor: Actor, token: str, device_name: str | None) -> Registered:
    """Link a push token to the person; one that somebody else registered moves over."""
    user = me(tx, actor)
    push = PushToken(
        sealed_token="",
        digest=tx.keyring.digest(token),
        type="webpush" if token.lstrip().startswith("{") else "fcm",
        created_at=tx.now,
        created_by=user.id,
        device_name=device_name,
    )
    push = replace(push, sealed_token=tx.keyring.seal(token, _purpose(push)))
    store.put_push_token(tx, push)
    audit.note(tx, actor, "pushToken.register", user.id)
    return Registered(push, token)


def remove_push_token(tx: Tx, actor: Actor, token: str) -> None:
    user = me(tx, actor)
    if not store.delete_push_token(tx, user.id, tx.keyring.digest(token)):
        raise missing("token", "push token of yours")
    audit.note(tx, actor, "pushToken.remove", user.id)


def usable_push_token(tx: Tx, digest: bytes) -> Registered | None:
    """A token by its digest, for whoever sends; None once it is gone or leads nowhere."""
    push = store.push_token(tx, digest)
    return Registered(push, tx.keyring.unseal(push.sealed_token, _purpose(push))) if push else None


def _purpose(push: PushToken) -> str:
    return f"push_token|{push.created_by}"
