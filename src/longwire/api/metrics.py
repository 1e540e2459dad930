"""A group's counters on the wire."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from longwire import metrics
from longwire.api.records import period
from longwire.dates import LATEST, date_text
from longwire.web.routing import Call, Route
from longwire.web.validation import Count, DateQuery, DateText, GroupId, Query, Reply


class Totals(Reply):
    """What happened: records stored, what became of deliveries, and what networks said."""

    total_device_data: Count | None = None
    total_device_event: Count | None = None
    total_device_geoloc: Count | None = None
    total_device_telemetry: Count | None = None
    total_device_message: Count | None = None
    total_connector_message_started: Count | None = None
    total_connector_message_processing: Count | None = None
    total_connector_message_processed: Count | None = None
    total_connector_message_error: Count | None = None
    total_connector_retry_message_started: Count | None = None
    total_connector_retry_message_processed: Count | None = None
    total_connector_retry_message_error: Count | None = None
    total_device_vendor_uplink: Count | None = None
    total_device_vendor_downlink: Count | None = None
    total_vendor_data_message: Count | None = None
    total_vendor_data_advanced_message: Count | None = None


class GroupMetric(Totals):
    """The counters of one span."""

    group_id: str | None = None
    timestamp: DateText | None = None


class GroupMetrics(Totals):
    """The counters of a period, as a whole and span by span; `activeDevices` lists up to 10,000."""

    group_id: str | None = None
    begin_date: DateText | None = None
    end_date: DateText | None = None
    items: list[GroupMetric] | None = None
    active_devices: list[str] | None = None
    number_active_devices: Count | None = None
    active_connectors: list[str] | None = None
    number_active_connectors: Count | None = None


class MetricsQuery(Query):
    """Which group, which period, and how it is cut into items."""

    group_id: GroupId
    begin_date: DateQuery
    end_date: DateQuery
    time_span: (
        Annotated[int, Meta(ge=1, le=10**9, description="Seconds between items; 3600.")] | None
    ) = None
    subgroups: Annotated[bool, Meta(description="Count the groups below as well.")] | None = None


def show_metrics(call: Call, query: MetricsQuery) -> GroupMetrics:
    """Report what happened in a group.

    Counted when it arrived, with what it counts; deleting lowers nothing. The items cover the
    period from `beginDate` without holes, `timeSpan` seconds each.
    """
    begin, end = period(query.begin_date, query.end_date)
    assert begin is not None and end is not None  # both are required
    report = metrics.report(
        call.tx,
        call.actor,
        query.group_id,
        begin,
        end,
        query.time_span or metrics.SPAN_DEFAULT_S,
        subgroups=query.subgroups is True,
        keeps_days=call.keeps_days.get("metrics", 0),
    )
    return GroupMetrics(
        group_id=report.group_id,
        begin_date=date_text(report.begin),
        end_date=date_text(min(report.end, LATEST)),
        items=[
            GroupMetric(
                group_id=item.group_id, timestamp=date_text(item.at), **_totals(item.totals)
            )
            for item in report.items
        ],
        active_devices=report.active_devices,
        number_active_devices=report.active_device_count,
        active_connectors=report.active_connectors,
        number_active_connectors=len(report.active_connectors),
        **_totals(report.totals),
    )


def _totals(counted: Mapping[str, int]) -> dict[str, int]:
    """Every counter under its name on the wire, and the sum over the kinds of records."""
    totals = {f"total_{name}": counted.get(name, 0) for name in metrics.NAMES}
    totals[f"total_{metrics.PROCESSING}"] = counted.get(metrics.PROCESSING, 0)
    totals["total_device_message"] = sum(counted.get(name, 0) for name in metrics.RECORD_NAMES)
    return totals


ROUTES = [
    Route(
        method="GET",
        path="/group/metrics",
        handler=show_metrics,
        needs="metrics.read",
        rule="in the group",
        tag="Metrics",
    )
]
