"""Changes of alarms and of the registry, which connectors may ask for."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("connector", sa.Column("kinds", sa.Text(), nullable=False, server_default="[]"))
    op.create_table(
        "change_message",
        sa.Column("seq", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("other_group_id", sa.BigInteger()),
        sa.Column("is_for_both", sa.Boolean(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("device_id", sa.Text(), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("cause", sa.BigInteger()),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_change_message_group_id_seq", "change_message", ["group_id", "seq"])
