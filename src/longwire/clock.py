"""What time it is, and nothing else: every moment in the service comes from here.

A moment is a whole number of microseconds since 1970 in UTC. One number sorts, compares, is stored
the same way by both database engines and never carries a time zone to forget.
"""

import time

Moment = int

MILLISECOND: Moment = 1_000
SECOND: Moment = 1_000_000
MINUTE: Moment = 60 * SECOND
HOUR: Moment = 60 * MINUTE
DAY: Moment = 24 * HOUR


class Clock:
    """The machine's clock, set right by the database's when several machines share one.

    Each machine measures how far its own clock is from the database's and adds the difference, so
    that all of them agree on what is due without asking the database for the time every time.
    """

    def __init__(self) -> None:
        self._offset: Moment = 0

    def now(self) -> Moment:
        return time.time_ns() // 1_000 + self._offset

    def follow(self, authority: Moment) -> None:
        """Agree from now on with a clock that says it is `authority` at this instant."""
        self._offset = authority - time.time_ns() // 1_000
