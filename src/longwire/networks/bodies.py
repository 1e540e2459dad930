"""From the bytes of a callback to plain values, and from a value to what it was meant to be.

Networks fill templates in: a number comes as a number or as a text, a JSON object under the media
type of a form, a missing value as one of several words. All of that ends here.

What optional values are made of is answered with None when it is not there or not readable. What a
message cannot do without goes through `RequiredFields`, which gathers everything that is wrong with it.
"""

import base64
import binascii
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes

import msgspec

from longwire.clock import MILLISECOND, SECOND, Moment
from longwire.errors import FieldError
from longwire.networks.base import InvalidMessage

BODY_BYTES_MAX = 1024 * 1024
JSON_DEPTH_MAX = 32
FORM_FIELDS_MAX = 1_000
DEVICE_ID_CHARACTERS_MAX = 128
INTEGER_MIN, INTEGER_MAX = -(2**63), 2**63 - 1

# The group's token may stand in the query. It is not part of what the network says.
TOKEN = "token"


def parse_body(media_type: str | None, raw: bytes, query: bytes) -> dict[str, Any]:
    """What a request says, by name: its body, or its query if it has no body."""
    if len(raw) > BODY_BYTES_MAX:
        raise InvalidMessage(f"The body may have at most {BODY_BYTES_MAX} bytes.")
    body = raw.removeprefix(b"\xef\xbb\xbf").strip()
    plain = _plain_object(body)
    if plain is not None:
        return plain
    if body:
        values = _body_values(_bare(media_type), body)
    else:
        values = _form(query)
        values.pop(TOKEN, None)
    return {name: None if _is_nothing(value) else value for name, value in values.items()}


def _bare(media_type: str | None) -> str:
    return (media_type or "").partition(";")[0].strip().lower()


def _body_values(media_type: str, body: bytes) -> dict[str, Any]:
    # Templates of JSON are often sent as the network's default media type, which is that of a form.
    if body.startswith(b"{"):
        value = _read_filled_in(body)
        if isinstance(value, dict):
            return value
    if media_type == "application/json" or media_type.endswith("+json"):
        raise InvalidMessage("The body is not a JSON object.")
    if media_type not in _FORM_TYPES or b"=" not in body:
        raise InvalidMessage("The body is neither a JSON object nor a form.")
    return _form(body)


_FORM_TYPES = {"", "text/plain", "application/x-www-form-urlencoded"}


# --- forms ---


def _form(raw: bytes) -> dict[str, Any]:
    pairs = raw.split(b"&", FORM_FIELDS_MAX)
    if len(pairs) > FORM_FIELDS_MAX:
        raise InvalidMessage(f"The form may have at most {FORM_FIELDS_MAX} fields.")
    named = [pair.partition(b"=") for pair in pairs if b"=" in pair]
    return _each_once((_unquote(name), _unquoted(_unquote(value))) for name, _, value in named)


def _unquote(raw: bytes) -> str:
    return _clean_text(unquote_to_bytes(raw.replace(b"+", b" ")).decode(errors="replace").strip())


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1] if is_quoted else text


def _each_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    repeated: dict[str, FieldError] = {}
    for name, value in pairs:
        if name in found:
            repeated[name] = FieldError(name, "is given more than once")
        found[name] = value
    if repeated:
        raise InvalidMessage(field_errors=repeated.values())
    return found


# --- JSON ---


def _plain_object(raw: bytes) -> dict[str, Any] | None:
    """An object of plain values, without words for nothing; None if it needs a closer look.

    Without escapes a colon right after a quote follows a name. So if there are no other colons, as
    many names as colons mean that none is there twice.
    """
    if raw[:1] != b"{" or raw.count(b"{") != 1 or b"[" in raw or b"\\" in raw:
        return None
    colons = raw.count(b":")
    if raw.count(b'":') != colons:
        return None
    try:
        found = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if not isinstance(found, dict) or len(found) != colons:
        return None
    for name, value in found.items():
        if type(value) is str:
            if _is_nothing(value):
                found[name] = None
        elif type(value) is int and value > INTEGER_MAX:
            return None
    return found


_DECODER = msgspec.json.Decoder()


