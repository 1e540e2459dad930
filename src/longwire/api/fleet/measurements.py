"""Operations on measurements: current values of devices, and what is declared of types."""

from typing import Annotated, cast

import msgspec
from msgspec import Meta

from longwire.api.fleet.device_shapes import DeviceTypeName
from longwire.api.fleet.measurement_shapes import (
    ClassName,
    Decimals,
    Label,
    Maximum,
    Measurement,
    MeasurementName,
    Minimum,
    Unit,
    Value,
    ValueKind,
    ValuePath,
    build_value,
    fields_of,
    measurement_wire,
)
from longwire.api.services import Context
from longwire.api.types import (
    CHANGED_MEANWHILE,
    DeviceId,
    GroupId,
    IfUpdatedAt,
    parse_version,
)
from longwire.dates import format_date, format_optional_date
from longwire.fleet import measurement_declarations, measurements
from longwire.fleet.measurement_declarations import GroupMeasurement as GroupMeasurementValue
from longwire.fleet.measurements import ShownValue
from longwire.measurements.definitions import (
    DECLARED_MAX,
    NAME_CHARACTERS_MAX,
    MeasurementClass,
)
from longwire.measurements.definitions import Measurement as MeasurementValue
from longwire.web.fields import Body, Count, DateText, Query, Reply
from longwire.web.routing import Route


class DeviceValue(Reply, kw_only=True):
    """The newest value of a measurement since the device is in its group."""

    name: MeasurementName
    value: Annotated[Value, Meta(description="Left out if there was no valid one.")] | None = None
    timestamp: (
        Annotated[
            DateText,
            Meta(description="Of its record, or of its arrival if that was earlier."),
        ]
        | None
    ) = None
    measurement_class: ClassName = msgspec.field(name="class")
    unit: Unit | None = None
    label: Label | None = None
    decimals: Decimals | None = None
    is_declared: Annotated[
        bool, Meta(description="Whether it is declared, or was found in records.")
    ]
    is_stale: Annotated[
        bool,
        Meta(description="Whether the device should have reported since, by its configuration."),
    ]
    invalid: (
        Annotated[
            Count,
            Meta(description="How many values were none: words, or out of bounds.", examples=[2]),
        ]
        | None
    ) = None
    invalid_at: Annotated[DateText, Meta(description="When the last one arrived.")] | None = None


class DeviceValues(Reply):
    """The current values of a device."""

    items: list[DeviceValue]
    left_out: (
        Annotated[
            Count,
            Meta(
                description="How many numbers the last record that had too many had beyond those"
                " that are kept.",
                examples=[12],
            ),
        ]
        | None
    ) = None


class DeviceValuesQuery(Query):
    """Of which device."""

    device_id: DeviceId


class MeasurementInput(Body, kw_only=True):
    """A measurement to declare."""

    name: Annotated[MeasurementName, Meta(max_length=NAME_CHARACTERS_MAX)]
    kind: ValueKind = "data"
    path: ValuePath
    measurement_class: ClassName = msgspec.field(name="class", default="gauge")
    unit: Unit | None = None
    label: Label | None = None
    decimals: Decimals | None = None
    minimum: Minimum | None = None
    maximum: Maximum | None = None


class TypeMeasurementsChange(Body, kw_only=True):
    """What is declared of a device type: for all, or for the devices of a group and below."""

    type: DeviceTypeName
    group_id: (
        Annotated[
            GroupId,
            Meta(description="Without it, for all by operators; or for the group of the type."),
        ]
        | None
    ) = None
    measurements: Annotated[
        list[MeasurementInput],
        Meta(max_length=DECLARED_MAX, description="All of them; an empty list declares nothing."),
    ]
    if_updated_at: IfUpdatedAt | None = None


class GroupMeasurement(Measurement, kw_only=True):
    """A measurement of the devices of a type in a group."""

    type: DeviceTypeName
    is_declared: Annotated[
        bool, Meta(description="Whether it is declared, or was found in records.")
    ]
    devices: Annotated[Count, Meta(description="How many have a value of it.", examples=[12])]
    devices_are_more: Annotated[
        bool, Meta(description="Whether there may be more than `devices`.")
    ] = False


