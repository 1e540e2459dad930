"""`device`: devices of a service."""

from collections.abc import Iterable
from typing import BinaryIO, Literal, get_args

import click

from longwire_cli.connection import connected
from longwire_cli.operations import command, list_command
from longwire_cli.output import Printer, confirm, printing, yes_option
from longwire_client import Client, Model

COLUMNS = ("deviceId", "name", "type", "network", "originalId", "battery", "seenAt", "tags")

VALUE_COLUMNS = ("name", "value", "unit", "timestamp", "class")

Seen = Literal["hour", "day", "week", "longer", "never", "silent"]

tag_option = click.option("--tag", "tags", multiple=True, help="a tag; may be repeated")


@list_command("list", COLUMNS)
@click.argument("group_id")
@click.option("--subgroups", is_flag=True, help="also of the groups below")
@click.option("--q", default=None, help="a part of the name, the original id or a tag")
@click.option("--type", "type_", default=None, help="the device type")
@click.option("--network", default=None, help="of this network")
@click.option("--tag", default=None, help="with this tag")
@click.option(
    "--seen", type=click.Choice(get_args(Seen)), default=None, help="when it was seen last"
)
@click.option(
    "--where", multiple=True, help="with such a current value, as moisture<15; may be repeated"
)
@click.option("--order", default=None, help="by a current value, as value:moisture")
@click.option("--descending", is_flag=True, help="with --order: the largest first")
def device_list(
    client: Client,
    group_id: str,
    subgroups: bool,
    q: str | None,
    type_: str | None,
    network: str | None,
    tag: str | None,
    seen: Seen | None,
    where: tuple[str, ...],
    order: str | None,
    descending: bool,
) -> Iterable[Model]:
    """List or find the devices of a group."""
    return client.devices.list(
        group_id,
        subgroups=subgroups or None,
        q=q,
        type=type_,
        network=network,
        tag=tag,
        seen=seen,
        where=where or None,
        order=order,
        descending=descending or None,
    )


@list_command("values", VALUE_COLUMNS)
@click.argument("device_id")
def device_values(client: Client, device_id: str) -> Iterable[Model]:
    """Show the current values of a device."""
    return client.measurements.values(device_id).items


@command("get", COLUMNS)
@click.argument("device_id")
def device_get(client: Client, device_id: str) -> Model:
    """Get a device."""
    return client.devices.get(device_id)


@command("create", COLUMNS)
@click.argument("group_id")
@click.option("--original-id", required=True, help="its id in its network")
@click.option("--name", default=None, help="by default the original id")
@click.option("--type", "type_", default="generic", show_default=True, help="the device type")
@click.option("--network", required=True, help="such as chirpstack, ttn, vendor or mqtt")
@tag_option
def device_create(
    client: Client,
    group_id: str,
    original_id: str,
    name: str | None,
    type_: str,
    network: str,
    tags: tuple[str, ...],
) -> Model:
    """Create a device."""
    return client.devices.create(
        group_id,
        name=name or original_id,
        type=type_,
        original_id=original_id,
        network=network,
        tags=tags or None,
    )


@command("update", COLUMNS)
@click.argument("device_id")
@click.option("--name", default=None, help="its new name")
@click.option("--configuration", default=None, help="JSON")
@tag_option
def device_update(
    client: Client,
    device_id: str,
    name: str | None,
    configuration: str | None,
    tags: tuple[str, ...],
) -> Model:
    """Update what is given; tags are replaced as a whole."""
    return client.devices.update(
        device_id,
        group_id=client.devices.get(device_id).group_id,
        name=name,
        configuration=configuration,
        tags=tags or None,
    )


@command("transfer", COLUMNS)
@click.argument("device_ids", nargs=-1, required=True, metavar="DEVICE_ID...")
@click.option("--to", "to_group_id", required=True, help="the group")
def device_transfer(
    client: Client, device_ids: tuple[str, ...], to_group_id: str
) -> Iterable[Model]:
    """Transfer devices of one group to another; all or none."""
    group_id = client.devices.get(device_ids[0]).group_id
    moved = client.devices.transfer_many(group_id, device_ids=device_ids, to_group_id=to_group_id)
    return moved.items


@command("delete", COLUMNS)
@click.argument("device_ids", nargs=-1, required=True, metavar="DEVICE_ID...")
@yes_option
def device_delete(client: Client, device_ids: tuple[str, ...], yes: bool) -> Iterable[Model]:
    """Delete devices of one group with all their records; all or none."""
    confirm(f"Delete {len(device_ids)} devices with all their records?", yes)
    group_id = client.devices.get(device_ids[0]).group_id
    return client.devices.delete_many(group_id, device_ids=device_ids).items


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
