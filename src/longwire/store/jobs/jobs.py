"""Jobs, their leases, and the results for single devices."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from longwire.clock import Moment
from longwire.model import (
    Job,
    JobItem,
    JobState,
)
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.fleet import device_bin
from longwire.store.jobs import job_results
from longwire.store.leases import LeasedRows
from longwire.store.rows import GroupRows, Rows
from longwire.store.statement import Statement, build_limited_delete

_item = schema.job_item
OPEN_STATES = [each for each in JobState if each.is_open]
JOBS = GroupRows(Job, schema.job)
JOB_ITEMS = Rows(JobItem, _item, "job_id", "number")
JOB_LEASES = LeasedRows("job", "id", token="fence", only="and state in ('waiting', 'running')")

NEXT_OWNER = Statement("""
select min(owner_id)
from job
where owner_id > :after
    and state in ('waiting', 'running')
""")

# The oldest first; the rest of a long queue waits.
LIST_OPEN = Statement("""
select id, kind, group_id, updated_at, lease_until, fence
from job
where owner_id = :owner
    and state in ('waiting', 'running')
order by created_at
limit :most
""")

_LEASED = """
select {columns}
from job
where id = :id
    and fence = :fence
    and state in ('waiting', 'running')
"""
_COLUMNS = JOBS.sql()
GET_LEASED = Statement(_LEASED, columns=_COLUMNS)
LOCK_LEASED = Statement(_LEASED + "{lock}", columns=_COLUMNS)

END_UNDO = Statement("""
update job
set undo_until = null
where id = :id
""")

TOUCH = Statement("""
update job
set updated_at = :now
where id = :id
    and fence = :fence
    and state in ('waiting', 'running')
""")

LAST_ITEM = Statement("""
select max(number)
from job_item
where job_id = :job
""")

MARK_UNDONE = Statement("""
update job_item
set outcome = 'undone'
where job_id = :job
    and number {in:numbers}
""")

# Items without a use: of jobs that ended long ago, or that nothing can be undone of any more.
LIST_ENDED = Statement("""
select id
from job
where ended_at < :before
order by ended_at
limit 1
""")

# Not while an undo is under way. Locked: of two processes one cleans up after a job.
LOCK_PAST_UNDO = Statement("""
select j.id
from job j
where j.undo_until <= :now
    and not exists (
        select 1
        from job u
        where u.id = j.undone_by
            and u.state in ('waiting', 'running')
    )
