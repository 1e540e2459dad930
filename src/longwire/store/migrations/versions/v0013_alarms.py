"""Tables of alarms, and of the state of conditions on values."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

BIGINT, TEXT, BOOLEAN = sa.BigInteger(), sa.Text(), sa.Boolean()
DOUBLE: sa.Double[float] = sa.Double()


def upgrade() -> None:
    op.create_table(
        "condition_state",
        sa.Column("device_number", BIGINT, autoincrement=False, nullable=False),
        sa.Column("notification_number", BIGINT, autoincrement=False, nullable=False),
        sa.Column("group_id", BIGINT, nullable=False),
        sa.Column("met_since", BIGINT),
        sa.Column("met_messages", sa.Integer(), nullable=False),
        sa.Column("clear_since", BIGINT),
        sa.Column("raised_at", BIGINT),
        sa.Column("value", DOUBLE),
        sa.Column("worst", DOUBLE),
        sa.Column("has_no_data", BOOLEAN, nullable=False),
        sa.Column("is_stale", BOOLEAN, nullable=False),
        sa.Column("due_at", BIGINT),
        sa.PrimaryKeyConstraint("device_number", "notification_number", name="pk_condition_state"),
        sqlite_with_rowid=False,
    )
    _create_partial_index("ix_condition_state_due", "group_id due_at", "due_at is not null")
    op.create_index(
        "ix_condition_state_notification_number", "condition_state", ["notification_number"]
    )
    op.create_table(
        "alarm",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("group_id", BIGINT, nullable=False),
        sa.Column("notification_number", BIGINT, nullable=False),
        sa.Column("notification_id", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("subject", BIGINT, nullable=False),
        sa.Column("device_id", TEXT),
        sa.Column("connector_id", TEXT),
        sa.Column("severity", TEXT, nullable=False),
        sa.Column("raised_at", BIGINT, nullable=False),
        sa.Column("value", DOUBLE),
        sa.Column("worst", DOUBLE),
        sa.Column("acknowledged_at", BIGINT),
        sa.Column("acknowledged_by", TEXT),
        sa.Column("comment", TEXT),
        sa.Column("resolved_at", BIGINT),
        sa.Column("resolution", TEXT),
        sa.Column("notified_at", BIGINT),
        sa.Column("due_at", BIGINT),
        sa.PrimaryKeyConstraint("id", name="pk_alarm"),
    )
    _create_partial_index(
        "ix_alarm_open", "notification_number subject", "resolved_at is null", unique=True
    )
    op.create_index("ix_alarm_group_id_raised_at_id", "alarm", ["group_id", "raised_at", "id"])
    op.create_index("ix_alarm_subject_raised_at", "alarm", ["subject", "raised_at"])
    _create_partial_index("ix_alarm_due", "group_id due_at", "due_at is not null")
    _create_partial_index("ix_alarm_resolved", "resolved_at", "resolved_at is not null")


def _create_partial_index(name: str, columns: str, where: str, **options: Any) -> None:
    table = "alarm" if name.startswith("ix_alarm") else "condition_state"
    condition = sa.text(where)
    op.create_index(
        name,
        table,
        columns.split(),
        sqlite_where=condition,
        postgresql_where=condition,
        **options,
    )
