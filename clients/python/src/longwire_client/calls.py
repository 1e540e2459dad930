"""Requests and responses as values, without sending anything.

Shared by the client with and without asyncio: what a request looks like, and what its response
means.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Generic, TypeVar, cast

import msgspec

from longwire_client.errors import (
    ApiError,
    IgnoredMembers,
    InvalidResponse,
    error_of_response,
)

T = TypeVar("T")

# A time in a request: aware, or RFC 3339, or seconds or milliseconds since 1970.
When = datetime | str | int | float
# A string field with JSON in it: sent as it is if it is a string, else encoded.
JsonText = str | Mapping[str, Any] | Sequence[Any]
QueryValue = When | bool | Sequence[str] | None

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request, and the type of its response."""

    method: str
    path: str
    reply: Any  # type[T]; Any because a Mapping is no type for mypy
    query: Mapping[str, QueryValue] = field(default_factory=dict)
    body: bytes | None = None
    media_type: str = JSON
    is_repeatable: bool = False  # sending it twice is the same as sending it once

    def with_query(self, **changes: QueryValue) -> "Call[T]":
        return replace(self, query={**self.query, **changes})

    def parameters(self) -> tuple[tuple[str, str], ...] | None:
        """The query as names and texts; what is None is left out."""
        found: list[tuple[str, str]] = []
        for name, value in self.query.items():
            if value is None:
                continue
            many = value if isinstance(value, Sequence) and not isinstance(value, str) else (value,)
            found += [(name, _query_text(each)) for each in many]
        return tuple(found) or None

    def parse(self, status: int, headers: Mapping[str, str], body: bytes) -> T:
        """The response, or its error as an exception."""
        if status != 200:
            raise self.error(status, headers, body)
        ignored = headers.get("longwire-ignored")
        if ignored:
            message = f"{self.method} {self.path}: the service ignored {ignored}"
            warnings.warn(message, IgnoredMembers, stacklevel=2)
        try:
            return cast(T, _decoder(self.reply).decode(body))
        except msgspec.DecodeError as error:
            raise InvalidResponse(f"{self.method} {self.path}: {error}") from error

    def error(self, status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
        return error_of_response(status, headers, body)


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def _query_text(value: When | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return format_time(value) if isinstance(value, datetime) else str(value)


def format_time(value: datetime) -> str:
    """RFC 3339 in UTC."""
    if value.tzinfo is None:
        raise ValueError("a time needs a time zone: datetime.now(UTC), not datetime.now()")
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def encode_text(value: JsonText) -> str:
    """JSON in a string; what is a string already stays as it is."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
