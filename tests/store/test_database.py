"""Two verbs on both engines: what is read, what is written, and what a failure leaves behind."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from longwire.clock import Clock
from longwire.errors import (
    Conflict,
    LongwireError,
    NotFound,
    OutcomeUnknown,
    TooManyRequests,
    Unavailable,
)
from longwire.process.startup import build_database
from longwire.settings import Settings
from longwire.store import instance
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.engines import workers
from longwire.store.engines.workers import QueuedWork, RunJobs, WorkerPool
from longwire.store.records import counters
from longwire.store.statement import Statement
from longwire.work.fair_queue import FairQueue
from longwire.work.turns import SERVICE, CallerKey, current_caller
from tests.waiting import PATIENCE_S, eventually

T = TypeVar("T")

ACTIVITY = "select group_id, hour, device_number from activity"


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    """A database at work, without a service in front of it."""
    made, _ = build_database(settings, Clock())
    made.start()
    yield made
    made.close()


class Gate:
    """Works that block a worker until they are released."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._open = threading.Event()

    def work(self, tx: Tx) -> None:
        self._entered.release()
        assert self._open.wait(60), "nobody opened the gate"

    async def is_reached(self, by: int = 1) -> None:
        for _ in range(by):
            assert await asyncio.to_thread(self._entered.acquire, timeout=60)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open()


def writers(database: Database) -> int:
    """How many works are under way at the same time: half of four connections only read."""
    return 1 if database.engine_name == "sqlite" else 2


async def hold_up(database: Database, gate: Gate) -> list[asyncio.Task[None]]:
    """Occupy every thread that writes; what comes next has to wait."""
    held = [asyncio.create_task(database.write(gate.work)) for _ in range(writers(database))]
    await gate.is_reached(by=len(held))
    return held


async def queued(database: Database, *works: Callable[[Tx], Any]) -> list[asyncio.Task[Any]]:
    """Hand in works, in this order, and see them wait."""
    before = sum(database.waiting.values())
    tasks = [asyncio.create_task(database.write(work)) for work in works]
    while sum(database.waiting.values()) < before + len(works):  # noqa: ASYNC110 (a number is all it has)
        await asyncio.sleep(0)
    return tasks


def fact(name: str) -> Callable[[Tx], str | None]:
    return lambda tx: instance.get_fact(tx, name)


def state(name: str, value: str = "so") -> Callable[[Tx], str]:
    def work(tx: Tx) -> str:
        instance.insert_fact(tx, name, value)
        return name

    return work


def state_and_raise(name: str, error: Exception) -> Callable[[Tx], None]:
    def work(tx: Tx) -> None:
        instance.insert_fact(tx, name, "written before it failed")
        raise error

    return work


def run(story: Awaitable[T]) -> T:
    async def run_work() -> T:
        return await story

    return asyncio.run(run_work())


def test_what_was_written_is_read(database: Database) -> None:
    async def story() -> None:
        assert await database.read(fact("sky")) is None
        assert await database.write(state("sky", "blue")) == "sky"
        assert await database.read(fact("sky")) == "blue"

    run(story())


def test_works_that_are_stored_together_fail_alone(database: Database, gate: Gate) -> None:
    """They wait behind a gate, so that the embedded engine commits all of them in one go."""
    fault = RuntimeError("a mistake of ours")
    works = [
        state("before"),
        state_and_raise("refused", NotFound()),
        state("between"),
        state("between"),  # the second one collides
        state_and_raise("mistaken", fault),
        state_and_raise("at an end", StopIteration()),  # which a future cannot carry
        state("after"),
    ]

    async def story() -> list[Any]:
        held = await hold_up(database, gate)
        waiting = await queued(database, *works)
        gate.open()
        await asyncio.gather(*held)
        return await asyncio.gather(*waiting, return_exceptions=True)

    answers = run(story())
    assert [answers[0], answers[6]] == ["before", "after"]
    assert isinstance(answers[1], NotFound)
    assert {type(answers[2]), type(answers[3])} == {str, Conflict}, "one of the two"
    assert answers[4] is fault, "an error that is not the database's comes through as it is"
    assert isinstance(answers[5], RuntimeError)
    names = ("before", "refused", "between", "mistaken", "at an end", "after")
    stored = {name for name in names if run(database.read(fact(name)))}
    assert stored == {"before", "between", "after"}


