"""When a message is tried again, and when it is given up; plain arithmetic."""

from longwire.clock import SECOND, Moment

DEFAULT_WAITS_S = (30, 5 * 60, 25 * 60, 90 * 60)
JITTER = 0.2
RETRY_AFTER_MAX_S = 3_600

STORING_DEFAULT_S = 7 * 86_400
STORING_MAX_S = 30 * 86_400
RETRIES_MAX = 100
RETRY_DELAY_MAX_S = 86_400


def tries_max(retries_max: int | None) -> int:
    """How often a message is tried at most."""
    return 1 + (len(DEFAULT_WAITS_S) if retries_max is None else retries_max)


def wait(
    attempts: int, retry_delay_s: int | None, chance: float, retry_after_s: int | None = None
) -> Moment:
    """How long to wait after so many tries; `chance` is between 0 and 1.

    The waits are spread a little, so that what failed together does not come back together. What
    the other side asks for is honoured when it is longer, and not absurd.
    """
    if retry_delay_s is None:
        delay_s = DEFAULT_WAITS_S[min(attempts, len(DEFAULT_WAITS_S)) - 1]
    else:
        delay_s = retry_delay_s
    spread = int(delay_s * SECOND * (1 + JITTER * chance))
    return max(spread, min(retry_after_s or 0, RETRY_AFTER_MAX_S) * SECOND)
