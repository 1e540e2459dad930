"""Logging: readable lines on a terminal, JSON elsewhere."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


@contextmanager
def _without(module: str) -> Iterator[None]:
    """While this lasts, the module seems not to be installed, unless it is loaded already."""
    sys.modules.setdefault(module, None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        if sys.modules[module] is None:
            del sys.modules[module]


# structlog would load rich, which is large, for tracebacks that we do not print in that way. This
# must be the first that imports it.
with _without("rich"):
    import structlog
    from structlog.typing import EventDict, Processor, WrappedLogger

SECRET_WORDS = ("secret", "password", "authorization", "token", "pac", "params")


def configure_logging(level: str, form: str, stream: TextIO | None = None) -> None:
    out = stream or sys.stderr
    is_human = form == "human" or (form == "auto" and out.isatty())
    number = getattr(logging, level.upper())
    renderers: list[Processor] = (
        # The rich traceback formatter would print local variables, including secrets.
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if is_human
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            redact_secrets,
            *renderers,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        # Each line is one write, so that those of several processes do not mix; in a pipe that is
        # full, lines of more than 4 KiB still can.
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    # Forward the standard library's logging, so that libraries log in the same format.
    root = logging.getLogger()
    root.handlers = [_StructlogHandler()]
    root.setLevel(max(number, logging.WARNING))


def redact_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Mask values whose key names a secret, as a last line of defence."""
    for key in event:
        if any(word in key.lower() for word in SECRET_WORDS):
            event[key] = "***"
    return event


class _StructlogHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        write = getattr(structlog.get_logger(record.name), record.levelname.lower(), None)
        if write is not None:
            write(record.getMessage(), logger=record.name, exc_info=record.exc_info)
