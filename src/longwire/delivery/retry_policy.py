"""When a delivery is retried, and when it is given up; plain arithmetic."""

from collections.abc import Sequence

from longwire.clock import SECOND, Moment

DEFAULT_DELAYS_S = (30, 5 * 60, 25 * 60, 90 * 60)
JITTER = 0.2
RETRY_AFTER_MAX_S = 3_600

STORING_DEFAULT_S = 7 * 86_400
STORING_MAX_S = 30 * 86_400
RETRIES_MAX = 100
RETRY_DELAY_MAX_S = 86_400


def attempts_max(retries_max: int | None) -> int:
    return 1 + (len(DEFAULT_DELAYS_S) if retries_max is None else retries_max)


def retry_delay(
    attempts: int,
    retry_delay_s: int | None,
    random_share: float,
    retry_after_s: int | None = None,
    delays_s: Sequence[int] = (),
) -> Moment:
    """The delay after so many attempts; `random_share` is between 0 and 1.

    Without one delay for all, there is a list. Jitter keeps deliveries that failed together from
    returning together. A longer delay that the receiver requests is honoured, up to a limit.
    """
    delays_s = delays_s or DEFAULT_DELAYS_S
    delay_s = delays_s[min(attempts, len(delays_s)) - 1] if retry_delay_s is None else retry_delay_s
    with_jitter = int(delay_s * SECOND * (1 + JITTER * random_share))
    return max(with_jitter, min(retry_after_s or 0, RETRY_AFTER_MAX_S) * SECOND)
