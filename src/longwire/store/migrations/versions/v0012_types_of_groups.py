"""Device types that belong to a group and those below it."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("device_type", sa.Column("group_id", sa.BigInteger()))
    op.create_index("ix_device_type_home", "device_type", ["group_id"])
