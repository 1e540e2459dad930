"""Limits what a broker may send to us.

A broker only has to confirm what it gets, and to keep the connection alive. One that sends more is
parsed by the client libraries on the event loop, as fast as it sends: endless heartbeats would take
the loop from everybody.
"""

import contextlib
import time
from collections.abc import Iterator
from typing import NoReturn

# A read is a part of a frame (AMQP, Kafka, MQTT: up to three for a frame) or a line (NATS).
READS_BURST = 512
READS_PER_S = 16.0
READS_PER_MESSAGE = 16  # also for one that comes back, with its headers
BYTES_BURST = 512 * 1_024
BYTES_PER_S = 4_096.0
BYTES_PER_MESSAGE = 4_096
# A message that no queue takes comes back in frames of at least so many bytes.
FRAME_BYTES_MIN = 4_096


class InboundLimitExceeded(ConnectionError):
    """The broker sends more than it may; the connection has to be dropped."""


class InboundLimit:
    """What all connections of one connector may receive: a token bucket, filled by time.

    Each message that waits for its confirmation adds to it for as long as it waits.
    """

    def __init__(self) -> None:
        self.exceeded_count = 0
        self._reads_max, self._bytes_max = float(READS_BURST), float(BYTES_BURST)
        self._reads, self._bytes = self._reads_max, self._bytes_max
        self._filled_at = time.monotonic()

    @contextlib.contextmanager
    def sending(self, body_bytes: int) -> Iterator[None]:
        """A message of this size is being sent."""
        reads = READS_PER_MESSAGE + 3 * (body_bytes // FRAME_BYTES_MIN)
        size = BYTES_PER_MESSAGE + 2 * body_bytes
        self._extend(reads, size)
        try:
            yield
        finally:
            self._extend(-reads, -size)

    def take(self, reads: int, size: int) -> None:
        """Call before parsing what was received. Raises InboundLimitExceeded."""
        if reads > self._reads or size > self._bytes:
            self._fill()
        if reads > self._reads or size > self._bytes:
            self.refuse()
        self._reads -= reads
        self._bytes -= size

    def refuse(self) -> NoReturn:
        self.exceeded_count += 1
        raise InboundLimitExceeded("the broker sends more than it may")

    def _extend(self, reads: int, size: int) -> None:
        self._fill()
        self._reads_max += reads
        self._bytes_max += size
        if reads > 0:
            self._reads += reads
            self._bytes += size
        else:
            self._reads = min(self._reads, self._reads_max)
            self._bytes = min(self._bytes, self._bytes_max)

    def _fill(self) -> None:
        now = time.monotonic()
        elapsed_s, self._filled_at = now - self._filled_at, now
        self._reads = min(self._reads_max, self._reads + elapsed_s * READS_PER_S)
        self._bytes = min(self._bytes_max, self._bytes + elapsed_s * BYTES_PER_S)
