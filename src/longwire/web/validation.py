"""Bytes from outside become checked values, or a list of everything that is wrong with them.

The fast way is one pass of msgspec straight into the expected type. Only when that refuses, or the
text holds something suspicious, the slow way looks at every field on its own, so that the caller
hears of all mistakes at once.
"""

import functools
import json
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Meta

from longwire.clock import Moment
from longwire.dates import moment_of
from longwire.errors import BadInput, Fault, TooLarge

S = TypeVar("S", bound=msgspec.Struct)


class Query(msgspec.Struct, kw_only=True, rename="camel"):
    """The query parameters of an operation."""


class Body(msgspec.Struct, kw_only=True, rename="camel"):
    """The JSON object an operation takes."""


class Reply(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The JSON object an operation answers; what is not known is left out."""


@dataclass(frozen=True, slots=True)
class InputLimits:
    """How much of anything a request may carry."""

    body_bytes_max: int = 1024 * 1024
    bulk_body_bytes_max: int = 8 * 1024 * 1024
    json_depth_max: int = 32
    page_items_max: int = 1_000
    page_items_default: int = 100
    bulk_ids_max: int = 1_000
    batch_records_max: int = 5_000
    tags_max: int = 50
    tag_characters_max: int = 64
    notifications_per_group_max: int = 200


def up_to(limit: str, *, unit: str) -> Meta:
    """Marks a type as bounded by a setting, where msgspec's own bounds are written in stone."""
    return Meta(extra={"limit": limit, "unit": unit})


Id = Annotated[str, Meta(min_length=1, max_length=128)]
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Text = Annotated[str, Meta(max_length=4_096)]
Email = Annotated[str, Meta(min_length=3, max_length=254, examples=["ada@example.com"])]
GroupId = Annotated[str, Meta(min_length=1, max_length=128, examples=["880148294221312"])]
Tag = Annotated[str, Meta(min_length=1), up_to("tag_characters_max", unit="characters")]
Tags = Annotated[list[Tag], up_to("tags_max", unit="tags")]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0)]
DateText = Annotated[
    str,
    Meta(
        examples=["2026-11-15T08:30:00.000Z"],
        extra_json_schema={"format": "date-time"},
    ),
]


_DATE = {"is": "date"}
_DATE_WORDS = (
    "RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."
)
DateIn = Annotated[
    str | int | float,
    Meta(extra=_DATE, description=_DATE_WORDS, examples=["2026-11-15T08:30:00Z"]),
]
DateQuery = Annotated[
    str,
    Meta(extra=_DATE, description=_DATE_WORDS, max_length=64, examples=["2026-11-15T08:30:00Z"]),
]


def moment(field: str, value: str | float) -> Moment:
    """The moment a caller wrote, or a refusal that names the field."""
    try:
        return moment_of(value)
    except ValueError as error:
        raise BadInput(faults=[Fault(field, str(error))]) from None


class Paged(Query):
    """What every paged list takes."""

    limit: (
        Annotated[
            Annotated[int, Meta(ge=1, description="At most so many items.")],
            up_to("page_items_max", unit="items"),
        ]
        | None
    ) = None
    next_token: Annotated[str, Meta(description="The nextToken of the page before.")] | None = None


# --- queries ---


def decode_query(raw: bytes, expected: type[S], limits: InputLimits) -> S:
    """The parameters of a query string; unknown ones are ignored."""
    values, faults = _query_values(raw, _wire_to_own(expected))
    if not faults:
        try:
            query = msgspec.convert(values, expected, strict=False)
        except msgspec.ValidationError:
            pass
        else:
            if _fits(query, limits) and not _has_null(query, values):
                return query
    found = {fault.field: fault for fault in _Search(limits, strict=False).all(values, expected)}
    raise BadInput(faults=(found | faults).values())


def _has_null(query: msgspec.Struct, values: Mapping[str, str]) -> bool:
    """Whether a parameter was taken for null, as msgspec does with the word where it fits."""
    if not any(len(value) == 4 and value.lower() == "null" for value in values.values()):
        return False
    names = _wire_to_own(type(query))
    return any(getattr(query, names[wire]) is None for wire in values)


