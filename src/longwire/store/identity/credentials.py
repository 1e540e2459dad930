"""Client credentials, and the access tokens issued for them and for app clients."""

from dataclasses import replace
from typing import Any

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.model import Actor, Credential
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.group_limits import list_rates
from longwire.store.identity.request_owners import (
    JOIN_PAYER,
    OWNER_COLUMNS,
    get_owner_id,
    to_owner_id,
)
from longwire.store.rows import Rows
from longwire.store.statement import Statement

CREDENTIALS = Rows(Credential, schema.credential, "client_id")

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


GET_CREDENTIAL = Statement("""
select secret_digest, expires_at, user_id
from credential
where client_id = :id
""")

GET_APP_CLIENT = Statement("""
select secret_digest, expires_at, group_id
from app_client
where id = :id
""")

LIST_CREDENTIALS = Statement(
    """
select {columns}, user_account.email
from credential
join user_account
    on user_account.id = credential.user_id
order by credential.created_at, credential.client_id
""",
    columns=CREDENTIALS.sql("credential"),
)

INSERT_TOKEN = Statement("""
insert into access_token (digest, client_id, is_app_client, created_at, expires_at)
values (:digest, :client_id, :is_app_client, :now, :expires_at)
""")

DELETE_TOKEN = Statement("""
delete from access_token
where digest = :digest
    and client_id = :client_id
""")

DELETE_TOKENS = Statement("""
delete from access_token
where client_id = :client_id
""")

GET_USER = Statement("""
select is_operator, sponsor_id
from user_account
where id = :id
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


GET_TOKEN_PERIOD = Statement(
    """
select created_at, expires_at
from access_token
where digest = :digest
    and client_id = :client_id
""",
    into=TokenPeriod,
)


def get_client(tx: Tx, client_id: str) -> TokenClient | None:
    found = tx.first(GET_CREDENTIAL, id=client_id)
    if found is not None:
        digest, expires_at, user_id = found
        return TokenClient(client_id, digest, expires_at, False, user_id)
    found = tx.first(GET_APP_CLIENT, id=client_id)
    if found is not None:
        digest, expires_at, _ = found
        return TokenClient(client_id, digest, expires_at, True, None)
    return None


def list_all(tx: Tx) -> list[Credential]:
    rows = tx.fetch(LIST_CREDENTIALS)
    return [CREDENTIALS.parse(columns, email=email) for *columns, email in rows]


def delete(tx: Tx, client_id: str) -> bool:
    delete_tokens(tx, client_id)
    return CREDENTIALS.delete(tx, client_id)


# --- access tokens ---


def insert_token(tx: Tx, digest: bytes, owner: TokenClient, expires_at: Moment) -> None:
    tx.run(
        INSERT_TOKEN,
        digest=digest,
        client_id=owner.id,
        is_app_client=owner.is_app_client,
        now=tx.now,
        expires_at=expires_at,
    )


def get_token_actor(tx: Tx, digest: bytes) -> tuple[Actor, Moment] | None:
    """Who acts with the token of this digest, and until when."""
    rows = tx.fetch(GET_TOKEN_ACTOR, digest=digest)
    if not rows:
        return None
    expires_at, *found = rows[0]
    actor = _actor(*found)
    if actor is not None and actor.group_id is not None:
        actor = replace(actor, rates=list_rates(tx, actor.group_id))
    return (actor, expires_at) if actor else None


def get_actor(tx: Tx, kind: str, actor_id: str) -> Actor | None:
    """Who a user or an app client is now; None if it is deleted or has expired."""
    if kind == "client":
        client = tx.first(GET_APP_CLIENT, id=actor_id)
        if client is None:
            return None
        _, expires_at, group = client
        if expires_at is not None and expires_at <= tx.now:
            return None
        owner_id = get_owner_id(tx, str(group))
        return Actor("client", actor_id, group_id=str(group), owner_id=owner_id)
    user = tx.first(GET_USER, id=actor_id)
    if user is None:
        return None
    is_operator, sponsor_id = user
    return Actor("user", actor_id, is_operator=bool(is_operator), owner_id=sponsor_id)


def get_token_period(tx: Tx, digest: bytes, client_id: str) -> TokenPeriod | None:
    """The period of a token that was issued to this client; None for any other token."""
    return tx.first(GET_TOKEN_PERIOD, digest=digest, client_id=client_id)


def delete_token(tx: Tx, digest: bytes, client_id: str) -> bool:
    return tx.run(DELETE_TOKEN, digest=digest, client_id=client_id) > 0


def delete_tokens(tx: Tx, client_id: str) -> None:
    tx.run(DELETE_TOKENS, client_id=client_id)


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
