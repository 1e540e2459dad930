"""Operations on configuration policies, and on what devices should make of them."""

from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from longwire.api.fleet.device_shapes import DeviceQuery, DeviceTypeName, TypeQuery
from longwire.api.replies import Page, Shown
from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    GroupId,
    GroupPage,
    IfUpdatedAt,
    parse_version,
)
from longwire.dates import format_date
from longwire.fleet import configurations
from longwire.fleet.configuration_layers import (
    NOT_REPORTED,
    Difference,
    Leaf,
    Path,
    list_leaves,
    to_plain,
)
from longwire.fleet.configurations import Drift
from longwire.model import ConfigurationPolicy as ConfigurationPolicyValue
from longwire.store.fleet.device_reports import Report
from longwire.web.fields import Body, DateText, Query, Reply, words
from longwire.web.routing import ANY_TOKEN, Route

Policy = Annotated[
    dict[str, Any],
    Meta(
        description="A JSON merge patch (RFC 7396): null removes a member. Empty: no policy.",
        examples=[{"reportEverySeconds": 300}],
    ),
]
Pointer = Annotated[
    str, Meta(description="A JSON pointer (RFC 6901).", examples=["/reportEverySeconds"])
]
AnyValue = Annotated[Any, Meta(description="Any JSON value.", examples=[300])]


class ConfigurationPolicy(Reply):
    """What a group or a device type wants of the configuration of its devices."""

    policy: Policy
    updated_at: DateText | None = None
    updated_by: str | None = None


class ConfigurationValue(Reply, kw_only=True):
    """A value, and where it is from."""

    path: Pointer
    value: AnyValue
    source: Annotated[
        str,
        words("ConfigurationSource", ("default", "type", "group", "device")),
        Meta(
            description="`default` of the type, policy of the `type` or a `group`, or the `device`"
            " itself.",
            examples=["group"],
        ),
    ]
    source_id: (
        Annotated[
            str,
            Meta(description="The type, group or device; without a group that you cannot see."),
        ]
        | None
    ) = None


class ConfigurationDifference(Shown[Difference]):
    """A value that a device reports otherwise than it should be."""

    path: Pointer
    expected: AnyValue
    reported: Annotated[Any, Meta(description="Left out if it is not reported.")] = msgspec.UNSET


class DriftingDevice(Shown[Report], kw_only=True):
    """A device that reports another configuration than it should have."""

    device_id: str
    group_id: GroupId
    name: str
    type: str
    drifted_at: Annotated[DateText, Meta(description="Since when the service knows.")] | None = (
        field(default=None, name="since")
    )
    reported_at: DateText
    differences: Annotated[list[ConfigurationDifference], Meta(description="At most 50.")]


class DriftingDeviceConnection(Page[DriftingDevice]):
    """A page of devices that drift."""


class DriftQuery(GroupPage, kw_only=True):
    """Whose devices."""

    subgroups: Annotated[bool, Meta(description="Include the groups below.")] | None = None


class DeviceConfiguration(Reply):
    """The configuration that a device should have."""

    device_id: str
    group_id: GroupId
    configuration: Annotated[
        dict[str, Any],
        Meta(description="All policies merged.", examples=[{"reportEverySeconds": 300}]),
    ]
    values: list[ConfigurationValue]
    own_configuration_merged: Annotated[
        bool,
        Meta(
            description="Whether the device's own `configuration` is a JSON object of at most"
            " 16,384 characters and 16 levels. If not, only the policies count."
        ),
    ]
    reported: (
        Annotated[
            dict[str, Any],
            Meta(description="What the device reported last; with `record.read`."),
        ]
        | None
    ) = None
    reported_at: DateText | None = None
    drift: (
        Annotated[
            list[ConfigurationDifference],
            Meta(description="Where that is not what it should be; at most 50."),
        ]
        | None
    ) = None


class PolicyGroupQuery(Query):
    """Whose policy."""

    group_id: GroupId


class GroupPolicyChange(Body):
    """The new policy of a group."""

    group_id: GroupId
    policy: Policy
    if_updated_at: IfUpdatedAt | None = None


class TypePolicyChange(Body):
    """The new policy of a device type."""

    type: DeviceTypeName
    policy: Policy
    if_updated_at: IfUpdatedAt | None = None


def policy_wire(policy: ConfigurationPolicyValue) -> ConfigurationPolicy:
    is_set = policy.updated_at > 0
    return ConfigurationPolicy(
        policy=msgspec.json.decode(policy.policy),
        updated_at=format_date(policy.updated_at) if is_set else None,
        updated_by=policy.updated_by if is_set else None,
    )


def encode_pointer(path: Path) -> str:
    return "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in path)


