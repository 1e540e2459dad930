"""Tables of measurements: their keys, what is declared and found, and current values."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

BIGINT, TEXT = sa.BigInteger(), sa.Text()
SERIAL = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "measurement_key",
        sa.Column("number", SERIAL, autoincrement=True, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("path", KEY_TEXT, nullable=False),
        sa.Column("name", KEY_TEXT, nullable=False),
        sa.PrimaryKeyConstraint("number", name="pk_measurement_key"),
        sa.UniqueConstraint("kind", "path", name="uq_measurement_key_kind_path"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_measurement_key_name", "measurement_key", ["name"])
    op.create_table(
        "declared_measurements",
        sa.Column("group_id", BIGINT, autoincrement=False, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("measurements", TEXT, nullable=False),
        sa.Column("updated_at", BIGINT, nullable=False),
        sa.Column("updated_by", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["type"], ["device_type.name"], name="fk_declared_measurements_type"
        ),
        sa.PrimaryKeyConstraint("group_id", "type", name="pk_declared_measurements"),
    )
    op.create_index("ix_declared_measurements_type", "declared_measurements", ["type"])
    op.create_table(
        "found_measurement",
        sa.Column("group_id", BIGINT, autoincrement=False, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("key_number", BIGINT, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("group_id", "type", "key_number", name="pk_found_measurement"),
        sqlite_with_rowid=False,
    )
    is_postgres = op.get_bind().dialect.name == "postgresql"
    slot = sa.Column("slot", sa.SmallInteger(), server_default="0", nullable=False)
    op.create_table(
        "current_value",
        sa.Column("group_id", BIGINT, autoincrement=False, nullable=False),
        sa.Column("key_number", BIGINT, autoincrement=False, nullable=False),
        sa.Column("device_number", BIGINT, autoincrement=False, nullable=False),
        sa.Column("ts", BIGINT),
        sa.Column("seq", BIGINT),
        sa.Column("number", sa.Double()),
        sa.Column("text", TEXT),
        sa.Column("invalid", BIGINT, server_default="0", nullable=False),
        sa.Column("invalid_at", BIGINT),
        *([slot] if is_postgres else []),
        sa.PrimaryKeyConstraint(
            *("group_id", "key_number", "device_number"),
            *(["slot"] if is_postgres else []),
            name="pk_current_value",
        ),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 80},
    )
    op.create_index("ix_current_value_device_number", "current_value", ["device_number"])
