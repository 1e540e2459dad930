"""Decodes and validates queries and JSON bodies, or reports every invalid field at once.

Valid input takes one pass of msgspec straight into the expected type. Only if that fails, or the
text contains a suspicious escape, is each field converted on its own to collect all the errors.
"""

import functools
import json
import math
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from longwire.dates import parse_date
from longwire.errors import BadInput, FieldError, TooLarge
from longwire.web.fields import CheckedBody, InputLimits
from longwire.web.type_info import (
    bounded_struct_fields,
    field_bounds,
    has_bounds,
    is_date,
    item_type,
    items_max,
    strict_struct,
    struct_type,
    type_limits,
    wire_names,
)

S = TypeVar("S", bound=msgspec.Struct)


# --- queries ---


def decode_query(raw: bytes, expected: type[S], limits: InputLimits) -> S:
    """Decode a query string; unknown parameters are ignored. Only lists may be repeated."""
    values, field_errors = _query_values(raw, _fields_by_wire_name(expected), _lists_of(expected))
    if not field_errors:
        try:
            query = msgspec.convert(values, expected, strict=False)
        except msgspec.ValidationError:
            pass
        else:
            if _is_within_limits(query, limits) and not _has_null(query, values):
                return query
    found = {
        fault.field: fault
        for fault in _ErrorCollector(limits, strict=False).collect(values, expected)
    }
    raise BadInput(field_errors=(found | field_errors).values())


def _has_null(query: msgspec.Struct, values: Mapping[str, str | list[str]]) -> bool:
    """Whether msgspec converted the string `null` to None."""
    if not any(
        len(value) == 4 and isinstance(value, str) and value.lower() == "null"
        for value in values.values()
    ):
        return False
    names = _fields_by_wire_name(type(query))
    return any(getattr(query, names[wire]) is None for wire in values)


@functools.cache
def _fields_by_wire_name(struct: type[msgspec.Struct]) -> Mapping[str, str]:
    return {wire: own for own, wire in wire_names(struct).items()}


@functools.cache
def _lists_of(struct: type[msgspec.Struct]) -> frozenset[str]:
    """The parameters that may be given several times, by their wire names."""
    fields = msgspec.structs.fields(struct)
    return frozenset(each.encode_name for each in fields if item_type(each.type) is not None)


def _query_values(
    raw: bytes, known: Container[str], lists: Container[str]
) -> tuple[dict[str, str | list[str]], dict[str, FieldError]]:
    values: dict[str, str | list[str]] = {}
    repeated: dict[str, list[str]] = {}
    field_errors: dict[str, FieldError] = {}
    for pair in raw.split(b"&") if raw else ():
        name_raw, _, value_raw = pair.partition(b"=")
        try:
            name = _unquote(name_raw)
        except UnicodeDecodeError:
            continue  # not a known parameter
        if name not in known:
            continue
        if name in values:
            field_errors[name] = FieldError(name, "is given more than once")
            continue
        try:
            value = _unquote(value_raw)
        except UnicodeDecodeError:
            field_errors[name] = FieldError(name, "is not valid UTF-8")
            continue
        if "\x00" in value:
            field_errors[name] = FieldError(name, "must not contain NUL")
        elif name in lists:
            repeated.setdefault(name, []).append(value)
        else:
            values[name] = value
    return values | repeated, field_errors


def _unquote(raw: bytes) -> str:
    if raw.isalnum():
        return raw.decode()
    if b"%" in raw or b"+" in raw:
        raw = unquote_to_bytes(raw.replace(b"+", b" "))
    return raw.decode()


# --- bodies ---

# Escapes that can put NUL or a lone surrogate into a string.
_SUSPICIOUS = re.compile(rb"\\u0000|\\u[dD][89a-fA-F]")


def decode_body(raw: bytes, expected: type[S], limits: InputLimits) -> S:
    """Decode a JSON object; unknown members are ignored."""
    _check_json(raw, limits)
    body = _decode_at_once(raw, _decoder(expected), expected, limits)
    return _decode_reporting_errors(raw, expected, limits) if body is None else body


def decode_without_ignored(raw: bytes, expected: type[S], limits: InputLimits) -> S | None:
    """The same in one pass, if it is valid and has no unknown member; else None."""
    _check_json(raw, limits)
    return _decode_at_once(raw, _strict_decoder(expected), expected, limits)


def _check_json(raw: bytes, limits: InputLimits) -> None:
    if not raw.isascii():
        check_text(raw)
    check_depth(raw, limits.json_depth_max)


def _decode_at_once(
    raw: bytes, decoder: msgspec.json.Decoder[S], expected: type[S], limits: InputLimits
) -> S | None:
    """What the body is, unless it has errors that have to be reported."""
    if b"\\u" in raw and _SUSPICIOUS.search(raw):
        return None
    try:
        body = decoder.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return body if not has_bounds(expected) or _is_within_limits(body, limits) else None


