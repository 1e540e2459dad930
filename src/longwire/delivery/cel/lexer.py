"""Tokens of CEL, and errors that name a line and a column."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

EXPRESSION_CHARACTERS_MAX = 4_096
EXPRESSION_TOKENS_MAX = 1_000

ESCAPED = r"(?:\\[\s\S]|[^\\])*?"
TOKEN = re.compile(
    rf"""
      (?P<blank> [ \t\r\n\f]+ | //[^\n]* )
    | (?P<bytes> [bB] (?= [rR]?["'] ) )?
      (?P<text>
          [rR] (?: \"""[\s\S]*?\""" | '''[\s\S]*?''' | "[^"\r\n]*" | '[^'\r\n]*' )
        | \"""{ESCAPED}\""" | '''{ESCAPED}'''
        | "(?:\\[^\r\n]|[^"\\\r\n])*" | '(?:\\[^\r\n]|[^'\\\r\n])*'
      )
    | (?P<number>
          0x[0-9a-fA-F]+[uU]?
        | (?: [0-9]+\.[0-9]+ | \.[0-9]+ ) (?: [eE][+-]?[0-9]+ )?
        | [0-9]+[eE][+-]?[0-9]+
        | [0-9]+[uU]?
      )
    | (?P<name> [A-Za-z_][A-Za-z0-9_]* )
    | (?P<sign> == | != | <= | >= | && | \|\| | [-+*/%!<>?:.,()\[\]{{}}] )
    """,
    re.VERBOSE,
)
BRACKETS = {"(": ")", "[": "]", "{": "}"}
CLOSING_BRACKETS = frozenset(BRACKETS.values())


class InvalidExpression(Exception):
    """An expression that cannot be used: why, and where."""

    def __init__(self, reason: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.line = line
        self.column = column


class Token(NamedTuple):
    kind: str
    text: str
    at: int


# Of a member of the message that stands for a name beside it: no field begins so.
ROOT_MARK = " "


def expand_roots(tokens: Sequence[Token], roots: Collection[str]) -> list[Token]:
    """Tokens in which a name besides `message` is a marked member of it: `values` for one."""
    expanded: list[Token] = []
    for index, token in enumerate(tokens):
        is_free = token.kind == "name" and text_at(tokens, index - 1) != "."
        if is_free and token.text in roots:
            expanded += (
                Token("name", "message", token.at),
                Token("sign", ".", token.at),
                Token("name", ROOT_MARK + token.text, token.at),
            )
        else:
            expanded.append(token)
    return expanded


def invalid_at(source: str, at: int, reason: str) -> InvalidExpression:
    begin = source.rfind("\n", 0, at) + 1
    return InvalidExpression(reason, source.count("\n", 0, at) + 1, at - begin + 1)


def tokenize(source: str) -> list[Token]:
    if len(source) > EXPRESSION_CHARACTERS_MAX:
        raise invalid_at(
            source,
            EXPRESSION_CHARACTERS_MAX,
            f"an expression has at most {EXPRESSION_CHARACTERS_MAX:,} characters",
        )
    tokens = _split(source)
    if not tokens:
        raise invalid_at(source, 0, "an expression is required")
    if len(tokens) > EXPRESSION_TOKENS_MAX:
        raise invalid_at(
            source,
            tokens[EXPRESSION_TOKENS_MAX].at,
            f"an expression has at most {EXPRESSION_TOKENS_MAX:,} tokens",
        )
    return tokens


def _split(source: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        found = TOKEN.match(source, at)
        if found is None:
            reason = "unterminated string" if source[at] in "\"'" else "unexpected character"
            raise invalid_at(source, at, reason)
        kind = found.lastgroup or ""
        if kind != "blank":
            tokens.append(Token("bytes" if found["bytes"] else kind, found[0], at))
        at = found.end()
    return tokens


def text_at(tokens: Sequence[Token], index: int) -> str:
    """The text of a token; empty outside of the expression, and for string literals."""
    if not 0 <= index < len(tokens) or tokens[index].kind in ("text", "bytes"):
        return ""
    return tokens[index].text
