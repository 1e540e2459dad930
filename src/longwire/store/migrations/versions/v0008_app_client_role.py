"""A role of its own for an app client; without one it has the default role of its group."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("app_client", sa.Column("role_id", sa.Text()))
    op.create_index("ix_app_client_role_id", "app_client", ["role_id"])
