"""`group`: groups of a service."""

from collections.abc import Iterable

import click

from longwire_cli.operations import command, list_command
from longwire_cli.output import confirm, yes_option
from longwire_client import Client, Model

COLUMNS = ("id", "name", "parent", "numberOfDevices", "numberOfConnectors", "tags")

tag_option = click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")


@list_command("list", COLUMNS)
@click.option("--parent", default=None, help="only groups directly below this one")
@click.option("--q", default=None, help="groups at any depth with this in their name")
def group_list(client: Client, parent: str | None, q: str | None) -> Iterable[Model]:
    """List your groups."""
    if parent is None and q is None:
        return client.groups.list()
    return client.groups.tree(parent_id=parent, q=q)


@command("get", COLUMNS)
@click.argument("group_id")
def group_get(client: Client, group_id: str) -> Model:
    """Get a group."""
    return client.groups.get(group_id)


@command("create", COLUMNS)
@click.argument("name")
@click.option("--parent", default=None, help="the group that it is to be below")
@click.option("--description", default=None, help="any text")
@tag_option
def group_create(
    client: Client,
    name: str,
    parent: str | None,
    description: str | None,
    tags: tuple[str, ...],
) -> Model:
    """Create a group."""
    return client.groups.create(name, parent_id=parent, description=description, tags=tags or None)


@command("update", COLUMNS)
@click.argument("group_id")
@click.option("--name", default=None, help="its new name")
@click.option("--description", default=None, help="any text")
@click.option("--parent", default=None, help='the group to move it below; "" for none')
@tag_option
def group_update(
    client: Client,
    group_id: str,
    name: str | None,
    description: str | None,
    parent: str | None,
    tags: tuple[str, ...],
) -> Model:
    """Update what is given; tags are replaced as a whole."""
    return client.groups.update(
        group_id, name=name, description=description, parent=parent, tags=tags or None
    )


@command("delete", COLUMNS)
@click.argument("group_id")
@click.option("--recursive", is_flag=True, help="with everything in it, after a grace period")
@yes_option
def group_delete(client: Client, group_id: str, recursive: bool, yes: bool) -> Model:
    """Delete a group."""
    confirm(f"Delete group {group_id}{' with everything in it' if recursive else ''}?", yes)
    return client.groups.delete(group_id, recursive=recursive or None)