order by j.undo_until
limit 1
{skip_locked:j}
""")

LIST_OF_GROUP = Statement("""
select id
from job
where group_id = :home
limit 1
""")

DELETE_ITEMS = build_limited_delete("job_item", "number", within="job_id = :job", order="number")

DELETE_CHANGED_ITEMS = build_limited_delete(
    "job_item", "number", within="job_id = :job", where="outcome in ('changed', 'undone')"
)

BEFORE_ANY_OWNER = ""
JOBS_PER_OWNER_MAX = 1_000
DEVICES_PER_STEP_MAX = 200  # to erase
CHUNKS_PER_STEP_MAX = 16  # to delete, of a megabyte each


class PickedJob(NamedTuple):
    """A job to run next, and its fencing token if this process has leased it."""

    id: str
    kind: str
    fence: int
    is_mine: bool


# --- jobs ---


def save(tx: Tx, before: Job, after: Job) -> None:
    """Save what changes while a job runs."""
    JOBS.save(tx, before, replace(after, updated_at=tx.now))


# --- leases ---


def list_owners(tx: Tx, after: str, most: int) -> list[str]:
    """Users with open jobs, after one of them."""
    found: list[str] = []
    while len(found) < most:
        owner = tx.fetch(NEXT_OWNER, after=after)[0][0]
        if owner is None:
            break
        found.append(owner)
        after = owner
    return found


def pick_next(
    tx: Tx,
    owner_id: str,
    running_max: int,
    mine: Mapping[str, int],
    can_run: Callable[[str, str], bool],
) -> PickedJob | None:
    """The job of a user whose last step is longest ago; None if there is none to run.

    Of each group only the oldest run, `running_max` of them. `mine` has the fencing tokens of the
    leases that this process holds; `can_run` says by id and kind whether it could run a job now.
    """
    by_group: Counter[int] = Counter()
    runnable = []
    values = {"owner": owner_id, "most": JOBS_PER_OWNER_MAX}
    for job_id, kind, group, updated_at, lease_until, fence in tx.fetch(LIST_OPEN, **values):
        by_group[group] += 1
        is_mine = mine.get(job_id) == fence
        is_free = is_mine or lease_until <= tx.now
        if by_group[group] <= running_max and is_free and can_run(job_id, kind):
            runnable.append((updated_at, PickedJob(job_id, kind, fence, is_mine)))
    return min(runnable)[1] if runnable else None


def get_leased(tx: Tx, job_id: str, fence: int) -> Job | None:
    """The job as it is now; None if it has ended, or is leased by another process."""
    row = tx.first(GET_LEASED, id=job_id, fence=fence)
    return JOBS.parse(row) if row else None


def lock_leased(tx: Tx, job_id: str, fence: int) -> Job | None:
    """The same, locked."""
    row = tx.first(LOCK_LEASED, id=job_id, fence=fence)
    return JOBS.parse(row) if row else None


def touch(tx: Tx, job_id: str, fence: int) -> bool:
    """It had its turn; whether it is still open, and leased by this process."""
    return tx.run(TOUCH, id=job_id, fence=fence, now=tx.now) == 1


# --- items ---


def insert_items(tx: Tx, job_id: str, items: Sequence[JobItem]) -> None:
    if not items:
        return
    last = tx.fetch(LAST_ITEM, job=job_id)[0][0] or 0
    insert_many(
        tx,
        _item,
        ("job_id", "number", "object_id", "outcome", "code", "old_values", "new_digest"),
        [
            (
                job_id,
                number,
                each.object_id,
                each.outcome.value,
                each.code,
                each.old_values,
                each.new_digest,
            )
            for number, each in enumerate(items, last + 1)
        ],
    )


def mark_undone(tx: Tx, job_id: str, numbers: Sequence[int]) -> None:
    if numbers:
        tx.run(MARK_UNDONE, job=job_id, numbers=numbers)


# --- deletion ---


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete some items and files without a use, or a job that ended before a moment.

    How many rows.
    """
    deleted = job_results.prune(tx, CHUNKS_PER_STEP_MAX)
    if deleted:
        return deleted
    rows = tx.fetch(LOCK_PAST_UNDO, now=tx.now)
    if rows:
        (job_id,) = rows[0]
        erased = device_bin.erase_some_of_job(tx, job_id, min(most, DEVICES_PER_STEP_MAX))
        if erased:
            return erased
        deleted = tx.run(DELETE_CHANGED_ITEMS, job=job_id, most=most)
        if deleted < most:
            tx.run(END_UNDO, id=job_id)
        return deleted + 1
    rows = tx.fetch(LIST_ENDED, before=before)
    return _delete_some(tx, rows[0][0], most) if rows else 0


def delete_some_of_group(tx: Tx, group_id: str, most: int) -> int:
    """Delete some rows of the jobs of a deleted group; how many."""
    rows = tx.fetch(LIST_OF_GROUP, home=schema.group_number(group_id))
    return _delete_some(tx, rows[0][0], most) if rows else 0


def _delete_some(tx: Tx, job_id: str, most: int) -> int:
    deleted = job_results.FILES.delete_some(tx, job_id, CHUNKS_PER_STEP_MAX)
    if deleted:
        return deleted
    deleted = tx.run(DELETE_ITEMS, job=job_id, most=most)
    if deleted < most:
        deleted += JOBS.delete(tx, job_id)
    return deleted
