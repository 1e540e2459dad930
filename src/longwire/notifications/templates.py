"""Templates: subject and body of a notification, with `{{ CEL }}` placeholders.

A template is validated when it is saved. An evaluation that fails later shows in the text, in place
of the value, and never prevents a notification from being sent.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from longwire.delivery.cel.expressions import EvaluationError, Expression
from longwire.delivery.cel.lexer import TOKEN, InvalidExpression
from longwire.delivery.cel.stored import StoredExpression
from longwire.notifications.default_texts import default_body, default_subject
from longwire.notifications.values import clean_text, to_one_line, to_text, truncate
from longwire.store.cache.compiled_bound import CompiledShare
from longwire.translations.catalogue import DEFAULT_LANGUAGE

SUBJECT_TEMPLATE_CHARACTERS_MAX = 1_000
BODY_TEMPLATE_CHARACTERS_MAX = 8_000
PLACEHOLDERS_MAX = 32
ERROR_CHARACTERS_MAX = 80

# Subject and body as templates made them, in no language; None where there is no template.
FilledTexts = tuple[str | None, str | None]


class InvalidTemplate(Exception):
    """Why a template is invalid, and where."""


class Template:
    """A parsed template; it can be rendered any number of times."""

    def __init__(self, source: str, parse_placeholder: "ParsePlaceholder" = Expression) -> None:
        self._parts: Sequence[str | Placeholder] = tuple(_parse(source, parse_placeholder))
        placeholders = sum(not isinstance(part, str) for part in self._parts)
        if placeholders > PLACEHOLDERS_MAX:
            raise InvalidTemplate(f"has more than {PLACEHOLDERS_MAX} placeholders")
        # All placeholders share the cost limit of one expression.
        self._share = 1 / max(1, placeholders)

    def render(self, message: Mapping[str, Any]) -> str:
        return "".join(
            part if isinstance(part, str) else self._render_value(part, message)
            for part in self._parts
        )

    def estimate_us(self, message: Mapping[str, Any]) -> float:
        """The CPU time that it takes to render, in microseconds."""
        total = 0.0
        for part in self._parts:
            if not isinstance(part, str):
                with suppress(EvaluationError):  # then it is not evaluated
                    total += part.prepare(message, share=self._share).cost_us
        return total

    @property
    def compile_us(self) -> float:
        """The CPU time that it takes to compile what is not."""
        return sum(part.compile_us for part in self._parts if not isinstance(part, str))

    def _render_value(self, expression: "Placeholder", message: Mapping[str, Any]) -> str:
        try:
            return truncate(to_text(expression.evaluate(message, share=self._share)))
        except EvaluationError as error:
            return f"[? {truncate(str(error), ERROR_CHARACTERS_MAX)}]"
        except (ValueError, TypeError, RecursionError):
            return "[? cannot be encoded]"


class Texts:
    """Subject and body of one notification, validated when they were saved.

    Defaults where no template is given. Templates are compiled when they are needed.
    """

    def __init__(
        self, subject: str | None, body: str | None, share: CompiledShare | None = None
    ) -> None:
        self._sources = subject, body
        self._share = share
        self._parsed: tuple[Template | None, Template | None] | None = None
        self.error: str | None = None  # of a template that is not valid any more

    @property
    def compile_us(self) -> float:
        """The CPU time that it takes to compile what is not."""
        return sum(each.compile_us for each in self._parse() if each is not None)

    def estimate_us(self, message: Mapping[str, Any]) -> float:
        """The CPU time that the templates take once they are compiled, in microseconds."""
        return sum(each.estimate_us(message) for each in self._parse() if each is not None)

    def _parse(self) -> tuple[Template | None, Template | None]:
        if self._parsed is None:
            subject, body = (self._parse_one(source) for source in self._sources)
            self._parsed = subject, body
        return self._parsed

    def _parse_one(self, source: str | None) -> Template | None:
        if source is None:
            return None
        try:
            return Template(source, partial(StoredExpression, share=self._share))
        except InvalidTemplate as error:  # by the rules of today
            self.error = str(error)
            return None

    def fill(self, message: Mapping[str, Any]) -> FilledTexts:
        """What does not depend on who reads it, and is costly."""
        subject, body = self._parse()
        return (
            None if subject is None else subject.render(message),
            None if body is None else body.render(message),
        )

    def render(
        self, reason: str, message: Mapping[str, Any], language: str = DEFAULT_LANGUAGE
    ) -> tuple[str, str]:
        return complete_texts(self.fill(message), reason, message, language)


DEFAULT_TEXTS: FilledTexts = None, None


def complete_texts(
    filled: FilledTexts, reason: str, message: Mapping[str, Any], language: str
) -> tuple[str, str]:
    """Subject and body, with the default ones of a language where there is no template."""
    subject, body = filled
    if subject is None:
        subject = default_subject(reason, message)
    if body is None:
        body = default_body(reason, message, language)
    return to_one_line(subject), clean_text(body)


# Of an alert that is resolved, `message.state` was `over` before there were alarms.
_OLD_STATE = re.compile(
    r"""(?P<before>message\.state\s*[!=]=\s*)?(?P<quote>["'])over(?P=quote)"""
    r"""(?P<after>\s*[!=]=\s*message\.state)?"""
)


def replace_old_state(source: str | None) -> str | None:
    """A template that was written when a resolved alert was `over`, as it is meant now."""
    return None if source is None else _OLD_STATE.sub(_replace_old_state, source)


def _replace_old_state(found: re.Match[str]) -> str:
    before, quote, after = found["before"] or "", found["quote"], found["after"] or ""
    return f"{before}{quote}resolved{quote}{after}" if before or after else found[0]


def check(source: str) -> str | None:
    """Why the template is invalid; None if it is valid."""
    try:
        Template(source)
    except InvalidTemplate as error:
        return str(error)
    return None


# --- parsing ---


Placeholder = Expression | StoredExpression
ParsePlaceholder = Callable[[str], Placeholder]


def _parse(source: str, parse_placeholder: ParsePlaceholder) -> Iterator[str | Placeholder]:
    at = 0
    while (begin := source.find("{{", at)) >= 0:
        if begin > at:
            yield source[at:begin]
        end = _find_end(source, begin)
        try:
            yield parse_placeholder(source[begin + 2 : end])
        except InvalidExpression as error:
            line, column = _position(source, begin + 2)
            column = error.column + (column - 1 if error.line == 1 else 0)
            raise InvalidTemplate(
                f"line {line + error.line - 1}, column {column}: {error.reason}"
            ) from None
        at = end + 2
    if at < len(source):
        yield source[at:]


def _find_end(source: str, begin: int) -> int:
    """Where the placeholder ends; braces and quotes inside of it do not end it."""
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
    # An invalid expression: its parser reports the error, provided that there is an end.
    end = source.find("}}", begin + 2)
    if end >= 0:
        return end
    line, column = _position(source, begin)
    raise InvalidTemplate(f"line {line}, column {column}: this {{{{ has no }}}}")


def _position(source: str, at: int) -> tuple[int, int]:
    return source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at)
