"""What is said for groups of their limits and their retention, and what is deleted by that."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "group_limits",
        sa.Column("group_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("limits", sa.Text(), nullable=False),
        sa.Column("retention_days", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_group_limits"),
    )
    op.create_table(
        "record_expiry",
        sa.Column("group_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("before", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", "kind", name="pk_record_expiry"),
        sqlite_with_rowid=False,
    )
