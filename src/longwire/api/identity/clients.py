"""App clients: programs that act for a group, with a role of their own or its default role."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, field

from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    GenericReturnBoolean,
    GroupId,
    GroupTreePage,
    IfUpdatedAt,
    parse_version,
)
from longwire.clock import SECOND
from longwire.errors import conflicting_field, invalid_field, not_found
from longwire.identity import access, roles, sessions
from longwire.ids import new_id, new_secret
from longwire.model import Actor, AppClient
from longwire.object_versions import next_version, require_version
from longwire.store import locks
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import credentials as store_credentials
from longwire.store.identity import groups as store_groups
from longwire.store.identity.clients import CLIENTS
from longwire.web.fields import (
    Body,
    Clearable,
    DateText,
    EpochSeconds,
    Id,
    Name,
    Query,
    Text,
)
from longwire.web.routing import Route

WRITE = "appClient.write"
NAME_TAKEN = "is taken by another app client of this group"

RoleId = Annotated[
    str,
    Meta(
        max_length=128,
        description="The role that it acts with. Absent: the default role of the group.",
        examples=["viewer"],
    ),
]


class AppClientReply(Shown[AppClient]):
    """What an app client is like."""

    group_id: GroupId
    id: str = field(name="appClientId")
    description: str | None = None
    expires_at: EpochSeconds | None = field(default=None, name="expiration")
    updated_at: DateText | None = None
    role_id: RoleId | None = None


class GroupAppClient(AppClientReply, kw_only=True):
    """Credentials of a group."""

    secret: str
    name: str | None = None


class ListedAppClient(AppClientReply, kw_only=True):
    """An app client without its secret."""

    name: str
    created_at: DateText | None = None
    created_by: str | None = None


class UpdateGroupAppClient(Shown[AppClient]):
    """An app client after it was renamed."""

    id: str = field(name="appClientId")
    secret: str
    name: str
    expires_at: EpochSeconds | None = field(default=None, name="expiration")
    updated_at: DateText | None = None
    role_id: RoleId | None = None


class AppClientConnection(Page[ListedAppClient]):
    """A page of app clients."""


class AppClientInput(Body):
    """An app client to create."""

    group_id: GroupId
    name: Name
    description: Text | None = None
    expiration: EpochSeconds | None = None
    role_id: RoleId | None = None


class AppClientChange(Body):
    """The new name of an app client, or another role."""

    name: Name
    new_name: Name
    group_id: GroupId
    role_id: Clearable[
        Annotated[
            str, Meta(max_length=128, description="Empty or null for the group's default role.")
        ]
    ] = UNSET
    if_updated_at: IfUpdatedAt | None = None


class AppClientQuery(Query):
    """Which app client to delete."""

    # The interface calls the group's id `name` here.
    group_id: Annotated[GroupId, Meta(description="The id of the group.")] = field(name="name")
    app_client_id: Id


def list_clients(context: Context, query: GroupTreePage) -> AppClientConnection:
    """List the app clients of a group.

    By name, without their secrets; with `subgroups` also those of the groups below.
    """
    scope = access.authorize_tree(
        context.tx, context.actor, WRITE, query.group_id, subgroups=query.subgroups
    )
    # Of several groups there may be two of the same name.
    order = "name id" if query.subgroups else "name"
    page = CLIENTS.page(context.tx, scope, context.page_tokens.page_request(query), order=order)
    return AppClientConnection.show(context, query, page, ListedAppClient.show)


def create_client(context: Context, body: AppClientInput) -> GroupAppClient:
    """Create an app client for a group.

    Its id and secret are exchanged for access tokens at the token endpoint. It acts with the role
    `roleId`, or else with the group's default role; the caller must have the permissions of that
    role. `description` and `expiration` are optional.
    """
    tx, actor, group_id = context.tx, context.actor, body.group_id
    scope = access.authorize(tx, actor, WRITE, group_id)
    sessions.require_oneself(tx)  # its secret outlives the session
    if body.role_id:
        cache_epochs.bump_auth_epoch(tx)  # nobody deletes the role meanwhile
        roles.get_visible(tx, actor, body.role_id)
    _require_can_grant(tx, actor, group_id, body.role_id)
    expires_at = None if body.expiration is None else body.expiration * SECOND
    if expires_at is not None and expires_at <= tx.now:
        raise invalid_field("expiration", "must be in the future")
    if CLIENTS.find(tx, scope, name=body.name):
        raise conflicting_field("name", NAME_TAKEN)
    locks.acquire_lock(tx, "app clients of group", group_id)
    count = CLIENTS.count(tx, group_id=group_id)
    context.services.quotas.require_room("app_clients_per_group_max", count)
    client_id, secret = new_id("app"), new_secret("lws")
    client = AppClient(
        id=client_id,
        group_id=group_id,
        name=body.name,
        sealed_secret=tx.keyring.seal(secret, seal_purpose(client_id)),
        description=body.description,
        expires_at=expires_at,
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
        role_id=body.role_id or None,
    )
    CLIENTS.insert(tx, client, secret_digest=tx.keyring.digest(secret))
    _log(context, "create", client, detail=client.name, after=_audited(client))
    return GroupAppClient.show(client, secret=secret)


def update_client(context: Context, body: AppClientChange) -> UpdateGroupAppClient:
    """Rename an app client, or change its role.

    Its secret is unchanged and included in the response, so the caller must have the permissions of
    its role. Only to change the role, send the name as `newName`. The role counts at once.
    """
    tx, actor, group_id = context.tx, context.actor, body.group_id
    scope = access.authorize(tx, actor, WRITE, group_id)
    sessions.require_oneself(tx)  # who gets to see the secret
    locks.acquire_lock(tx, "app clients of group", group_id)
    client = CLIENTS.find(tx, scope, name=body.name)
    if client is None:
        raise not_found("name", "app client in this group")
    _require_can_grant(tx, actor, group_id, client.role_id)
    require_version(client.updated_at, parse_version(body.if_updated_at))
    other = CLIENTS.find(tx, scope, name=body.new_name)
    if other is not None and other.id != client.id:
        raise conflicting_field("new_name", NAME_TAKEN)
    changed = replace(
        client,
        name=body.new_name,
        role_id=client.role_id if body.role_id is UNSET else body.role_id or None,
        updated_at=next_version(tx.now, client.updated_at),
    )
    if changed.role_id != client.role_id:
        cache_epochs.bump_auth_epoch(tx)
        if changed.role_id is not None:
            roles.get_visible(tx, actor, changed.role_id)
        _require_can_grant(tx, actor, group_id, changed.role_id)
    CLIENTS.save(tx, client, changed)
    before, after = _audited(client), _audited(changed)
    _log(context, "update", changed, detail=changed.name, before=before, after=after)
    secret = tx.keyring.unseal(client.sealed_secret, seal_purpose(client.id))
    return UpdateGroupAppClient.show(changed, secret=secret)


def delete_client(context: Context, query: AppClientQuery) -> GenericReturnBoolean:
    """Delete an app client.

    `name` is the id of the group. The client's tokens are revoked at once.
    """
    tx = context.tx
    scope = access.authorize(tx, context.actor, WRITE, query.group_id)
    client = CLIENTS.get(tx, scope, query.app_client_id)
    if client is None:
        raise not_found("app_client_id", "app client in this group")
    cache_epochs.bump_auth_epoch(tx)
    store_credentials.delete_tokens(tx, client.id)
    CLIENTS.delete(tx, client.id)
    _log(context, "delete", client, before=_audited(client))
    return GenericReturnBoolean(message="The app client was deleted.", value=True)


def _log(context: Context, action: str, client: AppClient, **changes: Any) -> None:
    action, group_id = f"appClient.{action}", client.group_id
    tx, actor = context.tx, context.actor
    audit.log(tx, actor, action, client.id, group_id=group_id, name=client.name, **changes)


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


def seal_purpose(client_id: str) -> str:
    return f"app_client|{client_id}|secret"


# Without `roleId` a client has the default role of the group, which may hold more.
_MISPLACED = dict.fromkeys(
    ("role", "roles", "defaultRole", "permission", "permissions"), "send the id of a role as roleId"
)

_route = partial(
    Route,
    tag="App clients",
    object_rule="in the group, by someone who has the permissions of its role",
)

ROUTES = [
    _route(
        "GET",
        "/group/appClients",
        list_clients,
        WRITE,
        object_rule="in the group",
        is_addition=True,
    ),
    _route(
        "POST",
        "/appClient",
        create_client,
        WRITE,
        conflicts="The group has an app client of this name, or as many as it may have.",
        misplaced=_MISPLACED,
    ),
    _route(
        "PUT",
        "/appClient",
        update_client,
        WRITE,
        conflicts=f"The group has an app client of the new name. {CHANGED_MEANWHILE}",
        misplaced=_MISPLACED,
    ),
    _route(
        "DELETE",
        "/appClient",
        delete_client,
        WRITE,
        object_rule="in the group whose id is in name",
    ),
]
