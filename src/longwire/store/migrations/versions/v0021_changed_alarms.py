"""When the state of an alarm changed."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("alarm", sa.Column("changed_at", sa.BigInteger()))
    op.create_index("ix_alarm_group_id_changed_at", "alarm", ["group_id", "changed_at"])
