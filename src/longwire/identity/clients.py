"""App clients: programs that act for a group with its default role."""

from dataclasses import dataclass, replace

from longwire.clock import Moment
from longwire.errors import Conflict, Fault, missing, wrong
from longwire.identity import access
from longwire.ids import new_id, new_secret
from longwire.model import Actor, AppClient
from longwire.store import audit, auth_epoch
from longwire.store import clients as store
from longwire.store import credentials as store_credentials
from longwire.store import groups as store_groups
from longwire.store.database import Tx


@dataclass(frozen=True, slots=True)
class Opened:
    """An app client with its secret in the clear."""

    client: AppClient
    secret: str


def create(
    tx: Tx,
    actor: Actor,
    group_id: str,
    name: str,
    *,
    description: str | None = None,
    expires_at: Moment | None = None,
) -> Opened:
    scope = access.enter(tx, actor, "appClient.write", group_id)
    _require_own_rights(tx, actor, group_id)
    if expires_at is not None and expires_at <= tx.now:
        raise wrong("expiration", "lies in the past")
    if store.by_name(tx, scope, name):
        raise Conflict(faults=[Fault("name", "is taken by another app client of this group")])
    client_id, secret = new_id("app"), new_secret("lws")
    client = AppClient(
        id=client_id,
        group_id=group_id,
        name=name,
        sealed_secret=tx.keyring.seal(secret, _purpose(client_id)),
        description=description,
        expires_at=expires_at,
        created_at=tx.now,
        created_by=actor.id,
    )
    store.insert(tx, client, tx.keyring.digest(secret))
    audit.note(tx, actor, "appClient.create", client_id, group_id=group_id, detail=name)
    return Opened(client, secret)


def rename(tx: Tx, actor: Actor, group_id: str, name: str, new_name: str) -> Opened:
    """Give an app client another name; its secret stays, and is shown."""
    scope = access.enter(tx, actor, "appClient.write", group_id)
    _require_own_rights(tx, actor, group_id)
    client = store.by_name(tx, scope, name)
    if client is None:
        raise missing("name", "app client in this group")
    other = store.by_name(tx, scope, new_name)
    if other is not None and other.id != client.id:
        raise Conflict(faults=[Fault("new_name", "is taken by another app client of this group")])
    store.rename(tx, client.id, new_name)
    audit.note(tx, actor, "appClient.update", client.id, group_id=group_id, detail=new_name)
    secret = tx.keyring.unseal(client.sealed_secret, _purpose(client.id))
    return Opened(replace(client, name=new_name), secret)


def delete(tx: Tx, actor: Actor, group_id: str, client_id: str) -> None:
    """Delete an app client; its tokens stop working at once."""
    scope = access.enter(tx, actor, "appClient.write", group_id)
    if store.get(tx, scope, client_id) is None:
        raise missing("app_client_id", "app client in this group")
    auth_epoch.change(tx)
    store_credentials.delete_tokens(tx, client_id)
    store.delete(tx, client_id)
    audit.note(tx, actor, "appClient.delete", client_id, group_id=group_id)


def _require_own_rights(tx: Tx, actor: Actor, group_id: str) -> None:
    """Whoever sees the secret can act as the client, so they must hold what it holds."""
    role_id = store_groups.default_role_id(tx, group_id)
    role = access.role_named(tx, role_id) if role_id else None
    if role is not None:
        access.require_grant(tx, actor, group_id, role)


def _purpose(client_id: str) -> str:
    return f"app_client|{client_id}|secret"
