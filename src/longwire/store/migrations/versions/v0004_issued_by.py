"""Who was shown the link of a session: in the audit log, and of the jobs that it starts."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("audit", "job"):
        op.add_column(table, sa.Column("issued_by", sa.Text()))
