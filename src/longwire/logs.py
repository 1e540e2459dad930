"""How the service speaks to its operator: lines for people on a terminal, JSON for machines."""

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

SECRET_WORDS = ("secret", "password", "authorization", "token", "pac", "params")


def set_up(level: str, form: str, stream: TextIO | None = None) -> None:
    out = stream or sys.stderr
    is_human = form == "human" or (form == "auto" and out.isatty())
    number = getattr(logging, level.upper())
    last: list[Processor] = (
        # The rich form of a traceback would show the local variables, secrets among them.
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if is_human
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            hide_secrets,
            *last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )
    # What libraries log comes out in the same form.
    root = logging.getLogger()
    root.handlers = [_ToStructlog()]
    root.setLevel(max(number, logging.WARNING))


def hide_secrets(logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """The last line of defence: a value under a telling name never reaches the log."""
    for key in event:
        if any(word in key.lower() for word in SECRET_WORDS):
            event[key] = "***"
    return event


class _ToStructlog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        write = getattr(structlog.get_logger(record.name), record.levelname.lower(), None)
        if write is not None:
            write(record.getMessage(), logger=record.name, exc_info=record.exc_info)
