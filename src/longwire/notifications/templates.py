"""What a notification says: texts with `{{ CEL }}` in them, filled with what happened.

A text is checked when it is saved. Whatever goes wrong afterwards shows in the text, where the
value would have been, and never keeps a notification from being sent.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from longwire.delivery.filters import TOKEN, BadExpression, EvaluationError, Expression
from longwire.delivery.formats import plain

SUBJECT_TEMPLATE_CHARACTERS_MAX = 1_000
BODY_TEMPLATE_CHARACTERS_MAX = 8_000
PLACEHOLDERS_MAX = 32
SUBJECT_CHARACTERS_MAX = 200
BODY_CHARACTERS_MAX = 10_000
VALUE_CHARACTERS_MAX = 2_000
MARK_CHARACTERS_MAX = 80
FIELD_CHARACTERS_MAX = 500

CUT = "…"
NOT_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
BLANKS = re.compile(r"\s+")

# What the first lines of a default text say, or what tells a reader nothing.
SAID_ABOVE = frozenset(
    ("deviceId", "deviceName", "deviceType", "groupId", "kind", "reason", "tags", "timestamp")
)


class BadText(Exception):
    """A text that cannot be filled: why, and where."""


class Template:
    """A text that was checked, and can be filled as often as needed."""

    def __init__(self, source: str) -> None:
        self._parts: Sequence[str | Expression] = tuple(_parts(source))
        placeholders = sum(isinstance(part, Expression) for part in self._parts)
        if placeholders > PLACEHOLDERS_MAX:
            raise BadText(f"has more than {PLACEHOLDERS_MAX} placeholders")
        # All of them together cost no more than one expression may.
        self._share = 1 / max(1, placeholders)

    def fill(self, message: Mapping[str, Any]) -> str:
        return "".join(
            part if isinstance(part, str) else self._value(part, message) for part in self._parts
        )

    def _value(self, expression: Expression, message: Mapping[str, Any]) -> str:
        try:
            return cut(written(expression.evaluate(message, share=self._share)))
        except EvaluationError as error:
            return f"[? {cut(str(error), MARK_CHARACTERS_MAX)}]"
        except (ValueError, TypeError, RecursionError):
            return "[? cannot be written]"


class Texts:
    """Subject and body of one notification; what is not given is made up."""

    def __init__(self, subject: str | None, body: str | None) -> None:
        self._subject = None if subject is None else Template(subject)
        self._body = None if body is None else Template(body)

    def fill(self, reason: str, message: Mapping[str, Any]) -> tuple[str, str]:
        subject = self._subject.fill(message) if self._subject else plain_subject(reason, message)
        body = self._body.fill(message) if self._body else plain_body(reason, message)
        return one_line(subject), several_lines(body)


def problem(source: str) -> str | None:
    """Why this text cannot be filled."""
    try:
        Template(source)
    except BadText as error:
        return str(error)
    return None


def plain_subject(reason: str, message: Mapping[str, Any]) -> str:
    return ": ".join(part for part in (_name(message), reason) if part)


def plain_body(reason: str, message: Mapping[str, Any]) -> str:
    """What happened, when and to which device, and then everything that was said."""
    lines = [" at ".join(part for part in (reason, _text(message, "timestamp")) if part)]
    if device := _text(message, "deviceId"):
        about = ", ".join(part for part in (device, _text(message, "deviceType")) if part)
        name = _text(message, "deviceName")
        lines.append(f"Device: {name} ({about})" if name else f"Device: {about}")
    lines.append("")
    lines += (
        f"{name}: {cut(written(value), FIELD_CHARACTERS_MAX)}"
        for name, value in message.items()
        if name not in SAID_ABOVE and value is not None
    )
    return "\n".join(lines).rstrip()


def with_held_back(body: str, held_back: int) -> str:
    """The text for somebody who sees nothing but the text."""
    if not held_back:
        return body
    were = "One more was" if held_back == 1 else f"{held_back:,} more were"
    return f"{body}\n\n{were} held back since the last one."


def _name(message: Mapping[str, Any]) -> str:
    names = ("deviceName", "deviceId", "connectorName", "connectorId")
    return next((text for name in names if (text := _text(message, name))), "")


def _text(message: Mapping[str, Any], field: str) -> str:
    value = message.get(field)
    return "" if value is None else written(value)


def written(value: Any) -> str:
    """A value as people read it."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    value = plain(value)
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value, order="deterministic").decode()


def cut(text: str, characters_max: int = VALUE_CHARACTERS_MAX) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + CUT


def one_line(text: str) -> str:
    """A subject: nothing in it begins a line, or does not print."""
    return cut(BLANKS.sub(" ", NOT_TEXT.sub(" ", text)).strip(), SUBJECT_CHARACTERS_MAX)


def several_lines(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return cut(NOT_TEXT.sub(" ", lines), BODY_CHARACTERS_MAX)


# --- reading ---


def _parts(source: str) -> Iterator[str | Expression]:
    at = 0
    while (begin := source.find("{{", at)) >= 0:
        if begin > at:
            yield source[at:begin]
        end = _end(source, begin)
        try:
            yield Expression(source[begin + 2 : end])
        except BadExpression as error:
            line, column = _place(source, begin + 2)
            column = error.column + (column - 1 if error.line == 1 else 0)
            raise BadText(
                f"line {line + error.line - 1}, column {column}: {error.reason}"
            ) from None
        at = end + 2
    if at < len(source):
        yield source[at:]


def _end(source: str, begin: int) -> int:
    """Where the placeholder ends that begins here; braces and quotes in it are its own."""
    depth = 0
    at = begin + 2
    while at < len(source):
        if depth == 0 and source.startswith("}}", at):
            return at
        found = TOKEN.match(source, at)
        if found is None:
            break
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if depth < 0:
            break
        at = found.end()
    # What is wrong inside is said by the expression, if there is an end at all.
    end = source.find("}}", begin + 2)
    if end >= 0:
        return end
    line, column = _place(source, begin)
    raise BadText(f"line {line}, column {column}: this {{{{ has no }}}}")


def _place(source: str, at: int) -> tuple[int, int]:
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)
