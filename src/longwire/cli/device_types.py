"""`device-type`: the catalogue of device types and their decoders."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec

from longwire.api.fleet.type_import import show_import
from longwire.cli.base import database_flags, run_read, run_write
from longwire.clock import Clock
from longwire.decoders.catalogue import KINDS as DECODERS
from longwire.decoders.catalogue import Decoders
from longwire.fleet import device_types, type_imports
from longwire.fleet.codec_guard import CodecGuard
from longwire.fleet.type_imports import ImportRequest
from longwire.model import SYSTEM, DeviceType
from longwire.settings import Settings
from longwire.store.database import Tx
from longwire_cli import profiles
from longwire_cli.connection import open_client, reporting
from longwire_cli.device_types import import_options, import_remotely
from longwire_cli.errors import CommandError
from longwire_cli.tables import print_table
from longwire_cli.terminal import json_flag, print_result
from longwire_cli.type_files import describe_import, read_folder


@click.command("add")
@click.argument("name", required=False)
@click.option("--display-name", default=None, help="by default its name")
@click.option("--default-configuration", default=None, help="any text, often JSON")
@click.option("--battery", default=None, help="what powers such devices; any text")
@click.option("--firmware-version", default=None, help="any text")
@click.option(
    "--file",
    "source",
    type=click.File(),
    default=None,
    help="a JSON list of types, with the fields of GET /device/type",
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
    chosen: Settings,
    as_json: bool,
) -> None:
    """Add device types, or update those of the same name."""
    if (name is None) == (source is None):
        raise click.UsageError("give a NAME or --file")
    if name is not None:
        types = [
            DeviceType(
                name, display_name or name, default_configuration or "{}", battery, firmware_version
            )
        ]
    else:
        types = parse_types(source.read())
    saved = run_write(
        chosen, lambda tx: [device_types.put_device_type(tx, SYSTEM, each) for each in types]
    )
    names = [each.name for each in saved]
    print_result({"added": names}, as_json, f"added {', '.join(names)}")


def parse_types(text: str) -> list[DeviceType]:
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
                encoder_source=_optional_text(each.get("encoderSource")),
                decoded_location=_optional_text(each.get("decodedLocation")),
            )
            for each in (listed if isinstance(listed, list) else [listed])
        ]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise click.UsageError(f"the file is not a JSON list of device types: {error}") from error


def _text(value: object) -> str:
    """A string that both databases can store."""
    if not isinstance(value, str) or "\x00" in value:
        raise ValueError(f"{value!r} is not a valid string")
    value.encode()
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


@click.command("list")
@database_flags
@json_flag
def device_type_list(chosen: Settings, as_json: bool) -> None:
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
            "encoderSource": each.encoder_source,
            "decodedLocation": each.decoded_location,
        }
        for each in run_read(chosen, device_types.list_all)
    ]
    shown = ("name", "displayName", "defaultConfiguration", "builtIn", "decoder")
    print_table(rows, shown, as_json)


@click.command("remove")
@click.argument("name")
@database_flags
@json_flag
def device_type_remove(name: str, chosen: Settings, as_json: bool) -> None:
    """Remove a device type that is not built in."""
    run_write(chosen, lambda tx: device_types.delete_device_type(tx, SYSTEM, name))
    print_result({"removed": name}, as_json, f"removed {name}")


@click.command("import")
@import_options
@click.option(
    "--profile",
    envvar="LONGWIRE_PROFILE",
    default=None,
    shell_complete=profiles.complete,
    help="the service to talk to, instead of the database",
)
@database_flags
@json_flag
def device_type_import(profile: str | None, chosen: Settings, as_json: bool, **given: Any) -> None:
    """Create or update a device type from a folder with a device's files, once its examples pass.

    Of ChirpStack's device profiles or The Things Network's device repository.
    """
    if profile is not None or os.environ.get("LONGWIRE_URL"):
        with reporting(), open_client(profile) as client:
            import_remotely(client, as_json, **given)
    else:
        _import_locally(chosen, as_json, **given)


def _import_locally(
    chosen: Settings,
    as_json: bool,
    *,
    folder: Path,
    device: str | None,
    dry_run: bool,
    accept_failing: bool,
    replace: bool,
    group_id: str | None,
    name: str | None,
    **names: str | None,
) -> None:
    files = read_folder(folder, device)
    replaced = None
    if replace:
        if name is None:
            raise click.UsageError("--replace needs --name")
        find = partial(type_imports.get_replaced, name=name, group_id=group_id)
        replaced = run_read(chosen, lambda tx: find(tx, SYSTEM))
    request = ImportRequest(files, group_id, device, name=name, replaced=replaced, **names)
    decoders = Decoders()
    prepared = type_imports.prepare_import(request, Clock().now(), CodecGuard(decoders))
    is_refused = bool(prepared.failing) and not accept_failing
    is_dry_run = dry_run or is_refused
    if not is_dry_run:

        def write(tx: Tx) -> None:
            tx.caches.adopt(decoders)
            type_imports.store_import(tx, SYSTEM, prepared)

        run_write(chosen, write)
    shown = msgspec.to_builtins(show_import(prepared, is_dry_run=is_dry_run))
    print_result(shown, as_json, describe_import(shown))
    if is_refused:
        raise CommandError("Examples fail; nothing was changed. See --accept-failing.")


@click.command("set-decoder")
@click.argument("name")
@click.option(
    "--decoder",
    "kind",
    type=click.Choice(list(DECODERS)),
    required=True,
    help="a bit format, Cayenne LPP, or a codec in JavaScript",
)
@click.option("--decoder-source", default=None, help="the source of the bit format or codec")
@click.option("--decoder-file", type=click.File("rb"), default=None, help="a file with that source")
@click.option(
    "--location",
    default=None,
    help="names of a decoded latitude and longitude that become a geolocation: gps.lat,gps.lng",
)
@database_flags
@json_flag
def device_type_set_decoder(
    name: str,
    kind: str,
    decoder_source: str | None,
    decoder_file: Any,
    location: str | None,
    chosen: Settings,
    as_json: bool,
) -> None:
    """Set the decoder for the payloads of a device type."""
    if decoder_source is not None and decoder_file is not None:
        raise click.UsageError("give --decoder-source or --decoder-file, not both")
    source = (decoder_source or "") if decoder_file is None else _read_utf8(decoder_file)
    decoders = Decoders()
    # Outside of the transaction, which finds the decoder checked.
    warnings = device_types.validate_decoder(kind, source, decoders)

    def write(tx: Tx) -> None:
        tx.caches.adopt(decoders)
        device_types.set_decoder(tx, SYSTEM, name, kind, source, location)

    run_write(chosen, write)
    _print_codec({"name": name, "decoder": kind}, warnings, as_json, f"{name} is decoded by {kind}")


@click.command("set-encoder")
@click.argument("name")
@click.option("--encoder-source", default=None, help="the source of the codec")
@click.option("--encoder-file", type=click.File("rb"), default=None, help="a file with that source")
@database_flags
@json_flag
def device_type_set_encoder(
    name: str, encoder_source: str | None, encoder_file: Any, chosen: Settings, as_json: bool
) -> None:
    """Set the codec that encodes downlinks, if that has a source of its own."""
    if (encoder_source is None) == (encoder_file is None):
        raise click.UsageError("give --encoder-source or --encoder-file")
    source = encoder_source or "" if encoder_file is None else _read_utf8(encoder_file)
    decoders = Decoders()
    warnings = device_types.validate_encoder(source, decoders)

    def write(tx: Tx) -> None:
        tx.caches.adopt(decoders)
        device_types.set_encoder(tx, SYSTEM, name, source)

    run_write(chosen, write)
    _print_codec(
        {"name": name, "encoder": "javascript"}, warnings, as_json, f"{name} has an encoder"
    )


def _print_codec(
    values: dict[str, Any], warnings: tuple[str, ...], as_json: bool, text: str
) -> None:
    if warnings:
        values = {**values, "warnings": warnings}
    print_result(values, as_json, "\n".join([text, *(f"warning: {each}" for each in warnings)]))


def _read_utf8(file: Any) -> str:
    try:
        return str(file.read(), "utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 at byte {error.start}") from error


@click.command("remove-decoder")
@click.argument("name")
@database_flags
@json_flag
def device_type_remove_decoder(name: str, chosen: Settings, as_json: bool) -> None:
    """Remove the decoder of a device type."""
    run_write(chosen, lambda tx: device_types.set_decoder(tx, SYSTEM, name, None, ""))
    print_result({"name": name, "decoder": None}, as_json, f"{name} has no decoder")


@click.command("remove-encoder")
@click.argument("name")
@database_flags
@json_flag
def device_type_remove_encoder(name: str, chosen: Settings, as_json: bool) -> None:
    """Remove the encoder of a device type."""
    run_write(chosen, lambda tx: device_types.set_encoder(tx, SYSTEM, name, None))
    print_result({"name": name, "encoder": None}, as_json, f"{name} has no encoder of its own")
