"""The stream of what happens in some groups, as Server-Sent Events."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from longwire.api.delivery.alarms import STATES, AlarmId, SeverityName
from longwire.api.records.arrivals import (
    Arrival,
    FilterText,
    Kinds,
    RecordId,
    encode_arrival,
)
from longwire.api.records.record_fields import FieldSelection, RecordFields, parse_fields
from longwire.api.replies import Shown
from longwire.api.services import AsyncContext
from longwire.api.types import DeviceId, GroupId
from longwire.dates import format_date
from longwire.errors import BadInput, LongwireError
from longwire.fleet import arrivals
from longwire.fleet.arrivals import ArrivalScope, ArrivalSelection
from longwire.ids import format_record_id
from longwire.live.activity import Activity
from longwire.live.cursors import LiveCursor, parse_cursor
from longwire.live.hub import Listener, LiveHub, LiveRecord, LostRecords
from longwire.model import Actor
from longwire.records import KIND_NAMES
from longwire.store.notifications.alarms import Alarm, get_state
from longwire.web.errors import get_code
from longwire.web.fields import Count, DateText, Query, Reply, words
from longwire.web.routing import Route, Stream, StreamResponse

MEDIA_TYPE = "text/event-stream"
LISTENERS_PER_CALLER_MAX = 8
FRAME_INTERVAL_S = 0.1
HEARTBEAT_S = 15.0
CHECK_INTERVAL_S = 1.0
CHUNK_BYTES = 64 * 1024
# Proxies that buffer responses would hold the events back.
_HEADERS = ((b"x-accel-buffering", b"no"),)

_DETAILS = {
    "not_authenticated": "The token or the session has ended.",
    "not_found": "You have no access to one of the groups any more, or it was deleted.",
    "not_allowed": "You do not have the permission record.read in one of the groups any more.",
}

_encode = msgspec.json.Encoder().encode


class LiveQuery(Query):
    """What to listen to."""

    group_id: Annotated[
        list[GroupId],
        Meta(
            min_length=1,
            max_length=20,
            description="The groups; may be repeated, up to 20 times.",
            examples=[["880148294221312"]],
        ),
    ]
    subgroups: (
        Annotated[bool, Meta(description="Include the groups below, 1,000 in all.")] | None
    ) = None
    device_id: DeviceId | None = None
    kinds: Kinds | None = None
    filter: FilterText | None = None
    fields: RecordFields | None = None


class LiveHello(Reply, kw_only=True):
    """The data of `hello`: everything that arrives after `from` follows."""

    time: DateText
    from_: Annotated[RecordId, Meta(description="A cursor, as the `id` of later events.")] = (
        msgspec.field(name="from")
    )


class LiveLost(Reply, kw_only=True):
    """The data of `lost`: `GET /group/records` has them with `after=from` and `before=to`."""

    count: Annotated[Count | None, Meta(description="How many; absent if nobody counted them.")] = (
        None
    )
    from_: RecordId = msgspec.field(name="from")
    to: RecordId


class LiveChanged(Reply, kw_only=True):
    """The data of `changed`: ids of objects that were changed; up to 1,000 of each kind."""

    devices: Annotated[list[str] | None, Meta(description="Where `device.read` is held.")] = None
    connectors: Annotated[list[str] | None, Meta(description="Where `connector.read` is held.")] = (
        None
    )
    groups: Annotated[list[str] | None, Meta(description="Where `group.read` is held.")] = None


class LiveDeliveries(Reply, kw_only=True):
    """An item of `deliveries`: what became of messages since the last one, usually a second ago."""

    connector_id: Annotated[str, Meta(description="The connector.")]
    succeeded: Annotated[int, Meta(description="Messages that were delivered.", examples=[12])]
    failed: Annotated[int, Meta(description="Messages that were given up.", examples=[0])]
    waiting: Annotated[
        int, Meta(description="Messages that are queued or in flight, up to 10,000.", examples=[3])
    ]


class LiveAlarm(Shown[Alarm], kw_only=True):
    """An item of `alarms`: an alarm that was raised, acknowledged or resolved; up to 1,000."""

    alarm_id: AlarmId
    group_id: Annotated[str, Meta(description="The group of the device or the connector.")]
    notification_id: Annotated[str, Meta(description="Whose alarm it is.")]
    reason: Annotated[str, Meta(description="Of the notification.", examples=["measurement"])]
    device_id: Annotated[str | None, Meta(description="What it is about.")] = None
    connector_id: Annotated[str | None, Meta(description="What it is about.")] = None
    severity: SeverityName
    state: Annotated[
        str,
        words("AlarmState", STATES),
        Meta(description="What it is since then.", examples=["raised"]),
    ]


class LiveExpired(Reply):
    """The data of `expired`, the last event."""

    code: Annotated[
        str,
        Meta(
            description="`not_authenticated`: the token or session has ended; `not_found` or "
            "`not_allowed`: a permission was taken away; `stopping`: the service stops; others "
            "as in errors.",
            examples=["stopping"],
        ),
    ]
    detail: str


class _Ended(Exception):
    """Why a stream has to end."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail


