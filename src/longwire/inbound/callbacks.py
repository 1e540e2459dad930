"""What networks call: their messages become records, by the same way as every other record.

Whoever calls shows the token of a group, and speaks for the devices of that group and below. What
a message means is the business of `networks`; here it becomes a unit for `ingest`.
"""

import asyncio
import functools
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import replace

from longwire.api.downlinks import DownlinkService
from longwire.api.records import KINDS, DecodedDataInput, RecordInput
from longwire.clock import SECOND, Moment
from longwire.dates import format_date
from longwire.decoders.sandbox_pool import PROCESSES_MAX, AsyncSandboxPool
from longwire.errors import FieldError, LongwireError, NotAuthenticated, NotFound
from longwire.fleet import decoding, devices
from longwire.fleet.decoding import Codec, DecodedData, UplinkPayload
from longwire.fleet.records import DIGEST_BYTES
from longwire.identity import groups
from longwire.identity.rate_limiter import RateLimiter
from longwire.ingest import Ingest, IngestItem, IngestRequest, MessageMetadata, StaleDevice
from longwire.model import Actor
from longwire.networks import chirpstack, monitoring, ttn, vendor
from longwire.networks.base import VENDOR, InvalidMessage, ParsedUplink, Reading
from longwire.networks.bodies import parse_body
from longwire.store.database import Database
from longwire.store.devices import NetworkDevice
from longwire.web.openapi import network_document
from longwire.web.prometheus import PrometheusMetrics
from longwire.web.routing import DeferredIngest, PlainRoute, Request, Response, bearer_token

GROUP_TOKEN = "the token of a group"
STORED = b'{"message":"stored"}'
# A device with a longer configuration is looked up every time: there may be very many devices.
REMEMBERED_CHARACTERS_MAX = 1_024
# Nobody repeats a message later than this.
REPETITION_S_MAX = 600
REPETITIONS_MAX = 10_000
# By which The Things Stack tells where messages to a device go.
PUSH = b"x-downlink-push"

_RULE = "for devices of the group and below"
_HEARD: Mapping[str, Any] = {"device": "1FD48BE", "time": 1_794_731_400}
_VENDOR: Mapping[str, Mapping[str, Any]] = {
    "data": {**_HEARD, "data": "0a1b2c3d", "seqNumber": 16, "ack": False},
    "dataAdvanced": {
        **_HEARD,
        "seqNumber": 16,
        "linkQuality": 2,
        "computedLocation": {"lat": 51.95, "lng": 4.14, "radius": 7_800, "source": 2, "status": 1},
    },
    "status": {**_HEARD, "seqNumber": 17, "batt": 3.1, "temp": 21.5},
    "acknowledge": {**_HEARD, "infoCode": 0, "infoMessage": "Acked", "downlinkAck": True},
    "error": {**_HEARD, "severity": "WARN", "info": "No message received since yesterday"},
}
_CHIRPSTACK: Mapping[str, Any] = {
    "deviceInfo": {"devEui": "0101010101010101"},
    "time": "2026-11-15T08:30:00.123456789+00:00",
    "fCnt": 16,
    "fPort": 2,
    "data": "ChssPQ==",
    "rxInfo": [{"gatewayId": "0016c001f153a14c", "rssi": -57, "snr": 10.5}],
}
_TTN: Mapping[str, Any] = {
    "end_device_ids": {"device_id": "crane", "dev_eui": "0202020202020202"},
    "received_at": "2026-11-15T08:30:00.123456789Z",
    "uplink_message": {"f_port": 2, "f_cnt": 16, "frm_payload": "ChssPQ=="},
}
# What a record of each kind is made as, and what of the device it tells.
_MADE_OF: Mapping[str, tuple[int, type[RecordInput], frozenset[str]]] = {
    kind.name: (
        kind.number,
        kind.input,
        frozenset(kind.input.__struct_fields__) & {"configuration", "device_type"},
    )
    for kind in KINDS
}
_COUNTERS = {
    "vendor_uplink": "device_vendor_uplink",
    "vendor_data": "vendor_data_message",
    "vendor_data_advanced": "vendor_data_advanced_message",
}

