"""People, and the push tokens of their devices."""

from collections.abc import Collection, Mapping
from typing import Any

import sqlalchemy as sa

from longwire.model import Page, PageRequest, PushToken, Scope, User
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.identity.scopes import within
from longwire.store.paging import page

_table = schema.user
_push = schema.push_token

# Statements built once, because building one takes longer than running it.
_BY_ID = sa.select(_table).where(_table.c.id == sa.bindparam("user_id"))
_LATEST_PUSH_TOKEN = (
    sa.select(_push)
    .where(_push.c.user_id == sa.bindparam("user_id"))
    .order_by(_push.c.created_at.desc(), _push.c.digest)
    .limit(1)
)


def get(tx: Tx, user_id: str) -> User | None:
    """A person, for that person, for the operator, or for the service itself."""
    row = tx.row(_BY_ID, {"user_id": user_id})
    return to_user(row) if row else None


def get_by_email(tx: Tx, email: str) -> User | None:
    row = tx.row(sa.select(_table).where(_table.c.email_key == email_key(email)))
    return to_user(row) if row else None


def has_credentials(tx: Tx, user_id: str) -> bool:
    table = schema.credential
    return tx.row(sa.select(table.c.client_id).where(table.c.user_id == user_id)) is not None


def list_page(tx: Tx, scope: Scope, request: PageRequest) -> Page[tuple[User, bool]]:
    """Members of groups within the scope, and whether they have accepted in one of them.

    For an operator every user.
    """
    member = schema.member
    accepted = (
        sa.select(member.c.user_id)
        .where(
            member.c.user_id == _table.c.id,
            member.c.accepted_at.is_not(None),
            within(member.c.group_id, scope),
        )
        .exists()
    )
    statement = sa.select(_table, accepted.label("is_accepted"))
    if scope.holder is not None and scope.holder.is_operator:
        statement = sa.select(_table, sa.true().label("is_accepted"))
    else:
        shared = sa.select(member.c.user_id).where(within(member.c.group_id, scope))
        statement = statement.where(_table.c.id.in_(shared))
    return page(
        tx, statement, [_table.c.id], request, lambda row: (to_user(row), bool(row.is_accepted))
    )


def list_names(tx: Tx, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """The names, or else the addresses, of those who are members of groups within the scope.

    Of those who have accepted their invitation: of others one knows what was typed in it.
    """
    member = schema.member
    statement = sa.select(_table).where(_table.c.id.in_(ids))
    if scope.holder is None or not scope.holder.is_operator:
        shared = sa.select(member.c.user_id).where(
            member.c.user_id.in_(ids),
            member.c.accepted_at.is_not(None),
            within(member.c.group_id, scope),
        )
        statement = statement.where(_table.c.id.in_(shared))
    people = map(to_user, tx.rows(statement))
    return {
        each.id: each.name
        or " ".join(filter(None, (each.first_name, each.last_name)))
        or each.email
        for each in people
    }


def email_key(email: str) -> str:
    """Addresses with the same key belong to one person."""
    return email.lower()


def insert(tx: Tx, user: User) -> None:
    tx.execute(sa.insert(_table), _row(user))


def insert_if_absent(tx: Tx, user: User, sponsor_id: str) -> bool:
    """Insert a user, unless one has this address; the same statement in both cases."""
    row = _row(user) | {"sponsor_id": sponsor_id}
    then = "on conflict (email_key) do nothing"
    return insert_many(tx, _table, tuple(row), [tuple(row.values())], then) > 0


def save(tx: Tx, user: User) -> None:
    tx.execute(
        sa.update(_table)
        .where(_table.c.id == user.id)
        .values(
            name=user.name,
            first_name=user.first_name,
            last_name=user.last_name,
            gender=user.gender,
            is_operator=user.is_operator,
            updated_at=user.updated_at,
        )
    )


def update_seen_at(tx: Tx, user_id: str) -> None:
    tx.execute(sa.update(_table).where(_table.c.id == user_id).values(seen_at=tx.now))


def get_latest_push_token(tx: Tx, user_id: str) -> PushToken | None:
    row = tx.row(_LATEST_PUSH_TOKEN, {"user_id": user_id})
    return _push_token(row) if row else None


def count_other_push_tokens(tx: Tx, user_id: str, digest: bytes) -> int:
    """How many push tokens a user has besides this one."""
    return tx.count(_push.c.user_id == user_id, _push.c.digest != digest)


def upsert_push_token(tx: Tx, push: PushToken) -> None:
    """Register a token; one that belonged to somebody else moves."""
    values: Mapping[str, Any] = {
        "user_id": push.created_by,
        "sealed_token": push.sealed_token,
        "type": push.type,
        "device_name": push.device_name,
        "is_enabled": push.is_enabled,
        "created_at": push.created_at,
    }
    updated = tx.execute(sa.update(_push).where(_push.c.digest == push.digest).values(values))
    if not updated:
        tx.execute(sa.insert(_push), {"digest": push.digest, **values})


def delete_push_token(tx: Tx, user_id: str, digest: bytes) -> bool:
    statement = sa.delete(_push).where(_push.c.digest == digest, _push.c.user_id == user_id)
    return tx.execute(statement) > 0


def list_group_push_tokens(tx: Tx, group_id: str) -> list[tuple[str, bytes]]:
    """(user, digest) of every enabled token of a group's own members who accepted."""
    member = schema.member
    statement = (
        sa.select(_push.c.user_id, _push.c.digest)
        .join(member, member.c.user_id == _push.c.user_id)
        .where(member.c.group_id == group_id, member.c.accepted_at.is_not(None), _push.c.is_enabled)
        .order_by(member.c.created_at, _push.c.user_id, _push.c.created_at, _push.c.digest)
    )
    return [(row.user_id, row.digest) for row in tx.rows(statement)]


def get_push_token(tx: Tx, digest: bytes) -> PushToken | None:
    """An enabled token, of any user."""
    row = tx.row(sa.select(_push).where(_push.c.digest == digest, _push.c.is_enabled))
    return _push_token(row) if row else None


def disable_push_token(tx: Tx, digest: bytes) -> bool:
    """Disable a dead token; False if it was disabled."""
    statement = sa.update(_push).where(_push.c.digest == digest, _push.c.is_enabled)
    return tx.execute(statement.values(is_enabled=False)) > 0


def _row(user: User) -> dict[str, Any]:
    return {
        "id": user.id,
        "email": user.email,
        "email_key": email_key(user.email),
        "name": user.name,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "gender": user.gender,
        "is_operator": user.is_operator,
        "seen_at": user.seen_at,
        "created_at": user.created_at,
        "updated_at": user.updated_at,
    }


def to_user(row: sa.Row[Any]) -> User:
    return User(
        id=row.id,
        email=row.email,
        name=row.name,
        first_name=row.first_name,
        last_name=row.last_name,
        gender=row.gender,
        seen_at=row.seen_at,
        is_operator=row.is_operator,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _push_token(row: sa.Row[Any]) -> PushToken:
    return PushToken(
        sealed_token=row.sealed_token,
        digest=row.digest,
        type=row.type,
        created_at=row.created_at,
        created_by=row.user_id,
        device_name=row.device_name,
        is_enabled=row.is_enabled,
    )
