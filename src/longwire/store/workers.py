"""Threads that do the database's work, fed by a queue, so that the event loop never waits.

A worker takes whatever was queued while it was busy as one batch: no timer, no tuning, and batches
grow with the load. The results of a batch go back to the event loop in one call. The queue is
bounded; a full queue is refused at once.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

import structlog

from longwire.errors import Unavailable

T = TypeVar("T")

IDLE_S = 1.0

log = structlog.get_logger()


class Job(Generic[T]):
    """A unit of work and the future of its caller."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[Any], T], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[T] = loop.create_future()
        self.result: T | None = None
        self.error: BaseException | None = None


RunJobs = Callable[[list[Job[Any]]], None]


class WorkerPool:
    """`threads` threads serving one queue.

    `open_worker` opens what a thread needs (a connection) and yields the function that runs a batch
    of jobs and sets `result` or `error` of each. It is called with an empty batch for housekeeping:
    after every batch, once its results are published, and when idle.
    """

    def __init__(
        self,
        name: str,
        open_worker: Callable[[], AbstractContextManager[RunJobs]],
        *,
        threads: int,
        batch_max: int,
        waiting_max: int,
    ) -> None:
        self._name = name
        self._open_worker = open_worker
        self._batch_max = batch_max
        self._waiting_max = waiting_max
        self._is_closed = False
        self._queue: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
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
            self._queue.put(None)
        for thread in running:
            thread.join()

    @property
    def waiting(self) -> int:
        return self._queue.qsize()

    def submit(self, work: Callable[[Any], T]) -> asyncio.Future[T]:
        if self._is_closed:
            raise Unavailable("The service is stopping; nothing was changed.")
        if self._queue.qsize() >= self._waiting_max:
            raise Unavailable(
                f"{self._waiting_max} requests are waiting for the database already; nothing was "
                "changed. Try again shortly."
            )
        job = Job(work, asyncio.get_running_loop())
        self._queue.put(job)
        return job.future

    def _serve(self) -> None:
        try:
            with self._open_worker() as run:
                self._started.put(None)
                while (batch := self._next_batch()) is not None:
                    self._run_batch(run, batch)
                    if batch:
                        _publish(batch)
                        self._run_batch(run, [])
        except BaseException as error:
            self._started.put(error)

    def _run_batch(self, run: RunJobs, batch: list[Job[Any]]) -> None:
        """Run a batch; an unexpected error fails its jobs, so that no caller waits for ever."""
        try:
            run(batch)
        except BaseException as error:
            for job in batch:
                job.error = error
            with contextlib.suppress(Exception):  # the log itself may be what failed
                log.exception("database worker failed", pool=self._name)

    def _next_batch(self) -> list[Job[Any]] | None:
        try:
            first = self._queue.get(timeout=IDLE_S)
        except queue.Empty:
            return []
        if first is None:
            return None
        batch = [first]
        while len(batch) < self._batch_max:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._queue.put(None)  # stop after this batch
                break
            batch.append(job)
        return batch


def _publish(batch: list[Job[Any]]) -> None:
    for loop in {job.loop for job in batch}:
        jobs = [job for job in batch if job.loop is loop]
        try:
            loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:
            # The loop is closed: nobody waits, and what was committed stays committed.
            continue


def _resolve(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # the caller went away
        if isinstance(job.error, StopIteration):
            # A future rejects StopIteration, which would leave the rest of the batch unresolved.
            job.future.set_exception(RuntimeError("the work raised StopIteration"))
        elif job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
