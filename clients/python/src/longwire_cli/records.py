"""`record`: records of a service."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from longwire_cli.connection import connected
from longwire_cli.errors import CommandError
from longwire_cli.output import Printer, format_date, limit_option, printing, take
from longwire_cli.terminal import printable
from longwire_client import Client
from longwire_client import models as m
from longwire_client.writer import RecordInput

COLUMNS = {
    "data": ("timestamp", "data", "__raw", "deviceType"),
    "event": ("timestamp", "type", "severity", "message", "data"),
    "geoloc": ("timestamp", "lat", "lng", "radius", "location"),
    "telemetry": ("timestamp", "score", "nbBS", "rc", "data"),
}
INPUTS: dict[str, type[RecordInput]] = {
    "data": m.DeviceDataInput,
    "event": m.DeviceEventInput,
    "geoloc": m.DeviceGeolocInput,
    "telemetry": m.DeviceTelemetryInput,
}

kind_option = click.option(
    "--kind", type=click.Choice(list(COLUMNS)), default="data", show_default=True
)


@click.command("list")
@click.argument("device_id")
@kind_option
@click.option("--begin", default=None, help="from here on")
@click.option("--end", default=None, help="up to here")
@click.option("--oldest-first", is_flag=True, help="by default the newest come first")
@limit_option
@connected
@printing
def record_list(
    client: Client,
    show: Printer,
    device_id: str,
    kind: str,
    begin: str | None,
    end: str | None,
    oldest_first: bool,
    limit: int,
) -> None:
    """List the records of a device."""
    lists = {
        "data": client.devices.data,
        "event": client.devices.events,
        "geoloc": client.devices.geolocations,
        "telemetry": client.devices.telemetry,
    }
    found: Any = lists[kind](
        device_id,
        begin_date=begin,
        end_date=end,
        ascending=oldest_first,
        page_size=min(limit, 1_000) or None,
    )
    show(take(found, limit), COLUMNS[kind])


@click.command("create")
@click.argument("device_id")
@kind_option
@click.option("--timestamp", default=None, help="by default now")
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=VALUE",
    help="a field of the record, such as data={...}, type=opened or lat=51.9; may be repeated",
)
@connected
@printing
def record_create(
    client: Client,
    show: Printer,
    device_id: str,
    kind: str,
    timestamp: str | None,
    fields: tuple[str, ...],
) -> None:
    """Store a record; what its kind requires and is not given is empty."""
    device = client.devices.get(device_id) if kind in ("data", "telemetry") else None
    values: dict[str, Any] = {
        "deviceId": device_id,
        "timestamp": timestamp or format_date(time.time()),
    }
    if kind == "data":
        values |= {"data": "{}", "configuration": "{}", "__raw": ""}
    if device is not None:
        values["deviceType"] = device.type
    for each in fields:
        name, separator, value = each.partition("=")
        if not separator:
            raise click.UsageError(f"{each} is not NAME=VALUE")
        if name not in _FIELDS[kind]:
            known = ", ".join(sorted(_FIELDS[kind]))
            raise click.UsageError(f"a record of the kind {kind} has no {name}; it has {known}")
        values[name] = _parse_field(name, value)
    record = _to_input(kind, values)
    stored = client.request(
        "POST", f"/device/{kind}", body=msgspec.to_builtins(record), repeatable=True
    )
    show(msgspec.convert(stored, _REPLIES[kind]), COLUMNS[kind])


_REPLIES: dict[str, Any] = {
    "data": m.DeviceData,
    "event": m.DeviceEvent,
    "geoloc": m.DeviceGeoloc,
    "telemetry": m.DeviceTelemetry,
}
_FIELDS = {
    kind: {each.encode_name for each in msgspec.structs.fields(model)}
    for kind, model in INPUTS.items()
}
_NUMBERS = {"status", "source", "radius", "score", "nbBs", "rc", "lat", "lng"}


def _parse_field(name: str, value: str) -> str | float:
    if name not in _NUMBERS:
        return value
    try:
        return float(value) if name in ("lat", "lng") else int(value)
    except ValueError as error:
        raise click.UsageError(f"{name} is a number") from error


def _to_input(kind: str, values: dict[str, Any]) -> RecordInput:
    """A record by the names of the API; as there, names that it does not know are ignored."""
    # In responses there is nbBS, in requests nbBs.
    names = {each.encode_name.lower(): each.name for each in msgspec.structs.fields(INPUTS[kind])}
    converted: dict[str, Any] = {
        names[name.lower()]: value for name, value in values.items() if name.lower() in names
    }
    try:
        return INPUTS[kind](**converted)
    except (TypeError, ValueError) as error:
        raise CommandError(f"Not a record of the kind {kind}: {error}") from error


@click.command("import")
@click.argument("file", type=click.File("rb"))
@kind_option
@click.option(
    "--spool",
    type=click.Path(path_type=Path),
    default=None,
    help="a file to keep records in until the service has them; what is left is sent next time",
)
@connected
@printing
def record_import(
    client: Client, show: Printer, file: BinaryIO, kind: str, spool: Path | None
) -> None:
    """Store the records of a file with one JSON object a line (- for the standard input).

    They are sent in batches while the file is read. Those that the service refuses are printed to
    the standard error; storing the same file again changes nothing.
    """

    def print_rejected(entry: Any, error: Any) -> None:
        body = entry.body.decode(errors="replace")
        click.echo(printable(f"{body}: {error}"), err=True)

    with client.writer(spool=spool, on_rejected=print_rejected) as writer:
        for record in _read_lines(file, kind):
            writer.write(record)
        writer.flush()
        status = writer.status
    show(
        m.BatchReturn(
            message=f"{status.rejected} rejected.",
            stored=status.stored,
            duplicates=status.duplicates,
        ),
        (),
    )
    if status.rejected:
        raise CommandError(f"{status.rejected} records were rejected.")


def _read_lines(file: BinaryIO, kind: str) -> Iterator[RecordInput]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            values = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise CommandError(f"Line {number}: {error}") from error
        yield _to_input(kind, values)
