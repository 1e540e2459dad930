"""The four kinds of records on the wire: one set of handlers, four lines of data.

The record POSTs and their batches do not run an operation of their own: the door hands what they
bring to `ingest`, which commits many of them together. A stored record is kept in the form it is
answered in, so that a list is put together without looking into it.
"""

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field

from longwire.api.users import GenericReturn, GenericReturnBoolean
from longwire.clock import Moment
from longwire.dates import date_text, end_of, moment_of
from longwire.errors import BadInput, Fault, wrong
from longwire.fleet import records, redecoding
from longwire.fleet.redecoding import Reread, Wanted
from longwire.ingest import Item, Stored, Unit
from longwire.model import Actor
from longwire.store.database import Database
from longwire.web.page_tokens import PageSeal
from longwire.web.routing import Call, Route
from longwire.web.validation import (
    Body,
    DateIn,
    DateQuery,
    DateText,
    GroupId,
    Int64,
    Name,
    Paged,
    Query,
    Reply,
    moment,
    up_to,
)

DeviceId = Annotated[
    str, Meta(min_length=1, max_length=128, examples=["dev_vzpeqxr5mxjrq2uy6ct3mlgw"])
]
Word = Annotated[str, Meta(max_length=256)]
LongText = Annotated[str, Meta(max_length=262_144)]
Raw = Annotated[LongText, Meta(examples=["0a1b2c3d"])]
Json = Annotated[LongText, Meta(examples=['{"temperature":21.5}'])]


class RecordInput(Body, kw_only=True, omit_defaults=True, gc=False):
    """A record as it is sent; completed, it is also the record as it is stored and answered."""

    device_id: DeviceId
    timestamp: DateIn
    group_id: Annotated[GroupId, Meta(description="If given, the device's group.")] | None = None

    def item(self, kind: int) -> Item:
        """Ready to be stored: with one spelling of its moment, and a digest of its content."""
        ts = moment("timestamp", self.timestamp)
        self.timestamp = date_text(ts)
        claimed, self.group_id = self.group_id, None
        return Item(kind, ts, self._digest(), self, claimed)

    def finished(self, group_id: str, device_name: str) -> str:
        self.group_id = group_id
        return msgspec.json.encode(self).decode()

    def _digest(self) -> bytes:
        return hashlib.blake2b(msgspec.json.encode(self), digest_size=records.DIGEST_BYTES).digest()


class DeviceDataInput(RecordInput, kw_only=True, omit_defaults=True, gc=False):
    """A data record to store."""

    data: Json
    configuration: LongText
    raw: Raw = field(name="__raw")
    device_type: Word
    mode: Word | None = None
    reason: Word | None = None
    device_name: Name | None = None

    def finished(self, group_id: str, device_name: str) -> str:
        if self.device_name is None:
            self.device_name = device_name
        self.group_id = group_id
        return msgspec.json.encode(self).decode()

    def _digest(self) -> bytes:
        # The name may be filled in later, so it is no part of what makes two records the same.
        sent, self.device_name = self.device_name, None
        digest = RecordInput._digest(self)
        self.device_name = sent
        return digest


class DecodedDataInput(DeviceDataInput, kw_only=True, omit_defaults=True, gc=False):
    """A data record whose payload was decoded here, which no caller sends."""

    decoded_names: list[str] | None = None


class DeviceEventInput(RecordInput, kw_only=True, omit_defaults=True, gc=False):
    """An event to store."""

    type: Annotated[str, Meta(min_length=1, max_length=256, examples=["doorOpened"])]
    device_type: Word | None = None
    message: LongText | None = None
    data: Json | None = None
    severity: Word | None = None


class DeviceGeolocInput(RecordInput, kw_only=True, omit_defaults=True, gc=False):
    """A geolocation to store."""

    status: Int64 | None = None
    source: Int64 | None = None
    radius: Int64 | None = None
    lat: Annotated[float, Meta(ge=-90, le=90)] | None = None
    lng: Annotated[float, Meta(ge=-180, le=180)] | None = None
    location: LongText | None = None
    data: Json | None = None
    raw: Raw | None = field(default=None, name="__raw")


class DeviceTelemetryInput(RecordInput, kw_only=True, omit_defaults=True, gc=False):
    """A telemetry record to store."""

    device_type: Word
    duplicates: Annotated[list[LongText], Meta(max_length=1_000)] | None = None
    data: Json | None = None
    score: Int64 | None = None
    # Written with a small s, read back with a capital one; the latter is taken on the way in too.
    stations_small: Int64 | None = field(default=None, name="nbBs")
    stations: Int64 | None = field(default=None, name="nbBS")
    rc: Int64 | None = None

    def item(self, kind: int) -> Item:
        if self.stations_small is not None:
            if self.stations not in (None, self.stations_small):
                raise wrong("nbBs", "differs from nbBS; send one of them")
            self.stations, self.stations_small = self.stations_small, None
        return RecordInput.item(self, kind)


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
    """How well a device was heard."""

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
    """Whose records, of which time, in which order."""

    device_id: DeviceId
    begin_date: DateQuery | None = None
    end_date: DateQuery | None = None
    ascending: Annotated[bool, Meta(description="false for the newest first.")] | None = None


