"""What an expression may use, and readable errors for those that the `cel` package rejects."""

import re
from collections.abc import Collection, Sequence

from longwire.delivery.cel.lexer import (
    BRACKETS,
    CLOSING_BRACKETS,
    InvalidExpression,
    Token,
    invalid_at,
    text_at,
)
from longwire.delivery.cel.library import compile_expression

NESTING_LEVELS_MAX = 32

# Their number of arguments. Methods are called on a value: message.deviceName.contains("a").
FUNCTIONS = {
    "has": 1,
    "size": 1,
    "int": 1,
    "uint": 1,
    "double": 1,
    "string": 1,
    "bytes": 1,
    "timestamp": 1,
    "duration": 1,
    "type": 1,
    "dyn": 1,
}
METHODS = {
    "size": 0,
    "contains": 1,
    "startsWith": 1,
    "endsWith": 1,
    "matches": 1,
    "getFullYear": 0,
    "getMonth": 0,
    "getDayOfYear": 0,
    "getDayOfMonth": 0,
    "getDate": 0,
    "getDayOfWeek": 0,
    "getHours": 0,
    "getMinutes": 0,
    "getSeconds": 0,
    "getMilliseconds": 0,
}
LOOPS = frozenset({"all", "exists", "exists_one", "existsOne", "map", "filter"})
KEYWORDS = frozenset({"true", "false", "null", "in"})
# Names of types, to compare with: type(message.data) == string.
TYPE_NAMES = frozenset(
    {"int", "uint", "double", "string", "bytes", "bool", "list", "map", "null_type", "type"}
)

HAS_TAKES_A_FIELD = "has() takes a field, as in has(message.data)"
NESTED_TOO_DEEPLY = "nested too deeply"


def check_tokens(source: str, tokens: Sequence[Token], roots: Collection[str] = ()) -> None:
    """Reject names, functions and nesting that are not supported, whatever the syntax is.

    `roots` are names besides `message`.
    """
    depth = 0
    for index, token in enumerate(tokens):
        if token.kind == "name" and token.text not in KEYWORDS:
            _check_name(source, tokens, index, roots)
        elif token.text == "." and not _ends_value(tokens, index - 1):
            raise invalid_at(source, token.at, "unexpected '.'")
        elif token.text in BRACKETS:
            depth += 1
            if depth > NESTING_LEVELS_MAX:
                raise invalid_at(
                    source, token.at, f"nested deeper than {NESTING_LEVELS_MAX} levels"
                )
        elif token.text in CLOSING_BRACKETS:
            depth -= 1


def _check_name(source: str, tokens: Sequence[Token], index: int, roots: Collection[str]) -> None:
    name, at = tokens[index].text, tokens[index].at
    is_member = text_at(tokens, index - 1) == "."
    following = text_at(tokens, index + 1)
    if following == "{":
        raise invalid_at(source, tokens[index + 1].at, "unexpected '{'")
    if following == "(":
        _check_call(source, tokens, index, is_method=is_member)
    elif not is_member and name != "message" and name not in (*roots, *TYPE_NAMES):
        raise invalid_at(source, at, f"unknown name '{name}'; fields are written message.{name}")


def _check_call(source: str, tokens: Sequence[Token], index: int, *, is_method: bool) -> None:
    name, at = tokens[index].text, tokens[index].at
    known = METHODS if is_method else FUNCTIONS
    if name in LOOPS:
        raise invalid_at(source, at, f"{name}() is not available: expressions have no loops")
    if name not in known:
        kind = "method" if is_method else "function"
        raise invalid_at(
            source, at, f"unknown {kind} {name}(); known are {', '.join(sorted(known))}"
        )
    count = _count_arguments(tokens, index + 1)
    if count not in (None, known[name]):
        raise invalid_at(source, at, f"{name}() takes {known[name] or 'no'} argument, not {count}")


def _ends_value(tokens: Sequence[Token], index: int) -> bool:
    if index < 0:
        return False
    kind, text, _ = tokens[index]
    return text in CLOSING_BRACKETS if kind == "sign" else text != "in"


def _count_arguments(tokens: Sequence[Token], opening: int) -> int | None:
    """The arguments between these parentheses; None if they are not closed."""
    depth = commas = 0
    for index in range(opening, len(tokens)):
        text = text_at(tokens, index)
        if text in BRACKETS:
            depth += 1
        elif text in CLOSING_BRACKETS:
            depth -= 1
            if depth == 0:
                return 0 if index == opening + 1 else commas + 1
        elif text == "," and depth == 1:
            commas += 1
    return None


def check_syntax(source: str, tokens: Sequence[Token]) -> None:
    """Compile the expression as it was written, so that errors have the user's positions."""
    try:
        compile_expression(source)
    except ValueError as error:
        raise _syntax_error(source, tokens, str(error)) from None
    except BaseException as error:
        if not is_panic(error):
            raise
        raise invalid_at(source, 0, "invalid expression") from None


def is_panic(error: BaseException) -> bool:
    """A panic of the package is no Exception, and no reason to end the process either."""
    return type(error).__name__ == "PanicException"


COMPILER_ERROR = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
INVALID_LITERAL = re.compile(r"invalid (int|uint|double|string|bytes) literal")


def _syntax_error(source: str, tokens: Sequence[Token], output: str) -> InvalidExpression:
    # The package repeats the source first, which may look like one of its errors.
    errors = COMPILER_ERROR.findall(output.partition(f"'{source}': ")[2])
    if not errors:
        return invalid_at(source, 0, "invalid expression")
    syntax_errors = [error for error in errors if error[2].startswith("Syntax")]
    line, column, text = (syntax_errors or errors)[0]
    position = int(line), int(column)
    return InvalidExpression(_describe(source, tokens, position, text), *position)


def _describe(source: str, tokens: Sequence[Token], position: tuple[int, int], text: str) -> str:
    if "Recursion limit" in text:
        return NESTED_TOO_DEEPLY
    if "has() macro" in text:
        return HAS_TAKES_A_FIELD
    if literal := INVALID_LITERAL.search(text):
        return f"invalid {literal[1]}"
    if missing := re.search(r"missing ('.') at", text):
        return f"{missing[1]} is missing"
    for token in tokens:
        here = invalid_at(source, token.at, "")
        if (here.line, here.column) == position:
            return f"unexpected {token.text}"
    return "unexpected end of the expression"
