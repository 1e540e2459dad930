"""Waiting for other threads and processes, independent of the speed of the machine.

No test asserts how long something took, or that it has happened after a pause: it waits until it
has. The timeout only ends a test that would otherwise hang.
"""

import time
from collections.abc import Callable

PATIENCE_S = 300.0
PAUSE_MIN_S, PAUSE_MAX_S = 0.005, 0.05


def eventually(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    """Return soon after the condition holds.

    What has taken long is looked at less often: a look is often a request, and takes time from what
    is waited for.
    """
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        assert waited < within_s, f"still not so after {within_s:.0f} s"
        time.sleep(min(PAUSE_MAX_S, PAUSE_MIN_S + waited / 10))
