"""The comparison itself: what counts as harm."""

import pytest

from tests.abuse.victim import BRIEF, MINUTE, AttackLength, Latencies, assert_unharmed

QUIET = Latencies([0.01] * 100, [0.01] * 100, [0.02] * 100)


@pytest.mark.parametrize(
    ("write", "length"),
    [
        pytest.param([3.7] * 100, BRIEF, id="a stall of everything"),
        pytest.param([0.01] * 99 + [26.8], BRIEF, id="one long stall"),
        pytest.param([0.06] * 100, MINUTE, id="six times slower"),
        pytest.param([0.01] * 95 + [1.5] * 5, MINUTE, id="slow at the tail"),
    ],
)
def test_harm_is_found(write: list[float], length: AttackLength) -> None:
    with pytest.raises(AssertionError, match="write: "):
        assert_unharmed(QUIET, Latencies(write, QUIET.read, QUIET.delivery), length)


@pytest.mark.parametrize("length", [BRIEF, MINUTE])
def test_what_is_hardly_noticed_is_no_harm(length: AttackLength) -> None:
    assert_unharmed(QUIET, Latencies([0.03] * 100, [0.02] * 100, [0.06] * 100), length)


def test_a_busy_machine_is_no_harm() -> None:
    attacked = Latencies([1.3] * 100, QUIET.read, QUIET.delivery)
    assert_unharmed(QUIET, attacked, BRIEF, slowdown=5.0)
    with pytest.raises(AssertionError, match="under attack"):
        assert_unharmed(QUIET, attacked, BRIEF, slowdown=1.0)
