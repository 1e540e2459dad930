"""What the service logs goes into the trace of the run."""

import logging
import sys
import traceback
from collections.abc import Callable
from typing import Any

import structlog

from tests.simulation.loop import CURRENT

Sink = Callable[[str, str], None]
_sink: list[Sink] = []


def set_sink(sink: Sink) -> None:
    _sink[:] = [sink]


def capture(is_verbose: bool) -> None:
    """Have warnings and errors go to the sink, with tracebacks on stderr if it is verbose."""

    def process(logger: Any, method: str, event: Any) -> Any:
        process = CURRENT.get()
        if event.get("event") == "request" or (process is not None and process.is_dead):
            raise structlog.DropEvent  # an answer that its client notes; or the dead who are buried
        error = event.get("exc_info")
        if error is True:
            error = sys.exc_info()[1]
        text = str(event.get("event"))
        named = {key: event[key] for key in ("error", "task", "pool", "owner") if key in event}
        if isinstance(error, BaseException):
            named["exception"] = repr(error)
            if is_verbose:
                traceback.print_exception(error)
        if _sink:
            _sink[0](method, " ".join([text, *(f"{key}={value}" for key, value in named.items())]))
        raise structlog.DropEvent

    structlog.configure(
        processors=[process],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.getLogger().handlers = []
    logging.disable(logging.CRITICAL)
