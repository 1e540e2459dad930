"""Tables of alarms: the state of conditions on values, and alarms that were raised."""

import sqlalchemy as sa

from longwire.store.schema.base import GroupNumber, metadata, moment, partial_index

condition_state = sa.Table(
    "condition_state",
    metadata,
    # The condition of a notification for a device; no row if nothing is known but the value in
    # force, which is the current value of the device. By device first, since a record reads those
    # of its device.
    sa.Column("device_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("notification_number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("group_id", GroupNumber, nullable=False),  # of the device
    moment("met_since", required=False),
    sa.Column("met_messages", sa.Integer, nullable=False),
    moment("clear_since", required=False),
    moment("raised_at", required=False),
    sa.Column("value", sa.Double),
    sa.Column("worst", sa.Double),
    sa.Column("has_no_data", sa.Boolean, nullable=False),
    sa.Column("is_stale", sa.Boolean, nullable=False),
    # When it has to be looked at if no value comes; perhaps nothing has happened then.
    moment("due_at", required=False),
    # Answers: what is due in this group? which states does a notification have?
    partial_index("ix_condition_state_due", "group_id", "due_at", where="due_at is not null"),
    sa.Index("ix_condition_state_notification_number", "notification_number"),
    sqlite_with_rowid=False,
)

alarm = sa.Table(
    "alarm",
    metadata,
    # What is or was wrong: a notification, and a device or a connector.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("group_id", GroupNumber, nullable=False),  # of the device or the connector
    sa.Column("notification_number", sa.BigInteger, nullable=False),
    sa.Column("notification_id", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    # The number of the device, or that of the connector with a minus.
    sa.Column("subject", sa.BigInteger, nullable=False),
    sa.Column("device_id", sa.Text),
    sa.Column("connector_id", sa.Text),
    sa.Column("severity", sa.Text, nullable=False),
    moment("raised_at"),
    sa.Column("value", sa.Double),
    sa.Column("worst", sa.Double),
    moment("acknowledged_at", required=False),
    sa.Column("acknowledged_by", sa.Text),
    sa.Column("comment", sa.Text),
    moment("resolved_at", required=False),
    sa.Column("resolution", sa.Text),  # why, if no value or observation has resolved it
    moment("notified_at", required=False),  # when messages were last queued
    # When something is to be sent that could not be sent at once.
    moment("due_at", required=False),
    moment("first_notified_at", required=False),
    sa.Column("silence_id", sa.Text),  # the last one that has held messages back
    moment("changed_at", required=False),  # when its state changed
    # Answers: is it open already? what is or was wrong in this group, the newest first? with this
    # device? what is to be sent? what ended long ago? what has a silence held back?
    # what changed lately?
    sa.Index(
        "ix_alarm_open",
        "notification_number",
        "subject",
        unique=True,
        sqlite_where=sa.text("resolved_at is null"),
        info={"postgresql_where": sa.text("resolved_at is null")},
    ),
    sa.Index("ix_alarm_group_id_raised_at_id", "group_id", "raised_at", "id"),
    sa.Index("ix_alarm_subject_raised_at", "subject", "raised_at"),
    partial_index("ix_alarm_due", "group_id", "due_at", where="due_at is not null"),
    partial_index("ix_alarm_resolved", "resolved_at", where="resolved_at is not null"),
    partial_index("ix_alarm_silence", "silence_id", where="silence_id is not null"),
    sa.Index("ix_alarm_group_id_changed_at", "group_id", "changed_at"),
)

silence = sa.Table(
    "silence",
    metadata,
    # For which alarms no messages are sent for some time.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("group_id", GroupNumber, nullable=False),
    # The highest group in which its creator could have changed notifications.
    sa.Column("reach_id", GroupNumber, nullable=False),
    sa.Column("subgroups", sa.Boolean, nullable=False),
    # What it is for, as lists in JSON; an empty one is no condition.
    sa.Column("device_ids", sa.Text, nullable=False),
    sa.Column("tags", sa.Text, nullable=False),
    sa.Column("types", sa.Text, nullable=False),
    sa.Column("severity", sa.Text),
    moment("begin_at"),
    moment("end_at"),
    sa.Column("schedule", sa.Text),
    sa.Column("timezone", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    moment("created_at"),
    sa.Column("created_by", sa.Text, nullable=False),
    # Answers: which does this group have, those that last first? which ended long ago?
    sa.Index("ix_silence_group_id_end_at_id", "group_id", "end_at", "id"),
    sa.Index("ix_silence_end_at", "end_at"),
)

contact_window = sa.Table(
    "contact_window",
    metadata,
    # How many messages about alarms a recipient got in a minute, and what waits for the message
    # that counts the others.
    sa.Column("contact", sa.Text, primary_key=True),
    sa.Column("group_id", GroupNumber, nullable=False),  # of its notifications
    sa.Column("minute", sa.BigInteger, nullable=False),
    sa.Column("sent", sa.Integer, nullable=False),
    sa.Column("raised", sa.Integer, nullable=False),
    sa.Column("critical", sa.Integer, nullable=False),
    sa.Column("resolved", sa.Integer, nullable=False),
    sa.Column("first", sa.Text),  # JSON
    moment("due_at", required=False),
    sa.Column("channels", sa.Text),  # to it, as JSON
    # Answers: what is due in this group?
    partial_index("ix_contact_window_due", "group_id", "due_at", where="due_at is not null"),
)
