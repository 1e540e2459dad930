"""Shared views."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

BIGINT, TEXT = sa.BigInteger(), sa.Text()


def upgrade() -> None:
    op.create_table(
        "share",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("group_id", BIGINT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("subgroups", sa.Boolean(), nullable=False),
        sa.Column("device_ids", TEXT, nullable=False),
        sa.Column("parameters", TEXT, nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("origins", TEXT, nullable=False),
        sa.Column("actor_kind", TEXT, nullable=False),
        sa.Column("actor_id", TEXT, nullable=False),
        sa.Column("created_at", BIGINT, nullable=False),
        sa.Column("expires_at", BIGINT, nullable=False),
        sa.Column("uses", BIGINT, nullable=False),
        sa.Column("first_used_at", BIGINT),
        sa.Column("last_used_at", BIGINT),
        sa.PrimaryKeyConstraint("id", name="pk_share"),
    )
    op.create_index("ix_share_digest", "share", ["digest"], unique=True)
    op.create_index("ix_share_group_id_created_at_id", "share", ["group_id", "created_at", "id"])
    op.create_index("ix_share_expires_at", "share", ["expires_at"])
