"""Background tasks: restarted with backoff, seen in health and metrics, stopped in order."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from structlog.testing import capture_logs

from longwire.process.supervisor import (
    BACKOFF_MAX_S,
    BACKOFF_MIN_S,
    STABLE_AFTER_S,
    BackgroundTask,
    Supervisor,
)
from longwire.prometheus import PrometheusMetrics
from tests.delivery.receiver import Receiver
from tests.delivery.test_engine import Line
from tests.world import World

TURNS_MAX = 1_000


class ManualTime:
    """Time that only moves on `advance`; sleepers wait until then."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.sleeps_s: list[float] = []
        self._advanced = asyncio.Condition()

    def monotonic(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.sleeps_s.append(seconds)
        wake_at = self.now_s + seconds
        async with self._advanced:
            await self._advanced.wait_for(lambda: self.now_s >= wake_at)

    async def advance(self, seconds: float) -> None:
        self.now_s += seconds
        async with self._advanced:
            self._advanced.notify_all()


class Bench:
    """A supervisor on manual time, and its metrics."""

    def __init__(self) -> None:
        self.time = ManualTime()
        self.stops = 0
        self.metrics = PrometheusMetrics()
        self.supervisor = Supervisor(
            self._stop, self.metrics, sleep=self.time.sleep, monotonic=self.time.monotonic
        )

    def _stop(self) -> None:
        self.stops += 1

    def failures(self, task: str) -> float | None:
        return self.metrics.registry.get_sample_value(
            "longwire_background_task_failures_total", {"task": task}
        )

    def failing(self) -> float | None:
        return self.metrics.registry.get_sample_value("longwire_background_tasks_failing")


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(TURNS_MAX):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not happen")


def run_scenario(scenario: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await scenario(Bench())

    asyncio.run(run())


class Scripted:
    """A task that runs one step of a script at each start, then waits to be cancelled."""

    def __init__(self, *steps: Callable[[], Awaitable[None]]) -> None:
        self.steps = list(steps)
        self.runs = 0
        self.is_cancelled = False

    async def run(self) -> None:
        self.runs += 1
        if self.steps:
            await self.steps.pop(0)()
            return
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise


async def fail() -> None:
    raise ValueError("the reason")


async def end() -> None:
    return None


async def lose_a_future() -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    future.cancel()
    await future


@pytest.mark.parametrize("step", [fail, end, lose_a_future])
def test_a_task_that_ends_is_logged_counted_and_restarted(
    step: Callable[[], Awaitable[None]],
) -> None:
    async def scenario(bench: Bench) -> None:
        script = Scripted(step)
        task = BackgroundTask("engine", script.run, is_critical=True)
        async with bench.supervisor.run([task]):
            await until(lambda: bench.time.sleeps_s == [BACKOFF_MIN_S])
            assert bench.supervisor.list_failing_critical() == ["engine"]
            assert (bench.failures("engine"), bench.failing()) == (1, 1)
            await bench.time.advance(BACKOFF_MIN_S)
            await until(lambda: script.runs == 2)
            assert bench.supervisor.list_failing_critical() == []
            assert bench.failing() == 0
        assert bench.stops == 0

    with capture_logs() as logs:
        run_scenario(scenario)
    [entry] = logs
    assert entry["event"] == "background task failed"
    assert (entry["task"], entry["exc_info"]) == ("engine", True)


def test_a_task_that_keeps_failing_backs_off_until_it_was_stable() -> None:
    async def scenario(bench: Bench) -> None:
        async def run_for_long() -> None:
            bench.time.now_s += STABLE_AFTER_S
            raise ValueError

        script = Scripted(*[fail] * 8, run_for_long)
        async with bench.supervisor.run([BackgroundTask("cleanup", script.run)]):
            for number in range(1, 10):
                await until(lambda number=number: len(bench.time.sleeps_s) == number)
                await bench.time.advance(bench.time.sleeps_s[-1])
            await until(lambda: script.runs == 10)
        assert bench.time.sleeps_s == [1, 2, 4, 8, 16, 32, 60, 60, BACKOFF_MIN_S]
        assert max(bench.time.sleeps_s) == BACKOFF_MAX_S

    run_scenario(scenario)


def test_a_task_that_is_not_critical_does_not_make_the_service_unready() -> None:
    async def scenario(bench: Bench) -> None:
        async with bench.supervisor.run([BackgroundTask("cleanup", Scripted(fail).run)]):
            await until(lambda: bench.failing() == 1)
            assert bench.supervisor.list_failing_critical() == []

    run_scenario(scenario)


def test_a_fatal_task_that_fails_stops_the_process_and_is_not_restarted() -> None:
    async def scenario(bench: Bench) -> None:
        script = Scripted(fail)
        task = BackgroundTask("database watcher", script.run, is_fatal=True)
        async with bench.supervisor.run([task]):
            await until(lambda: bench.stops == 1)
            assert bench.supervisor.list_failing_critical() == ["database watcher"]
        assert (script.runs, bench.time.sleeps_s) == (1, [])

    run_scenario(scenario)


def test_a_task_that_may_finish_is_not_restarted() -> None:
    async def scenario(bench: Bench) -> None:
        script = Scripted(end)
        task = BackgroundTask("pending registrations", script.run, may_finish=True)
        async with bench.supervisor.run([task]):
            await until(lambda: script.runs == 1)
        assert (script.runs, bench.failures(task.name)) == (1, 0)

    run_scenario(scenario)


def test_a_stop_cancels_all_tasks_and_waits_for_their_end() -> None:
    async def scenario(bench: Bench) -> None:
        ends: list[str] = []

        async def run(name: str, turns: int) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                for _ in range(turns):
                    await asyncio.sleep(0)  # finishes what it began
                ends.append(name)

        failing = Scripted(fail)
        tasks = [
            BackgroundTask("slow", lambda: run("slow", 5)),
            BackgroundTask("quick", lambda: run("quick", 0)),
            BackgroundTask("failing", failing.run),
        ]
        async with bench.supervisor.run(tasks):
            await until(lambda: len(bench.time.sleeps_s) == 1)
            assert ends == []
        assert ends == ["quick", "slow"]
        assert failing.runs == 1, "not restarted by the stop"
        assert len(asyncio.all_tasks()) == 1

    with capture_logs() as logs:
        run_scenario(scenario)
    assert [entry["task"] for entry in logs] == ["failing"], "a stop is not a failure"


def test_the_service_is_not_ready_while_a_critical_task_is_down(
    world: World,
) -> None:
    """From the supervisor of the running service to its health endpoint."""
    assert world.app.supervisor.list_failing_critical() == []
    epochs = BackgroundTask("epoch watcher", fail, is_critical=True)
    world.app.supervisor._set_failing(epochs, True)
    response = world.http.get("/health/ready")
    assert response.status_code == 503
    assert response.json()["reason"] == "background task failed: epoch watcher"
    world.app.supervisor._set_failing(epochs, False)
    assert world.http.get("/health/ready").status_code == 200


def test_the_delivery_engine_delivers_again_after_a_failure(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = world.app.engine
    needs_transaction = engine._needs_transaction

    def fail_once() -> bool:
        monkeypatch.setattr(engine, "_needs_transaction", needs_transaction)
        raise RuntimeError("the engine fails")

    async def skip_backoff(seconds: float) -> None:
        return None

    monkeypatch.setattr(world.app.supervisor, "_sleep", skip_backoff)
    with Receiver() as receiver:
        line = Line(world.person("ada"), receiver.url)
        line.reports()
        line.settles(succeed=1)
        monkeypatch.setattr(engine, "_needs_transaction", fail_once)
        line.reports(3)
        line.settles(succeed=4)
    failures = 'longwire_background_task_failures_total{task="delivery engine"} 1.0'
    assert failures in world.http.get("/metrics").text