@functools.cache
def _wire_to_own(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    return {wire: own for own, wire in wire_names(struct).items()}


def _query_values(raw: bytes, known: Container[str]) -> tuple[dict[str, str], dict[str, Fault]]:
    values: dict[str, str] = {}
    faults: dict[str, Fault] = {}
    for pair in raw.split(b"&") if raw else ():
        name_raw, _, value_raw = pair.partition(b"=")
        try:
            name = _unquote(name_raw)
        except UnicodeDecodeError:
            continue  # no parameter of ours
        if name not in known:
            continue
        if name in values:
            faults[name] = Fault(name, "is given more than once")
            continue
        try:
            values[name] = _unquote(value_raw)
        except UnicodeDecodeError:
            faults[name] = Fault(name, "is not valid UTF-8")
            continue
        if "\x00" in values[name]:
            faults[name] = Fault(name, "must not contain NUL")
    return values, faults


def _unquote(raw: bytes) -> str:
    if raw.isalnum():
        return raw.decode()
    if b"%" in raw or b"+" in raw:
        raw = unquote_to_bytes(raw.replace(b"+", b" "))
    return raw.decode()


# --- bodies ---

# Escapes that can put NUL or half of a surrogate pair into a text.
_SUSPICIOUS = re.compile(rb"\\u0000|\\u[dD][89a-fA-F]")


def decode_body(raw: bytes, expected: type[S], limits: InputLimits) -> S:
    """The JSON object of a request; unknown members are ignored."""
    check_text(raw)
    check_depth(raw, limits.json_depth_max)
    if not _SUSPICIOUS.search(raw):
        try:
            body: S = _decoder(expected).decode(raw)
        except (msgspec.MsgspecError, RecursionError):
            pass
        else:
            if _fits(body, limits):
                return body
    return _decode_slowly(raw, expected, limits)


def _decode_slowly(raw: bytes, expected: type[S], limits: InputLimits) -> S:
    try:
        # As text, because of bytes it would guess the encoding, and take UTF-16 as well.
        value = json.loads(raw.decode(), parse_int=_integer, parse_constant=_no_constant)
    except RecursionError as error:
        raise BadInput("The body is nested too deeply.") from error
    except ValueError as error:
        raise BadInput(f"The body is not valid JSON: {error}.") from error
    faults = _Search(limits, strict=True).all(value, expected)
    if faults:
        raise BadInput(faults=faults)
    return msgspec.convert(value, expected)


def check_text(raw: bytes) -> None:
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"The body is not valid UTF-8 at byte {error.start}.") from error


# An unclosed string counts as one and nothing is ever tried twice, so that this takes a time in
# proportion to the text, whatever the text is.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def check_depth(raw: bytes, depth_max: int) -> None:
    """Refuse deep nesting before anything recurses into it."""
    if raw.count(b"[") + raw.count(b"{") <= depth_max:
        return
    # Pairs that hold nothing are taken out, level by level. A large flat list is gone after two or
    # three; brackets inside of strings, which need not pair, leave the answer to the longer way.
    brackets = raw.translate(None, _NO_BRACKETS)
    for _ in range(depth_max):
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if not brackets:
            return
    depth = 0
    for bracket in _STRING.sub(b"", raw).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > depth_max:
            raise BadInput(f"The body is nested deeper than {depth_max} levels.")


def check_size(size: int, size_max: int) -> None:
    if size > size_max:
        raise TooLarge(f"The body may have at most {size_max} bytes.")


# More digits than the largest number has, of any kind; Python gives up on a few thousand.
_DIGITS_MAX = 400


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _DIGITS_MAX else math.inf


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


@functools.cache
def _decoder(expected: type[S]) -> msgspec.json.Decoder[S]:
    return msgspec.json.Decoder(expected)


def decode_text(field: str, text: str, expected: type[S], limits: InputLimits) -> S:
    """A JSON object that came as text inside of a field; faults are named `field.member`."""
    try:
        return decode_body(text.encode(), expected, limits)
    except BadInput as error:
        # What is no object is wrong as a whole; an object may have a member called body.
        is_object = text.lstrip().startswith("{")
        faults = [
            Fault(f"{field}.{each.field}" if is_object else field, each.message)
            for each in error.faults
        ]
        raise BadInput(
            faults=faults or [Fault(field, error.message.replace("The body", "the text"))]
        ) from error


# --- names ---


