"""Lets pages of other origins use the API with a token (CORS), if the operator names them.

Never with cookies: there is no `Access-Control-Allow-Credentials`, and requests that have the
cookie of a session are refused when another origin caused them (`cookies`). Only operations
and the token endpoints take part: a page that somebody on the operator's network looks at must not
read what is there for that network alone, like health and metrics.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

from longwire.web.origins import ANY
from longwire.web.routing import Request, Response, Route

PREFLIGHT_AGE_S = 600

_REQUEST_HEADERS = b"authorization, content-type, last-event-id, traceparent, x-request-id"
_RESPONSE_HEADERS = b"content-disposition, longwire-ignored, retry-after, x-request-id"


class Cors:
    def __init__(self, origins: Collection[str]) -> None:
        self._allows_any = ANY in origins
        self._origins = frozenset(each.encode() for each in origins)

    def build_preflight(self, request: Request, methods: Mapping[str, Route]) -> Response | None:
        """The response to what a browser asks before a request; None if it is not allowed."""
        wanted = request.headers.get(b"access-control-request-method", b"").decode("latin-1")
        route = methods.get(wanted)
        if request.method != "OPTIONS" or not self._is_allowed(request) or not _takes_part(route):
            return None
        headers = (
            *self._build_headers(request),
            (b"access-control-allow-methods", ", ".join(sorted(methods)).encode()),
            (b"access-control-allow-headers", _REQUEST_HEADERS),
            (b"access-control-max-age", b"%d" % PREFLIGHT_AGE_S),
        )
        return Response(204, b"", headers=headers)

    def with_headers(self, request: Request, route: Route | None, response: Response) -> Response:
        """The response with what lets a page of an allowed origin read it."""
        if not _takes_part(route):
            return response
        own = self._build_headers(request) if self._is_allowed(request) else (_VARY,)
        return replace(response, headers=(*response.headers, *own))

    def _is_allowed(self, request: Request) -> bool:
        origin = request.headers.get(b"origin")
        if origin is None or b"origin" in request.repeated_headers:
            return False
        return self._allows_any or origin in self._origins

    def _build_headers(self, request: Request) -> tuple[tuple[bytes, bytes], ...]:
        return (
            (b"access-control-allow-origin", b"*" if self._allows_any else _origin_of(request)),
            (b"access-control-expose-headers", _RESPONSE_HEADERS),
            _VARY,
        )


_VARY = (b"vary", b"origin")


def _origin_of(request: Request) -> bytes:
    return request.headers[b"origin"]


def _takes_part(route: Route | None) -> bool:
    return route is not None and route.takes_cors
