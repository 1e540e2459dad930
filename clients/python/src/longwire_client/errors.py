"""What can go wrong, as exceptions that say what to do next.

Two questions matter to whoever catches one: can the request succeed later (`is_temporary`), and may
it have been carried out although there was no answer (`may_have_happened`)? The client answers both
for itself when it decides about a retry.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

import msgspec

PROBLEM = "application/problem+json"
# The code of errors that a proxy has made.
NOT_FROM_THE_SERVICE = "not_from_the_service"


@dataclass(frozen=True, slots=True)
class Fault:
    """One invalid field of a request."""

    location: str  # body, query, or header
    field: str  # as in the request: `name`, `tags[3]`, `items[3].timestamp`
    message: str

    def __str__(self) -> str:
        return f"{self.field} {self.message}" if self.field else self.message


class LongwireError(Exception):
    """The base of every error of this package."""

    is_temporary: ClassVar[bool] = False
    may_have_happened: ClassVar[bool] = False


class ConnectionFailed(LongwireError):
    """The service could not be reached; the request was not sent."""

    is_temporary = True


class ResponseLost(LongwireError):
    """The request was sent, but its response did not arrive: it may have been carried out."""

    is_temporary = True
    may_have_happened = True


class InvalidResponse(LongwireError):
    """A success whose body is not what the API describes; the service may be much newer."""

    may_have_happened = True


class ApiError(LongwireError):
    """The service refused the request, or failed."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        faults: tuple[Fault, ...] = (),
        request_id: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(status, code, detail, faults, request_id, retry_after_s)
        self.status = status
        self.code = code
        self.detail = detail
        self.faults = faults
        self.request_id = request_id
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        request = f" (request {self.request_id})" if self.request_id else ""
        return f"{self.status} {self.code}: {self.detail}{request}"


class BadInput(ApiError):
    """A field or parameter is invalid: `faults` names every one."""


class NotAuthenticated(ApiError):
    """The token or the client is unknown, revoked or expired."""


class NotAllowed(ApiError):
    """The object is visible, but the permission is missing."""


class NotFound(ApiError):
    """There is no such object, or the caller may not see it."""


class Conflict(ApiError):
    """It conflicts with the current state."""


class ChangedMeanwhile(Conflict):
    """The object was changed after `if_updated_at`; nothing was changed."""


class LimitReached(Conflict):
    """A limit of the operator is reached."""


class TooLarge(ApiError):
    """The body, or the head, is too large."""


class TooManyRequests(ApiError):
    """A rate limit; `retry_after_s` says when to try again."""

    is_temporary = True


class Unavailable(ApiError):
    """The service cannot do it now; nothing was changed."""

    is_temporary = True


class OutcomeUnknown(ApiError):
    """The service, or a proxy before it, failed midway: it may have been carried out."""

    is_temporary = True
    may_have_happened = True


class ServerFailed(ApiError):
    """An internal error; report the `request_id` to the operator."""

    may_have_happened = True


_BY_CODE: Mapping[str, type[ApiError]] = {
    "changed_meanwhile": ChangedMeanwhile,
    "limit_reached": LimitReached,
    "outcome_unknown": OutcomeUnknown,
    "request_timeout": Unavailable,
}
_BY_STATUS: Mapping[int, type[ApiError]] = {
    400: BadInput,
    401: NotAuthenticated,
    403: NotAllowed,
    404: NotFound,
    408: Unavailable,
    409: Conflict,
    413: TooLarge,
    429: TooManyRequests,
    431: TooLarge,
    500: ServerFailed,
    503: Unavailable,
}


def error_of_response(status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
    """The exception for a response that is no success."""
    retry_after = _seconds(headers.get("retry-after"))
    request_id = headers.get("x-request-id", "")
    problem = _parse_object(body)
    if not headers.get("content-type", "").startswith(PROBLEM):
        if "error" in problem:  # the token endpoint, by RFC 6749
            detail = str(problem.get("error_description", ""))
            kind = _BY_STATUS.get(status, ApiError)
            return kind(status, str(problem["error"]), detail, (), request_id, retry_after)
        return _of_proxy(status, body, request_id, retry_after)
    faults = tuple(_parse_fault(each) for each in problem.get("errors") or ())
    code = str(problem.get("code", ""))
    kind = _BY_CODE.get(code) or _BY_STATUS.get(status, ApiError)
    request_id = str(problem.get("requestId", request_id))
    return kind(status, code, str(problem.get("detail", "")), faults, request_id, retry_after)


def _of_proxy(status: int, body: bytes, request_id: str, retry_after: float | None) -> ApiError:
    """Of something between us and the service, which cannot say whether anything was changed."""
    kind = OutcomeUnknown if status in (502, 503, 504) else _BY_STATUS.get(status, ApiError)
    detail = body[:200].decode("utf-8", "replace").strip()
    return kind(status, NOT_FROM_THE_SERVICE, detail, (), request_id, retry_after)


def _parse_object(body: bytes) -> Mapping[str, Any]:
    try:
        parsed = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _parse_fault(given: Any) -> Fault:
    if not isinstance(given, dict):
        return Fault("", "", str(given))
    return Fault(*(str(given.get(name, "")) for name in ("in", "field", "message")))


def _seconds(text: str | None) -> float | None:
    """The value of Retry-After: seconds, or a date, as some proxies send it."""
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return None


class IgnoredMembers(UserWarning):
    """The service does not know members or parameters of a request, and has ignored them."""
