"""The bases of the generated models."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

import msgspec

from longwire_client.calls import encode_text, format_time


class Model(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A value of the API. Fields that this version does not know are ignored."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it, with the names of the API."""
        return dict(msgspec.to_builtins(self))


class Input(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A value to send. Times may be datetimes, and strings with JSON in them any JSON value."""

    json_fields: ClassVar[tuple[str, ...]] = ()
    time_fields: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for name in self.time_fields:
            value = getattr(self, name)
            if isinstance(value, datetime):
                msgspec.structs.force_setattr(self, name, format_time(value))
        for name in self.json_fields:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                msgspec.structs.force_setattr(self, name, encode_text(value))


class OneOf(Model, frozen=True, kw_only=True, omit_defaults=True):
    """A value with a member whose type depends on another member."""

    chooser: ClassVar[str] = ""  # the member that decides
    chosen: ClassVar[str] = ""  # the member that is decoded accordingly
    options: ClassVar[Mapping[str, msgspec.json.Decoder[Any]]] = {}

    def __post_init__(self) -> None:
        value = getattr(self, self.chosen)
        if isinstance(value, msgspec.Raw):
            decoder = self.options.get(getattr(self, self.chooser))
            decoded = decoder.decode(value) if decoder else msgspec.json.decode(value)
            msgspec.structs.force_setattr(self, self.chosen, decoded)