class RecordQuery(Query):
    """Which device, and which instant."""

    device_id: DeviceId
    timestamp: DateQuery


class AllRecords(Body):
    """Whose records to delete."""

    device_id: DeviceId


class BatchReturn(Reply):
    """What became of a batch."""

    message: str
    stored: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record: its name, how the interface words it, and its oddities."""

    name: str
    noun: str
    input: type[RecordInput]
    reply: type[Reply]
    removed_by: str

    @property
    def number(self) -> int:
        return records.KINDS.index(self.name)

    @property
    def path(self) -> str:
        return f"/device/{self.name}"


KINDS = (
    Kind("data", "data record", DeviceDataInput, DeviceData, "PUT"),  # the interface deletes by PUT
    Kind("event", "event", DeviceEventInput, DeviceEvent, "DELETE"),
    Kind("geoloc", "geolocation", DeviceGeolocInput, DeviceGeoloc, "DELETE"),
    Kind("telemetry", "telemetry record", DeviceTelemetryInput, DeviceTelemetry, "DELETE"),
)


def period(
    begin: str | float | None, end: str | float | None
) -> tuple[Moment | None, Moment | None]:
    """A range of dates: its begin is part of it, its end is not."""
    found: dict[str, Moment] = {}
    faults: list[Fault] = []
    for name, text, meant in (("begin_date", begin, moment_of), ("end_date", end, end_of)):
        if text is not None:
            try:
                found[name] = meant(text)
            except ValueError as error:
                faults.append(Fault(name, str(error)))
    if faults:
        raise BadInput(faults=faults)
    since, until = found.get("begin_date"), found.get("end_date")
    if since is not None and until is not None and since > until:
        raise wrong("begin_date", "lies after endDate")
    return since, until


def list_records(kind: Kind, call: Call, query: RecordsQuery) -> msgspec.Raw:
    begin, end = period(query.begin_date, query.end_date)
    keeps_days = call.keeps_days.get(kind.name, 0)
    oldest = records.oldest_kept(keeps_days, call.tx.now)
    if oldest is not None:
        begin = oldest if begin is None else max(begin, oldest)
    page = records.page(
        call.tx,
        call.actor,
        kind.name,
        query.device_id,
        begin,
        end,
        call.pages.open(query),
        ascending=query.ascending is not False,
    )
    token = call.pages.close(query, page)
    more = f',"nextToken":"{token}"' if token else ""
    answer = f'{{"items":[{page.text}]{more}}}'.encode()
    until = records.kept_until(keeps_days, page.oldest)
    call.tx.remember(call.question, answer, device_number=page.device_number, until=until)
    return msgspec.Raw(answer)


def take_one(kind: Kind, actor: Actor, body: RecordInput) -> Unit:
    return Unit(actor, [body.item(kind.number)], is_batch=False)


def take_batch(kind: Kind, actor: Actor, body: Any) -> Unit:
    items: list[Item] = []
    faults: list[Fault] = []
    number = kind.number
    for index, draft in enumerate(body.items):
        try:
            items.append(draft.item(number))
        except BadInput as error:
            place = f"items[{index}]."
            faults += [replace(fault, field=place + fault.field) for fault in error.faults]
    if faults:
        raise BadInput(faults=faults)
    return Unit(actor, items, is_batch=True)


def answer_one(stored: Stored) -> bytes:
    return stored.bodies[0].encode()


def answer_batch(stored: Stored) -> bytes:
    number = len(stored.bodies) - stored.duplicates
    return msgspec.json.encode(
        BatchReturn(
            message=f"{number} stored, {stored.duplicates} were there before.",
            stored=number,
            duplicates=stored.duplicates,
        )
    )


def delete_at(kind: Kind, call: Call, query: RecordQuery) -> GenericReturnBoolean:
    ts = moment("timestamp", query.timestamp)
    number = records.delete_at(call.tx, call.actor, kind.name, query.device_id, ts)
    return GenericReturnBoolean(message=f"{number} deleted.", value=True)


def delete_all(call: Call, body: AllRecords) -> GenericReturn:
    """Delete all records of a device.

    Data, events, geolocations and telemetry, as far as you may delete them. Counters stay.
    """
    counts = records.delete_all(call.tx, call.actor, body.device_id)
    return GenericReturn(
        message="Deleted " + ", ".join(f"{number} {kind}" for kind, number in counts.items()) + "."
    )


# --- reading payloads again ---

REDECODE = "postDeviceRedecode"
REDECODE_DEFAULT = 100


class RedecodeInput(Body):
    """Whose payloads to decode again, and of which time: of a device, or of a group's devices."""

    device_id: DeviceId | None = None
    group_id: (
        Annotated[GroupId, Meta(description="With deviceId, the group that it is in.")] | None
    ) = None
    device_type: (
        Annotated[Name, Meta(description="Only devices that are of this type now.")] | None
    ) = None
    begin_date: DateIn | None = None
    end_date: DateIn | None = None
    limit: (
        Annotated[
            Annotated[int, Meta(ge=1, description="Look at so many records at most.")],
            up_to("page_items_max", unit="items"),
        ]
        | None
    ) = None
    next_token: Annotated[str, Meta(description="The nextToken of the answer before.")] | None = (
        None
    )


