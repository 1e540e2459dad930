"""The commands of the client, which talk to a service elsewhere."""

import os
import sys

import click

from longwire_cli.errors import CommandError
from longwire_cli.lazy import ImportedCommands
from longwire_cli.terminal import printable_lines

# Where each command is, in the order of the help.
COMMANDS = {
    "login": "longwire_cli.login:login_command",
    "logout": "longwire_cli.login:logout_command",
    "profile": "longwire_cli.nouns:profile_group",
    "group": "longwire_cli.nouns:group_group",
    "device": "longwire_cli.nouns:device_group",
    "device-type": "longwire_cli.nouns:device_type_group",
    "record": "longwire_cli.nouns:record_group",
    "connector": "longwire_cli.nouns:connector_group",
    "contact-point": "longwire_cli.nouns:contact_point_group",
    "job": "longwire_cli.nouns:job_group",
    "import": "longwire_cli.nouns:import_group",
    "tail": "longwire_cli.tail:tail_command",
    "listen": "longwire_cli.listen:listen_command",
    "simulate": "longwire_cli.simulate:simulate_command",
}

# What the help says of each, so that it need not import them; a test compares.
SHORT_HELP = {
    "login": "Sign in to the service at URL, and use it from now on.",
    "logout": "Delete a profile; the session of a person ends.",
    "profile": "The services that you are signed in to.",
    "group": "Groups of a service.",
    "device": "Devices of a service.",
    "device-type": "Device types of a service.",
    "record": "Records of a service.",
    "connector": "Connectors of a service.",
    "contact-point": "Contact points of a service.",
    "job": "Jobs of a service.",
    "import": "Import devices and records from other systems.",
    "tail": "Print the records that arrive in groups, until interrupted.",
    "listen": "Send what a connector sends to a program on this "
    "machine as well, until interrupted.",
    "simulate": "Send records of a simulated fleet to a running service.",
}


def main() -> None:
    """Run the command line; errors that people can fix print a message, no traceback."""
    os.umask(0o077)  # profiles have secrets
    try:
        commands(prog_name="longwire")
    except (CommandError, OSError) as error:
        # It may repeat what a service elsewhere has sent.
        click.echo(printable_lines(f"longwire: {error}"), err=True)
        sys.exit(2)


@click.group(
    cls=ImportedCommands,
    imported=COMMANDS,
    short_help_texts=SHORT_HELP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="longwire-client", message="longwire client %(version)s")
def commands() -> None:
    """A client of longwire: groups, devices, records, connectors and jobs of a service."""
