"""The metrics of a group."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire import metrics
from longwire.api.services import Context
from longwire.api.types import GroupId, parse_period
from longwire.dates import LATEST, format_date
from longwire.web.fields import Count, DateQuery, DateText, Query, Reply
from longwire.web.routing import Route


class Totals(Reply):
    """Counters of records, deliveries and network messages."""

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
    """The counters of one time span."""

    group_id: str | None = None
    timestamp: DateText | None = None


class GroupMetrics(Totals):
    """The counters of a period, in total and per span; `activeDevices` lists up to 10,000."""

    group_id: str | None = None
    begin_date: DateText | None = None
    end_date: DateText | None = None
    items: list[GroupMetric] | None = None
    active_devices: list[str] | None = None
    number_active_devices: Count | None = None
    active_connectors: list[str] | None = None
    number_active_connectors: Count | None = None


class MetricsQuery(Query):
    """Which group, which period, and the length of its items."""

    group_id: GroupId
    begin_date: DateQuery
    end_date: DateQuery
    time_span: (
        Annotated[int, Meta(ge=1, le=10**9, description="Seconds per item; default 3600.")] | None
    ) = None
    subgroups: Annotated[bool, Meta(description="Include the groups below.")] | None = None


def get_metrics(context: Context, query: MetricsQuery) -> GroupMetrics:
    """Get the metrics of a group.

    Counted on arrival, in the same transaction; deleting does not lower a counter. The items cover
    the period from `beginDate` without gaps, `timeSpan` seconds each.
    """
    begin, end = parse_period(query.begin_date, query.end_date)
    assert begin is not None and end is not None  # both are required
    report = metrics.build_report(
        context.tx,
        context.actor,
        query.group_id,
        begin,
        end,
        query.time_span or metrics.SPAN_DEFAULT_S,
        subgroups=query.subgroups is True,
        retention_days=context.tx.context.limits.retention_days.get("metrics", 0),
    )
    return GroupMetrics(
        group_id=report.group_id,
        begin_date=format_date(report.begin),
        end_date=format_date(min(report.end, LATEST)),
        items=_encode_items(report),
        active_devices=report.active_devices,
        number_active_devices=report.active_device_count,
        active_connectors=report.active_connectors,
        number_active_connectors=len(report.active_connectors),
        **_totals(report.totals),
    )


def _encode_items(report: metrics.MetricsReport) -> Any:
    """The items as JSON. There may be 10,000, and in a long period most of them are empty."""
    empty = GroupMetric(group_id=report.group_id, timestamp="%s", **_totals({}))
    text = msgspec.json.encode(empty).decode()
    busy = text.replace(":0", ":%d")  # the values come in the order of the fields
    items: list[str] = []
    for index in range(report.item_count):
        timestamp = format_date(report.begin + index * report.span)
        counted = report.items.get(index)
        if counted is None:
            items.append(text % timestamp)
        else:
            items.append(busy % (*_totals(counted).values(), timestamp))
    return msgspec.Raw(f"[{','.join(items)}]".encode())


_COUNTERS = [(field, field.removeprefix("total_")) for field in Totals.__struct_fields__]


def _totals(counted: Mapping[str, int]) -> dict[str, int]:
    """All counters by field name, in the order of the fields; one is the sum of the records."""
    totals = {field: counted.get(name, 0) for field, name in _COUNTERS}
    totals["total_device_message"] = sum(counted.get(name, 0) for name in metrics.RECORD_NAMES)
    return totals


ROUTES = [
    Route(
        "GET",
        "/group/metrics",
        get_metrics,
        "metrics.read",
        object_rule="in the group",
        tag="Metrics",
        may_lag=True,
    ),
]
