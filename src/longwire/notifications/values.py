"""Values and texts in messages to people: spelled, and truncated to what a message may have."""

import re
from typing import Any

import msgspec

from longwire.delivery.connectors.formats import to_json_value

SUBJECT_CHARACTERS_MAX = 200
BODY_CHARACTERS_MAX = 10_000
VALUE_CHARACTERS_MAX = 2_000
FIELD_CHARACTERS_MAX = 500

ELLIPSIS = "…"
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
WHITESPACE = re.compile(r"\s+")


def to_text(value: Any) -> str:
    """A value for people to read."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    value = to_json_value(value)
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value, order="deterministic").decode()


def truncate(text: str, characters_max: int = VALUE_CHARACTERS_MAX) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + ELLIPSIS


def to_one_line(text: str) -> str:
    """Without line breaks and control characters, for a subject."""
    return truncate(
        WHITESPACE.sub(" ", CONTROL_CHARACTERS.sub(" ", text)).strip(), SUBJECT_CHARACTERS_MAX
    )


def clean_text(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return truncate(CONTROL_CHARACTERS.sub(" ", lines), BODY_CHARACTERS_MAX)
