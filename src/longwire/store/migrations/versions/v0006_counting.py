"""How far a device has counted moves to what changes with every message anyway."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_MOVED = ("sequence", "sequence_at", "missing")


def upgrade() -> None:
    op.add_column("device_state", sa.Column("sequence", sa.BigInteger(), nullable=True))
    op.add_column("device_state", sa.Column("sequence_at", sa.BigInteger(), nullable=True))
    op.add_column("device_state", sa.Column("missing", sa.Text(), nullable=True))
    op.execute(
        "insert into device_state (device_number, sequence, sequence_at, missing)"
        " select device_number, sequence, sequence_at, missing from device_watch"
        " where sequence is not null"
        " on conflict (device_number) do update set sequence = excluded.sequence,"
        " sequence_at = excluded.sequence_at, missing = excluded.missing"
    )
    for name in _MOVED:
        op.drop_column("device_watch", name)
    op.create_table(
        "cache_epoch",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_cache_epoch"),
    )
    op.execute("insert into cache_epoch (name, epoch) select 'auth', epoch from auth_epoch")
    op.execute("insert into cache_epoch (name, epoch) values ('config', 0), ('records', 0)")
    op.drop_table("auth_epoch")
    op.create_table(
        "config_change",
        sa.Column("group_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("group_id", name="pk_config_change"),
    )
    op.create_index("ix_config_change_epoch", "config_change", ["epoch"])
