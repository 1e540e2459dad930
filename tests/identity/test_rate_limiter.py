"""Buckets that refill with time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import MINUTE, SECOND, Clock, Moment
from longwire.identity.rate_limiter import RateLimiter
from longwire.settings import SettingsError, load


class Hand(Clock):
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self.moment: Moment = 1_800_000_000 * SECOND

    def now(self) -> Moment:
        return self.moment


def tries(limiter: RateLimiter, key: str, count: int) -> int:
    """How many of so many impatient tries were let through."""
    passed = 0
    for _ in range(count):
        if not limiter.get_retry_after_s(key):
            limiter.consume(key)
            passed += 1
    return passed


@pytest.mark.parametrize(
    "waited_s, let_through",
    [(0, 0), (11, 0), (12, 1), (23, 1), (24, 2), (60, 5), (3_600, 5)],
)
def test_after_a_burst_the_bucket_refills_evenly(waited_s: int, let_through: int) -> None:
    hand = Hand()
    limiter = RateLimiter(hand, burst=5, per_minute=5)
    assert tries(limiter, "ada", 10) == 5
    hand.moment += waited_s * SECOND
    assert tries(limiter, "ada", 10) == let_through


@pytest.mark.parametrize(
    "per_minute, waited_s, wait_s",
    [(5, 0, 12), (5, 11, 1), (5, 11.5, 1), (5, 12, 0), (30, 0, 2), (6_000, 0, 1), (0.5, 0, 120)],
)
def test_retry_after_is_in_whole_seconds_and_never_too_short(
    per_minute: float, waited_s: float, wait_s: int
) -> None:
    hand = Hand()
    limiter = RateLimiter(hand, burst=1, per_minute=per_minute)
    limiter.consume("ada")
    hand.moment += int(waited_s * SECOND)
    assert limiter.get_retry_after_s("ada") == wait_s


def test_looking_takes_nothing_and_keys_do_not_mix() -> None:
    limiter = RateLimiter(Hand(), burst=2, per_minute=2)
    assert [limiter.get_retry_after_s("ada") for _ in range(10)] == [0] * 10
    assert tries(limiter, "ada", 5) == 2
    assert tries(limiter, "bob", 5) == 2
    assert limiter.get_retry_after_s(("ada", "bob")) == 0


def test_a_clock_that_is_set_back_neither_fills_nor_empties_a_bucket() -> None:
    hand = Hand()
    limiter = RateLimiter(hand, burst=2, per_minute=2)
    limiter.consume("ada")
    hand.moment -= 10 * MINUTE
    assert tries(limiter, "ada", 5) == 1
    hand.moment += 30 * SECOND
    assert tries(limiter, "ada", 5) == 1


def test_the_key_unused_for_longest_is_forgotten_first() -> None:
    limiter = RateLimiter(Hand(), burst=1, per_minute=1, keys_max=2)
    limiter.consume("ada")
    limiter.consume("bob")
    limiter.consume("ada")
    limiter.consume("carol")
    assert [limiter.get_retry_after_s(key) > 0 for key in ("ada", "bob", "carol")] == [
        True,
        False,
        True,
    ]


@given(
    burst=st.integers(1, 40),
    per_minute=st.integers(1, 600),
    pauses=st.lists(st.integers(0, 2 * MINUTE), min_size=1, max_size=60),
)
def test_in_no_span_of_time_more_is_taken_than_promised(
    burst: int, per_minute: int, pauses: list[Moment]
) -> None:
    hand = Hand()
    limiter = RateLimiter(hand, burst=burst, per_minute=per_minute)
    taken: list[Moment] = []
    for pause in pauses:
        hand.moment += pause
        taken += [hand.moment] * tries(limiter, "ada", burst + 1)
    for first in range(len(taken)):
        for last in range(first, len(taken)):
            span = taken[last] - taken[first]
            assert last - first + 1 <= burst + span * per_minute / MINUTE + 1e-6


@given(
    burst=st.integers(1, 40),
    per_minute=st.integers(1, 600),
    pause=st.integers(0, MINUTE),
)
def test_a_caller_that_waits_for_retry_after_is_allowed(
    burst: int, per_minute: int, pause: Moment
) -> None:
    hand = Hand()
    limiter = RateLimiter(hand, burst=burst, per_minute=per_minute)
    tries(limiter, "ada", burst)
    hand.moment += pause
    tries(limiter, "ada", burst)
    wait_s = limiter.get_retry_after_s("ada")
    assert 1 <= wait_s <= 60 / per_minute + 1
    hand.moment += wait_s * SECOND
    assert limiter.get_retry_after_s("ada") == 0


@pytest.mark.parametrize(
    "name",
    [
        "token_failures_per_address_max",
        "token_failures_per_client_max",
        "requests_per_caller_burst",
    ],
)
def test_a_bucket_that_would_never_let_anybody_through_cannot_be_set(name: str) -> None:
    with pytest.raises(SettingsError, match=f"{name}: must be at least 1"):
        load({name: "0"}, {})
    assert getattr(load({name: "1"}, {}), name) == 1
