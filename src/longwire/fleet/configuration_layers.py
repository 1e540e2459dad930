"""Configurations in layers: merge them, know where each value is from, and find drift; pure.

A layer is a JSON merge patch (RFC 7396): its members replace those of the layers below, objects are
merged member by member, and null removes a member.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

CHARACTERS_MAX = 16_384
LEVELS_MAX = 16

JsonObject = dict[str, Any]
Path = tuple[str, ...]


class Source(NamedTuple):
    """Where a value is from."""

    kind: str  # default, type, group or device
    id: str


class Layer(NamedTuple):
    source: Source
    patch: Mapping[str, Any]


class SourcedValue(NamedTuple):
    """A value and the layer that set it; objects have members of the same sort."""

    source: Source
    value: Any


class Leaf(NamedTuple):
    """A value that is no object, or an empty one."""

    path: Path
    value: Any
    source: Source


class Difference(NamedTuple):
    """A value that a device reports otherwise than it should be, or not at all."""

    path: Path
    expected: Any
    reported: Any  # NOT_REPORTED if there is none


NOT_REPORTED = object()
Merged = dict[str, SourcedValue]

_decode_object = msgspec.json.Decoder(JsonObject).decode


def parse_object(text: str) -> JsonObject | None:
    """The JSON object of a text; None if it is something else, too large or too deep."""
    if len(text) > CHARACTERS_MAX or not text.startswith("{"):
        return None
    try:
        value = _decode_object(text)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return None if is_deep(value) else value


def is_deep(value: Any) -> bool:
    """Whether objects and lists are nested beyond the maximum."""
    level = [value]
    for _ in range(LEVELS_MAX):
        level = [
            each
            for found in level
            if isinstance(found, dict | list)
            for each in (found.values() if isinstance(found, dict) else found)
        ]
    return any(isinstance(each, dict | list) for each in level)


# --- merge ---


def merge_layers(layers: Sequence[Layer]) -> Merged:
    """All layers, the last one on top."""
    merged: Merged = {}
    for layer in layers:
        _apply(merged, layer.patch, layer.source)
    return merged


def _apply(target: Merged, patch: Mapping[str, Any], source: Source) -> None:
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
        elif isinstance(value, dict):
            present = target.get(name)
            if present is None or not isinstance(present.value, dict):
                present = target[name] = SourcedValue(source, {})
            _apply(present.value, value, source)
        else:
            target[name] = SourcedValue(source, value)


def to_plain(merged: Merged) -> JsonObject:
    """The values without their sources."""
    return {
        name: to_plain(each.value) if isinstance(each.value, dict) else each.value
        for name, each in merged.items()
    }


def list_leaves(merged: Merged, path: Path = ()) -> Iterator[Leaf]:
    for name, each in merged.items():
        here = (*path, name)
        if isinstance(each.value, dict) and each.value:
            yield from list_leaves(each.value, here)
        else:
            yield Leaf(here, each.value, each.source)


def split_inherited(own: JsonObject, default: JsonObject) -> tuple[JsonObject, JsonObject]:
    """A device's configuration in two: what is as in the default of its type, and the rest.

    A device gets a copy of the default when it is created. What nobody has changed since is not
    its own, or no policy would ever apply.
    """
    inherited: JsonObject = {}
    rest: JsonObject = {}
    for name, value in own.items():
        usual = default.get(name)
        if name in default and is_same(value, usual):
            inherited[name] = value
        elif isinstance(value, dict) and isinstance(usual, dict) and value:
            inside, outside = split_inherited(value, usual)
            if inside:
                inherited[name] = inside
            if outside:
                rest[name] = outside
        else:
            rest[name] = value
    return inherited, rest


# --- compare ---


def find_differences(merged: Merged, reported: JsonObject) -> Iterator[Difference]:
    """Where a report differs; what it has beyond the configuration does not matter.

    A value of the default that is not reported does not matter either: nobody has asked for it.
    """
    for leaf in list_leaves(merged):
        found = _get_path(reported, leaf.path)
        if found is NOT_REPORTED:
            if leaf.source.kind != "default":
                yield Difference(leaf.path, leaf.value, found)
        elif leaf.value == {} and isinstance(found, dict):
            continue  # any object has the members of an empty one
        elif not is_same(found, leaf.value):
            yield Difference(leaf.path, leaf.value, found)


def _get_path(value: Any, path: Path) -> Any:
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return NOT_REPORTED
        value = value[name]
    return value


def is_same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: 1 is 1.0, and not true."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
