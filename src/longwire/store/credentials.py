"""Client credentials, and the access tokens issued for them and for app clients."""

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Actor, Credential
from longwire.store import schema
from longwire.store.database import Tx

_credential = schema.credential
_client = schema.app_client
_token = schema.access_token
_user = schema.user


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


def insert(tx: Tx, credential: Credential, secret_digest: bytes) -> None:
    tx.execute(
        sa.insert(_credential),
        {
            "client_id": credential.client_id,
            "user_id": credential.user_id,
            "secret_digest": secret_digest,
            "expires_at": credential.expires_at,
            "created_at": credential.created_at,
        },
    )


def list_all(tx: Tx) -> list[Credential]:
    statement = (
        sa.select(_credential, _user.c.email)
        .join(_user, _user.c.id == _credential.c.user_id)
        .order_by(_credential.c.created_at, _credential.c.client_id)
    )
    return [
        Credential(row.client_id, row.user_id, row.created_at, row.expires_at, row.email)
        for row in tx.rows(statement)
    ]


def delete(tx: Tx, client_id: str) -> bool:
    delete_tokens(tx, client_id)
    statement = sa.delete(_credential).where(_credential.c.client_id == client_id)
    return tx.execute(statement) > 0


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
    statement = (
        sa.select(
            _token.c.expires_at,
            _token.c.is_app_client,
            _credential.c.user_id,
            _user.c.is_operator,
            _client.c.id.label("app_client_id"),
            _client.c.group_id,
            _has_invitations().label("has_invitations"),
        )
        .outerjoin(_credential, _credential.c.client_id == _token.c.client_id)
        .outerjoin(_user, _user.c.id == _credential.c.user_id)
        .outerjoin(_client, _client.c.id == _token.c.client_id)
        .where(_token.c.digest == digest)
    )
    row = tx.row(statement)
    actor = _actor(row) if row else None
    return (actor, row.expires_at) if row and actor else None


def get_actor(tx: Tx, kind: str, actor_id: str) -> Actor | None:
    """Who a user or an app client is now; None if it is deleted or has expired."""
    if kind == "client":
        row = tx.row(sa.select(_client).where(_client.c.id == actor_id))
        if row is None or (row.expires_at is not None and row.expires_at <= tx.now):
            return None
        return Actor("client", actor_id, group_id=row.group_id)
    row = tx.row(sa.select(_user.c.is_operator).where(_user.c.id == actor_id))
    return Actor("user", actor_id, is_operator=row.is_operator) if row else None


def _has_invitations() -> sa.ColumnElement[bool]:
    member = schema.member
    return (
        sa.select(member.c.user_id)
        .where(member.c.user_id == _credential.c.user_id, member.c.accepted_at.is_(None))
        .exists()
    )


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


def _actor(row: sa.Row[Any]) -> Actor | None:
    if row.is_app_client and row.app_client_id is not None:
        return Actor("client", row.app_client_id, group_id=row.group_id)
    if not row.is_app_client and row.user_id is not None:
        return Actor(
            "user",
            row.user_id,
            is_operator=row.is_operator,
            has_invitations=bool(row.has_invitations),
        )
    return None
