"""An event loop without a selector: time jumps to the next timer, the seed picks what runs next.

asyncio promises that callbacks run in the order in which they became ready, and nothing about tasks
and about what other threads and sockets report. So the order is kept within a task and among the
plain callbacks of a process, and everything else may be exchanged.
"""

import asyncio
import heapq
import random
from collections import Counter
from collections.abc import Callable
from contextvars import Context, ContextVar
from typing import Any

from tests.simulation.surroundings import Surroundings

STEP_S = 0.000_02  # of virtual time that a step takes
LOOKED_AT = 12  # so many of what is ready are considered


class SimulatedProcess:
    """What dies together: nothing of a dead process runs any more."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_dead = False
        self.tasks: dict[asyncio.Task[Any], None] = {}


CURRENT: ContextVar[SimulatedProcess | None] = ContextVar("simulated_process", default=None)


class Deadlock(Exception):
    """Nothing is ready, and no timer is set."""


class SimLoop(asyncio.BaseEventLoop):
    def __init__(self, surroundings: Surroundings, chance: random.Random, disorder: float) -> None:
        super().__init__()
        self._surroundings = surroundings
        self._chance = chance
        self._disorder = disorder
        self.steps = 0
        self._heap: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._timers = 0
        self.counted: Counter[str] = Counter()
        self.set_task_factory(self._create_task)
        self.connect: Callable[..., Any] | None = None  # wires what `create_connection` is given

    def time(self) -> float:
        return self._surroundings.monotonic_ns / 1e9

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """As of the base class, whose heap compares handles in Python."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._timers += 1
        heapq.heappush(self._heap, (when, self._timers, timer))
        return timer

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass

    # --- what a selector would do ---

    def _process_events(self, event_list: Any) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def call_soon_threadsafe(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def add_signal_handler(self, sig: int, callback: Callable[..., Any], *args: Any) -> None:
        pass

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        """Work for a thread is one step, some time later."""
        future = self.create_future()

        def step() -> None:
            if future.cancelled():
                return
            try:
                result = func(*args)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.counted["work for a thread"] += 1
        self.call_later(self._chance.uniform(0.000_1, 0.01), step)
        return future

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], Any], *args: Any, sock: Any = None, **options: Any
    ) -> Any:
        assert self.connect is not None
        protocol = protocol_factory()
        transport = self.connect(sock, protocol)
        return transport, protocol

    async def create_unix_connection(self, *args: Any, **options: Any) -> Any:
        raise OSError("there is no such socket")

    def _create_task(
        self, loop: asyncio.AbstractEventLoop, work: Any, context: Context | None = None
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, context=context)
        process = CURRENT.get() if context is None else context.get(CURRENT)
        if process is not None:
            process.tasks[task] = None
            task.add_done_callback(lambda done: process.tasks.pop(done, None))
        return task

    # --- what runs next ---

    def _run_once(self) -> None:
        heap, ready = self._heap, self._ready  # type: ignore[attr-defined]
        while heap and heap[0][2]._cancelled:  # type: ignore[attr-defined]
            heapq.heappop(heap)
        now = self.time()
        if not ready:
            if not heap:
                raise Deadlock
            now = max(now, heap[0][0])
            self._surroundings.pass_to(now)
        while heap and heap[0][0] <= now:
            ready.append(heapq.heappop(heap)[2])
        handle = self._take(ready)
        if handle._cancelled:
            return
        process = handle._context.get(CURRENT)
        if process is not None and process.is_dead:
            return
        self.steps += 1
        self._surroundings.pass_for(STEP_S)
        handle._run()

    def _take(self, ready: Any) -> Any:
        if len(ready) == 1 or self._chance.random() >= self._disorder:
            return ready.popleft()
        heads: dict[Any, int] = {}
        for index in range(min(len(ready), LOOKED_AT)):
            heads.setdefault(_get_source(ready[index]), index)
        places = list(heads.values())
        index = places[self._chance.randrange(len(places))]
        if index:
            self.counted["order of tasks exchanged"] += 1
        ready.rotate(-index)
        handle = ready.popleft()
        ready.rotate(index)
        return handle


def _get_source(handle: Any) -> Any:
    """Of which handles keep their order."""
    owner = getattr(handle._callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return id(owner)
    return handle._context.get(CURRENT)


__all__ = ["CURRENT", "Deadlock", "SimLoop", "SimulatedProcess"]
