"""Client credentials, and the access tokens issued for them and for app clients."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Actor, Credential
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.request_owners import (
    JOIN_PAYER,
    OWNER_COLUMNS,
    get_owner_id,
    to_owner_id,
)
from longwire.store.rows import Rows
from longwire.store.statement import Statement

_credential = schema.credential
_client = schema.app_client
_token = schema.access_token
_user = schema.user
CREDENTIALS = Rows(Credential, _credential, "client_id")

# This runs for every token in use whenever permissions have changed.
GET_TOKEN_ACTOR = Statement(f"""
select
    token.expires_at,
    token.is_app_client,
    credential.user_id,
    user_account.is_operator,
    user_account.sponsor_id,
    exists (
        select 1
        from member
        where member.user_id = credential.user_id
            and member.accepted_at is null
    ),
    app_client.id,
    app_client.group_id,
    {OWNER_COLUMNS}
from access_token token
left join credential
    on credential.client_id = token.client_id
left join user_account
    on user_account.id = credential.user_id
left join app_client
    on app_client.id = token.client_id
left join device_group counted
    on counted.id = app_client.group_id
{JOIN_PAYER}
where token.digest = :digest
""")


@dataclass(frozen=True, slots=True)
class TokenClient:
    """Either kind of client, as the token service needs it."""

    id: str
    secret_digest: bytes
    expires_at: Moment | None
    is_app_client: bool
    user_id: str | None


@dataclass(frozen=True, slots=True)
class TokenPeriod:
    """When an access token was issued, and when it expires."""

    created_at: Moment
    expires_at: Moment


def get_client(tx: Tx, client_id: str) -> TokenClient | None:
    row = tx.row(sa.select(_credential).where(_credential.c.client_id == client_id))
    if row:
        return TokenClient(client_id, row.secret_digest, row.expires_at, False, row.user_id)
    row = tx.row(sa.select(_client).where(_client.c.id == client_id))
    if row:
        return TokenClient(client_id, row.secret_digest, row.expires_at, True, None)
    return None


def list_all(tx: Tx) -> list[Credential]:
    statement = (
        sa.select(*CREDENTIALS.columns, _user.c.email)
        .join(_user, _user.c.id == _credential.c.user_id)
        .order_by(_credential.c.created_at, _credential.c.client_id)
    )
    return [CREDENTIALS.parse(row, email=row.email) for row in tx.rows(statement)]


def delete(tx: Tx, client_id: str) -> bool:
    delete_tokens(tx, client_id)
    return CREDENTIALS.delete(tx, client_id)


# --- access tokens ---


def insert_token(tx: Tx, digest: bytes, owner: TokenClient, expires_at: Moment) -> None:
    tx.execute(
        sa.insert(_token),
        {
            "digest": digest,
            "client_id": owner.id,
            "is_app_client": owner.is_app_client,
            "created_at": tx.now,
            "expires_at": expires_at,
        },
    )


def get_token_actor(tx: Tx, digest: bytes) -> tuple[Actor, Moment] | None:
    """Who acts with the token of this digest, and until when."""
    rows = tx.fetch(GET_TOKEN_ACTOR, digest=digest)
    if not rows:
        return None
    expires_at, *found = rows[0]
    actor = _actor(*found)
    return (actor, expires_at) if actor else None


def get_actor(tx: Tx, kind: str, actor_id: str) -> Actor | None:
    """Who a user or an app client is now; None if it is deleted or has expired."""
    if kind == "client":
        row = tx.row(sa.select(_client).where(_client.c.id == actor_id))
        if row is None or (row.expires_at is not None and row.expires_at <= tx.now):
            return None
        owner_id = get_owner_id(tx, row.group_id)
        return Actor("client", actor_id, group_id=row.group_id, owner_id=owner_id)
    columns = _user.c.is_operator, _user.c.sponsor_id
    row = tx.row(sa.select(*columns).where(_user.c.id == actor_id))
    if row is None:
        return None
    return Actor("user", actor_id, is_operator=row.is_operator, owner_id=row.sponsor_id)


def get_token_period(tx: Tx, digest: bytes, client_id: str) -> TokenPeriod | None:
    """The period of a token that was issued to this client; None for any other token."""
    statement = sa.select(_token.c.created_at, _token.c.expires_at).where(
        _token.c.digest == digest, _token.c.client_id == client_id
    )
    row = tx.row(statement)
    return TokenPeriod(row.created_at, row.expires_at) if row else None


def delete_token(tx: Tx, digest: bytes, client_id: str) -> bool:
    statement = sa.delete(_token).where(_token.c.digest == digest, _token.c.client_id == client_id)
    return tx.execute(statement) > 0


def delete_tokens(tx: Tx, client_id: str) -> None:
    tx.execute(sa.delete(_token).where(_token.c.client_id == client_id))


def _actor(
    is_app_client: bool,
    user_id: str | None,
    is_operator: bool | None,
    sponsor_id: str | None,
    has_invitations: bool,
    app_client_id: str | None,
    group_number: int | None,
    *payer: Any,
) -> Actor | None:
    if is_app_client and app_client_id is not None:
        owner_id = to_owner_id(*payer)
        return Actor("client", app_client_id, group_id=str(group_number), owner_id=owner_id)
    if not is_app_client and user_id is not None:
        return Actor(
            "user",
            user_id,
            is_operator=bool(is_operator),
            has_invitations=bool(has_invitations),
            owner_id=sponsor_id,
        )
    return None
