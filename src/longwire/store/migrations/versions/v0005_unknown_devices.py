"""A table for messages of devices that a group does not have."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

KEY_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "unknown_device",
        sa.Column("group_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("network", sa.Text(), nullable=False),
        sa.Column("original_key", KEY_TEXT, nullable=False),
        sa.Column("original_id", sa.Text(), nullable=False),
        sa.Column("quota_user_id", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text()),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("messages", sa.BigInteger(), nullable=False),
        sa.Column("sealed", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("group_id", "network", "original_key", name="pk_unknown_device"),
    )
    for columns in (["network", "original_key"], ["quota_user_id", "last_at"], ["last_at"]):
        op.create_index(f"ix_unknown_device_{'_'.join(columns)}", "unknown_device", columns)
