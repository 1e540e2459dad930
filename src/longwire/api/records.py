"""Operations on the four kinds of records: one set of handlers, four lines of data.

Record POSTs and batches do not run in a transaction of their own: the request handler passes them
to `ingest`, which commits many together. Records are stored in the form of
the response, so that a list is concatenated without decoding them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from longwire.api.types import DeviceId, GenericReturn, GenericReturnBoolean, GroupId, parse_period
from longwire.dates import format_date
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import records, redecoding
from longwire.fleet.codec_guard import CODEC_THREADS
from longwire.fleet.redecoding import RedecodedBatch, RedecodeSelection
from longwire.ingest import IngestItem, IngestRequest, IngestResult
from longwire.model import Actor
from longwire.records import (
    ArrivalSource,
    DataRecord,
    EventRecord,
    GeolocRecord,
    Record,
    TelemetryRecord,
    digest_record,
)
from longwire.store.database import Database
from longwire.web.fields import (
    Body,
    DateIn,
    DateQuery,
    DateText,
    InputLimits,
    Int64,
    Name,
    Paged,
    Query,
    Reply,
    limited_by,
    parse_date_field,
)
from longwire.web.openapi_schemas import HIDDEN
from longwire.web.page_tokens import PageTokens
from longwire.web.routing import RequestContext, Route
from longwire.web.validation import decode_body

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


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record, and how the interface treats it."""

    name: str
    noun: str
    input: type[RecordInput]
    reply: type[Reply]
    delete_method: str

    @property
    def path(self) -> str:
        return f"/device/{self.name}"


KINDS = (
    Kind("data", "data record", DeviceDataInput, DeviceData, "PUT"),  # deleted by PUT
    Kind("event", "event", DeviceEventInput, DeviceEvent, "DELETE"),
    Kind("geoloc", "geolocation", DeviceGeolocInput, DeviceGeoloc, "DELETE"),
    Kind("telemetry", "telemetry record", DeviceTelemetryInput, DeviceTelemetry, "DELETE"),
)

_INPUTS = {kind.name: kind.input for kind in KINDS}


def list_records(kind: Kind, context: RequestContext, query: RecordsQuery) -> msgspec.Raw:
    begin, end = parse_period(query.begin_date, query.end_date)
    retention_days = context.retention_days.get(kind.name, 0)
    oldest = records.oldest_kept(retention_days, context.tx.now)
    if oldest is not None:
        begin = oldest if begin is None else max(begin, oldest)
    page = records.list_records(
        context.tx,
        context.actor,
        kind.name,
        query.device_id,
        begin,
        end,
        context.page_tokens.page_request(query),
        ascending=query.ascending is not False,
    )
    token = context.page_tokens.next_token(query, page)
    more = f',"nextToken":"{token}"' if token else ""
    response = f'{{"items":[{page.text}]{more}}}'.encode()
    until = records.kept_until(retention_days, page.oldest)
    context.response_cache.put(
        context.tx,
        context.cache_key,
        response,
        device_number=page.device_number,
        valid_until=until,
    )
    return msgspec.Raw(response)


def store_record(actor: Actor, body: RecordInput) -> IngestRequest:
    return IngestRequest(actor, [build_item(body)], is_batch=False)


def build_item(sent: RecordInput) -> IngestItem:
    ts = parse_date_field("timestamp", sent.timestamp)
    record = sent.to_record(format_date(ts))
    return IngestItem(record, ts, digest_record(record), sent.group_id)


def parse_published_record(limits: InputLimits, kind_name: str, raw: bytes) -> IngestItem:
    """A record that does not arrive by HTTP, validated in the same way."""
    return build_item(decode_body(raw, _INPUTS[kind_name], limits))


def store_batch(actor: Actor, body: Any) -> IngestRequest:
    items: list[IngestItem] = []
    field_errors: list[FieldError] = []
    for index, sent in enumerate(body.items):
        try:
            items.append(build_item(sent))
        except BadInput as error:
            place = f"items[{index}]."
            field_errors += [replace(each, field=place + each.field) for each in error.field_errors]
    if field_errors:
        raise BadInput(field_errors=field_errors)
    return IngestRequest(actor, items, is_batch=True, source=ArrivalSource.BATCH.value)


