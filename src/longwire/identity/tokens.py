"""Credentials of users, and the access tokens of users and app clients."""

import secrets
import uuid

from longwire.clock import SECOND, Moment
from longwire.dataclass import dataclass
from longwire.errors import Conflict, NotAuthenticated, not_found
from longwire.identity import access, sessions, users
from longwire.ids import new_id, new_secret
from longwire.model import Actor, Credential
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit, request_owners
from longwire.store.identity import credentials as store
from longwire.store.identity import users as store_users
from longwire.store.identity.credentials import TokenClient, TokenPeriod

_UNKNOWN_CLIENT_DIGEST = bytes(32)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    token: str
    lifetime_s: int


@dataclass(frozen=True, slots=True)
class ActiveToken:
    client_id: str
    subject: str  # who acts with it: the user, or the app client
    issued_at: Moment
    expires_at: Moment


@dataclass(frozen=True, slots=True)
class CredentialWithSecret:
    credential: Credential
    secret: str


def authenticate_client(tx: Tx, client_id: str, secret: str) -> TokenClient:
    """The client with these credentials; the same error for every invalid one."""
    client = store.get_client(tx, client_id)
    # Unknown clients take the same time: the digest is computed and compared for them too.
    is_secret_valid = tx.keyring.matches(
        secret, client.secret_digest if client else _UNKNOWN_CLIENT_DIGEST
    )
    is_expired = (
        client is not None and client.expires_at is not None and client.expires_at <= tx.now
    )
    if client is None or not is_secret_valid or is_expired:
        raise NotAuthenticated
    return client


def issue_token(tx: Tx, client_id: str, secret: str, lifetime_s: int) -> IssuedToken:
    """An access token for valid client credentials."""
    client = authenticate_client(tx, client_id, secret)
    expires_at = tx.now + lifetime_s * SECOND
    if client.expires_at is not None:
        expires_at = min(expires_at, client.expires_at)
    token = str(uuid.UUID(bytes=secrets.token_bytes(16)))  # all 128 bits random
    store.insert_token(tx, tx.keyring.digest(token), client, expires_at)
    if client.user_id is not None:
        store_users.update_seen_at(tx, client.user_id)
    audit.log(tx, _actor(client), "token.issue", client_id)
    return IssuedToken(token, max(1, (expires_at - tx.now) // SECOND))


def revoke_token(tx: Tx, client_id: str, secret: str, token: str) -> None:
    """Revoke a token of the client itself; any other token is left as it is."""
    client = authenticate_client(tx, client_id, secret)
    digest = tx.keyring.digest(token)
    # Checked first: a request that revokes nothing must not invalidate everybody's caches.
    if _get_active_period(tx, client, digest) is None:
        return
    cache_epochs.bump_auth_epoch(tx)
    if store.delete_token(tx, digest, client.id):
        audit.log(tx, _actor(client), "token.revoke", client_id)


def introspect_token(tx: Tx, client_id: str, secret: str, token: str) -> ActiveToken | None:
    """A token of the client itself while it is valid; None for any other."""
    client = authenticate_client(tx, client_id, secret)
    period = _get_active_period(tx, client, tx.keyring.digest(token))
    if period is None:
        return None
    return ActiveToken(client.id, _actor(client).id, period.created_at, period.expires_at)


def _get_active_period(tx: Tx, client: TokenClient, digest: bytes) -> TokenPeriod | None:
    period = store.get_token_period(tx, digest, client.id)
    return period if period is not None and period.expires_at > tx.now else None


def _actor(client: TokenClient) -> Actor:
    if client.user_id is not None:
        return Actor("user", client.user_id)
    return Actor("client", client.id)


def authenticate_token(tx: Tx, digest: bytes) -> tuple[Actor, Moment]:
    """The actor of an access token, and when the token expires."""
    found = access.get_token_actor(tx, digest)
    if found is None or found[1] <= tx.now:
        raise NotAuthenticated("The access token is invalid or expired; get a new one.")
    return found


# --- credentials, for the command line ---


def issue_credential(
    tx: Tx,
    actor: Actor,
    email: str,
    *,
    first_name: str | None = None,
    last_name: str | None = None,
    is_operator: bool = False,
    expires_at: Moment | None = None,
) -> CredentialWithSecret:
    """Create credentials for a user, and the user if there is none with this address."""
    user = store_users.get_by_email(tx, email)
    if user is None:
        user = users.register(
            tx, actor, email, first_name=first_name, last_name=last_name, is_operator=is_operator
        )
    elif is_operator and not user.is_operator:
        raise Conflict(
            f"{email} is an ordinary user. Issue operator credentials under another address."
        )
    else:
        cache_epochs.bump_auth_epoch(tx)
        request_owners.vouch_for(tx, user.id)
    return create_credential(tx, actor, user.id, expires_at=expires_at)


def create_credential(
    tx: Tx, actor: Actor, user_id: str, *, expires_at: Moment | None = None
) -> CredentialWithSecret:
    secret = new_secret("lws")
    credential = Credential(new_id("cli"), user_id, tx.now, expires_at)
    store.CREDENTIALS.insert(tx, credential, secret_digest=tx.keyring.digest(secret))
    audit.log(tx, actor, "credential.issue", credential.client_id, detail=user_id)
    return CredentialWithSecret(credential, secret)


def revoke_credential(tx: Tx, actor: Actor, client_id: str) -> None:
    cache_epochs.bump_auth_epoch(tx)
    client = store.get_client(tx, client_id)
    if client is not None and client.user_id is not None:
        sessions.end_where(tx, client.user_id, lambda each: each.client_id == client_id)
    if not store.delete(tx, client_id):
        raise not_found("client_id", "credential")
    audit.log(tx, actor, "credential.revoke", client_id)
