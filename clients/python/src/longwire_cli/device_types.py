"""`device-type`: the device types of a service, for all or of a group."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import click

from longwire_cli.connection import connected
from longwire_cli.errors import CommandError
from longwire_cli.operations import command, list_command
from longwire_cli.output import confirm, yes_option
from longwire_cli.terminal import json_flag, print_result
from longwire_cli.type_files import describe_import, read_folder
from longwire_client import Client, Model

F = TypeVar("F", bound=Callable[..., Any])
COLUMNS = ("name", "displayName", "groupId", "battery", "firmwareVersion")

group_option = click.option("--group", "group_id", default=None, help="whose it is; else for all")


def field_options(function: F) -> F:
    """The options of what may be set of a type."""
    for option in (
        click.option("--location", default=None, help="names of a decoded place: gps.lat,gps.lng"),
        click.option("--encoder-file", type=click.File("rb"), default=None, help="for downlinks"),
        click.option("--decoder-file", type=click.File("rb"), default=None, help="its source"),
        click.option("--decoder", default=None, help="bits, cayenneLpp or javascript"),
        click.option("--firmware-version", default=None, help="any text"),
        click.option("--battery", default=None, help="what powers such devices; any text"),
        click.option("--default-configuration", default=None, help="any text, often JSON"),
        click.option("--display-name", default=None, help="its name for people"),
    ):
        function = option(function)
    return function


@list_command("list", COLUMNS)
@click.option("--group", "group_id", default=None, help="those that its devices may have")
def type_list(client: Client, group_id: str | None) -> Iterable[Model]:
    """List the device types."""
    return client.device_types.list(group_id=group_id)


@command("get", COLUMNS)
@click.argument("name")
def type_get(client: Client, name: str) -> Model:
    """Get a device type with its codecs and measurements."""
    return client.device_types.definition(name)


@command("create", COLUMNS)
@click.argument("name")
@group_option
@field_options
def type_create(client: Client, name: str, group_id: str | None, **fields: Any) -> Model:
    """Create a device type, for all or for a group and those below it."""
    return client.device_types.create(name, group_id=group_id, **_read_fields(**fields))


@command("update", COLUMNS)
@click.argument("name")
@field_options
def type_update(client: Client, name: str, **fields: Any) -> Model:
    """Update what is given of a device type."""
    given = {name: value for name, value in _read_fields(**fields).items() if value is not None}
    return client.device_types.update(name, **given)


@command("delete", COLUMNS)
@click.argument("name")
@yes_option
def type_delete(client: Client, name: str, yes: bool) -> Model:
    """Delete a device type that no device has."""
    confirm(f"Delete the device type {name}?", yes)
    return client.device_types.delete(name)


def import_options(function: F) -> F:
    """Which device of a folder, what it is to be called, and what is to happen."""
    for option in (
        click.option("--accept-failing", is_flag=True, help="also if examples fail"),
        click.option("--replace", is_flag=True, help="update the type of this --name"),
        click.option("--dry-run", is_flag=True, help="only run the examples"),
        click.option("--display-name", default=None, help="its name for people"),
        click.option("--name", default=None, help="its id; by default maker and device"),
        click.option("--firmware-version", default=None, help="by default the last one"),
        click.option("--device", default=None, help="which one, if the folder has several"),
        group_option,
        click.argument("folder", type=click.Path(path_type=Path)),
    ):
        function = option(function)
    return function


@click.command("import")
@import_options
@connected
@json_flag
def type_import(client: Client, as_json: bool, **given: Any) -> None:
    """Create or update a device type from a folder with a device's files, once its examples pass.

    Of ChirpStack's device profiles or The Things Network's device repository.
    """
    import_remotely(client, as_json, **given)


def import_remotely(
    client: Client,
    as_json: bool,
    *,
    folder: Path,
    device: str | None,
    dry_run: bool,
    accept_failing: bool,
    replace: bool,
    **names: Any,
) -> None:
    if replace:
        if names["name"] is None:
            raise click.UsageError("--replace needs --name")
        names["replace"] = True
    files = read_folder(folder, device)
    outcome = client.device_types.import_files(files, device=device, dry_run=True, **names)
    is_refused = outcome.failed > 0 and not accept_failing
    if not dry_run and not is_refused:
        outcome = client.device_types.import_files(
            files, device=device, accept_failing=accept_failing or None, **names
        )
    shown = outcome.to_dict()
    print_result(shown, as_json, describe_import(shown))
    if is_refused:
        raise CommandError("Examples fail; nothing was changed. See --accept-failing.")


def _read_fields(
    decoder_file: BinaryIO | None,
    encoder_file: BinaryIO | None,
    location: str | None,
    **fields: str | None,
) -> dict[str, Any]:
    return cast("dict[str, Any]", fields) | {
        "decoder_source": _read(decoder_file),
        "encoder_source": _read(encoder_file),
        "decoded_location": location,
    }


def _read(file: BinaryIO | None) -> str | None:
    try:
        return None if file is None else file.read().decode()
    except UnicodeDecodeError as error:
        raise click.UsageError(f"the file is not UTF-8 at byte {error.start}") from error
