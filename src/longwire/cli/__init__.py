"""THE COMMAND: `longwire serve`, and what an operator does beside it.

Every setting is a flag of `serve`; the other commands take those that find the database. Commands
that print take `--json`. One file for each noun; `base` is what they have in common. Knows every
floor below. Never loads the service itself (`serve`, and `app` below it) before a command runs it.
"""

import os
import sys

import click

from longwire import __version__, startup
from longwire.cli import (
    audit,
    connectors,
    credentials,
    deliveries,
    device_types,
    groups,
    redecode,
    service,
    settings,
    simulate,
)
from longwire.errors import LongwireError
from longwire.settings import WrongSettings
from longwire.store.database import UnsafeServer
from longwire.store.upgrade import FromTheFuture

MENDABLE = (WrongSettings, startup.CannotStart, UnsafeServer, FromTheFuture, LongwireError, OSError)


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


for command in (
    service.serve_command,
    service.deliver_command,
    service.migrate_command,
    settings.config_command,
    settings.vapid_key_command,
    credentials.credentials_group,
    groups.group_group,
    device_types.device_type_group,
    redecode.redecode_command,
    connectors.connectors_command,
    deliveries.deliveries_group,
    audit.audit_command,
    simulate.simulate_command,
):
    commands.add_command(command)
