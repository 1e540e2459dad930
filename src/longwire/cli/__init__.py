"""The command line: `longwire serve`, and the operator's commands.

Every setting is a flag of `serve`; other commands take those that locate the database. Those that
talk to a service elsewhere are the client's (clients/python). Commands that print take `--json`.
One file per noun; `base` has what they share. May use every layer below.
A command is imported when it is run, and `serve` and `app` only by those that run the service:
loading them takes longer than most commands.
"""

import os
import sys

import click

from longwire import __version__
from longwire.errors import LongwireError, OperatorError
from longwire_cli import commands as client
from longwire_cli.errors import CommandError
from longwire_cli.lazy import ImportedCommands
from longwire_cli.terminal import printable_lines

# Where each command is, in the order of the help. Those of the client talk to a service elsewhere.
COMMANDS = {
    "serve": "longwire.cli.service:serve_command",
    "deliver": "longwire.cli.service:deliver_command",
    "migrate": "longwire.cli.migrate:migrate_command",
    "doctor": "longwire.cli.doctor:doctor_command",
    "backup": "longwire.cli.backup:backup_command",
    "restore": "longwire.cli.backup:restore_command",
    "move": "longwire.cli.move:move_command",
    "archive": "longwire.cli.archive:archive_command",
    "rotate-key": "longwire.cli.keys:rotate_key_command",
    "config": "longwire.cli.settings:config_command",
    "vapid-key": "longwire.cli.settings:vapid_key_command",
    "credentials": "longwire.cli.credentials:credentials_group",
    "console": "longwire.cli.console:console_group",
    "map": "longwire.cli.maps:map_group",
    **client.COMMANDS,
    "group": "longwire.cli.nouns:group_group",
    "device-type": "longwire.cli.nouns:device_type_group",
    "redecode": "longwire.cli.redecode:redecode_command",
    "connectors": "longwire.cli.connectors:connectors_command",
    "deliveries": "longwire.cli.deliveries:deliveries_group",
    "audit": "longwire.cli.audit:audit_command",
    "demo": "longwire.cli.demo:demo_command",
}

# What the help says of each, so that it need not import them; a test compares.
SHORT_HELP = {
    "serve": "Serve the API until stopped.",
    "deliver": "Run the delivery engine without the API.",
    "migrate": "Migrate the database to this version's schema, and bootstrap it when empty.",
    "doctor": "Check settings, machine, database and surroundings, and say what to do.",
    "backup": "Back up the database while the service runs.",
    "restore": "Restore a backup into an empty data folder or database.",
    "move": "Move the database to another engine, while no service uses it.",
    "archive": "Move records of old months out of the database, while the service runs.",
    "rotate-key": "Seal every secret in the database with the newest "
    "secret key, while the service runs.",
    "config": "Print every setting with its value, default and description.",
    "vapid-key": "Generate a key pair for Web Push: one for the "
    "settings, one for the applications.",
    "credentials": "Client ids and secrets of users.",
    "console": "Signing in with a browser.",
    "map": "The street map of the console.",
    **client.SHORT_HELP,
    "group": "Groups of a service; and, on its database, their tokens and downlinks.",
    "device-type": "Device types of a service; and, on its database, those for all.",
    "redecode": "Decode stored payloads again with the device type's current decoder.",
    "connectors": "List every connector with its queue, failed messages and last error.",
    "deliveries": "Outgoing messages.",
    "audit": "Print the audit log, newest first.",
    "demo": "Start a service with a small simulated fleet, to look at; only for this machine.",
}


def main() -> None:
    """Run the command line; errors that the operator can fix print a message, no traceback."""
    os.umask(0o077)  # files of the service are private
    try:
        commands(prog_name="longwire")
    except (OperatorError, CommandError, LongwireError, OSError) as error:
        # It may repeat what somebody else has named, or what a service elsewhere has sent.
        click.echo(printable_lines(f"longwire: {error}"), err=True)
        sys.exit(2)


@click.group(
    cls=ImportedCommands,
    imported=COMMANDS,
    short_help_texts=SHORT_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, message="longwire %(version)s")
def commands() -> None:
    """A service for connected devices: groups, records, connectors and notifications."""
