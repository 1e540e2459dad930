"""From an error of the domain to a status and a body: the only such map."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from longwire.errors import (
    BadInput,
    Conflict,
    LongwireError,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    OutcomeUnknown,
    TooLarge,
    TooManyRequests,
    Unavailable,
    WrongMediaType,
)

MEDIA_TYPE = "application/problem+json"


class WrongMethod(LongwireError):
    """This path does not take this method."""

    def __init__(self, message: str, *, allowed: Iterable[str]) -> None:
        super().__init__(message)
        self.allowed = ", ".join(sorted(allowed))


class TimedOut(LongwireError):
    """The request did not arrive in time."""


class HeaderTooLarge(LongwireError):
    """The header block is larger than this service takes."""


class Internal(LongwireError):
    """Something went wrong that is our fault. Tell the operator the request id."""


STATUS: Mapping[type[LongwireError], tuple[int, str]] = {
    BadInput: (400, "bad_input"),
    NotAuthenticated: (401, "not_authenticated"),
    NotAllowed: (403, "not_allowed"),
    NotFound: (404, "not_found"),
    WrongMethod: (405, "wrong_method"),
    TimedOut: (408, "request_timeout"),
    Conflict: (409, "conflict"),
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


class WrongField(msgspec.Struct, kw_only=True):
    """One wrong part of a request."""

    place: str = msgspec.field(name="in")
    field: str
    message: str


class Problem(msgspec.Struct, kw_only=True, rename="camel"):
    """Every refusal of the service (RFC 9457, with `message` repeating `detail`)."""

    type: str
    title: str
    status: int
    detail: str
    message: str
    code: str
    errors: list[WrongField]
    request_id: str


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


# Where a parameter of a route stands, by the name the operation knows it under.
Places = Mapping[str, tuple[str, str]]


def refusal(
    error: LongwireError,
    request_id: str,
    places: Places | None = None,
    *,
    missing_is_bad: bool = False,
) -> Refusal:
    """What the caller gets to see of an error."""
    status, code = _status(error)
    if missing_is_bad and isinstance(error, NotFound):
        # Where the interface knows no 404, what names nothing is a wrong parameter.
        status, code = STATUS[BadInput]
    faults = [_wrong_field(fault.field, fault.message, places) for fault in error.faults]
    detail = _detail(faults) if faults and error.message == error.sentence() else error.message
    problem = Problem(
        type=f"urn:longwire:error:{code}",
        title=TITLES[status],
        status=status,
        detail=detail,
        message=detail,
        code=code,
        errors=faults,
        request_id=request_id,
    )
    return Refusal(status, msgspec.json.encode(problem), _headers(error))


def wire_refusal(status: int, code: str, detail: str, request_id: str) -> bytes:
    """The body of a refusal made before there was a request: the server below speaks it too."""
    problem = Problem(
        type=f"urn:longwire:error:{code}",
        title=TITLES.get(status, "Refused"),
        status=status,
        detail=detail,
        message=detail,
        code=code,
        errors=[],
        request_id=request_id,
    )
    return msgspec.json.encode(problem)


def _status(error: LongwireError) -> tuple[int, str]:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def _detail(faults: list[WrongField]) -> str:
    return "; ".join(f"{fault.field} {fault.message}" for fault in faults) + "."


def _headers(error: LongwireError) -> tuple[tuple[bytes, bytes], ...]:
    if isinstance(error, NotAuthenticated):
        return ((b"www-authenticate", b"Bearer"),)
    if isinstance(error, TooManyRequests | Unavailable):
        return ((b"retry-after", str(error.retry_after_s).encode()),)
    if isinstance(error, WrongMethod):
        return ((b"allow", error.allowed.encode()),)
    return ()


_FIRST = re.compile(r"([^.\[]+)(.*)", re.DOTALL)


def _wrong_field(field: str, message: str, places: Places | None) -> WrongField:
    """Where the caller wrote it, in the caller's spelling."""
    if places is None:  # a network wrote it, in a spelling of its own
        return WrongField(place="body", field=field, message=message)
    match = _FIRST.fullmatch(field)
    head, rest = (match[1], match[2]) if match else (field, "")
    place, name = places.get(head, ("body", _camel(head)))
    return WrongField(place=place, field=name + _camel(rest), message=message)


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)
