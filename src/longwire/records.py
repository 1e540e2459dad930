"""Records of the four kinds, and their JSON: the only module that knows how a record is stored.

A record is stored as the JSON that the API returns, so that a list is concatenated without decoding
it. A record as it was sent lacks its group, and data may lack the name of their device;
`complete_record` fills them in. They are no part of the content that makes two records the same.
"""

import typing
from enum import IntEnum
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

DIGEST_BYTES = 16


class RecordKind(IntEnum):
    """The number of a kind in the database."""

    DATA = 0
    EVENT = 1
    GEOLOC = 2
    TELEMETRY = 3

    @property
    def label(self) -> str:
        """Its name in paths, tables, counters and messages."""
        return KIND_NAMES[self]


# The member of a data record with the names that our decoder gave.
DECODED_NAMES = "decodedNames"
KIND_NAMES = tuple(kind.name.lower() for kind in RecordKind)


class ArrivalSource(IntEnum):
    """How a record came in, by its number in the database; the names of networks are theirs."""

    API = 0
    BATCH = 1
    SYSTEM = 2  # an event of the service itself
    MQTT = 3
    VENDOR = 4
    CHIRPSTACK = 5
    TTN = 6
    LORIOT = 7
    THINGPARK = 8


SOURCE_NAMES = tuple(source.name.lower() for source in ArrivalSource)
SOURCE_NUMBERS = {name: number for number, name in enumerate(SOURCE_NAMES)}


class _Record(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True, rename="camel"):
    """What all kinds have; the order of the fields is that of the JSON.

    `number` is that of the kind as a plain integer, which goes into every row.
    """

    device_id: str
    timestamp: str  # as `format_date` writes it
    group_id: str | None = None


class DataRecord(_Record, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What a device reported."""

    kind: ClassVar[RecordKind] = RecordKind.DATA
    number: ClassVar[int] = kind.value

    data: str
    configuration: str
    raw: str = field(name="__raw")
    device_type: str
    mode: str | None = None
    reason: str | None = None
    device_name: str | None = None
    decoded_names: list[str] | None = None  # members of `data` that were decoded from `raw`


# The type of the service's own event of a gap in the frame counter of a device.
SEQUENCE_GAP = "sequenceGap"


class EventRecord(_Record, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Something that happened to a device."""

    kind: ClassVar[RecordKind] = RecordKind.EVENT
    number: ClassVar[int] = kind.value

    type: str
    device_type: str | None = None
    message: str | None = None
    data: str | None = None
    severity: str | None = None


class GeolocRecord(_Record, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Where a device was."""

    kind: ClassVar[RecordKind] = RecordKind.GEOLOC
    number: ClassVar[int] = kind.value

    status: int | None = None
    source: int | None = None
    radius: int | None = None
    # Networks send whole degrees too, and an expression sees the difference.
    lat: int | float | None = None
    lng: int | float | None = None
    location: str | None = None
    data: str | None = None
    raw: str | None = field(default=None, name="__raw")


class TelemetryRecord(_Record, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Signal quality of a device's messages."""

    kind: ClassVar[RecordKind] = RecordKind.TELEMETRY
    number: ClassVar[int] = kind.value

    device_type: str
    duplicates: list[str] | None = None
    data: str | None = None
    score: int | None = None
    stations: int | None = field(default=None, name="nbBS")
    rc: int | None = None


Record = DataRecord | EventRecord | GeolocRecord | TelemetryRecord

RECORD_TYPES: dict[str, type[Record]] = {
    each.kind.label: each for each in (DataRecord, EventRecord, GeolocRecord, TelemetryRecord)
}


class EncodedRecord(Struct, frozen=True, gc=False):
    """A complete record beside its JSON, so that it is neither encoded nor parsed twice."""

    record: Record
    body: str

    @property
    def members(self) -> str:
        """The JSON without its braces, to be embedded in a larger object."""
        return self.body[1:-1]


_encode = msgspec.json.Encoder().encode
_decoders = tuple(msgspec.json.Decoder(each) for each in RECORD_TYPES.values())
_data_decoder = msgspec.json.Decoder(DataRecord)


def complete_record(record: Record, group_id: str, device_name: str) -> EncodedRecord:
    """Fill in the group and, unless it was sent, the name of the device."""
    if isinstance(record, DataRecord) and record.device_name is None:
        completed: Record = replace(record, group_id=group_id, device_name=device_name)
    else:
        completed = replace(record, group_id=group_id)
    return EncodedRecord(completed, _encode(completed).decode())


def encode_record(record: Record) -> EncodedRecord:
    return EncodedRecord(record, _encode(record).decode())


def parse_record(kind: int, body: str) -> EncodedRecord:
    return EncodedRecord(_decoders[kind].decode(body), body)


def parse_data_record(body: str) -> DataRecord:
    return _data_decoder.decode(body)


def digest_record(record: Record) -> bytes:
    """Identifies the content of a record as it was sent."""
    if isinstance(record, DataRecord) and record.device_name is not None:
        record = replace(record, device_name=None)
    return blake2b(_encode(record), digest_size=DIGEST_BYTES).digest()


def digest_content(content: bytes) -> bytes:
    return blake2b(content, digest_size=DIGEST_BYTES).digest()


def to_members(record: Record) -> dict[str, Any]:
    """The members of the JSON object, by their names there."""
    members: dict[str, Any] = msgspec.to_builtins(record)
    return members


def list_number_fields(kind: str) -> list[str]:
    """The fields of a kind with a number, by their names in JSON."""
    fields = msgspec.structs.fields(RECORD_TYPES[kind])
    return [each.encode_name for each in fields if int in typing.get_args(each.type)]


def get_attribute(kind: RecordKind, name: str) -> str:
    """What a field is called here, by its name in JSON."""
    fields = msgspec.structs.fields(RECORD_TYPES[kind.label])
    return next(each.name for each in fields if each.encode_name == name)


def list_json_fields(kind: str) -> list[str]:
    """The fields of a kind whose text is JSON, mostly."""
    fields = msgspec.structs.fields(RECORD_TYPES[kind])
    return [each.encode_name for each in fields if each.name in ("data", "configuration")]


def get_device_name(record: Record) -> str | None:
    return record.device_name if isinstance(record, DataRecord) else None


def get_decoded_names(record: Record) -> list[str] | None:
    return record.decoded_names if isinstance(record, DataRecord) else None


def get_device_type(record: Record) -> str | None:
    return None if isinstance(record, GeolocRecord) else record.device_type
