"""People, and the push tokens of their devices."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from longwire.model import Page, PageRequest, PushToken, Scope, User
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.identity.scopes import within
from longwire.store.paging import page
from longwire.store.rows import Rows

_table = schema.user
_push = schema.push_token

USERS = Rows(User, _table, derived={"email_key": lambda user: email_key(user.email)})
PUSH_TOKENS = Rows(PushToken, _push, "digest")

# Built once, because building it takes longer than running it.
_LATEST_PUSH_TOKEN = (
    PUSH_TOKENS.select.where(_push.c.user_id == sa.bindparam("user_id"))
    .order_by(_push.c.created_at.desc(), _push.c.digest)
    .limit(1)
)


def get_by_email(tx: Tx, email: str) -> User | None:
    return USERS.find(tx, email_key=email_key(email))


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
    statement = sa.select(*USERS.columns, accepted.label("is_accepted"))
    if scope.holder is not None and scope.holder.is_operator:
        statement = sa.select(*USERS.columns, sa.true().label("is_accepted"))
    else:
        shared = sa.select(member.c.user_id).where(within(member.c.group_id, scope))
        statement = statement.where(_table.c.id.in_(shared))

    def parse(row: sa.Row[Any]) -> tuple[User, bool]:
        return USERS.parse(row), bool(row.is_accepted)

    return page(tx, statement, [_table.c.id], request, parse)


def list_names(tx: Tx, scope: Scope, ids: Collection[str]) -> dict[str, str]:
    """The names, or else the addresses, of those who are members of groups within the scope.

    Of those who have accepted their invitation: of others one knows what was typed in it.
    """
    member = schema.member
    statement = USERS.select.where(_table.c.id.in_(ids))
    if scope.holder is None or not scope.holder.is_operator:
        shared = sa.select(member.c.user_id).where(
            member.c.user_id.in_(ids),
            member.c.accepted_at.is_not(None),
            within(member.c.group_id, scope),
        )
        statement = statement.where(_table.c.id.in_(shared))
    people = map(USERS.parse, tx.rows(statement))
    return {
        each.id: each.name
        or " ".join(filter(None, (each.first_name, each.last_name)))
        or each.email
        for each in people
    }


def email_key(email: str) -> str:
    """Addresses with the same key belong to one person."""
    return email.lower()


def insert_if_absent(tx: Tx, user: User, sponsor_id: str) -> bool:
    """Insert a user, unless one has this address; the same statement in both cases."""
    row = USERS.to_row(user) | {"sponsor_id": sponsor_id}
    has_address = OnConflict(columns=("email_key",))
    return insert_many(tx, _table, tuple(row), [tuple(row.values())], has_address) > 0


def update_seen_at(tx: Tx, user_id: str) -> None:
    tx.execute(sa.update(_table).where(_table.c.id == user_id).values(seen_at=tx.now))


def get_latest_push_token(tx: Tx, user_id: str) -> PushToken | None:
    row = tx.row(_LATEST_PUSH_TOKEN, {"user_id": user_id})
    return PUSH_TOKENS.parse(row) if row else None


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


def disable_push_token(tx: Tx, digest: bytes) -> bool:
    """Disable a dead token; False if it was disabled."""
    statement = sa.update(_push).where(_push.c.digest == digest, _push.c.is_enabled)
    return tx.execute(statement.values(is_enabled=False)) > 0
