"""Tables of reports: what is sent on a schedule, what became of it, and its files."""

import sqlalchemy as sa

from longwire.store.schema.base import metadata, moment, partial_index
from longwire.store.schema.channels import channel

report = sa.Table(
    "report",
    metadata,
    # What is sent every day, week or month through the channel.
    sa.Column(
        "channel_number",
        sa.BigInteger,
        sa.ForeignKey(channel.c.number),
        primary_key=True,
        autoincrement=False,
    ),
    sa.Column("name", sa.Text),
    sa.Column("content", sa.Text, nullable=False),
    sa.Column("parameters", sa.Text, nullable=False),  # JSON
    sa.Column("every", sa.Text, nullable=False),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("timezone", sa.Text, nullable=False),
    sa.Column("format", sa.Text, nullable=False),
    # With whose permissions it is read: of who created it or changed it last.
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    # When the schedule says so next, and when it is to run, which may be earlier: as a test.
    moment("due_at"),
    moment("run_at"),
    sa.Column("last_run_id", sa.Text),
    # Answers: what is to run?
    sa.Index("ix_report_run_at", "run_at"),
)

report_run = sa.Table(
    "report_run",
    metadata,
    # What became of a report once.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("channel_number", sa.BigInteger, nullable=False),
    moment("at"),
    moment("begin_at"),
    moment("end_at"),
    sa.Column("is_test", sa.Boolean, nullable=False),
    sa.Column("missed", sa.Integer, nullable=False),  # earlier ones that were never sent
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("row_count", sa.BigInteger, nullable=False),
    sa.Column("byte_count", sa.BigInteger, nullable=False),
    sa.Column("is_stopped", sa.Boolean, nullable=False),
    # Of its recipients: all, those that wait, and those that it could not be sent to.
    sa.Column("recipients", sa.Integer, nullable=False),
    sa.Column("waiting", sa.Integer, nullable=False),
    sa.Column("failed", sa.Integer, nullable=False),
    sa.Column("error", sa.Text),
    moment("expires_at", required=False),  # its file; null once that is deleted
    # Answers: which files have expired? what are the runs of a report?
    partial_index("ix_report_run_expires_at", "expires_at", where="expires_at is not null"),
    sa.Index("ix_report_run_channel_number", "channel_number"),
)

report_chunk = sa.Table(
    "report_chunk",
    metadata,
    # The file of a run, sealed, in parts of a megabyte at most; its chart is number -1.
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