@functools.cache
def _strict_decoder(expected: type[S]) -> msgspec.json.Decoder[S]:
    """Accepts no unknown member, at any depth."""
    return msgspec.json.Decoder(strict_struct(expected))


def _decode_reporting_errors(raw: bytes, expected: type[S], limits: InputLimits) -> S:
    try:
        # As str: given bytes, json.loads would guess the encoding and accept UTF-16.
        value = json.loads(raw.decode(), parse_int=_integer, parse_constant=_no_constant)
    except RecursionError as error:
        raise BadInput("The body is nested too deeply.") from error
    except ValueError as error:
        raise BadInput(f"The body is not valid JSON: {error}.") from error
    field_errors = _ErrorCollector(limits, strict=True).collect(value, expected)
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return msgspec.convert(value, expected)


def check_text(raw: bytes) -> None:
    if not raw.isascii():
        try:
            raw.decode()
        except UnicodeDecodeError as error:
            raise BadInput(f"The body is not valid UTF-8 at byte {error.start}.") from error


def decode_members(raw: bytes, limits: InputLimits) -> dict[str, msgspec.Raw]:
    """The members of an object that was sent without a request, not parsed themselves."""
    check_text(raw)
    check_depth(raw, limits.json_depth_max)
    try:
        return _MEMBERS.decode(raw)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadInput(f"The body is not a JSON object: {error}.") from error


_MEMBERS = msgspec.json.Decoder(dict[str, msgspec.Raw])


# Possessive, and an unclosed string counts as one: linear time on any input.
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def check_depth(raw: bytes, depth_max: int) -> None:
    """Reject deep nesting before anything recurses into it."""
    if raw.count(b"[") + raw.count(b"{") <= depth_max:
        return
    # Empty pairs are removed, level by level. A large flat list is gone after two or
    # three. Brackets inside strings need not pair; then the strings are removed first.
    brackets = raw.translate(None, _NO_BRACKETS)
    for _ in range(depth_max):
        count = len(brackets)
        brackets = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if not brackets:
            return
        if len(brackets) > count * 15 // 16:
            break  # hardly any pairs: it is deep, which is found out soon by counting
    depth = 0
    for bracket in _STRING.sub(b"", raw).translate(None, _NO_BRACKETS):
        depth += 1 if bracket in b"[{" else -1
        if depth > depth_max:
            raise BadInput(f"The body is nested deeper than {depth_max} levels.")


def check_size(size: int, size_max: int) -> None:
    if size > size_max:
        raise TooLarge(f"The body may have at most {size_max} bytes.")


# More digits than the largest float has; Python refuses to parse a few thousand.
_DIGITS_MAX = 400


def _integer(digits: str) -> float:
    return int(digits) if len(digits) <= _DIGITS_MAX else math.inf


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


@functools.cache
def _decoder(expected: type[S]) -> msgspec.json.Decoder[S]:
    return msgspec.json.Decoder(expected)


def decode_text(field: str, text: str, expected: type[S], limits: InputLimits) -> S:
    """Decode a JSON object given as a string in a field; errors are named `field.member`."""
    try:
        return decode_body(text.encode(), expected, limits)
    except BadInput as error:
        # Anything but an object is invalid as a whole; an object may have a member `body`.
        is_object = text.lstrip().startswith("{")
        field_errors = [
            FieldError(f"{field}.{each.field}" if is_object else field, each.message)
            for each in error.field_errors
        ]
        raise BadInput(
            field_errors=field_errors
            or [FieldError(field, error.message.replace("The body", "the text"))]
        ) from error


# --- collecting errors ---


FIELD_ERRORS_MAX = 5_000  # as many as the largest batch has items; bounds the response


