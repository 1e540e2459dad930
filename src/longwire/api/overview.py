"""The overview of a group."""

from typing import Annotated

from msgspec import Meta, field

from longwire import overview
from longwire.api.replies import Shown
from longwire.api.services import Context
from longwire.api.types import GroupId
from longwire.overview import AttentionItem, AttentionKind
from longwire.overview import Overview as OverviewValue
from longwire.web.fields import CONVERTER, Count, DateText, Query, words
from longwire.web.routing import Route

_KIND_NAMES = {
    AttentionKind.CONNECTOR_FAILING: "connectorFailing",
    AttentionKind.DEAD_LETTERS: "deadLetters",
    AttentionKind.FILTER_FAILING: "filterFailing",
    AttentionKind.CONDITION_FAILING: "conditionFailing",
    AttentionKind.DEVICES_SILENT: "devicesSilent",
    AttentionKind.BATTERY_LOW: "batteryLow",
    AttentionKind.CONFIGURATION_DRIFT: "configurationDrift",
    AttentionKind.UNKNOWN_DEVICES: "unknownDevices",
    AttentionKind.REJECTED_MESSAGES: "rejectedMessages",
}


class OverviewQuery(Query):
    """Which group."""

    group_id: GroupId
    subgroups: Annotated[bool, Meta(description="With all groups below it.")] = False


class DeviceCounts(Shown[overview.DeviceCounts]):
    """How many devices there are; of more than 1,000,000 only the total."""

    total: Annotated[Count, Meta(description="All of them.", examples=[10_000])]
    seen_hour: (
        Annotated[Count, Meta(description="Seen within the last hour.", examples=[4_120])] | None
    ) = None
    seen_day: (
        Annotated[Count, Meta(description="Seen within the last day.", examples=[8_412])] | None
    ) = None
    silent: (
        Annotated[
            Count,
            Meta(description="Not seen for longer than their configuration says.", examples=[37]),
        ]
        | None
    ) = None
    never: Annotated[Count, Meta(description="Never seen.", examples=[12])] | None = None
    battery_low: (
        Annotated[Count, Meta(description="With less than 20 % of charge.", examples=[5])] | None
    ) = None
    drifting: (
        Annotated[
            Count,
            Meta(
                description="That report another configuration than they should have.", examples=[9]
            ),
        ]
        | None
    ) = None


class ConnectorCounts(Shown[overview.ConnectorCounts]):
    """How many connectors there are, and how many messages."""

    total: Annotated[Count, Meta(description="All of them.", examples=[6])]
    enabled: Annotated[Count, Meta(description="Those that are enabled.", examples=[5])]
    failing: Annotated[
        Count, Meta(description="Enabled ones whose last attempt failed.", examples=[1])
    ]
    waiting: Annotated[
        Count,
        Meta(description="Messages to be sent or retried, counted up to 100,000.", examples=[812]),
    ]
    dead_letters: Annotated[
        Count, Meta(description="Messages kept for a resend, up to 100,000.", examples=[64])
    ]


class AlarmCounts(Shown[overview.AlarmCounts]):
    """How many alarms are open."""

    total: Annotated[Count, Meta(description="All that are not resolved.", examples=[3])]
    acknowledged: Annotated[
        Count, Meta(description="Those of them that are acknowledged.", examples=[1])
    ]
    critical: Annotated[Count, Meta(description="By severity.", examples=[1])]
    warning: Count
    info: Count


class Attention(Shown[AttentionItem]):
    """Something that needs attention."""

    kind: Annotated[
        str,
        words("AttentionKind", _KIND_NAMES.values()),
        Meta(
            description="`connectorFailing`, `deadLetters`, `filterFailing` or"
            " `conditionFailing` (a filter of a connector, or `when` of a notification, that cannot"
            " be evaluated for most records), `devicesSilent`, `batteryLow`,"
            " `configurationDrift`, `unknownDevices` (that reported, but do not exist in the group)"
            " or `rejectedMessages` (of devices of the group).",
            examples=["connectorFailing"],
            extra={CONVERTER: _KIND_NAMES.__getitem__},
        ),
    ] = field(name="what")
    group_id: GroupId
    id: (
        Annotated[
            str,
            Meta(
                description="The connector or notification.",
                examples=["con_vzpeqxr5mxjrq2uy6ct3mlgw"],
            ),
        ]
        | None
    ) = None
    name: Annotated[str, Meta(description="Its name.", examples=["To the cellar"])] | None = None
    count: Annotated[Count, Meta(description="How many devices, messages or records.")] | None = (
        None
    )
    total: (
        Annotated[Count, Meta(description="Of how many of the last records, for a filter.")] | None
    ) = None
    since: (
        Annotated[
            DateText,
            Meta(
                description="When the connector or the filter began to fail, or the first device"
                " became silent, began to drift, or was reported."
            ),
        ]
        | None
    ) = None
    detail: Annotated[str, Meta(description="The last error.", examples=["status 503"])] | None = (
        None
    )


class GroupOverview(Shown[OverviewValue], kw_only=True):
    """Counts, and what needs attention; parts that the caller may not read are left out."""

    as_of: Annotated[DateText, Meta(description="When it was counted.")]
    devices: Annotated[DeviceCounts, Meta(description="For callers with `device.read`.")] | None = (
        None
    )
    connectors: (
        Annotated[ConnectorCounts, Meta(description="For callers with `connector.read`.")] | None
    ) = None
    alarms: (
        Annotated[AlarmCounts, Meta(description="Open ones, for callers with `notification.read`.")]
        | None
    ) = None
    attention: Annotated[
        list[Attention], Meta(description="At most 50 of each sort, the worst first.")
    ]
    unknown_devices: (
        Annotated[
            Count,
            Meta(
                description="Ids that were reported in the last days and that no device has, as in"
                " `GET /group/unknownDevices`; left out if there are none.",
                examples=[3],
            ),
        ]
        | None
    ) = None


def get_overview(context: Context, query: OverviewQuery) -> GroupOverview:
    """Get the overview of a group.

    How many devices and connectors there are, and what needs attention. Counted every five
    seconds at most.
    """
    found = overview.get(context.tx, context.actor, query.group_id, subgroups=query.subgroups)
    return GroupOverview.show(found, unknown_devices=found.unknown_devices or None)


ROUTES = [
    Route(
        "GET",
        "/group/overview",
        get_overview,
        "metrics.read",
        tag="Metrics",
        may_lag=True,
        object_rule="in the group; device.read, connector.read and notification.read for these"
        " parts",
        is_addition=True,
    )
]