def test_activity_of_a_failed_transaction_is_stored_by_the_next(database: Database) -> None:
    note = (1, 400_000, 7)

    def fail(tx: Tx) -> None:
        counters.insert_activity(tx, {note})
        raise ValueError("not today")

    def noted() -> list[tuple[int, ...]]:
        return run(database.read(lambda tx: [tuple(row) for row in tx.fetch(Statement(ACTIVITY))]))

    with pytest.raises(ValueError, match="not today"):
        run(database.write(fail))
    assert noted() == []
    for _ in range(2):
        run(database.write(lambda tx: counters.insert_activity(tx, {note})))
        assert noted() == [note]


def test_a_worker_survives_whatever_its_works_raise(database: Database) -> None:
    async def story() -> None:
        for number in range(10):
            with pytest.raises(ZeroDivisionError):
                await database.read(lambda tx: 1 / 0)
            with pytest.raises(sa.exc.DBAPIError):
                await database.read(lambda tx: tx.rows(sa.text("select * from nowhere")))
            with pytest.raises(ZeroDivisionError):
                await database.write(lambda tx: 1 / 0)
            with pytest.raises(sa.exc.DBAPIError):
                await database.write(lambda tx: tx.execute(sa.text("delete from nowhere")))
            assert await database.write(state(f"still {number}"))
            assert await database.read(fact(f"still {number}"))

    run(story())


def test_an_error_of_the_driver_carries_no_values(database: Database) -> None:
    """They would end up in the log, and some of them are secrets."""
    insert = sa.text("insert into nowhere values (:value)")
    with pytest.raises(sa.exc.DBAPIError) as raised:
        run(database.write(lambda tx: tx.execute(insert, {"value": "canary-7f3a"})))
    assert "nowhere" in str(raised.value)
    assert "canary-7f3a" not in str(raised.value)


def test_many_writers_at_once_lose_nothing(database: Database) -> None:
    async def story() -> tuple[int, int]:
        before = await database.read(cache_epochs.read_epochs)
        await asyncio.gather(
            *(database.write(cache_epochs.bump_auth_epoch) for _ in range(200)),
            *(database.write(state(f"fact {number}")) for number in range(200)),
            *(database.read(fact("fact 1")) for _ in range(200)),
        )
        after = await database.read(cache_epochs.read_epochs)
        return before.auth, after.auth

    before, after = run(story())
    assert after == before + 200
    assert all(run(database.read(fact(f"fact {number}"))) for number in range(200))


def test_past_a_bound_new_works_are_refused_at_once_and_the_accepted_ones_are_done(
    database: Database, gate: Gate
) -> None:
    def nothing(tx: Tx) -> int:
        return 1

    async def story() -> None:
        held = await hold_up(database, gate)
        waiting = []
        for owner in range(5):
            current_caller.set(CallerKey.alone(f"owner {owner}"))
            waiting += await queued(database, *[nothing] * 750)
        # The last quarter is for owners that have nothing waiting.
        with pytest.raises((Unavailable, TooManyRequests), match="nothing was changed"):
            await asyncio.wait_for(database.write(state("one too many")), 60)
        for owner in range(1_250):
            current_caller.set(CallerKey.alone(f"newcomer {owner}"))
            waiting += await queued(database, nothing)
        current_caller.set(CallerKey.alone("another"))
        with pytest.raises(Unavailable, match="nothing was changed"):
            await asyncio.wait_for(database.write(state("one too many")), 60)
        # What the service does itself is for all of them, so it is accepted.
        current_caller.set(SERVICE)
        own = await queued(database, state("a commit of records"))
        gate.open()
        await asyncio.gather(*held, *own)
        assert sum(await asyncio.gather(*waiting)) == 5_000
        assert await database.read(fact("one too many")) is None
        assert await database.write(state("room again"))

    run(story())


