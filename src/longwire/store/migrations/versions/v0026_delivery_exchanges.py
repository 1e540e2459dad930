"""Requests of deliveries and the responses to them, as far as they are kept."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

BIGINT, INTEGER, TEXT = sa.BigInteger(), sa.Integer(), sa.Text()


def upgrade() -> None:
    op.create_table(
        "delivery_exchange",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("channel_number", BIGINT, nullable=False),
        sa.Column("at", BIGINT, nullable=False),
        sa.Column("size", INTEGER, nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_delivery_exchange"),
    )
    op.create_index(
        "ix_delivery_exchange_channel_number", "delivery_exchange", ["channel_number", "at", "id"]
    )
    op.create_index("ix_delivery_exchange_at", "delivery_exchange", ["at"])