class LiveEndpoint:
    """Serves the stream."""

    def __init__(self, hub: LiveHub, listeners_max: int) -> None:
        self._hub = hub
        self._listeners_max = listeners_max

    def routes(self) -> list[Route]:
        return [
            Route(
                "GET",
                "/live",
                self.open,
                "record.read",
                object_rule="in each of the groups",
                tag="Records",
                is_addition=True,
                stream=Stream(
                    LISTENERS_PER_CALLER_MAX,
                    self._listeners_max,
                    (MEDIA_TYPE,),
                    events=_EVENTS,
                    heartbeat_s=HEARTBEAT_S,
                    example=_EXAMPLE,
                ),
            )
        ]

    async def open(self, context: AsyncContext, query: LiveQuery) -> StreamResponse:
        """Follow what arrives in some groups.

        A stream of Server-Sent Events, which goes on until the client leaves. Records are sent
        after their commit, in at most ten events a second; with several processes, those that
        another one stores follow within a second. After a disconnect, send the `id` of the last
        event in the header `Last-Event-ID`, as browsers do: the stream goes on behind it.
        """
        selection = ArrivalSelection(
            tuple(dict.fromkeys(query.group_id)),
            query.subgroups is True,
            query.device_id,
            frozenset(query.kinds or KIND_NAMES),
            arrivals.parse_filter(query.filter),
            ascending=True,
        )
        last_id = context.request.headers.get(b"last-event-id", b"").decode("latin-1").strip()
        cursor = parse_cursor(last_id) if last_id else None
        if last_id and cursor is None:
            raise BadInput("The header Last-Event-ID is not the id of an event of this stream.")
        fields = parse_fields(query.fields, query.kinds or KIND_NAMES)
        stream = _LiveStream(self._hub, context, selection, fields)
        self._hub.require_room(await stream.authorize(context.actor))
        return StreamResponse(stream.chunks(cursor), MEDIA_TYPE, _HEADERS)


