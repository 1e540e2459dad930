"""Traces: what the layers know of them, whether or not anybody records any.

A trace is identified by `traceparent`, a header of W3C Trace Context. What records spans is
`otel`, which is loaded only if the operator wants traces: without a tracer nothing here is
called, and a span that nobody records is None.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

# Later versions may append parts, which are ignored; of this one there are none.
_VERSION = "00"
_NO_VERSION = "ff"
_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-~]*)?")
_SAMPLED = 0b01
_FLAGS = 0b11  # sampled, and that the trace id is random; others have no meaning yet

Attributes = Mapping[str, str | int]
# By the number of an arrival: the span that a message about it belongs to.
FindTraceparent = Callable[[int], str | None]


class TraceContext(NamedTuple):
    """A span of a trace, perhaps of somebody else."""

    trace_id: int
    span_id: int
    flags: int

    @property
    def is_sampled(self) -> bool:
        return bool(self.flags & _SAMPLED)


class Span(Protocol):
    """A span that is recorded."""

    @property
    def context(self) -> TraceContext:
        """What makes other spans its children."""

    @property
    def traceparent(self) -> str:
        """The same as a header."""

    def start_child(self, name: str, linked: "Sequence[Span]", attributes: Attributes) -> "Span":
        """A span within this one that is about others as well."""

    def end(self, attributes: Attributes, *, is_error: bool = False) -> None:
        """Never raises, and never waits."""


class Tracer(Protocol):
    """Starts spans; None for those that are not recorded."""

    def start_request(
        self, method: str, path: str | None, request_id: str, parent: TraceContext | None
    ) -> Span | None:
        """A request to this service; `path` is that of its route, if there is one."""

    def start_message(self, system: str) -> Span | None:
        """A message that somebody has published, such as by MQTT."""

    def start_step(self, name: str, attributes: Attributes) -> Span | None:
        """A transaction of something that no request waits for, such as a replay."""

    def start_attempt(
        self, kind: str, parents: Sequence[TraceContext], attributes: Attributes
    ) -> Span:
        """An attempt to deliver what these spans have stored."""


# Of the request or message that is handled; for code that does not get the request as an argument.
current_span: ContextVar[Span | None] = ContextVar("current_span", default=None)


@contextmanager
def step_span(
    tracer: Tracer | None, name: str, attributes: Attributes
) -> Iterator[FindTraceparent | None]:
    """The span of a step, from the first message that it makes; all of them belong to it."""
    if tracer is None:
        yield None
        return
    started: list[Span | None] = []

    def find_traceparent(arrival: int) -> str | None:
        if not started:
            started.append(tracer.start_step(name, attributes))
        return None if started[0] is None else started[0].traceparent

    is_error = True
    try:
        yield find_traceparent
        is_error = False
    finally:
        if started and started[0] is not None:
            started[0].end({}, is_error=is_error)


def parse_traceparent(text: str) -> TraceContext | None:
    """The span that a header names; None if it is not valid by the letter."""
    found = _TRACEPARENT.fullmatch(text)
    if found is None:
        return None
    version, trace_id, span_id, flags, more = found.groups()
    if version == _NO_VERSION or (version == _VERSION and more is not None):
        return None
    context = TraceContext(int(trace_id, 16), int(span_id, 16), int(flags, 16) & _FLAGS)
    return context if context.trace_id and context.span_id else None


def format_traceparent(context: TraceContext) -> str:
    return f"{_VERSION}-{context.trace_id:032x}-{context.span_id:016x}-{context.flags:02x}"