def parse_json(raw: bytes) -> Any:
    """Any JSON value, of which everything can be stored and written as JSON again."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidMessage(f"The body is not valid UTF-8 at byte {error.start}.") from None
    _check_depth(text)
    try:
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_no_constant,
            object_pairs_hook=_each_once,
        )
    except ValueError as error:
        raise InvalidMessage(f"The body is not valid JSON: {error}.") from None
    return _clean(value) if _SUSPICIOUS.search(text) else value


def _read_filled_in(raw: bytes) -> Any:
    """The JSON of a template, also where values without quotes have made it something else."""
    try:
        return parse_json(raw)
    except InvalidMessage as error:
        try:
            return parse_json(_BARE.sub(_quoted, raw))
        except InvalidMessage:
            raise error from None


# A string, to be left alone; or what stands behind a colon in place of a value: nothing, the word
# for nothing, or digits in hex that are no number of JSON, like 0A1B or 007. An unclosed string
# counts as one and nothing is tried twice: time in proportion to the text.
_BARE = re.compile(
    rb'"(?:[^"\\]++|\\.)*+"?|(?P<colon>:\s*+)(?P<bare>(?:[Nn]/[Aa]|[0-9A-Fa-f]++)?+)(?=\s*+[,}])',
    re.DOTALL,
)
_JSON_INTEGER = re.compile(rb"0|[1-9][0-9]*")


def _quoted(found: re.Match[bytes]) -> bytes:
    bare = found["bare"]
    if bare is None or _JSON_INTEGER.fullmatch(bare):
        return found[0]
    return found["colon"] + b'"' + bare + b'"'


# An unclosed string counts as one and nothing is tried twice: time in proportion to the text.
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= JSON_DEPTH_MAX:
        return
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > JSON_DEPTH_MAX:
            raise InvalidMessage(f"The body is nested deeper than {JSON_DEPTH_MAX} levels.")


_DIGITS_MAX = len(str(INTEGER_MIN))


def _integer(digits: str) -> float | None:
    if len(digits) <= _DIGITS_MAX and INTEGER_MIN <= (number := int(digits)) <= INTEGER_MAX:
        return number
    return _float(digits)


def _float(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


# NUL and half of a surrogate pair: no database takes them. A device that pads its texts with NUL is
# no reason to refuse what it measured.
_SUSPICIOUS = re.compile(r"\\u0000|\\u[dD][89a-fA-F]")
_UNKEEPABLE = re.compile("[\x00\ud800-\udfff]")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {_clean_text(name): _clean(each) for name, each in value.items()}
    return value


def _clean_text(text: str) -> str:
    return _UNKEEPABLE.sub("\ufffd", text)


# --- single values ---

_NOTHING = {"", "null", "n/a"}
_NOTHING_CHARACTERS_MAX = max(map(len, _NOTHING))


def _is_nothing(value: Any) -> bool:
    if not isinstance(value, str):
        return value is None
    if len(value) > _NOTHING_CHARACTERS_MAX and not (value[0].isspace() or value[-1].isspace()):
        return False
    return value.strip().lower() in _NOTHING


def first_value(values: Mapping[str, Any], *names: str) -> Any:
    """The value under the first of these names that has one."""
    return next((values[name] for name in names if not _is_nothing(values.get(name))), None)


def parse_text(value: Any, characters_max: int) -> str | None:
    """A text, or a number as one; no longer than it may be."""
    if isinstance(value, bool) or not isinstance(value, str | int | float) or _is_nothing(value):
        return None
    return str(value).strip()[:characters_max]


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def parse_number(value: Any) -> float | None:
    """A number, or a text that is one; whole ones come as int."""
    if type(value) is int:
        return value
    if isinstance(value, str):
        text = value.strip()
        if not _NUMBER.fullmatch(text):
            return None
        return _integer(text) if text.lstrip("+-").isdigit() else _float(text)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


def parse_integer(value: Any, minimum: int = INTEGER_MIN, maximum: int = INTEGER_MAX) -> int | None:
    """A whole number between two others."""
    if type(value) is int:
        return value if minimum <= value <= maximum else None
    number = parse_number(value)
    if number is None or number != int(number) or not minimum <= int(number) <= maximum:
        return None
    return int(number)


def parse_rounded(value: Any, minimum: int = INTEGER_MIN, maximum: int = INTEGER_MAX) -> int | None:
    """The whole number next to any number."""
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
    """An object, also one that was put into quotes."""
    found = _inside(value)
    return found if isinstance(found, dict) else None


def parse_list(value: Any) -> list[Any] | None:
    """A list, also one that was put into quotes."""
    found = _inside(value)
    return found if isinstance(found, list) else None


def list_mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none if it is no list."""
    return [each for each in parse_list(value) or () if isinstance(each, dict)]


