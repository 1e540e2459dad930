"""Numbers the arrivals of this process, and reports those that are committed."""

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from longwire.clock import Moment
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.records.arrival_numbers import WRITER_BITS
from longwire.store.records.records import RecordRow

Publish = Callable[[Sequence[RecordRow], Mapping[str, ReportingDevice]], None]


class Sequencer:
    """Numbers arrivals: time in the high bits, the process in the low ones; strictly increasing."""

    def __init__(
        self, writer: int, on_stored: Callable[[Mapping[int, int]], None] = lambda counts: None
    ) -> None:
        """`on_stored` gets the number of records by kind, after each commit and on any thread."""
        self.writer = writer
        self.publish: Publish | None = None  # called like `on_stored`, with the records
        self._on_stored = on_stored
        self._last: Moment = 0
        self._lock = threading.Lock()  # not all arrivals come through one queue

    def report(self, fresh: Sequence[RecordRow], devices: Mapping[str, ReportingDevice]) -> None:
        """Report records that are committed, and their devices by id."""
        self._on_stored(Counter([row.kind for row in fresh]))
        if self.publish is not None:
            self.publish(fresh, devices)

    def take(self, now: Moment, count: int) -> range:
        with self._lock:
            first = max(now, self._last + 1)
            self._last = first + count - 1
        step = 1 << WRITER_BITS
        start = (first << WRITER_BITS) | self.writer
        return range(start, start + count * step, step)