def encode_record_result(stored: IngestResult) -> bytes:
    return stored.bodies[0].encode()


def encode_batch_result(stored: IngestResult) -> bytes:
    number = len(stored.bodies) - stored.duplicates
    noun = "duplicate" if stored.duplicates == 1 else "duplicates"
    return msgspec.json.encode(
        BatchReturn(
            message=f"{number} stored, {stored.duplicates} {noun}.",
            stored=number,
            duplicates=stored.duplicates,
        )
    )


async def count_archived(kind: Kind, database: Database, actor: Actor, query: RecordQuery) -> int:
    """How many of the records are in the archive, which is not read in a transaction."""
    ts = parse_date_field("timestamp", query.timestamp)
    if database.archive is None:
        return 0
    return await database.read(
        lambda tx: records.count_archived_at(tx, actor, kind.name, query.device_id, ts)
    )


def delete_records(
    kind: Kind, context: RequestContext, query: RecordQuery, archived: int
) -> GenericReturnBoolean:
    ts = parse_date_field("timestamp", query.timestamp)
    number = records.delete_records_at(
        context.tx, context.actor, kind.name, query.device_id, ts, archived
    )
    return GenericReturnBoolean(message=f"{number} deleted.", value=True)


def delete_all_records(context: RequestContext, body: AllRecords) -> GenericReturn:
    """Delete all records of a device.

    Data, events, geolocations and telemetry, as far as the caller may delete them. Counters are
    unchanged.
    """
    counts = records.delete_all_records(context.tx, context.actor, body.device_id)
    return GenericReturn(
        message="Deleted " + ", ".join(f"{number} {kind}" for kind, number in counts.items()) + "."
    )


# --- redecoding ---

REDECODE = "postDeviceRedecode"
REDECODE_DEFAULT = 100


class RedecodeInput(Body):
    """Which payloads to redecode: of a device or of a group's devices, in a period."""

    device_id: DeviceId | None = None
    group_id: Annotated[GroupId, Meta(description="With deviceId, its group.")] | None = None
    device_type: Annotated[Name, Meta(description="Only devices of this type.")] | None = None
    begin_date: DateIn | None = None
    end_date: DateIn | None = None
    limit: (
        Annotated[
            Annotated[int, Meta(ge=1, description="The maximum number of records to read.")],
            limited_by("page_items_max", unit="items"),
        ]
        | None
    ) = None
    next_token: (
        Annotated[str, Meta(description="The nextToken of the previous response.")] | None
    ) = None


class RedecodeReturn(Reply):
    """The outcome for some records; with a nextToken there are more."""

    message: str
    looked_at: int
    changed: int
    skipped: Annotated[int, Meta(description="Without a payload, or with data of another form.")]
    failed: Annotated[int, Meta(description="Rejected by the decoder, and unchanged.")]
    failure: Annotated[str, Meta(description="The error of the first one that failed.")] | None = (
        None
    )
    next_token: str | None = None


async def redecode_batch(database: Database, actor: Actor, body: RedecodeInput) -> RedecodedBatch:
    """Find some records and decode them, while no transaction waits for it."""
    selection = _selection(body)
    pages = PageTokens(database.context.keyring, actor, REDECODE, REDECODE_DEFAULT)
    request = pages.page_request(body)
    piece = await database.read(lambda tx: redecoding.find_batch(tx, actor, selection, request))
    if not piece.items:
        return redecoding.redecode_batch(piece)
    group_id = piece.items[0].device.group_id
    return await CODEC_THREADS.run(group_id, redecoding.redecode_batch, piece)


def redecode(context: RequestContext, body: RedecodeInput, batch: RedecodedBatch) -> RedecodeReturn:
    """Redecode stored payloads.

    Decodes `__raw` of data records with the current decoder of the device type. Values from an
    earlier decoding are replaced in `data`; the rest of the record is unchanged, and connectors are
    not notified. A record that fails to decode is unchanged. One request processes some records and
    responds with a `nextToken` as long as there are more.
    """
    changed = redecoding.store_batch(context.tx, context.actor, batch)
    return RedecodeReturn(
        message=f"{changed} of {batch.examined} records changed.",
        looked_at=batch.examined,
        changed=changed,
        skipped=batch.skipped,
        failed=batch.failed,
        failure=batch.failure,
        next_token=context.page_tokens.next_token(body, batch),
    )


