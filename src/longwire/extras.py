"""The optional parts of an installation, by the names that pip knows them by.

What an extra brings is imported when it is first used. Whoever needs one that is missing gets a
reason that names it, never an import error.
"""

import functools
import importlib
import importlib.util
from typing import Any

from longwire.errors import OperatorError

# By the name of the extra: the module that shows whether it is installed.
EXTRAS = {
    "postgres": "psycopg",
    "kafka": "aiokafka",
    "amqp": "aiormq",
    "chat": "apprise",
    "geo": "shapely",
    "parquet": "pyarrow",
    "otel": "opentelemetry.exporter.otlp.proto.http",
}


@functools.cache
def is_installed(extra: str) -> bool:
    try:
        return importlib.util.find_spec(EXTRAS[extra]) is not None
    except ModuleNotFoundError:  # not even the package that it is in
        return False


def explain_missing(extra: str) -> str:
    """Why something cannot be used here, for tenants."""
    return f"needs longwire[{extra}], which the operator has not installed"


def require(extra: str) -> None:
    """Raise OperatorError if the extra is missing."""
    if not is_installed(extra):
        raise OperatorError(f"{EXTRAS[extra]} is missing: {how_to_install(extra)}.")


def how_to_install(extra: str) -> str:
    """For operators. No package index has longwire: whoever owned the name there could run code."""
    return f"pip install '.[{extra}]' in a clone of the project"


def load(extra: str, module: str) -> Any:
    """A module that needs the extra; raises OperatorError if it is missing."""
    require(extra)
    return importlib.import_module(module)
