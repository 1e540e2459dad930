"""From what an operation returns or raises to a response, and to a line in the log."""

from typing import Any

import msgspec
import structlog

from longwire.errors import LongwireError
from longwire.web import errors
from longwire.web.cookies import with_cookies
from longwire.web.routing import (
    Redirect,
    Request,
    Response,
    Route,
    Text,
    WithCookies,
)

_NO_REFERRER = (b"referrer-policy", b"no-referrer")

log = structlog.get_logger()


def build_response(request: Request, result: Any) -> Response:
    """The response to what an operation returns; mostly a reply, in JSON."""
    match result:
        case Redirect():
            headers = ((b"location", result.location.encode()), _NO_REFERRER)
            response = Response(302, b"", "text/plain", headers)
            return with_cookies(response, request, result.cookies)
        case WithCookies():
            response = Response(200, msgspec.json.encode(result.reply))
            return with_cookies(response, request, result.cookies)
        case Text():
            return Response(200, result.body, result.media_type)
        case _:
            return Response(200, msgspec.json.encode(result))


def build_error_response(error: Exception, request: Request, route: Route | None) -> Response:
    if not isinstance(error, LongwireError):
        log.error(
            "unexpected error", request_id=request.request_id, path=request.path, exc_info=error
        )
        error = errors.Internal()
    built = errors.build_error_response(
        error,
        request.request_id,
        route.field_locations if route is not None else None,
        not_found_is_bad_request=route is not None and route.not_found_is_bad_request,
    )
    return Response(built.status, built.body, errors.MEDIA_TYPE, built.headers)


def log_response(request: Request, response: Response, seconds: float, *, is_slow: bool) -> None:
    write = log.debug
    if response.status >= 500:
        write = log.error
    elif is_slow:
        write = log.warning
    write(
        "request",
        method=request.method,
        path=ascii(request.path)[1:-1],  # a line break in it must not begin a line of the log
        status=response.status,
        seconds=round(seconds, 4),
        address=request.address,
        request_id=request.request_id,
    )
