"""Notifications, and what they remember."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "notification",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("schedule", sa.Text(), nullable=True),
        sa.Column("fired_at", sa.BigInteger(), nullable=True),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_notification"),
    )
    op.create_table(
        "notification_state",
        sa.Column("notification_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("subject", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("raised_at", sa.BigInteger(), nullable=True),
        sa.Column("is_notified", sa.Boolean(), nullable=False),
        sa.Column("as_of", sa.BigInteger(), nullable=True),
        sa.Column("fired_at", sa.BigInteger(), nullable=True),
        sa.Column("held_back", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("notification_number", "subject", name="pk_notification_state"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_notification_state_subject", "notification_state", ["subject"])
