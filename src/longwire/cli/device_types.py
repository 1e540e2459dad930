"""`device-type`: the catalogue of device types, and how their payloads are read."""

import json
from pathlib import Path
from typing import Any

import click

from longwire.cli.base import database_flags, json_flag, load, read, show, show_table, write
from longwire.decoders.catalogue import KINDS as DECODERS
from longwire.fleet import device_types
from longwire.model import SYSTEM, DeviceType


@click.group("device-type")
def device_type_group() -> None:
    """The catalogue of device types."""


@device_type_group.command("add")
@click.argument("name", required=False)
@click.option("--display-name", default=None)
@click.option("--default-configuration", default=None, help="any text, often JSON")
@click.option("--battery", default=None)
@click.option("--firmware-version", default=None)
@click.option(
    "--file",
    "source",
    type=click.File(),
    default=None,
    help="a JSON list of types with the names of GET /device/type",
)
@database_flags
@json_flag
def device_type_add(
    name: str | None,
    display_name: str | None,
    default_configuration: str | None,
    battery: str | None,
    firmware_version: str | None,
    source: Any,
    config: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Add device types, or change those of the same name."""
    if (name is None) == (source is None):
        raise click.UsageError("give a NAME or --file")
    if name is not None:
        types = [
            DeviceType(
                name, display_name or name, default_configuration or "{}", battery, firmware_version
            )
        ]
    else:
        types = _types_in(source.read())
    kept = write(
        load(config, flags), lambda tx: [device_types.put(tx, SYSTEM, each) for each in types]
    )
    names = [each.name for each in kept]
    show({"added": names}, as_json, f"added {', '.join(names)}")


def _types_in(text: str) -> list[DeviceType]:
    try:
        listed = json.loads(text)
        return [
            DeviceType(
                name=_text(each["name"]),
                display_name=_text(each.get("displayName", each["name"])),
                default_configuration=_text(each.get("defaultConfiguration", "{}")),
                battery=_optional_text(each.get("battery")),
                firmware_version=_optional_text(each.get("firmwareVersion")),
                decoder=_optional_text(each.get("decoder")),
                decoder_source=_optional_text(each.get("decoderSource")),
            )
            for each in (listed if isinstance(listed, list) else [listed])
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(f"the file is not a JSON list of device types: {error}") from error


def _text(value: object) -> str:
    """A text that both databases can keep."""
    if not isinstance(value, str) or "\x00" in value:
        raise ValueError(f"{value!r} is not a text")
    value.encode()
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


@device_type_group.command("list")
@database_flags
@json_flag
def device_type_list(config: Path | None, as_json: bool, **flags: Any) -> None:
    """List the device types."""
    rows = [
        {
            "name": each.name,
            "displayName": each.display_name,
            "defaultConfiguration": each.default_configuration,
            "battery": each.battery,
            "firmwareVersion": each.firmware_version,
            "builtIn": each.is_built_in,
            "decoder": each.decoder,
            "decoderSource": each.decoder_source,
        }
        for each in read(load(config, flags), device_types.every)
    ]
    shown = ("name", "displayName", "defaultConfiguration", "builtIn", "decoder")
    show_table(rows, shown, as_json)


@device_type_group.command("remove")
@click.argument("name")
@database_flags
@json_flag
def device_type_remove(name: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Remove a device type that is not built in."""
    write(load(config, flags), lambda tx: device_types.remove(tx, SYSTEM, name))
    show({"removed": name}, as_json, f"removed {name}")


@device_type_group.command("set-decoder")
@click.argument("name")
@click.option(
    "--decoder",
    "kind",
    type=click.Choice(list(DECODERS)),
    required=True,
    help="a bit format, Cayenne LPP, or a codec in JavaScript",
)
@click.option("--decoder-source", default=None, help="the bit format, or the codec")
@click.option("--decoder-file", type=click.File("rb"), default=None, help="a file with the same")
@database_flags
@json_flag
def device_type_set_decoder(
    name: str,
    kind: str,
    decoder_source: str | None,
    decoder_file: Any,
    config: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Say how the payloads of a device type are read."""
    if decoder_source is not None and decoder_file is not None:
        raise click.UsageError("give --decoder-source or --decoder-file, not both")
    source = (decoder_source or "") if decoder_file is None else _text_in(decoder_file)
    device_types.require_readable(kind, source)  # before the database has to wait for it
    write(load(config, flags), lambda tx: device_types.set_decoder(tx, SYSTEM, name, kind, source))
    show({"name": name, "decoder": kind}, as_json, f"{name} is read by {kind}")


def _text_in(file: Any) -> str:
    try:
        return str(file.read(), "utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 at byte {error.start}") from error


@device_type_group.command("remove-decoder")
@click.argument("name")
@database_flags
@json_flag
def device_type_remove_decoder(name: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Leave the payloads of a device type as they are."""
    write(load(config, flags), lambda tx: device_types.set_decoder(tx, SYSTEM, name, None, ""))
    show({"name": name, "decoder": None}, as_json, f"{name} has no decoder")
