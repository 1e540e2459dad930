"""Tables of devices and their types: configuration, state, stays, monitoring, downlinks."""

import sqlalchemy as sa

from longwire.store.schema.base import (
    SLOT_BY,
    GroupNumber,
    KeyText,
    metadata,
    moment,
    partial_index,
    serial_key,
)
from longwire.store.schema.groups import group

# `seen_at` of a device that was never seen, and `battery_level` of one whose charge is unknown:
# values, so that they have a place in an index.
NEVER_SEEN = -(2**62)
SEEN_HOUR_BITS = 32
BATTERY_UNKNOWN = 100_000

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
    moment("created_at"),
    moment("updated_at"),
    # Whose it is, with the groups below; null for all. No reference: it is deleted with its group,
    # but after the devices that have it.
    sa.Column("group_id", GroupNumber),
    # The name as it is compared: two spellings that people would take for one another are one name.
    # Null of what the release before has inserted.
    sa.Column("name_key", sa.Text),
    # Answers: which types does a group have?
    sa.Index("ix_device_type_home", "group_id"),
    # Answers: is a name taken?
    sa.Index("ix_device_type_name_key", "name_key"),
)


device = sa.Table(
    "device",
    metadata,
    # The number is what records carry: eight bytes instead of a text, never used again.
    serial_key("number"),
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
    moment("created_at"),
    moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_by", sa.Text, nullable=False),
    # The digest of the configuration that it reported last, so that a record that reports the same
    # again costs nothing; and since when that is not what it should be.
    sa.Column("reported_digest", sa.BigInteger),
    moment("drifted_at", required=False),
    # When it was transferred into its group, or restored there; null if it was created there.
    moment("joined_at", required=False),
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
    partial_index(
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
    moment("reported_at"),
    sa.Column("version", sa.BigInteger, nullable=False),
    sa.Column("checked_version", sa.BigInteger, nullable=False),
    # Answers: which are to be compared?
    partial_index("ix_device_report_pending", "device_number", where="version > checked_version"),
)

configuration_check = sa.Table(
    "configuration_check",
    metadata,
    # A changed policy of a group or of a type, until all devices it concerns are to be compared
    # again; and how far that is.
    serial_key("id"),
    sa.Column("group_id", GroupNumber),
    sa.Column("type", sa.Text),
    sa.Column("at_group", sa.BigInteger, nullable=False),
    sa.Column("at_device", sa.BigInteger, nullable=False),
)

configuration_policy = sa.Table(
    "configuration_policy",
    metadata,
    # What a device type, or a group, wants of the configuration of its devices: a merge patch.
    serial_key("id"),
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), unique=True),
    sa.Column("type", sa.Text, sa.ForeignKey(device_type.c.name), unique=True),
    sa.Column("policy", sa.Text, nullable=False),
    moment("updated_at"),
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
    moment("position_at", required=False),
    # Since when it is silent, as in `device_watch`: here it is counted and searched by group.
    moment("silent_at", required=False),
    # Hundredths of a percent.
    sa.Column("battery_level", sa.BigInteger, server_default=str(BATTERY_UNKNOWN)),
    sa.Column("lat", sa.Double),
    sa.Column("lng", sa.Double),
    sa.Column("radius", sa.BigInteger),
    sa.Column("battery", sa.Text),
    moment("battery_at", required=False),
    sa.Column("sequence", sa.BigInteger),  # of the newest message of its network
    moment("sequence_at", required=False),
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
    moment("updated_at"),
    # Answers: which devices does the network not know yet?
    sa.Index("ix_registration_state", "state"),
)

device_watch = sa.Table(
    "device_watch",
    metadata,
    # What is expected of a device: to report in time.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    moment("silent_at", required=False),  # since when it is silent; null while it is not
    # Answers: whose check is due? The time of the next check, not of being late.
    moment("due_at", required=False),
    sa.Index("ix_device_watch_due_at", "due_at"),
    # Answers: who is silent?
    partial_index("ix_device_watch_silent", "device_number", where="silent_at is not null"),
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
    moment("created_at"),
    moment("updated_at"),
    moment("expires_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    # Answers: what waits for this device? what was it sent last? which have expired?
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
    moment("updated_at"),
)

downlink_grant = sa.Table(
    "downlink_grant",
    metadata,
    # Which groups, with those below, may send downlinks through the operator's key of a network.
    sa.Column("group_id", GroupNumber, sa.ForeignKey(group.c.id), primary_key=True),
    sa.Column("network", sa.Text, primary_key=True),
    moment("created_at"),
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

unknown_device = sa.Table(
    "unknown_device",
    metadata,
    # What came with the token of a group about a device that it does not have, or could not be
    # taken: one row for each id. No reference to the group: messages are stored some time after
    # they came, when it may be gone.
    sa.Column("group_id", GroupNumber, primary_key=True, autoincrement=False),
    sa.Column("network", sa.Text, primary_key=True),
    # The id as it is compared, and as it was sent last.
    sa.Column("original_key", KeyText, primary_key=True),
    sa.Column("original_id", sa.Text, nullable=False),
    # Whose quota the group counts for: each has so many rows at most.
    sa.Column("quota_user_id", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("detail", sa.Text),  # what was wrong with the last one
    moment("first_at"),
    moment("last_at"),
    sa.Column("messages", sa.BigInteger, nullable=False),
    sa.Column("sealed", sa.LargeBinary),  # the last one
    # Answers: is this id among them, now that there is a device of it?
    sa.Index("ix_unknown_device_network_original_key", "network", "original_key"),
    # Answers: does somebody have too many? which are too old? which changed lately?
    sa.Index("ix_unknown_device_quota_user_id_last_at", "quota_user_id", "last_at"),
    sa.Index("ix_unknown_device_last_at", "last_at"),
)
