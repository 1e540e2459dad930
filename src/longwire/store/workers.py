"""Threads that do the database's work, fed by a queue, so that the event loop never waits.

A lane takes whatever has queued up while it was busy and does it in one go: no timer, no tuning,
and the busier it gets the larger its bites. The answers of a bite go back to the event loop in one
call. What is waiting is bounded; past the bound the caller hears at once that the service is full.
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
    """A piece of work and the caller who waits for it."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Callable[[Any], T], loop: asyncio.AbstractEventLoop) -> None:
        self.work = work
        self.loop = loop
        self.future: asyncio.Future[T] = loop.create_future()
        self.result: T | None = None
        self.error: BaseException | None = None


RunJobs = Callable[[list[Job[Any]]], None]


class Lane:
    """`threads` threads, each inside its own `station()`, serving one queue.

    A station opens what its thread needs (a connection) and yields the function that does a bite of
    jobs, filling in `result` or `error` of each. After every bite, when those have their answers,
    and now and then with nothing to do, it is handed an empty one, to tidy up.
    """

    def __init__(
        self,
        name: str,
        station: Callable[[], AbstractContextManager[RunJobs]],
        *,
        threads: int,
        bite_max: int,
        waiting_max: int,
    ) -> None:
        self._name = name
        self._station = station
        self._bite_max = bite_max
        self._waiting_max = waiting_max
        self._is_closed = False
        self._queue: queue.SimpleQueue[Job[Any] | None] = queue.SimpleQueue()
        self._started: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=self._serve, name=f"{name}-{number}", daemon=True)
            for number in range(threads)
        ]

    def start(self) -> None:
        """Start the threads; raises what kept a station from opening."""
        for thread in self._threads:
            thread.start()
        failures = [failure for _ in self._threads if (failure := self._started.get())]
        if failures:
            self.close()
            raise failures[0]

    def close(self) -> None:
        """Do what is queued, then end."""
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
            with self._station() as run:
                self._started.put(None)
                while (bite := self._next_bite()) is not None:
                    self._do(run, bite)
                    if bite:
                        _answer(bite)
                        self._do(run, [])
        except BaseException as error:
            self._started.put(error)

    def _do(self, run: RunJobs, bite: list[Job[Any]]) -> None:
        """A station answers for its jobs; should it stumble, nobody is left waiting for ever."""
        try:
            run(bite)
        except BaseException as error:
            for job in bite:
                job.error = error
            with contextlib.suppress(Exception):  # perhaps it is the log that cannot be written
                log.exception("a lane stumbled", lane=self._name)

    def _next_bite(self) -> list[Job[Any]] | None:
        try:
            first = self._queue.get(timeout=IDLE_S)
        except queue.Empty:
            return []
        if first is None:
            return None
        bite = [first]
        while len(bite) < self._bite_max:
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._queue.put(None)  # the end is for the next look, after this bite
                break
            bite.append(job)
        return bite


def _answer(bite: list[Job[Any]]) -> None:
    for loop in {job.loop for job in bite}:
        jobs = [job for job in bite if job.loop is loop]
        try:
            loop.call_soon_threadsafe(_resolve, jobs)
        except RuntimeError:
            # The loop is closed: nobody waits any more, and what was committed stays committed.
            continue


def _resolve(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # the caller went away
        if isinstance(job.error, StopIteration):
            # A future does not take it, and the others of the bite must not be left waiting.
            job.future.set_exception(RuntimeError("a work found nothing more where it looked"))
        elif job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