@functools.cache
def wire_names(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    """How each field of a struct is spelled outside."""
    return {field.name: field.encode_name for field in msgspec.structs.fields(struct)}


# --- everything that is wrong ---


FAULTS_MAX = 5_000  # as many as the largest batch has items; an answer must end somewhere


class _Search:
    """Looks at a value place by place, for everything that is wrong with it."""

    def __init__(self, limits: InputLimits, *, strict: bool) -> None:
        self._limits = limits
        self._strict = strict

    def all(self, value: Any, expected: Any) -> list[Fault]:
        """Each wrong place, in the order of the expected fields."""
        return list(islice(self._in(value, expected, ""), FAULTS_MAX))

    def _in(self, value: Any, expected: Any, path: str) -> Iterator[Fault]:
        if isinstance(value, dict) and (struct := _struct_in(expected)):
            yield from self._in_object(value, struct, path)
        elif isinstance(value, list) and (items := _items_in(expected)):
            yield from self._in_list(value, expected, items, path)
        else:
            yield from self._whole(value, expected, path)

    def _in_object(
        self, value: Mapping[str, Any], struct: type[msgspec.Struct], path: str
    ) -> Iterator[Fault]:
        for field in msgspec.structs.fields(struct):
            place = f"{path}.{field.encode_name}" if path else field.encode_name
            if field.encode_name in value:
                yield from self._in(value[field.encode_name], field.type, place)
            elif field.required:
                yield Fault(place, "is required")
        if struct.__struct_config__.forbid_unknown_fields:
            for name in value.keys() - set(wire_names(struct).values()):
                yield Fault(f"{path}.{name}" if path else name, "is not known here")

    def _in_list(
        self, value: Sequence[Any], expected: Any, items: Any, path: str
    ) -> Iterator[Fault]:
        most = _items_max(expected, self._limits)
        if len(value) > most:
            # The items are not looked at: a list without end must not keep us busy.
            yield Fault(path, f"must have at most {most} items")
            return
        is_faulty = False
        for index, item in enumerate(value):
            for fault in self._in(item, items, f"{path}[{index}]"):
                is_faulty = True
                yield fault
        if not is_faulty:
            yield from self._whole(value, expected, path)

    def _whole(self, value: Any, expected: Any, path: str) -> Iterator[Fault]:
        if message := _unfit(value):
            yield Fault(path or "body", message)
            return
        try:
            converted = msgspec.convert(value, expected, strict=self._strict)
        except msgspec.ValidationError as error:
            yield Fault(path or "body", _in_words(str(error)))
        else:
            if converted is None and value is not None:
                yield Fault(path, "must not be null")
            yield from _beyond_limits(converted, expected, path, self._limits)
            if converted is not None and _is_date(expected):
                yield from _wrong_date(converted, path)


def _wrong_date(value: str | float, path: str) -> Iterator[Fault]:
    try:
        moment_of(value)
    except ValueError as error:
        yield Fault(path, str(error))


def _unfit(value: Any) -> str | None:
    """What is wrong with a text or number that no database keeps."""
    if isinstance(value, str):
        if "\x00" in value:
            return "must not contain NUL"
        if any("\ud800" <= character <= "\udfff" for character in value):
            return "contains half of a surrogate pair"
    elif isinstance(value, float) and not math.isfinite(value):
        return "is out of range"
    return None


def _items_max(annotated: Any, limits: InputLimits) -> int:
    """How long a list may be, by its type or by a setting."""
    if typing.get_origin(annotated) is Annotated:
        base, *metas = typing.get_args(annotated)
        if typing.get_origin(base) is list:
            return min(_length_max(meta, limits) for meta in metas)
        return _items_max(base, limits)
    options = typing.get_args(annotated) if _is_union(annotated) else ()
    return min((_items_max(each, limits) for each in options), default=sys.maxsize)


def _length_max(meta: Meta, limits: InputLimits) -> int:
    if meta.extra and "limit" in meta.extra:
        return int(getattr(limits, meta.extra["limit"]))
    return sys.maxsize if meta.max_length is None else meta.max_length


def _beyond_limits(value: Any, annotated: Any, path: str, limits: InputLimits) -> Iterator[Fault]:
    for extra in limits_on(annotated) if value is not None else ():
        most, unit = getattr(limits, extra["limit"]), extra["unit"]
        if isinstance(value, int) and value > most:
            yield Fault(path, f"must be at most {most}")
        elif not isinstance(value, int) and len(value) > most:
            yield Fault(path, f"must have at most {most} {unit}")


@dataclass(frozen=True, slots=True)
class Bound:
    field: str
    wire_name: str
    limit: str
    unit: str
    per_item: bool


def _fits(value: msgspec.Struct, limits: InputLimits) -> bool:
    """The quick look: whether all that settings bound is within its bounds."""
    for bound in bounds(type(value)):
        found = getattr(value, bound.field)
        most = getattr(limits, bound.limit)
        if found is not None and any(
            _size(each) > most for each in (found if bound.per_item else (found,))
        ):
            return False
    return all(_fits(each, limits) for each in _structs_inside(value))


def _size(value: Any) -> int:
    return value if isinstance(value, int) else len(value)


def _structs_inside(value: msgspec.Struct) -> Iterator[msgspec.Struct]:
    for name in _struct_fields(type(value)):
        found = getattr(value, name)
        for each in found if isinstance(found, list) else (found,):
            if isinstance(each, msgspec.Struct):
                yield each


def structs_in(struct: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    """The type itself, and every type of object inside it."""
    yield struct
    for field in msgspec.structs.fields(struct):
        inner = _struct_in(field.type) or _struct_in(_items_in(field.type))
        if inner is not None:
            yield from structs_in(inner)


@functools.cache
def _struct_fields(struct: type[msgspec.Struct]) -> Sequence[str]:
    """The fields that hold objects of ours, or lists of them, in which settings bound anything."""
    return [
        field.name
        for field in msgspec.structs.fields(struct)
        if (inner := _struct_in(field.type) or _struct_in(_items_in(field.type)))
        and any(bounds(each) for each in structs_in(inner))
    ]


@functools.cache
def bounds(struct: type[msgspec.Struct]) -> Sequence[Bound]:
    found: list[Bound] = []
    for field in msgspec.structs.fields(struct):
        for per_item, annotated in ((False, field.type), (True, _items_in(field.type))):
            found += [
                Bound(field.name, field.encode_name, extra["limit"], extra["unit"], per_item)
                for extra in limits_on(annotated)
            ]
    return found


def limits_on(annotated: Any) -> Iterator[Mapping[str, str]]:
    """The settings that bound a type (see `up_to`)."""
    if typing.get_origin(annotated) is Annotated:
        base, *metas = typing.get_args(annotated)
        for meta in metas:
            if isinstance(meta, Meta) and meta.extra and "limit" in meta.extra:
                yield meta.extra
        yield from limits_on(base)
    elif _is_union(annotated):
        for option in typing.get_args(annotated):
            yield from limits_on(option)


def _is_date(annotated: Any) -> bool:
    if typing.get_origin(annotated) is Annotated:
        base, *metas = typing.get_args(annotated)
        marked = any(isinstance(meta, Meta) and meta.extra == _DATE for meta in metas)
        return marked or _is_date(base)
    return _is_union(annotated) and any(map(_is_date, typing.get_args(annotated)))


def _is_union(annotated: Any) -> bool:
    return typing.get_origin(annotated) in (typing.Union, types.UnionType)


def _options(annotated: Any) -> list[Any]:
    """The types a value may have, without the wrapping."""
    if typing.get_origin(annotated) is Annotated:
        return _options(typing.get_args(annotated)[0])
    if _is_union(annotated):
        return [option for each in typing.get_args(annotated) for option in _options(each)]
    return [annotated]


def _struct_in(annotated: Any) -> type[msgspec.Struct] | None:
    for option in _options(annotated):
        if isinstance(option, type) and issubclass(option, msgspec.Struct):
            return option
    return None


def _items_in(annotated: Any) -> Any | None:
    for option in _options(annotated):
        if typing.get_origin(option) is list:
            return typing.get_args(option)[0]
    return None


# --- msgspec's messages for people who do not know Python ---

_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_SENTENCES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (
        re.compile(r"Expected `(.+?)`, got `(.+?)`"),
        lambda m: f"must be {_kinds(m[1])}, not {_kinds(m[2])}",
    ),
    (
        re.compile(r"Expected `str` of length <= (\d+)"),
        lambda m: f"must have at most {m[1]} characters",
    ),
    (re.compile(r"Expected `str` of length >= 1\b"), lambda m: "must not be empty"),
    (
        re.compile(r"Expected `str` of length >= (\d+)"),
        lambda m: f"must have at least {m[1]} characters",
    ),
    (
        re.compile(r"Expected `array` of length <= (\d+)"),
        lambda m: f"must have at most {m[1]} items",
    ),
    (
        re.compile(r"Expected `array` of length >= (\d+)"),
        lambda m: f"must have at least {m[1]} items",
    ),
    (re.compile(r"Expected `(?:int|float)` >= (\S+)"), lambda m: f"must be at least {m[1]}"),
    (re.compile(r"Expected `(?:int|float)` <= (\S+)"), lambda m: f"must be at most {m[1]}"),
)


def _in_words(message: str) -> str:
    message = message.split(" - at ")[0]
    for pattern, sentence in _SENTENCES:
        if match := pattern.match(message):
            return sentence(match)
    return message[0].lower() + message[1:]


def _kinds(union: str) -> str:
    kinds = [kind for kind in union.split(" | ") if kind != "null"] or ["null"]
    return " or ".join(_WORDS.get(kind, kind) for kind in kinds)
