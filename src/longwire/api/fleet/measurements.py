"""Operations on measurements: current values of devices, and what is declared of types."""

from typing import Annotated

import msgspec
from msgspec import Meta

from longwire.api.services import Context
from longwire.api.types import DeviceId
from longwire.dates import format_date, format_optional_date
from longwire.fleet import measurements
from longwire.fleet.measurements import ShownValue
from longwire.measurements.definitions import CLASSES
from longwire.web.fields import Count, DateText, Query, Reply, words
from longwire.web.routing import Route

MeasurementName = Annotated[
    str, Meta(description="The name of the measurement.", examples=["moisture"])
]
ClassName = Annotated[
    str,
    words("MeasurementClass", CLASSES),
    Meta(
        description="`gauge`; `counter`, which only grows; `amount` since the last message; or"
        " `state`, a word or a boolean.",
        examples=["gauge"],
    ),
]
Unit = Annotated[str, Meta(description="For people.", examples=["%"])]
Label = Annotated[str, Meta(description="What people call it.", examples=["Soil moisture"])]
Decimals = Annotated[int, Meta(description="How many decimals to show.", examples=[1])]
Value = Annotated[
    float | str | bool, Meta(description="A word or a boolean only of a state.", examples=[17.5])
]


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


def build_value(number: float | None, text: str | None) -> float | str | bool | None:
    """A value in JSON: a whole number without a fraction."""
    if text is not None:
        word: str | bool = msgspec.json.decode(text)
        return word
    is_whole = number is not None and number.is_integer() and abs(number) < 2**53
    return int(number) if is_whole and number is not None else number


ROUTES = [
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
