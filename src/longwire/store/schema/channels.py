"""Tables of what leaves the service: channels, what has one, and deliveries."""

import sqlalchemy as sa

from longwire.store.delivery.delivery_states import FAILED, IS_OPEN, IS_ORDERED, LEASED, QUEUED
from longwire.store.schema.base import (
    SLOT_BY,
    TRANSACTION,
    GroupNumber,
    metadata,
    moment,
    partial_index,
    serial_key,
)
from longwire.store.schema.groups import group

channel = sa.Table(
    "channel",
    metadata,
    # A way out of the service, and the policy of its deliveries. Connectors and notifications have
    # one each; downlinks, registrations and mail leave through channels with nothing besides.
    # The number is what deliveries carry, and it is never used again.
    serial_key("number"),
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
    moment("error_at", required=False),
    sa.Column("error_message", sa.Text),
    sa.Column("failures", sa.Integer, nullable=False),
    # While a resend runs: dead letters that failed before are queued again.
    moment("resend_before", required=False),
    # Hidden; its deliveries are deleted in small steps, and then the row.
    moment("deleted_at", required=False),
    moment("created_at"),
    moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_by", sa.Text, nullable=False),
    # When the first of the attempts failed that have failed in a row.
    moment("failing_since", required=False),
    # How often its filter was evaluated lately and had no value, and since when that is usual.
    sa.Column("filter_evaluated", sa.Integer, nullable=False, server_default="0"),
    sa.Column("filter_failed", sa.Integer, nullable=False, server_default="0"),
    moment("filter_failing_since", required=False),
    # The receiver has asked to get nothing before.
    moment("paused_until", required=False),
    # Seconds before each retry, as JSON, in place of one delay for all; none if it is empty.
    sa.Column("retry_delays", sa.Text, nullable=False, server_default="[]"),
    # How many requests it may get in a second, and the time for which they are taken already.
    sa.Column("max_per_s", sa.Float),
    moment("rate_taken_until", required=False),
    # The messages of a device are sent one after the other.
    sa.Column("is_ordered", sa.Boolean, nullable=False, server_default=sa.false()),
    # Messages that were given up, until somebody takes care of them: how many, the last time, and
    # why the first one.
    sa.Column("given_up", sa.Integer, nullable=False, server_default="0"),
    moment("given_up_at", required=False),
    sa.Column("given_up_error", sa.Text),
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
    # JSON: the kinds that it forwards; empty for all records.
    sa.Column("kinds", sa.Text, nullable=False, server_default="[]"),
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
    moment("fired_at", required=False),
    moment("sent_at", required=False),
)

contact_point = sa.Table(
    "contact_point",
    metadata,
    # Recipients with a name. Messages of notifications that use it leave through its channel.
    _channel_number(),
    sa.Column("name", sa.Text),
    sa.Column("description", sa.Text),
    sa.Column("subgroups", sa.Boolean, nullable=False),
    moment("sent_at", required=False),
)

contact_point_use = sa.Table(
    "contact_point_use",
    metadata,
    # Which notifications and rotas name which contact points.
    sa.Column("contact_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("channel_number", sa.BigInteger, primary_key=True, autoincrement=False),
    # Answers: what does this notification use?
    sa.Index("ix_contact_point_use_channel_number", "channel_number"),
    sqlite_with_rowid=False,
)


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
    moment("due_at"),
    sa.Column("lease_token", sa.BigInteger),
    moment("lease_until", required=False),
    moment("created_at"),
    moment("changed_at"),
    moment("stored_until", required=False),
    moment("resent_before", required=False),
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
    # Not sent before the earlier ones of its device; null for most.
    sa.Column("is_ordered", sa.Boolean),
    # Answers: what is due? whose lease has expired? what is not final yet? what can be sent again?
    # what has expired? what happened lately? who was notified of this arrival? which message of
    # this device is next, and is one in flight?
    # With the state, although it is always the same: SQLite counts without the rows only then. What
    # is due has another index on PostgreSQL, where the slot is before the time: see the baseline.
    partial_index("ix_delivery_due", "channel_number", "due_at", "seq", "state", where=QUEUED),
    partial_index("ix_delivery_lease", "lease_until", where=LEASED),
    partial_index("ix_delivery_open", "channel_number", "created_at", where=IS_OPEN),
    partial_index("ix_delivery_failed", "channel_number", "seq", "state", where=FAILED),
    partial_index("ix_delivery_stored", "stored_until", where=FAILED),
    partial_index(
        "ix_delivery_resent",
        "channel_number",
        where=f"resent_before is not null and {IS_OPEN}",
    ),
    partial_index("ix_delivery_cause", "cause", where="cause is not null"),
    partial_index(
        "ix_delivery_ordered",
        "channel_number",
        "device_id",
        "state",
        "seq",
        where=f"{IS_ORDERED} and {IS_OPEN}",
    ),
    sa.Index("ix_delivery_changed", "channel_number", "changed_at", "state"),
    sqlite_with_rowid=False,
    # Every row is changed twice within a second of its life.
    info={
        SLOT_BY: "device_id",
        "postgresql_with": {"fillfactor": 70, "autovacuum_vacuum_scale_factor": 0.02},
    },
)

