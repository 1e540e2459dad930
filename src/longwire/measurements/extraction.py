"""The values of the measurements of a record: the only place that takes them out of it.

What stores current values and what counts them again does the same, so that both agree.

A hot path: this is done for every record.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from longwire.measurements.definitions import (
    BUILT_IN,
    LOSSES,
    PATH_CHARACTERS_MAX,
    VALUE_MAX,
    Measurement,
    ValuePlace,
    join_path,
    split_path,
)
from longwire.measurements.values import NOT_VALUES, SEQUENCE, values_of
from longwire.records import (
    SEQUENCE_GAP,
    DataRecord,
    EventRecord,
    Record,
    RecordKind,
    get_attribute,
)

WORD_CHARACTERS_MAX = 256
# Members of a record that are looked at for numbers that nobody has declared; the others are
# counted as left out.
EXAMINED_MAX = 500
_FINDING = (RecordKind.DATA, RecordKind.TELEMETRY)

_decode = msgspec.json.decode
_encode = msgspec.json.encode


class Target(Struct, frozen=True, gc=False):
    """A measurement that values are taken for."""

    key: int  # its number
    is_declared: bool = False
    is_state: bool = False
    minimum: float = -VALUE_MAX
    maximum: float = VALUE_MAX


# A name at the top of the values, or two for what is one level below.
Spot = str | tuple[str, str]
Deep = Sequence[tuple[Sequence[str], Target]]


class KindPlan(Struct, frozen=True):
    """Which values are taken out of the records of a kind."""

    kind: RecordKind
    targets: Mapping[Spot, Target] = {}
    declared: Collection[Spot] = ()  # those of the targets that are declared
    deep: Deep = ()  # elsewhere in the data
    configured: Deep = ()  # in the configuration
    members: Sequence[tuple[str, Target]] = ()  # numbers beside the data
    finds: bool = False  # whether other numbers become measurements
    # Numbers beside the data that become measurements, and what they are in JSON.
    found_members: Sequence[tuple[str, str]] = ()
    # Whether only what the service itself says of lost messages matters, and whether it is new.
    is_for_losses: bool = False
    finds_losses: bool = False

    @property
    def has_values(self) -> bool:
        """Whether anything is known that records of this kind may have."""
        return not (self.is_for_losses and self.finds_losses)


class MeasuredValue(Struct, frozen=True, gc=False):
    """A value: a number, or the JSON of a word or a boolean."""

    number: float | None
    text: str | None = None


class ExtractedValues(Struct):
    """What a record says: values by the numbers of their measurements, and what is no value."""

    values: dict[int, MeasuredValue] = {}
    invalid: set[int] = set()
    unknown: dict[str, float] = {}  # by path
    left_out: int = 0

    @property
    def has_numbers(self) -> bool:
        """Whether any of it belongs into summaries."""
        return bool(self.unknown) or any(each.text is None for each in self.values.values())

    @property
    def is_empty(self) -> bool:
        return not (self.values or self.invalid or self.unknown or self.left_out)


# --- plans ---


def build_plans(
    declared: Iterable[tuple[int, Measurement]], found: Mapping[int, ValuePlace], *, finds: bool
) -> dict[int, KindPlan]:
    """What is taken out of records, by the numbers of their kinds."""
    targets: dict[int, dict[Spot, Target]] = {}
    declared_spots: dict[int, list[Spot]] = {}
    deep: dict[int, list[tuple[Sequence[str], Target]]] = {}
    configured: dict[int, list[tuple[Sequence[str], Target]]] = {}
    members: dict[int, list[tuple[str, Target]]] = {}
    taken, declared_places = set(), set()
    for key, each in declared:
        taken.add(key)
        declared_places.add(each.place)
        target = _build_target(key, each)
        kind = each.place.kind
        first, *rest = split_path(each.path)
        if first == "configuration":
            configured.setdefault(kind, []).append((rest, target))
        elif first != "data":
            name = get_attribute(RecordKind(kind), first)
            members.setdefault(kind, []).append((name, target))
        else:
            spot = _spot_of(rest)
            if spot is not None:
                targets.setdefault(kind, {})[spot] = target
                declared_spots.setdefault(kind, []).append(spot)
            if spot is None or rest[-1].isdecimal():
                deep.setdefault(kind, []).append((rest, target))
    of_events = {*targets, *deep, *members} & {RecordKind.EVENT}
    for key, place in found.items():
        first, *rest = split_path(place.path)
        if key in taken:
            continue
        if first != "data":
            name = get_attribute(RecordKind(place.kind), first)
            members.setdefault(place.kind, []).append((name, Target(key)))
        elif (spot := _spot_of(rest)) is not None:
            targets.setdefault(place.kind, {})[spot] = Target(key)
    known = {*found.values(), *declared_places}
    new_members = _list_new_members(known) if finds else {}
    found_in = (*_FINDING, LOSSES.kind) if finds else ()
    kinds = {*targets, *deep, *configured, *members, *found_in}
    return {
        int(kind): KindPlan(
            RecordKind(kind),
            targets.get(kind, {}),
            declared_spots.get(kind, ()),
            deep.get(kind, ()),
            configured.get(kind, ()),
            members.get(kind, ()),
            finds and kind in _FINDING,
            new_members.get(kind, ()),
            is_for_losses=kind == LOSSES.kind and not of_events,
            finds_losses=finds and kind == LOSSES.kind and LOSSES not in known,
        )
        for kind in kinds
    }


def _list_new_members(known: Collection[ValuePlace]) -> dict[int, list[tuple[str, str]]]:
    """Numbers beside the data that become measurements, by kind."""
    new: dict[int, list[tuple[str, str]]] = {}
    for place in BUILT_IN:
        first, *rest = split_path(place.path)
        if not rest and place not in known:
            attribute = get_attribute(RecordKind(place.kind), first)
            new.setdefault(place.kind, []).append((attribute, place.path))
    return new


def narrow_plan(plan: KindPlan, key: int) -> KindPlan:
    """The same for the values of one measurement."""

    def keep(some: Deep) -> Deep:
        return [each for each in some if each[1].key == key]

    targets = {spot: each for spot, each in plan.targets.items() if each.key == key}
    return msgspec.structs.replace(
        plan,
        targets=targets,
        declared=[each for each in plan.declared if each in targets],
        deep=keep(plan.deep),
        configured=keep(plan.configured),
        members=[each for each in plan.members if each[1].key == key],
        finds=False,
        found_members=(),
        finds_losses=False,
    )


def _build_target(key: int, measurement: Measurement) -> Target:
    low, high = measurement.minimum, measurement.maximum
    return Target(
        key,
        is_declared=True,
        is_state=measurement.value_class == "state",
        minimum=-VALUE_MAX if low is None else low,
        maximum=VALUE_MAX if high is None else high,
    )


def _spot_of(tokens: Sequence[str]) -> Spot | None:
    """The place among the values of a record; None if it is not among them."""
    if tokens[0] in NOT_VALUES or len(tokens) > 2:
        return None
    return tokens[0] if len(tokens) == 1 else (tokens[0], tokens[1])


# --- records ---


def extract(plan: KindPlan, record: Record) -> ExtractedValues:
    """The values of a record."""
    found = ExtractedValues()
    is_of_losses = isinstance(record, EventRecord) and record.type == SEQUENCE_GAP
    if plan.is_for_losses and not is_of_losses:
        return found
    text = record.data
    data = parse_json(text) if text else None
    if data is not None:
        decoded_names = record.decoded_names if type(record) is DataRecord else None
        values = values_of(plan.kind, data, decoded_names)
        if values:
            _extract_values(plan, values, found)
        for tokens, target in plan.deep:
            _add(found, target, resolve(data, tokens))
        if plan.finds_losses and is_of_losses:
            _find_losses(found, data)
    if plan.configured and isinstance(record, DataRecord):
        configuration = parse_json(record.configuration)
        for tokens, target in plan.configured:
            _add(found, target, resolve(configuration, tokens))
    for name, target in plan.members:
        _add(found, target, getattr(record, name, None))
    for name, path in plan.found_members:
        value = getattr(record, name, None)
        if value is not None:
            found.unknown[path] = float(value)
    return found


def _find_losses(found: ExtractedValues, data: Any) -> None:
    tokens = split_path(LOSSES.path)[1:]
    missed = resolve(data, tokens)
    if type(missed) is int:
        _find(found, tokens, missed)


def _extract_values(plan: KindPlan, values: Mapping[str, Any], found: ExtractedValues) -> None:
    targets, finds = plan.targets, plan.finds
    examined = values.items()
    if len(values) > EXAMINED_MAX:
        examined = islice(examined, EXAMINED_MAX)  # type: ignore[assignment]
        found.left_out += len(values) - EXAMINED_MAX
        for spot in plan.declared:
            tokens = (spot,) if isinstance(spot, str) else spot
            _add(found, targets[spot], resolve(values, tokens))
    for name, value in examined:
        kind = type(value)
        target = targets.get(name)
        if target is not None:
            if (kind is float or kind is int) and target.minimum <= value <= target.maximum:
                found.values[target.key] = MeasuredValue(float(value))
            else:
                _add(found, target, value)
        elif kind is float or kind is int:
            if finds and name != SEQUENCE:
                _find(found, (name,), value)
        elif kind is dict:
            _extract_nested(plan, name, value, found)


def _extract_nested(
    plan: KindPlan, name: str, values: Mapping[str, Any], found: ExtractedValues
) -> None:
    targets = plan.targets
    for inner, value in islice(values.items(), EXAMINED_MAX):
        target = targets.get((name, inner))
        if target is not None:
            _add(found, target, value)
        elif plan.finds and type(value) in (float, int):
            _find(found, (name, inner), value)
    if len(values) > EXAMINED_MAX:
        found.left_out += len(values) - EXAMINED_MAX
        for spot in plan.declared:
            if not isinstance(spot, str) and spot[0] == name:
                _add(found, targets[spot], values.get(spot[1]))


def _add(found: ExtractedValues, target: Target, value: Any) -> None:
    """A value, or what is none; a missing one is neither, nor is null."""
    if value is None:
        return
    kind = type(value)
    if kind is float or kind is int:
        if target.minimum <= value <= target.maximum:
            found.values[target.key] = MeasuredValue(float(value))
        else:
            found.invalid.add(target.key)  # as is what is no number
    elif target.is_state and kind is bool:
        found.values[target.key] = MeasuredValue(float(value), "true" if value else "false")
    elif target.is_state and kind is str and _is_word(value):
        found.values[target.key] = MeasuredValue(None, _encode(value).decode())
    elif target.is_declared:
        found.invalid.add(target.key)


def _find(found: ExtractedValues, tokens: Sequence[str], value: float) -> None:
    if -VALUE_MAX < value < VALUE_MAX:
        path = join_path(("data", *tokens))
        # What is not printable cannot be stored by every database.
        if len(path) <= PATH_CHARACTERS_MAX and all(tokens) and path.isprintable():
            found.unknown[path] = float(value)
        else:
            found.left_out += 1


def _is_word(value: str) -> bool:
    return len(value) <= WORD_CHARACTERS_MAX and value.isprintable()


def parse_json(text: str) -> Any:
    """What a text says as JSON; None if it says nothing.

    A number beyond all bounds, and what others write instead of one, spoils nothing beside it.
    """
    try:
        return _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        if text.lstrip()[:1] != "{":
            return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def resolve(value: Any, tokens: Sequence[str]) -> Any:
    """The value at a place of a JSON value; None if there is none."""
    for token in tokens:
        if isinstance(value, dict):
            value = value.get(token)
        elif isinstance(value, list) and token.isdecimal() and len(token) < 10:
            value = value[int(token)] if int(token) < len(value) else None
        else:
            return None
    return value
