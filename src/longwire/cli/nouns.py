"""The groups of commands named after a noun: where each of their commands is.

Those of `remote` talk to a service over HTTP, the others work on its database.
"""

from longwire.cli.lazy import ImportedCommands

group_group = ImportedCommands(
    "group",
    help="Groups of a service; and, on its database, their tokens and downlinks.",
    imported={
        "list": "remote.groups:group_list",
        "get": "remote.groups:group_get",
        "create": "remote.groups:group_create",
        "update": "remote.groups:group_update",
        "delete": "remote.groups:group_delete",
        "rotate-token": "groups:group_rotate_token",
        "allow-downlinks": "groups:group_allow_downlinks",
        "deny-downlinks": "groups:group_deny_downlinks",
        "list-downlinks": "groups:group_list_downlinks",
    },
)

profile_group = ImportedCommands(
    "profile",
    help="The services that you are signed in to.",
    imported={
        "list": "remote.login:profile_list",
        "use": "remote.login:profile_use",
    },
)

device_group = ImportedCommands(
    "device",
    help="Devices of a service.",
    imported={
        "list": "remote.devices:device_list",
        "get": "remote.devices:device_get",
        "create": "remote.devices:device_create",
        "update": "remote.devices:device_update",
        "transfer": "remote.devices:device_transfer",
        "delete": "remote.devices:device_delete",
        "import": "remote.devices:device_import",
    },
)

record_group = ImportedCommands(
    "record",
    help="Records of a service.",
    imported={
        "list": "remote.records:record_list",
        "create": "remote.records:record_create",
        "import": "remote.records:record_import",
        "trace": "remote.trace:record_trace",
    },
)

connector_group = ImportedCommands(
    "connector",
    help="Connectors of a service.",
    imported={
        "list": "remote.connectors:connector_list",
        "get": "remote.connectors:connector_get",
        "create": "remote.connectors:connector_create",
        "update": "remote.connectors:connector_update",
        "delete": "remote.connectors:connector_delete",
        "messages": "remote.connectors:connector_messages",
        "resend": "remote.connectors:connector_resend",
    },
)

job_group = ImportedCommands(
    "job",
    help="Jobs of a service.",
    imported={
        "list": "remote.jobs:job_list",
        "get": "remote.jobs:job_get",
        "create": "remote.jobs:job_create",
        "cancel": "remote.jobs:job_cancel",
        "undo": "remote.jobs:job_undo",
        "result": "remote.jobs:job_result",
    },
)

import_group = ImportedCommands(
    "import",
    help="Import devices and records from other systems.",
    imported={"thingsboard": "remote.thingsboard:import_thingsboard"},
)
