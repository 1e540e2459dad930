"""The steps of a job that exports: each reads some rows, and adds them to the file of the job.

Reading and encoding take time, so no transaction is open for writing meanwhile: a step reads about
a megabyte, and stores it with its cursor if the job is still ours. What the rows look like is the
business of the exports, which give a function that reads some.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from longwire.identity import access
from longwire.jobs.kinds import ExportTask, decode_task, permission_of
from longwire.jobs.results import JobFailed, StepResult
from longwire.model import Actor, Job, JobCounts
from longwire.store.archive.archive_reads import NeedsArchive, read_with_archive
from longwire.store.database import Database, Tx, may_lag
from longwire.store.identity import credentials
from longwire.store.jobs import job_results

STEP_BYTES = 1024 * 1024
# Well within the lease.
STEP_SECONDS_MAX = 2.0

TOO_LARGE = "result_too_large"


@dataclass(frozen=True, slots=True)
class ExportedRows:
    """Some rows as they are in the file, and the cursor behind them; None at the end."""

    content: bytes
    count: int
    cursor: str | None


# From a transaction, the starter as they are now, what to export, and a cursor as JSON.
ReadRows = Callable[[Tx, Actor, ExportTask, str], ExportedRows | NeedsArchive[ExportedRows]]


async def export_step(database: Database, job: Job, read: ReadRows) -> ExportedRows:
    """Read the next rows of a job."""
    task = decode_task(job)
    assert isinstance(task, ExportTask)
    contents: list[bytes] = []
    size = count = 0
    cursor: str | None = job.cursor
    deadline = time.monotonic() + STEP_SECONDS_MAX
    while cursor is not None and size < STEP_BYTES and time.monotonic() < deadline:
        token = may_lag.set(True)
        try:
            rows = await read_with_archive(database, partial(_read, job, task, cursor, read))
        finally:
            may_lag.reset(token)
        contents.append(rows.content)
        size += len(rows.content)
        count += rows.count
        cursor = rows.cursor
    return ExportedRows(b"".join(contents), count, cursor)


def _read(
    job: Job, task: ExportTask, cursor: str, read: ReadRows, tx: Tx
) -> ExportedRows | NeedsArchive[ExportedRows]:
    actor = credentials.get_actor(tx, job.actor_kind, job.actor_id)
    if actor is None:
        raise JobFailed("actor_gone")
    access.authorize(tx, actor, permission_of(task), job.group_id)
    return read(tx, actor, task, cursor)


def store_rows(tx: Tx, actor: Actor, job: Job, rows: ExportedRows, bytes_max: int) -> StepResult:
    """Add what was read to the file."""
    access.authorize(tx, actor, permission_of(decode_task(job)), job.group_id)
    size = len(rows.content)
    if job_results.count_bytes(tx, job.owner_id) + size > bytes_max:
        raise JobFailed(TOO_LARGE)
    job_results.append(tx, job, rows.content)
    return StepResult([], rows.cursor, JobCounts(rows.count), added_bytes=size)
