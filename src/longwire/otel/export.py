"""Exports spans and metrics to a collector, by OTLP over HTTP, on threads of its own.

Everything is bounded: the queue of spans, the time that an export may take, and the flush at the
end. Spans that do not fit into the queue are dropped.

What this process has a setting for is taken from the setting. For the rest, the SDK reads the
environment variables of OpenTelemetry.
"""

import asyncio
import contextlib
import os
import secrets
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import MetricExportResult
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON

from longwire import __version__
from longwire.clock import Moment
from longwire.otel import CollectMetrics
from longwire.otel.otlp_metrics import OtlpMetrics
from longwire.otel.outages import Outages, SdkLog
from longwire.otel.recorded_spans import SpanTracer
from longwire.prometheus import CollectedMetrics
from longwire.spans import Tracer

# A stop waits for the last export no longer than this.
FLUSH_TIMEOUT_S = 5.0
METRICS_VARIABLE = "OTEL_METRICS_EXPORTER"  # "none" for a system that takes traces alone
METRICS_INTERVAL_VARIABLE = "OTEL_METRIC_EXPORT_INTERVAL"  # in milliseconds, as the SDK has it
METRICS_INTERVAL_S = 60.0


class OtlpExporter:
    """See `otel.OtelExporter`."""

    def __init__(
        self,
        endpoint: str,
        headers: Mapping[str, str],
        *,
        sample_ratio: float,
        started_at: Moment,
    ) -> None:
        """`endpoint` is the URL without `/v1/traces`; with a ratio of 0 there are no traces."""
        base, headers = endpoint.rstrip("/"), dict(headers)
        self._outages = Outages(base)
        SdkLog(self._outages).install()
        resource = _describe_process()
        self.tracer: Tracer | None = None
        self._provider: TracerProvider | None = None
        self._span_exporter: OTLPSpanExporter | None = None
        if sample_ratio:
            self._span_exporter = OTLPSpanExporter(f"{base}/v1/traces", headers=headers)
            self._provider = TracerProvider(ALWAYS_ON, resource, shutdown_on_exit=False)
            reporting = _ReportingExporter(self._span_exporter, self._outages)
            self._provider.add_span_processor(BatchSpanProcessor(reporting))
            tracer = self._provider.get_tracer("longwire", __version__)
            self.tracer = SpanTracer(tracer, sample_ratio)
        self._metric_exporter: OTLPMetricExporter | None = None
        if os.environ.get(METRICS_VARIABLE) != "none":
            self._metric_exporter = OTLPMetricExporter(f"{base}/v1/metrics", headers=headers)
        self._metrics = OtlpMetrics(resource, started_at)

    async def run(self, collect: CollectMetrics) -> None:
        interval_s = _get_metrics_interval_s()
        while True:
            await asyncio.sleep(interval_s)
            if self._metric_exporter is not None:
                collected = await collect()
                await _run_on_thread(partial(self._export_metrics, collected))

    async def close(self, collect: CollectMetrics) -> None:
        try:
            async with asyncio.timeout(FLUSH_TIMEOUT_S):
                collected = await collect() if self._metric_exporter is not None else None
                await _run_on_thread(partial(self._flush, collected))
        except TimeoutError:
            self._outages.explain("the collector did not respond before the stop")
            # What hangs is not retried any more; its thread does not keep the process.
            for exporter in (self._span_exporter, self._metric_exporter):
                if exporter is not None:
                    exporter.shutdown()

    def _flush(self, collected: CollectedMetrics | None) -> None:
        if self._provider is not None:
            self._provider.shutdown()
        if self._metric_exporter is not None and collected is not None:
            self._export_metrics(collected)
            self._metric_exporter.shutdown()

    def _export_metrics(self, collected: CollectedMetrics) -> None:
        assert self._metric_exporter is not None
        result = self._metric_exporter.export(self._metrics.convert(collected))
        self._outages.report("metrics", is_exported=result is MetricExportResult.SUCCESS)


class _ReportingExporter(SpanExporter):
    """Reports whether spans are exported."""

    def __init__(self, exporter: SpanExporter, outages: Outages) -> None:
        self._exporter = exporter
        self._outages = outages

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        self._outages.report("traces", is_exported=result is SpanExportResult.SUCCESS)
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _describe_process() -> Resource:
    """What all spans and metrics of this process have in common."""
    own = {
        "service.name": "longwire",
        "service.version": __version__,
        "service.instance.id": str(uuid.UUID(bytes=secrets.token_bytes(16), version=4)),
    }
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})


def _get_metrics_interval_s() -> float:
    with contextlib.suppress(ValueError):
        interval_s = float(os.environ.get(METRICS_INTERVAL_VARIABLE, "")) / 1_000
        if interval_s > 0:
            return interval_s
    return METRICS_INTERVAL_S


async def _run_on_thread(call: Callable[[], None]) -> None:
    """Wait for a call on a thread that, unlike a pool's, does not keep the process from exiting."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def finish() -> None:
        if not done.done():
            done.set_result(None)

    def run() -> None:
        try:
            call()
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed; nobody waits any more
                loop.call_soon_threadsafe(finish)

    threading.Thread(target=run, name="otel", daemon=True).start()
    await done