class RedecodeReturn(Reply):
    """What became of some records; with a nextToken there are more."""

    message: str
    looked_at: int
    changed: int
    skipped: Annotated[int, Meta(description="Without a payload, or with data of another form.")]
    failed: Annotated[int, Meta(description="Not understood by the decoder, and left alone.")]
    failure: Annotated[str, Meta(description="Why the first of these failed.")] | None = None
    next_token: str | None = None


async def read_again(database: Database, actor: Actor, body: RedecodeInput) -> Reread:
    """Find some records and decode them, while no transaction waits for it."""
    wanted = _wanted(body)
    pages = PageSeal(database.tools.keyring, actor, REDECODE, REDECODE_DEFAULT)
    request = pages.open(body)
    piece = await database.read(lambda tx: redecoding.find(tx, actor, wanted, request))
    return await asyncio.to_thread(redecoding.read_again, piece)


def redecode(call: Call, body: RedecodeInput, reread: Reread) -> RedecodeReturn:
    """Decode stored payloads again.

    Reads `__raw` of data records by the decoder that the type of the device has now. What an
    earlier decoding had put into `data` gives way; all else of the record stays as it is, and
    connectors are not told. A record that the decoder cannot read is left alone. One call looks at
    some records and answers with a `nextToken` as long as there are more.
    """
    changed = redecoding.keep(call.tx, call.actor, reread)
    return RedecodeReturn(
        message=f"{changed} of {reread.looked_at} records changed.",
        looked_at=reread.looked_at,
        changed=changed,
        skipped=reread.skipped,
        failed=reread.failed,
        failure=reread.failure,
        next_token=call.pages.close(body, reread),
    )


def _wanted(body: RedecodeInput) -> Wanted:
    if body.device_id is None and body.group_id is None:
        raise BadInput(
            faults=[
                Fault("device_id", "is required, or else groupId"),
                Fault("group_id", "is required, or else deviceId"),
            ]
        )
    begin, end = period(body.begin_date, body.end_date)
    return Wanted(body.device_id, body.group_id, body.device_type, begin, end)


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
        up_to("batch_records_max", unit="records"),
    ]
    return msgspec.defstruct(
        f"{kind.reply.__name__}Batch",
        [("items", items)],
        bases=(Body,),
        namespace={"__doc__": f"Several {kind.noun}s, stored together or not at all."},
        rename="camel",
    )


def routes_for(kind: Kind) -> list[Route]:
    def handled(handler: Callable[..., Any]) -> Callable[..., Any]:
        return partial(handler, kind)

    in_group = "in the group the device was in when the record was stored"
    return [
        Route(
            method="GET",
            path=kind.path,
            handler=handled(list_records),
            needs="record.read",
            rule=in_group,
            tag="Records",
            about=f"""List a device's {kind.noun}s.

            By timestamp, those of one instant in order of arrival. `beginDate` is part of the
            range, `endDate` is not; a date alone as `endDate` means to the end of that day.""",
            query=RecordsQuery,
            reply=_connection(kind),
            is_remembered=True,
        ),
        Route(
            method="POST",
            path=kind.path,
            handler=handled(take_one),
            answers=answer_one,
            needs="record.create",
            rule="in the group of the device",
            tag="Records",
            about=f"""Store one {kind.noun}.

            The answer comes when it is on the disk. The same record sent again is stored once and
            answered alike, so retrying is safe. `groupId` can be left out; if given, it must be
            the group of the device.""",
            body=kind.input,
            reply=kind.reply,
        ),
        Route(
            method="POST",
            path=f"{kind.path}/batch",
            handler=handled(take_batch),
            answers=answer_batch,
            needs="record.create",
            rule="in the group of each device",
            tag="Records",
            about=f"""Store many {kind.noun}s at once.

            All are stored, or none; every wrong item is named.""",
            body=_batch(kind),
            reply=BatchReturn,
            is_bulk=True,
            is_addition=True,
        ),
        Route(
            method=kind.removed_by,
            path=kind.path,
            handler=handled(delete_at),
            needs="record.delete",
            rule=in_group,
            tag="Records",
            about=f"""Delete the {kind.noun}s of one instant.

            Everything of this kind that the device said at `timestamp`.""",
            query=RecordQuery,
            reply=GenericReturnBoolean,
        ),
    ]


ROUTES = [route for kind in KINDS for route in routes_for(kind)] + [
    Route(
        method="DELETE",
        path="/device/data",
        handler=delete_all,
        needs="record.delete",
        rule="in the groups the device was in when the records were stored",
        tag="Records",
    ),
    Route(
        method="POST",
        path="/device/redecode",
        handler=redecode,
        prepares=read_again,
        needs="record.create",
        rule="in the groups the device was in when the records were stored, or in groupId",
        tag="Records",
        conflicts="The device type has no decoder.",
        is_addition=True,
    ),
]
