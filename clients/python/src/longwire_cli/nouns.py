"""The groups of commands named after a noun: where each of their commands is."""

from longwire_cli.lazy import ImportedCommands

GROUP_COMMANDS = {
    "list": "longwire_cli.groups:group_list",
    "get": "longwire_cli.groups:group_get",
    "create": "longwire_cli.groups:group_create",
    "update": "longwire_cli.groups:group_update",
    "delete": "longwire_cli.groups:group_delete",
    "limits": "longwire_cli.groups:group_limits",
    "set-limits": "longwire_cli.groups:group_set_limits",
    "set-retention": "longwire_cli.groups:group_set_retention",
}
group_group = ImportedCommands("group", help="Groups of a service.", imported=GROUP_COMMANDS)

profile_group = ImportedCommands(
    "profile",
    help="The services that you are signed in to.",
    imported={
        "list": "longwire_cli.login:profile_list",
        "use": "longwire_cli.login:profile_use",
    },
)

device_group = ImportedCommands(
    "device",
    help="Devices of a service.",
    imported={
        "list": "longwire_cli.devices:device_list",
        "get": "longwire_cli.devices:device_get",
        "values": "longwire_cli.devices:device_values",
        "create": "longwire_cli.devices:device_create",
        "update": "longwire_cli.devices:device_update",
        "transfer": "longwire_cli.devices:device_transfer",
        "delete": "longwire_cli.devices:device_delete",
        "import": "longwire_cli.devices:device_import",
    },
)

DEVICE_TYPE_COMMANDS = {
    "list": "longwire_cli.device_types:type_list",
    "get": "longwire_cli.device_types:type_get",
    "create": "longwire_cli.device_types:type_create",
    "update": "longwire_cli.device_types:type_update",
    "delete": "longwire_cli.device_types:type_delete",
    "import": "longwire_cli.device_types:type_import",
}
device_type_group = ImportedCommands(
    "device-type", help="Device types of a service.", imported=DEVICE_TYPE_COMMANDS
)

record_group = ImportedCommands(
    "record",
    help="Records of a service.",
    imported={
        "list": "longwire_cli.records:record_list",
        "create": "longwire_cli.records:record_create",
        "import": "longwire_cli.records:record_import",
        "trace": "longwire_cli.trace:record_trace",
    },
)

connector_group = ImportedCommands(
    "connector",
    help="Connectors of a service.",
    imported={
        "list": "longwire_cli.connectors:connector_list",
        "get": "longwire_cli.connectors:connector_get",
        "create": "longwire_cli.connectors:connector_create",
        "update": "longwire_cli.connectors:connector_update",
        "delete": "longwire_cli.connectors:connector_delete",
        "messages": "longwire_cli.connectors:connector_messages",
        "resend": "longwire_cli.connectors:connector_resend",
    },
)

contact_point_group = ImportedCommands(
    "contact-point",
    help="Contact points of a service.",
    imported={
        "list": "longwire_cli.contact_points:contact_point_list",
        "get": "longwire_cli.contact_points:contact_point_get",
        "create": "longwire_cli.contact_points:contact_point_create",
        "update": "longwire_cli.contact_points:contact_point_update",
        "delete": "longwire_cli.contact_points:contact_point_delete",
        "test": "longwire_cli.contact_points:contact_point_test",
    },
)

job_group = ImportedCommands(
    "job",
    help="Jobs of a service.",
    imported={
        "list": "longwire_cli.jobs:job_list",
        "get": "longwire_cli.jobs:job_get",
        "create": "longwire_cli.jobs:job_create",
        "cancel": "longwire_cli.jobs:job_cancel",
        "undo": "longwire_cli.jobs:job_undo",
        "result": "longwire_cli.jobs:job_result",
    },
)

import_group = ImportedCommands(
    "import",
    help="Import devices and records from other systems.",
    imported={"thingsboard": "longwire_cli.thingsboard:import_thingsboard"},
)
