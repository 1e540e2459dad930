"""Measurements: what is declared of a device type, what values are called, who beats whom.

A measurement is a place in the records of a kind, with a name. What is declared for a group holds
in the groups below it as well, and beats what is declared further up and for all.
"""

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from longwire.measurements.values import RECEPTION
from longwire.records import (
    KIND_NAMES,
    RecordKind,
    get_attribute,
    list_json_fields,
    list_number_fields,
)

MeasurementClass = Literal["gauge", "counter", "amount", "state"]
CLASSES: tuple[MeasurementClass, ...] = ("gauge", "counter", "amount", "state")

DECLARED_MAX = 200  # of a type, in one list
FOUND_MAX = 64  # of a type, in one group
NAME_CHARACTERS_MAX = 64
FOUND_NAME_CHARACTERS_MAX = 48  # so that something can follow
PATH_CHARACTERS_MAX = 256
PATH_LEVELS_MAX = 8
UNIT_CHARACTERS_MAX = 32
LABEL_CHARACTERS_MAX = 128
DECIMALS_MAX = 12
# So that neither a sum nor a difference of two is infinite.
VALUE_MAX = 1e300

_NAME = re.compile(r"\w[\w.\-]*")
_PLAIN_TOKEN = re.compile(r"\w[\w\-]*")
_NOT_PLAIN = re.compile(r"[^\w\-]+")
_JOINT = "__"
_BESIDE = ".found"
_BESIDE_END = re.compile(r"\.found\d*$")
# Where older records have what a network decoded; see `values`.
_OLDER = "/data/decoded/"
_DATA = "/data/"


class ValuePlace(NamedTuple):
    """Where a value is: in records of a kind, at a JSON Pointer."""

    kind: int  # a `RecordKind`
    path: str


