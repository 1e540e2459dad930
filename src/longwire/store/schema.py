"""The tables, one text for both engines. Migrations must arrive at exactly this; a test compares.

Moments are microseconds since 1970 in a BIGINT. Group ids are digits on the outside and a BIGINT
here, because every arrival carries one. Booleans, texts and bytes are what they are.

What only PostgreSQL knows is in `info`, and the migrations say it to the server: as an argument of
a table it would load the code for PostgreSQL, which takes memory, on SQLite as well.
"""

import enum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect

from longwire.records import KIND_NAMES

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = sa.MetaData(naming_convention=NAMING)

NO_GROUP = -1  # what a text that is no group id becomes: a number that no group has


class GroupNumber(sa.types.TypeDecorator[str]):
    """A group id: digits in Python, eight bytes in the database."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> int | None:
        return None if value is None else group_number(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        return None if value is None else str(value)


def group_number(group_id: str) -> int:
    """The number behind a group id. `007`, `٣` and 2^53 are not ids, so they find nothing."""
    if group_id.isascii() and group_id.isdigit() and len(group_id) <= 16 and group_id[0] != "0":
        number = int(group_id)
        return number if number < 2**53 else NO_GROUP
    return NO_GROUP


# A text to search and sort by: in the order of its bytes, so that both engines agree.
KeyText = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

# `seen_at` of a device that was never seen, and `battery_level` of one whose charge is unknown:
# values, so that they have a place in an index.
NEVER_SEEN = -(2**62)
SEEN_HOUR_BITS = 32
BATTERY_UNKNOWN = 100_000

# On PostgreSQL every row that a record touches has the `slot` of its device as well, as the last
# part of its key: see `slots`. A table says what it is found by: a column with the number or the id
# of a device, or the transaction that stores the row. The tables themselves are without it, because
# SQLite has one slot; the baseline adds it.
SLOT_BY = "slot_by"
TRANSACTION = "transaction"


def _partial(name: str, *columns: str, where: str) -> sa.Index:
    condition = sa.text(where)
    return sa.Index(name, *columns, sqlite_where=condition, info={"postgresql_where": condition})


def _moment(name: str, *, required: bool = True) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=not required)


instance = sa.Table(
    "instance",
    metadata,
    # Facts about this database as a whole, such as which secret key it was made with.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

cache_epoch = sa.Table(
    "cache_epoch",
    metadata,
    # One row each for auth, config and records. A change adds one to its row; every process polls
    # them and invalidates its caches. The row's lock serialises changes of one sort.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("epoch", sa.BigInteger, nullable=False),
)

config_change = sa.Table(
    "config_change",
    metadata,
    # The epoch of the last change of each group's configuration; 0 is the platform's own. No
    # reference to the group, because of that 0.
    sa.Column("group_id", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("epoch", sa.BigInteger, nullable=False),
)
# Which groups have changed since an epoch.
sa.Index(None, config_change.c.epoch)

user = sa.Table(
    "user_account",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("email", sa.Text, nullable=False),
    sa.Column("email_key", sa.Text, nullable=False, unique=True),
    sa.Column("name", sa.Text),
    sa.Column("first_name", sa.Text),
    sa.Column("last_name", sa.Text),
    sa.Column("gender", sa.Text),
    sa.Column("is_operator", sa.Boolean, nullable=False),
    _moment("seen_at", required=False),
    _moment("created_at"),
    _moment("updated_at"),
)

credential = sa.Table(
    "credential",
    metadata,
    sa.Column("client_id", sa.Text, primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    sa.Column("secret_digest", sa.LargeBinary, nullable=False),
    _moment("expires_at", required=False),
    _moment("created_at"),
)

access_token = sa.Table(
    "access_token",
    metadata,
    # The token itself is never stored, only its keyed digest.
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    # Answers: which tokens die with this client?
    sa.Column("client_id", sa.Text, nullable=False, index=True),
    sa.Column("is_app_client", sa.Boolean, nullable=False),
    _moment("created_at"),
    # Answers: which tokens are over and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

session = sa.Table(
    "session",
    metadata,
    # The secret in the cookie is never stored, only its keyed digest.
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("id", sa.Text, nullable=False),
    # Answers: which sessions does this person have?
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    sa.Column("method", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("user_agent", sa.Text, nullable=False),
    sa.Column("client_id", sa.Text),
    sa.Column("issued_by", sa.Text),
    _moment("created_at"),
    _moment("seen_at"),
    # Answers: which sessions have expired and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
    _moment("ends_at"),
)

sign_in_code = sa.Table(
    "sign_in_code",
    metadata,
    # Of a link by which somebody signs in once; only the keyed digest is stored.
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    # Answers: which links does this person have?
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("issued_by", sa.Text),
    _moment("created_at"),
    # Answers: which links have expired and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

user_password = sa.Table(
    "user_password",
    metadata,
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), primary_key=True),
    # An Argon2id hash with its parameters, encrypted: a copy of the database allows no guessing.
    sa.Column("sealed_hash", sa.Text, nullable=False),
    _moment("changed_at"),
)

user_totp = sa.Table(
    "user_totp",
    metadata,
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), primary_key=True),
    sa.Column("sealed_secret", sa.Text, nullable=False),
    # The time step of the last code that was used: none is used twice.
    sa.Column("last_step", sa.BigInteger, nullable=False),
    # Not needed to sign in before that.
    _moment("confirmed_at", required=False),
)

recovery_code = sa.Table(
    "recovery_code",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    # Answers: which codes does this person have left?
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
)

push_token = sa.Table(
    "push_token",
    metadata,
    sa.Column("digest", sa.LargeBinary, primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False),
    sa.Column("sealed_token", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("device_name", sa.Text),
    sa.Column("is_enabled", sa.Boolean, nullable=False),
    _moment("created_at"),
    # Answers: which token did this person register last?
    sa.Index("ix_push_token_user_id_created_at", "user_id", "created_at"),
)

external_identity = sa.Table(
    "external_identity",
    metadata,
    # Who a subject of an identity provider is. Bound at the first sign-in, never by mail again.
    sa.Column("issuer", sa.Text, primary_key=True),
    sa.Column("subject", sa.Text, primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False),
    _moment("created_at"),
    # Answers: is this person another subject of the same provider already?
    sa.UniqueConstraint("user_id", "issuer"),
)

passkey = sa.Table(
    "passkey",
    metadata,
    # What the authenticator calls it.
    sa.Column("credential_id", sa.LargeBinary, primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    # A public key in COSE, and the domain that it is valid for.
    sa.Column("public_key", sa.LargeBinary, nullable=False),
    sa.Column("relying_party_id", sa.Text, nullable=False),
    sa.Column("sign_count", sa.BigInteger, nullable=False),
    sa.Column("is_synced", sa.Boolean, nullable=False),
    _moment("created_at"),
    _moment("seen_at", required=False),
    # Answers: which passkeys does this person have?
    sa.Index("ix_passkey_user_id_created_at", "user_id", "created_at"),
)

used_challenge = sa.Table(
    "used_challenge",
    metadata,
    # Challenges are sealed and given to whoever asks; only those that were redeemed have a row,
    # until they expire, so that nobody redeems one twice.
    sa.Column("id", sa.Text, primary_key=True),
    # Answers: which ones have expired and can be pruned?
    sa.Column("expires_at", sa.BigInteger, nullable=False, index=True),
)

permission = sa.Table(
    "permission",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("is_built_in", sa.Boolean, nullable=False),
    sa.Column("is_platform_wide", sa.Boolean, nullable=False),
)

role = sa.Table(
    "role",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("is_removable", sa.Boolean, nullable=False),
    # Answers: which roles did this person make?
    sa.Column("created_by", sa.Text, index=True),
    _moment("created_at"),
    _moment("updated_at"),
)

role_permission = sa.Table(
    "role_permission",
    metadata,
    sa.Column("role_id", sa.Text, sa.ForeignKey(role.c.id), primary_key=True),
    sa.Column("permission_id", sa.Text, sa.ForeignKey(permission.c.id), primary_key=True),
    # Answers: which roles hold this permission?
    sa.Index("ix_role_permission_permission_id", "permission_id"),
)

group = sa.Table(
    "device_group",
    metadata,
    sa.Column("id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("parent_id", GroupNumber, sa.ForeignKey("device_group.id")),
    # Answers: does this person own a group?
    sa.Column("owner_id", sa.Text, sa.ForeignKey(user.c.id), nullable=False, index=True),
    # Whose quota it counts for: its first owner. Handing it over does not change that, so nobody
    # can use up the quota of another.
    sa.Column("quota_user_id", sa.Text, nullable=False, index=True),
    sa.Column("name", sa.Text),
    sa.Column("name_key", KeyText, nullable=False),  # as it is sorted and searched
    sa.Column("description", sa.Text),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("token_digest", sa.LargeBinary, nullable=False, unique=True),
    sa.Column("sealed_token", sa.Text, nullable=False),
    sa.Column("administrator_role_id", sa.Text, sa.ForeignKey(role.c.id), nullable=False),
    # Answers: which groups fall back to this role?
    sa.Column("default_role_id", sa.Text, sa.ForeignKey(role.c.id), nullable=False, index=True),
    # Kept in step by whoever adds or removes one: counting a large fleet on every read is not
    # something a list of a thousand groups can afford.
    sa.Column("device_count", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("connector_count", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("notification_count", sa.BigInteger, nullable=False, server_default="0"),
    # When it will be deleted with everything in it; and when it was: unreachable, its rows go in
    # small steps.
    _moment("deletion_at", required=False),
    _moment("deleted_at", required=False),
    # Answers: the groups below another one, or the roots, by name.
    sa.Index("ix_device_group_parent_id_name_key_id", "parent_id", "name_key", "id"),
    # Answers: whose grace period has ended? which groups are to be purged?
    _partial("ix_device_group_deletion_at", "deletion_at", where="deletion_at is not null"),
    _partial("ix_device_group_deleted_at", "deleted_at", where="deleted_at is not null"),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_by", sa.Text, nullable=False),
)

group_path = sa.Table(
    "group_path",
    metadata,
    # Every group with each group above it and itself (depth 0). A subtree is one index range.
    sa.Column("ancestor_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("depth", sa.Integer, nullable=False),
    # Answers: what lies on the way up from this group?
    sa.Index("ix_group_path_group_id_depth", "group_id", "depth"),
)

member = sa.Table(
    "member",
    metadata,
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("user_id", sa.Text, sa.ForeignKey(user.c.id), primary_key=True),
    # Answers: who still holds this role?
    sa.Column("role_id", sa.Text, sa.ForeignKey(role.c.id), nullable=False, index=True),
    _moment("created_at"),
    _moment("updated_at"),
    # Null until the member accepts the invitation, and the address that was typed in it.
    _moment("accepted_at", required=False),
    sa.Column("invited_as", sa.Text),
    # The value of the identity provider's claim that gave this membership; null for all others.
    sa.Column("claim_value", sa.Text),
    # Answers: where does this person belong? which invitations have they not accepted?
    sa.Index("ix_member_user_id", "user_id"),
    _partial("ix_member_invited", "user_id", where="accepted_at is null"),
    # Answers: the members of a group in the order they joined.
    sa.Index("ix_member_group_id_created_at", "group_id", "created_at", "user_id"),
)

app_client = sa.Table(
    "app_client",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("description", sa.Text),
    sa.Column("secret_digest", sa.LargeBinary, nullable=False),
    sa.Column("sealed_secret", sa.Text, nullable=False),
    _moment("expires_at", required=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.UniqueConstraint("group_id", "name"),
)

mail_quota = sa.Table(
    "mail_quota",
    metadata,
    # How many mails were sent in an hour for a group, or for the groups of a user.
    sa.Column("holder", sa.Text, primary_key=True),
    sa.Column("hour", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("mails", sa.BigInteger, nullable=False),
    # Answers: which counts are of the past?
    sa.Index("ix_mail_quota_hour", "hour"),
)

device_type = sa.Table(
    "device_type",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("display_name", sa.Text, nullable=False),
    sa.Column("default_configuration", sa.Text, nullable=False),
    sa.Column("battery", sa.Text),
    sa.Column("firmware_version", sa.Text),
    sa.Column("is_built_in", sa.Boolean, nullable=False),
    # The kind of decoder of its payloads, and its source where it has one.
    sa.Column("decoder", sa.Text),
    sa.Column("decoder_source", sa.Text),
    sa.Column("encoder_source", sa.Text),
    sa.Column("decoded_location", sa.Text),
    _moment("created_at"),
    _moment("updated_at"),
)

audit = sa.Table(
    "audit",
    metadata,
    # Who did what to which object, when, from where, in which request. Only ever added to.
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    _moment("at"),
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("object_id", sa.Text, nullable=False),
    sa.Column("group_id", GroupNumber),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    # The name of the object at that time, and JSON of its fields before and after the change.
    sa.Column("object_name", sa.Text),
    sa.Column("changes", sa.Text),
    # Answers: what happened in this group, or to this object, newest first?
    sa.Index("ix_audit_group_id_at_id", "group_id", "at", "id"),
    sa.Index("ix_audit_object_id_at_id", "object_id", "at", "id"),
)

# --- the fleet ---

device = sa.Table(
    "device",
    metadata,
    # The number is what records carry: eight bytes instead of a text, never used again.
    sa.Column(
        "number",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), nullable=False),
    sa.Column("stay", sa.Integer, nullable=False),
    sa.Column("slot", sa.SmallInteger, nullable=False, server_default="0"),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("type", sa.Text, sa.ForeignKey(device_type.c.name), nullable=False),
    sa.Column("network", sa.Text, nullable=False),
    sa.Column("original_id", sa.Text, nullable=False),
    # The original id as it is compared: two spellings of one id are one device.
    sa.Column("original_key", KeyText, nullable=False),
    # The name as it is sorted, and all that a search looks into. Before the two texts that may be
    # large: a scan does not read those.
    sa.Column("name_key", KeyText, nullable=False),
    sa.Column("search_key", KeyText, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("information", sa.Text, nullable=False),
    sa.Column("configuration", sa.Text, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_by", sa.Text, nullable=False),
    # The digest of the configuration that it reported last, so that a record that reports the same
    # again costs nothing; and since when that is not what it should be.
    sa.Column("reported_digest", sa.BigInteger),
    _moment("drifted_at", required=False),
    sa.UniqueConstraint("network", "original_key"),
    # Answers: the devices of a group, in the order they came.
    sa.Index("ix_device_group_id_number", "group_id", "number"),
    # Answers: which devices of a group fit a filter? It has all that a filter looks at, so that
    # SQLite need not read the rows, which are wider. PostgreSQL has no keys of that size, so there
    # it is empty.
    sa.Index(
        "ix_device_filter",
        *("group_id", "number", "type", "network", "original_key", "name_key", "tags"),
        "search_key",
        info={"postgresql_where": sa.text("number is null")},
    ),
    # Answers: is this type still in use? how many devices of a group have it?
    sa.Index("ix_device_type_group_id", "type", "group_id"),
    # Answers: those of a group by name; those whose name or original id begins with a text.
    sa.Index("ix_device_group_id_name_key_number", "group_id", "name_key", "number"),
    sa.Index("ix_device_group_id_original_key", "group_id", "original_key"),
    # Answers: which devices of a group drift?
    _partial(
        *("ix_device_drift", "group_id", "number", "drifted_at"), where="drifted_at is not null"
    ),
    sqlite_autoincrement=True,
    info={SLOT_BY: "number"},
)

device_report = sa.Table(
    "device_report",
    metadata,
    # The configuration that a device reported last. The version grows with every change of it or
    # of what it is compared with; it is to be compared again until the checked version is the same.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("configuration", sa.Text, nullable=False),
    sa.Column("digest", sa.BigInteger, nullable=False),
    _moment("reported_at"),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("checked_version", sa.BigInteger, nullable=False),
    # Answers: which are to be compared?
    _partial("ix_device_report_pending", "device_number", where="version > checked_version"),
)

configuration_check = sa.Table(
    "configuration_check",
    metadata,
    # A changed policy of a group or of a type, until all devices it concerns are to be compared
    # again; and how far that is.
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("group_id", GroupNumber),
    sa.Column("type", sa.Text),
    sa.Column("at_group", sa.BigInteger, nullable=False),
    sa.Column("at_device", sa.BigInteger, nullable=False),
)

configuration_policy = sa.Table(
    "configuration_policy",
    metadata,
    # What a device type, or a group, wants of the configuration of its devices: a merge patch.
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), unique=True),
    sa.Column("type", sa.Text, sa.ForeignKey(device_type.c.name), unique=True),
    sa.Column("policy", sa.Text, nullable=False),
    _moment("updated_at"),
    sa.Column("updated_by", sa.Text, nullable=False),
)

device_state = sa.Table(
    "device_state",
    metadata,
    # What changes with every message, apart from the wide row that hardly ever does. Each device
    # has one, with the group it is in. Some columns are never null although they could be: checking
    # that would cost SQLite more than all else that it does for a record here. First comes what is
    # looked at in every row of a group: both engines read a row up to the last column they need.
    sa.Column(
        "device_number",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column("seen_at", sa.BigInteger, server_default=str(NEVER_SEEN)),
    sa.Column("group_id", GroupNumber),
    # Of the newest geolocation since the device is in its group.
    _moment("position_at", required=False),
    # Since when it is silent, as in `device_watch`: here it is counted and searched by group.
    _moment("silent_at", required=False),
    # Hundredths of a percent.
    sa.Column("battery_level", sa.BigInteger, server_default=str(BATTERY_UNKNOWN)),
    sa.Column("lat", sa.Double),
    sa.Column("lng", sa.Double),
    sa.Column("radius", sa.BigInteger),
    sa.Column("battery", sa.Text),
    _moment("battery_at", required=False),
    sa.Column("sequence", sa.BigInteger),  # of the newest message of its network
    _moment("sequence_at", required=False),
    # Of its numbers, those that are missing: a JSON list of the first of each gap, and how many.
    sa.Column("missing", sa.Text),
    # Answers: the states of a group's devices; whose battery is low?
    # Which were seen last has an index on PostgreSQL only, of the column `seen_hour` that the
    # server computes: see the baseline. On SQLite all rows of a group are read, which takes a tenth
    # of a second for a million; keeping the index would cost every record.
    sa.Index("ix_device_state_group_id_device_number", "group_id", "device_number"),
    sa.Index("ix_device_state_battery", "group_id", "battery_level", "device_number"),
    info={SLOT_BY: "device_number", "postgresql_with": {"fillfactor": 70}},
)

device_stay = sa.Table(
    "device_stay",
    metadata,
    # Every group a device is or was in. A transfer, or deleting all records, begins a new stay.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
    # Answers: whose records are in a group that is deleted?
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), nullable=False, index=True),
    sqlite_with_rowid=False,
    info={SLOT_BY: "device_number"},
)

erasure = sa.Table(
    "erasure",
    metadata,
    # Stays whose records nobody can see any more, to be removed from the disk in small steps.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
    # Answers: is a deleted group empty?
    sa.Column("group_id", GroupNumber, nullable=False, index=True),
    sqlite_with_rowid=False,
)

registration = sa.Table(
    "registration",
    metadata,
    # What the vendor's network needs to know of a device, until it does.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("sealed_pac", sa.Text, nullable=False),
    sa.Column("request", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    # The response of the network.
    sa.Column("answer", sa.Text),
    sa.Column("seq", sa.BigInteger),  # of its delivery, once it is on its way
    _moment("updated_at"),
    # Answers: which devices does the network not know yet?
    sa.Index("ix_registration_state", "state"),
)

device_watch = sa.Table(
    "device_watch",
    metadata,
    # What is expected of a device: to hear of it in time.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    _moment("silent_at", required=False),  # since when it is silent; null while it is not
    # Answers: whose check is due? The time of the next check, not of being late.
    _moment("due_at", required=False),
    sa.Index("ix_device_watch_due_at", "due_at"),
    # Answers: who is silent?
    _partial("ix_device_watch_silent", "device_number", where="silent_at is not null"),
)

downlink = sa.Table(
    "downlink",
    metadata,
    # A message to a device, from when it was asked for until it is known what became of it.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("device_number", sa.BigInteger, nullable=False),
    # Answers: which are of a group that is deleted?
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), nullable=False, index=True),
    sa.Column("payload", sa.Text, nullable=False),  # hex
    sa.Column("data", sa.Text),  # JSON
    sa.Column("port", sa.Integer),
    sa.Column("is_confirmed", sa.Boolean, nullable=False),
    # queued, sent, acknowledged, failed, expired, cancelled
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("detail", sa.Text),
    sa.Column("reference", sa.Text),  # what the network calls it
    sa.Column("seq", sa.BigInteger),  # of its delivery, where the engine takes it to the network
    _moment("created_at"),
    _moment("updated_at"),
    _moment("expires_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    # Answers: what waits for this device? what was it sent last? whose time is over?
    sa.Index("ix_downlink_device_number_created_at", "device_number", "created_at"),
    sa.Index("ix_downlink_state_expires_at", "state", "expires_at"),
)

network_link = sa.Table(
    "network_link",
    metadata,
    # Where a network accepts downlinks to a device, as its uplinks say.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("sealed_key", sa.Text, nullable=False),
    _moment("updated_at"),
)

downlink_grant = sa.Table(
    "downlink_grant",
    metadata,
    # Which groups, with those below, may send downlinks through the operator's key of a network.
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("network", sa.Text, primary_key=True),
    _moment("created_at"),
)

lease = sa.Table(
    "lease",
    metadata,
    # What only one process at a time may do, which one does it, and until when unless it says so
    # again.
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, nullable=False),
    _moment("until_at"),
)

node = sa.Table(
    "node",
    metadata,
    # The processes on one PostgreSQL: who has which number, and until when unless it says so again.
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("holder", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    _moment("until_at"),
)


def _record_table(kind: str) -> sa.Table:
    """What devices said of one kind, appended in order of arrival; the key is a narrow index.

    The key leads to the records of one device by time, whatever else comes in between, and makes
    the same record sent twice one row. `body` is the record as it is answered; `seq` is the order
    of arrival, with the moment of arrival in its upper bits.
    """
    return sa.Table(
        f"record_{kind}",
        metadata,
        sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("ts", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        info={SLOT_BY: "device_number", "postgresql_partition_by": "RANGE (ts)"},
    )


record = {kind: _record_table(kind) for kind in KIND_NAMES}

arrival = sa.Table(
    "arrival",
    metadata,
    # Every record once more, by group and in order of arrival: the ledger behind the counters.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    # The next two are where they are so that PostgreSQL needs no room for them.
    sa.Column("source", sa.SmallInteger, nullable=False),
    # Of its device at that time.
    sa.Column("stay", sa.Integer, nullable=False),
    sa.Column("device_number", sa.BigInteger, nullable=False),
    sa.Column("ts", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: "device_number", "postgresql_partition_by": "RANGE (seq)"},
)

reception = sa.Table(
    "reception",
    metadata,
    # Messages of networks as they came in: those of one commit and group, from the first arrival
    # that they caused to the last one.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("first_seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    info={SLOT_BY: TRANSACTION},
)

reception_size = sa.Table(
    "reception_size",
    metadata,
    # How large they are; each process has a row of its own, writer 0 what was deleted.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("writer", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: TRANSACTION},
)

counter = sa.Table(
    "counter",
    metadata,
    # What happened in a group in a second. Each process counts in rows of its own, so that none
    # waits for another's commit; reading adds them up.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("second", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("name", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("writer", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("value", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: TRANSACTION},
)

group_storage = sa.Table(
    "group_storage",
    metadata,
    # How much is stored for a group; each process has a row of its own, writer 0 what was deleted.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("writer", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("records", sa.BigInteger, nullable=False),
    sa.Column("characters", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: TRANSACTION},
)

activity = sa.Table(
    "activity",
    metadata,
    # Which devices of a group had records in an hour.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("hour", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
    info={SLOT_BY: "device_number"},
)

# --- messages out ---

channel = sa.Table(
    "channel",
    metadata,
    # A way out of the service, and the policy of its deliveries. Connectors and notifications have
    # one each; downlinks, registrations and mail leave through channels with nothing besides.
    # The number is what deliveries carry, and it is never used again.
    sa.Column(
        "number",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), nullable=False),
    sa.Column("purpose", sa.Text, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("sealed_params", sa.Text),
    # Grows with every change, so that a process with an older version notices.
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("is_enabled", sa.Boolean, nullable=False),
    sa.Column("storing_s", sa.Integer, nullable=False),
    sa.Column("retry_delay_s", sa.Integer),
    sa.Column("retries_max", sa.Integer),
    # The last failure, and how many attempts in a row have failed.
    _moment("error_at", required=False),
    sa.Column("error_message", sa.Text),
    sa.Column("failures", sa.Integer, nullable=False),
    # While a resend runs: dead letters that failed before are queued again.
    _moment("resend_before", required=False),
    # Hidden; its deliveries are deleted in small steps, and then the row.
    _moment("deleted_at", required=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_by", sa.Text, nullable=False),
    # Answers: the channels of a group, in the order they came.
    sa.Index("ix_channel_group_id_number", "group_id", "number"),
    sqlite_autoincrement=True,
)


def _channel_number() -> sa.Column[int]:
    """The key of what has a channel of its own."""
    key = sa.ForeignKey(channel.c.number)
    return sa.Column("channel_number", sa.BigInteger, key, primary_key=True, autoincrement=False)


connector = sa.Table(
    "connector",
    metadata,
    _channel_number(),
    sa.Column("name", sa.Text),
    sa.Column("description", sa.Text),
    sa.Column("device_types", sa.Text, nullable=False),  # JSON
    sa.Column("tags", sa.Text, nullable=False),  # JSON
    sa.Column("subgroups", sa.Boolean, nullable=False),
    sa.Column("device_ids", sa.Text, nullable=False),  # JSON
    sa.Column("message_filter", sa.Text),
    sa.Column("format", sa.Text, nullable=False),
)

notification = sa.Table(
    "notification",
    metadata,
    _channel_number(),
    sa.Column("name", sa.Text),
    sa.Column("description", sa.Text),
    sa.Column("device_types", sa.Text, nullable=False),  # JSON
    sa.Column("tags", sa.Text, nullable=False),  # JSON
    sa.Column("device_id", sa.Text),
    sa.Column("reason", sa.Text),
    sa.Column("schedule", sa.Text),  # JSON
    _moment("fired_at", required=False),
    _moment("sent_at", required=False),
)


class DeliveryState(enum.IntEnum):
    """The first two are open, the others final; only a resend or a replay leaves those."""

    QUEUED = 0
    LEASED = 1
    SUCCEEDED = 2
    FAILED = 3
    EXPIRED = 4
    CANCELLED = 5


_QUEUED = f"state = {DeliveryState.QUEUED:d}"
_LEASED = f"state = {DeliveryState.LEASED:d}"
_FAILED = f"state = {DeliveryState.FAILED:d}"
_IS_OPEN = f"state < {DeliveryState.SUCCEEDED:d}"


delivery = sa.Table(
    "delivery",
    metadata,
    # A message on its way through a channel. The key of a record's delivery is its arrival, so that
    # one record has one delivery for each connector, whatever happens. Queue and history in one.
    sa.Column("channel_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("device_id", sa.Text, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("ts", sa.BigInteger, nullable=False),
    # 0 queued, 1 leased, 2 succeeded, 3 failed, 4 expired, 5 cancelled
    sa.Column("state", sa.SmallInteger, nullable=False),
    # The state it ended in the first time; a resend does not change it.
    sa.Column("first_end", sa.SmallInteger),
    sa.Column("generation", sa.Integer, nullable=False),  # how often it was sent again
    sa.Column("attempts", sa.Integer, nullable=False),  # in this generation
    _moment("due_at"),
    sa.Column("lease_token", sa.BigInteger),
    _moment("lease_until", required=False),
    _moment("created_at"),
    _moment("changed_at"),
    _moment("stored_until", required=False),
    _moment("resent_before", required=False),
    sa.Column("error", sa.Text),
    # The record and what was known of its device, until it is not needed any more.
    sa.Column("body", sa.Text),
    sa.Column("context", sa.Text),
    # The last attempts, as JSON.
    sa.Column("attempt_log", sa.Text),
    # The arrival that a notification is about.
    sa.Column("cause", sa.BigInteger),
    # The span of the request that caused it, if it was traced.
    sa.Column("traceparent", sa.Text),
    # Answers: what is due? whose lease is over? what is not final yet? what can be sent again?
    # what is past its time? what happened lately? who was notified of this arrival?
    # With the state, although it is always the same: SQLite counts without the rows only then. What
    # is due has another index on PostgreSQL, where the slot is before the time: see the baseline.
    _partial("ix_delivery_due", "channel_number", "due_at", "seq", "state", where=_QUEUED),
    _partial("ix_delivery_lease", "lease_until", where=_LEASED),
    _partial("ix_delivery_open", "channel_number", "created_at", where=_IS_OPEN),
    _partial("ix_delivery_failed", "channel_number", "seq", "state", where=_FAILED),
    _partial("ix_delivery_stored", "stored_until", where=_FAILED),
    _partial(
        "ix_delivery_resent",
        "channel_number",
        where=f"resent_before is not null and {_IS_OPEN}",
    ),
    _partial("ix_delivery_cause", "cause", where="cause is not null"),
    sa.Index("ix_delivery_changed", "channel_number", "changed_at", "state"),
    sqlite_with_rowid=False,
    # Every row is changed twice within a second of its life.
    info={
        SLOT_BY: "device_id",
        "postgresql_with": {"fillfactor": 70, "autovacuum_vacuum_scale_factor": 0.02},
    },
)

connector_minute = sa.Table(
    "connector_minute",
    metadata,
    # What a connector did in a minute. Its parts are what ingest made, what the engine settled, and
    # what waited, and the same of the hour that begins then; each process counts in its own rows.
    sa.Column("channel_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("minute", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("part", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("writer", sa.SmallInteger, primary_key=True, autoincrement=False),
    *(
        sa.Column(name, sa.Integer, nullable=False, server_default="0")
        for name in (
            *("made", "succeeded", "failed", "retried", "waiting", "max_ms"),
            # How many attempts took how long.
            *(f"bucket_{index}" for index in range(12)),
        )
    ),
    sqlite_with_rowid=False,
    info={SLOT_BY: TRANSACTION},
)

replay = sa.Table(
    "replay",
    metadata,
    # Stored records that are put through a connector once more, a piece at a time.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("channel_number", sa.BigInteger, nullable=False),
    _moment("begin_at"),
    _moment("end_at"),
    # How far it is: everything up to this arrival in this group has been looked at.
    sa.Column("at_group", GroupNumber, nullable=False),
    sa.Column("at_seq", sa.BigInteger, nullable=False),
    sa.Column("until_seq", sa.BigInteger, nullable=False),
    sa.Column("records_scanned", sa.BigInteger, nullable=False),
    sa.Column("queued", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    _moment("created_at"),
    _moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Index("ix_replay_channel_number", "channel_number"),
    _partial("ix_replay_running", "state", where="state = 'running'"),
)

deferral = sa.Table(
    "deferral",
    metadata,
    # Arrivals that are still to be matched with the connectors or notifications of a group.
    sa.Column("owner_id", GroupNumber, primary_key=True),
    sa.Column("purpose", sa.Text, primary_key=True),
    sa.Column("group_id", GroupNumber, primary_key=True),
    sa.Column("first_seq", sa.BigInteger, primary_key=True),
    sa.Column("last_seq", sa.BigInteger, nullable=False),
    _moment("lease_until"),
    sqlite_with_rowid=False,
)

notification_state = sa.Table(
    "notification_state",
    metadata,
    # The state of a notification for each device or connector that it is about.
    sa.Column("notification_number", sa.BigInteger, primary_key=True, autoincrement=False),
    # The number of the device, or that of the connector with a minus.
    sa.Column("subject", sa.BigInteger, primary_key=True, autoincrement=False),
    _moment("raised_at", required=False),  # since when it holds; null while it does not
    sa.Column("is_notified", sa.Boolean, nullable=False),  # whether a notification of that was sent
    _moment("as_of", required=False),  # how new the newest news were
    _moment("fired_at", required=False),
    sa.Column("held_back", sa.Integer, nullable=False),  # since then
    # Answers: the states of a device that is deleted or transferred.
    sa.Index("ix_notification_state_subject", "subject"),
    sqlite_with_rowid=False,
)

# --- jobs ---

_IS_OPEN_JOB = "state in ('waiting', 'running')"

job = sa.Table(
    "job",
    metadata,
    # Work that is too large for one request, how far it is, and what became of it.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("group_id", GroupNumber, nullable=False),
    # In whose turn it runs: the user whose quota the group counts for.
    sa.Column("owner_id", sa.Text, nullable=False),
    # Who started it, in which request, and why.
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("task", sa.Text, nullable=False),  # JSON: what to do
    sa.Column("selection", sa.Text, nullable=False),  # JSON: with which devices
    # waiting, running, succeeded, failed, cancelled; and the code of why it failed
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("total", sa.BigInteger),
    sa.Column("done", sa.BigInteger, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False),
    sa.Column("skipped", sa.BigInteger, nullable=False),
    sa.Column("failed", sa.BigInteger, nullable=False),
    sa.Column("kept_characters", sa.BigInteger, nullable=False),  # for an undo
    sa.Column("cursor", sa.Text, nullable=False),  # JSON: everything up to it is done
    sa.Column("undo_of", sa.Text),
    sa.Column("undone_by", sa.Text),
    _moment("undo_until", required=False),  # null if there is nothing to undo any more
    # Of the file that it has written; 0 and null once that is deleted.
    sa.Column("result_bytes", sa.BigInteger, nullable=False),
    _moment("result_until", required=False),
    # The fencing token, which every lease increments.
    sa.Column("fence", sa.BigInteger, nullable=False),
    _moment("lease_until"),
    _moment("created_at"),
    _moment("started_at", required=False),
    _moment("updated_at"),
    _moment("ended_at", required=False),
    # Answers: the jobs of a group, newest first; those in one state.
    sa.Index("ix_job_group_id_created_at", "group_id", "created_at", "id"),
    sa.Index("ix_job_group_id_state", "group_id", "state", "created_at", "id"),
    # Answers: whose jobs are to be run? which of them, and in which order?
    _partial("ix_job_open", "owner_id", "created_at", where=_IS_OPEN_JOB),
    # Answers: which jobs ended long ago? of which can nothing be undone any more?
    _partial("ix_job_ended_at", "ended_at", where="ended_at is not null"),
    _partial("ix_job_undo_until", "undo_until", where="undo_until is not null"),
    # Answers: which files have expired? how much is kept for this user?
    _partial("ix_job_result_until", "result_until", where="result_until is not null"),
    _partial("ix_job_result_bytes", "owner_id", where="result_bytes > 0"),
)

job_chunk = sa.Table(
    "job_chunk",
    metadata,
    # The file that an export job writes, sealed, in parts of a megabyte at most.
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

job_item = sa.Table(
    "job_item",
    metadata,
    # What a job did with a device: what an undo needs, and what it could not do.
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("object_id", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),  # changed, undone, skipped, failed
    sa.Column("code", sa.Text),
    # JSON: the fields that it changed, as they were before; and a digest of the new values.
    sa.Column("old_values", sa.Text),
    sa.Column("new_digest", sa.Text),
    # Answers: the items with one outcome, in order.
    sa.Index("ix_job_item_job_id_outcome_number", "job_id", "outcome", "number"),
    sqlite_with_rowid=False,
)

binned_device = sa.Table(
    "binned_device",
    metadata,
    # Devices that a job has deleted, until they are restored or erased. Their records are
    # unreachable without the row of the device, which is in here.
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    # Answers: which are of a group that is deleted?
    sa.Column("group_id", GroupNumber, nullable=False, index=True),
    # Answers: which are to be erased when the job cannot be undone any more?
    sa.Column("job_id", sa.Text, nullable=False, index=True),
    sa.Column("snapshot", sa.Text, nullable=False),  # JSON: rows by table
)

archive_file = sa.Table(
    "archive_file",
    metadata,
    # Files with the records of one kind and month that were moved out of the tables.
    sa.Column(
        "id",
        sa.BigInteger().with_variant(sa.Integer, "sqlite"),
        primary_key=True,
        autoincrement=True,
    ),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("state", sa.SmallInteger, nullable=False),  # writing, published, moved, dropping
    _moment("begin_ts"),
    _moment("end_ts"),
    # Of the devices in it.
    sa.Column("first_device", sa.BigInteger, nullable=False),
    sa.Column("last_device", sa.BigInteger, nullable=False),
    sa.Column("records", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    # Answers: which files have records of a kind and a period?
    sa.Index("ix_archive_file_kind_begin_ts", "kind", "begin_ts"),
    # A number that a tombstone names is never used again.
    sqlite_autoincrement=True,
)

archive_tombstone = sa.Table(
    "archive_tombstone",
    metadata,
    # Records in files that were deleted: those of a device at a timestamp, up to a file.
    sa.Column("kind", sa.SmallInteger, primary_key=True, autoincrement=False),
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("stay", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("ts", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("file_id", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# Numbers the processes that write to one PostgreSQL, for `seq` and `counter`.
writer_number = sa.Sequence("writer_number", metadata=metadata)
