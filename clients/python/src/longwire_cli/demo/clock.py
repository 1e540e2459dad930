"""The clock of the service that a demo fills, which is turned while its past is stored.

Moments are microseconds since 1970, as those of the service.
"""

import time
from typing import Protocol

MILLISECOND = 1_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Clock(Protocol):
    def now(self) -> int: ...

    def synchronize(self, reference: int) -> None:
        """Read `reference` now, and go on from there."""


class SystemClock:
    """That of this machine, which nobody turns."""

    def now(self) -> int:
        return now()

    def synchronize(self, reference: int) -> None:
        raise NotImplementedError


def now() -> int:
    return time.time_ns() // 1_000
