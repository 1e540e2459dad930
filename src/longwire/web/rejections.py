"""Why the server rejects what never becomes a request."""

from collections.abc import Iterable

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from longwire.dataclass import dataclass
from longwire.web.asgi import Header
from longwire.web.request_cycle import encode_fields


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a connection or request is rejected."""

    status: int
    code: str
    detail: str

    def encode(self, body: bytes, request_id: str, default_fields: Iterable[Header]) -> bytes:
        """The whole response, after which the connection is closed."""
        fields = [
            *default_fields,
            (b"content-type", b"application/problem+json"),
            (b"content-length", b"%d" % len(body)),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        return b"%s%s\r\n%s" % (STATUS_LINE[self.status], encode_fields(fields), body)


INVALID = Rejection(400, "malformed_request", "This is not a valid HTTP/1.1 request.")
TIMED_OUT = Rejection(408, "request_timeout", "The request did not arrive in time.")
HEAD_TOO_LARGE = Rejection(
    431, "head_too_large", "The header fields take more room than is allowed."
)
UNKNOWN_VERSION = Rejection(400, INVALID.code, "This is neither HTTP/1.0 nor HTTP/1.1.")
HOST_MISSING = Rejection(
    400, INVALID.code, "An HTTP/1.1 request has exactly one header field Host."
)
UNKNOWN_CODING = Rejection(
    400, INVALID.code, "The only transfer encoding that is understood is chunked."
)
BUSY = Rejection(503, "too_many_connections", "No more connections are accepted at the moment.")
PIPELINE_FULL = Rejection(503, "pipeline_full", "Too many pipelined requests.")