class _ErrorCollector:
    """Converts a value field by field and collects the errors."""

    def __init__(self, limits: InputLimits, *, strict: bool) -> None:
        self._limits = limits
        self._strict = strict

    def collect(self, value: Any, expected: Any) -> list[FieldError]:
        """All errors, in the order of the expected fields."""
        return list(islice(self._errors(value, expected, ""), FIELD_ERRORS_MAX))

    def _errors(self, value: Any, expected: Any, path: str) -> Iterator[FieldError]:
        if isinstance(value, dict) and (struct := struct_type(expected)):
            yield from self._object_errors(value, struct, path)
        elif isinstance(value, list) and (items := item_type(expected)):
            yield from self._list_errors(value, expected, items, path)
        else:
            yield from self._value_errors(value, expected, path)

    def _object_errors(
        self, value: Mapping[str, Any], struct: type[msgspec.Struct], path: str
    ) -> Iterator[FieldError]:
        for field in msgspec.structs.fields(struct):
            place = f"{path}.{field.encode_name}" if path else field.encode_name
            if field.encode_name in value:
                yield from self._errors(value[field.encode_name], field.type, place)
            elif field.required:
                yield FieldError(place, "is required")
        if issubclass(struct, CheckedBody):
            given = {name for name, each in value.items() if each is not None}
            for name, reason in struct.check_members(given).items():
                yield FieldError(f"{path}.{name}" if path else name, reason)
        if struct.__struct_config__.forbid_unknown_fields:
            for name in value.keys() - set(wire_names(struct).values()):
                yield FieldError(f"{path}.{name}" if path else name, "is not a known member")

    def _list_errors(
        self, value: Sequence[Any], expected: Any, items: Any, path: str
    ) -> Iterator[FieldError]:
        most = items_max(expected, self._limits)
        if len(value) > most:
            # The items are not validated: a huge list must not keep us busy.
            yield FieldError(path, f"must have at most {most} items")
            return
        has_errors = False
        for index, item in enumerate(value):
            for fault in self._errors(item, items, f"{path}[{index}]"):
                has_errors = True
                yield fault
        if not has_errors:
            yield from self._value_errors(value, expected, path)

    def _value_errors(self, value: Any, expected: Any, path: str) -> Iterator[FieldError]:
        if message := _storage_error(value):
            yield FieldError(path or "body", message)
            return
        try:
            converted = msgspec.convert(value, expected, strict=self._strict)
        except msgspec.ValidationError as error:
            yield FieldError(path or "body", to_plain_words(str(error)))
        else:
            if converted is None and value is not None:
                yield FieldError(path, "must not be null")
            yield from _limit_errors(converted, expected, path, self._limits)
            if converted is not None and is_date(expected):
                yield from _date_errors(converted, path)


def _date_errors(value: str | float, path: str) -> Iterator[FieldError]:
    try:
        parse_date(value)
    except ValueError as error:
        yield FieldError(path, str(error))


def _storage_error(value: Any) -> str | None:
    """Why the database cannot store a string or number, or None."""
    if isinstance(value, str):
        if "\x00" in value:
            return "must not contain NUL"
        if any("\ud800" <= character <= "\udfff" for character in value):
            return "contains a lone surrogate"
    elif isinstance(value, float) and not math.isfinite(value):
        return "is out of range"
    return None


def _limit_errors(
    value: Any, annotated: Any, path: str, limits: InputLimits
) -> Iterator[FieldError]:
    for extra in type_limits(annotated) if value is not None else ():
        most, unit = getattr(limits, extra["limit"]), extra["unit"]
        if isinstance(value, int) and value > most:
            yield FieldError(path, f"must be at most {most}")
        elif not isinstance(value, int) and len(value) > most:
            yield FieldError(path, f"must have at most {most} {unit}")


def _is_within_limits(value: msgspec.Struct, limits: InputLimits) -> bool:
    """Whether everything that the settings bound is within its limits."""
    for bound in field_bounds(type(value)):
        found = getattr(value, bound.field)
        most = getattr(limits, bound.limit)
        if found is not None and any(
            _size(each) > most for each in (found if bound.per_item else (found,))
        ):
            return False
    return all(_is_within_limits(each, limits) for each in _nested_values(value))


def _size(value: Any) -> int:
    return value if isinstance(value, int) else len(value)


def _nested_values(value: msgspec.Struct) -> Iterator[msgspec.Struct]:
    for name in bounded_struct_fields(type(value)):
        found = getattr(value, name)
        for each in found if isinstance(found, list) else (found,):
            if isinstance(each, msgspec.Struct):
                yield each


# --- msgspec's messages, without Python's type names ---

_TYPE_WORDS = {
    "str": "a string",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_WRONG_TYPE = re.compile(r"Expected `(.+?)`, got `(.+?)`")
# Of the first pattern that matches, the words with its group in them.
_OUT_OF_BOUNDS = (
    (re.compile(r"Expected `str` of length <= (\d+)"), "must have at most {} characters"),
    (re.compile(r"Expected `str` of length >= 1\b"), "must not be empty"),
    (re.compile(r"Expected `str` of length >= (\d+)"), "must have at least {} characters"),
    (re.compile(r"Expected `array` of length <= (\d+)"), "must have at most {} items"),
    (re.compile(r"Expected `array` of length >= (\d+)"), "must have at least {} items"),
    (re.compile(r"Expected `(?:int|float)` >= (\S+)"), "must be at least {}"),
    (re.compile(r"Expected `(?:int|float)` <= (\S+)"), "must be at most {}"),
)


def to_plain_words(message: str) -> str:
    message = message.split(" - at ")[0]
    if found := _WRONG_TYPE.match(message):
        return f"must be {_type_words(found[1])}, not {_type_words(found[2])}"
    for pattern, words in _OUT_OF_BOUNDS:
        if found := pattern.match(message):
            return words.format(*found.groups())
    return message[0].lower() + message[1:]


def _type_words(union: str) -> str:
    kinds = [kind for kind in union.split(" | ") if kind != "null"] or ["null"]
    return " or ".join(_TYPE_WORDS.get(kind, kind) for kind in kinds)
