"""Groups of commands of which some talk to a service, and others work on its database."""

from longwire_cli.lazy import ImportedCommands
from longwire_cli.nouns import GROUP_COMMANDS

group_group = ImportedCommands(
    "group",
    help="Groups of a service; and, on its database, their tokens and downlinks.",
    imported=GROUP_COMMANDS
    | {
        "rotate-token": "longwire.cli.groups:group_rotate_token",
        "allow-downlinks": "longwire.cli.groups:group_allow_downlinks",
        "deny-downlinks": "longwire.cli.groups:group_deny_downlinks",
        "list-downlinks": "longwire.cli.groups:group_list_downlinks",
    },
)
