"""Runs the background tasks of a process and restarts those that fail.

A task that raises, or returns although it should not, has failed: it is logged with its traceback,
counted, and restarted with exponential backoff. While it is down, health checks can see it. The
failure of a fatal task stops the process instead.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Protocol

import structlog

from longwire.dataclass import dataclass

BACKOFF_MIN_S = 1.0
BACKOFF_MAX_S = 60.0
# A task that ran this long before it failed starts again with the shortest backoff.
STABLE_AFTER_S = 60.0

log = structlog.get_logger()


class TaskEndedError(Exception):
    """A background task returned although it should run until it is cancelled."""


@dataclass(frozen=True, slots=True)
class BackgroundTask:
    name: str
    run: Callable[[], Awaitable[None]]
    is_critical: bool = False  # the process is not ready while this task is down
    is_fatal: bool = False  # its failure stops the process
    may_finish: bool = False  # returning is not a failure


class TaskMetrics(Protocol):
    def register_task(self, task: str) -> None: ...

    def count_task_failure(self, task: str) -> None: ...

    def set_failing_tasks(self, number: int) -> None: ...


class Supervisor:
    def __init__(
        self,
        stop: Callable[[], None],
        metrics: TaskMetrics,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stop` ends the process after the failure of a fatal task."""
        self._stop = stop
        self._metrics = metrics
        self._sleep = sleep
        self._monotonic = monotonic
        self._failing: dict[str, BackgroundTask] = {}

    def list_failing_critical(self) -> list[str]:
        """The names of critical and fatal tasks that are down."""
        return [task.name for task in self._failing.values() if task.is_critical or task.is_fatal]

    @asynccontextmanager
    async def run(self, tasks: Iterable[BackgroundTask]) -> AsyncIterator[None]:
        """Run the tasks until the block ends; then cancel all of them and wait for their end."""
        running = []
        for task in tasks:
            self._metrics.register_task(task.name)
            running.append(asyncio.create_task(self._supervise(task), name=task.name))
        try:
            yield
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _supervise(self, task: BackgroundTask) -> None:
        failures = 0
        while True:
            started = self._monotonic()
            if await _run_once(task):
                return
            self._set_failing(task, True)
            self._metrics.count_task_failure(task.name)
            if task.is_fatal:
                log.critical("fatal background task failed, stopping", task=task.name)
                self._stop()
                return
            is_stable = self._monotonic() - started >= STABLE_AFTER_S
            failures = 1 if is_stable else failures + 1
            await self._sleep(backoff_s(failures))
            self._set_failing(task, False)

    def _set_failing(self, task: BackgroundTask, is_failing: bool) -> None:
        if is_failing:
            self._failing[task.name] = task
        else:
            self._failing.pop(task.name, None)
        self._metrics.set_failing_tasks(len(self._failing))


def backoff_s(failures: int) -> float:
    """The pause after so many consecutive failures."""
    return min(BACKOFF_MAX_S, BACKOFF_MIN_S * 2.0 ** min(failures - 1, 16))


async def _run_once(task: BackgroundTask) -> bool:
    """Run a task to its end; whether that was no failure."""
    try:
        await task.run()
        if not task.may_finish:
            raise TaskEndedError(f"{task.name} returned")
    except (Exception, asyncio.CancelledError):
        current = asyncio.current_task()
        if current is not None and current.cancelling():
            raise  # by us, not by something that the task itself awaited
        log.exception("background task failed", task=task.name)
        return False
    return True
