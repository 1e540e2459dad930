"""`import thingsboard`: devices and telemetry of a ThingsBoard, from files that it exported."""

import csv
import io
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click

from longwire_cli.connection import connected
from longwire_cli.thingsboard_files import (
    BadExport,
    ExportedDevice,
    Values,
    read_devices,
    read_telemetry,
)
from longwire_client import Client
from longwire_client import models as m

T = TypeVar("T")

DEVICES_AT_ONCE = 500
RECORDS_AT_ONCE = 500


@click.command("thingsboard")
@click.argument("group_id")
@click.option(
    "--devices",
    "devices_file",
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="a JSON file with pages of GET /api/tenant/devices, or a CSV file with a column name",
)
@click.option(
    "--telemetry",
    "telemetry_folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="a folder with a JSON or CSV file for each device, named like the device or its id",
)
@click.option("--type", "type_", default="generic", show_default=True, help="for unknown types")
@click.option("--network", default="thingsboard", show_default=True)
@click.option("--timezone", default="UTC", show_default=True, help="that of dates in CSV files")
@click.option("--dry-run", is_flag=True, help="only say what would be done")
@connected
def import_thingsboard(
    client: Client,
    group_id: str,
    devices_file: Path,
    telemetry_folder: Path | None,
    type_: str,
    network: str,
    timezone: str,
    dry_run: bool,
) -> None:
    """Import devices and telemetry that ThingsBoard exported.

    A device keeps its name, which is also its original id; its label becomes a tag. Its type is the
    device type of the same name, if there is one. What was measured at one instant becomes one data
    record. Running it again changes and duplicates nothing.
    """
    try:
        zone = ZoneInfo(timezone)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise BadExport(f"{timezone} is no time zone.") from error
    exported = read_devices(devices_file)
    files = find_telemetry(telemetry_folder, exported)
    measured = {name: read_telemetry(path, zone) for name, path in files.items()}
    create_devices(client, group_id, exported, type_, network, dry_run)
    total = sum(len(each) for each in measured.values())
    if dry_run:
        click.echo(f"{total} records of {len(measured)} devices would be stored.")
        return
    known = {
        each.original_id: each
        for each in client.devices.list(group_id, network=network, page_size=1000)
    }
    stored = duplicates = 0
    for name, instants in measured.items():
        for items in build_batches(known[name], instants):
            result = client.data.store_many(items)
            stored += result.stored
            duplicates += result.duplicates
    click.echo(f"{stored} records stored, {duplicates} were there already.")


def find_telemetry(folder: Path | None, devices: Sequence[ExportedDevice]) -> dict[str, Path]:
    """The file of each device that has one, by the device's name."""
    if folder is None:
        return {}
    names = {each.id: each.name for each in devices if each.id}
    names |= {each.name: each.name for each in devices}
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in (".json", ".csv"):
            continue
        if path.stem not in names:
            raise BadExport(f"{path} is named like no device, nor like the id of one.")
        found[names[path.stem]] = path
    return found


def create_devices(
    client: Client,
    group_id: str,
    exported: Sequence[ExportedDevice],
    type_: str,
    network: str,
    dry_run: bool,
) -> None:
    types = {each.name for each in client.device_types.list()}
    for devices in split(exported, DEVICES_AT_ONCE):
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(("name", "originalId", "type", "network", "tags"))
        for each in devices:
            chosen = each.type if each.type in types else type_
            rows.writerow((each.name, each.name, chosen, network, each.label))
        result = client.devices.import_csv(group_id, text=text.getvalue(), dry_run=dry_run)
        click.echo(result.message)


def build_batches(
    device: m.Device, instants: dict[datetime, Values]
) -> Iterator[list[m.DeviceDataInput]]:
    for items in split(list(instants.items()), RECORDS_AT_ONCE):
        yield [
            m.DeviceDataInput(
                device_id=device.device_id,
                timestamp=instant.astimezone(UTC),
                data=values,
                configuration={},
                raw="",
                device_type=device.type,
            )
            for instant, values in items
        ]


def split(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
