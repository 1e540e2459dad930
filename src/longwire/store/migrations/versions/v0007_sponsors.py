"""Who vouches for a user: on whose account the requests of somebody go who was invited."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("user_account", sa.Column("sponsor_id", sa.Text(), nullable=True))
