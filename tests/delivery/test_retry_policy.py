"""When a message is tried again: arithmetic, as tables."""

import pytest

from longwire.clock import SECOND
from longwire.delivery import retry_policy

LEAST, MOST = 0.0, 1.0  # what chance can be


@pytest.mark.parametrize(
    "retries_max, tries",
    [(None, 5), (0, 1), (1, 2), (7, 8), (retry_policy.RETRIES_MAX, 101)],
)
def test_a_message_is_tried_once_and_as_often_again_as_was_said(
    retries_max: int | None, tries: int
) -> None:
    assert retry_policy.tries_max(retries_max) == tries


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
def test_waits_are_spread_by_a_fifth_at_most(
    attempts: int, delay_s: int | None, least_s: float, most_s: float
) -> None:
    assert retry_policy.wait(attempts, delay_s, LEAST) == int(least_s * SECOND)
    assert retry_policy.wait(attempts, delay_s, MOST) == int(most_s * SECOND)
    between = retry_policy.wait(attempts, delay_s, 0.5)
    assert least_s * SECOND <= between <= most_s * SECOND


@pytest.mark.parametrize(
    "delay_s, asked_s, waited_s",
    [
        (10, None, 10),
        (10, 0, 10),
        (10, 9, 10),  # less than we wait anyway
        (10, 11, 11),
        (10, 3_600, 3_600),
        (10, 3_601, 3_600),  # absurd
        (10, 2**63, 3_600),
        (86_400, 3_600, 86_400),
        (86_400, 2**63, 86_400),
        (None, 60, 60),
        (None, 20, 30),
        (10, -5, 10),
    ],
)
def test_what_the_other_side_asks_for_is_honoured_when_it_is_longer_and_not_absurd(
    delay_s: int | None, asked_s: int | None, waited_s: int
) -> None:
    assert retry_policy.wait(1, delay_s, LEAST, asked_s) == waited_s * SECOND


def test_what_failed_together_does_not_come_back_together() -> None:
    waits = {retry_policy.wait(1, 10, chance / 100) for chance in range(101)}
    assert len(waits) == 101
