"""Rate limits, lists of delays and ordered messages of channels; what they have given up."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    columns: list[sa.Column[Any]] = [
        sa.Column("retry_delays", sa.Text(), nullable=False, server_default="[]"),
        sa.Column("max_per_s", sa.Float()),
        sa.Column("rate_taken_until", sa.BigInteger()),
        sa.Column("is_ordered", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("given_up", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("given_up_at", sa.BigInteger()),
        sa.Column("given_up_error", sa.Text()),
    ]
    for column in columns:
        op.add_column("channel", column)
    op.add_column("delivery", sa.Column("is_ordered", sa.Boolean()))
    condition = sa.text("is_ordered and state < 2")
    op.create_index(
        "ix_delivery_ordered",
        "delivery",
        ["channel_number", "device_id", "state", "seq"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
