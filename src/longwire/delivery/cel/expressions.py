"""CEL over a message: connector filters, custom bodies, and conditions of notifications.

The language is the Common Expression Language without loops, evaluated by the package `cel`. That
package converts all that it is given, copies what an expression touches, and holds the interpreter
lock meanwhile. So an expression is checked first, only the values that it names are handed over,
and their cost is estimated: an evaluation ends after some tens of milliseconds at worst.

Numbers compare across kinds (`21.0 == 21`), arithmetic does not mix them: `double(message.data.x)`
takes either. `matches` searches for an RE2 pattern anywhere in the text; no pattern backtracks.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from longwire.changes import Change
from longwire.delivery.cel.checks import (
    HAS_TAKES_A_FIELD,
    NESTED_TOO_DEEPLY,
    check_syntax,
    check_tokens,
    is_panic,
)
from longwire.delivery.cel.conditions import find_conditions
from longwire.delivery.cel.cost import estimate_cost
from longwire.delivery.cel.guards import find_guards
from longwire.delivery.cel.lexer import ROOT_MARK, expand_roots, invalid_at, tokenize
from longwire.delivery.cel.library import compile_expression
from longwire.delivery.cel.paths import container_type
from longwire.delivery.cel.rewriting import Rewriter
from longwire.measurements.values import read_data, values_of
from longwire.records import Record, get_decoded_names, to_members

TOO_LARGE = "the record is too large for this expression"
NOT_EVALUABLE = "it cannot be evaluated"
# The values of a record, whoever decoded them: `message.values.celsius`.
VALUES = "values"


class EvaluationError(Exception):
    """This expression has no value for this message; the text says why."""


class Expression:
    """A checked expression; it can be evaluated any number of times, in any thread."""

    compile_us = guards_us = 0.0  # see StoredExpression

    def __init__(
        self, source: str, *, is_filter: bool = False, roots: Collection[str] = ()
    ) -> None:
        """In a filter, a condition on a field that is missing is false; else that is an error.

        `roots` are names besides `message`; their values are members of it, see `name_root`.
        """
        tokens = tokenize(source)
        check_tokens(source, tokens, roots)
        check_syntax(source, tokens)
        tokens = expand_roots(tokens, roots)
        rewriter = Rewriter(source, tokens, find_conditions(tokens) if is_filter else ())
        self.source = source
        self.token_count = len(tokens)
        self.guards = find_guards(tokens)
        self._references = tuple(rewriter.references.values())
        self._patterns = rewriter.patterns
        self._missing = rewriter.missing
        self._is_filter = is_filter
        self._concatenations = sum(token.text == "+" for token in tokens)
        try:
            self._program = compile_expression(rewriter.text)
        except Exception:
            # The one place where a variable cannot replace `message.a`: has((message.a)). Else it
            # compares the results of comparisons, and those of these, on two dozen levels.
            at = next((token.at for token in tokens if token.text == "has"), None)
            reason = NESTED_TOO_DEEPLY if at is None else HAS_TAKES_A_FIELD
            raise invalid_at(source, at or 0, reason) from None

    def evaluate(self, message: Mapping[str, Any], *, share: float = 1.0) -> Any:
        """The value for this message, as plain Python; `EvaluationError` when there is none.

        `share` is the part of one expression's work limit that this one may use.
        """
        return self.prepare(message, share=share).evaluate()

    def matches(self, message: Mapping[str, Any]) -> bool:
        """Whether the expression is true; `EvaluationError` when it is neither true nor false."""
        return self.prepare(message).matches()

    def prepare(self, message: Mapping[str, Any], *, share: float = 1.0) -> "PreparedExpression":
        """The expression with the values of this message, and what it costs to evaluate it."""
        root = message if isinstance(message, dict) else dict(message)
        values: dict[str, Any] = {}
        for reference in self._references:
            try:
                values[reference.variable] = reference.resolve(root)
            except LookupError:
                # No error yet: it may never be reached.
                if reference.is_presence_test and self._is_filter:
                    values[reference.variable] = False
        for each in self._missing:
            values[each.variable] = not all(needed in values for needed in each.needed)
        cost = estimate_cost(
            values, self._references, self._patterns, len(self.source), self._concatenations
        )
        if cost.exceeds(share):
            raise EvaluationError(TOO_LARGE)
        variables = len(self._references) + len(self._missing)
        cost_us = cost.estimate_us(variables, self._patterns)
        return PreparedExpression(self, root, values, cost_us)

    def execute(self, values: dict[str, Any], root: dict[str, Any]) -> Any:
        try:
            return self._program.execute(values)
        except Exception as error:
            raise EvaluationError(self._describe(error, root)) from None
        except BaseException as error:
            if not is_panic(error):
                raise
            raise EvaluationError(NOT_EVALUABLE) from None

    def _describe(self, error: Exception, message: dict[str, Any]) -> str:
        for pattern, text in REASONS.get(type(error), ()):
            if found := re.match(pattern, str(error)):
                parts = found.groupdict()
                if "variable" in parts:
                    return self._describe_missing(parts["variable"], message)
                return text.format_map(parts).replace("float", "double")
        return NOT_EVALUABLE

    def find_missing_field(self, values: Mapping[str, Any]) -> str | None:
        """The first field without which a condition is false."""
        needed = {variable for each in self._missing for variable in each.needed}
        for each in self._references:
            if each.variable in needed and each.variable not in values:
                return _path_text(each.path)
        return None

    def _describe_missing(self, variable: str, message: dict[str, Any]) -> str:
        reference = next(each for each in self._references if each.variable == variable)
        path = reference.path
        value: Any = message
        for length, step in enumerate(path):
            parent, missing = _path_text(path[:length]), _path_text(path[: length + 1])
            if not isinstance(value, container_type(step)):
                return f"there is no {missing}: {parent} is {_kind(value)}"
            try:
                value = value[step]
            except LookupError:
                break
        return f"there is no {missing}"


class PreparedExpression(NamedTuple):
    """An expression, and the values of one message that it needs."""

    expression: Expression
    root: dict[str, Any]
    values: dict[str, Any]
    cost_us: float  # estimated CPU time

    def evaluate(self) -> Any:
        return self.expression.execute(self.values, self.root)

    def find_missing_field(self) -> str | None:
        """A field without which a condition of the filter is false for this message."""
        return self.expression.find_missing_field(self.values)

    def matches(self) -> bool:
        value = self.evaluate()
        if isinstance(value, bool):
            return value
        raise EvaluationError(f"the filter returns {_kind(value)}, not true or false")


def build_cel_message(record: Record | Change, context: Mapping[str, Any]) -> dict[str, Any]:
    """What expressions see of a record: its fields, its kind, and its device when it was stored.

    `context` has deviceName, deviceType and tags. `values` are its values, whoever decoded them.
    A change has its own fields instead.
    """
    if not isinstance(record, Record):
        return {**context, **msgspec.to_builtins(record), "kind": record.kind.label}
    message = CelMessage(record, {**context, **to_members(record), "kind": record.kind.label})
    if record.data is not None:
        # Data that is no JSON, or nested too deeply, stays a string.
        with suppress(ValueError, RecursionError):
            data = msgspec.json.decode(record.data)
            message["data"] = read_data(record.kind, data, get_decoded_names(record))
    return message


class CelMessage(dict[str, Any]):
    """The members of a message, and its values, which are no member: `message` has them once."""

    __slots__ = ("_record",)

    def __init__(self, record: Record, members: Mapping[str, Any]) -> None:
        super().__init__(members)
        self._record = record

    def __missing__(self, name: str) -> Any:
        if name != VALUES:
            raise KeyError(name)
        record = self._record
        return values_of(record.kind, self.get("data"), get_decoded_names(record))

    def __contains__(self, name: object) -> bool:
        return name == VALUES or super().__contains__(name)


def name_root(name: str) -> str:
    """As which member of the message an expression finds what is beside it."""
    return ROOT_MARK + name


def _path_text(path: Sequence[str | int]) -> str:
    root = "message"
    if path and isinstance(path[0], str) and path[0].startswith(ROOT_MARK):
        root, path = path[0].removeprefix(ROOT_MARK), path[1:]
    return root + "".join(
        f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]"
        for step in path
    )


# Reasons for the package's errors; never with a value of the record in them.

CONVERT = "convert with int(), double() or string()"
REASONS: Mapping[type[Exception], Sequence[tuple[str, str]]] = {
    KeyError: [(r"", "there is no such key")],
    IndexError: [(r"", "there is no such element")],
    ZeroDivisionError: [(r"", "division by zero")],
    OverflowError: [(r"", "a number is out of range")],
    TypeError: [
        (
            r"Unsupported operation: (?P<left>\w+) (?P<sign>.) (?P<right>\w+)\.",
            "{left} {sign} {right} is not defined; " + CONVERT,
        ),
        (r"", "the types of these values do not match; " + CONVERT),
    ],
    RuntimeError: [
        (r"Undefined variable or function: '(?P<variable>v\d+)'", ""),
        (r"Function '(?P<function>\w+)' error", "{function}() does not accept this value"),
    ],
}
KIND_NAMES: Sequence[tuple[type | tuple[type, ...], str]] = (
    (bool, "a boolean"),
    ((int, float), "a number"),
    (str, "a string"),
    (list, "a list"),
    (dict, "an object"),
    (bytes, "bytes"),
    (datetime, "a timestamp"),
    (timedelta, "a duration"),
)


def _kind(value: Any) -> str:
    return next((name for kind, name in KIND_NAMES if isinstance(value, kind)), "null")
