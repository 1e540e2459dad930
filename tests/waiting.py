"""Waiting for other threads and processes, independent of the speed of the machine.

No test asserts how long something took, or that it has happened after a pause: it waits until it
has. The timeout only ends a test that would otherwise hang.
"""

import time
from collections.abc import Callable

PATIENCE_S = 60.0


def eventually(condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
    """Return as soon as the condition holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {within_s:.0f} s"
        time.sleep(0.01)
