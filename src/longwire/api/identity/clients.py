"""Operations on app clients."""

from functools import partial
from typing import Annotated

from msgspec import UNSET, Meta, field

from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    GenericReturnBoolean,
    GroupId,
    GroupPage,
    IfUpdatedAt,
    parse_version,
)
from longwire.clock import SECOND
from longwire.dates import format_date, to_epoch_seconds
from longwire.identity import clients
from longwire.web.fields import (
    Body,
    Clearable,
    DateText,
    Id,
    Name,
    Query,
    Reply,
    Text,
    parse_clearable,
)
from longwire.web.routing import Route

RoleId = Annotated[
    str,
    Meta(
        max_length=128,
        description="The role that it acts with. Absent: the default role of the group.",
        examples=["viewer"],
    ),
]
EpochSeconds = Annotated[int, Meta(ge=0, le=2**40, description="Seconds since 1970.")]


class GroupAppClient(Reply):
    """Credentials of a group."""

    group_id: GroupId
    app_client_id: str
    secret: str
    description: str | None = None
    expiration: EpochSeconds | None = None
    name: str | None = None
    updated_at: DateText | None = None
    role_id: RoleId | None = None


class UpdateGroupAppClient(Reply):
    """An app client after it was renamed."""

    app_client_id: str
    secret: str
    name: str
    expiration: EpochSeconds | None = None
    updated_at: DateText | None = None
    role_id: RoleId | None = None


class ListedAppClient(Reply):
    """An app client without its secret."""

    group_id: GroupId
    app_client_id: str
    name: str
    description: str | None = None
    expiration: EpochSeconds | None = None
    created_at: DateText | None = None
    updated_at: DateText | None = None
    created_by: str | None = None
    role_id: RoleId | None = None


class AppClientConnection(Reply):
    """A page of app clients."""

    items: list[ListedAppClient]
    next_token: str | None = None


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


def list_clients(context: Context, query: GroupPage) -> AppClientConnection:
    """List the app clients of a group.

    By name, without their secrets.
    """
    page = clients.list_page(
        context.tx, context.actor, query.group_id, context.page_tokens.page_request(query)
    )
    return AppClientConnection(
        items=[
            ListedAppClient(
                group_id=client.group_id,
                app_client_id=client.id,
                name=client.name,
                description=client.description,
                expiration=to_epoch_seconds(client.expires_at),
                created_at=format_date(client.created_at),
                updated_at=format_date(client.updated_at),
                created_by=client.created_by,
                role_id=client.role_id,
            )
            for client in page.items
        ],
        next_token=context.page_tokens.next_token(query, page),
    )


def create_client(context: Context, body: AppClientInput) -> GroupAppClient:
    """Create an app client for a group.

    Its id and secret are exchanged for access tokens at the token endpoint. It acts with the role
    `roleId`, or else with the group's default role; the caller must have the permissions of that
    role. `description` and `expiration` are optional.
    """
    opened = clients.create(
        context.tx,
        context.actor,
        body.group_id,
        body.name,
        description=body.description,
        expires_at=None if body.expiration is None else body.expiration * SECOND,
        role_id=body.role_id or None,
        quotas=context.services.quotas,
    )
    client = opened.client
    return GroupAppClient(
        group_id=client.group_id,
        app_client_id=client.id,
        secret=opened.secret,
        description=client.description,
        expiration=to_epoch_seconds(client.expires_at),
        name=client.name,
        updated_at=format_date(client.updated_at),
        role_id=client.role_id,
    )


def update_client(context: Context, body: AppClientChange) -> UpdateGroupAppClient:
    """Rename an app client, or change its role.

    Its secret is unchanged and included in the response, so the caller must have the permissions of
    its role. Only to change the role, send the name as `newName`. The role counts at once.
    """
    opened = clients.update(
        context.tx,
        context.actor,
        body.group_id,
        body.name,
        body.new_name,
        role_id=parse_clearable(body.role_id),
        if_updated_at=parse_version(body.if_updated_at),
    )
    return UpdateGroupAppClient(
        app_client_id=opened.client.id,
        secret=opened.secret,
        name=opened.client.name,
        expiration=to_epoch_seconds(opened.client.expires_at),
        updated_at=format_date(opened.client.updated_at),
        role_id=opened.client.role_id,
    )


def delete_client(context: Context, query: AppClientQuery) -> GenericReturnBoolean:
    """Delete an app client.

    `name` is the id of the group. The client's tokens are revoked at once.
    """
    clients.delete(context.tx, context.actor, query.group_id, query.app_client_id)
    return GenericReturnBoolean(message="The app client was deleted.", value=True)


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
        "appClient.write",
        object_rule="in the group",
        is_addition=True,
    ),
    _route(
        "POST",
        "/appClient",
        create_client,
        "appClient.write",
        conflicts="The group has an app client of this name, or as many as it may have.",
        misplaced=_MISPLACED,
    ),
    _route(
        "PUT",
        "/appClient",
        update_client,
        "appClient.write",
        conflicts=f"The group has an app client of the new name. {CHANGED_MEANWHILE}",
        misplaced=_MISPLACED,
    ),
    _route(
        "DELETE",
        "/appClient",
        delete_client,
        "appClient.write",
        object_rule="in the group whose id is in name",
    ),
]
