"""App clients: programs that act for a group, with a role of their own or its default role."""

from dataclasses import dataclass, replace

from longwire.clock import SECOND, Moment
from longwire.errors import conflicting_field, invalid_field, not_found
from longwire.identity import access, roles, sessions
from longwire.ids import new_id, new_secret
from longwire.model import Actor, AppClient, Page, PageRequest
from longwire.quotas import DEFAULT_QUOTAS, Quotas
from longwire.store import locks
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import clients as store
from longwire.store.identity import credentials as store_credentials
from longwire.store.identity import groups as store_groups
from longwire.versions import next_version, require_version

NAME_TAKEN = "is taken by another app client of this group"


@dataclass(frozen=True, slots=True)
class AppClientWithSecret:
    """An app client with its secret in plain text."""

    client: AppClient
    secret: str


def list_page(tx: Tx, actor: Actor, group_id: str, request: PageRequest) -> Page[AppClient]:
    """The app clients of a group, by name; without their secrets."""
    scope = access.authorize(tx, actor, "appClient.write", group_id)
    return store.list_page(tx, scope, group_id, request)


def create(
    tx: Tx,
    actor: Actor,
    group_id: str,
    name: str,
    *,
    description: str | None = None,
    expires_at: Moment | None = None,
    role_id: str | None = None,
    quotas: Quotas = DEFAULT_QUOTAS,
) -> AppClientWithSecret:
    """Create an app client; `role_id` None for the default role of the group."""
    scope = access.authorize(tx, actor, "appClient.write", group_id)
    sessions.require_oneself(tx)  # its secret outlives the session
    if role_id is not None:
        cache_epochs.bump_auth_epoch(tx)  # nobody deletes the role meanwhile
        roles.get_visible(tx, actor, role_id)
    _require_can_grant(tx, actor, group_id, role_id)
    if expires_at is not None and expires_at <= tx.now:
        raise invalid_field("expiration", "must be in the future")
    if store.get_by_name(tx, scope, name):
        raise conflicting_field("name", NAME_TAKEN)
    locks.acquire_lock(tx, "app clients of group", group_id)
    quotas.require_room("app_clients_per_group_max", store.count(tx, group_id))
    client_id, secret = new_id("app"), new_secret("lws")
    client = AppClient(
        id=client_id,
        group_id=group_id,
        name=name,
        sealed_secret=tx.keyring.seal(secret, _seal_purpose(client_id)),
        description=description,
        expires_at=expires_at,
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
        role_id=role_id,
    )
    store.insert(tx, client, tx.keyring.digest(secret))
    _log(tx, actor, "create", client, detail=name, after=_audited(client))
    return AppClientWithSecret(client, secret)


def update(
    tx: Tx,
    actor: Actor,
    group_id: str,
    name: str,
    new_name: str,
    *,
    role_id: str | None = None,
    if_updated_at: Moment | None = None,
) -> AppClientWithSecret:
    """Rename an app client, or change its role; the secret does not change.

    `role_id` is None to keep the role, and empty for the default role of the group.
    """
    scope = access.authorize(tx, actor, "appClient.write", group_id)
    sessions.require_oneself(tx)  # who gets to see the secret
    locks.acquire_lock(tx, "app clients of group", group_id)
    client = store.get_by_name(tx, scope, name)
    if client is None:
        raise not_found("name", "app client in this group")
    _require_can_grant(tx, actor, group_id, client.role_id)
    require_version(client.updated_at, if_updated_at)
    other = store.get_by_name(tx, scope, new_name)
    if other is not None and other.id != client.id:
        raise conflicting_field("new_name", NAME_TAKEN)
    changed = replace(
        client,
        name=new_name,
        role_id=client.role_id if role_id is None else role_id or None,
        updated_at=next_version(tx.now, client.updated_at),
    )
    if changed.role_id != client.role_id:
        cache_epochs.bump_auth_epoch(tx)
        if changed.role_id is not None:
            roles.get_visible(tx, actor, changed.role_id)
        _require_can_grant(tx, actor, group_id, changed.role_id)
    store.save(tx, changed)
    _log(
        tx,
        actor,
        "update",
        changed,
        detail=new_name,
        before=_audited(client),
        after=_audited(changed),
    )
    secret = tx.keyring.unseal(client.sealed_secret, _seal_purpose(client.id))
    return AppClientWithSecret(changed, secret)


def delete(tx: Tx, actor: Actor, group_id: str, client_id: str) -> None:
    """Delete an app client; its tokens stop working at once."""
    scope = access.authorize(tx, actor, "appClient.write", group_id)
    client = store.get(tx, scope, client_id)
    if client is None:
        raise not_found("app_client_id", "app client in this group")
    cache_epochs.bump_auth_epoch(tx)
    store_credentials.delete_tokens(tx, client_id)
    store.delete(tx, client_id)
    _log(tx, actor, "delete", client, before=_audited(client))


def _log(
    tx: Tx,
    actor: Actor,
    action: str,
    client: AppClient,
    *,
    detail: str = "",
    before: audit.Fields | None = None,
    after: audit.Fields | None = None,
) -> None:
    audit.log(
        tx,
        actor,
        f"appClient.{action}",
        client.id,
        group_id=client.group_id,
        detail=detail,
        name=client.name,
        before=before,
        after=after,
    )


def _audited(client: AppClient) -> audit.Fields:
    return {
        "name": client.name,
        "description": client.description,
        "expiration": None if client.expires_at is None else client.expires_at // SECOND,
        "role_id": client.role_id or "",  # which a change takes, as it is
    }


def _require_can_grant(tx: Tx, actor: Actor, group_id: str, role_id: str | None) -> None:
    """Whoever sees the secret can act as the client, so they must have its permissions."""
    role_id = role_id or store_groups.get_default_role_id(tx, group_id)
    role = access.get_role(tx, role_id) if role_id else None
    if role is not None:
        access.require_can_grant(tx, actor, group_id, role)


def _seal_purpose(client_id: str) -> str:
    return f"app_client|{client_id}|secret"
