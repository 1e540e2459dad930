"""When a delivery is retried: arithmetic, as tables."""

import pytest

from longwire.clock import SECOND
from longwire.delivery import retry_policy

LEAST, MOST = 0.0, 1.0  # the range of the random share


@pytest.mark.parametrize(
    "retries_max, attempts",
    [(None, 5), (0, 1), (1, 2), (7, 8), (retry_policy.RETRIES_MAX, 101)],
)
def test_there_is_one_attempt_and_the_configured_retries(
    retries_max: int | None, attempts: int
) -> None:
    assert retry_policy.attempts_max(retries_max) == attempts


@pytest.mark.parametrize(
    "attempts, delay_s, least_s, most_s",
    [
        # Without a policy: 30 s, 5 min, 25 min, 90 min.
        (1, None, 30, 36),
        (2, None, 300, 360),
        (3, None, 1_500, 1_800),
        (4, None, 5_400, 6_480),
        (5, None, 5_400, 6_480),  # more than there should be, after the policy was changed
        (99, None, 5_400, 6_480),
        # With one: always the same.
        (1, 1, 1, 1.2),
        (1, 10, 10, 12),
        (2, 10, 10, 12),
        (100, 10, 10, 12),
        (1, retry_policy.RETRY_DELAY_MAX_S, 86_400, 103_680),
    ],
)
def test_jitter_adds_a_fifth_at_most(
    attempts: int, delay_s: int | None, least_s: float, most_s: float
) -> None:
    assert retry_policy.retry_delay(attempts, delay_s, LEAST) == int(least_s * SECOND)
    assert retry_policy.retry_delay(attempts, delay_s, MOST) == int(most_s * SECOND)
    between = retry_policy.retry_delay(attempts, delay_s, 0.5)
    assert least_s * SECOND <= between <= most_s * SECOND


@pytest.mark.parametrize("attempts, least_s", [(1, 10), (2, 60), (3, 5), (4, 5)])
def test_a_list_has_a_delay_for_each_retry(attempts: int, least_s: int) -> None:
    for share, factor in ((LEAST, 1), (MOST, 1.2)):
        delay = retry_policy.retry_delay(attempts, None, share, delays_s=(10, 60, 5))
        assert delay == int(least_s * factor * SECOND)


@pytest.mark.parametrize(
    "delay_s, retry_after_s, expected_s",
    [
        (10, None, 10),
        (10, 0, 10),
        (10, 9, 10),  # shorter than our own delay
        (10, 11, 11),
        (10, 3_600, 3_600),
        (10, 3_601, 3_600),  # above the limit
        (10, 2**63, 3_600),
        (86_400, 3_600, 86_400),
        (86_400, 2**63, 86_400),
        (None, 60, 60),
        (None, 20, 30),
        (10, -5, 10),
    ],
)
def test_a_longer_retry_after_is_honoured_up_to_a_limit(
    delay_s: int | None, retry_after_s: int | None, expected_s: int
) -> None:
    assert retry_policy.retry_delay(1, delay_s, LEAST, retry_after_s) == expected_s * SECOND


def test_deliveries_that_failed_together_are_not_retried_together() -> None:
    delays = {retry_policy.retry_delay(1, 10, share / 100) for share in range(101)}
    assert len(delays) == 101
