"""Budgets that time refills: no more is used than the burst and the rate allow."""

from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import SECOND, Clock, Moment
from longwire.work.budgets import RefillingBudgets

BURST = 10.0
PER_S = 2.0
ROUNDING = 1e-6


class ManualClock(Clock):
    """A clock that only moves when it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.moment: Moment = 1_800_000_000 * SECOND

    def now(self) -> Moment:
        return self.moment


def budgets(clock: Clock, *, keys_max: int = 100, nodes: int = 1) -> RefillingBudgets[str]:
    return RefillingBudgets(clock, burst=BURST, per_s=PER_S, keys_max=keys_max, nodes=lambda: nodes)


KEYS = st.sampled_from("abc")
# Who uses how much, after so many milliseconds; some clocks are set back.
USES = st.lists(st.tuples(KEYS, st.floats(0, 5), st.integers(-20_000, 20_000)), max_size=60)


@given(USES, st.integers(1, 4))
def test_what_is_left_before_it_is_used_is_never_exceeded(
    uses: list[tuple[str, float, int]], nodes: int
) -> None:
    clock = ManualClock()
    shared = budgets(clock, nodes=nodes)
    used = dict.fromkeys("abc", 0.0)
    passed_s = 0.0
    for key, amount, milliseconds in uses:
        clock.moment += milliseconds * SECOND // 1_000
        passed_s += max(0, milliseconds) / 1_000
        left = shared.get_left(key)
        assert left <= BURST / nodes + ROUNDING
        if left >= amount:
            shared.use(key, amount)
            used[key] += amount
        assert used[key] <= (BURST + passed_s * PER_S) / nodes + ROUNDING


@given(USES, KEYS, st.floats(0.1, BURST))
def test_who_waits_as_long_as_is_said_gets_what_they_want(
    uses: list[tuple[str, float, int]], key: str, amount: float
) -> None:
    """Also after a debt, and on a clock that was set back."""
    clock = ManualClock()
    shared = budgets(clock)
    for each, used, milliseconds in uses:
        clock.moment += milliseconds * SECOND // 1_000
        shared.use(each, used)
    wait_s = shared.get_wait_s(key, amount)
    clock.moment += round(wait_s * SECOND)
    assert shared.get_left(key) >= amount - 1e-5
    assert shared.get_wait_s(key, amount - 1e-5) == 0


@given(USES)
def test_nobody_pays_for_others(uses: list[tuple[str, float, int]]) -> None:
    clock, alone_clock = ManualClock(), ManualClock()
    shared, alone = budgets(clock), budgets(alone_clock)
    for key, amount, milliseconds in uses:
        clock.moment += abs(milliseconds) * SECOND // 1_000
        alone_clock.moment = clock.moment
        shared.use(key, amount)
        if key == "a":
            alone.use(key, amount)
        assert abs(shared.get_left("a") - alone.get_left("a")) < ROUNDING


def test_a_debt_has_a_bound_and_what_is_given_back_no_more_than_the_burst() -> None:
    shared = budgets(ManualClock())
    shared.use("a", 100, debt_max=3)
    assert shared.get_left("a") == -3
    shared.use("a", -100)
    assert shared.get_left("a") == BURST
    shared.use("a", 4)
    shared.refill("a")
    assert shared.get_left("a") == BURST


def test_the_key_that_was_used_longest_ago_is_forgotten_first() -> None:
    shared = budgets(ManualClock(), keys_max=2)
    for key in "abac":
        shared.use(key, 1)
    assert [shared.get_left(key) for key in "abc"] == [BURST - 2, BURST, BURST - 1]
