"""Threads that do the database's work, fed by a queue, so that the event loop never waits.

A worker takes what was queued while it was busy as one batch, as far as that does not take long:
no tuning, and batches grow with the load. The results of a batch go back to the event loop in one
call. Owners and their callers take turns (`work.fair_queue`). The queue is bounded, as a whole and
for each owner: a full one is refused at once.
"""

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

import structlog

from longwire.dataclass import dataclass
from longwire.errors import OutcomeUnknown, TooManyRequests, Unavailable
from longwire.work.budgets import has_room
from longwire.work.fair_queue import FairQueue
from longwire.work.turns import SERVICE, CallerKey, current_caller

T = TypeVar("T")

IDLE_S = 1.0
# Results of separate jobs are held back no longer than this, to be published with the next ones.
PUBLISH_AFTER_S = 0.002
# An atomic batch takes no more jobs after this time, so that slow ones do not add up.
COMMIT_AFTER_S = 0.02
# How much of a queue one owner may fill.
OWNER_SHARE = 0.2
# How much longer a queue may get for the service itself, to commit records and deliver messages.
SERVICE_SHARE = 2

log = structlog.get_logger()


class QueuedWork(Generic[T]):
    """A unit of work and the future of its caller."""

    __slots__ = ("caller", "error", "future", "loop", "result", "work")

    def __init__(
        self, work: Callable[[Any], T], loop: asyncio.AbstractEventLoop, caller: CallerKey
    ) -> None:
        self.caller = caller
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[T] = loop.create_future()
        self.result: T | None = None
        self.error: BaseException | None = None


@dataclass(slots=True)
class TimedWork(Generic[T]):
    """A unit of work, and the monotonic time until which it may take."""

    work: Callable[[Any], T]
    deadline: float

    def __call__(self, tx: Any) -> T:
        return self.work(tx)


RunJobs = Callable[[Iterable[QueuedWork[Any]]], None]


