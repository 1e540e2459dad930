"""`device`: devices of a service."""

from typing import BinaryIO, Literal

import click

from longwire.cli.remote.connection import connected
from longwire.cli.remote.output import (
    Printer,
    confirm,
    limit_option,
    printing,
    printing_ids,
    take,
    yes_option,
)
from longwire_client import Client

COLUMNS = ("deviceId", "name", "type", "network", "originalId", "battery", "seenAt", "tags")
SEEN = ("hour", "day", "week", "longer", "never", "silent")

Seen = Literal["hour", "day", "week", "longer", "never", "silent"]

tag_option = click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")


@click.command("list")
@click.argument("group_id")
@click.option("--subgroups", is_flag=True, help="also of the groups below")
@click.option("--q", default=None, help="a part of the name, the original id or a tag")
@click.option("--type", "type_", default=None, help="the device type")
@click.option("--network", default=None, help="of this network")
@click.option("--tag", default=None, help="with this tag")
@click.option("--seen", type=click.Choice(SEEN), default=None, help="when it was seen last")
@limit_option
@connected
@printing_ids
def device_list(
    client: Client,
    show: Printer,
    group_id: str,
    subgroups: bool,
    q: str | None,
    type_: str | None,
    network: str | None,
    tag: str | None,
    seen: Seen | None,
    limit: int,
) -> None:
    """List or find the devices of a group."""
    found = client.devices.list(
        group_id,
        subgroups=subgroups or None,
        q=q,
        type=type_,
        network=network,
        tag=tag,
        seen=seen,
    )
    show(take(found, limit), COLUMNS)


@click.command("get")
@click.argument("device_id")
@connected
@printing_ids
def device_get(client: Client, show: Printer, device_id: str) -> None:
    """Get a device."""
    show(client.devices.get(device_id), COLUMNS)


@click.command("create")
@click.argument("group_id")
@click.option("--original-id", required=True, help="its id in its network")
@click.option("--name", default=None, help="by default the original id")
@click.option("--type", "type_", default="generic", show_default=True, help="the device type")
@click.option("--network", required=True, help="such as chirpstack, ttn, vendor or mqtt")
@tag_option
@connected
@printing_ids
def device_create(
    client: Client,
    show: Printer,
    group_id: str,
    original_id: str,
    name: str | None,
    type_: str,
    network: str,
    tags: tuple[str, ...],
) -> None:
    """Create a device."""
    created = client.devices.create(
        group_id,
        name=name or original_id,
        type=type_,
        original_id=original_id,
        network=network,
        tags=tags or None,
    )
    show(created, COLUMNS)


@click.command("update")
@click.argument("device_id")
@click.option("--name", default=None, help="its new name")
@click.option("--configuration", default=None, help="JSON")
@tag_option
@connected
@printing_ids
def device_update(
    client: Client,
    show: Printer,
    device_id: str,
    name: str | None,
    configuration: str | None,
    tags: tuple[str, ...],
) -> None:
    """Update what is given; tags are replaced as a whole."""
    updated = client.devices.update(
        device_id,
        group_id=client.devices.get(device_id).group_id,
        name=name,
        configuration=configuration,
        tags=tags or None,
    )
    show(updated, COLUMNS)


@click.command("transfer")
@click.argument("device_ids", nargs=-1, required=True, metavar="DEVICE_ID...")
@click.option("--to", "to_group_id", required=True, help="the group")
@connected
@printing_ids
def device_transfer(
    client: Client, show: Printer, device_ids: tuple[str, ...], to_group_id: str
) -> None:
    """Transfer devices of one group to another; all or none."""
    group_id = client.devices.get(device_ids[0]).group_id
    moved = client.devices.transfer_many(group_id, device_ids=device_ids, to_group_id=to_group_id)
    show(moved.items, COLUMNS)


@click.command("delete")
@click.argument("device_ids", nargs=-1, required=True, metavar="DEVICE_ID...")
@yes_option
@connected
@printing_ids
def device_delete(client: Client, show: Printer, device_ids: tuple[str, ...], yes: bool) -> None:
    """Delete devices of one group with all their records; all or none."""
    confirm(f"Delete {len(device_ids)} devices with all their records?", yes)
    group_id = client.devices.get(device_ids[0]).group_id
    show(client.devices.delete_many(group_id, device_ids=device_ids).items, COLUMNS)


@click.command("import")
@click.argument("group_id")
@click.argument("file", type=click.File("rb"))
@click.option("--type", "type_", default=None, help="of devices without one in the file")
@click.option("--network", default=None, help="of devices without one in the file")
@click.option("--dry-run", is_flag=True, help="only check the file")
@connected
@printing
def device_import(
    client: Client,
    show: Printer,
    group_id: str,
    file: BinaryIO,
    type_: str | None,
    network: str | None,
    dry_run: bool,
) -> None:
    """Create the devices of a CSV file (- for the standard input); all or none."""
    result = client.devices.import_csv(
        group_id, text=file.read(), type=type_, network=network, dry_run=dry_run or None
    )
    show(result, ())