class GroupMeasurements(Reply):
    """The measurements of the devices of a group."""

    items: list[GroupMeasurement]


class TypeMeasurements(Reply, kw_only=True):
    """What is declared of a device type, for all or for a group."""

    type: DeviceTypeName
    group_id: GroupId | None = None
    measurements: Annotated[list[Measurement], Meta(description="All that are declared.")]
    updated_at: DateText | None = None


class GroupMeasurementsQuery(Query):
    """Of which devices."""

    group_id: GroupId
    subgroups: Annotated[bool, Meta(description="Those of all groups below it, too.")] = False


def declare(context: Context, body: TypeMeasurementsChange) -> TypeMeasurements:
    """Declare the measurements of a device type.

    In place of those that are declared: for all devices of the type by an operator, or for those in
    a group and below it. What is declared for a group beats what is declared further up and for
    all. It holds for stored records as well: current values and series follow within a minute or
    so, large ones later.
    """
    declared = measurement_declarations.declare(
        context.tx,
        context.actor,
        body.type,
        body.group_id,
        [build_measurement(each) for each in body.measurements],
        if_updated_at=parse_version(body.if_updated_at),
    )
    return TypeMeasurements(
        type=declared.type,
        group_id=body.group_id,
        measurements=[measurement_wire(each) for each in declared.measurements],
        updated_at=format_date(declared.updated_at) if declared.measurements else None,
    )


def build_measurement(given: MeasurementInput) -> MeasurementValue:
    return MeasurementValue(
        given.name,
        given.kind,
        given.path,
        cast("MeasurementClass", given.measurement_class),
        unit=given.unit,
        label=given.label,
        decimals=given.decimals,
        minimum=given.minimum,
        maximum=given.maximum,
    )


def list_of_group(context: Context, query: GroupMeasurementsQuery) -> GroupMeasurements:
    """List the measurements of a group's devices.

    What is declared of each device type, for the group, above it or for all, and numbers that were
    found in records of its devices.
    """
    found = measurement_declarations.list_of_group(
        context.tx, context.actor, query.group_id, subgroups=query.subgroups
    )
    return GroupMeasurements(items=[_group_measurement_wire(each) for each in found])


def _group_measurement_wire(found: GroupMeasurementValue) -> GroupMeasurement:
    return GroupMeasurement(
        **fields_of(found.measurement),
        type=found.type,
        is_declared=found.is_declared,
        devices=found.devices,
        devices_are_more=found.devices_are_more,
    )


def get_values(context: Context, query: DeviceValuesQuery) -> DeviceValues:
    """Get the current values of a device.

    The newest value of each measurement by the time of its record, since the device is in its
    group. Of records that arrive late nothing changes but what has no newer value.
    """
    found = measurements.list_values(context.tx, context.actor, query.device_id)
    return DeviceValues(
        items=[_value_wire(each) for each in found.items], left_out=found.left_out or None
    )


def _value_wire(shown: ShownValue) -> DeviceValue:
    measurement, current = shown.measurement, shown.current
    return DeviceValue(
        name=measurement.name,
        value=build_value(current.number, current.text) if shown.has_value else None,
        timestamp=format_optional_date(current.ts) if shown.has_value else None,
        measurement_class=measurement.value_class,
        unit=measurement.unit,
        label=measurement.label,
        decimals=measurement.decimals,
        is_declared=shown.is_declared,
        is_stale=shown.is_stale,
        invalid=current.invalid or None,
        invalid_at=None if current.invalid_at is None else format_date(current.invalid_at),
    )


ROUTES = [
    Route(
        "PUT",
        "/device/type/measurements",
        declare,
        "device.update",
        tag="Measurements",
        object_rule="in groupId, else in the group of the type; operators only for all",
        conflicts=CHANGED_MEANWHILE,
        is_addition=True,
    ),
    Route(
        "GET",
        "/group/measurements",
        list_of_group,
        "record.read",
        tag="Measurements",
        may_lag=True,
        object_rule="in the group",
        is_addition=True,
    ),
    Route(
        "GET",
        "/device/values",
        get_values,
        "record.read",
        tag="Measurements",
        may_lag=True,
        object_rule="in the group of the device",
        is_addition=True,
    ),
]
