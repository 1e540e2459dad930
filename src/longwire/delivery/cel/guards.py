"""Guards: conditions without which an expression cannot be true, found without evaluating it.

`message.kind == "event" && message.data.celsius > 8` is true only for events, and only above 8.
With such comparisons of a field and a constant, an index finds the few of many expressions that may
be true for a message.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from longwire.delivery.cel.lexer import BRACKETS, CLOSING_BRACKETS, Token, text_at
from longwire.delivery.cel.library import evaluate_constant
from longwire.delivery.cel.paths import Path, parse_path

Literal = str | bool | int | float
# Up to here, integers and decimal numbers compare alike in Python and in CEL.
EXACT_MAX = 2**53

COMPARISONS = frozenset(("==", "<", "<=", ">", ">="))


class Guard(NamedTuple):
    """Without `path operator literal` the expression is not true; `==` may have several."""

    path: Path
    operator: str
    literals: tuple[Literal, ...]


def find_guards(tokens: Sequence[Token]) -> tuple[Guard, ...]:
    return tuple(
        guard
        for conjunct in _split_conjuncts(tokens)
        if (guard := _parse_guard(conjunct)) is not None
    )


def kind_of(value: object) -> type | None:
    """What a value compares with: `str`, `bool` or `float` for any number; None for all else."""
    if isinstance(value, str):
        return str
    if isinstance(value, bool):
        return bool
    if isinstance(value, int | float) and abs(value) <= EXACT_MAX:
        return float
    return None


def _split_conjuncts(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """The parts that `&&` joins; none if anything binds weaker than that."""
    depth = start = 0
    parts = []
    is_enclosed = len(tokens) > 1 and text_at(tokens, 0) == "("
    for index in range(len(tokens)):
        text = text_at(tokens, index)
        if text in CLOSING_BRACKETS:
            depth -= 1
            is_enclosed = is_enclosed and (depth > 0 or index == len(tokens) - 1)
        elif text in BRACKETS:
            depth += 1
        elif depth == 0 and text in ("||", "?"):
            return
        elif depth == 0 and text == "&&":
            parts.append(tokens[start:index])
            start = index + 1
    if is_enclosed:
        yield from _split_conjuncts(tokens[1:-1])
    elif parts:
        for part in (*parts, tokens[start:]):
            yield from _split_conjuncts(part)
    else:
        yield tokens


def _parse_guard(tokens: Sequence[Token]) -> Guard | None:
    if text_at(tokens, 0) != "message":
        return None
    path, end = parse_path(tokens, 1)
    sign, rest = text_at(tokens, end), tokens[end + 1 :]
    if sign == "in" and text_at(rest, 0) == "[" and text_at(rest, len(rest) - 1) == "]":
        items = rest[1:-1]
        literals = [_parse_literal(items[index : index + 1]) for index in range(0, len(items), 2)]
        is_list = all(text_at(items, index) == "," for index in range(1, len(items), 2))
        return _build_guard(path, "==", literals) if is_list and literals else None
    if sign in COMPARISONS:
        return _build_guard(path, sign, [_parse_literal(rest)])
    return None


def _build_guard(path: Path, operator: str, literals: Sequence[Literal | None]) -> Guard | None:
    known = tuple(each for each in literals if each is not None)
    if len(known) < len(literals) or len({kind_of(each) for each in known}) != 1:
        return None
    if kind_of(known[0]) is None or (operator != "==" and kind_of(known[0]) is not float):
        return None
    return Guard(path, operator, known)


def _parse_literal(tokens: Sequence[Token]) -> Literal | None:
    sign, rest = ("-", tokens[1:]) if text_at(tokens, 0) == "-" else ("", tokens)
    if len(rest) != 1:
        return None
    token = rest[0]
    if token.text in ("true", "false"):
        return None if sign else token.text == "true"
    is_string = token.kind == "text" and not sign
    is_number = token.kind == "number" and token.text[-1] not in "uU"
    value = evaluate_constant(sign + token.text) if is_string or is_number else None
    return value if isinstance(value, str | int | float) else None
