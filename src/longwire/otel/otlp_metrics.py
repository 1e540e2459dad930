"""The service's own metrics in the data model of OpenTelemetry: the same as for Prometheus.

Needs the extra `otel`; only `otel` imports this. Names are those of Prometheus without
`_total`, which it appends again when it gets them from a collector.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.samples import Sample

from longwire import __version__
from longwire.clock import Moment
from longwire.prometheus import CollectedMetrics

_SCOPE = InstrumentationScope("longwire", __version__)
_NS_PER_US = 1_000
_CUMULATIVE = AggregationTemporality.CUMULATIVE


class OtlpMetrics:
    """Converts the metrics of one process."""

    def __init__(self, resource: Resource, started_at: Moment) -> None:
        """Counters count from `started_at` on."""
        self._resource = resource
        self._started_at = started_at

    def convert(self, collected: CollectedMetrics) -> MetricsData:
        period = _Period(self._started_at * _NS_PER_US, collected.at * _NS_PER_US)
        metrics = [_convert(family, period) for family in collected.families]
        scope = ScopeMetrics(_SCOPE, [each for each in metrics if each.data.data_points], "")
        return MetricsData([ResourceMetrics(self._resource, [scope], "")])


class _Period(NamedTuple):
    """What a data point is about, in nanoseconds since 1970."""

    start_ns: int
    end_ns: int


def _convert(family: MetricFamily, period: _Period) -> Metric:
    data: Sum | Histogram | Gauge
    if family.type == "counter":
        points = _build_points(family, f"{family.name}_total", period)
        data = Sum(points, _CUMULATIVE, is_monotonic=True)
    elif family.type == "histogram":
        data = Histogram(list(_build_histogram_points(family, period)), _CUMULATIVE)
    else:
        data = Gauge(_build_points(family, family.name, period))
    return Metric(family.name, family.documentation, "", data)


def _build_points(family: MetricFamily, name: str, period: _Period) -> Sequence[NumberDataPoint]:
    return [
        NumberDataPoint(dict(sample.labels), period.start_ns, period.end_ns, sample.value)
        for sample in family.samples
        if sample.name == name
    ]


def _build_histogram_points(family: MetricFamily, period: _Period) -> Iterator[HistogramDataPoint]:
    by_labels: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in family.samples:
        labels = tuple((name, text) for name, text in sample.labels.items() if name != "le")
        by_labels.setdefault(labels, []).append(sample)
    for labels, samples in by_labels.items():
        yield _build_histogram_point(dict(labels), family.name, samples, period)


def _build_histogram_point(
    labels: Mapping[str, str], name: str, samples: Sequence[Sample], period: _Period
) -> HistogramDataPoint:
    buckets = [sample for sample in samples if sample.name == f"{name}_bucket"]
    # Those of Prometheus include the ones below.
    counts = [0, *(int(sample.value) for sample in buckets)]
    (total,) = (sample.value for sample in samples if sample.name == f"{name}_sum")
    return HistogramDataPoint(
        dict(labels),
        period.start_ns,
        period.end_ns,
        count=counts[-1],
        sum=total,
        bucket_counts=[upper - lower for lower, upper in pairwise(counts)],
        explicit_bounds=[float(sample.labels["le"]) for sample in buckets[:-1]],
        # Not known; the encoder leaves them out then.
        min=None,  # type: ignore[arg-type]
        max=None,  # type: ignore[arg-type]
    )
