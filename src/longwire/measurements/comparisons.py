"""Comparisons of current values, as people write them: `moisture<15`, `door==open`, `level==null`.

With `@` behind its name, the time of a value is compared: `moisture@<2026-11-01`.
"""

import re
from typing import Literal, NamedTuple, cast

import msgspec

from longwire.clock import Moment
from longwire.dates import parse_date
from longwire.measurements.definitions import NAME_CHARACTERS_MAX, VALUE_MAX

Operator = Literal["<", "<=", ">", ">=", "==", "!="]

_NAME = r"\w[\w.\-]*"
_COMPARISON = re.compile(rf"\s*({_NAME})(@?)\s*(<=|>=|==|!=|<|>)\s*(\S|\S.*\S)\s*", re.DOTALL)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_WORDS = ("true", "false")


class Comparison(NamedTuple):
    """A condition on the current value of a measurement, or on its time.

    With a number, a text (the JSON of a word or a boolean) or a time; without, whether there is
    a value.
    """

    name: str
    operator: Operator
    number: float | None = None
    text: str | None = None
    at: Moment | None = None

    @property
    def is_null(self) -> bool:
        return self.number is None and self.text is None and self.at is None


def is_measurement_name(text: str) -> bool:
    return len(text) <= NAME_CHARACTERS_MAX and re.fullmatch(_NAME, text) is not None


def parse_comparison(text: str) -> Comparison:
    """A comparison, or a `ValueError` that says what is wrong."""
    found = _COMPARISON.fullmatch(text)
    if found is None or len(found[1]) > NAME_CHARACTERS_MAX:
        raise ValueError(
            "must be a measurement, one of < <= > >= == != and a value, such as moisture<15,"
            " moisture==null or moisture@<2026-11-01"
        )
    name, is_time, value = found[1], bool(found[2]), found[4]
    operator = cast("Operator", found[3])
    is_equality = operator in ("==", "!=")
    if value == "null":
        if not is_equality:
            raise ValueError("null is compared by == and != only")
        return Comparison(name, operator)
    if is_time:
        return Comparison(name, operator, at=parse_date(value))
    if _NUMBER.fullmatch(value):
        number = float(value)
        if abs(number) >= VALUE_MAX:
            raise ValueError("has a number that is too large")
        return Comparison(name, operator, number)
    if not is_equality:
        raise ValueError("has a word, which is compared by == and != only")
    return Comparison(name, operator, text=_encode_word(value))


def _encode_word(value: str) -> str:
    """The JSON of a word, which may be quoted, or of a boolean."""
    if value in _WORDS:
        return value
    word: object = value
    if value[:1] == '"':
        try:
            word = msgspec.json.decode(value)
        except msgspec.MsgspecError:
            word = None
        if not isinstance(word, str):
            raise ValueError("has a quoted word that is no JSON")
    return msgspec.json.encode(word).decode()
