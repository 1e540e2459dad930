"""Why the server rejects what never becomes a request."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a connection or request is rejected."""

    status: int
    code: str
    detail: str


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
