"""The current time; every timestamp of the service comes from here.

A moment is an integer: microseconds since 1970 in UTC. It sorts, compares, is stored the same way
by both database engines and needs no time zone.
"""

import time

Moment = int

MILLISECOND: Moment = 1_000
SECOND: Moment = 1_000_000
MINUTE: Moment = 60 * SECOND
HOUR: Moment = 60 * MINUTE
DAY: Moment = 24 * HOUR


class Clock:
    """The system clock, corrected by the offset to the database's when machines share one.

    Each machine measures its offset periodically, so all agree on what is due without a query each
    time.
    """

    def __init__(self) -> None:
        self._offset: Moment = 0

    def now(self) -> Moment:
        return time.time_ns() // 1_000 + self._offset

    def synchronize(self, reference: Moment) -> None:
        """Adopt the offset to a reference clock that reads `reference` now."""
        self._offset = reference - time.time_ns() // 1_000
