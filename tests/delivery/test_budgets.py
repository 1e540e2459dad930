"""Budgets of computation: what the expressions of one group may use."""

import pytest

from longwire.delivery.matching.budgets import ComputeBudgets, InlineAllowance
from tests.world import AdjustableClock


class Processor:
    """A CPU clock that the test advances."""

    def __init__(self) -> None:
        self.ns = 0

    def __call__(self) -> int:
        return self.ns

    def work(self, *, ms: float) -> None:
        self.ns += int(ms * 1_000_000)


@pytest.fixture
def clock() -> AdjustableClock:
    clock = AdjustableClock()
    clock.freeze()
    return clock


@pytest.fixture
def processor() -> Processor:
    return Processor()


@pytest.fixture
def budgets(clock: AdjustableClock, processor: Processor) -> ComputeBudgets:
    return ComputeBudgets(clock, ms_per_s=100, burst_ms=500, cpu_ns=processor)


def test_a_group_that_used_up_its_budget_waits_alone(
    budgets: ComputeBudgets, processor: Processor
) -> None:
    with budgets.charging("1"):
        processor.work(ms=499)
    assert not budgets.is_used_up("1")
    with budgets.charging("1"):
        processor.work(ms=1)
    assert budgets.is_used_up("1")
    assert not budgets.is_used_up("2")


def test_time_refills_a_budget_up_to_its_burst(
    budgets: ComputeBudgets, clock: AdjustableClock
) -> None:
    budgets.charge("1", 1_000_000)
    clock.let_pass(seconds=4.9)
    assert budgets.is_used_up("1")
    clock.let_pass(seconds=0.2)
    assert not budgets.is_used_up("1")
    clock.let_pass(days=1)
    budgets.charge("1", 500_000)
    assert budgets.is_used_up("1")


def test_what_fails_is_charged_as_well(budgets: ComputeBudgets, processor: Processor) -> None:
    with pytest.raises(ValueError, match="costly"), budgets.charging("1"):
        processor.work(ms=600)
        raise ValueError("costly")
    assert budgets.is_used_up("1")


def test_a_clock_that_is_set_back_makes_nobody_wait_for_it(
    budgets: ComputeBudgets, clock: AdjustableClock
) -> None:
    budgets.charge("1", 600_000)
    assert budgets.is_used_up("1")
    clock.let_pass(days=-1)
    assert not budgets.is_used_up("1")


def test_a_transaction_charges_evaluations_and_nothing_else(
    budgets: ComputeBudgets, processor: Processor
) -> None:
    allowance = InlineAllowance(budgets)
    processor.work(ms=600)  # the records of somebody else are stored
    with allowance.measuring():
        assert allowance.take("1", 100.0)
        processor.work(ms=600)  # and those of a third group matched
    allowance.settle()
    assert not budgets.is_used_up("1")
    for _ in range(3):
        allowance = InlineAllowance(budgets, us_per_group_max=1e6, us_max=1e6)
        with allowance.measuring():
            assert allowance.take("1", 200_000.0)
            processor.work(ms=200)
        allowance.settle()
    assert budgets.is_used_up("1")


def test_an_evaluation_that_costs_nothing_is_charged_with_nothing(
    budgets: ComputeBudgets, processor: Processor
) -> None:
    allowance = InlineAllowance(budgets)
    with allowance.measuring():
        assert allowance.take("1", 0.0)
        processor.work(ms=1)
    allowance.settle()


def test_what_filters_have_used_up_is_not_missing_for_what_cannot_be_deferred() -> None:
    allowance = InlineAllowance(us_max=100.0)
    assert allowance.take("greedy", 100.0)
    assert not allowance.take("honest", 1.0)
    assert allowance.renew().take("honest", 1.0)
