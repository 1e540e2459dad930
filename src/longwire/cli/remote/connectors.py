"""`connector`: connectors of a service and their messages."""

from pathlib import Path
from typing import Literal, get_args

import click

from longwire.cli.remote.connection import connected
from longwire.cli.remote.output import (
    Printer,
    confirm,
    limit_option,
    printing_ids,
    take,
    yes_option,
)
from longwire.errors import OperatorError
from longwire_client import Client

COLUMNS = ("id", "name", "type", "enabled", "format", "messageFilter", "error")
MESSAGE_COLUMNS = ("id", "timestamp", "status", "deviceId", "kind", "attempts", "message")

group_option = click.option("--group", "group_id", required=True, help="the connector's group")
params_option = click.option(
    "--params", default=None, help="a JSON object, or @ and the name of a file with one"
)
Format = Literal["cloudevents", "custom", "json", "raw"]
format_option = click.option(
    "--format", "format_", type=click.Choice(get_args(Format)), default=None, help="of its messages"
)
filter_option = click.option("--filter", "message_filter", default=None, help="an expression")


@click.command("list")
@click.argument("group_id")
@limit_option
@connected
@printing_ids
def connector_list(client: Client, show: Printer, group_id: str, limit: int) -> None:
    """List the connectors of a group."""
    show(take(client.connectors.list(group_id), limit), COLUMNS)


@click.command("get")
@click.argument("connector_id")
@group_option
@connected
@printing_ids
def connector_get(client: Client, show: Printer, connector_id: str, group_id: str) -> None:
    """Get a connector."""
    show(client.connectors.get(connector_id, group_id=group_id), COLUMNS)


@click.command("create")
@click.argument("group_id")
@click.option("--type", "type_", default="http", show_default=True)
@params_option
@click.option("--name", default=None, help="its name")
@filter_option
@format_option
@click.option("--disabled", is_flag=True, help="to preview it first")
@connected
@printing_ids
def connector_create(
    client: Client,
    show: Printer,
    group_id: str,
    type_: str,
    params: str | None,
    name: str | None,
    message_filter: str | None,
    format_: Format | None,
    disabled: bool,
) -> None:
    """Create a connector."""
    created = client.connectors.create(
        group_id,
        params=_read_params(params) or "{}",
        type=type_,
        name=name,
        message_filter=message_filter,
        format=format_,
        enabled=not disabled,
    )
    show(created, COLUMNS)


@click.command("update")
@click.argument("connector_id")
@group_option
@params_option
@click.option("--name", default=None, help="its name")
@filter_option
@format_option
@click.option("--enable/--disable", "enabled", default=None, help="start or stop forwarding")
@connected
@printing_ids
def connector_update(
    client: Client,
    show: Printer,
    connector_id: str,
    group_id: str,
    params: str | None,
    name: str | None,
    message_filter: str | None,
    format_: Format | None,
    enabled: bool | None,
) -> None:
    """Update what is given; params are replaced as a whole."""
    updated = client.connectors.update(
        connector_id,
        group_id=group_id,
        params=_read_params(params),
        name=name,
        message_filter=message_filter,
        format=format_,
        enabled=enabled,
    )
    show(updated, COLUMNS)


@click.command("delete")
@click.argument("connector_id")
@group_option
@yes_option
@connected
@printing_ids
def connector_delete(
    client: Client, show: Printer, connector_id: str, group_id: str, yes: bool
) -> None:
    """Delete a connector, its queue and its history."""
    confirm(f"Delete connector {connector_id} with its queue?", yes)
    show(client.connectors.delete(connector_id, group_id=group_id), COLUMNS)


@click.command("messages")
@click.argument("group_id")
@click.option("--connector", "connector_id", default=None, help="only messages of this one")
@click.option("--device", "device_id", default=None, help="only messages about this device")
@limit_option
@connected
@printing_ids
def connector_messages(
    client: Client,
    show: Printer,
    group_id: str,
    connector_id: str | None,
    device_id: str | None,
    limit: int,
) -> None:
    """List the messages of a group's connectors, newest first."""
    found = client.messages.list(group_id, connector_id=connector_id, device_id=device_id)
    show(take(found, limit), MESSAGE_COLUMNS)


@click.command("resend")
@click.argument("connector_id")
@group_option
@connected
@printing_ids
def connector_resend(client: Client, show: Printer, connector_id: str, group_id: str) -> None:
    """Send the dead letters of a connector again."""
    show(client.connectors.resend(connector_id, group_id=group_id), COLUMNS)


def _read_params(given: str | None) -> str | None:
    """In a file, secrets are not in the list of processes."""
    if given is None or not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"{given[1:]}: {error}") from error
