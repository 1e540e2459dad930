"""Operations on the four kinds of records: one set of handlers, four lines of data.

Record POSTs and batches do not run in a transaction of their own: they are passed to `ingest`,
which commits many together. Records are stored in the form of
the response, so that a list is concatenated without decoding them.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire.api.records.record_fields import parse_fields
from longwire.api.records.record_shapes import (
    AllRecords,
    BatchReturn,
    DeviceData,
    DeviceDataInput,
    DeviceEvent,
    DeviceEventInput,
    DeviceGeoloc,
    DeviceGeolocInput,
    DeviceTelemetry,
    DeviceTelemetryInput,
    RecordInput,
    RecordQuery,
    RecordsQuery,
)
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GenericReturn, GenericReturnBoolean, parse_period
from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.dates import format_date
from longwire.errors import BadInput, FieldError
from longwire.fleet import records
from longwire.ingest.requests import IngestItem, IngestRequest, IngestResult
from longwire.model import Actor
from longwire.records import ArrivalSource, digest_record
from longwire.store.archive.archive_reads import (
    NeedsArchive,
    convert_result,
    read_with_archive,
)
from longwire.store.records.record_pages import RecordPage
from longwire.web.fields import Body, InputLimits, Reply, limited_by, parse_date_field
from longwire.web.routing import FastPath, Route
from longwire.web.validation import decode_body

# A batch with more is prepared in steps of so many, of a millisecond or two.
ITEMS_PER_STEP = 100
# A larger one is not taken at once.
FAST_BATCH_BYTES_MAX = 32 * 1024


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


def list_records(
    kind: Kind, context: Context, query: RecordsQuery
) -> msgspec.Raw | NeedsArchive[msgspec.Raw]:
    begin, end = parse_period(query.begin_date, query.end_date)
    selection = parse_fields(query.fields, [kind.name]).get(kind.name)
    found = records.list_records(
        context.tx,
        context.actor,
        kind.name,
        query.device_id,
        begin,
        end,
        context.page_tokens.page_request(query),
        ascending=query.ascending is not False,
    )

    def build_response(listed: tuple[RecordPage, Moment]) -> msgspec.Raw:
        page, valid_until = listed
        token = context.page_tokens.next_token(query, page)
        more = f',"nextToken":"{token}"' if token else ""
        items = page.text if selection is None else selection.select_all(page.text)
        response = f'{{"items":[{items}]{more}}}'.encode()
        context.response_cache.put(
            context.tx,
            context.cache_key,
            response,
            device_number=page.device_number,
            valid_until=valid_until,
        )
        return msgspec.Raw(response)

    return convert_result(found, build_response)


async def store_record(context: AsyncContext, body: RecordInput) -> msgspec.Raw:
    request = build_record_request(context.actor, body)
    return msgspec.Raw(encode_record_result(await context.services.ingest.store(request)))


def build_record_request(actor: Actor, body: RecordInput) -> IngestRequest:
    return IngestRequest(actor, [build_item(body)], is_batch=False)


def build_item(sent: RecordInput) -> IngestItem:
    ts = parse_date_field("timestamp", sent.timestamp)
    record = sent.to_record(format_date(ts))
    return IngestItem(record, ts, digest_record(record), sent.group_id)


def parse_published_record(limits: InputLimits, kind_name: str, raw: bytes) -> IngestItem:
    """A record that does not arrive by HTTP, validated in the same way."""
    return build_item(decode_body(raw, _INPUTS[kind_name], limits))


def is_large(body: Any) -> bool:
    return len(body.items) > ITEMS_PER_STEP


async def store_batch(context: AsyncContext, body: Any) -> msgspec.Raw:
    items = BatchItems()
    for begin in range(0, len(body.items), ITEMS_PER_STEP):
        if begin:
            await asyncio.sleep(0)  # the event loop serves others
        items.add(body.items[begin : begin + ITEMS_PER_STEP])
    stored = await context.services.ingest.store(items.build_request(context.actor))
    return msgspec.Raw(encode_batch_result(stored))


def build_batch_request(actor: Actor, body: Any) -> IngestRequest:
    items = BatchItems()
    items.add(body.items)
    return items.build_request(actor)


class BatchItems:
    """The items of a batch, and what is invalid in it."""

    def __init__(self) -> None:
        self._items: list[IngestItem] = []
        self._count = 0
        self._field_errors: list[FieldError] = []

    def add(self, given: Sequence[RecordInput]) -> None:
        for index, sent in enumerate(given, start=self._count):
            try:
                self._items.append(build_item(sent))
            except BadInput as error:
                place = f"items[{index}]."
                self._field_errors += [
                    replace(each, field=place + each.field) for each in error.field_errors
                ]
        self._count += len(given)

    def build_request(self, actor: Actor) -> IngestRequest:
        if self._field_errors:
            raise BadInput(field_errors=self._field_errors)
        source = ArrivalSource.BATCH.value
        return IngestRequest(actor, self._items, is_batch=True, source=source)


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


async def delete_records(
    kind: Kind, context: AsyncContext, query: RecordQuery
) -> GenericReturnBoolean:
    ts = parse_date_field("timestamp", query.timestamp)
    which = (context.actor, kind.name, query.device_id, ts)
    archived = 0
    if context.database.context.archive is not None:  # which is not read in a transaction
        archived = await read_with_archive(
            context.database, lambda tx: records.count_archived_at(tx, *which)
        )
    number = await context.write(lambda tx: records.delete_records_at(tx, *which, archived))
    return GenericReturnBoolean(message=f"{number} deleted.", value=True)


def delete_all_records(context: Context, body: AllRecords) -> GenericReturn:
    """Delete all records of a device.

    Data, events, geolocations and telemetry, as far as the caller may delete them. Counters are
    unchanged.
    """
    counts = records.delete_all_records(context.tx, context.actor, body.device_id)
    return GenericReturn(
        message="Deleted " + ", ".join(f"{number} {kind}" for kind, number in counts.items()) + "."
    )


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
            fast_path=FastPath(build_record_request, encode_record_result),
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
            in_turns=is_large,
            fast_path=FastPath(build_batch_request, encode_batch_result, FAST_BATCH_BYTES_MAX),
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
            in_turns=True,
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
]