Read = Callable[[Request, Mapping[str, Any]], ParsedUplink]
# The quick way for the most common body; None for one that it does not know.
Plain = Callable[[bytes], ParsedUplink | None]


class ArrivalTimes:
    """When messages came for the first time that do not tell their time, but by what to know them.

    A repetition is given the same moment, and so is the same record. It is remembered by this
    process alone, and for a while.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Moment] = {}

    def of(self, dedup_key: tuple[str, str], now: Moment) -> Moment:
        known = self._known.pop(dedup_key, None)
        at = now if known is None or now - known > REPETITION_S_MAX * SECOND else known
        self._known[dedup_key] = at
        if len(self._known) > REPETITIONS_MAX:
            del self._known[next(iter(self._known))]
        return at


class NetworkCallbacks:
    """Takes the messages of networks."""

    def __init__(
        self,
        database: Database,
        ingest: Ingest,
        metrics: PrometheusMetrics,
        downlink_service: DownlinkService,
        throttle: RateLimiter | None = None,
    ) -> None:
        self._database = database
        self._desk = downlink_service
        self._ingest = ingest
        self._metrics = metrics
        self._throttle = throttle
        self._arrivals = ArrivalTimes()
        # As many as there are sandboxes to ask.
        self._decoders = ThreadPoolExecutor(PROCESSES_MAX, thread_name_prefix="decoder")
        self.sandboxes = AsyncSandboxPool()

    def close(self) -> None:
        self.sandboxes.stop()
        self._decoders.shutdown(wait=False)

    async def take(self, network: str, read: Read, request: Request, body: bytes) -> Response:
        actor = await self.speaker(_token(request))
        if self._throttle is not None:
            self._throttle.let_in(actor.id)
        try:
            media_type = request.headers.get(b"content-type", b"").decode("latin-1")
            values = parse_body(media_type, body, request.query_string)
            if network == "vendor" and vendor.BATCH in values:
                several = _read_lines(read, request, values)
            else:
                several = [read(request, values)]
        except InvalidMessage:
            self._metrics.nonsense(network)
            raise
        if len(several) == 1:
            downlinks = await self._hear(actor, network, request, several[0])
        else:
            await self._require_all(actor, network, several)
            answers = await asyncio.gather(
                *(self._hear(actor, network, request, heard) for heard in several)
            )
            downlinks = {name: each for answer in answers for name, each in answer.items()}
        return Response(200, msgspec.json.encode(downlinks) if downlinks else STORED)

    async def _hear(
        self, actor: Actor, network: str, request: Request, heard: ParsedUplink
    ) -> Mapping[str, Any]:
        """Store one message; what its network is told to do, if it asked."""
        found = await self.find(actor, network, heard.original_id)
        arrived = self._database.context.clock.now()
        if heard.dedup_key is not None:
            arrived = self._arrivals.of((found.id, heard.dedup_key), arrived)
        try:
            await self.store(actor, heard, found, arrived)
        except (NotFound, StaleDevice):
            # What was remembered of the device is over: it was changed, moved, or made anew.
            found = await self.find(actor, network, heard.original_id, anew=True)
            await self.store(actor, heard, found, arrived)
        await self._desk.hear(network, heard, found.id)
        if network == "ttn":
            await self._desk.learn(request, found.id)
        if heard.wants_downlink:
            downlink = await self._desk.fetch(heard, found.id)
            return vendor.answer(heard.original_id, downlink)
        return {}

    async def _require_all(
        self, actor: Actor, network: str, several: Sequence[ParsedUplink]
    ) -> None:
        """Nothing of several messages is stored if one of their devices is not there."""
        field_errors: list[FieldError] = []
        for index, heard in enumerate(several):
            try:
                await self.find(actor, network, heard.original_id)
            except NotFound as error:
                field_errors += _in_line(index, error)
        if field_errors:
            raise NotFound(field_errors=field_errors)

    def fast_path(
        self, network: str, read: Read, plain: Plain, request: Request, token: str, body: bytes
    ) -> IngestRequest | DeferredIngest | None:
        """A message of a known network about a known device, if nothing has to be looked up."""
        memory = self._database.context.memory
        actor: Actor | None = memory.known("networks", token)
        if actor is None or PUSH in request.headers:
            return None
        media_type = request.headers.get(b"content-type", b"")
        is_plain = media_type == b"application/json" and not request.query_string
        heard = plain(body) if is_plain else None
        if heard is None:
            values = parse_body(media_type.decode("latin-1"), body, request.query_string)
            if vendor.BATCH in values:
                return None
            heard = read(request, values)
        if heard.wants_downlink or heard.downlink is not None or heard.dedup_key is not None:
            return None
        found: NetworkDevice | None = memory.known(
            "heard", (actor.group_id, network, heard.original_id)
        )
        if found is None or not heard.readings:
            return None
        arrived = self._database.context.clock.now()
        if not heard.payload:
            return _unit(actor, heard, found, arrived)
        codec: Codec | None = memory.known(decoding.CODEC_CACHE, found.type)
        if codec is None:
            return None
        if codec.waits:
            return partial(self._decode_soon, actor, codec, heard, found, arrived)
        understood = self._decoded(codec, heard, found, arrived)
        return _decoded_unit(actor, heard, found, arrived, understood)

    def _decoded(
        self, codec: Codec, heard: ParsedUplink, found: NetworkDevice, arrived: Moment
    ) -> DecodedData | None:
        """What the payload says, if there are both a payload and a decoder."""
        payload = _payload(codec, heard, arrived)
        if payload is None:
            return None
        return self._counted(found, decoding.decode_payload(codec, payload))

    def _decode_soon(
        self,
        actor: Actor,
        codec: Codec,
        heard: ParsedUplink,
        found: NetworkDevice,
        arrived: Moment,
        tell: Callable[[IngestRequest | None], None],
    ) -> bool:
        """The same without waiting; the unit is told later."""
        payload = _payload(codec, heard, arrived)
        if payload is None:
            return False

        def told(understood: DecodedData | None) -> None:
            if understood is None:
                tell(None)
                return
            self._counted(found, understood)
            tell(_filled(unit, understood))

        if not decoding.decode_async(codec, payload, self.sandboxes, told):
            return False
        unit = _unit(actor, heard, found, arrived, decodes=True)  # while the sandbox is at work
        if not self._ingest.is_busy:
            self.sandboxes.glance()
        return True

    def _counted(self, found: NetworkDevice, understood: DecodedData) -> DecodedData:
        if understood.failure is not None:
            self._metrics.undecoded(found.type)
        return understood

    async def store(
        self, actor: Actor, heard: ParsedUplink, found: NetworkDevice, arrived: Moment
    ) -> None:
        """All that a message says of a device, however it came; returns after the commit."""
        understood = await self._understand(heard, found, arrived)
        unit = _decoded_unit(actor, heard, found, arrived, understood)
        if unit.items:
            await self._ingest.store(unit)

    async def _understand(
        self, heard: ParsedUplink, found: NetworkDevice, arrived: Moment
    ) -> DecodedData | None:
        """What the payload says by the decoder of the device's type."""
        if not heard.payload:
            return None
        codec: Codec | None = self._database.context.memory.known(decoding.CODEC_CACHE, found.type)
        if codec is None:
            codec = await self._database.read(lambda tx: decoding.get_codec(tx, found.type))
        work = partial(self._decoded, codec, heard, found, arrived)
        if codec.waits:
            return await asyncio.get_running_loop().run_in_executor(self._decoders, work)
        return work()

    async def find(
        self, actor: Actor, network: str, original_id: str, *, anew: bool = False
    ) -> NetworkDevice:
        """The device that a network speaks of, from memory unless it is to be looked up anew.

        Storing compares what was remembered with what is, so it may be old without harm.
        """
        memory = self._database.context.memory
        key = (actor.group_id, network, original_id)
        known: NetworkDevice | None = None if anew else memory.known("heard", key)
        if known is None:
            generation = memory.generation
            known = await self._database.read(
                lambda tx: devices.find_reporting_device(tx, actor, network, original_id)
            )
            if len(known.configuration) <= REMEMBERED_CHARACTERS_MAX:
                memory.keep("heard", key, known, since=generation)
        return known

    async def speaker(self, token: str) -> Actor:
        """The network that speaks for a group, by the token of the group alone."""
        context = self._database.context
        known: Actor | None = context.memory.known("networks", token)
        if known is None:
            generation = context.memory.generation
            digest = context.keyring.digest(token)
            known = await self._database.read(lambda tx: groups.authenticate_network(tx, digest))
            context.memory.keep("networks", token, known, since=generation)
        return known

    def routes(self) -> list[PlainRoute]:
        def route(
            path: str,
            network: str,
            read: Read,
            summary: str,
            example: Mapping[str, Any],
            parameters: Sequence[dict[str, Any]] = (),
            plain: Plain = _never_plain,
        ) -> PlainRoute:
            handler: Callable[[Request, bytes], Awaitable[Response]] = partial(
                self.take, network, read
            )
            return PlainRoute(
                method="POST",
                path=path,
                handler=handler,
                fast_path=partial(self.fast_path, network, read, plain),
                stored_body=STORED,
                permission=GROUP_TOKEN,
                object_rule=_RULE,
                tag="Networks",
                document=network_document(summary, example, parameters),
            )

        return [
            *(
                route(
                    f"/network/vendor/{kind}",
                    "vendor",
                    partial(_read_vendor, kind),
                    f"Take a message of the vendor's network: {kind}",
                    example,
                    plain=vendor.read_plain if kind == "data" else _never_plain,
                )
                for kind, example in _VENDOR.items()
            ),
            route(
                "/network/chirpstack",
                "chirpstack",
                _read_chirpstack,
                "Take an event of ChirpStack's HTTP integration",
                _CHIRPSTACK,
                [
                    {
                        "name": "event",
                        "in": "query",
                        "required": True,
                        "description": "What the message is; ChirpStack adds it.",
                        "schema": {"type": "string", "enum": list(chirpstack.EVENTS)},
                        "example": "up",
                    }
                ],
            ),
            route(
                "/network/ttn",
                "ttn",
                _read_ttn,
                "Take a message of a webhook of The Things Stack",
                _TTN,
            ),
        ]


