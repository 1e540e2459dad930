"""The building blocks of wire types: base structs, primitive fields, and limits set by settings."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from longwire.clock import SECOND, Moment
from longwire.dates import format_date, parse_date
from longwire.errors import invalid_field
from longwire.object_versions import REMOVED, NewText


class Query(msgspec.Struct, kw_only=True, rename="camel"):
    """The query parameters of an operation."""


class Body(msgspec.Struct, kw_only=True, rename="camel"):
    """The JSON request body of an operation."""


class CheckedBody(Body):
    """A part of a body whose members depend on each other."""

    @classmethod
    def check_members(cls, given: Collection[str]) -> Mapping[str, str]:
        """What is wrong with the members that are given, by their names on the wire."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        names = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        given = {wire_name for name, wire_name in names if getattr(self, name) is not None}
        if self.check_members(given):
            raise ValueError  # whoever collects all errors says what is wrong


class Reply(msgspec.Struct, kw_only=True, rename="camel", omit_defaults=True):
    """The JSON response of an operation; members without a value are left out."""


@dataclass(frozen=True, slots=True)
class InputLimits:
    """Limits on what a request may contain."""

    body_bytes_max: int = 1024 * 1024
    bulk_body_bytes_max: int = 8 * 1024 * 1024
    json_depth_max: int = 32
    page_items_max: int = 1_000
    page_items_default: int = 100
    bulk_ids_max: int = 1_000
    batch_records_max: int = 5_000
    tags_max: int = 50
    tag_characters_max: int = 64


def words(name: str, values: Iterable[str]) -> Meta:
    """The only values of a string, under one name wherever they occur in the document."""
    return Meta(title=name, extra_json_schema={"enum": list(values)})


def limited_by(limit: str, *, unit: str) -> Meta:
    """Mark a type as bounded by a setting, where msgspec's own bounds are fixed."""
    return Meta(extra={"limit": limit, "unit": unit})


Id = Annotated[str, Meta(min_length=1, max_length=128)]
Name = Annotated[str, Meta(min_length=1, max_length=256)]
Text = Annotated[str, Meta(max_length=4_096)]
Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0)]
# In the `extra` of a type: the function that makes such a text or number out of a value.
CONVERTER = "converter"
DateText = Annotated[
    str,
    Meta(
        examples=["2026-11-15T08:30:00.000Z"],
        extra={CONVERTER: format_date},
        extra_json_schema={"format": "date-time"},
    ),
]
EpochSeconds = Annotated[
    int,
    Meta(
        ge=0,
        le=2**40,
        description="Seconds since 1970.",
        extra={CONVERTER: lambda at: at // SECOND},
    ),
]


DATE_MARK = {"is": "date"}
DATE_SCHEMA = {"x-date": True}  # for generators that want to take dates of their language
_DATE_DESCRIPTION = (
    "RFC 3339, a date alone, or seconds or milliseconds since 1970. Without an offset it is UTC."
)
DateIn = Annotated[
    str | int | float,
    Meta(
        extra=DATE_MARK,
        extra_json_schema=DATE_SCHEMA,
        description=f"{_DATE_DESCRIPTION} A JSON number is taken, too.",
        examples=["2026-11-15T08:30:00Z"],
    ),
]
DateQuery = Annotated[
    str,
    Meta(
        extra=DATE_MARK,
        extra_json_schema=DATE_SCHEMA,
        description=_DATE_DESCRIPTION,
        max_length=64,
        examples=["2026-11-15T08:30:00Z"],
    ),
]


def parse_date_field(field: str, value: str | float) -> Moment:
    """Parse a date, or raise an error that names the field."""
    try:
        return parse_date(value)
    except ValueError as error:
        raise invalid_field(field, str(error)) from None


T = TypeVar("T")

# A member of an update that removes the value if it is null, and leaves it if it is left out.
Clearable: TypeAlias = T | UnsetType | None


def parse_clearable(given: Clearable[str]) -> str | None:
    """None for what is left out, an empty text for what is to be removed."""
    return None if given is UNSET else given or ""


def parse_removable(given: Clearable[str]) -> NewText:
    """The same for a text that may be empty."""
    if given is UNSET:
        return None
    return REMOVED if given is None else given


PageLimit = Annotated[
    Annotated[int, Meta(ge=1, description="The maximum number of items per page.")],
    limited_by("page_items_max", unit="items"),
]
PageToken = Annotated[str, Meta(description="The nextToken of the previous page.")]


class Paged(Query):
    """The parameters of every paginated list."""

    limit: PageLimit | None = None
    next_token: PageToken | None = None
