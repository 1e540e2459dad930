"""Groups of commands of which some talk to a service, and others work on its database."""

from longwire_cli.lazy import ImportedCommands
from longwire_cli.nouns import DEVICE_TYPE_COMMANDS, GROUP_COMMANDS

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

device_type_group = ImportedCommands(
    "device-type",
    help="Device types of a service; and, on its database, those for all.",
    imported=DEVICE_TYPE_COMMANDS
    | {
        "add": "longwire.cli.device_types:device_type_add",
        "list": "longwire.cli.device_types:device_type_list",
        "remove": "longwire.cli.device_types:device_type_remove",
        "import": "longwire.cli.device_types:device_type_import",
        "set-decoder": "longwire.cli.device_types:device_type_set_decoder",
        "remove-decoder": "longwire.cli.device_types:device_type_remove_decoder",
        "set-encoder": "longwire.cli.device_types:device_type_set_encoder",
        "remove-encoder": "longwire.cli.device_types:device_type_remove_encoder",
    },
)
