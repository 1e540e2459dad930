"""The `longwire` command: serving, and what an operator does beside it.

Every setting is a flag of `serve`; the other commands take those that find the database. Commands
that print take `--json`.
"""

import asyncio
import gc
import importlib
import json
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table
from rich.text import Text

from longwire import __version__, logs, opening, settings, simulate
from longwire.clock import DAY, Clock
from longwire.dates import date_text, end_of, moment_of, optional_date_text
from longwire.decoders.catalogue import KINDS as DECODERS
from longwire.delivery import operate
from longwire.errors import LongwireError
from longwire.fleet import catalogue, redecoding
from longwire.fleet.redecoding import Wanted
from longwire.identity import groups, tokens
from longwire.ids import delivery_id
from longwire.model import SYSTEM, Connector, DeviceType, PageRequest
from longwire.notifications import webpush
from longwire.settings import Settings, WrongSettings
from longwire.store import audit as store_audit
from longwire.store import connectors as store_connectors
from longwire.store import credentials as store_credentials
from longwire.store import deliveries as store_deliveries
from longwire.store import rights
from longwire.store.database import Database, Tx, UnsafeServer
from longwire.store.records import KINDS
from longwire.store.upgrade import FromTheFuture

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

FINDS_DATABASE = ("data", "database", "secret_key")
MENDABLE = (WrongSettings, opening.CannotStart, UnsafeServer, FromTheFuture, LongwireError, OSError)
PIPED_COLUMNS = 2_000
REREAD_PER_STEP = 500


def main() -> None:
    """Run the command line; what the operator can mend ends in one sentence, not in a traceback."""
    os.umask(0o077)  # what this service writes is nobody else's business
    try:
        commands(prog_name="longwire")
    except MENDABLE as error:
        click.echo(f"longwire: {error}", err=True)
        sys.exit(2)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="longwire %(version)s")
def commands() -> None:
    """Devices in groups, what they say, and who hears it."""


# --- options shared by commands ---


def _flags(*names: str) -> Callable[[F], F]:
    """The flags of some settings, or of all, read off the table of settings."""

    def add(command: F) -> F:
        for each in reversed(settings.explained()):
            if not names or each.name in names:
                shown = each.default if each.default not in ("", ()) else "none"
                command = click.option(
                    each.flag,
                    each.name,
                    default=None,
                    help=f"{each.reason} [default: {shown}]",
                    metavar="TEXT",
                )(command)
        return click.option(
            "--config",
            type=click.Path(path_type=Path),
            envvar="LONGWIRE_CONFIG",
            default=None,
            help="a TOML file with settings",
        )(command)

    return add


_as_json = click.option("--json", "as_json", is_flag=True, help="print JSON")


def _load(config: Path | None, flags: dict[str, Any]) -> Settings:
    return settings.load(flags, os.environ, config)


# --- serving ---


def _service() -> ModuleType:
    """The service itself, which takes long to load: only those wait for it who run it."""
    gc.disable()  # all that is made now is there to stay, so looking for garbage is in vain
    try:
        return importlib.import_module("longwire.serve")
    finally:
        gc.enable()


@commands.command("serve")
@_flags()
def serve_command(config: Path | None, **flags: Any) -> None:
    """Serve until told to stop."""
    chosen = _load(config, flags)
    logs.set_up(chosen.log_level, chosen.log_format)
    service = _service()
    inherited = os.environ.pop(service.INHERITED, None)
    if inherited is not None:
        sys.exit(service.serve_as_worker(chosen, inherited))
    sys.exit(service.serve(chosen, _announce))


