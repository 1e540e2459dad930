"""Tables of jobs: work that is too large for one request."""

import sqlalchemy as sa

from longwire.store.schema.base import GroupNumber, metadata, moment, partial_index

_IS_OPEN_JOB = "state in ('waiting', 'running')"

job = sa.Table(
    "job",
    metadata,
    # Work that is too large for one request, how far it is, and what became of it.
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("group_id", GroupNumber, nullable=False),
    # In whose turn it runs: the user whose quota the group counts for.
    sa.Column("owner_id", sa.Text, nullable=False),
    # Who started it, in which request, and why.
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor_id", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("task", sa.Text, nullable=False),  # JSON: what to do
    sa.Column("selection", sa.Text, nullable=False),  # JSON: with which devices
    # waiting, running, succeeded, failed, cancelled; and the code of why it failed
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("total", sa.BigInteger),
    sa.Column("done", sa.BigInteger, nullable=False),
    sa.Column("changed", sa.BigInteger, nullable=False),
    sa.Column("skipped", sa.BigInteger, nullable=False),
    sa.Column("failed", sa.BigInteger, nullable=False),
    sa.Column("kept_characters", sa.BigInteger, nullable=False),  # for an undo
    sa.Column("cursor", sa.Text, nullable=False),  # JSON: everything up to it is done
    sa.Column("undo_of", sa.Text),
    sa.Column("undone_by", sa.Text),
    moment("undo_until", required=False),  # null if there is nothing to undo any more
    # Of the file that it has written; 0 and null once that is deleted.
    sa.Column("result_bytes", sa.BigInteger, nullable=False),
    moment("result_until", required=False),
    # The fencing token of the last lease.
    sa.Column("fence", sa.BigInteger, nullable=False),
    moment("lease_until"),
    moment("created_at"),
    moment("started_at", required=False),
    moment("updated_at"),
    moment("ended_at", required=False),
    sa.Column("issued_by", sa.Text),  # as in the audit log
    # Answers: the jobs of a group, newest first; those in one state.
    sa.Index("ix_job_group_id_created_at", "group_id", "created_at", "id"),
    sa.Index("ix_job_group_id_state", "group_id", "state", "created_at", "id"),
    # Answers: whose jobs are to be run? which of them, and in which order?
    partial_index("ix_job_open", "owner_id", "created_at", where=_IS_OPEN_JOB),
    # Answers: which jobs ended long ago? of which can nothing be undone any more?
    partial_index("ix_job_ended_at", "ended_at", where="ended_at is not null"),
    partial_index("ix_job_undo_until", "undo_until", where="undo_until is not null"),
    # Answers: which files have expired? how much is kept for this user?
    partial_index("ix_job_result_until", "result_until", where="result_until is not null"),
    partial_index("ix_job_result_bytes", "owner_id", where="result_bytes > 0"),
)

job_chunk = sa.Table(
    "job_chunk",
    metadata,
    # The file that an export job writes, sealed, in parts of a megabyte at most.
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("content", sa.LargeBinary, nullable=False),
)

job_item = sa.Table(
    "job_item",
    metadata,
    # What a job did with a device: what an undo needs, and what it could not do.
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("object_id", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),  # changed, undone, skipped, failed
    sa.Column("code", sa.Text),
    # JSON: the fields that it changed, as they were before; and a digest of the new values.
    sa.Column("old_values", sa.Text),
    sa.Column("new_digest", sa.Text),
    # Answers: the items with one outcome, in order.
    sa.Index("ix_job_item_job_id_outcome_number", "job_id", "outcome", "number"),
    sqlite_with_rowid=False,
)