class WorkerPool:
    """`threads` threads serving one queue.

    With `is_atomic`, a batch is run as one. Else its jobs are separate. Either way a job is taken
    when it starts, so that nobody waits in the batch of a slow one, and callers share the threads.

    `open_worker` opens what a thread needs (a connection) and yields the function that runs a batch
    of jobs and sets `result` or `error` of each. Where batches are atomic, it is called with an
    empty tuple for housekeeping: after every batch, once its results are published, and when idle.

    An error outside of a batch ends a thread, which must never happen: `on_death` is called with
    it, and once no thread is left, what waits is refused, as it would wait for ever.
    """

    def __init__(
        self,
        name: str,
        open_worker: Callable[[], AbstractContextManager[RunJobs]],
        *,
        threads: int,
        batch_max: int,
        waiting_max: int,
        is_atomic: bool = False,
        on_death: Callable[[BaseException], None] = lambda error: None,
    ) -> None:
        self._name = name
        self._is_atomic = is_atomic
        self._open_worker = open_worker
        self._batch_max = batch_max
        self._waiting_max = waiting_max
        self._is_closed = False
        self._on_death = on_death
        self._living = threads  # without those that died
        self._living_lock = threading.Lock()
        running_max = batch_max if is_atomic else max(1, threads // 2)
        # One thread is left for whoever comes next, where there are more than two.
        running_alone_max = max(running_max, threads if threads <= 2 else threads - 1)
        self._queue: FairQueue[QueuedWork[Any]] = FairQueue(running_max, running_alone_max)
        self._started: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        """Start the threads; raises the first error of `open_worker`."""
        for thread in self._threads:
            thread.start()
        failures = [failure for _ in self._threads if (failure := self._started.get())]
        if failures:
            self.close()
            raise failures[0]

    def close(self) -> None:
        """Finish what is queued, then stop."""
        self._is_closed = True
        running = [thread for thread in self._threads if thread.is_alive()]
        for _ in running:
            self._queue.stop()
        for thread in running:
            thread.join()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def submit_for_caller(self, work: Callable[[Any], T]) -> asyncio.Future[T]:
        """Submit a work on behalf of who makes the current request."""
        caller = current_caller.get()
        most = int(self._waiting_max * OWNER_SHARE)
        if caller != SERVICE and most:
            of_owner = self._queue.count_waiting_of_owner(caller.owner)
            if not has_room(most, of_owner, self._queue.count_waiting(caller)):
                raise TooManyRequests(
                    f"{of_owner} requests of your account are waiting for the database already; "
                    "nothing was changed."
                )
        return self.submit(work, caller)

    def submit(self, work: Callable[[Any], T], caller: CallerKey = SERVICE) -> asyncio.Future[T]:
        if self._is_closed:
            raise Unavailable("The service is stopping; nothing was changed.")
        waiting = len(self._queue)
        if caller == SERVICE:
            # However many requests there are: what the service does itself, it does for all.
            is_full = waiting >= self._waiting_max * SERVICE_SHARE
        else:
            of_owner = self._queue.count_waiting_of_owner(caller.owner)
            is_full = not has_room(self._waiting_max, waiting, of_owner)
        if is_full:
            raise Unavailable(
                f"{waiting} requests are waiting for the database already; nothing was changed. "
                "Try again shortly."
            )
        job = QueuedWork(work, asyncio.get_running_loop(), caller)
        self._queue.put(caller, job)
        if not self._living:
            self._refuse_queued()
        return job.future

    def _serve(self) -> None:
        is_started = False
        try:
            with self._open_worker() as run:
                self._started.put(None)
                is_started = True
                while self._serve_batch(run):
                    pass
        except BaseException as error:
            if is_started:
                self._die(error)
            else:
                self._started.put(error)

    def _die(self, error: BaseException) -> None:
        with self._living_lock:
            self._living -= 1
        with contextlib.suppress(Exception):
            log.critical("database worker died", pool=self._name, exc_info=error)
        self._on_death(error)
        if not self._living:
            self._refuse_queued()

    def _refuse_queued(self) -> None:
        refused = [job for _, job in self._queue.take_all()]
        for job in refused:
            job.error = Unavailable("The database is not available; nothing was changed.")
        _publish(refused)

    def _serve_batch(self, run: RunJobs) -> bool:
        """Run what is queued; False when the pool is closed and nothing is left."""
        batch = _Batch(self._queue, self._batch_max, self._is_atomic)
        try:
            return self._serve_jobs(run, batch)
        except BaseException:
            for job in batch.taken:
                job.error = job.error or OutcomeUnknown()
            _publish(batch.taken)
            raise

    def _serve_jobs(self, run: RunJobs, batch: "_Batch") -> bool:
        if self._is_atomic:
            self._run_batch(run, batch, batch.taken)
            for job in batch.taken:
                self._queue.release(job.caller)
        else:
            for job in batch:
                self._run_batch(run, (job,), (job,))
                self._queue.release(job.caller)
        if batch.taken:
            _publish(batch.taken)
        if self._is_atomic:
            self._run_batch(run, (), ())
        return not batch.is_stopped or self._stop_later()

    def _stop_later(self) -> bool:
        """Whether there still is something to do, before this thread or another one stops."""
        if not len(self._queue):
            return False
        self._queue.stop()
        time.sleep(0.001)  # what is left may wait for the end of what runs
        return True

    def _run_batch(
        self, run: RunJobs, jobs: Iterable[QueuedWork[Any]], taken: Sequence[QueuedWork[Any]]
    ) -> None:
        """Run a batch; an unexpected error fails its jobs, so that no caller waits for ever."""
        try:
            run(jobs)
        except BaseException as error:
            for job in taken:
                job.error = error
            with contextlib.suppress(Exception):  # the log itself may be what failed
                log.exception("database worker failed", pool=self._name)


class _Batch(Iterator[QueuedWork[Any]]):
    """Jobs of a queue, each taken when it is asked for.

    An atomic batch has what was queued when it began; later jobs are for the next one. No batch
    goes on for long: whoever was first waits for the last one. The time of an atomic one runs from
    when its second job is asked for, because its transaction may have waited for another process.
    """

    def __init__(self, waiting: FairQueue[QueuedWork[Any]], most: int, is_atomic: bool) -> None:
        self.taken: list[QueuedWork[Any]] = []
        self.is_stopped = False
        self._waiting = waiting
        self._most = most
        self._is_atomic = is_atomic
        self._deadline = 0.0

    def __next__(self) -> QueuedWork[Any]:
        if self._is_atomic and len(self.taken) == 1:
            self._deadline = time.monotonic() + COMMIT_AFTER_S
        if self.taken and (
            not len(self._waiting)
            or len(self.taken) >= self._most
            or time.monotonic() >= self._deadline
            or self.is_stopped
        ):
            raise StopIteration
        try:
            found = self._waiting.get(None if self.taken else IDLE_S)
        except queue.Empty:
            raise StopIteration from None
        if found is None:
            self.is_stopped = True
            raise StopIteration
        if not self.taken and self._is_atomic:
            self._most = min(self._most, 1 + len(self._waiting))
        elif not self.taken:
            self._deadline = time.monotonic() + PUBLISH_AFTER_S
        self.taken.append(found[1])
        return found[1]


def _publish(batch: Sequence[QueuedWork[Any]]) -> None:
    for loop in {job.loop for job in batch}:
        jobs = [job for job in batch if job.loop is loop]
        try:
            loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:
            # The loop is closed: nobody waits, and what was committed stays committed.
            continue


def _resolve(jobs: list[QueuedWork[Any]]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # the caller is gone
        if isinstance(job.error, StopIteration):
            # A future rejects StopIteration, which would leave the rest of the batch unresolved.
            job.future.set_exception(RuntimeError("the work raised StopIteration"))
        elif job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
