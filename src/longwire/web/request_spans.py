"""The spans of requests, where the operator wants traces.

A request continues the trace of its caller, if there is a valid `traceparent`. Anybody may send
one: it is parsed by the letter, and nothing else of it is kept or passed on.
"""

from typing import TypeVar

import msgspec

from longwire.spans import Span, Tracer, parse_traceparent
from longwire.web.routing import NO_TOKEN, Request, Response, Route

S = TypeVar("S", bound=msgspec.Struct)

_TRACEPARENT = b"traceparent"


def start_span(tracer: Tracer, request: Request, route: Route | None) -> Span | None:
    """Start the span of a request, which ends with the response; pages and health have none."""
    if route is not None and route.method == "GET" and route.permission == NO_TOKEN:
        return None
    parent = None
    given = request.headers.get(_TRACEPARENT)
    if given is not None and _TRACEPARENT not in request.repeated_headers:
        parent = parse_traceparent(given.decode("latin-1"))
    path = route.path if route is not None else None
    request.span = tracer.start_request(request.method, path, request.request_id, parent)
    return request.span


def attach_span(tracer: Tracer, request: Request, route: Route, queued: S) -> S:
    """Start the span of a request that is queued, and have its queue know it."""
    return msgspec.structs.replace(queued, span=start_span(tracer, request, route))


def end_span(span: Span, response: Response) -> None:
    status = response.status
    span.end({"http.response.status_code": status}, is_error=status >= 500)