def get_group_policy(context: Context, query: PolicyGroupQuery) -> ConfigurationPolicy:
    """Get the configuration policy of a group."""
    return policy_wire(configurations.get_group_policy(context.tx, context.actor, query.group_id))


def set_group_policy(context: Context, body: GroupPolicyChange) -> ConfigurationPolicy:
    """Set the configuration policy of a group.

    It is what the configuration of every device in the group and below should contain: a JSON merge
    patch of at most 8,192 characters, 200 values and 16 levels. Policies of groups further down,
    and what a device has of its own, go before it.
    """
    return policy_wire(
        configurations.set_group_policy(
            context.tx,
            context.actor,
            body.group_id,
            body.policy,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def get_type_policy(context: Context, query: TypeQuery) -> ConfigurationPolicy:
    """Get the configuration policy of a device type."""
    return policy_wire(configurations.get_type_policy(context.tx, context.actor, query.type))


def set_type_policy(context: Context, body: TypePolicyChange) -> ConfigurationPolicy:
    """Set the configuration policy of a device type.

    For all devices of the type, in all groups; policies of groups go before it.
    """
    return policy_wire(
        configurations.set_type_policy(
            context.tx,
            context.actor,
            body.type,
            body.policy,
            if_updated_at=parse_version(body.if_updated_at),
        )
    )


def get_device_configuration(context: Context, query: DeviceQuery) -> DeviceConfiguration:
    """Get the configuration that a device should have.

    Merged from the default of its type, the policy of its type, those of its groups from the root
    down, and what the device has of its own: `values` says where each one is from. What the device
    has as in the default of its type does not count as its own.
    """
    effective = configurations.get_effective(
        context.tx, context.actor, query.device_id, query.group_id
    )
    return DeviceConfiguration(
        device_id=effective.device.id,
        group_id=effective.device.group_id,
        configuration=to_plain(effective.merged),
        values=[_value_wire(context, each) for each in list_leaves(effective.merged)],
        own_configuration_merged=effective.is_own_used,
        **_drift_wire(effective.drift),
    )


def _drift_wire(drift: Drift | None) -> dict[str, Any]:
    if drift is None:
        return {}
    return {
        "reported": drift.reported,
        "reported_at": format_date(drift.report.reported_at),
        "drift": [_show_difference(each) for each in drift.differences],
    }


def _show_difference(difference: Difference) -> ConfigurationDifference:
    is_reported = difference.reported is not NOT_REPORTED
    return ConfigurationDifference.show(
        difference,
        path=encode_pointer(difference.path),
        reported=difference.reported if is_reported else msgspec.UNSET,
    )


def list_drifting_devices(context: Context, query: DriftQuery) -> DriftingDeviceConnection:
    """List the devices of a group that drift.

    Those that report another configuration in their data records than they should have, by group
    and in the order of their creation; at most 100 a page.
    """
    page = configurations.list_drifting(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups is True,
    )
    return DriftingDeviceConnection.show(context, query, page, _show_drifting)


def _show_drifting(drift: Drift) -> DriftingDevice:
    differences = [_show_difference(each) for each in drift.differences]
    return DriftingDevice.show(drift.report, differences=differences)


def _value_wire(context: Context, leaf: Leaf) -> ConfigurationValue:
    is_visible = configurations.can_see_source(context.tx, context.actor, leaf.source)
    return ConfigurationValue(
        path=encode_pointer(leaf.path),
        value=leaf.value,
        source=leaf.source.kind,
        source_id=leaf.source.id if is_visible else None,
    )


_route = partial(Route, tag="Configuration", is_addition=True)

ROUTES = [
    _route(
        "GET", "/group/configuration", get_group_policy, "device.read", object_rule="in the group"
    ),
    _route(
        "PUT",
        "/group/configuration",
        set_group_policy,
        "group.update",
        object_rule="in the group",
        conflicts=CHANGED_MEANWHILE,
    ),
    _route(
        "GET",
        "/device/type/configuration",
        get_type_policy,
        ANY_TOKEN,
        object_rule="those for all, and those of one's own groups",
    ),
    _route(
        "PUT",
        "/device/type/configuration",
        set_type_policy,
        "device.update",
        object_rule="in the group of the type; operators only for one of all",
        conflicts=CHANGED_MEANWHILE,
    ),
    _route(
        "GET",
        "/device/configuration",
        get_device_configuration,
        "device.read",
        object_rule="in the group of the device; record.read for what it reports",
    ),
    _route(
        "GET",
        "/group/drift",
        list_drifting_devices,
        "device.read",
        object_rule="in the group; record.read, too",
    ),
]
