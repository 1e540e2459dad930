"""Conditions: the parts of a filter that are false for a message without a field that they name.

`message.data.celsius > 8` says nothing about a record without `celsius`, and such records are
usual: one connector sees events, positions and the data of several types. So a comparison is false
where a field that it names is missing, and so are `contains`, `startsWith`, `endsWith`, `matches`,
and a field that stands for true or false. `message.data.celsius == null` is true there: it asks for
that.

Found by parsing the tokens, which the `cel` package has accepted.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from longwire.delivery.cel.lexer import BRACKETS, CLOSING_BRACKETS, Token, text_at
from longwire.delivery.cel.paths import parse_path

RELATIONS = frozenset(("==", "!=", "<", "<=", ">", ">=", "in"))
ARITHMETIC = frozenset("+-*/%")
PREDICATES = frozenset(("contains", "startsWith", "endsWith", "matches"))


class Condition(NamedTuple):
    """The tokens from `begin` to before `end`."""

    begin: int
    end: int
    references: tuple[int, ...]  # tokens at which the fields begin that it needs
    otherwise: bool  # its value where one of these fields is missing


def find_conditions(tokens: Sequence[Token]) -> list[Condition]:
    parser = _Parser(tokens)
    parser.parse_condition(parser.parse_expression)
    return parser.conditions


class _Parser:
    """Each method parses a part, and returns the fields that it needs beyond its own conditions.

    That is none of those that an evaluation may not reach: the sides of `||` and `&&` are
    conditions of their own, and the branches of `?` have to do without.
    """

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.conditions: list[Condition] = []
        self._tokens = tokens
        self._at = 0

    def parse_condition(self, parse: Callable[[], list[int]]) -> None:
        """A part that is true or false."""
        begin = self._at
        self._add(begin, parse())

    def _add(self, begin: int, references: Sequence[int], *, otherwise: bool = False) -> None:
        if references:
            self.conditions.append(Condition(begin, self._at, tuple(references), otherwise))

    def parse_expression(self) -> list[int]:
        begin = self._at
        references = self._parse_disjunction()
        while self._text == "?":
            self._add(begin, references)
            self._at += 1
            self._parse_disjunction()
            self._at += 1  # the colon
            begin, references = self._at, []
            self._parse_disjunction()
        return references

    def _parse_disjunction(self) -> list[int]:
        return self._parse_operands("||", self._parse_conjunction)

    def _parse_conjunction(self) -> list[int]:
        return self._parse_operands("&&", self._parse_relation)

    def _parse_operands(self, sign: str, parse: Callable[[], list[int]]) -> list[int]:
        begin = self._at
        references = parse()
        while self._text == sign:
            self._add(begin, references)
            self._at += 1
            begin, references = self._at, []
            self.parse_condition(parse)
        return references

    def _parse_relation(self) -> list[int]:
        begin = self._at
        references = self._parse_sum()
        while self._text in RELATIONS:
            sign, middle = self._text, self._at
            self._at += 1
            references += self._parse_sum()
            is_null_test = sign == "==" and self._is_null_test(begin, middle)
            self._add(begin, references, otherwise=is_null_test)
            references = []
        return references

    def _is_null_test(self, begin: int, middle: int) -> bool:
        """Whether a field and null are compared."""
        sides = ((begin, middle), (middle + 1, self._at))
        return any(
            end - start == 1 and text_at(self._tokens, start) == "null" and self._is_field(*other)
            for (start, end), other in (sides, sides[::-1])
        )

    def _is_field(self, begin: int, end: int) -> bool:
        is_reference = text_at(self._tokens, begin) == "message"
        return is_reference and parse_path(self._tokens, begin + 1)[1] == end

    def _parse_sum(self) -> list[int]:
        references = self._parse_unary()
        while self._text in ARITHMETIC:
            self._at += 1
            references += self._parse_unary()
        return references

    def _parse_unary(self) -> list[int]:
        is_negated = self._text == "!"
        while self._text in ("!", "-"):
            self._at += 1
        if is_negated:
            self.parse_condition(self._parse_member)
            return []
        return self._parse_member()

    def _parse_member(self) -> list[int]:
        begin = self._at
        references = self._parse_primary()
        while self._text in (".", "["):
            if self._text == "[":
                references += self._parse_brackets()
                continue
            name = text_at(self._tokens, self._at + 1)
            self._at += 2
            if self._text == "(":
                references += self._parse_brackets()
            if name in PREDICATES:
                self._add(begin, references)
                references = []
        return references

    def _parse_primary(self) -> list[int]:
        begin = self._at
        if self._text in BRACKETS:
            return self._parse_brackets()
        is_name = self._tokens[begin].kind == "name"
        if is_name and self._text == "message":
            self._at = parse_path(self._tokens, begin + 1)[1]
            return [begin]
        self._at += 1
        if is_name and self._text == "(":
            references = self._parse_brackets()
            is_presence_test = self._tokens[begin].text == "has"
            if not is_presence_test or not self._is_field(begin + 2, self._at - 1):
                return references
        return []

    def _parse_brackets(self) -> list[int]:
        """Arguments, an index, or the items of a list or an object."""
        references: list[int] = []
        self._at += 1
        while self._text not in CLOSING_BRACKETS:
            references += self.parse_expression()
            if self._text in (",", ":"):
                self._at += 1
        self._at += 1
        return references

    @property
    def _text(self) -> str:
        return text_at(self._tokens, self._at)
