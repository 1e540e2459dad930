"""Measurements on the wire: their fields, and values."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import asdict

from longwire.api.types import RecordKindName
from longwire.measurements.definitions import (
    CLASSES,
    DECIMALS_MAX,
    LABEL_CHARACTERS_MAX,
    PATH_CHARACTERS_MAX,
    UNIT_CHARACTERS_MAX,
)
from longwire.measurements.definitions import Measurement as MeasurementValue
from longwire.web.fields import DateText, Reply, words

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
Unit = Annotated[
    str, Meta(max_length=UNIT_CHARACTERS_MAX, description="For people.", examples=["%"])
]
Label = Annotated[
    str,
    Meta(
        max_length=LABEL_CHARACTERS_MAX,
        description="What people call it.",
        examples=["Soil moisture"],
    ),
]
Decimals = Annotated[
    int, Meta(ge=0, le=DECIMALS_MAX, description="How many decimals to show.", examples=[1])
]
ValueKind = Annotated[RecordKindName, Meta(description="Of which records.")]
ValuePath = Annotated[
    str,
    Meta(
        max_length=PATH_CHARACTERS_MAX,
        description="A JSON pointer (RFC 6901) in the records of that kind.",
        examples=["/data/moisture"],
    ),
]
Minimum = Annotated[float, Meta(description="A smaller number is no value of it.", examples=[0])]
Maximum = Annotated[float, Meta(description="A larger number is no value of it.", examples=[100])]
Value = Annotated[
    float | str | bool, Meta(description="A word or a boolean only of a state.", examples=[17.5])
]


class TimedValue(Reply, kw_only=True):
    """A current value, and when it was."""

    value: Value | None = None
    timestamp: DateText


class Measurement(Reply, kw_only=True):
    """A named value of a device type."""

    name: MeasurementName
    kind: ValueKind
    path: ValuePath
    measurement_class: ClassName = msgspec.field(name="class")
    unit: Unit | None = None
    label: Label | None = None
    decimals: Decimals | None = None
    minimum: Minimum | None = None
    maximum: Maximum | None = None


def measurement_wire(measurement: MeasurementValue) -> Measurement:
    return Measurement(**fields_of(measurement))


def fields_of(measurement: MeasurementValue) -> dict[str, Any]:
    fields = asdict(measurement)
    fields["measurement_class"] = fields.pop("value_class")
    return fields


def build_value(number: float | None, text: str | None) -> float | str | bool | None:
    """A value in JSON: a whole number without a fraction."""
    if text is not None:
        word: str | bool = msgspec.json.decode(text)
        return word
    is_whole = number is not None and number.is_integer() and abs(number) < 2**53
    return int(number) if is_whole and number is not None else number