def _selection(body: RedecodeInput) -> RedecodeSelection:
    if body.device_id is None and body.group_id is None:
        raise BadInput(
            field_errors=[
                FieldError("device_id", "is required, or else groupId"),
                FieldError("group_id", "is required, or else deviceId"),
            ]
        )
    begin, end = parse_period(body.begin_date, body.end_date)
    return RedecodeSelection(body.device_id, body.group_id, body.device_type, begin, end)


def _connection(kind: Kind) -> type[msgspec.Struct]:
    return msgspec.defstruct(
        f"{kind.reply.__name__}Connection",
        [("items", list[kind.reply]), ("next_token", str | None, None)],  # type: ignore[name-defined]
        bases=(Reply,),
        namespace={"__doc__": f"A page of {kind.noun}s."},
        rename="camel",
        omit_defaults=True,
    )


def _batch(kind: Kind) -> Any:
    items = Annotated[
        list[kind.input],  # type: ignore[name-defined]
        Meta(min_length=1),
        limited_by("batch_records_max", unit="records"),
    ]
    return msgspec.defstruct(
        f"{kind.reply.__name__}Batch",
        [("items", items)],
        bases=(Body,),
        namespace={"__doc__": f"Several {kind.noun}s, stored together or not at all."},
        rename="camel",
    )


def routes_for(kind: Kind) -> list[Route]:
    def bind(handler: Callable[..., Any]) -> Callable[..., Any]:
        return partial(handler, kind)

    in_group = "in the group the device was in when the record was stored"
    return [
        Route(
            method="GET",
            path=kind.path,
            handler=bind(list_records),
            permission="record.read",
            object_rule=in_group,
            tag="Records",
            doc=f"""List a device's {kind.noun}s.

            By timestamp, then in order of arrival. `beginDate` is part of the
            range, `endDate` is not; a date alone as `endDate` means to the end of that day.""",
            query=RecordsQuery,
            reply=_connection(kind),
            is_cached=True,
            may_lag=True,
        ),
        Route(
            method="POST",
            path=kind.path,
            handler=store_record,
            build_response=encode_record_result,
            permission="record.create",
            object_rule="in the group of the device",
            tag="Records",
            doc=f"""Store one {kind.noun}.

            The response is sent once the record is committed. The same record sent again is stored
            once and gets the same response, so retrying is safe. `groupId` is optional; if given,
            it must be the group of the device.""",
            body=kind.input,
            reply=kind.reply,
        ),
        Route(
            method="POST",
            path=f"{kind.path}/batch",
            handler=store_batch,
            build_response=encode_batch_result,
            permission="record.create",
            object_rule="in the group of each device",
            tag="Records",
            doc=f"""Store many {kind.noun}s at once.

            All are stored, or none; the error names every invalid item.""",
            body=_batch(kind),
            reply=BatchReturn,
            is_bulk=True,
            is_addition=True,
        ),
        Route(
            method=kind.delete_method,
            path=kind.path,
            handler=bind(delete_records),
            prepare_input=bind(count_archived),
            permission="record.delete",
            object_rule=in_group,
            tag="Records",
            doc=f"""Delete the {kind.noun}s of one timestamp.

            All records of this kind with this `timestamp`.""",
            query=RecordQuery,
            reply=GenericReturnBoolean,
        ),
    ]


ROUTES = [route for kind in KINDS for route in routes_for(kind)] + [
    Route(
        method="DELETE",
        path="/device/data",
        handler=delete_all_records,
        permission="record.delete",
        object_rule="in the groups the device was in when the records were stored",
        tag="Records",
    ),
    Route(
        method="POST",
        path="/device/redecode",
        handler=redecode,
        prepare_input=redecode_batch,
        permission="record.create",
        object_rule="in the groups the device was in when the records were stored, or in groupId",
        tag="Records",
        conflicts="The device type has no decoder.",
        is_addition=True,
    ),
]
