"""Wire types that several operations share."""

from typing import Annotated

from msgspec import Meta

from longwire.changes import MESSAGE_KIND_NAMES
from longwire.clock import Moment
from longwire.dates import parse_date, parse_range_end
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.records import KIND_NAMES
from longwire.translations.catalogue import Language
from longwire.web.fields import (
    DATE_MARK,
    DATE_SCHEMA,
    Paged,
    Reply,
    limited_by,
    parse_date_field,
    words,
)

GroupId = Annotated[str, Meta(min_length=1, max_length=128, examples=["880148294221312"])]
DeviceId = Annotated[
    str, Meta(min_length=1, max_length=128, examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"])
]
DeviceIds = Annotated[list[DeviceId], limited_by("bulk_ids_max", unit="ids")]
DeviceTypeNames = Annotated[
    list[Annotated[str, Meta(min_length=1, max_length=128)]],
    limited_by("bulk_ids_max", unit="types"),
]
MessageKindName = Annotated[str, words("MessageKind", MESSAGE_KIND_NAMES), Meta(examples=["data"])]
RecordKindName = Annotated[str, words("RecordKind", KIND_NAMES), Meta(examples=["data"])]
Email = Annotated[str, Meta(min_length=3, max_length=254, examples=["ada@example.com"])]
LanguageName = Annotated[
    Language,
    Meta(
        title="Language",
        description="In which the service writes to them; English for none.",
        examples=["de"],
    ),
]
Tag = Annotated[str, Meta(min_length=1), limited_by("tag_characters_max", unit="characters")]
Tags = Annotated[list[Tag], limited_by("tags_max", unit="tags")]
# Of a connector or notification; each adds an example of its own.
ChannelTypeName = Annotated[str, Meta(min_length=1, max_length=64)]
ChannelParams = Annotated[
    str,
    Meta(
        max_length=65_536,
        description="A JSON object, as described by the type's `expectedParameters`.",
    ),
]


CHANGED_MEANWHILE = "It was changed since `ifUpdatedAt`."
IfUpdatedAt = Annotated[
    str | int | float,
    Meta(
        extra=DATE_MARK,
        extra_json_schema=DATE_SCHEMA,
        description="The `updatedAt` that the update is based on; 409 if there is another by now.",
        examples=["2026-11-15T08:30:00.000Z"],
    ),
]


class GroupPage(Paged, kw_only=True):
    """Which group, and which page."""

    group_id: GroupId


class GroupTreePage(GroupPage, kw_only=True):
    """Which group, with those below it or without, and which page."""

    subgroups: Annotated[bool, Meta(description="With those of all groups below it.")] = False


class GenericReturn(Reply):
    """What was done, as a message."""

    message: str | None = None


class GenericReturnBoolean(Reply):
    """What was done, as a message and a boolean."""

    message: str | None = None
    value: bool | None = None


def parse_version(if_updated_at: str | float | None) -> Moment | None:
    return None if if_updated_at is None else parse_date_field("if_updated_at", if_updated_at)


def parse_period(
    begin: str | float | None, end: str | float | None, prefix: str = ""
) -> tuple[Moment | None, Moment | None]:
    """Parse a range of dates; it includes its begin and excludes its end.

    Errors name the fields with `prefix` before them.
    """
    parsed: dict[str, Moment] = {}
    field_errors: list[FieldError] = []
    for name, text, parse in (
        ("begin_date", begin, parse_date),
        ("end_date", end, parse_range_end),
    ):
        if text is not None:
            try:
                parsed[name] = parse(text)
            except ValueError as error:
                field_errors.append(FieldError(prefix + name, str(error)))
    if field_errors:
        raise BadInput(field_errors=field_errors)
    begin_at, end_at = parsed.get("begin_date"), parsed.get("end_date")
    if begin_at is not None and end_at is not None and begin_at > end_at:
        raise invalid_field(f"{prefix}begin_date", "lies after endDate")
    return begin_at, end_at
