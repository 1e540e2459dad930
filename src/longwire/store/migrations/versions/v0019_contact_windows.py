"""How many messages about alarms a contact got in a minute."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

BIGINT, INTEGER, TEXT = sa.BigInteger(), sa.Integer(), sa.Text()


def upgrade() -> None:
    op.create_table(
        "contact_window",
        sa.Column("contact", TEXT, nullable=False),
        sa.Column("group_id", BIGINT, nullable=False),
        sa.Column("minute", BIGINT, nullable=False),
        sa.Column("sent", INTEGER, nullable=False),
        sa.Column("raised", INTEGER, nullable=False),
        sa.Column("critical", INTEGER, nullable=False),
        sa.Column("resolved", INTEGER, nullable=False),
        sa.Column("first", TEXT),
        sa.Column("notification_number", BIGINT),
        sa.Column("recipient", TEXT, nullable=False),
        sa.Column("due_at", BIGINT),
        sa.PrimaryKeyConstraint("contact", name="pk_contact_window"),
    )
    condition = sa.text("due_at is not null")
    op.create_index(
        "ix_contact_window_due",
        "contact_window",
        ["group_id", "due_at"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
