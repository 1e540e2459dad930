"""Which measurements the outputs of a decoder give, before any of them is stored."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from longwire.measurements.definitions import (
    FOUND_MAX,
    Measurement,
    ValuePlace,
    list_names,
    merge_found,
)
from longwire.measurements.extraction import build_plans, extract
from longwire.records import DataRecord, RecordKind

_DATA = "/data/"


class OutputMeasurement(NamedTuple):
    """A measurement, and how many outputs give a value of it, or one that is none."""

    measurement: Measurement
    is_declared: bool
    valid: int
    invalid: int


def find_output_measurements(
    declared: Sequence[Measurement],
    found: Mapping[ValuePlace, str],
    outputs: Iterable[Mapping[str, Any]],
) -> list[OutputMeasurement]:
    """The declared measurements of decoded values, and those that are found in the outputs.

    `outputs` are data of records, `found` are the names of what is found already.
    """
    examined = [each for each in declared if each.place.kind == RecordKind.DATA]
    examined = [each for each in examined if each.path.startswith(_DATA)]
    plans = build_plans(enumerate(examined), {}, finds=True)
    valid: Counter[ValuePlace] = Counter()
    invalid: Counter[ValuePlace] = Counter()
    for data in outputs:
        values = extract(plans[RecordKind.DATA], _build_record(data))
        valid.update(examined[key].place for key in values.values)
        invalid.update(examined[key].place for key in values.invalid)
        valid.update(ValuePlace(RecordKind.DATA, path) for path in values.unknown)
    known = {each.place for each in declared} | found.keys()
    new = [place for place in valid if place not in known][: max(FOUND_MAX - len(found), 0)]
    names = dict(found)
    for place in new:
        names[place] = next(each for each in list_names(place) if each not in names.values())
    return [
        OutputMeasurement(each, is_declared, valid[each.place], invalid[each.place])
        for each, is_declared in merge_found(declared, names)
        if each in examined or (not is_declared and valid[each.place])
    ]


def _build_record(data: Mapping[str, Any]) -> DataRecord:
    return DataRecord(
        device_id="",
        timestamp="",
        data=msgspec.json.encode(data).decode(),
        configuration="{}",
        raw="",
        device_type="",
    )
