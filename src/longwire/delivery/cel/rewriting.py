"""The expression as the `cel` package gets it: a variable in place of each value of the message.

The package converts every value that it is given. With `v0` in place of `message.data.temp` it is
given that one value, not the message. A condition of a filter becomes `(m0 ? false : (v0 > 8))`,
where `m0` says that a field which it needs is missing.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from longwire.dataclass import dataclass
from longwire.delivery.cel.conditions import Condition
from longwire.delivery.cel.lexer import Token, invalid_at, text_at
from longwire.delivery.cel.library import evaluate_constant
from longwire.delivery.cel.paths import Path, parse_path, resolve_path
from longwire.delivery.cel.patterns import PATTERN_STATES_MAX, InvalidPattern, translate_pattern


@dataclass(slots=True)
class FieldReference:
    """A value that the expression names: `message.data.temp`, or has(message.data.temp)."""

    variable: str
    path: Path
    is_presence_test: bool
    uses: int = 0

    def resolve(self, message: dict[str, Any]) -> Any:
        """Its value; LookupError when the message has none."""
        if not self.is_presence_test:
            return resolve_path(message, self.path)
        value = resolve_path(message, self.path[:-1])
        if not isinstance(value, dict):
            raise LookupError
        return self.path[-1] in value


class PatternUse(NamedTuple):
    variable: str | None  # the searched value, if that is a field reference
    states: int


class MissingFields(NamedTuple):
    """The variable that is true if one of some fields is missing."""

    variable: str
    needed: tuple[str, ...]  # the variables of these fields


class Rewriter:
    """Rewrites an expression; its results are attributes."""

    def __init__(
        self, source: str, tokens: Sequence[Token], conditions: Sequence[Condition] = ()
    ) -> None:
        self.references: dict[tuple[bool, Path], FieldReference] = {}
        self.patterns: list[PatternUse] = []
        self._source = source
        self._tokens = tokens
        # The outermost of those that begin together comes first.
        self._conditions = sorted(conditions, key=lambda each: -each.end)
        self._variables: dict[int, str] = {}  # of the field that begins at a token
        self.text = " ".join(self._rewrite())
        self.missing = [
            MissingFields(f"m{number}", tuple(self._variables[at] for at in each.references))
            for number, each in enumerate(self._conditions)
        ]
        if sum(pattern.states for pattern in self.patterns) > PATTERN_STATES_MAX:
            at = next(token.at for token in tokens if token.text == "matches")
            raise invalid_at(source, at, "the patterns of this expression are too large")

    def _rewrite(self) -> Iterator[str]:
        begins: dict[int, list[str]] = defaultdict(list)
        for number, condition in enumerate(self._conditions):
            value = "true" if condition.otherwise else "false"
            begins[condition.begin].append(f"(m{number} ? {value} : (")
        ends = Counter(condition.end for condition in self._conditions)
        index = 0
        last_variable: str | None = None
        while index < len(self._tokens):
            yield "))" * ends[index]
            yield from begins[index]
            name = self._free_name(index)
            if name in ("has", "message"):
                is_test = name == "has"
                variable, end = self._reference(index + 2 if is_test else index, is_test)
                if variable is not None:
                    self._variables[index] = variable
                    last_variable, index = variable, end
                    yield variable
                    continue
            elif name == "duration":
                self.patterns.append(PatternUse(None, 1))  # about as slow to parse as a pattern
            elif self._is_call(index, "matches"):
                yield from ("matches", "(", self._pattern(index + 2, last_variable))
                index += 3
                last_variable = None
                continue
            if self._tokens[index].text != ".":
                last_variable = None
            yield self._tokens[index].text
            index += 1
        yield "))" * ends[index]

    def _free_name(self, index: int) -> str:
        token = self._tokens[index]
        is_free = token.kind == "name" and text_at(self._tokens, index - 1) != "."
        return token.text if is_free else ""

    def _is_call(self, index: int, name: str) -> bool:
        return text_at(self._tokens, index) == name and text_at(self._tokens, index + 1) == "("

    def _reference(self, begin: int, is_test: bool) -> tuple[str | None, int]:
        """The variable for the reference at this token, and the index of the token behind it."""
        if begin >= len(self._tokens) or self._free_name(begin) != "message":
            return None, begin
        path, end = parse_path(self._tokens, begin + 1)
        if is_test:
            is_field = text_at(self._tokens, end - 2) == "." and text_at(self._tokens, end) == ")"
            if not is_field:
                return None, begin
            end += 1
        reference = self.references.setdefault(
            (is_test, path), FieldReference(f"v{len(self.references)}", path, is_test)
        )
        reference.uses += 1
        return reference.variable, end

    def _pattern(self, index: int, variable: str | None) -> str:
        token = self._tokens[index]
        if token.kind != "text" or text_at(self._tokens, index + 1) != ")":
            raise invalid_at(self._source, token.at, "a pattern must be a string literal")
        try:
            pattern = translate_pattern(evaluate_constant(token.text))
            literal = _to_literal(pattern.text)
            if pattern.states <= PATTERN_STATES_MAX:
                evaluate_constant(f'"".matches({literal})')
        except InvalidPattern as error:
            raise invalid_at(self._source, token.at, f"invalid pattern: {error}") from None
        except Exception as error:
            cause = re.search(r"error: ([^.\n]*)\. Check", str(error))
            reason = f"invalid pattern: {cause[1]}" if cause else "invalid pattern"
            raise invalid_at(self._source, token.at, reason) from None
        self.patterns.append(PatternUse(variable, pattern.states))
        return literal


def _to_literal(text: str) -> str:
    escaped = (c if c.isascii() and c.isalnum() else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(escaped)}"'