delivery_exchange = sa.Table(
    "delivery_exchange",
    metadata,
    # What was sent in an attempt and what came back, for a limited time. Sealed: a response may
    # have anything in it. Few, of each channel: logs of attempts name those that are kept.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("channel_number", sa.BigInteger, nullable=False),
    moment("at"),
    sa.Column("size", sa.Integer, nullable=False),
    sa.Column("sealed", sa.LargeBinary, nullable=False),
    # Answers: the last ones of a channel; which are too old?
    sa.Index("ix_delivery_exchange_channel_number", "channel_number", "at", "id"),
    sa.Index("ix_delivery_exchange_at", "at"),
)

change_message = sa.Table(
    "change_message",
    metadata,
    # A change of an alarm, or of a device of a group, as connectors forward it. The number is of
    # the same source as those of arrivals, and the key of its deliveries.
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("group_id", GroupNumber, nullable=False),
    # The other group of a device that was moved, and whether this is for who sees both.
    sa.Column("other_group_id", GroupNumber),
    sa.Column("is_for_both", sa.Boolean, nullable=False),
    sa.Column("kind", sa.SmallInteger, nullable=False),
    sa.Column("device_id", sa.Text, nullable=False),
    sa.Column("ts", sa.BigInteger, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("context", sa.Text, nullable=False),  # what was known of its device, as JSON
    sa.Column("cause", sa.BigInteger),  # the arrival of the record, if one has raised an alarm
    # Answers: what has changed in this group?
    sa.Index("ix_change_message_group_id_seq", "group_id", "seq"),
    sqlite_with_rowid=False,
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
    # Stored records that are put through a connector once more, a batch at a time.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("channel_number", sa.BigInteger, nullable=False),
    moment("begin_at"),
    moment("end_at"),
    # How far it is: everything up to this arrival in this group has been looked at.
    sa.Column("at_group", GroupNumber, nullable=False),
    sa.Column("at_seq", sa.BigInteger, nullable=False),
    sa.Column("until_seq", sa.BigInteger, nullable=False),
    sa.Column("records_scanned", sa.BigInteger, nullable=False),
    sa.Column("queued", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    moment("created_at"),
    moment("updated_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Index("ix_replay_channel_number", "channel_number"),
    partial_index("ix_replay_running", "state", where="state = 'running'"),
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
    moment("lease_until"),
    sqlite_with_rowid=False,
)

notification_state = sa.Table(
    "notification_state",
    metadata,
    # The state of a notification for each device or connector that it is about.
    sa.Column("notification_number", sa.BigInteger, primary_key=True, autoincrement=False),
    # The number of the device, or that of the connector with a minus.
    sa.Column("subject", sa.BigInteger, primary_key=True, autoincrement=False),
    moment("raised_at", required=False),  # since when it holds; null while it does not
    sa.Column("is_notified", sa.Boolean, nullable=False),  # whether a notification of that was sent
    moment("as_of", required=False),  # the time of the newest observation
    moment("fired_at", required=False),
    sa.Column("held_back", sa.Integer, nullable=False),  # since then
    # Answers: the states of a device that is deleted or transferred.
    sa.Index("ix_notification_state_subject", "subject"),
    sqlite_with_rowid=False,
)
