"""App clients on the wire."""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.users import GenericReturnBoolean
from longwire.clock import SECOND
from longwire.dates import epoch_seconds
from longwire.identity import clients
from longwire.web.routing import Call, Route
from longwire.web.validation import Body, GroupId, Id, Name, Query, Reply, Text

EpochSeconds = Annotated[int, Meta(ge=0, le=2**40, description="Seconds since 1970.")]


class GroupAppClient(Reply):
    """Credentials of a group."""

    group_id: GroupId
    app_client_id: str
    secret: str
    description: str | None = None
    expiration: EpochSeconds | None = None
    name: str | None = None


class UpdateGroupAppClient(Reply):
    """An app client after it was renamed."""

    app_client_id: str
    secret: str
    name: str
    expiration: EpochSeconds | None = None


class AppClientInput(Body):
    """An app client to create."""

    group_id: GroupId
    name: Name
    description: Text | None = None
    expiration: EpochSeconds | None = None


class AppClientChange(Body):
    """Which app client gets which new name."""

    name: Name
    new_name: Name
    group_id: GroupId


class AppClientQuery(Query):
    """Which app client to delete."""

    # The interface calls the group's id `name` here.
    group_id: Annotated[GroupId, Meta(description="The id of the group.")] = field(name="name")
    app_client_id: Id


def create_client(call: Call, body: AppClientInput) -> GroupAppClient:
    """Create an app client for a group.

    Its id and secret get tokens at the token endpoint; it acts with the group's default role, so
    you must hold what that role holds. `description` and `expiration` can be given too.
    """
    opened = clients.create(
        call.tx,
        call.actor,
        body.group_id,
        body.name,
        description=body.description,
        expires_at=None if body.expiration is None else body.expiration * SECOND,
    )
    client = opened.client
    return GroupAppClient(
        group_id=client.group_id,
        app_client_id=client.id,
        secret=opened.secret,
        description=client.description,
        expiration=epoch_seconds(client.expires_at),
        name=client.name,
    )


def rename_client(call: Call, body: AppClientChange) -> UpdateGroupAppClient:
    """Rename an app client.

    Its secret stays the same and is part of the answer.
    """
    opened = clients.rename(call.tx, call.actor, body.group_id, body.name, body.new_name)
    return UpdateGroupAppClient(
        app_client_id=opened.client.id,
        secret=opened.secret,
        name=opened.client.name,
        expiration=epoch_seconds(opened.client.expires_at),
    )


def delete_client(call: Call, query: AppClientQuery) -> GenericReturnBoolean:
    """Delete an app client.

    `name` carries the id of the group. The client's tokens stop working at once.
    """
    clients.delete(call.tx, call.actor, query.group_id, query.app_client_id)
    return GenericReturnBoolean(message="The app client was deleted.", value=True)


ROUTES = [
    Route(
        method="POST",
        path="/appClient",
        handler=create_client,
        needs="appClient.write",
        rule="in the group, by someone who holds what its default role holds",
        tag="App clients",
        conflicts="The group has an app client of this name.",
    ),
    Route(
        method="PUT",
        path="/appClient",
        handler=rename_client,
        needs="appClient.write",
        rule="in the group, by someone who holds what its default role holds",
        tag="App clients",
        conflicts="The group has an app client of the new name.",
    ),
    Route(
        method="DELETE",
        path="/appClient",
        handler=delete_client,
        needs="appClient.write",
        rule="in the group that name carries the id of",
        tag="App clients",
    ),
]
