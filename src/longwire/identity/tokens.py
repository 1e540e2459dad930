"""Credentials of people, and the access tokens that they and app clients get."""

import secrets
import uuid
from dataclasses import dataclass

from longwire.clock import SECOND, Moment
from longwire.errors import Conflict, NotAuthenticated, missing
from longwire.identity import access, users
from longwire.ids import new_id, new_secret
from longwire.model import Actor, Credential
from longwire.store import audit, auth_epoch
from longwire.store import credentials as store
from longwire.store import users as store_users
from longwire.store.database import Tx

_NOBODY = bytes(32)


@dataclass(frozen=True, slots=True)
class Issued:
    token: str
    lifetime_s: int


@dataclass(frozen=True, slots=True)
class NewCredential:
    credential: Credential
    secret: str


def issue(tx: Tx, client_id: str, secret: str, lifetime_s: int) -> Issued:
    """A token for a client that knows its secret; a uniform refusal for everyone else."""
    client = store.client(tx, client_id)
    # The digest is computed and compared for unknown clients too, so that time tells nothing.
    knows = tx.keyring.matches(secret, client.secret_digest if client else _NOBODY)
    over = client is not None and client.expires_at is not None and client.expires_at <= tx.now
    if client is None or not knows or over:
        raise NotAuthenticated
    expires_at = tx.now + lifetime_s * SECOND
    if client.expires_at is not None:
        expires_at = min(expires_at, client.expires_at)
    token = str(uuid.UUID(bytes=secrets.token_bytes(16)))  # all 128 bits are chance
    store.insert_token(tx, tx.keyring.digest(token), client, expires_at)
    actor = Actor("client", client_id)
    if client.user_id is not None:
        store_users.touch(tx, client.user_id)
        actor = Actor("user", client.user_id)
    audit.note(tx, actor, "token.issue", client_id)
    return Issued(token, max(1, (expires_at - tx.now) // SECOND))


def bearer(tx: Tx, digest: bytes) -> tuple[Actor, Moment]:
    """Who acts with a token, and until when."""
    found = access.actor_of_token(tx, digest)
    if found is None or found[1] <= tx.now:
        raise NotAuthenticated("The access token is unknown or over; get a new one.")
    return found


# --- credentials, for the operator's command line ---


def issue_credential(
    tx: Tx,
    actor: Actor,
    email: str,
    *,
    first_name: str | None = None,
    last_name: str | None = None,
    is_operator: bool = False,
    expires_at: Moment | None = None,
) -> NewCredential:
    """Credentials for a person, who is entered if they are new."""
    user = store_users.by_email(tx, email)
    if user is None:
        user = users.register(
            tx, actor, email, first_name=first_name, last_name=last_name, is_operator=is_operator
        )
    elif is_operator and not user.is_operator:
        raise Conflict(
            f"{email} is an ordinary user. Issue operator credentials under another address."
        )
    return credential_for(tx, actor, user.id, expires_at=expires_at)


def credential_for(
    tx: Tx, actor: Actor, user_id: str, *, expires_at: Moment | None = None
) -> NewCredential:
    secret = new_secret("lws")
    credential = Credential(new_id("cli"), user_id, tx.now, expires_at)
    store.insert(tx, credential, tx.keyring.digest(secret))
    audit.note(tx, actor, "credential.issue", credential.client_id, detail=user_id)
    return NewCredential(credential, secret)


def revoke_credential(tx: Tx, actor: Actor, client_id: str) -> None:
    auth_epoch.change(tx)
    if not store.delete(tx, client_id):
        raise missing("client_id", "credential")
    audit.note(tx, actor, "credential.revoke", client_id)
