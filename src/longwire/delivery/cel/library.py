"""The `cel` package, loaded for the first expression.

It imports its own command line with a terminal toolkit, a fifth of the time a process takes to
start, and not every process evaluates expressions.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cel import Program


def compile_expression(text: str) -> "Program":
    program: Program = importlib.import_module("cel").compile(text)
    return program


def evaluate_constant(text: str) -> Any:
    """The value of an expression without variables."""
    return importlib.import_module("cel").evaluate(text)
