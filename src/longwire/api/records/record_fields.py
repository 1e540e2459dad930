"""Some members of records instead of all: `fields=timestamp,data`.

Records are stored as the JSON of the response, so the members are taken out of that as they are
written there.
"""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from longwire.errors import BadInput, FieldError
from longwire.records import RECORD_TYPES

_ERRORS_MAX = 32

RecordFields = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=512,
        description="Only these members of each record, with commas between them; by default all. "
        "In JSON those that every record of its kind has are always there.",
        examples=["timestamp,data"],
    ),
]
# The members that no record of the kind is without, which clients rely on.
REQUIRED = {
    "data": ("deviceId", "timestamp", "data"),
    "event": ("deviceId", "timestamp", "type"),
    "geoloc": ("deviceId", "timestamp"),
    "telemetry": ("deviceId", "timestamp"),
}
_MEMBERS = {
    kind: [each.encode_name for each in msgspec.structs.fields(record)]
    for kind, record in RECORD_TYPES.items()
}


class FieldSelection:
    """Takes some members out of records of a kind."""

    def __init__(self, kind: str, names: tuple[str, ...]) -> None:
        members: list[Any] = [
            (f"field_{index}", Raw | UnsetType, msgspec.field(default=UNSET, name=name))
            for index, name in enumerate(dict.fromkeys((*REQUIRED[kind], *names)))
        ]
        struct = msgspec.defstruct("SelectedRecord", members)
        self._decode = msgspec.json.Decoder(struct).decode
        self._decode_list = msgspec.json.Decoder(list[struct]).decode  # type: ignore[valid-type]

    def select(self, body: str) -> str:
        """The JSON of a record with these members only."""
        return _encode(self._decode(body)).decode()

    def select_all(self, bodies: str) -> str:
        """The same of several records with commas between them."""
        return _encode(self._decode_list(f"[{bodies}]"))[1:-1].decode()


_encode = msgspec.json.Encoder().encode
_get_selection = lru_cache(maxsize=256)(FieldSelection)


def parse_fields(text: str | None, kinds: Collection[str]) -> Mapping[str, FieldSelection]:
    """What is selected of records of each kind; nothing for all members."""
    names = parse_names(text, kinds)
    return {} if names is None else {kind: _get_selection(kind, names) for kind in kinds}


def parse_names(text: str | None, kinds: Collection[str]) -> tuple[str, ...] | None:
    """The names of members that records of any of these kinds may have; None for all."""
    if text is None:
        return None
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    known = dict.fromkeys(name for kind in kinds for name in _MEMBERS[kind])
    errors = [
        FieldError("fields", f"{name or 'nothing'} is no member; there are {', '.join(known)}")
        for name in names
        if name not in known
    ]
    if errors:
        raise BadInput(field_errors=errors[:_ERRORS_MAX])
    return names
