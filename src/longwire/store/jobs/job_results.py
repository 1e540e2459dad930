"""The files that export jobs have written, in chunks, until they expire."""

from longwire.model import Job
from longwire.store.database import Tx
from longwire.store.file_parts import FileParts
from longwire.store.statement import Statement

FILES = FileParts("job_chunk", "job_id")

COUNT_BYTES = Statement("""
select coalesce(sum(result_bytes), 0)
from job
where owner_id = :owner
    and result_bytes > 0
""")

# Locked: of two processes one deletes.
LOCK_EXPIRED = Statement("""
select id
from job
where result_until <= :now
order by result_until
limit 1
{skip_locked}
""")

CLEAR_RESULT = Statement("""
update job
set result_until = null,
    result_bytes = 0
where id = :job
""")


def count_bytes(tx: Tx, owner_id: str) -> int:
    """What is kept for the groups of a user."""
    return int(tx.fetch(COUNT_BYTES, owner=owner_id)[0][0])


def append(tx: Tx, job: Job, content: bytes) -> None:
    """Add to the file of a job."""
    FILES.append(tx, job.id, content)


def read_chunk(tx: Tx, job: Job, number: int) -> bytes | None:
    """A part of the file; None behind its end."""
    return FILES.read(tx, job.id, number)


def prune(tx: Tx, most: int) -> int:
    """Delete some chunks of a file that has expired; how many rows were changed."""
    rows = tx.fetch(LOCK_EXPIRED, now=tx.now)
    if not rows:
        return 0
    (job_id,) = rows[0]
    deleted = FILES.delete_some(tx, job_id, most)
    if deleted < most:
        tx.run(CLEAR_RESULT, job=job_id)
    return deleted + 1
