"""Spans, recorded by the SDK of OpenTelemetry.

Attributes follow its semantic conventions where there is one. They have no query strings, bodies,
addresses or names: a trace is read by people who may not read the records.
"""

from collections.abc import Sequence
from secrets import SystemRandom

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, Status, StatusCode
from opentelemetry.trace import Span as SdkSpan
from opentelemetry.trace import Tracer as SdkTracer
from opentelemetry.util.types import AttributeValue

from longwire.spans import Attributes, Span, TraceContext, format_traceparent

# The part of a trace id that decides, as in the SDK and where it is used elsewhere.
_TRACE_ID_PART = 2**64 - 1
_NO_PARENT = Context()
_RANDOM = SystemRandom()
_ERROR = Status(StatusCode.ERROR)


class RecordedSpan:
    """See `spans.Span`."""

    __slots__ = ("_span", "_tracer")

    def __init__(self, tracer: SdkTracer, span: SdkSpan) -> None:
        self._tracer = tracer
        self._span = span

    @property
    def context(self) -> TraceContext:
        context = self._span.get_span_context()
        return TraceContext(context.trace_id, context.span_id, int(context.trace_flags))

    @property
    def traceparent(self) -> str:
        return format_traceparent(self.context)

    def start_child(
        self, name: str, linked: Sequence[Span], attributes: Attributes
    ) -> "RecordedSpan":
        span = self._tracer.start_span(
            name,
            trace.set_span_in_context(self._span, _NO_PARENT),
            attributes=_to_sdk(attributes),
            links=[Link(_to_span_context(each.context, is_remote=False)) for each in linked],
        )
        return RecordedSpan(self._tracer, span)

    def end(self, attributes: Attributes, *, is_error: bool = False) -> None:
        self._span.set_attributes(_to_sdk(attributes))
        if is_error:
            self._span.set_status(_ERROR)
        self._span.end()


class SpanTracer:
    """See `spans.Tracer`.

    Which requests are recorded is decided here: a sampler of the SDK is asked after most of what a
    span costs.
    """

    def __init__(self, tracer: SdkTracer, sample_ratio: float) -> None:
        """`tracer` records everything that it is given."""
        self._tracer = tracer
        self._sample_ratio = sample_ratio
        self._trace_id_bound = round(sample_ratio * (_TRACE_ID_PART + 1))

    def start_request(
        self, method: str, path: str | None, request_id: str, parent: TraceContext | None
    ) -> RecordedSpan | None:
        if not self._is_sampled(parent):
            return None
        attributes = {"http.request.method": method, "longwire.request_id": request_id}
        if path is not None:
            attributes["http.route"] = path
        span = self._tracer.start_span(
            method if path is None else f"{method} {path}",
            _NO_PARENT if parent is None else _as_parent(parent, is_remote=True),
            SpanKind.SERVER,
            _to_sdk(attributes),
        )
        return RecordedSpan(self._tracer, span)

    def start_message(self, system: str) -> RecordedSpan | None:
        attributes = {"messaging.system": system, "messaging.operation.type": "process"}
        return self._start_root(f"process {system}", SpanKind.CONSUMER, attributes)

    def start_step(self, name: str, attributes: Attributes) -> RecordedSpan | None:
        return self._start_root(name, SpanKind.INTERNAL, attributes)

    def _start_root(self, name: str, kind: SpanKind, attributes: Attributes) -> RecordedSpan | None:
        if not self._is_sampled(None):
            return None
        span = self._tracer.start_span(name, _NO_PARENT, kind, _to_sdk(attributes))
        return RecordedSpan(self._tracer, span)

    def _is_sampled(self, parent: TraceContext | None) -> bool:
        """A caller that does not sample is followed; one that does gets no more than the ratio."""
        if parent is None:
            return _RANDOM.random() < self._sample_ratio
        return parent.is_sampled and parent.trace_id & _TRACE_ID_PART < self._trace_id_bound

    def start_attempt(
        self, kind: str, parents: Sequence[TraceContext], attributes: Attributes
    ) -> RecordedSpan:
        """A child of the first one, and linked with the others.

        Their requests were sampled, by this process or another: that decision holds.
        """
        first, *others = parents
        span = self._tracer.start_span(
            f"deliver {kind}",
            _as_parent(first, is_remote=False),
            SpanKind.CLIENT,
            _to_sdk(attributes),
            links=[Link(_to_span_context(each, is_remote=False)) for each in others],
        )
        return RecordedSpan(self._tracer, span)


def _as_parent(context: TraceContext, *, is_remote: bool) -> Context:
    span = NonRecordingSpan(_to_span_context(context, is_remote=is_remote))
    return trace.set_span_in_context(span, _NO_PARENT)


def _to_span_context(context: TraceContext, *, is_remote: bool) -> SpanContext:
    flags = trace.TraceFlags(context.flags)
    return SpanContext(context.trace_id, context.span_id, is_remote, flags)


def _to_sdk(attributes: Attributes) -> dict[str, AttributeValue]:
    return dict(attributes)
