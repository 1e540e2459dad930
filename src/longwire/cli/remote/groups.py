"""`group`: groups of a service."""

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
from longwire_client import Client

COLUMNS = ("id", "name", "parent", "numberOfDevices", "numberOfConnectors", "tags")

tag_option = click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")


@click.command("list")
@click.option("--parent", default=None, help="only groups directly below this one")
@click.option("--q", default=None, help="groups at any depth with this in their name")
@limit_option
@connected
@printing_ids
def group_list(
    client: Client, show: Printer, parent: str | None, q: str | None, limit: int
) -> None:
    """List your groups."""
    if parent is None and q is None:
        show(take(client.groups.list(), limit), COLUMNS)
        return
    show(take(client.groups.tree(parent_id=parent, q=q), limit), COLUMNS)


@click.command("get")
@click.argument("group_id")
@connected
@printing_ids
def group_get(client: Client, show: Printer, group_id: str) -> None:
    """Get a group."""
    show(client.groups.get(group_id), COLUMNS)


@click.command("create")
@click.argument("name")
@click.option("--parent", default=None, help="the group that it is to be below")
@click.option("--description", default=None, help="any text")
@tag_option
@connected
@printing_ids
def group_create(
    client: Client,
    show: Printer,
    name: str,
    parent: str | None,
    description: str | None,
    tags: tuple[str, ...],
) -> None:
    """Create a group."""
    created = client.groups.create(
        name, parent_id=parent, description=description, tags=tags or None
    )
    show(created, COLUMNS)


@click.command("update")
@click.argument("group_id")
@click.option("--name", default=None, help="its new name")
@click.option("--description", default=None, help="any text")
@click.option("--parent", default=None, help='the group to move it below; "" for none')
@tag_option
@connected
@printing_ids
def group_update(
    client: Client,
    show: Printer,
    group_id: str,
    name: str | None,
    description: str | None,
    parent: str | None,
    tags: tuple[str, ...],
) -> None:
    """Update what is given; tags are replaced as a whole."""
    updated = client.groups.update(
        group_id, name=name, description=description, parent=parent, tags=tags or None
    )
    show(updated, COLUMNS)


@click.command("delete")
@click.argument("group_id")
@click.option("--recursive", is_flag=True, help="with everything in it, after a grace period")
@yes_option
@connected
@printing_ids
def group_delete(client: Client, show: Printer, group_id: str, recursive: bool, yes: bool) -> None:
    """Delete a group."""
    confirm(f"Delete group {group_id}{' with everything in it' if recursive else ''}?", yes)
    show(client.groups.delete(group_id, recursive=recursive or None), COLUMNS)
