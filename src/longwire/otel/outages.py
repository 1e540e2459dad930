"""What the log says about the collector: one line when it is lost, one when it is back.

The SDK logs every batch that it cannot export, and more while it retries. Here that is the reason
of one line.
"""

import logging
import threading
import time

import structlog

# A collector that takes everything, but not as fast as spans are made.
DROPS_LOG_INTERVAL_S = 3_600.0
_SDK = "opentelemetry"
# Logs when its queue is full; of everything else it does, exporters tell us.
_SDK_QUEUE = "opentelemetry.sdk._shared_internal"

log = structlog.get_logger()


class Outages:
    """Which signals (traces, metrics) are not exported. Any thread may use it."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._failing: set[str] = set()
        self._lock = threading.Lock()
        self._drops_logged_at = -DROPS_LOG_INTERVAL_S
        self._reason = ""

    def explain(self, reason: str) -> None:
        """Why something was not exported; the first reason counts, later ones follow from it."""
        self._reason = self._reason or reason

    def report(self, signal: str, *, is_exported: bool) -> None:
        with self._lock:
            had_failed = bool(self._failing)
            if is_exported:
                self._failing.discard(signal)
            else:
                self._failing.add(signal)
            has_failed = bool(self._failing)
            reason, self._reason = self._reason, self._reason if has_failed else ""
        if has_failed and not had_failed:
            log.warning("otel export failed", endpoint=self._endpoint, signal=signal, reason=reason)
        elif had_failed and not has_failed:
            log.info("otel export works again", endpoint=self._endpoint)

    def report_dropped(self) -> None:
        """The queue is full. While nothing is exported at all, that is not logged."""
        now = time.monotonic()
        with self._lock:
            should_log = not self._failing and now - self._drops_logged_at >= DROPS_LOG_INTERVAL_S
            if should_log:
                self._drops_logged_at = now
        if should_log:
            log.warning("otel spans dropped", reason="there are more than the collector takes")


class SdkLog(logging.Handler):
    """Takes what the SDK logs."""

    def __init__(self, outages: Outages) -> None:
        super().__init__(logging.WARNING)
        self._outages = outages

    def emit(self, record: logging.LogRecord) -> None:
        if record.name == _SDK_QUEUE:
            self._outages.report_dropped()
        else:
            self._outages.explain(record.getMessage())

    def install(self) -> None:
        """In place of the process's own handlers."""
        logger = logging.getLogger(_SDK)
        logger.handlers = [self]
        logger.propagate = False