def _never_plain(body: bytes) -> None:
    return None


def _read_vendor(kind: str, request: Request, values: Mapping[str, Any]) -> ParsedUplink:
    return vendor.read(kind, values)


def _read_chirpstack(request: Request, values: Mapping[str, Any]) -> ParsedUplink:
    event = dict(parse_qsl(request.query_string.decode("latin-1"))).get("event", "")
    return chirpstack.read(event, values)


def _read_ttn(request: Request, values: Mapping[str, Any]) -> ParsedUplink:
    return ttn.read(values)


def _read_lines(read: Read, request: Request, values: Mapping[str, Any]) -> list[ParsedUplink]:
    """Several messages in one; all that is wrong with any of them is named by its line."""
    columns = dict(parse_qsl(request.query_string.decode("latin-1"))).get("fields")
    several: list[ParsedUplink] = []
    field_errors: list[FieldError] = []
    for index, said in enumerate(vendor.lines(values, columns)):
        try:
            several.append(read(request, said))
        except InvalidMessage as error:
            field_errors += _in_line(index, error)
    if field_errors:
        raise InvalidMessage(field_errors=field_errors)
    return _asking_once(several)


def _asking_once(several: Sequence[ParsedUplink]) -> list[ParsedUplink]:
    """The answer has room for one message to each device, so the last that asks for one gets it."""
    keys = [devices.original_key(VENDOR, heard.original_id) for heard in several]
    last = {key: index for index, key in enumerate(keys) if several[index].wants_downlink}
    return [
        replace(heard, wants_downlink=last.get(key) == index)
        for index, (key, heard) in enumerate(zip(keys, several, strict=True))
    ]


