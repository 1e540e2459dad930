"""Runs jobs: one step at a time, the users whose groups they are of in turns.

Every process has a runner. A job is leased by one of them; if that process dies, another one takes
over when the lease expires, or on SQLite at the next start, and goes on after the last committed
step.
"""

import asyncio
import contextlib
import time
from collections import Counter
from functools import partial

import structlog

from longwire.clock import SECOND
from longwire.errors import LongwireError, NotAllowed, NotFound, Unavailable
from longwire.jobs import jobs
from longwire.jobs.steps import JobFailed, StepPostponed
from longwire.store import jobs as store
from longwire.store.database import Database
from longwire.store.fair_queue import current_caller

POLL_INTERVAL_S = 0.5
# Renewed by every step, which takes a fraction of a second.
LEASED_FOR = 10 * SECOND
OWNERS_PER_ROUND_MAX = 50
# A step that fails for no known reason, such as two creations of one id at once.
FAILURES_MAX = 3
INTERNAL = "internal"

log = structlog.get_logger()


class JobRunner:
    """Advances the jobs of all groups."""

    def __init__(self, database: Database, running_per_group_max: int) -> None:
        self._database = database
        self._running_max = running_per_group_max
        self._leases: dict[str, int] = {}  # fencing tokens
        self._failures: Counter[str] = Counter()
        self._after = store.BEFORE_ANY_OWNER

    async def run(self) -> None:
        """Until cancelled."""
        if self._database.engine_name == "sqlite":
            await self._database.write(store.release_all)
        try:
            while True:
                # The database is unavailable: the next round retries.
                with contextlib.suppress(LongwireError):
                    while await self._run_round():
                        pass
                await asyncio.sleep(POLL_INTERVAL_S)
        finally:
            leases, self._leases = self._leases, {}
            if leases:
                with contextlib.suppress(LongwireError):
                    await self._database.write(partial(store.release, leases=leases))

    async def _run_round(self) -> bool:
        """A step for each user with open jobs; whether there was any."""
        most = OWNERS_PER_ROUND_MAX
        owners = await self._database.read(lambda tx: store.list_owners(tx, self._after, most))
        self._after = owners[-1] if len(owners) == most else store.BEFORE_ANY_OWNER
        is_busy = len(owners) == most
        for owner in owners:
            token = current_caller.set(owner)
            try:
                is_busy |= await self._run_step(owner)
            finally:
                current_caller.reset(token)
        return is_busy

    async def _run_step(self, owner: str) -> bool:
        """One step for a user; whether there was any."""
        picked = await self._database.read(
            lambda tx: store.pick_next(tx, owner, self._running_max, self._leases)
        )
        if picked is None:
            return False
        fence: int | None = picked.fence
        if not picked.is_mine:
            until = self._database.context.clock.now() + LEASED_FOR
            fence = await self._database.write(partial(store.lease, job_id=picked.id, until=until))
        if fence is None:
            return True
        self._leases[picked.id] = fence
        began_at = time.monotonic()
        is_busy = await self._advance(picked.id, fence)
        # Never more than half of the time, which requests need as well.
        await asyncio.sleep(time.monotonic() - began_at)
        return is_busy

    async def _advance(self, job_id: str, fence: int) -> bool:
        """Do a step; whether there may be another one at once."""
        until = self._database.context.clock.now() + LEASED_FOR
        try:
            job = await self._database.write(
                partial(jobs.advance, job_id=job_id, fence=fence, lease_until=until)
            )
        except Unavailable:
            raise
        except StepPostponed:
            await self._database.write(partial(store.touch, job_id=job_id))
            return False
        except Exception as error:
            code = _code_of(error)
            self._failures[job_id] += 1
            if code == INTERNAL:
                log.exception("job step failed", job=job_id)
                if self._failures[job_id] < FAILURES_MAX:
                    return False
            step = partial(jobs.fail, job_id=job_id, fence=fence, code=code)
            job = await self._database.write(step)
        if job is None or not job.state.is_open:
            self._leases.pop(job_id, None)
            self._failures.pop(job_id, None)
        return True


def _code_of(error: Exception) -> str:
    if isinstance(error, JobFailed):
        return error.code
    if isinstance(error, NotAllowed | NotFound):
        return jobs.NOT_ALLOWED
    return INTERNAL
