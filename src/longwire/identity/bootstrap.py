"""The initial content of a database: permissions, roles, and the first operator."""

from dataclasses import replace

from longwire.ids import new_id
from longwire.model import SYSTEM, Permission, Role, User
from longwire.store import instance
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit
from longwire.store.identity import permissions as store_permissions
from longwire.store.identity import roles as store_roles
from longwire.store.identity import users as store_users

ADMINISTRATOR = "administrator"
MANAGER = "manager"
MEMBER = "member"
VIEWER = "viewer"

OPERATOR_EMAIL = "operator@localhost"

_IN_GROUPS = {
    "group.read": ("See groups", "See a group and its settings"),
    "group.create": ("Create groups", "Create groups below a group, and move groups into it"),
    "group.update": ("Change groups", "Change a group, move it, and see its network token"),
    "member.read": ("See members", "See who belongs to a group, and with which role"),
    "member.write": ("Change members", "Invite people, change their role, remove them"),
    "role.read": ("See roles", "See the roles in use in a group"),
    "role.write": ("Change roles", "Create, change and delete roles"),
    "appClient.write": ("Change app clients", "Create, rename and delete a group's app clients"),
    "device.read": ("See devices", "See devices with their information and configuration"),
    "device.create": ("Create devices", "Create devices in a group, or receive transferred ones"),
    "device.update": ("Change devices", "Change a device's name, tags, type and configuration"),
    "device.delete": ("Delete devices", "Delete devices with all their records"),
    "device.transfer": ("Transfer devices", "Transfer devices to another group"),
    "device.downlink": ("Send to devices", "Send downlinks to devices, and cancel them"),
    "record.read": ("Read records", "Read data, events, geolocations and telemetry"),
    "record.create": ("Store records", "Store data, events, geolocations and telemetry"),
    "record.delete": ("Delete records", "Delete data, events, geolocations and telemetry"),
    "connector.read": ("See connectors", "See connectors and the status of their messages"),
    "connector.write": ("Change connectors", "Create, change and delete connectors"),
    "connector.resend": (
        "Resend messages",
        "Send stored or past messages through a connector again",
    ),
    "notification.read": ("See notifications", "See a group's notifications"),
    "notification.write": ("Change notifications", "Create, change and delete notifications"),
    "metrics.read": ("Read metrics", "Read a group's counters"),
    "audit.read": ("Read the audit log", "Read who changed what in a group"),
}
_PLATFORM_WIDE = {
    "user.create": ("Create users", "Create people who belong to no group yet"),
    "deviceType.write": ("Change device types", "Change what device types want of their devices"),
    "group.limit": ("Limit groups", "Set what a group may store and send, and for how long"),
    "permission.write": ("Change permissions", "Add, change and delete permissions"),
}

PERMISSIONS = tuple(
    Permission(id_, name, description, is_built_in=True, is_platform_wide=id_ in _PLATFORM_WIDE)
    for id_, (name, description) in {**_IN_GROUPS, **_PLATFORM_WIDE}.items()
)


def _select_by_prefix(*prefixes: str) -> set[str]:
    return {id_ for id_ in _IN_GROUPS if id_.startswith(prefixes)}


_READS = {id_ for id_ in _IN_GROUPS if id_.endswith(".read")} - {"audit.read"}

ROLES = tuple(
    Role(id_, name, description, tuple(sorted(permissions)), is_removable=False)
    for id_, name, description, permissions in (
        (ADMINISTRATOR, "Administrator", "Everything in the group and below", set(_IN_GROUPS)),
        (
            MANAGER,
            "Manager",
            "Everything about devices, records, connectors, notifications and metrics",
            _select_by_prefix("device.", "record.", "connector.", "notification.", "metrics.")
            | {"group.read", "member.read", "role.read"},
        ),
        (
            MEMBER,
            "Member",
            "Reads everything but the audit log, stores records",
            _READS | {"record.create"},
        ),
        (VIEWER, "Viewer", "Reads everything but the audit log", _READS),
    )
)


def is_bootstrapped(tx: Tx) -> bool:
    return instance.get_fact(tx, "bootstrapped_at") is not None


def bootstrap(tx: Tx) -> User:
    """Fill an empty database; returns the first operator."""
    add_missing_catalogue_entries(tx)
    operator = User(
        id=new_id("usr"),
        email=OPERATOR_EMAIL,
        name="Operator",
        created_at=tx.now,
        updated_at=tx.now,
        is_operator=True,
    )
    store_users.USERS.insert(tx, operator)
    instance.insert_fact(tx, "bootstrapped_at", str(tx.now))
    instance.insert_fact(tx, "key_fingerprint", tx.keyring.fingerprint)
    audit.log(tx, SYSTEM, "service.bootstrap", operator.id)
    return operator


def add_missing_catalogue_entries(tx: Tx) -> None:
    """Add the built-in permissions and roles that a newer version brings."""
    known = store_permissions.list_ids(tx)
    added = [permission for permission in PERMISSIONS if permission.id not in known]
    for permission in added:
        store_permissions.PERMISSIONS.insert(tx, permission)
    for role in ROLES:
        if store_roles.get(tx, role.id) is None:
            store_roles.insert(tx, replace(role, updated_at=tx.now))
        else:
            added_ids = {permission.id for permission in added}
            store_roles.insert_permissions(tx, role.id, sorted(added_ids & set(role.permissions)))
    if added:
        cache_epochs.bump_auth_epoch(tx)