def _in_line(index: int, error: LongwireError) -> list[FieldError]:
    return [
        FieldError(f"{vendor.BATCH}[{index}].{each.field}", each.message)
        for each in error.field_errors
    ]


def _token(request: Request) -> str:
    """From the header, as everywhere; or from the query, where a network can send no header."""
    value = bearer_token(request)
    if not value:
        asked = parse_qsl(request.query_string.decode("latin-1"))
        given = [text for name, text in asked if name == "token"]
        value = given[0].encode("latin-1", "replace") if len(given) == 1 else b""
    if not value or b" " in value or not value.isascii():
        raise NotAuthenticated("Send the token of the group as bearer, or as ?token=.")
    return value.decode()


def _payload(codec: Codec, heard: ParsedUplink, arrived: Moment) -> UplinkPayload | None:
    """What there is to decode, if there are both a payload and a decoder."""
    if not codec.exists or not heard.payload:
        return None
    for reading in heard.readings:
        if reading.kind == "data":
            at = arrived if reading.ts is None else reading.ts
            return UplinkPayload(reading.fields["data"], heard.payload, heard.port, at)
    return None


def _decoded_unit(
    actor: Actor,
    heard: ParsedUplink,
    found: NetworkDevice,
    now: Moment,
    understood: DecodedData | None,
) -> IngestRequest:
    if understood is None:
        return _unit(actor, heard, found, now)
    return _filled(_unit(actor, heard, found, now, decodes=True), understood)