class _LiveStream:
    """One response."""

    def __init__(
        self,
        hub: LiveHub,
        context: AsyncContext,
        selection: ArrivalSelection,
        fields: Mapping[str, FieldSelection],
    ) -> None:
        self._fields = fields
        self._hub = hub
        self._context = context
        self._selection = selection
        self._auth_cache = context.database.context.caches.auth
        self._generation = -1
        self._scope: ArrivalScope | None = None
        self._checked_at = time.monotonic()

    # --- permissions ---

    async def authorize(self, actor: Actor) -> ArrivalScope:
        """What the caller may see now."""
        self._generation = self._auth_cache.generation
        self._scope = await self._context.database.read(
            lambda tx: arrivals.open_scope(tx, actor, self._selection)
        )
        return self._scope

    async def _check(self, listener: Listener) -> None:
        """End if the caller may not listen any more; at once when permissions have changed."""
        if self._context.stopping.is_set():
            raise _Ended("stopping", "The service stops; connect again.")
        has_changed = self._generation != self._auth_cache.generation
        now = time.monotonic()
        if not has_changed and now - self._checked_at < CHECK_INTERVAL_S:
            return
        self._checked_at = now
        try:
            actor = await self._context.reauthenticate()
            if has_changed:
                self._hub.change_scope(listener, await self.authorize(actor))
        except LongwireError as error:
            code = get_code(error)
            raise _Ended(code, _DETAILS.get(code, error.message)) from error

    # --- events ---

    async def chunks(self, cursor: LiveCursor | None) -> AsyncGenerator[bytes, None]:
        assert self._scope is not None
        listener, missed, lost = await self._hub.open(self._scope, cursor)
        try:
            now = self._context.now
            begin = listener.advance((), 0)
            hello = LiveHello(time=format_date(now), from_=begin)
            yield _event("hello", hello, begin if cursor is None else None)
            if lost is not None:
                yield _event("lost", _lost(lost), begin)
            for chunk in self._frame(listener, missed, listener.settled):
                yield chunk
            async for chunk in self._follow(listener):
                yield chunk
        except _Ended as end:
            yield _event("expired", LiveExpired(code=end.code, detail=end.detail))
        finally:
            self._hub.remove(listener)

    async def _follow(self, listener: Listener) -> AsyncGenerator[bytes, None]:
        taken_at = sent_at = time.monotonic()
        while True:
            if await self._wait(listener):
                await asyncio.sleep(max(0.0, taken_at + FRAME_INTERVAL_S - time.monotonic()))
            taken_at = time.monotonic()
            settled = self._hub.settled
            taken, lost = listener.take()
            records = await self._filter(listener, taken)
            await self._check(listener)
            if lost is not None:
                yield _event("lost", _lost(lost))
            for event in _activity_events(listener.take_activity()):
                sent_at = time.monotonic()
                yield event
            for chunk in self._frame(listener, records, settled):
                sent_at = time.monotonic()
                yield chunk
            if time.monotonic() - sent_at >= HEARTBEAT_S:
                sent_at = time.monotonic()
                yield _heartbeat(listener.advance((), settled))

    async def _wait(self, listener: Listener) -> bool:
        """Whether there is something for the listener within a second."""
        try:
            async with asyncio.timeout(CHECK_INTERVAL_S):
                await listener.has_something.wait()
        except TimeoutError:
            return False
        return True

    async def _filter(
        self, listener: Listener, records: Sequence[LiveRecord]
    ) -> Sequence[LiveRecord]:
        if self._selection.expression is None:
            return records
        by_seq = {each.seq: each for each in records}
        matched = await self._hub.filter(listener.scope, [each.arrived for each in records])
        return [by_seq[each.row.seq] for each in matched]

    def _frame(
        self, listener: Listener, records: Sequence[LiveRecord], settled: int
    ) -> Sequence[bytes]:
        """An event with records, in chunks of moderate size."""
        cursor = listener.advance([each.seq for each in records], settled)
        if not records:
            return ()
        items = b",".join([self._encode_record(each) for each in records])
        frame = b"event: records\nid: %s\ndata: [%s]\n\n" % (cursor.encode(), items)
        return [frame[at : at + CHUNK_BYTES] for at in range(0, len(frame), CHUNK_BYTES)]

    def _encode_record(self, record: LiveRecord) -> bytes:
        """All of it once for all listeners."""
        if self._fields:
            return _encode(encode_arrival(record.arrived, self._fields))
        if record.encoded is None:
            record.encoded = _encode(encode_arrival(record.arrived))
        return record.encoded


def _activity_events(activity: Activity) -> Iterator[bytes]:
    if activity.changed:
        ids = {f"{kind}s": sorted(each) for kind, each in activity.changed.items()}
        yield _event("changed", LiveChanged(**ids))
    if activity.alarms:
        yield _event("alarms", [_show_alarm(each) for each in activity.alarms])
    if activity.deliveries:
        items = [
            LiveDeliveries(
                connector_id=connector_id,
                succeeded=each.succeeded,
                failed=each.failed,
                waiting=each.waiting,
            )
            for connector_id, each in sorted(activity.deliveries.items())
        ]
        yield _event("deliveries", items)


def _show_alarm(alarm: Alarm) -> LiveAlarm:
    return LiveAlarm.show(alarm, alarm_id=alarm.id, state=get_state(alarm))


def _event(name: str, data: Reply | Sequence[Reply], cursor: str | None = None) -> bytes:
    line = b"" if cursor is None else b"id: %s\n" % cursor.encode()
    return b"event: %s\n%sdata: %s\n\n" % (name.encode(), line, _encode(data))


def _heartbeat(cursor: str) -> bytes:
    """A comment, and an id without data, which browsers keep without an event."""
    return b": heartbeat\nid: %s\n\n" % cursor.encode()


def _lost(lost: LostRecords) -> LiveLost:
    return LiveLost(
        count=lost.count,
        from_=format_record_id(max(lost.after, 0)),
        to=format_record_id(lost.before),
    )


_EXAMPLE = """event: hello
id: rec_65b9a1d5e2f8001
data: {"time":"2026-11-15T08:30:00.000Z","from":"rec_65b9a1d5e2f8001"}

event: records
id: rec_65b9a1d5e301401
data: [{"id":"rec_65b9a1d5e301401","arrivedAt":"2026-11-15T08:30:00.412Z","kind":"data",\
"deviceName":"Cold room","source":"chirpstack","record":{"deviceId":"dev_vzpeqxr5mxjrq2uy6ct3ml"}}]

"""
_EVENTS: Mapping[str, Any] = {
    "hello": LiveHello,
    "records": list[Arrival],
    "changed": LiveChanged,
    "deliveries": list[LiveDeliveries],
    "alarms": list[LiveAlarm],
    "lost": LiveLost,
    "expired": LiveExpired,
}
