"""Token buckets that refill with time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import MINUTE, SECOND, Clock, Moment
from longwire.work.rate_limits import RateLimiter


class ManualClock(Clock):
    """A clock that only moves when it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.moment: Moment = 1_800_000_000 * SECOND

    def now(self) -> Moment:
        return self.moment


def count_allowed(limiter: RateLimiter, key: str, count: int) -> int:
    """How many of `count` immediate attempts are allowed."""
    allowed_count = 0
    for _ in range(count):
        if not limiter.get_retry_after_s(key):
            limiter.consume(key)
            allowed_count += 1
    return allowed_count


@pytest.mark.parametrize(
    "waited_s, allowed",
    [(0, 0), (11, 0), (12, 1), (23, 1), (24, 2), (60, 5), (3_600, 5)],
)
def test_after_a_burst_the_bucket_refills_evenly(waited_s: int, allowed: int) -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, burst=5, per_minute=5)
    assert count_allowed(limiter, "ada", 10) == 5
    clock.moment += waited_s * SECOND
    assert count_allowed(limiter, "ada", 10) == allowed


@pytest.mark.parametrize(
    "per_minute, waited_s, wait_s",
    [(5, 0, 12), (5, 11, 1), (5, 11.5, 1), (5, 12, 0), (30, 0, 2), (6_000, 0, 1), (0.5, 0, 120)],
)
def test_retry_after_is_in_whole_seconds_and_never_too_short(
    per_minute: float, waited_s: float, wait_s: int
) -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, burst=1, per_minute=per_minute)
    limiter.consume("ada")
    clock.moment += int(waited_s * SECOND)
    assert limiter.get_retry_after_s("ada") == wait_s


def test_a_check_consumes_nothing_and_keys_are_independent() -> None:
    limiter = RateLimiter(ManualClock(), burst=2, per_minute=2)
    assert [limiter.get_retry_after_s("ada") for _ in range(10)] == [0] * 10
    assert count_allowed(limiter, "ada", 5) == 2
    assert count_allowed(limiter, "bob", 5) == 2
    assert limiter.get_retry_after_s(("ada", "bob")) == 0


def test_a_clock_that_is_set_back_neither_fills_nor_empties_a_bucket() -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, burst=2, per_minute=2)
    limiter.consume("ada")
    clock.moment -= 10 * MINUTE
    assert count_allowed(limiter, "ada", 5) == 1
    clock.moment += 30 * SECOND
    assert count_allowed(limiter, "ada", 5) == 1


@given(
    burst=st.integers(1, 40),
    per_minute=st.integers(1, 600),
    pause=st.integers(0, MINUTE),
)
def test_a_client_that_waits_for_retry_after_is_allowed(
    burst: int, per_minute: int, pause: Moment
) -> None:
    clock = ManualClock()
    limiter = RateLimiter(clock, burst=burst, per_minute=per_minute)
    count_allowed(limiter, "ada", burst)
    clock.moment += pause
    count_allowed(limiter, "ada", burst)
    wait_s = limiter.get_retry_after_s("ada")
    assert 1 <= wait_s <= 60 / per_minute + 1
    clock.moment += wait_s * SECOND
    assert limiter.get_retry_after_s("ada") == 0
