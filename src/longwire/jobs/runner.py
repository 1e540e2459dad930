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

from longwire.clock import SECOND, Moment
from longwire.delivery.channels import DispatchContext
from longwire.errors import LongwireError, NotAllowed, NotFound, Unavailable
from longwire.fleet.computing import Computing
from longwire.jobs import jobs
from longwire.jobs.exporting import ReadRows, export_step
from longwire.jobs.kinds import EXPORT, PREPARED
from longwire.jobs.redecoding import decode_step
from longwire.jobs.results import JobFailed, StepPostponed
from longwire.jobs.steps import PreparedStep, StepContext
from longwire.model import Job
from longwire.spans import FindTraceparent, Tracer, step_span
from longwire.store.database import Database, Tx, Work
from longwire.store.jobs import jobs as store
from longwire.store.jobs.jobs import PickedJob
from longwire.store.leases import StoredLeases
from longwire.work.leases import HeldLeases
from longwire.work.stepper import DoneStep, Stepper
from longwire.work.turns import CallerKey, current_caller

POLL_INTERVAL_S = 0.5
# Renewed by every step, and while one is prepared, which may have to wait for its turn.
LEASED_FOR_S = 10.0
RENEW_INTERVAL_S = 2.5
OWNERS_PER_ROUND_MAX = 50
# Steps that are prepared at once, outside of transactions; each may hold some megabytes.
PREPARING_MAX = 4
# A step that fails for no known reason, such as two creations of one id at once.
FAILURES_MAX = 3
INTERNAL = "internal"
# All jobs of an owner, among its callers.
JOBS = "jobs"

log = structlog.get_logger()


