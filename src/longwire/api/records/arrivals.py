"""The operation that lists what arrived in a group, and the shape of an arrival."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from longwire.api.records.record_fields import FieldSelection, RecordFields, parse_fields
from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, GroupId, RecordKindName
from longwire.dates import format_date, parse_date
from longwire.errors import invalid_field
from longwire.fleet import arrivals
from longwire.fleet.arrivals import (
    LOOKED_AT_MAX,
    ArrivalSelection,
    LedgerScan,
)
from longwire.ids import format_record_id, parse_record_id
from longwire.records import KIND_NAMES, SOURCE_NAMES
from longwire.store.records.arrival_numbers import (
    AFTER_ANY_ARRIVAL,
    BEFORE_ANY_ARRIVAL,
    arrival_moment,
    first_seq,
)
from longwire.store.records.arrived_records import ArrivedRecord
from longwire.web.fields import Count, DateText, Paged, Reply, words
from longwire.web.routing import Route

_OPERATION = "getGroupRecords"
_SCHEMAS = "#/components/schemas/"
_RECORDS = ("DeviceData", "DeviceEvent", "DeviceGeoloc", "DeviceTelemetry")

KindName = Annotated[Literal["data", "event", "geoloc", "telemetry"], Meta(title="RecordKind")]
Kinds = Annotated[
    list[KindName],
    Meta(
        min_length=1,
        max_length=4,
        description="Only these kinds of records; may be repeated.",
        examples=[["data", "event"]],
    ),
]
FilterText = Annotated[
    str,
    Meta(
        max_length=8_192,
        description="Only records for which this expression is true; the language is that of a "
        "connector's `messageFilter`.",
        examples=["message.data.celsius > 8"],
    ),
]
Cursor = Annotated[
    str,
    Meta(
        max_length=64,
        description="The `id` of an arrival, which is not listed itself; or a date.",
        examples=["rec_65b9a1d5e2f8001"],
    ),
]
RecordId = Annotated[
    str,
    Meta(
        description="Identifies the record; greater for what arrived later.",
        examples=["rec_65b9a1d5e2f8001"],
    ),
]


class Arrival(Reply, kw_only=True):
    """A record, and how it came in."""

    id: RecordId
    arrived_at: Annotated[DateText, Meta(description="When the record was stored.")]
    kind: Annotated[RecordKindName, Meta(description="The kind of the record.")]
    device_name: Annotated[
        str,
        Meta(
            description="The current name of the device; absent if it has left the group.",
            examples=["Cold room"],
        ),
    ] = ""
    source: Annotated[
        str,
        Meta(
            description="How it came in: `api`, `batch`, `mqtt`, the name of a network, or "
            "`system` for an event of the service itself.",
            examples=["chirpstack"],
        ),
        words("ArrivalSource", SOURCE_NAMES),
    ]
    record: Annotated[
        msgspec.Raw,
        Meta(
            description="As the list of its kind has it.",
            extra_json_schema={"anyOf": [{"$ref": _SCHEMAS + name} for name in _RECORDS]},
        ),
    ]


class ArrivalConnection(Reply, kw_only=True):
    """A page of arrivals."""

    items: list[Arrival]
    next_token: str | None = None
    looked_at: Annotated[
        Count,
        Meta(
            description=f"How many arrivals were looked at for this page, at most {LOOKED_AT_MAX}.",
            examples=[500],
        ),
    ]


class ArrivalsQuery(Paged, kw_only=True):
    """Which arrivals, and which page."""

    group_id: GroupId
    subgroups: (
        Annotated[bool, Meta(description="Include the groups below, 1,000 at most.")] | None
    ) = None
    device_id: DeviceId | None = None
    kinds: Kinds | None = None
    filter: FilterText | None = None
    before: Cursor | None = None
    after: Cursor | None = None
    ascending: (
        Annotated[bool, Meta(description="Oldest first; by default newest first.")] | None
    ) = None
    fields: RecordFields | None = None


def encode_arrival(
    arrived: ArrivedRecord, selections: Mapping[str, FieldSelection] | None = None
) -> Arrival:
    """With some members of the record, if its kind has a selection."""
    row = arrived.row
    kind, body = KIND_NAMES[row.kind], row.encoded.body
    selection = (selections or {}).get(kind)
    return Arrival(
        id=format_record_id(row.seq),
        arrived_at=format_date(arrival_moment(row.seq)),
        kind=kind,
        device_name=arrived.device.name,
        source=SOURCE_NAMES[row.source],
        record=msgspec.Raw((body if selection is None else selection.select(body)).encode()),
    )


def parse_cursor(field: str, text: str | None, default: int) -> int:
    """The `seq` before or after which arrivals are listed."""
    if text is None:
        return default
    seq = parse_record_id(text)
    if seq is not None:
        return min(seq, AFTER_ANY_ARRIVAL)
    try:
        moment = parse_date(text)
    except ValueError as error:
        raise invalid_field(field, f"is neither the id of an arrival nor a date: {error}") from None
    # A date is part of what comes after it.
    return first_seq(moment) - (1 if field == "after" else 0)


def _selection(query: ArrivalsQuery) -> ArrivalSelection:
    return ArrivalSelection(
        (query.group_id,),
        query.subgroups is True,
        query.device_id,
        frozenset(query.kinds or KIND_NAMES),
        arrivals.parse_filter(query.filter),
        parse_cursor("after", query.after, BEFORE_ANY_ARRIVAL),
        parse_cursor("before", query.before, AFTER_ANY_ARRIVAL),
        query.ascending is True,
    )


async def _find_arrivals(context: AsyncContext, query: ArrivalsQuery) -> LedgerScan:
    """Read and filter in short steps, so that neither a transaction nor a thread is held long."""
    selection = _selection(query)
    request = context.page_tokens.page_request(query)
    scope = await context.read(lambda tx: arrivals.open_scope(tx, context.actor, selection))
    scan = LedgerScan(
        None if request.after is None else int(request.after[0]),
        request.limit,
        is_filtered=selection.expression is not None,
    )
    while not scan.is_done:
        step = await arrivals.read_step(context.database, scope, scan)
        matched, evaluated = step.records, len(step.records)
        if selection.expression is not None and step.records:
            computing = context.services.computing
            matched, evaluated = await computing.threads.run(
                scope.group_id, arrivals.filter_step, scope, step.records, computing.scans
            )
        scan.add(step, matched, evaluated)
        if evaluated < len(step.records):
            arrivals.require_progress(evaluated, scan)
            break
    return scan


async def list_arrivals(context: AsyncContext, query: ArrivalsQuery) -> ArrivalConnection:
    """List what arrived in a group.

    The records of all devices in order of arrival, newest first, whatever their timestamps are. A
    page looks at 5,000 arrivals at most, so that one with `kinds`, `deviceId` or `filter` may have
    fewer items than `limit`, or none, although there are more: follow `nextToken`. Records that
    were deleted or have expired are not listed.
    """
    selections = parse_fields(query.fields, query.kinds or KIND_NAMES)
    scan = await _find_arrivals(context, query)
    return ArrivalConnection(
        items=[encode_arrival(each, selections) for each in scan.found],
        looked_at=scan.looked_at,
        next_token=context.page_tokens.next_token(query, scan),
    )


ROUTES = [
    Route(
        "GET",
        "/group/records",
        list_arrivals,
        "record.read",
        in_turns=True,
        object_rule="in the group, which the device may have left",
        tag="Records",
        may_lag=True,
        is_addition=True,
    )
]
