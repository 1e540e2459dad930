"""The command line: `longwire serve`, and the operator's commands.

Every setting is a flag of `serve`; other commands take those that locate the database. Commands
that print take `--json`. One file per noun; `base` has what they share. May use every layer below.
A command is imported when it is run, and `serve` and `app` only by those that run the service:
loading them takes longer than most commands.
"""

import importlib
import os
import sys

import click

from longwire import __version__
from longwire.errors import LongwireError, OperatorError

# Where each command is, in the order of the help.
COMMANDS = {
    "serve": "service:serve_command",
    "deliver": "service:deliver_command",
    "migrate": "service:migrate_command",
    "doctor": "doctor:doctor_command",
    "config": "settings:config_command",
    "vapid-key": "settings:vapid_key_command",
    "credentials": "credentials:credentials_group",
    "console": "console:console_group",
    "group": "groups:group_group",
    "device-type": "device_types:device_type_group",
    "redecode": "redecode:redecode_command",
    "connectors": "connectors:connectors_command",
    "deliveries": "deliveries:deliveries_group",
    "audit": "audit:audit_command",
    "simulate": "simulate:simulate_command",
    "demo": "demo:demo_command",
}


def main() -> None:
    """Run the command line; errors that the operator can fix print a message, no traceback."""
    os.umask(0o077)  # files of the service are private
    try:
        commands(prog_name="longwire")
    except (OperatorError, LongwireError, OSError) as error:
        click.echo(f"longwire: {error}", err=True)
        sys.exit(2)


class ImportedCommands(click.Group):
    """Commands that are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"longwire.cli.{module}"), name)
        return command


@click.group(cls=ImportedCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="longwire %(version)s")
def commands() -> None:
    """A service for connected devices: groups, records, connectors and notifications."""
