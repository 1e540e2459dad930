"""The `cel` package, loaded for the first expression, without its command line.

Not every process evaluates expressions, and none uses that command line: a terminal toolkit and a
validation library, which take a fifth of the time that a process takes to start and much memory.
"""

import functools
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cel import Program

_COMMAND_LINE = "cel.cli"


def compile_expression(text: str) -> "Program":
    program: Program = _load().compile(text)
    return program


def evaluate_constant(text: str) -> Any:
    """The value of an expression without variables."""
    return _load().evaluate(text)


@functools.cache
def _load() -> Any:
    # The package imports this module, and finds an empty one.
    sys.modules.setdefault(_COMMAND_LINE, ModuleType(_COMMAND_LINE))
    return importlib.import_module("cel")