def _filled(unit: IngestRequest, understood: DecodedData) -> IngestRequest:
    """The unit with what its payload says."""
    for item in unit.items:
        if isinstance(item.draft, DecodedDataInput):
            item.draft.data = _encode(understood.data).decode()
            item.draft.decoded_names = understood.names
    return unit


def _unit(
    actor: Actor, heard: ParsedUplink, found: NetworkDevice, now: Moment, *, decodes: bool = False
) -> IngestRequest:
    readings = heard.readings
    items = [_item(reading, found, now, decodes=decodes) for reading in readings]
    said_at = None
    for reading in readings:
        if reading.ts is not None and (said_at is None or reading.ts > said_at):
            said_at = reading.ts
    metadata = MessageMetadata(
        found.id,
        _counters(heard.counts),
        heard.battery,
        said_at,
        found.updated_at,
        heard.sequence if _is_numbered(heard) else None,
        monitoring.MODULI.get(found.network, 0),
        heard.resets_sequence,
    )
    return IngestRequest(actor, items, is_batch=False, metadata=metadata)


@functools.cache
def _counters(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_COUNTERS[name] for name in names)


def _is_numbered(heard: ParsedUplink) -> bool:
    """Whether it has a number of its own, and does not only speak of another message."""
    return bool(heard.payload is not None or "vendor_uplink" in heard.counts)


def _item(reading: Reading, found: NetworkDevice, now: Moment, *, decodes: bool) -> IngestItem:
    """A record of the kind, recognised again by what the network said and by nothing else."""
    number, make, tells = _MADE_OF[reading.kind]
    if decodes and reading.kind == "data":
        make = DecodedDataInput
    fields = reading.fields.copy()
    data = fields.get("data")
    if data is not None or reading.kind == "data":
        fields["data"] = _encode(data or {}).decode()
    if "configuration" in tells:
        fields["configuration"] = found.configuration
    if "device_type" in tells:
        fields["device_type"] = found.type
    ts = now if reading.ts is None else reading.ts
    draft = make(device_id=found.id, timestamp=format_date(ts), **fields)
    said = _encode_sorted((reading.kind, reading.fields))
    return IngestItem(number, ts, hashlib.blake2b(said, digest_size=DIGEST_BYTES).digest(), draft)


_encode = msgspec.json.Encoder().encode
_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
