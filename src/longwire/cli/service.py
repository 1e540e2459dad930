"""`serve` and `deliver`, which run the service."""

import os
import sys
from collections.abc import Callable

import click

from longwire import __version__
from longwire.cli.base import setting_flags
from longwire.process import logs, serve, startup
from longwire.settings import Settings
from longwire.settings.declaration import redact_password


@click.command("serve")
@setting_flags(reloads=True)
def serve_command(chosen: Settings, load: Callable[[], Settings]) -> None:
    """Serve the API until stopped."""
    logs.configure_logging(chosen.log_level, chosen.log_format)
    inherited = os.environ.pop(serve.INHERITED_FDS_VARIABLE, None)
    if inherited is not None:
        sys.exit(serve.serve_as_worker(chosen, inherited))
    sys.exit(serve.serve(chosen, announce, load))


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

    sys.exit(serve.deliver(chosen, announce_delivery, load))