class Measurement(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """A named value of a device type, as it is declared."""

    name: str
    kind: str
    path: str
    value_class: MeasurementClass = field(default="gauge", name="class")
    unit: str | None = None
    label: str | None = None
    decimals: int | None = None
    minimum: float | None = None
    maximum: float | None = None

    @property
    def place(self) -> ValuePlace:
        return ValuePlace(KIND_NAMES.index(self.kind), self.path)


_list_decoder = msgspec.json.Decoder(tuple[Measurement, ...])


def encode_measurements(measurements: Sequence[Measurement]) -> str:
    return msgspec.json.encode(measurements).decode()


def decode_measurements(text: str) -> tuple[Measurement, ...]:
    return _list_decoder.decode(text)


def merge_layers(layers: Iterable[Sequence[Measurement]]) -> tuple[Measurement, ...]:
    """What holds of several lists, each of which beats those before it.

    By name and by place: neither is there twice.
    """
    merged: tuple[Measurement, ...] = ()
    for layer in layers:
        names = {each.name for each in layer}
        places = {each.place for each in layer}
        kept = [each for each in merged if each.name not in names and each.place not in places]
        merged = (*kept, *layer)
    return merged


def is_allowed(measurement: Measurement, number: float | None, text: str | None) -> bool:
    """Whether a stored value is one of a measurement as it is declared now."""
    if measurement.value_class == "state":
        return True
    if number is None or text is not None:
        return False
    low, high = measurement.minimum, measurement.maximum
    return (low is None or number >= low) and (high is None or number <= high)


# --- found measurements ---


def _list_built_in() -> Iterator[Measurement]:
    """What is known of the reception of messages, without anybody declaring it."""
    kind = KIND_NAMES[RecordKind.TELEMETRY]
    for name, (label, unit) in RECEPTION.items():
        yield Measurement(f"{kind}.{name}", kind, f"/data/{name}", unit=unit, label=label)
    for field_name in list_number_fields(kind):
        attribute = get_attribute(RecordKind.TELEMETRY, field_name)
        if attribute in _COUNTED:
            name, label = _COUNTED[attribute]
            yield Measurement(f"{kind}.{name}", kind, f"/{field_name}", label=label)
    event = KIND_NAMES[LOSSES.kind]
    yield Measurement(f"{kind}.lost", event, LOSSES.path, "amount", label="Messages lost")


# Fields of telemetry that are values: what they are called.
_COUNTED = {"stations": ("gateways", "Gateways"), "score": ("score", "Link quality, 0 to 3")}
# How many messages were lost, in the service's own events of gaps in the frame counter.
LOSSES = ValuePlace(RecordKind.EVENT, "/data/missed")
BUILT_IN = {each.place: each for each in _list_built_in()}
_BUILT_IN_NAMES = {each.name for each in BUILT_IN.values()}


def list_names(place: ValuePlace) -> Iterator[str]:
    """What a measurement may be called that nobody has declared; the first free name counts.

    A plain path is the only one with its first name, so that nobody can take it away. The others
    have names with two underscores.
    """
    first = _name_of_place(place)
    yield first
    yield from (f"{first}{_JOINT}{number}" for number in range(2, 10))
    yield f"{first[:FOUND_NAME_CHARACTERS_MAX]}{_JOINT}{_digest(place)}"


def _name_of_place(place: ValuePlace) -> str:
    if place in BUILT_IN:
        return BUILT_IN[place].name
    first, *tokens = split_path(place.path)
    is_data = place.kind == RecordKind.DATA
    prefix = "" if is_data else f"{KIND_NAMES[place.kind]}."
    name = prefix + ".".join(tokens)
    is_like_another = (
        name in _BUILT_IN_NAMES
        or name.endswith(_BESIDE)
        or _JOINT in name
        or (is_data and not set(KIND_NAMES).isdisjoint(tokens[:1]))
    )
    is_plain = first == "data" and tokens and all(map(_PLAIN_TOKEN.fullmatch, tokens))
    if is_plain and not is_like_another and len(name) <= FOUND_NAME_CHARACTERS_MAX:
        return name
    cleaned = _NOT_PLAIN.sub(_JOINT, "/".join(tokens or [first]))
    if not _NAME.match(cleaned):
        cleaned = _JOINT + cleaned
    if len(prefix + cleaned) > FOUND_NAME_CHARACTERS_MAX:
        return f"{(prefix + cleaned)[: FOUND_NAME_CHARACTERS_MAX - 10]}{_JOINT}{_digest(place)[:8]}"
    stripped = cleaned.rstrip("_")
    name = prefix + (stripped if _JOINT in stripped else cleaned)
    return name if _JOINT in name else name + _JOINT


def _digest(place: ValuePlace) -> str:
    return hashlib.sha256(f"{place.kind}{place.path}".encode()).hexdigest()[:13]


def name_beside(name: str, declared: Collection[str]) -> str:
    """What a found measurement is called beside declared ones; they may have taken its name."""
    unused, number = name, 1
    while unused in declared:
        unused = f"{name}{_BESIDE}{number if number > 1 else ''}"
        number += 1
    return unused


def list_own_names(name: str) -> list[str]:
    """The names that a found measurement may have by itself, by what it is called."""
    return list(dict.fromkeys((name, _BESIDE_END.sub("", name))))


def build_found(place: ValuePlace, name: str) -> Measurement:
    """The measurement of a place that nobody has declared."""
    if place in BUILT_IN:
        return replace(BUILT_IN[place], name=name)
    return Measurement(name, KIND_NAMES[place.kind], place.path)


def merge_found(
    declared: Sequence[Measurement], found: Mapping[ValuePlace, str]
) -> list[tuple[Measurement, bool]]:
    """Declared measurements, then found ones at other places; each with whether it is declared."""
    places = {each.place for each in declared}
    taken = {each.name for each in declared}
    return [(each, True) for each in declared] + [
        (build_found(place, name_beside(name, taken)), False)
        for place, name in found.items()
        if place not in places
    ]


# --- paths ---


def split_path(path: str) -> list[str]:
    """The tokens of a JSON Pointer (RFC 6901)."""
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def join_path(tokens: Iterable[str]) -> str:
    return "".join("/" + each.replace("~", "~0").replace("/", "~1") for each in tokens)


def normalize_path(path: str) -> str:
    """A path as it is looked for: where older records have what a network has decoded, too."""
    return _DATA + path.removeprefix(_OLDER) if path.startswith(_OLDER) else path


# --- validation ---


def find_problems(measurement: Measurement) -> list[tuple[str, str]]:
    """What is wrong with a measurement: (field, message) of everything."""
    problems: list[tuple[str, str]] = []
    if not _NAME.fullmatch(measurement.name) or len(measurement.name) > NAME_CHARACTERS_MAX:
        problems.append(
            (
                "name",
                f"must have 1 to {NAME_CHARACTERS_MAX} letters, digits, dots, hyphens and"
                " underscores, and begin with a letter, a digit or an underscore",
            )
        )
    if measurement.kind not in KIND_NAMES:
        problems.append(("kind", f"must be one of {', '.join(KIND_NAMES)}"))
    elif message := _find_path_problem(measurement.kind, measurement.path):
        problems.append(("path", message))
    if measurement.value_class not in CLASSES:
        problems.append(("class", f"must be one of {', '.join(CLASSES)}"))
    bounds = {"minimum": measurement.minimum, "maximum": measurement.maximum}
    for name, bound in bounds.items():
        if bound is not None and measurement.value_class == "state":
            problems.append((name, "is for numbers, not for a state"))
        elif bound is not None and not (math.isfinite(bound) and abs(bound) < VALUE_MAX):
            problems.append((name, "must be a finite number"))
    low, high = measurement.minimum, measurement.maximum
    if low is not None and high is not None and low > high:
        problems.append(("minimum", "must not be above the maximum"))
    return problems


def _find_path_problem(kind: str, path: str) -> str | None:
    texts, numbers = list_json_fields(kind), list_number_fields(kind)
    tokens = split_path(path)
    is_number = len(tokens) == 1 and tokens[0] in numbers
    is_in_text = len(tokens) > 1 and tokens[0] in texts and all(tokens)
    if path[:1] == "/" and (is_number or is_in_text) and len(tokens) <= PATH_LEVELS_MAX:
        return None
    places = [f"/{name}/…" for name in texts] + [f"/{name}" for name in numbers]
    return f"must be one of {', '.join(places)}, with at most {PATH_LEVELS_MAX} levels"
