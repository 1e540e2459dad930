"""`serve` and `deliver`, which run the service, and `migrate`, which prepares its database."""

import gc
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import click

from longwire import __version__
from longwire.cli.base import database_flags, setting_flags
from longwire.clock import Clock
from longwire.process import logs, startup
from longwire.settings import Settings
from longwire.settings.declaration import redact_password
from longwire.store.engines import citus as distribution
from longwire_cli.terminal import json_flag, print_result


@click.command("serve")
@setting_flags(reloads=True)
def serve_command(chosen: Settings, load: Callable[[], Settings]) -> None:
    """Serve the API until stopped."""
    logs.configure_logging(chosen.log_level, chosen.log_format)
    service = import_service()
    inherited = os.environ.pop(service.INHERITED_FDS_VARIABLE, None)
    if inherited is not None:
        sys.exit(service.serve_as_worker(chosen, inherited))
    sys.exit(service.serve(chosen, announce, load))


def announce(chosen: Settings, prepared: startup.PreparationResult) -> None:
    url = startup.get_base_url(chosen)
    location = _database_location(chosen)
    click.echo(f"longwire {__version__} serves {url} ({url}/docs), database: {location}")
    if chosen.mqtt_url:
        broker = redact_password(chosen.mqtt_url)
        click.echo(f"subscribes to {broker}, topics under {chosen.mqtt_prefix}/")
    if chosen.egress_allow:
        allowed = ", ".join(str(network) for network in chosen.egress_allow)
        click.echo(f"outgoing connections may also reach {allowed}")
    if prepared.operator is not None:
        _announce_operator(chosen, prepared.operator)
    sys.stdout.flush()


def _announce_operator(chosen: Settings, operator: startup.OperatorCredentials) -> None:
    """Print the credentials to a terminal only: other output is kept by whoever collects logs."""
    path = chosen.data / "operator.json"
    if not sys.stdout.isatty():
        click.echo(f"This is the first start. The operator's credentials are in {path}.")
        return
    url = chosen.auth_url or startup.get_base_url(chosen)
    click.echo(
        "\nThis is the first start. The operator's credentials for programs, also saved in"
        f" {path}:\n\n"
        f"  client id      {operator.client_id}\n"
        f"  client secret  {operator.client_secret}\n\n"
        f"Get a token:\n\n"
        f"  curl -s -X POST -u '{operator.client_id}:{operator.client_secret}' "
        f"-H 'Content-Type: application/x-www-form-urlencoded' "
        f"'{url}/oauth2/token?grant_type=client_credentials'"
    )
    click.echo(
        "\nSign in with a browser, within 15 minutes; `longwire console link` prints another"
        f" link:\n\n  {operator.link}\n"
    )


def _database_location(chosen: Settings) -> str:
    return redact_password(chosen.database) if chosen.database else str(chosen.data)


@click.command("deliver")
@setting_flags(reloads=True)
def deliver_command(chosen: Settings, load: Callable[[], Settings]) -> None:
    """Run the delivery engine without the API."""
    logs.configure_logging(chosen.log_level, chosen.log_format)

    def announce_delivery(chosen: Settings) -> None:
        click.echo(f"longwire {__version__} delivers, database: {_database_location(chosen)}")
        if chosen.metrics_port:
            host = f"[{chosen.metrics_host}]" if ":" in chosen.metrics_host else chosen.metrics_host
            click.echo(f"metrics are at http://{host}:{chosen.metrics_port}/metrics")
        sys.stdout.flush()

    sys.exit(import_service().deliver(chosen, announce_delivery, load))


def import_service() -> ModuleType:
    """Import the service on demand, because it is slow to load."""
    gc.disable()  # objects created by imports stay, so collecting would find nothing
    try:
        return importlib.import_module("longwire.process.serve")
    finally:
        gc.enable()


@click.command("migrate")
@database_flags
@click.option(
    "--slots",
    type=int,
    metavar="NUMBER",
    help="Divide the records of a PostgreSQL that no process uses into so many slots.",
)
@click.option(
    "--citus",
    is_flag=True,
    help="Distribute the records of a PostgreSQL with the extension Citus over its workers.",
)
@json_flag
def migrate_command(chosen: Settings, slots: int | None, citus: bool, as_json: bool) -> None:
    """Migrate the database to this version's schema, and bootstrap it when empty."""
    if slots is not None:
        chosen = replace(chosen, database_slots=0)  # those that it has, for a moment
    database, prepared = startup.open_prepared_database(chosen, Clock(), is_secondary=True)
    try:
        if slots is not None:
            database.upgrade(lambda tx: distribution.change_slots(tx, slots))
        distributed = database.upgrade(distribution.distribute) if citus else []
    finally:
        database.close()
    print_result(
        {
            "steps": prepared.steps,
            "bootstrapped": prepared.operator is not None,
            "distributed": distributed,
        },
        as_json,
        f"{len(prepared.steps)} migration(s) run"
        + (f"; {len(distributed)} tables distributed" if citus else "")
        + (f"; credentials are in {chosen.data / 'operator.json'}" if prepared.operator else ""),
    )