class JobRunner:
    """Advances the jobs of all groups."""

    def __init__(
        self,
        database: Database,
        dispatch: DispatchContext,
        computing: Computing,
        running_per_group_max: int,
        read_rows: ReadRows,
        export_bytes_max: int,
        tracer: Tracer | None = None,
    ) -> None:
        """`read_rows` reads some rows of an export."""
        self._database = database
        self._dispatch = dispatch
        self._computing = computing
        self._read_rows = read_rows
        self._tracer = tracer
        self.export_bytes_max = export_bytes_max
        self._running_max = running_per_group_max
        stored = StoredLeases(database, store.JOB_LEASES)
        self._leases = HeldLeases(stored, database.context.clock, LEASED_FOR_S)
        self._failures: Counter[str] = Counter()
        # Under the leases that we hold: a step that was prepared under another one is dropped.
        self._preparing: dict[str, asyncio.Task[PreparedStep | None]] = {}
        self._renew_at = 0.0
        self._stepper: Stepper[str] = Stepper(
            "step of a job",
            self._list_owners,
            self._run_step,
            before_any=store.BEFORE_ANY_OWNER,
            owners_max=OWNERS_PER_ROUND_MAX,
            interval_s=POLL_INTERVAL_S,
        )

    async def run(self) -> None:
        """Until cancelled."""
        if self._database.engine_name == "sqlite":
            await self._database.write(store.JOB_LEASES.release_all)
        try:
            await self._stepper.run()
        finally:
            await self._stop()

    async def _stop(self) -> None:
        """Release the leases, so that another process goes on at once."""
        for task in self._preparing.values():
            task.cancel()
        await asyncio.gather(*self._preparing.values(), return_exceptions=True)
        self._preparing.clear()
        with contextlib.suppress(LongwireError):
            await self._leases.release_all()

    async def _list_owners(self, after: str, most: int) -> list[str]:
        """Users with open jobs."""
        await self._renew_leases()
        return await self._database.read(lambda tx: store.list_owners(tx, after, most))

    async def _run_step(self, owner: str) -> DoneStep | None:
        """One step for a user."""
        await self._renew_leases()
        token = current_caller.set(CallerKey(owner, JOBS))
        try:
            picked = await self._database.read(
                lambda tx: store.pick_next(
                    tx, owner, self._running_max, self._leases.tokens, self._can_run
                )
            )
            fence = await self._lease(picked) if picked is not None else None
            if picked is None or fence is None:
                return None
            prepared: asyncio.Task[PreparedStep | None] | None = None
            if picked.kind in PREPARED:
                prepared = self._preparing.pop(picked.id, None)
                if prepared is None:
                    self._start_preparing(picked.id, fence)
                    return None
            began_at = time.monotonic()
            is_busy = await self._advance(picked, fence, prepared)
            return DoneStep(time.monotonic() - began_at, is_busy)
        finally:
            current_caller.reset(token)

    def _can_run(self, job_id: str, kind: str) -> bool:
        """Neither while its step is prepared, nor while too many of others are."""
        preparing = self._preparing.get(job_id)
        if preparing is not None:
            return preparing.done()
        return kind not in PREPARED or len(self._preparing) < PREPARING_MAX

    async def _lease(self, picked: PickedJob) -> int | None:
        """The fencing token of our lease."""
        if picked.is_mine:
            return picked.fence
        self._forget(picked.id)  # what is left of an earlier lease
        return await self._leases.claim(picked.id)

    async def _renew_leases(self) -> None:
        """Those of the steps that are prepared; forget the jobs that are not ours any more."""
        if time.monotonic() < self._renew_at:
            return
        self._renew_at = time.monotonic() + RENEW_INTERVAL_S
        for job_id in await self._leases.renew(self._preparing):
            self._forget(job_id)
        for job_id in await self._leases.find_lost():
            self._forget(job_id)

    def _lease_until(self) -> Moment:
        return self._database.context.clock.now() + int(LEASED_FOR_S * SECOND)

    def _start_preparing(self, job_id: str, fence: int) -> None:
        """Read and decode beside the steps of others."""
        task = asyncio.create_task(self._prepare(job_id, fence), name=f"step of {job_id}")
        task.add_done_callback(self._on_prepared)
        self._preparing[job_id] = task

    def _on_prepared(self, task: "asyncio.Task[PreparedStep | None]") -> None:
        self._stepper.wakeup.notify()
        if not task.cancelled():
            task.exception()  # retrieved even if the step is dropped

    async def _prepare(self, job_id: str, fence: int) -> PreparedStep | None:
        job = await self._database.read(partial(store.get_leased, job_id=job_id, fence=fence))
        if job is None:
            return None
        if job.kind == EXPORT:
            rows = await export_step(self._database, job, self._read_rows)
            return PreparedStep(rows, job.cursor)
        return PreparedStep(await decode_step(self._database, self._computing, job), job.cursor)

    async def _advance(
        self, picked: PickedJob, fence: int, preparing: "asyncio.Task[PreparedStep | None] | None"
    ) -> bool:
        """Do a step; whether there may be another one at once."""
        job_id = picked.id
        try:
            prepared = None if preparing is None else await preparing
            context = StepContext(self._dispatch, prepared, self.export_bytes_max)
            step = partial(
                jobs.advance,
                job_id=job_id,
                fence=fence,
                lease_until=self._lease_until(),
                context=context,
            )
            attributes = {"longwire.job.id": job_id}
            with step_span(self._tracer, f"job {picked.kind}", attributes) as find_traceparent:
                job = await self._database.write(partial(_run_traced, step, find_traceparent))
        except Unavailable:
            raise
        except StepPostponed:
            if not await self._database.write(partial(store.touch, job_id=job_id, fence=fence)):
                self._forget(job_id)
            return False
        except Exception as error:
            return await self._handle_failure(job_id, fence, error)
        self._forget_ended(job_id, job)
        return True

    async def _handle_failure(self, job_id: str, fence: int, error: Exception) -> bool:
        code = _code_of(error)
        self._failures[job_id] += 1
        if code == INTERNAL:
            log.error("job step failed", job=job_id, exc_info=error)
            if self._failures[job_id] < FAILURES_MAX:
                return False
        fail = partial(jobs.fail, job_id=job_id, fence=fence, code=code)
        self._forget_ended(job_id, await self._database.write(fail))
        return True

    def _forget_ended(self, job_id: str, job: Job | None) -> None:
        if job is None or not job.state.is_open:
            self._forget(job_id)

    def _forget(self, job_id: str) -> None:
        self._leases.forget(job_id)
        self._failures.pop(job_id, None)
        preparing = self._preparing.pop(job_id, None)
        if preparing is not None:
            preparing.cancel()


def _run_traced(
    step: Work[Job | None], find_traceparent: FindTraceparent | None, tx: Tx
) -> Job | None:
    tx.find_traceparent = find_traceparent
    return step(tx)


def _code_of(error: Exception) -> str:
    if isinstance(error, JobFailed):
        return error.code
    if isinstance(error, NotAllowed | NotFound):
        return jobs.NOT_ALLOWED
    return INTERNAL
