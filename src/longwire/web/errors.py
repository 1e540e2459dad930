"""Maps the errors of the domain to HTTP statuses and bodies; the only place that does."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import msgspec

from longwire.dataclass import dataclass
from longwire.errors import (
    BadInput,
    ChangedMeanwhile,
    Conflict,
    CrossSite,
    LimitReached,
    LongwireError,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    OutcomeUnknown,
    SessionNotFresh,
    TooLarge,
    TooManyRequests,
    TotpRequired,
    Unavailable,
    WrongMediaType,
)
from longwire.web.fields import words

MEDIA_TYPE = "application/problem+json"


class WrongMethod(LongwireError):
    """This path does not support this method."""

    def __init__(self, message: str, *, allowed: Iterable[str]) -> None:
        super().__init__(message)
        self.allowed = ", ".join(sorted(allowed))


class TimedOut(LongwireError):
    """The request did not arrive in time."""


class HeaderTooLarge(LongwireError):
    """The request head is too large."""


class Internal(LongwireError):
    """Internal error. Report the request id to the operator."""


STATUS: Mapping[type[LongwireError], tuple[int, str]] = {
    BadInput: (400, "bad_input"),
    NotAuthenticated: (401, "not_authenticated"),
    TotpRequired: (401, "totp_required"),
    NotAllowed: (403, "not_allowed"),
    CrossSite: (403, "cross_site"),
    SessionNotFresh: (403, "session_not_fresh"),
    NotFound: (404, "not_found"),
    WrongMethod: (405, "wrong_method"),
    TimedOut: (408, "request_timeout"),
    Conflict: (409, "conflict"),
    LimitReached: (409, "limit_reached"),
    ChangedMeanwhile: (409, "changed_meanwhile"),
    TooLarge: (413, "too_large"),
    WrongMediaType: (415, "wrong_media_type"),
    TooManyRequests: (429, "too_many_requests"),
    HeaderTooLarge: (431, "head_too_large"),
    Internal: (500, "internal"),
    OutcomeUnknown: (503, "outcome_unknown"),
    Unavailable: (503, "unavailable"),
}

TITLES = {
    400: "Bad request",
    401: "Not authenticated",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    408: "Request timed out",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    429: "Too many requests",
    431: "Header too large",
    500: "Internal error",
    503: "Unavailable",
}


class FieldProblem(msgspec.Struct, kw_only=True):
    """One invalid field of a request."""

    place: Annotated[str, words("FieldPlace", ("body", "query"))] = msgspec.field(name="in")
    field: str
    message: str


class Problem(msgspec.Struct, kw_only=True, rename="camel"):
    """Every error of the service (RFC 9457, with `message` repeating `detail`)."""

    type: str
    title: str
    status: int
    detail: str
    message: str
    code: str
    errors: list[FieldProblem]
    request_id: str


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


# In which part of the request a field is, and its wire name, by its attribute name.
FieldLocations = Mapping[str, tuple[str, str]]


def build_error_response(
    error: LongwireError,
    request_id: str,
    field_locations: FieldLocations | None = None,
    *,
    not_found_is_bad_request: bool = False,
) -> ErrorResponse:
    """The response for an error."""
    status, code = _status(error)
    if not_found_is_bad_request and isinstance(error, NotFound):
        # The interface has no 404 here: an unknown id is an invalid parameter.
        status, code = STATUS[BadInput]
    field_errors = [
        _field_error(fault.field, fault.message, field_locations) for fault in error.field_errors
    ]
    is_built = bool(field_errors) and not error.has_own_message
    detail = _detail(field_errors) if is_built else error.message
    body = encode_problem(status, code, detail, request_id, field_errors)
    return ErrorResponse(status, body, _headers(error))


def encode_problem(
    status: int, code: str, detail: str, request_id: str, field_errors: Sequence[FieldProblem] = ()
) -> bytes:
    """The body of an error, also of one outside of any route."""
    problem = Problem(
        type=f"urn:longwire:error:{code}",
        title=TITLES.get(status, "Error"),
        status=status,
        detail=detail,
        message=detail,
        code=code,
        errors=list(field_errors),
        request_id=request_id,
    )
    return msgspec.json.encode(problem)


def get_code(error: LongwireError) -> str:
    """The code of an error, for where it is no response."""
    return _status(error)[1]


def _status(error: LongwireError) -> tuple[int, str]:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def _detail(field_errors: list[FieldProblem]) -> str:
    return "; ".join(f"{fault.field} {fault.message}" for fault in field_errors) + "."


def _headers(error: LongwireError) -> tuple[tuple[bytes, bytes], ...]:
    if isinstance(error, NotAuthenticated):
        return ((b"www-authenticate", b"Bearer"),)
    if isinstance(error, TooManyRequests | Unavailable):
        return ((b"retry-after", str(error.retry_after_s).encode()),)
    if isinstance(error, WrongMethod):
        return ((b"allow", error.allowed.encode()),)
    return ()


_FIRST = re.compile(r"([^.\[]+)(.*)", re.DOTALL)


def _field_error(field: str, message: str, field_locations: FieldLocations | None) -> FieldProblem:
    """Where the field is in the request, under its wire name."""
    if field_locations is None:  # a network callback: the name is the network's own
        return FieldProblem(place="body", field=field, message=message)
    match = _FIRST.fullmatch(field)
    head, rest = (match[1], match[2]) if match else (field, "")
    place, name = field_locations.get(head, ("body", _camel(head)))
    return FieldProblem(place=place, field=name + _camel(rest), message=message)


def _camel(name: str) -> str:
    """Of words with underscores between them; those in front, as of `__raw`, belong to the name."""
    return re.sub(r"(?<=[a-z0-9])_([a-z])", lambda match: match[1].upper(), name)
