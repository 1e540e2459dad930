"""The files that export jobs have written, in chunks, until they expire."""

from longwire.model import Job
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.statement import Statement

CHUNK_BYTES_MAX = 1024 * 1024

COUNT_BYTES = Statement("""
select coalesce(sum(result_bytes), 0)
from job
where owner_id = :owner
    and result_bytes > 0
""")

LAST_CHUNK = Statement("""
select max(number)
from job_chunk
where job_id = :job
""")

GET_CHUNK = Statement("""
select content
from job_chunk
where job_id = :job
    and number = :number
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

DELETE_CHUNKS = Statement("""
delete from job_chunk
where job_id = :job
    and number in (
        select number
        from job_chunk
        where job_id = :job
        order by number
        limit :most
    )
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
    last = tx.fetch(LAST_CHUNK, job=job.id)[0][0]
    first = 0 if last is None else last + 1
    parts = [
        content[start : start + CHUNK_BYTES_MAX]
        for start in range(0, len(content), CHUNK_BYTES_MAX)
    ]
    rows = [
        (job.id, number, tx.keyring.seal_bytes(part, _purpose(job.id, number)))
        for number, part in enumerate(parts, first)
    ]
    for row in rows:  # one by one: each is large
        insert_many(tx, schema.job_chunk, ("job_id", "number", "content"), [row])


def read_chunk(tx: Tx, job: Job, number: int) -> bytes | None:
    """A part of the file; None behind its end."""
    rows = tx.fetch(GET_CHUNK, job=job.id, number=number)
    return tx.keyring.unseal_bytes(rows[0][0], _purpose(job.id, number)) if rows else None


def prune(tx: Tx, most: int) -> int:
    """Delete some chunks of a file that has expired; how many rows were changed."""
    rows = tx.fetch(LOCK_EXPIRED, now=tx.now)
    if not rows:
        return 0
    (job_id,) = rows[0]
    deleted = delete_some(tx, job_id, most)
    if deleted < most:
        tx.run(CLEAR_RESULT, job=job_id)
    return deleted + 1


def delete_some(tx: Tx, job_id: str, most: int) -> int:
    return tx.run(DELETE_CHUNKS, job=job_id, most=most)


def _purpose(job_id: str, number: int) -> str:
    return f"job_chunk|{job_id}|{number}"
