"""Contact points, and what uses them."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "device_group",
        sa.Column("contact_point_count", sa.BigInteger(), nullable=False, server_default="0"),
    )
    op.create_table(
        "contact_point",
        sa.Column("channel_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text()),
        sa.Column("description", sa.Text()),
        sa.Column("subgroups", sa.Boolean(), nullable=False),
        sa.Column("sent_at", sa.BigInteger()),
        sa.ForeignKeyConstraint(
            ["channel_number"], ["channel.number"], name="fk_contact_point_channel_number"
        ),
        sa.PrimaryKeyConstraint("channel_number", name="pk_contact_point"),
    )
    op.create_table(
        "contact_point_use",
        sa.Column("contact_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("channel_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("contact_number", "channel_number", name="pk_contact_point_use"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_contact_point_use_channel_number", "contact_point_use", ["channel_number"])
