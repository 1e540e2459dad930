"""All channels by which a contact would have got what waits for its grouped message."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("contact_window", sa.Column("channels", sa.Text()))
    op.execute(
        "update contact_window set channels = '[' || notification_number || ']'"
        " where notification_number is not null"
    )
    op.drop_column("contact_window", "notification_number")
    op.drop_column("contact_window", "recipient")