def _announce(chosen: Settings, prepared: opening.Prepared) -> None:
    url = opening.base_url(chosen)
    kept = settings.without_password(chosen.database) if chosen.database else str(chosen.data)
    click.echo(f"longwire {__version__} serves {url} ({url}/docs), database: {kept}")
    if chosen.mqtt_url:
        broker = settings.without_password(chosen.mqtt_url)
        click.echo(f"it listens to {broker}, under {chosen.mqtt_prefix}/")
    if chosen.egress_allow:
        allowed = ", ".join(str(network) for network in chosen.egress_allow)
        click.echo(f"outgoing connections may also reach {allowed}")
    if prepared.founded is not None:
        made = prepared.founded
        click.echo(
            f"\nThis is the first start. The operator's credentials, also kept in "
            f"{chosen.data / 'operator.json'}:\n\n"
            f"  client id      {made.client_id}\n"
            f"  client secret  {made.client_secret}\n\n"
            f"Get a token:\n\n"
            f"  curl -s -X POST -u '{made.client_id}:{made.client_secret}' "
            f"-H 'Content-Type: application/x-www-form-urlencoded' "
            f"'{chosen.auth_url or url}/oauth2/token?grant_type=client_credentials'\n"
        )
    sys.stdout.flush()


@commands.command("migrate")
@_flags(*FINDS_DATABASE)
@_as_json
def migrate_command(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Bring the database to this version's schema, and fill it when it is empty."""
    chosen = _load(config, flags)
    database, keep_key = opening.open_database(chosen, Clock(), is_guest=True)
    with closing(database):
        prepared = opening.prepare(database, chosen, keep_key)
    _print(
        {"steps": prepared.steps, "founded": prepared.founded is not None},
        as_json,
        f"{len(prepared.steps)} step(s) run"
        + (f"; credentials are in {chosen.data / 'operator.json'}" if prepared.founded else ""),
    )


@commands.command("config")
@_flags()
@_as_json
def config_command(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Print every setting: its value, its default, its reason."""
    chosen = _load(config, flags)
    rows = [_setting_row(chosen, each) for each in settings.explained()]
    _print_table(rows, ("name", "value", "default", "reason"), as_json)


@commands.command("vapid-key")
@_as_json
def vapid_key_command(as_json: bool) -> None:
    """Make a pair of keys for Web Push: one for the settings, one for the applications."""
    key = webpush.new_vapid_key()
    public_key = webpush.Vapid(key, "").public_key
    _print(
        {"vapidKey": key, "applicationServerKey": public_key},
        as_json,
        f"vapid_key:             {key}\napplicationServerKey:  {public_key}",
    )


def _setting_row(chosen: Settings, each: settings.Explained) -> dict[str, Any]:
    value = getattr(chosen, each.name)
    return {
        "name": each.name,
        "flag": each.flag,
        "variable": each.variable,
        "value": "***" if each.is_secret and value else _plain(each.name, value),
        "default": _plain(each.name, each.default),
        "reason": each.reason,
    }


def _plain(name: str, value: object) -> object:
    if name in ("database", "mqtt_url"):
        return settings.without_password(str(value))
    if isinstance(value, tuple):
        return [str(part) for part in value]
    return value if isinstance(value, int | float | str) else str(value)


# --- credentials ---


@commands.group("credentials")
def credentials_group() -> None:
    """Client ids and secrets that act as people."""


@credentials_group.command("issue")
@click.option("--email", required=True, help="whose credentials; entered if new")
@click.option("--first-name", default=None)
@click.option("--last-name", default=None)
@click.option("--operator", is_flag=True, help="hold every permission in every group")
@click.option("--expires-days", type=click.IntRange(min=1), default=None, help="end after so long")
@_flags(*FINDS_DATABASE)
@_as_json
def credentials_issue(
    email: str,
    first_name: str | None,
    last_name: str | None,
    operator: bool,
    expires_days: int | None,
    config: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Issue credentials; the secret is shown this once."""

    def work(tx: Tx) -> tokens.NewCredential:
        return tokens.issue_credential(
            tx,
            SYSTEM,
            email,
            first_name=first_name,
            last_name=last_name,
            is_operator=operator,
            expires_at=None if expires_days is None else tx.now + expires_days * DAY,
        )

    issued = _write(_load(config, flags), work)
    made = {
        "clientId": issued.credential.client_id,
        "clientSecret": issued.secret,
        "userId": issued.credential.user_id,
    }
    _print(made, as_json, "\n".join(f"{name:13} {value}" for name, value in made.items()))


@credentials_group.command("list")
@_flags(*FINDS_DATABASE)
@_as_json
def credentials_list(config: Path | None, as_json: bool, **flags: Any) -> None:
    """List all credentials, without their secrets."""
    found = _read(_load(config, flags), store_credentials.every)
    rows = [
        {
            "clientId": each.client_id,
            "userId": each.user_id,
            "email": each.email,
            "createdAt": date_text(each.created_at),
            "expiresAt": optional_date_text(each.expires_at),
        }
        for each in found
    ]
    _print_table(rows, ("clientId", "email", "userId", "createdAt", "expiresAt"), as_json)


@credentials_group.command("revoke")
@click.argument("client_id")
@_flags(*FINDS_DATABASE)
@_as_json
def credentials_revoke(client_id: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Revoke credentials; their tokens stop working within two seconds."""
    _write(_load(config, flags), lambda tx: tokens.revoke_credential(tx, SYSTEM, client_id))
    _print({"revoked": client_id}, as_json, f"{client_id} is revoked")


# --- groups ---


@commands.group("group")
def group_group() -> None:
    """What the operator does to groups."""


@group_group.command("rotate-token")
@click.argument("group_id")
@_flags(*FINDS_DATABASE)
@_as_json
def group_rotate_token(group_id: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Give a group another token for its networks; the old one stops within two seconds."""
    token = _write(_load(config, flags), lambda tx: groups.rotate_token(tx, SYSTEM, group_id))
    _print({"groupId": group_id, "token": token}, as_json, token)


# --- device types ---


@commands.group("device-type")
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
@_flags(*FINDS_DATABASE)
@_as_json
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
    kept = _write(
        _load(config, flags), lambda tx: [catalogue.put(tx, SYSTEM, each) for each in types]
    )
    names = [each.name for each in kept]
    _print({"added": names}, as_json, f"added {', '.join(names)}")


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


def _text_in(file: Any) -> str:
    try:
        return str(file.read(), "utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file.name} is not UTF-8 at byte {error.start}") from error


def _text(value: object) -> str:
    """A text that both databases can keep."""
    if not isinstance(value, str) or "\x00" in value:
        raise ValueError(f"{value!r} is not a text")
    value.encode()
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


@device_type_group.command("list")
@_flags(*FINDS_DATABASE)
@_as_json
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
        for each in _read(_load(config, flags), catalogue.every)
    ]
    shown = ("name", "displayName", "defaultConfiguration", "builtIn", "decoder")
    _print_table(rows, shown, as_json)


@device_type_group.command("remove")
@click.argument("name")
@_flags(*FINDS_DATABASE)
@_as_json
def device_type_remove(name: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Remove a device type that is not built in."""
    _write(_load(config, flags), lambda tx: catalogue.remove(tx, SYSTEM, name))
    _print({"removed": name}, as_json, f"removed {name}")


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
@_flags(*FINDS_DATABASE)
@_as_json
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
    catalogue.require_readable(kind, source)  # before the database has to wait for it
    _write(_load(config, flags), lambda tx: catalogue.set_decoder(tx, SYSTEM, name, kind, source))
    _print({"name": name, "decoder": kind}, as_json, f"{name} is read by {kind}")


@device_type_group.command("remove-decoder")
@click.argument("name")
@_flags(*FINDS_DATABASE)
@_as_json
def device_type_remove_decoder(name: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Leave the payloads of a device type as they are."""
    _write(_load(config, flags), lambda tx: catalogue.set_decoder(tx, SYSTEM, name, None, ""))
    _print({"name": name, "decoder": None}, as_json, f"{name} has no decoder")


@commands.command("redecode")
@click.option("--device", "device_id", default=None, help="the payloads of this device")
@click.option("--group", "group_id", default=None, help="those of all devices of this group")
@click.option("--device-type", default=None, help="only devices that are of this type now")
@click.option("--begin", default=None, help="from this date on; from the first record by default")
@click.option("--end", default=None, help="before this date; a date alone is that day as well")
@_flags(*FINDS_DATABASE)
@_as_json
def redecode_command(
    device_id: str | None,
    group_id: str | None,
    device_type: str | None,
    begin: str | None,
    end: str | None,
    config: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Decode stored payloads again, by the decoder that the device type has now."""
    if device_id is None and group_id is None:
        raise click.UsageError("give --device or --group")
    try:
        since = None if begin is None else moment_of(begin)
        until = None if end is None else end_of(end)
    except ValueError as error:
        raise click.UsageError(f"--begin or --end {error}") from error
    wanted = Wanted(device_id, group_id, device_type, since, until)
    with _visiting(_load(config, flags)) as database:
        totals = asyncio.run(_redecode(database, wanted))
    text = "{lookedAt} records looked at: {changed} changed, {skipped} without a payload to decode"
    text = text.format(**totals) + f", {totals['failed']} left alone because decoding failed"
    _print(totals, as_json, text + (f"\n{totals['failure']}" if totals["failure"] else ""))


async def _redecode(database: Database, wanted: Wanted) -> dict[str, Any]:
    totals: dict[str, Any] = {
        **{"lookedAt": 0, "changed": 0, "skipped": 0, "failed": 0},
        "failure": None,
    }
    after: tuple[int | str, ...] | None = None
    while True:
        request = PageRequest(REREAD_PER_STEP, after)
        piece = await database.read(partial(_to_redecode, wanted=wanted, request=request))
        reread = redecoding.read_again(piece)
        if reread.bodies:
            totals["changed"] += await database.write(partial(_keep_redecoded, reread=reread))
        totals["lookedAt"] += reread.looked_at
        totals["skipped"] += reread.skipped
        totals["failed"] += reread.failed
        totals["failure"] = totals["failure"] or reread.failure
        after = reread.last_key
        if after is None:
            return totals


def _to_redecode(tx: Tx, wanted: Wanted, request: PageRequest) -> redecoding.Piece:
    return redecoding.find(tx, SYSTEM, wanted, request)


def _keep_redecoded(tx: Tx, reread: redecoding.Reread) -> int:
    # A service beside this command remembers lists that it answered; this makes it forget them.
    rights.change(tx)
    return redecoding.keep(tx, SYSTEM, reread)


# --- messages out ---


@commands.command("deliver")
@_flags()
def deliver_command(config: Path | None, **flags: Any) -> None:
    """Deliver what waits for connectors, without serving."""
    chosen = _load(config, flags)
    logs.set_up(chosen.log_level, chosen.log_format)

    def announce(chosen: Settings) -> None:
        kept = settings.without_password(chosen.database) if chosen.database else str(chosen.data)
        click.echo(f"longwire {__version__} delivers, database: {kept}")
        if chosen.metrics_port:
            host = f"[{chosen.metrics_host}]" if ":" in chosen.metrics_host else chosen.metrics_host
            click.echo(f"its metrics are at http://{host}:{chosen.metrics_port}/metrics")
        sys.stdout.flush()

    sys.exit(_service().deliver(chosen, announce))


@commands.command("connectors")
@_flags(*FINDS_DATABASE)
@_as_json
def connectors_command(config: Path | None, as_json: bool, **flags: Any) -> None:
    """Show every connector: what waits, what failed, since when and why."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        waiting = store_deliveries.backlogs(tx)
        rows = []
        for each in store_connectors.every(tx):
            backlog = waiting.get(each.number)
            rows.append(
                {
                    "id": each.id,
                    "group": each.group_id,
                    "name": each.name,
                    "purpose": each.purpose,
                    "type": each.type,
                    "enabled": each.is_enabled,
                    "queued": backlog.queued if backlog else 0,
                    "sending": backlog.leased if backlog else 0,
                    "failed": backlog.failed if backlog else 0,
                    "oldest": optional_date_text(backlog.oldest) if backlog else None,
                    "failuresInARow": each.failures,
                    "errorAt": optional_date_text(each.error_at),
                    "error": each.error_message,
                }
            )
        return rows

    rows = _read(_load(config, flags), work)
    shown = (
        "id",
        "group",
        "purpose",
        "type",
        "enabled",
        "queued",
        "sending",
        "failed",
        "oldest",
        "failuresInARow",
        "errorAt",
        "error",
    )
    _print_table(rows, shown, as_json)


STATES = {
    "queued": store_deliveries.QUEUED,
    "sending": store_deliveries.LEASED,
    "succeeded": store_deliveries.SUCCEEDED,
    "failed": store_deliveries.FAILED,
    "expired": store_deliveries.EXPIRED,
    "cancelled": store_deliveries.CANCELLED,
}


@commands.group("deliveries")
def deliveries_group() -> None:
    """Single messages on their way out."""


@deliveries_group.command("list")
@click.option("--connector", "connector_id", default=None, help="only of this connector")
@click.option(
    "--state",
    "states",
    type=click.Choice(list(STATES)),
    multiple=True,
    default=("queued", "sending", "failed"),
    show_default=True,
    help="can be given several times",
)
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@_flags(*FINDS_DATABASE)
@_as_json
def deliveries_list(
    connector_id: str | None,
    states: tuple[str, ...],
    limit: int,
    config: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """List messages, those that changed last first."""

    def work(tx: Tx) -> list[dict[str, Any]]:
        ways = {each.number: each for each in store_connectors.every(tx)}
        number = None
        if connector_id is not None:
            number = next((key for key, each in ways.items() if each.id == connector_id), None)
            if number is None:
                raise opening.CannotStart(f"There is no connector {connector_id}.")
        wanted = [STATES[state] for state in states]
        return [
            _delivery_row(each, ways.get(each.connector_number))
            for each in store_deliveries.latest(tx, wanted, limit, number)
        ]

    rows = _read(_load(config, flags), work)
    shown = (
        "id",
        "connector",
        "purpose",
        "device",
        "kind",
        "state",
        "attempts",
        "createdAt",
        "changedAt",
        "dueAt",
        "error",
    )
    _print_table(rows, shown, as_json)


def _delivery_row(each: store_deliveries.Event, way: Connector | None) -> dict[str, Any]:
    is_waiting = each.state == store_deliveries.QUEUED
    return {
        "id": delivery_id(each.connector_number, each.seq),
        "connector": way.id if way else "(deleted)",
        "purpose": way.purpose if way else None,
        "device": each.device_id,
        "kind": KINDS[each.kind],
        "state": next(name for name, state in STATES.items() if state == each.state),
        "resent": each.generation,
        "attempts": each.attempts,
        "createdAt": date_text(each.created_at),
        "changedAt": date_text(each.changed_at),
        "dueAt": date_text(each.due_at) if is_waiting else None,
        "error": each.error,
    }


@deliveries_group.command("retry")
@click.argument("message_id")
@_flags(*FINDS_DATABASE)
@_as_json
def deliveries_retry(message_id: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Try a message at once: one that waits, or one that failed and was kept."""
    _write(_load(config, flags), lambda tx: operate.retry(tx, message_id))
    _print({"retried": message_id}, as_json, f"{message_id} is due now")


@deliveries_group.command("cancel")
@click.argument("message_id")
@_flags(*FINDS_DATABASE)
@_as_json
def deliveries_cancel(message_id: str, config: Path | None, as_json: bool, **flags: Any) -> None:
    """Give up on a message that waits."""
    _write(_load(config, flags), lambda tx: operate.cancel(tx, message_id))
    _print({"cancelled": message_id}, as_json, f"{message_id} is cancelled")


# --- the audit trail ---


@commands.command("audit")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True)
@click.option("--group", "group_id", default=None, help="only of this group")
@_flags(*FINDS_DATABASE)
@_as_json
def audit_command(
    limit: int, group_id: str | None, config: Path | None, as_json: bool, **flags: Any
) -> None:
    """Show who changed what, newest first."""
    rows = _read(_load(config, flags), lambda tx: store_audit.latest(tx, limit, group_id=group_id))
    for row in rows:
        row["at"] = date_text(int(str(row["at"])))
    shown = ("at", "actor_id", "action", "object_id", "group_id", "address", "request_id", "detail")
    _print_table(rows, shown, as_json)


# --- a fleet to play with ---


@commands.command("simulate")
@click.option("--devices", "number", type=click.IntRange(min=1), default=100, show_default=True)
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    default=50.0,
    show_default=True,
    help="records a second, of all devices together",
)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=30.0, show_default=True)
@click.option("--seed", type=int, default=None, help="the same fleet and the same day again")
@click.option("--url", default=None, help="where the service is; from operator.json by default")
@click.option("--client-id", default=None, help="from operator.json by default")
@click.option("--client-secret", default=None, help="from operator.json by default")
@_flags("data")
@_as_json
def simulate_command(
    number: int,
    rate: float,
    seconds: float,
    seed: int | None,
    url: str | None,
    client_id: str | None,
    client_secret: str | None,
    config: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Let a made-up fleet talk to a running service."""
    known = _operator(_load(config, flags))
    url = url or known.get("baseUrl")
    client_id = client_id or known.get("clientId")
    client_secret = client_secret or known.get("clientSecret")
    if not url or not client_id or not client_secret:
        raise click.UsageError(
            "there is no operator.json: give --url, --client-id, --client-secret"
        )
    seed = random.getrandbits(32) if seed is None else seed

    async def run(progress: Progress) -> simulate.Result:
        token = await simulate.get_token(url, client_id, client_secret)
        fleet = await simulate.make_fleet(url, token, number, seed)
        task = progress.add_task("reporting", total=simulate.total(rate, seconds))
        return await simulate.talk(
            url,
            token,
            fleet,
            rate=rate,
            seconds=seconds,
            seed=seed,
            progress=lambda count: progress.advance(task, count),
        )

    try:
        watched = sys.stderr.isatty() and not as_json
        with Progress(console=Console(stderr=True), disable=not watched) as progress:
            result = asyncio.run(run(progress))
    except simulate.SimulationFailed as error:
        raise opening.CannotStart(str(error)) from error
    _print(
        {
            "sent": result.sent,
            "failed": result.failed,
            "seconds": round(result.seconds, 3),
            "rate": round(result.rate, 1),
            "p50Ms": round(result.percentile_ms(0.5), 2),
            "p99Ms": round(result.percentile_ms(0.99), 2),
        },
        as_json,
        result.line(),
    )


def _operator(chosen: Settings) -> dict[str, str]:
    path = chosen.data / "operator.json"
    return json.loads(path.read_text()) if path.exists() else {}


# --- working on the database beside a serving process ---


@contextmanager
def _visiting(chosen: Settings) -> Iterator[Database]:
    """The database, when it has been filled; a command never makes one by accident."""
    if not chosen.database and not (chosen.data / "longwire.db").exists():
        raise opening.CannotStart(f"There is no database in {chosen.data}. {opening.HOW_TO_FILL}")
    logs.set_up("error", "auto")
    database, keep_key = opening.open_database(chosen, Clock(), is_guest=True)
    with closing(database):
        opening.prepare(database, chosen, keep_key, is_visit=True)
        database.start()
        yield database


def _read(chosen: Settings, work: Callable[[Tx], T]) -> T:
    with _visiting(chosen) as database:
        return asyncio.run(database.read(work))


def _write(chosen: Settings, work: Callable[[Tx], T]) -> T:
    with _visiting(chosen) as database:
        return asyncio.run(database.write(work))


# --- printing ---


def _print(value: dict[str, Any], as_json: bool, text: str) -> None:
    click.echo(json.dumps(value) if as_json else text)


def _print_table(rows: list[dict[str, Any]], columns: tuple[str, ...], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(rows))
        return
    table = Table(*(Column(name, overflow="fold") for name in columns), box=None)
    for row in rows:
        table.add_row(*(Text("" if row[name] is None else str(row[name])) for name in columns))
    # An id cut short to fit is of no use, so a line that is piped on is as long as it needs to be.
    console = Console() if sys.stdout.isatty() else Console(width=PIPED_COLUMNS)
    console.print(table)
