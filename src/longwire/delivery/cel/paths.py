"""Paths into a message: `message.data.temp`, `message["tags"][0]`."""

from collections.abc import Sequence
from typing import Any

from longwire.delivery.cel.lexer import Token, text_at
from longwire.delivery.cel.library import evaluate_constant

Path = tuple[str | int, ...]


def parse_path(tokens: Sequence[Token], index: int) -> tuple[Path, int]:
    """The members and constant indices from this token on, and the index of the token behind."""
    path: list[str | int] = []
    while (step := _parse_step(tokens, index)) is not None:
        path.append(step[0])
        index = step[1]
    return tuple(path), index


def _parse_step(tokens: Sequence[Token], index: int) -> tuple[str | int, int] | None:
    sign = text_at(tokens, index)
    if sign == "." and text_at(tokens, index + 2) != "(":
        return tokens[index + 1].text, index + 2
    if sign == "[" and text_at(tokens, index + 2) == "]":
        kind, text, _ = tokens[index + 1]
        if kind == "text":
            return evaluate_constant(text), index + 3
        if kind == "number" and text.isdecimal():
            return int(text), index + 3
    return None


def resolve_path(value: Any, path: Sequence[str | int]) -> Any:
    """The value at a path; LookupError when there is none."""
    for step in path:
        # Only what CEL can index as well: "abc"[0] is an error there.
        if not isinstance(value, container_type(step)):
            raise LookupError
        value = value[step]
    return value


def container_type(step: str | int) -> Any:
    return dict if isinstance(step, str) else list
