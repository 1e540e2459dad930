"""Waiting for other threads and processes, however slow the machine is.

No test asserts how long something took, or that it happened within a moment: it waits until it did.
The limit only ends a test that would wait for ever.
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
