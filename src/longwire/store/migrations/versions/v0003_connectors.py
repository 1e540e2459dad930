"""Messages out: connectors, their deliveries, replays."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "delivery",
        sa.Column("connector_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("device_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.SmallInteger(), nullable=False),
        sa.Column("first_end", sa.SmallInteger(), nullable=True),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("lease_token", sa.BigInteger(), nullable=True),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column("stored_until", sa.BigInteger(), nullable=True),
        sa.Column("resent_before", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("context", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("connector_number", "seq", name="pk_delivery"),
        postgresql_with={"fillfactor": 70, "autovacuum_vacuum_scale_factor": 0.02},
        sqlite_with_rowid=False,
    )
    op.create_index("ix_delivery_changed", "delivery", ["connector_number", "changed_at", "state"])
    op.create_index(
        "ix_delivery_due",
        "delivery",
        ["connector_number", "due_at", "seq"],
        sqlite_where=sa.text("state = 0"),
        postgresql_where=sa.text("state = 0"),
    )
    op.create_index(
        "ix_delivery_failed",
        "delivery",
        ["connector_number", "seq"],
        sqlite_where=sa.text("state = 3"),
        postgresql_where=sa.text("state = 3"),
    )
    op.create_index(
        "ix_delivery_lease",
        "delivery",
        ["lease_until"],
        sqlite_where=sa.text("state = 1"),
        postgresql_where=sa.text("state = 1"),
    )
    op.create_index(
        "ix_delivery_open",
        "delivery",
        ["connector_number", "created_at"],
        sqlite_where=sa.text("state < 2"),
        postgresql_where=sa.text("state < 2"),
    )
    op.create_index(
        "ix_delivery_resent",
        "delivery",
        ["connector_number"],
        sqlite_where=sa.text("resent_before is not null and state < 2"),
        postgresql_where=sa.text("resent_before is not null and state < 2"),
    )
    op.create_index(
        "ix_delivery_stored",
        "delivery",
        ["stored_until"],
        sqlite_where=sa.text("state = 3"),
        postgresql_where=sa.text("state = 3"),
    )

    op.create_table(
        "replay",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("connector_number", sa.BigInteger(), nullable=False),
        sa.Column("begin_at", sa.BigInteger(), nullable=False),
        sa.Column("end_at", sa.BigInteger(), nullable=False),
        sa.Column("at_group", sa.BigInteger(), nullable=False),
        sa.Column("at_seq", sa.BigInteger(), nullable=False),
        sa.Column("until_seq", sa.BigInteger(), nullable=False),
        sa.Column("records_scanned", sa.BigInteger(), nullable=False),
        sa.Column("queued", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_replay"),
    )
    op.create_index("ix_replay_connector_number", "replay", ["connector_number"])
    op.create_index(
        "ix_replay_running",
        "replay",
        ["state"],
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )

    op.create_table(
        "connector",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("sealed_params", sa.Text(), nullable=False),
        sa.Column("subgroups", sa.Boolean(), nullable=False),
        sa.Column("device_types", sa.Text(), nullable=False),
        sa.Column("device_ids", sa.Text(), nullable=False),
        sa.Column("message_filter", sa.Text(), nullable=True),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("storing_s", sa.Integer(), nullable=False),
        sa.Column("retry_delay_s", sa.Integer(), nullable=True),
        sa.Column("retries_max", sa.Integer(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.Column("error_at", sa.BigInteger(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("resend_before", sa.BigInteger(), nullable=True),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_connector_group_id"),
        sa.PrimaryKeyConstraint("number", name="pk_connector"),
        sa.UniqueConstraint("id", name="uq_connector_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_connector_group_id_number", "connector", ["group_id", "number"])
