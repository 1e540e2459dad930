"""The fleet: devices, the four kinds of records, arrivals and counters."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "activity",
        sa.Column("group_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hour", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "hour", "device_number", name="pk_activity"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "arrival",
        sa.Column("group_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("device_number", sa.BigInteger(), nullable=False),
        sa.Column("ts", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", "seq", name="pk_arrival"),
        postgresql_partition_by="RANGE (seq)",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "counter",
        sa.Column("group_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("second", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("name", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("writer", sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", "second", "name", "writer", name="pk_counter"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "device_state",
        sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=True),
        sa.Column("battery", sa.Text(), nullable=True),
        sa.Column("battery_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("device_number", name="pk_device_state"),
    )
    op.create_table(
        "erasure",
        sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("stay", sa.Integer(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("device_number", "stay", name="pk_erasure"),
        sqlite_with_rowid=False,
    )
    for kind in ("data", "event", "geoloc", "telemetry"):
        op.create_table(
            f"record_{kind}",
            sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
            sa.Column("stay", sa.Integer(), autoincrement=False, nullable=False),
            sa.Column("ts", sa.BigInteger(), autoincrement=False, nullable=False),
            sa.Column("digest", sa.LargeBinary(), nullable=False),
            sa.Column("seq", sa.BigInteger(), nullable=False),
            sa.Column("body", sa.Text(), nullable=False),
            sa.PrimaryKeyConstraint(
                "device_number", "stay", "ts", "digest", name=f"pk_record_{kind}"
            ),
            postgresql_partition_by="RANGE (ts)",
            sqlite_with_rowid=False,
        )
    op.create_table(
        "registration",
        sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sealed_pac", sa.Text(), nullable=False),
        sa.Column("request", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("device_number", name="pk_registration"),
    )
    op.create_table(
        "device",
        sa.Column(
            "number",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.Column("stay", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("network", sa.Text(), nullable=False),
        sa.Column("original_id", sa.Text(), nullable=False),
        sa.Column("original_key", sa.Text(), nullable=False),
        sa.Column("information", sa.Text(), nullable=False),
        sa.Column("configuration", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_device_group_id"),
        sa.ForeignKeyConstraint(["type"], ["device_type.name"], name="fk_device_type"),
        sa.PrimaryKeyConstraint("number", name="pk_device"),
        sa.UniqueConstraint("id", name="uq_device_id"),
        sa.UniqueConstraint("network", "original_key", name="uq_device_network_original_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_device_group_id_number", "device", ["group_id", "number"])
    op.create_index("ix_device_type", "device", ["type"])

    op.create_table(
        "device_stay",
        sa.Column("device_number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("stay", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("group_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["group_id"], ["device_group.id"], name="fk_device_stay_group_id"),
        sa.PrimaryKeyConstraint("device_number", "stay", name="pk_device_stay"),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute(sa.schema.CreateSequence(sa.Sequence("writer_number")))
        for table in (
            "record_data",
            "record_event",
            "record_geoloc",
            "record_telemetry",
            "arrival",
        ):
            op.execute(f"create table {table}_default partition of {table} default")
