"""Parse single values of a message, which networks write in several ways.

Optional values parse to None if they are missing or invalid. What a message must have goes through
`RequiredFields`, which collects all errors.
"""

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from longwire.clock import MILLISECOND, SECOND, Moment
from longwire.dates import LATEST, MILLISECONDS_FROM
from longwire.errors import FieldError
from longwire.networks.base import InvalidMessage
from longwire.networks.json_text import (
    INTEGER_MAX,
    INTEGER_MIN,
    json_float,
    json_integer,
    parse_json,
)

DEVICE_ID_CHARACTERS_MAX = 128

_EMPTY_WORDS = {"", "null", "n/a"}
_EMPTY_WORD_CHARACTERS_MAX = max(map(len, _EMPTY_WORDS))


def is_empty(value: Any) -> bool:
    if not isinstance(value, str):
        return value is None
    if len(value) > _EMPTY_WORD_CHARACTERS_MAX and not (value[0].isspace() or value[-1].isspace()):
        return False
    return value.strip().lower() in _EMPTY_WORDS


def first_value(values: Mapping[str, Any], *names: str) -> Any:
    """The first non-empty value under these names."""
    return next((values[name] for name in names if not is_empty(values.get(name))), None)


def parse_text(value: Any, characters_max: int) -> str | None:
    """A text, or a number as text, truncated."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or is_empty(value):
        return None
    return str(value).strip()[:characters_max]


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def parse_number(value: Any) -> float | None:
    """A number, or a text that is one; integers as int."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return None
        return json_integer(text) if text.lstrip("+-").isdigit() else json_float(text)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def parse_integer(value: Any, minimum: int = INTEGER_MIN, maximum: int = INTEGER_MAX) -> int | None:
    """An integer within bounds."""
    if type(value) is int:
        return value if minimum <= value <= maximum else None
    number = parse_number(value)
    if number is None or number != int(number) or not minimum <= int(number) <= maximum:
        return None
    return int(number)


def parse_rounded(value: Any, minimum: int = INTEGER_MIN, maximum: int = INTEGER_MAX) -> int | None:
    """A number rounded to an integer within bounds."""
    number = parse_number(value)
    return None if number is None else parse_integer(round(number), minimum, maximum)


_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def parse_boolean(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str | int):
        return _BOOLEANS.get(str(value).strip().lower())
    return None


def parse_mapping(value: Any) -> dict[str, Any] | None:
    """An object, also one that was sent as a JSON string."""
    found = _parse_embedded_json(value)
    return found if isinstance(found, dict) else None


def parse_list(value: Any) -> list[Any] | None:
    """A list, also one that was sent as a JSON string."""
    found = _parse_embedded_json(value)
    return found if isinstance(found, list) else None


def list_mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; empty if it is not a list."""
    return [each for each in parse_list(value) or () if isinstance(each, dict)]


def _parse_embedded_json(value: Any) -> Any:
    if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    try:
        return parse_json(value.encode(errors="replace"))
    except InvalidMessage:
        return None


def parse_hex(value: Any) -> bytes:
    """Decode hex digits; ValueError if invalid."""
    # Without quotes in the template, digits become a number. An integer keeps all of them.
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not _HEX.fullmatch(text.strip()):
        raise ValueError("must be hex digits, two for each byte")
    return bytes.fromhex(text.strip())


_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*+")


def parse_base64(value: Any) -> bytes:
    """Decode base64 of either alphabet, padded or not; ValueError if invalid."""
    if not isinstance(value, str):
        raise ValueError("must be base64")
    text = value.strip().rstrip("=").translate(_URL_ALPHABET)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("must be base64") from None


_URL_ALPHABET = str.maketrans("-_", "+/")


# --- moments ---

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ](?!24)\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
_MOMENT_END: Moment = LATEST + 1


def parse_moment(value: Any) -> Moment:
    """Parse seconds or milliseconds since 1970, or RFC 3339; ValueError if invalid."""
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        return _require_range(_parse_date(value.strip().upper()))
    number = parse_number(value)
    if number is None:
        raise ValueError(
            "is not a valid date; write it as seconds or milliseconds since 1970, or like "
            "2026-11-15T08:30:00Z"
        )
    unit = MILLISECOND if number >= MILLISECONDS_FROM else SECOND
    # Avoid float overflow.
    return _require_range(round(number * unit) if abs(number) < _MOMENT_END else _MOMENT_END)


def _parse_date(text: str) -> Moment:
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"is not a valid date: {error}") from None
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _require_range(moment: Moment) -> Moment:
    # A time before 1970 comes from a clock that was never set.
    if not 0 <= moment < _MOMENT_END:
        raise ValueError("is not a valid date between the years 1970 and 9999")
    return moment


def is_zero_time(value: Any) -> bool:
    """Whether a date is the zero value that Go writes for a time that was never set."""
    return isinstance(value, str) and value.strip().startswith("0001-01-01T00:00:00")


def first_moment(*values: Any) -> Moment | None:
    """The first of these values that is a valid time."""
    for value in values:
        try:
            return parse_moment(value)
        except ValueError:
            continue
    return None


# --- required fields ---

T = TypeVar("T")


class RequiredFields:
    """Parses required fields and collects their errors; `raise_errors` raises all of them at once.

    An invalid field yields a placeholder, which nobody sees after `raise_errors`.
    """

    def __init__(self) -> None:
        self._errors: list[FieldError] = []
        self._sent_id = ""
        self._has_device = False

    def device(self, field: str, value: Any, if_missing: str = "is required") -> str:
        """The id of the device, as it was sent."""
        self._sent_id = "" if is_empty(value) else str(value)[:DEVICE_ID_CHARACTERS_MAX]
        if is_empty(value):
            return self._add_error(field, if_missing, "")
        # 1E5 without quotes has become a float, and its digits are lost.
        found = (
            None if isinstance(value, float) else parse_text(value, DEVICE_ID_CHARACTERS_MAX + 1)
        )
        if found is None:
            return self._add_error(field, "must be a string", "")
        if len(found) > DEVICE_ID_CHARACTERS_MAX:
            return self._add_error(
                field, f"must have at most {DEVICE_ID_CHARACTERS_MAX} characters", ""
            )
        self._has_device = True
        return found

    def moment(self, field: str, value: Any) -> Moment:
        if is_empty(value):
            return self._add_error(field, "is required", 0)
        return self._read(field, value, parse_moment, 0)

    def moment_if_given(self, field: str, value: Any) -> Moment | None:
        return None if is_empty(value) else self._read(field, value, parse_moment, 0)

    def payload(
        self, field: str, value: Any, read: Callable[[Any], bytes], bytes_max: int
    ) -> bytes:
        """The payload; no value means an empty one, which devices do send."""
        if is_empty(value):
            return b""
        found = self._read(field, value, read, b"")
        if len(found) > bytes_max:
            return self._add_error(field, f"must have at most {bytes_max} bytes", b"")
        return found

    def check(self, is_met: bool, field: str, message: str = "is required") -> None:
        if not is_met:
            self._errors.append(FieldError(field, message))

    def raise_errors(self) -> None:
        if self._errors:
            raise InvalidMessage(
                field_errors=self._errors, sent_id=self._sent_id, has_device=self._has_device
            )

    def _read(self, field: str, value: Any, read: Callable[[Any], T], default: T) -> T:
        try:
            return read(value)
        except ValueError as error:
            return self._add_error(field, str(error), default)

    def _add_error(self, field: str, message: str, default: T) -> T:
        self._errors.append(FieldError(field, message))
        return default
