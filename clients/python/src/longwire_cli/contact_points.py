"""`contact-point`: recipients with a name, and rotas."""

from collections.abc import Iterable

import click

from longwire_cli.connectors import params_option, read_params
from longwire_cli.operations import command, list_command
from longwire_cli.output import confirm, yes_option
from longwire_client import Client, Model

COLUMNS = ("id", "name", "type", "groupId", "onCall", "lastSentAt", "error")

group_option = click.option("--group", "group_id", required=True, help="the contact point's group")


@list_command("list", COLUMNS)
@click.argument("group_id")
@click.option("--usable", is_flag=True, help="also those that groups above share")
def contact_point_list(client: Client, group_id: str, usable: bool) -> Iterable[Model]:
    """List the contact points of a group."""
    return client.contact_points.list(group_id, usable=usable or None)


@command("get", COLUMNS)
@click.argument("contact_point_id")
@group_option
def contact_point_get(client: Client, contact_point_id: str, group_id: str) -> Model:
    """Get a contact point."""
    return client.contact_points.get(contact_point_id, group_id=group_id)


@command("create", COLUMNS)
@click.argument("group_id")
@click.option("--type", "type_", default="email", show_default=True)
@params_option
@click.option("--name", required=True, help="its name")
def contact_point_create(
    client: Client, group_id: str, type_: str, params: str | None, name: str
) -> Model:
    """Create a contact point."""
    given = read_params(params) or "{}"
    return client.contact_points.create(group_id, name=name, type=type_, params=given)


@command("update", COLUMNS)
@click.argument("contact_point_id")
@group_option
@params_option
@click.option("--name", default=None, help="its name")
def contact_point_update(
    client: Client, contact_point_id: str, group_id: str, params: str | None, name: str | None
) -> Model:
    """Update what is given; params are replaced as a whole."""
    given = {"params": read_params(params), "name": name}
    changed = {field: value for field, value in given.items() if value is not None}
    return client.contact_points.update(contact_point_id, group_id=group_id, **changed)


@command("delete", COLUMNS)
@click.argument("contact_point_id")
@group_option
@yes_option
def contact_point_delete(client: Client, contact_point_id: str, group_id: str, yes: bool) -> Model:
    """Delete a contact point that nothing uses."""
    confirm(f"Delete the contact point {contact_point_id}?", yes)
    return client.contact_points.delete(contact_point_id, group_id=group_id)


@command("test", ("queued", "message"))
@click.argument("contact_point_id")
@group_option
def contact_point_test(client: Client, contact_point_id: str, group_id: str) -> Model:
    """Send a test to all who would be notified now."""
    return client.contact_points.test(contact_point_id, group_id=group_id)
