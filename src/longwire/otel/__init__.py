"""OpenTelemetry: traces and metrics to the operator's collector, by OTLP over HTTP.

Owns what needs the extra `otel`: spans, and the exporters of spans and metrics, in modules that are
loaded only if a collector is configured. The rest of the service knows the protocols here and in
`spans`. It counts nothing itself: metrics are those of `prometheus`.

Exporting never waits for the collector where requests are handled. What the collector does not take
is dropped.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from longwire.prometheus import CollectedMetrics
from longwire.spans import Tracer

CollectMetrics = Callable[[], Awaitable[CollectedMetrics]]


class OtelExporter(Protocol):
    """Exports the traces and metrics of one process."""

    tracer: Tracer | None  # None if there are no traces

    async def run(self, collect: CollectMetrics) -> None:
        """Export metrics periodically, until cancelled."""

    async def close(self, collect: CollectMetrics) -> None:
        """Export what is left, for a limited time."""
