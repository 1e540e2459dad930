"""Reports, what became of them, and their files."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

BIGINT, INTEGER, TEXT, BOOLEAN = sa.BigInteger(), sa.Integer(), sa.Text(), sa.Boolean()


def upgrade() -> None:
    op.add_column(
        "device_group", sa.Column("report_count", BIGINT, nullable=False, server_default="0")
    )
    op.create_table(
        "report",
        sa.Column("channel_number", BIGINT, autoincrement=False, nullable=False),
        sa.Column("name", TEXT),
        sa.Column("content", TEXT, nullable=False),
        sa.Column("parameters", TEXT, nullable=False),
        sa.Column("every", TEXT, nullable=False),
        sa.Column("at", TEXT, nullable=False),
        sa.Column("timezone", TEXT, nullable=False),
        sa.Column("format", TEXT, nullable=False),
        sa.Column("actor_kind", TEXT, nullable=False),
        sa.Column("actor_id", TEXT, nullable=False),
        sa.Column("due_at", BIGINT, nullable=False),
        sa.Column("run_at", BIGINT, nullable=False),
        sa.Column("last_run_id", TEXT),
        sa.ForeignKeyConstraint(
            ["channel_number"], ["channel.number"], name="fk_report_channel_number"
        ),
        sa.PrimaryKeyConstraint("channel_number", name="pk_report"),
    )
    op.create_index("ix_report_run_at", "report", ["run_at"])
    op.create_table(
        "report_run",
        sa.Column("id", TEXT, nullable=False),
        sa.Column("channel_number", BIGINT, nullable=False),
        sa.Column("at", BIGINT, nullable=False),
        sa.Column("begin_at", BIGINT, nullable=False),
        sa.Column("end_at", BIGINT, nullable=False),
        sa.Column("is_test", BOOLEAN, nullable=False),
        sa.Column("missed", INTEGER, nullable=False),
        sa.Column("file_name", TEXT, nullable=False),
        sa.Column("row_count", BIGINT, nullable=False),
        sa.Column("byte_count", BIGINT, nullable=False),
        sa.Column("is_stopped", BOOLEAN, nullable=False),
        sa.Column("recipients", INTEGER, nullable=False),
        sa.Column("waiting", INTEGER, nullable=False),
        sa.Column("failed", INTEGER, nullable=False),
        sa.Column("error", TEXT),
        sa.Column("expires_at", BIGINT),
        sa.PrimaryKeyConstraint("id", name="pk_report_run"),
    )
    is_kept = sa.text("expires_at is not null")
    op.create_index(
        "ix_report_run_expires_at",
        "report_run",
        ["expires_at"],
        sqlite_where=is_kept,
        postgresql_where=is_kept,
    )
    op.create_index("ix_report_run_channel_number", "report_run", ["channel_number"])
    op.create_table(
        "report_chunk",
        sa.Column("run_id", TEXT, nullable=False),
        sa.Column("number", BIGINT, autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "number", name="pk_report_chunk"),
    )
