"""What a message of a notification says where it has no template, in the language of a recipient.

Reasons, the names of devices and what records contain are shown as they are; the words around them
are in the catalogue.
"""

from collections.abc import Mapping
from typing import Any

from longwire.dates import parse_date
from longwire.notifications.values import FIELD_CHARACTERS_MAX, to_text, truncate
from longwire.translations.catalogue import (
    find_text,
    format_number,
    translate,
    translate_count,
)
from longwire.translations.dates import format_moment

TEST = "test"
# In the header of the default body, or without value for a reader.
NOT_LISTED = frozenset(
    ("deviceId", "deviceName", "deviceType", "groupId", "kind", "reason", "tags", "timestamp")
)
# What the service itself says of something; the members of records have names of their own.
# An alert about a record has members of both.
_KINDS_OF_SERVICE = frozenset(("device", "connector", TEST))
_MOMENTS = frozenset(("seenAt", "since"))
_WITH_UNIT = frozenset(("value", "worstValue"))
_WORDS = {"state": "alarm_state", "severity": "alarm_severity"}


def default_subject(reason: str, message: Mapping[str, Any]) -> str:
    return ": ".join(part for part in (_subject_name(message), reason) if part)


def default_body(reason: str, message: Mapping[str, Any], language: str) -> str:
    """Reason, time and device, followed by all fields of the message."""
    lines = [_build_heading(reason, message, language)]
    if sentence := _find_sentence(reason, message, language):
        lines.append(sentence)
    if device := _text(message, "deviceId"):
        about = ", ".join(part for part in (device, _text(message, "deviceType")) if part)
        name = _text(message, "deviceName")
        shown = f"{name} ({about})" if name else about
        lines.append(translate(language, "alarm.device", device=shown))
    lines.append("")
    if message.get("kind") != TEST:
        lines += _list_fields(message, language)
    return "\n".join(lines).rstrip()


def resolve_subject(subject: str, language: str) -> str:
    return translate(language, "alarm.resolved_subject", subject=subject)


def append_held_back(body: str, held_back: int, language: str) -> str:
    """The body for receivers that see no other field."""
    if not held_back:
        return body
    return f"{body}\n\n{translate_count(language, 'alarm.held_back', held_back)}"


def show_state(state: str, language: str) -> str:
    return find_text(language, f"alarm_state.{state}") or state


def _subject_name(message: Mapping[str, Any]) -> str:
    names = ("deviceName", "deviceId", "connectorName", "connectorId")
    return next((text for name in names if (text := _text(message, name))), "")


def _build_heading(reason: str, message: Mapping[str, Any], language: str) -> str:
    at = _show_moment(_text(message, "timestamp"), language)
    if not reason or not at:
        return reason or at
    return translate(language, "alarm.heading", reason=reason, at=at)


def _find_sentence(reason: str, message: Mapping[str, Any], language: str) -> str | None:
    """What a reason of the service means."""
    if message.get("kind") == TEST:
        return translate(language, "test.body")
    state = message.get("state")
    if state not in ("raised", "resolved"):
        return None
    return find_text(language, f"alarm_{state}.{reason}")


def _list_fields(message: Mapping[str, Any], language: str) -> list[str]:
    listed = {name: value for name, value in message.items() if name not in NOT_LISTED}
    is_of_service = message.get("kind") in _KINDS_OF_SERVICE or "since" in message
    if is_of_service and listed.keys() & _WITH_UNIT:
        listed.pop("unit", None)  # behind the values
    lines = []
    for name, value in listed.items():
        if value is None:
            continue
        label = find_text(language, f"alarm_field.{name}") if is_of_service else None
        if label is None:
            lines.append(f"{name}: {truncate(to_text(value), FIELD_CHARACTERS_MAX)}")
            continue
        shown = truncate(_show_value(name, value, message, language), FIELD_CHARACTERS_MAX)
        lines.append(translate(language, "alarm.field", name=label, value=shown))
    return lines


def _show_value(name: str, value: Any, message: Mapping[str, Any], language: str) -> str:
    if isinstance(value, bool):
        return translate(language, "answer.yes" if value else "answer.no")
    if isinstance(value, int | float):
        unit = _text(message, "unit") if name in _WITH_UNIT else ""
        return f"{format_number(language, value)} {unit}".rstrip()
    text = to_text(value)
    if name in _MOMENTS:
        return _show_moment(text, language)
    if name in _WORDS:
        return find_text(language, f"{_WORDS[name]}.{text}") or text
    return text


def _show_moment(text: str, language: str) -> str:
    """A timestamp of a message as people write it; anything else as it is."""
    try:
        return format_moment(language, parse_date(text), with_seconds=True)
    except ValueError:
        return text


def _text(message: Mapping[str, Any], field: str) -> str:
    value = message.get(field)
    return "" if value is None else to_text(value)
