"""Silences, and which alarms they have held back."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

BIGINT, TEXT = sa.BigInteger(), sa.Text()


def upgrade() -> None:
    op.create_table(
        "silence",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("group_id", BIGINT, nullable=False),
        sa.Column("reach_id", BIGINT, nullable=False),
        sa.Column("subgroups", sa.Boolean(), nullable=False),
        sa.Column("device_ids", TEXT, nullable=False),
        sa.Column("tags", TEXT, nullable=False),
        sa.Column("types", TEXT, nullable=False),
        sa.Column("severity", TEXT),
        sa.Column("begin_at", BIGINT, nullable=False),
        sa.Column("end_at", BIGINT, nullable=False),
        sa.Column("schedule", TEXT),
        sa.Column("timezone", TEXT, nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.Column("created_at", BIGINT, nullable=False),
        sa.Column("created_by", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_silence"),
    )
    op.create_index("ix_silence_group_id_end_at_id", "silence", ["group_id", "end_at", "id"])
    op.create_index("ix_silence_end_at", "silence", ["end_at"])
    op.add_column("alarm", sa.Column("first_notified_at", BIGINT))
    op.add_column("alarm", sa.Column("silence_id", TEXT))
    condition = sa.text("silence_id is not null")
    op.create_index(
        "ix_alarm_silence",
        "alarm",
        ["silence_id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
