"""When a device came into its group, and a group below its parent."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device", sa.Column("joined_at", sa.BigInteger()))
    op.add_column("device_group", sa.Column("moved_at", sa.BigInteger()))
