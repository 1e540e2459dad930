"""Parse JSON so that everything in the result can be stored and encoded as JSON again."""

import json
import math
import re
from collections.abc import Iterable
from typing import Any

from longwire.errors import FieldError
from longwire.networks.base import InvalidMessage

JSON_DEPTH_MAX = 32
# Parsing costs time for each value rather than for each byte, and everybody waits meanwhile. An
# uplink that a hundred gateways have received has two or three thousand.
JSON_VALUES_MAX = 20_000
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1


def parse_json(raw: bytes) -> Any:
    """Any JSON value, without numbers and characters that cannot be stored."""
    check_values(raw)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidMessage(f"The body is not valid UTF-8 at byte {error.start}.") from None
    _check_depth(text)
    try:
        value = json.loads(
            text,
            parse_int=json_integer,
            parse_float=json_float,
            parse_constant=_reject_constant,
            object_pairs_hook=unique_members,
        )
    except ValueError as error:
        raise InvalidMessage(f"The body is not valid JSON: {error}.") from None
    return _clean(value) if _UNSTORABLE_ESCAPE.search(text) else value


def check_values(raw: bytes) -> None:
    """Reject a text with too many values, before any of them is parsed.

    Each has one of these characters in front of it, also the first of a list or an object. Those
    within strings are counted, too.
    """
    if sum(map(raw.count, (b",", b":", b"[", b"{"))) > JSON_VALUES_MAX:
        raise InvalidMessage(f"The body may have at most {JSON_VALUES_MAX} values.")


# Possessive, and an unclosed string counts as one: linear time.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= JSON_DEPTH_MAX:
        return
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > JSON_DEPTH_MAX:
            raise InvalidMessage(f"The body is nested deeper than {JSON_DEPTH_MAX} levels.")


_DIGITS_MAX = len(str(INTEGER_MIN))


def json_integer(digits: str) -> float | None:
    if len(digits) <= _DIGITS_MAX and INTEGER_MIN <= (number := int(digits)) <= INTEGER_MAX:
        return number
    return json_float(digits)


def json_float(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


# NUL and lone surrogates: no database stores them. A device that pads its texts with NUL still gets
# its measurements stored.
_UNSTORABLE_ESCAPE = re.compile(r"\\u0000|\\u[dD][89a-fA-F]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {clean_text(name): _clean(each) for name, each in value.items()}
    return value


def clean_text(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


def unique_members(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    repeated: dict[str, FieldError] = {}
    for name, value in pairs:
        if name in members:
            repeated[name] = FieldError(name, "is given more than once")
        members[name] = value
    if repeated:
        raise InvalidMessage(field_errors=repeated.values())
    return members
