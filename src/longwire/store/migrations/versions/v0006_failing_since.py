"""Since when a channel fails, and how often its filter could not be evaluated."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("channel", sa.Column("failing_since", sa.BigInteger()))
    for name in ("filter_evaluated", "filter_failed"):
        column = sa.Column(name, sa.Integer(), server_default="0", nullable=False)
        op.add_column("channel", column)
    op.add_column("channel", sa.Column("filter_failing_since", sa.BigInteger()))
