"""Networks: decoders, what is expected of devices, messages to them, registration; purposes."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "device_watch",
        sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=True),
        sa.Column("sequence_at", sa.BigInteger(), nullable=True),
        sa.Column("missing", sa.Text(), nullable=True),
        sa.Column("silent_at", sa.BigInteger(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("device_number", name="pk_device_watch"),
    )
    op.create_index("ix_device_watch_due_at", "device_watch", ["due_at"])
    op.create_index(
        "ix_device_watch_silent",
        "device_watch",
        ["device_number"],
        sqlite_where=sa.text("silent_at is not null"),
        postgresql_where=sa.text("silent_at is not null"),
    )
    # Every device that is there already is looked at once, to see what is expected of it.
    op.execute("insert into device_watch (device_number, due_at) select number, 0 from device")

    op.create_table(
        "network_link",
        sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("sealed_key", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("device_number", name="pk_network_link"),
    )

    op.create_table(
        "downlink",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("device_number", sa.BigInteger(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("port", sa.Integer(), nullable=True),
        sa.Column("is_confirmed", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("reference", sa.Text(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_downlink_group_id"),
        sa.PrimaryKeyConstraint("id", name="pk_downlink"),
    )
    op.create_index(
        "ix_downlink_device_number_created_at", "downlink", ["device_number", "created_at"]
    )
    op.create_index("ix_downlink_state_expires_at", "downlink", ["state", "expires_at"])

    op.create_table(
        "lease",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("until_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_lease"),
    )

    op.add_column(
        "connector",
        sa.Column("purpose", sa.Text(), server_default="connector", nullable=False),
    )
    op.add_column("device_type", sa.Column("decoder", sa.Text(), nullable=True))
    op.add_column("device_type", sa.Column("decoder_source", sa.Text(), nullable=True))
    op.add_column("registration", sa.Column("answer", sa.Text(), nullable=True))
    op.add_column("registration", sa.Column("seq", sa.BigInteger(), nullable=True))
    op.create_index("ix_registration_state", "registration", ["state"])