def test_closing_finishes_what_was_accepted(settings: Settings, gate: Gate) -> None:
    database, _ = build_database(settings, Clock())
    database.start()
    names = [f"accepted {number}" for number in range(50)]

    async def story() -> None:
        held = await hold_up(database, gate)
        waiting = await queued(database, *(state(name) for name in names))
        closing = asyncio.create_task(asyncio.to_thread(database.close))
        gate.open()
        assert await asyncio.gather(*waiting) == names
        await asyncio.gather(closing, *held)
        with pytest.raises(Unavailable):
            await asyncio.wait_for(database.write(state("too late")), 60)

    run(story())
    again, _ = build_database(settings, Clock())
    again.start()
    try:
        assert all(run(again.read(fact(name))) for name in names)
        assert run(again.read(fact("too late"))) is None
    finally:
        again.close()


def test_a_caller_who_stops_waiting_disturbs_nobody(database: Database, gate: Gate) -> None:
    async def story() -> None:
        held = await hold_up(database, gate)
        gone, patient = await queued(database, state("gone"), state("patient"))
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        gate.open()
        assert await patient == "patient"
        await asyncio.gather(*held)
        assert await database.write(state("next")) == "next"
        assert await database.read(fact("patient"))

    run(story())


def test_a_loop_that_ended_before_its_answer_came_disturbs_nobody(
    database: Database, gate: Gate
) -> None:
    async def leave_early() -> None:
        held = await hold_up(database, gate)
        waiting = await queued(database, state("left behind"))
        for task in (*held, *waiting):
            task.cancel()

    run(leave_early())
    gate.open()
    assert run(database.write(state("next"))) == "next"


# --- the worker pools under both engines ---


class Clumsy:
    """A open_worker that stumbles over its works instead of answering for them."""

    def __init__(self, *, stumbles: bool = True) -> None:
        self.stumbles = stumbles

    @contextmanager
    def open_worker(self) -> Iterator[RunJobs]:
        def run(jobs: Iterable[QueuedWork[Any]]) -> None:
            for job in jobs:
                job.result = job.work(None)
            if self.stumbles:
                raise OSError("the floor gave way")

        yield run


def test_callers_take_turns_and_leave_threads_to_each_other() -> None:
    gates = {name: threading.Event() for name in ("heavy", "light")}
    started: list[str] = []

    @contextmanager
    def open_worker() -> Iterator[RunJobs]:
        def run(jobs: Iterable[QueuedWork[Any]]) -> None:
            for job in jobs:
                started.append(job.caller.owner)
                assert gates[job.caller.owner].wait(60)
                job.result = job.work(None)

        yield run

    async def story(pool: WorkerPool) -> None:
        def submit(caller: str) -> "asyncio.Future[str]":
            token = current_caller.set(CallerKey.alone(caller))
            try:
                return pool.submit_for_caller(lambda tx: caller)
            finally:
                current_caller.reset(token)

        heavy: list[asyncio.Future[str]] = []
        light_before = submit("light")
        with pytest.raises(TooManyRequests, match="15 requests of your account"):
            while True:
                heavy.append(submit("heavy"))
        # The heavy one occupies half of the threads, however much it wants.
        await asyncio.to_thread(eventually, lambda: sorted(started) == ["heavy", "light"])
        gates["light"].set()
        assert await light_before == await submit("light") == "light"
        gates["light"].clear()
        light = [submit("light") for _ in range(3)]
        gates["light"].set()
        assert await asyncio.gather(*light) == ["light"] * 3  # while the heavy one still waits
        gates["heavy"].set()
        assert await asyncio.gather(*heavy) == ["heavy"] * len(heavy)

    pool = WorkerPool("fair", open_worker, threads=2, batch_max=4, waiting_max=100)
    pool.start()
    asyncio.run(story(pool))
    pool.close()
    assert pool.waiting == 0


