"""Until when the receiver of a channel has asked to get nothing."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("channel", sa.Column("paused_until", sa.BigInteger()))
