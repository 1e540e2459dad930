"""The four kinds of records on the wire: as they are sent, and as they are answered."""

from typing import Annotated

from msgspec import Meta, field

from longwire.api.records.record_fields import RecordFields
from longwire.api.types import DeviceId, GroupId
from longwire.errors import invalid_field
from longwire.records import DataRecord, EventRecord, GeolocRecord, Record, TelemetryRecord
from longwire.web.fields import Body, DateIn, DateQuery, DateText, Int64, Name, Paged, Query, Reply
from longwire.web.openapi_schemas import HIDDEN

Word = Annotated[str, Meta(max_length=256)]
LongText = Annotated[str, Meta(max_length=262_144)]
Raw = Annotated[LongText, Meta(examples=["0a1b2c3d"])]
Json = Annotated[LongText, Meta(examples=['{"temperature":21.5}'])]


class RecordInput(Body, kw_only=True, gc=False):
    """A record as it is sent."""

    device_id: DeviceId
    timestamp: DateIn
    group_id: Annotated[GroupId, Meta(description="If given, the device's group.")] | None = None

    def to_record(self, timestamp: str) -> Record:
        """The record, with one spelling of its timestamp and without the group."""
        raise NotImplementedError


class DeviceDataInput(RecordInput, kw_only=True, gc=False):
    """A data record to store."""

    data: Json
    configuration: LongText
    raw: Raw = field(name="__raw")
    device_type: Word
    mode: Word | None = None
    reason: Word | None = None
    device_name: Name | None = None

    def to_record(self, timestamp: str) -> DataRecord:
        return DataRecord(
            device_id=self.device_id,
            timestamp=timestamp,
            data=self.data,
            configuration=self.configuration,
            raw=self.raw,
            device_type=self.device_type,
            mode=self.mode,
            reason=self.reason,
            device_name=self.device_name,
        )


class DeviceEventInput(RecordInput, kw_only=True, gc=False):
    """An event to store."""

    type: Annotated[str, Meta(min_length=1, max_length=256, examples=["doorOpened"])]
    device_type: Word | None = None
    message: LongText | None = None
    data: Json | None = None
    severity: Word | None = None

    def to_record(self, timestamp: str) -> EventRecord:
        return EventRecord(
            device_id=self.device_id,
            timestamp=timestamp,
            type=self.type,
            device_type=self.device_type,
            message=self.message,
            data=self.data,
            severity=self.severity,
        )


class DeviceGeolocInput(RecordInput, kw_only=True, gc=False):
    """A geolocation to store."""

    status: Int64 | None = None
    source: Int64 | None = None
    radius: Int64 | None = None
    lat: Annotated[float, Meta(ge=-90, le=90)] | None = None
    lng: Annotated[float, Meta(ge=-180, le=180)] | None = None
    location: LongText | None = None
    data: Json | None = None
    raw: Raw | None = field(default=None, name="__raw")

    def to_record(self, timestamp: str) -> GeolocRecord:
        return GeolocRecord(
            device_id=self.device_id,
            timestamp=timestamp,
            status=self.status,
            source=self.source,
            radius=self.radius,
            lat=self.lat,
            lng=self.lng,
            location=self.location,
            data=self.data,
            raw=self.raw,
        )


class DeviceTelemetryInput(RecordInput, kw_only=True, gc=False):
    """A telemetry record to store."""

    device_type: Word
    duplicates: Annotated[list[LongText], Meta(max_length=1_000)] | None = None
    data: Json | None = None
    score: Int64 | None = None
    # Written with a small s, read back with a capital one; the latter is taken on the way in too.
    stations_small: Int64 | None = field(default=None, name="nbBs")
    stations: Annotated[Int64, Meta(extra_json_schema={HIDDEN: True})] | None = field(
        default=None, name="nbBS"
    )
    rc: Int64 | None = None

    def to_record(self, timestamp: str) -> TelemetryRecord:
        stations = self.stations if self.stations_small is None else self.stations_small
        if self.stations not in (None, stations):
            raise invalid_field("nbBs", "differs from nbBS; send one of them")
        return TelemetryRecord(
            device_id=self.device_id,
            timestamp=timestamp,
            device_type=self.device_type,
            duplicates=self.duplicates,
            data=self.data,
            score=self.score,
            stations=stations,
            rc=self.rc,
        )


class DeviceData(Reply):
    """What a device reported."""

    device_id: str
    timestamp: DateText
    data: str
    configuration: str | None = None
    raw: str | None = field(default=None, name="__raw")
    device_type: str | None = None
    mode: str | None = None
    reason: str | None = None
    device_name: str | None = None
    group_id: str | None = None
    decoded_names: (
        Annotated[
            list[str],
            Meta(description="Members of `data` that come of decoding `__raw`; not sent in."),
        ]
        | None
    ) = None


class DeviceEvent(Reply):
    """Something that happened to a device."""

    device_id: str
    timestamp: DateText
    type: str
    device_type: str | None = None
    group_id: str | None = None
    message: str | None = None
    data: str | None = None
    severity: str | None = None


class DeviceGeoloc(Reply):
    """Where a device was."""

    timestamp: DateText
    device_id: str
    status: int | None = None
    source: int | None = None
    radius: int | None = None
    lat: float | None = None
    lng: float | None = None
    group_id: str | None = None
    location: str | None = None
    data: str | None = None
    raw: str | None = field(default=None, name="__raw")


class DeviceTelemetry(Reply):
    """Signal quality of a device's messages."""

    device_id: str
    timestamp: DateText
    device_type: str | None = None
    duplicates: list[str] | None = None
    data: str | None = None
    score: int | None = None
    stations: int | None = field(default=None, name="nbBS")
    rc: int | None = None
    group_id: str | None = None


class RecordsQuery(Paged, kw_only=True):
    """The records of a device in a period."""

    device_id: DeviceId
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None
    ascending: Annotated[bool, Meta(description="false for the newest first.")] | None = None
    fields: RecordFields | None = None


class RecordQuery(Query):
    """Which device, and which timestamp."""

    device_id: DeviceId
    timestamp: DateQuery


class AllRecords(Body):
    """Whose records to delete."""

    device_id: DeviceId


class BatchReturn(Reply):
    """The outcome of a batch."""

    message: str
    stored: int
    duplicates: int