@pytest.mark.parametrize(("commit_after_s", "sizes"), [(60.0, [1, 12]), (0.0, [1] * 13)])
def test_an_atomic_batch_is_what_was_queued_as_far_as_it_does_not_take_long(
    commit_after_s: float, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "COMMIT_AFTER_S", commit_after_s)
    begun, gate = threading.Event(), threading.Event()
    batches: list[list[str]] = []

    @contextmanager
    def open_worker() -> Iterator[RunJobs]:
        def run(jobs: Iterable[QueuedWork[Any]]) -> None:
            batch: list[str] = []
            for job in jobs:
                begun.set()
                assert gate.wait(PATIENCE_S)
                batch.append(job.caller.owner)
                job.result = job.work(None)
            if batch:
                batches.append(batch)

        yield run

    async def story(pool: WorkerPool) -> None:
        first = pool.submit(lambda tx: 0, CallerKey.alone("first"))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        heavy = [pool.submit(lambda tx: 1, CallerKey.alone("heavy")) for _ in range(10)]
        light = [pool.submit(lambda tx: 2, CallerKey.alone("light")) for _ in range(2)]
        gate.set()
        assert await asyncio.gather(first, *heavy, *light) == [0] + [1] * 10 + [2] * 2

    pool = WorkerPool(
        "atomic", open_worker, threads=1, batch_max=100, waiting_max=100, is_atomic=True
    )
    pool.start()
    asyncio.run(story(pool))
    pool.close()
    assert [len(batch) for batch in batches] == sizes
    assert [caller for batch in batches for caller in batch][:5] == [
        "first",
        "heavy",
        "light",
        "heavy",
        "light",
    ]


def test_a_open_worker_that_stumbles_leaves_nobody_waiting_and_goes_on() -> None:
    clumsy = Clumsy()
    pool = WorkerPool("clumsy", clumsy.open_worker, threads=1, batch_max=10, waiting_max=10)
    pool.start()

    async def story() -> None:
        with pytest.raises(OSError, match="the floor gave way"):
            await asyncio.wait_for(pool.submit(lambda tx: 1), 60)
        clumsy.stumbles = False
        assert await asyncio.wait_for(pool.submit(lambda tx: 2), 60) == 2

    run(story())
    pool.close()


def test_a_worker_that_dies_leaves_nobody_waiting_and_says_so(gate: Gate) -> None:
    deaths: list[BaseException] = []
    pool = WorkerPool(
        "doomed",
        Clumsy(stumbles=False).open_worker,
        threads=1,
        batch_max=1,
        waiting_max=10,
        on_death=deaths.append,
    )

    def die(caller: CallerKey) -> None:
        raise MemoryError("none is left")

    pool._queue.release = die  # type: ignore[method-assign]
    pool.start()

    async def story() -> None:
        first, second = pool.submit(gate.work), pool.submit(lambda tx: 2)
        await gate.is_reached()
        gate.open()
        with pytest.raises(OutcomeUnknown):
            await asyncio.wait_for(first, 60)
        for later in (second, pool.submit(lambda tx: 3)):
            with pytest.raises(Unavailable, match="nothing was changed"):
                await asyncio.wait_for(later, 60)

    run(story())
    pool.close()
    assert [str(each) for each in deaths] == ["none is left"]


def test_a_database_whose_worker_dies_is_broken(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*about: Any) -> None:
        raise MemoryError("none is left")

    monkeypatch.setattr(FairQueue, "release", die)

    async def story() -> None:
        with pytest.raises(OutcomeUnknown):
            await asyncio.wait_for(database.write(lambda tx: None), 60)

    run(story())
    eventually(lambda: "none is left" in (database.broken or ""))


def test_a_pool_whose_worker_does_not_open_says_why() -> None:
    @contextmanager
    def locked() -> Iterator[RunJobs]:
        raise LongwireError("the door is locked")
        yield

    pool = WorkerPool("locked", locked, threads=3, batch_max=1, waiting_max=1)
    with pytest.raises(LongwireError, match="the door is locked"):
        pool.start()
