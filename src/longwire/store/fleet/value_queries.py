"""The pieces of statements that compare the current values of devices, and sort by them.

A measurement has one number in most fleets. Where groups or types have declared others by the same
name, it has several, each for some groups and types: its sources.
"""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from longwire.measurements.comparisons import Comparison
from longwire.store.statement import ByEngine, Sql, join


class ValueSource(NamedTuple):
    """Where the values of a measurement are, for the devices of some groups."""

    key: int  # its number
    homes: tuple[int, ...]
    types: tuple[str, ...] | None  # None for all
    is_state: bool
    minimum: float
    maximum: float


class ValueFilter(NamedTuple):
    """A comparison, and where the values are."""

    comparison: Comparison
    sources: Sequence[ValueSource]


class DeviceAlias(NamedTuple):
    """A table with devices in a statement, and the column with their numbers."""

    table: str
    number: str


DEVICES = DeviceAlias("d", "d.number")
# Where each has a value: there, the type of a device is not known.
VALUES = DeviceAlias("c", "c.device_number")


# By a rank numbers are indexed on PostgreSQL; those of one are sorted. As the migration has it.
_BITS = """(get_byte(float8send(cast(:after_key as double precision)), 0) * 256
            + get_byte(float8send(cast(:after_key as double precision)), 1))"""
RANK_AFTER = f"case when {_BITS} < 32768 then {_BITS} else 32768 - {_BITS} end / 4"


class SourceShape(NamedTuple):
    """What a statement depends on of a source; the rest are its parameters."""

    name: str  # that its parameters begin with
    is_typed: bool
    is_state: bool
    is_of_one_group: bool  # whose values an index has in their order

    def match(self, value: str) -> str:
        """Which current values, by an alias of their table, are valid ones of the source."""
        name = self.name
        homes = f"= :{name}_home" if self.is_of_one_group else f"{{in:{name}_homes}}"
        match = f"{value}.group_id {homes} and {value}.key_number = :{name}_key"
        if self.is_state:
            return f"{match} and {value}.ts is not null"
        bounds = f"{value}.number >= :{name}_min and {value}.number <= :{name}_max"
        return f"{match} and {value}.text is null and {bounds}"

    @property
    def of_types(self) -> str:
        """Which devices (`d`) it is a source for."""
        return f"and d.type {{in:{self.name}_types}}" if self.is_typed else ""


def shape_sources(
    name: str, sources: Sequence[ValueSource]
) -> tuple[tuple[SourceShape, ...], dict[str, Any]]:
    """The shapes of sources, and the values of their parameters."""
    shapes = []
    values: dict[str, Any] = {}
    for index, each in enumerate(sources):
        is_one = len(each.homes) == 1
        shape = SourceShape(f"{name}_{index}", each.types is not None, each.is_state, is_one)
        shapes.append(shape)
        homes = {"home": each.homes[0]} if is_one else {"homes": each.homes}
        values |= {f"{shape.name}_{key}": value for key, value in homes.items()}
        values[f"{shape.name}_key"] = each.key
        if each.types is not None:
            values[f"{shape.name}_types"] = each.types
        if not each.is_state:
            values |= {f"{shape.name}_min": each.minimum, f"{shape.name}_max": each.maximum}
    return tuple(shapes), values


def build_value_condition(
    index: int, wanted: ValueFilter, device: DeviceAlias, *, is_of_few: bool
) -> tuple[Sql, dict[str, Any]]:
    """A condition on devices, and its values; `is_of_few` if few devices are looked at."""
    name = f"where_{index}"
    comparison = wanted.comparison
    shapes, values = shape_sources(name, wanted.sources)
    test = ""
    for column, value in (
        ("number", comparison.number),
        ("text", comparison.text),
        ("ts", comparison.at),
    ):
        if value is not None:
            test = _make_test(name, column, comparison.operator)
            values[name] = value
    is_negated = comparison.is_null and comparison.operator == "=="
    return _make_condition(shapes, test, device, is_negated, is_of_few), values


def _make_test(name: str, column: str, operator: str) -> str:
    sign = {"==": "=", "!=": "<>"}.get(operator, operator)
    if column == "ts":
        return f"and w.ts {sign} :{name}"
    # A number is another one than every word and every boolean, which have a text.
    is_word = "w.text is not null" if column == "number" else "w.text is null"
    if operator == "!=":
        return f"and (w.{column} <> :{name} or {is_word})"
    return f"and w.{column} {sign} :{name} and not {is_word}"


@functools.lru_cache(1_024)
def _make_condition(
    shapes: tuple[SourceShape, ...],
    test: str,
    device: DeviceAlias,
    is_negated: bool,
    is_of_few: bool,
) -> Sql:
    """The same one each time, so that statements with it are rendered once."""
    if not shapes:
        return Sql("" if is_negated else "and 1 = 0")
    matches = [make_match(each, device, test, is_of_few=is_of_few) for each in shapes]
    opening = "and not (" if is_negated else "and ("
    return Sql(opening + "{matches})", matches=join("\n            or ", matches))


def make_match(
    shape: SourceShape, device: DeviceAlias, test: str = "", *, is_of_few: bool = True
) -> Sql:
    """Whether a device has a value of a source that passes a test."""
    match = shape.match("w")
    each = f"""exists (
                select 1
                from current_value w
                where w.group_id = {device.table}.group_id
                    and w.device_number = {device.number}
                    {{slot:w={device.table}}}
                    and {match}
                    {test}
            ) {shape.of_types}"""
    # SQLite would look for the value of each device, where it reads all of them in half the time.
    at_once = f"""{device.number} in (
                select w.device_number
                from current_value w
                where {match}
                    {test}
            ) {shape.of_types}"""
    return ByEngine(sqlite=each if is_of_few else at_once, postgres=each)
