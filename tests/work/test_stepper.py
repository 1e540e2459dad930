"""Background work in steps: owners take turns, others get their pauses, and no error stops it."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from longwire.errors import Unavailable
from longwire.work.stepper import DoneStep, Stepper, Wakeup, repeat

WORK = st.dictionaries(st.integers(0, 30), st.integers(1, 5), max_size=20)
FAILING = st.sets(st.integers(0, 30), max_size=5)


class Story:
    """Owners with so many steps each, as a database has them; some of them fail."""

    def __init__(
        self, steps: dict[int, int], failing: set[int] = frozenset(), owners_max: int = 4
    ) -> None:
        self.left = Counter(steps)
        self.failing = failing
        self.served: list[int] = []
        self.failed: list[int] = []
        self.slept: list[float] = []
        self.all_done = asyncio.Event()
        self.stepper = Stepper(
            "story",
            self.list_owners,
            self.step,
            before_any=-1,
            owners_max=owners_max,
            interval_s=0.001,
            sleep=self.sleep,
        )

    async def list_owners(self, after: int, most: int) -> Sequence[int]:
        return sorted(owner for owner in +self.left if owner > after)[:most]

    async def step(self, owner: int) -> DoneStep | None:
        if owner in self.failing:
            self.failed.append(owner)
            raise ValueError(f"the step of {owner}")
        self.served.append(owner)
        self.left[owner] -= 1
        if not +self.left:
            self.all_done.set()
        return DoneStep(0.25 * owner)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@given(WORK, FAILING, st.integers(1, 7))
def test_each_owner_gets_a_step_before_anybody_gets_two_more(
    steps: dict[int, int], failing: set[int], owners_max: int
) -> None:
    """All is done, whoever fails is tried once in a round, and each step is paused for."""
    story = Story(steps, failing, owners_max)
    with structlog.testing.capture_logs() as logs:
        asyncio.run(story.stepper.run_rounds())
    able = steps.keys() - failing
    assert Counter(story.served) == {owner: steps[owner] for owner in able}
    assert sorted(story.failed) == sorted(steps.keys() & failing)
    assert sorted(each["owner"] for each in logs) == sorted(story.failed)
    assert story.slept == [0.25 * owner for owner in story.served]
    for index, owner in enumerate(story.served):
        others = Counter(story.served[:index])
        waiting = {each for each in able if others[each] < steps[each]}
        assert all(others[owner] - others[each] <= 1 for each in waiting), "somebody had to wait"


def test_what_is_done_without_a_step_costs_no_pause_and_ends_the_rounds() -> None:
    story = Story({1: 1, 2: 1})

    async def do_nothing(owner: int) -> DoneStep | None:
        story.served.append(owner)
        return None

    story.stepper._step = do_nothing
    asyncio.run(story.stepper.run_rounds())
    assert (story.served, story.slept) == ([1, 2], [])


def test_an_unavailable_database_ends_the_round_and_the_next_one_goes_on_behind() -> None:
    story = Story({1: 1, 2: 1, 3: 1})
    is_down = True
    step = story.step

    async def fail_once(owner: int) -> DoneStep | None:
        nonlocal is_down
        if owner == 2 and is_down:
            is_down = False
            raise Unavailable("no database")
        return await step(owner)

    story.stepper._step = fail_once

    async def run() -> None:
        running = asyncio.create_task(story.stepper.run())
        await story.all_done.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    asyncio.run(run())
    assert story.served == [1, 2, 3]


def test_a_step_that_is_cut_off_is_done_by_whoever_goes_on() -> None:
    story = Story({1: 2, 2: 1})
    step = story.step
    began = asyncio.Event()

    async def hang(owner: int) -> DoneStep | None:
        began.set()
        await asyncio.Event().wait()
        return await step(owner)

    story.stepper._step = hang

    async def run() -> None:
        running = asyncio.create_task(story.stepper.run())
        await began.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert running.cancelled()
        assert story.served == []
        story.stepper._step = step
        await story.stepper.run_rounds()

    asyncio.run(run())
    assert Counter(story.served) == {1: 2, 2: 1}


def test_any_thread_ends_the_wait() -> None:
    async def run() -> None:
        wakeup, woken = Wakeup(), asyncio.Event()

        async def work() -> None:
            woken.set()

        wakeup.notify()  # nobody waits yet
        running = asyncio.create_task(repeat(3_600, work, wakeup))
        await asyncio.sleep(0)
        await asyncio.to_thread(wakeup.notify)
        async with asyncio.timeout(30):
            await woken.wait()
        running.cancel()

    asyncio.run(run())


def test_an_unexpected_error_between_the_steps_is_for_the_supervisor() -> None:
    async def work() -> None:
        raise ValueError("a mistake")

    with pytest.raises(ValueError, match="a mistake"):
        asyncio.run(repeat(0.001, work))
