"""`connector`: connectors of a service and their messages."""

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

import click

from longwire_cli.errors import CommandError
from longwire_cli.operations import command, list_command
from longwire_cli.output import confirm, yes_option
from longwire_client import Client, Model
from longwire_client import models as m

COLUMNS = ("id", "name", "type", "enabled", "format", "messageFilter", "error")
MESSAGE_COLUMNS = ("id", "timestamp", "status", "deviceId", "kind", "attempts", "message")

group_option = click.option("--group", "group_id", required=True, help="the connector's group")
params_option = click.option(
    "--params", default=None, help="a JSON object, or @ and the name of a file with one"
)
format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(get_args(m.MessageFormat)),
    default=None,
    help="of its messages",
)
filter_option = click.option("--filter", "message_filter", default=None, help="an expression")


@list_command("list", COLUMNS)
@click.argument("group_id")
def connector_list(client: Client, group_id: str) -> Iterable[Model]:
    """List the connectors of a group."""
    return client.connectors.list(group_id)


@command("get", COLUMNS)
@click.argument("connector_id")
@group_option
def connector_get(client: Client, connector_id: str, group_id: str) -> Model:
    """Get a connector."""
    return client.connectors.get(connector_id, group_id=group_id)


@command("create", COLUMNS)
@click.argument("group_id")
@click.option("--type", "type_", default="http", show_default=True)
@params_option
@click.option("--name", default=None, help="its name")
@filter_option
@format_option
@click.option("--disabled", is_flag=True, help="to preview it first")
def connector_create(
    client: Client,
    group_id: str,
    type_: str,
    params: str | None,
    name: str | None,
    message_filter: str | None,
    format_: m.MessageFormat | None,
    disabled: bool,
) -> Model:
    """Create a connector."""
    return client.connectors.create(
        group_id,
        params=read_params(params) or "{}",
        type=type_,
        name=name,
        message_filter=message_filter,
        format=format_,
        enabled=not disabled,
    )


@command("update", COLUMNS)
@click.argument("connector_id")
@group_option
@params_option
@click.option("--name", default=None, help="its name")
@filter_option
@format_option
@click.option("--enable/--disable", "enabled", default=None, help="start or stop forwarding")
def connector_update(
    client: Client,
    connector_id: str,
    group_id: str,
    params: str | None,
    name: str | None,
    message_filter: str | None,
    format_: m.MessageFormat | None,
    enabled: bool | None,
) -> Model:
    """Update what is given; params are replaced as a whole."""
    return client.connectors.update(
        connector_id,
        group_id=group_id,
        params=read_params(params),
        name=name,
        message_filter=message_filter,
        format=format_,
        enabled=enabled,
    )


@command("delete", COLUMNS)
@click.argument("connector_id")
@group_option
@yes_option
def connector_delete(client: Client, connector_id: str, group_id: str, yes: bool) -> Model:
    """Delete a connector, its queue and its history."""
    confirm(f"Delete connector {connector_id} with its queue?", yes)
    return client.connectors.delete(connector_id, group_id=group_id)


@list_command("messages", MESSAGE_COLUMNS)
@click.argument("group_id")
@click.option("--connector", "connector_id", default=None, help="only messages of this one")
@click.option("--device", "device_id", default=None, help="only messages about this device")
def connector_messages(
    client: Client,
    group_id: str,
    connector_id: str | None,
    device_id: str | None,
) -> Iterable[Model]:
    """List the messages of a group's connectors, newest first."""
    return client.messages.list(group_id, connector_id=connector_id, device_id=device_id)


@command("resend", COLUMNS)
@click.argument("connector_id")
@group_option
def connector_resend(client: Client, connector_id: str, group_id: str) -> Model:
    """Send the dead letters of a connector again."""
    return client.connectors.resend(connector_id, group_id=group_id)


def read_params(given: str | None) -> str | None:
    """In a file, secrets are not in the list of processes."""
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{given[1:]}: {error}") from error
