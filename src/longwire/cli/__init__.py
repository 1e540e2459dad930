"""The command line: `longwire serve`, and the operator's commands.

Every setting is a flag of `serve`; other commands take those that locate the database, or, in
`remote`, the profile of a service to talk to. Commands that print take `--json`. One file per noun;
`base` has what they share. May use every layer below.
A command is imported when it is run, and `serve` and `app` only by those that run the service:
loading them takes longer than most commands.
"""

import os
import sys

import click

from longwire import __version__
from longwire.cli.lazy import ImportedCommands
from longwire.cli.terminal import printable_lines
from longwire.errors import LongwireError, OperatorError

# Where each command is, in the order of the help.
COMMANDS = {
    "serve": "service:serve_command",
    "deliver": "service:deliver_command",
    "migrate": "service:migrate_command",
    "doctor": "doctor:doctor_command",
    "backup": "backup:backup_command",
    "restore": "backup:restore_command",
    "archive": "archive:archive_command",
    "rotate-key": "keys:rotate_key_command",
    "config": "settings:config_command",
    "vapid-key": "settings:vapid_key_command",
    "credentials": "credentials:credentials_group",
    "console": "console:console_group",
    "login": "remote.login:login_command",
    "logout": "remote.login:logout_command",
    "profile": "nouns:profile_group",
    "group": "nouns:group_group",
    "device": "nouns:device_group",
    "record": "nouns:record_group",
    "connector": "nouns:connector_group",
    "job": "nouns:job_group",
    "import": "nouns:import_group",
    "tail": "remote.tail:tail_command",
    "listen": "remote.listen:listen_command",
    "device-type": "device_types:device_type_group",
    "redecode": "redecode:redecode_command",
    "connectors": "connectors:connectors_command",
    "deliveries": "deliveries:deliveries_group",
    "audit": "audit:audit_command",
    "simulate": "simulate:simulate_command",
    "demo": "demo:demo_command",
}

# What the help says of each, so that it need not import them; a test compares.
SHORT_HELP = {
    "serve": "Serve the API until stopped.",
    "deliver": "Run the delivery engine without the API.",
    "migrate": "Migrate the database to this version's schema, and bootstrap it when empty.",
    "doctor": "Check settings, machine, database and surroundings, and say what to do.",
    "backup": "Back up the database while the service runs.",
    "restore": "Restore a backup into an empty data folder or database.",
    "archive": "Move records of old months out of the database, while the service runs.",
    "rotate-key": "Seal every secret in the database with the newest secret "
    "key, while the service runs.",
    "config": "Print every setting with its value, default and description.",
    "vapid-key": "Generate a key pair for Web Push: one for the settings, one "
    "for the applications.",
    "credentials": "Client ids and secrets of users.",
    "console": "Signing in with a browser.",
    "login": "Sign in to the service at URL, and use it from now on.",
    "logout": "Delete a profile; the session of a person ends.",
    "profile": "The services that you are signed in to.",
    "group": "Groups of a service; and, on its database, their tokens and downlinks.",
    "device": "Devices of a service.",
    "record": "Records of a service.",
    "connector": "Connectors of a service.",
    "job": "Jobs of a service.",
    "import": "Import devices and records from other systems.",
    "tail": "Print the records that arrive in groups, until interrupted.",
    "listen": "Send what a connector sends to a program on this machine as "
    "well, until interrupted.",
    "device-type": "The catalogue of device types.",
    "redecode": "Decode stored payloads again with the device type's current decoder.",
    "connectors": "List every connector with its queue, failed messages and last error.",
    "deliveries": "Outgoing messages.",
    "audit": "Print the audit log, newest first.",
    "simulate": "Send records of a simulated fleet to a running service.",
    "demo": "Start a service with a small simulated fleet, to look at; only for this machine.",
}


def main() -> None:
    """Run the command line; errors that the operator can fix print a message, no traceback."""
    os.umask(0o077)  # files of the service are private
    try:
        commands(prog_name="longwire")
    except (OperatorError, LongwireError, OSError) as error:
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
