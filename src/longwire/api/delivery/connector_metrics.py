"""The operation that shows connectors over time."""

from typing import Annotated

import msgspec
from msgspec import Meta

from longwire.api.services import Context
from longwire.api.types import GroupId, parse_period
from longwire.dates import LATEST, format_date
from longwire.delivery.connectors import connector_metrics
from longwire.delivery.connectors.connector_metrics import percentile
from longwire.store.delivery.connector_minutes import ConnectorSpan
from longwire.web.fields import Count, DateQuery, DateText, Id, Query, Reply
from longwire.web.routing import Route


class AttemptDurations(Reply, omit_defaults=False):
    """How long attempts took, in milliseconds; estimated by counts in twelve ranges."""

    p50: Annotated[int, Meta(description="Half of them took no longer.", examples=[35])]
    p95: Annotated[int, Meta(description="95 of 100 took no longer.", examples=[180])]
    max: Annotated[int, Meta(description="The longest one.", examples=[412])]


class ConnectorMetric(Reply, kw_only=True, omit_defaults=False):
    """What happened in one span of time."""

    timestamp: Annotated[DateText, Meta(description="The begin of the span.")]
    made: Annotated[Count, Meta(description="Messages queued for records.", examples=[120])] = 0
    succeeded: Annotated[Count, Meta(description="Messages delivered.", examples=[118])] = 0
    failed: Annotated[
        Count, Meta(description="Messages given up after their last attempt.", examples=[1])
    ] = 0
    retried: Annotated[
        Count,
        Meta(description="Attempts after the first, or of a message sent again.", examples=[4]),
    ] = 0
    waiting: Annotated[
        Count,
        Meta(
            description="Messages that waited when they were last counted in the span.",
            examples=[3],
        ),
    ] = 0
    ms: (
        Annotated[AttemptDurations, Meta(description="Absent without attempts.")]
        | msgspec.UnsetType
    ) = msgspec.UNSET


class ConnectorMetrics(Reply, kw_only=True):
    """Connectors over time."""

    begin_date: Annotated[DateText, Meta(description="In whole minutes, or hours.")]
    end_date: Annotated[DateText, Meta(description="In whole minutes, or hours.")]
    time_span: Annotated[int, Meta(description="Seconds per item.", examples=[3_600])]
    items: Annotated[
        list[ConnectorMetric],
        Meta(description="Without gaps, from `beginDate` on."),
    ]


class ConnectorMetricsQuery(Query, kw_only=True):
    """Which connectors, which period, and the length of its items."""

    group_id: GroupId
    connector_id: (
        Annotated[Id, Meta(description="Only this one; by default all of the group together.")]
        | None
    ) = None
    begin_date: DateQuery
    end_date: DateQuery
    time_span: (
        Annotated[
            int,
            Meta(
                ge=1,
                le=10**9,
                description="Seconds per item, a multiple of 60; default 3600.",
                examples=[3_600],
            ),
        ]
        | None
    ) = None


def _durations(span: ConnectorSpan) -> AttemptDurations | msgspec.UnsetType:
    if not any(span.buckets):
        return msgspec.UNSET
    return AttemptDurations(
        p50=percentile(span.buckets, span.max_ms, 0.5),
        p95=percentile(span.buckets, span.max_ms, 0.95),
        max=span.max_ms,
    )


def get_connector_metrics(context: Context, query: ConnectorMetricsQuery) -> ConnectorMetrics:
    """Get the metrics of connectors over time.

    Of one connector, or of all connectors of a group together; in whole minutes, or in whole hours
    if `timeSpan` is a multiple of 3,600. Kept for a limited time.
    """
    begin, end = parse_period(query.begin_date, query.end_date)
    assert begin is not None and end is not None  # both are required
    span_s = connector_metrics.SPAN_DEFAULT_S if query.time_span is None else query.time_span
    report = connector_metrics.build_report(
        context.tx, context.actor, query.group_id, query.connector_id, begin, end, span_s
    )
    nothing = ConnectorSpan()
    items = []
    for index in range(report.span_count):
        span = report.spans.get(index, nothing)
        items.append(
            ConnectorMetric(
                timestamp=format_date(report.begin + index * report.span),
                made=span.made,
                succeeded=span.succeeded,
                failed=span.failed,
                retried=span.retried,
                waiting=span.waiting,
                ms=_durations(span),
            )
        )
    return ConnectorMetrics(
        begin_date=format_date(report.begin),
        end_date=format_date(min(report.end, LATEST)),
        time_span=span_s,
        items=items,
    )


ROUTES = [
    Route(
        "GET",
        "/connector/metrics",
        get_connector_metrics,
        "metrics.read",
        object_rule="in the group of the connectors",
        tag="Connectors",
        may_lag=True,
        is_addition=True,
        not_found_is_bad_request=True,
    ),
]
