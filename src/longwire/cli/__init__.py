"""The command line: `longwire serve`, and the operator's commands.

Every setting is a flag of `serve`; other commands take those that locate the database. Commands
that print take `--json`. One file per noun; `base` has what they share. May use every layer below.
Imports `serve` and `app` only when a command runs the service, because they are slow to load.
"""

import os
import sys

import click

from longwire import __version__, startup
from longwire.cli import (
    audit,
    connectors,
    console,
    credentials,
    deliveries,
    demo,
    device_types,
    groups,
    redecode,
    service,
    settings,
    simulate,
)
from longwire.errors import LongwireError
from longwire.settings import SettingsError
from longwire.store.database import UnsafeServer
from longwire.store.upgrade import DatabaseTooNew

OPERATOR_ERRORS = (
    SettingsError,
    startup.StartupError,
    UnsafeServer,
    DatabaseTooNew,
    LongwireError,
    OSError,
)


def main() -> None:
    """Run the command line; errors that the operator can fix print a message, no traceback."""
    os.umask(0o077)  # files of the service are private
    try:
        commands(prog_name="longwire")
    except OPERATOR_ERRORS as error:
        click.echo(f"longwire: {error}", err=True)
        sys.exit(2)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="longwire %(version)s")
def commands() -> None:
    """A service for connected devices: groups, records, connectors and notifications."""


for command in (
    service.serve_command,
    service.deliver_command,
    service.migrate_command,
    settings.config_command,
    settings.vapid_key_command,
    credentials.credentials_group,
    console.console_group,
    groups.group_group,
    device_types.device_type_group,
    redecode.redecode_command,
    connectors.connectors_command,
    deliveries.deliveries_group,
    audit.audit_command,
    simulate.simulate_command,
    demo.demo_command,
):
    commands.add_command(command)