def _inside(value: Any) -> Any:
    if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
        return value
    try:
        return parse_json(value.encode(errors="replace"))
    except InvalidMessage:
        return None


def parse_hex(value: Any) -> bytes:
    """Bytes written as hex digits; ValueError when they are not."""
    # Without quotes in the template, digits have become a number. A whole one has lost nothing.
    text = str(value) if type(value) is int else value
    if not isinstance(text, str) or not _HEX.fullmatch(text.strip()):
        raise ValueError("must be hex digits, two for each byte")
    return bytes.fromhex(text.strip())


_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*+")


def parse_base64(value: Any) -> bytes:
    """Bytes written in base64, of either alphabet, padded or not; ValueError if they are not."""
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
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)?", re.ASCII
)
# As seconds this is the year 5138, as milliseconds 1973: nobody means the other one.
_MILLISECONDS_FROM = 10**11
_LAST: Moment = 253_402_300_800 * SECOND  # the year 10000


def parse_moment(value: Any) -> Moment:
    """Seconds or milliseconds since 1970, or RFC 3339; ValueError when it is neither."""
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        return _in_range(_of_date(value.strip().upper()))
    number = parse_number(value)
    if number is None:
        raise ValueError(
            "is no date; write it as seconds or milliseconds since 1970, or like "
            "2026-11-15T08:30:00Z"
        )
    unit = MILLISECOND if number >= _MILLISECONDS_FROM else SECOND
    # The largest numbers have no product.
    return _in_range(round(number * unit) if abs(number) < _LAST else _LAST)


def _of_date(text: str) -> Moment:
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"is no date: {error}") from None
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - _EPOCH) // _MICROSECOND


def _in_range(moment: Moment) -> Moment:
    # What was heard by radio was not heard before 1970; a clock that was never set says so.
    if not 0 <= moment < _LAST:
        raise ValueError("is no date between the years 1970 and 9999")
    return moment


def first_moment(*values: Any) -> Moment | None:
    """The first of these that is a moment."""
    for value in values:
        try:
            return parse_moment(value)
        except ValueError:
            continue
    return None


# --- what a message cannot do without ---

T = TypeVar("T")


class RequiredFields:
    """Takes what has to be there, and remembers what was not; `raise_faults` raises all of it at once.

    What it hands out in place of a missing value is of no use to anybody, and after `raise_faults` nobody
    has it.
    """

    def __init__(self) -> None:
        self._faults: list[FieldError] = []

    def device(self, field: str, value: Any) -> str:
        """The id of the device, as it was sent."""
        if _is_nothing(value):
            return self._wrong(field, "is required", "")
        # 1E5 without quotes has become a number with a fraction, and its digits are lost.
        found = (
            None if isinstance(value, float) else parse_text(value, DEVICE_ID_CHARACTERS_MAX + 1)
        )
        if found is None:
            return self._wrong(field, "must be a string", "")
        if len(found) > DEVICE_ID_CHARACTERS_MAX:
            return self._wrong(
                field, f"must have at most {DEVICE_ID_CHARACTERS_MAX} characters", ""
            )
        return found

    def moment(self, field: str, value: Any) -> Moment:
        if _is_nothing(value):
            return self._wrong(field, "is required", 0)
        return self._read(field, value, parse_moment, 0)

    def moment_if_given(self, field: str, value: Any) -> Moment | None:
        return None if _is_nothing(value) else self._read(field, value, parse_moment, 0)

    def payload(
        self, field: str, value: Any, read: Callable[[Any], bytes], bytes_max: int
    ) -> bytes:
        """The payload. No value is an empty payload, which devices do send."""
        if _is_nothing(value):
            return b""
        found = self._read(field, value, read, b"")
        if len(found) > bytes_max:
            return self._wrong(field, f"must have at most {bytes_max} bytes", b"")
        return found

    def require(self, is_met: bool, field: str, message: str = "is required") -> None:
        if not is_met:
            self._faults.append(FieldError(field, message))

    def raise_faults(self) -> None:
        if self._faults:
            raise InvalidMessage(field_errors=self._faults)

    def _read(self, field: str, value: Any, read: Callable[[Any], T], otherwise: T) -> T:
        try:
            return read(value)
        except ValueError as error:
            return self._wrong(field, str(error), otherwise)

    def _wrong(self, field: str, message: str, otherwise: T) -> T:
        self._faults.append(FieldError(field, message))
        return otherwise
