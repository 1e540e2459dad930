"""HTTP callbacks of networks: authenticate, parse, store, and respond with a downlink.

What a message means is the work of `networks`; here it becomes an uplink to store.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any
from urllib.parse import parse_qsl, unquote_plus

import msgspec
from msgspec.structs import replace

from longwire.clock import SECOND, Moment
from longwire.errors import FieldError, LongwireError, NotAuthenticated, NotFound
from longwire.identity.caller_rates import CallerRateLimiter
from longwire.inbound.callback_docs import (
    CHIRPSTACK_DOC,
    LORIOT_DOC,
    STORED_OR_DOWNLINK,
    THINGPARK_DOC,
    TTN_DOC,
    VENDOR_DOCS,
    CallbackDoc,
)
from longwire.inbound.downlinks import PUSH_URL_HEADER, DownlinkService
from longwire.inbound.ingest_requests import KeptContent, ReceivedUplink, encode_kept
from longwire.inbound.unknown_devices import PAYLOAD_CHARACTERS_MAX
from longwire.inbound.uplinks import UplinkStore
from longwire.ingest.requests import IngestRequest, StaleDevice
from longwire.model import Actor
from longwire.networks import chirpstack, loriot, thingpark, ttn, vendor
from longwire.networks.base import (
    CHIRPSTACK,
    LORIOT,
    THINGPARK,
    TTN,
    VENDOR,
    InvalidMessage,
    ParsedUplink,
)
from longwire.networks.bodies import describe_body, parse_body
from longwire.networks.identities import can_be_original_id, original_key
from longwire.prometheus import PrometheusMetrics
from longwire.store.database import Database
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.store.fleet.unknown_devices import UnknownReason
from longwire.store.records.receptions import Reception
from longwire.web.routing import FastPath, Request, Response, Route, bearer_token
from longwire.work.turns import current_caller

GROUP_TOKEN = "the token of a group"
STORED = b'{"message":"stored"}'
# The vendor lets the owner of a callback choose its method.
VENDOR_METHODS = ("POST", "PUT", "GET")
# A larger message is likely to be a batch, which would be parsed twice.
FAST_MESSAGE_BYTES_MAX = 16 * 1024
# So many lines of a batch are stored at once; meanwhile other requests wait.
LINES_AT_ONCE = 50
# No network repeats a message later than this.
REPETITION_S_MAX = 600
REPETITIONS_PER_GROUP_MAX = 1_000
GROUPS_WITH_REPETITIONS_MAX = 1_000

# Of a batch; all of them are in the error.
LINES_NOTED_MAX = 50

# What is kept of a reception besides the body.
MEDIA_TYPE_CHARACTERS_MAX = 128
QUERY_CHARACTERS_MAX = 2_048

Parse = Callable[[Request, bytes], list[ParsedUplink]]


class ArrivalTimes:
    """First arrival of messages that carry no time, but a deduplication key.

    A repetition gets the same time, and so becomes the same record. In this process only, and for
    a limited time. Each group has its own share, so that nobody evicts those of others.
    """

    def __init__(self) -> None:
        self._by_group: dict[str, dict[bytes, Moment]] = {}

    def first_arrival(self, group_id: str, device_id: str, key: str, now: Moment) -> Moment:
        arrivals = self._by_group.pop(group_id, {})
        self._by_group[group_id] = arrivals
        if len(self._by_group) > GROUPS_WITH_REPETITIONS_MAX:
            del self._by_group[next(iter(self._by_group))]
        digest = blake2b(f"{device_id} {key}".encode(), digest_size=16).digest()
        first = arrivals.pop(digest, None)
        at = now if first is None or now - first > REPETITION_S_MAX * SECOND else first
        arrivals[digest] = at
        if len(arrivals) > REPETITIONS_PER_GROUP_MAX:
            del arrivals[next(iter(arrivals))]
        return at


class NetworkCallbacks:
    """Serves the callbacks of networks."""

    def __init__(
        self,
        database: Database,
        uplinks: UplinkStore,
        metrics: PrometheusMetrics,
        downlink_service: DownlinkService,
        rate_limiter: CallerRateLimiter,
        reception_bytes_max: int | None = None,
    ) -> None:
        """`reception_bytes_max` of a body are kept for a trace; None for nothing at all."""
        self._reception_bytes_max = reception_bytes_max
        self._clock = database.context.clock
        self._uplinks = uplinks
        self._metrics = metrics
        self._downlinks = downlink_service
        self._rate_limiter = rate_limiter
        self._arrivals = ArrivalTimes()

    async def authenticate(self, request: Request) -> Actor:
        """The network that sends for a group; what the request costs is the group's."""
        actor = await self._uplinks.authenticate(_group_token(request))
        current_caller.set(actor.caller)
        return actor

    async def handle(self, network: str, parse: Parse, request: Request, body: bytes) -> Response:
        actor = await self.authenticate(request)
        self._rate_limiter.acquire(actor)
        try:
            uplinks = parse(request, body)
        except InvalidMessage as error:
            self._metrics.count_rejected_message(network)
            self._note_invalid(actor, network, request, body, error)
            raise
        if len(uplinks) == 1:
            reception = self._build_reception(request, body, self._clock.now())
            try:
                downlinks = await self._store_uplink(actor, network, request, uplinks[0], reception)
            except LongwireError as error:
                self._note_error(actor, network, uplinks[0], error, _describe(request, body))
                raise
        else:
            await self._require_all_devices(actor, network, uplinks)
            downlinks = await self._store_lines(actor, network, request, uplinks)
        return Response(200, msgspec.json.encode(downlinks) if downlinks else STORED)

    def build_ingest_request(
        self, network: str, parse: Parse, request: Request, body: bytes
    ) -> IngestRequest | None:
        """The records of one message that neither reports on a downlink nor asks for one."""
        actor = self._uplinks.cached_actor(_group_token(request))
        if actor is None or PUSH_URL_HEADER in request.headers:
            return None
        if self._rate_limiter.is_limited(actor):
            return None
        uplinks = parse(request, body)
        if len(uplinks) != 1:
            return None
        uplink = uplinks[0]
        if uplink.wants_downlink or uplink.downlink is not None or uplink.dedup_key is not None:
            return None
        now = self._clock.now()
        reception = self._build_reception(request, body, now)
        return self._uplinks.build_cached(actor, network, uplink, now, reception)

    def _build_reception(
        self, request: Request, body: bytes | None, now: Moment
    ) -> Reception | None:
        """How a message came in; without its body if that is too large, or one of a batch."""
        bytes_max = self._reception_bytes_max
        if bytes_max is None:
            return None
        size = 0 if body is None else len(body)
        media_type = request.headers.get(b"content-type", b"").decode("latin-1")
        return Reception(
            now,
            request.request_id,
            media_type[:MEDIA_TYPE_CHARACTERS_MAX],
            _query_without_token(request.query_string),
            body if size <= bytes_max else None,
            size,
        )

    async def _store_lines(
        self, actor: Actor, network: str, request: Request, uplinks: Sequence[ParsedUplink]
    ) -> Mapping[str, Any]:
        """Store the lines of a batch, some at a time; the downlinks of the response."""
        downlinks: dict[str, Any] = {}
        reception = self._build_reception(request, None, self._clock.now())
        for begin in range(0, len(uplinks), LINES_AT_ONCE):
            some = uplinks[begin : begin + LINES_AT_ONCE]
            for response in await asyncio.gather(
                *(self._store_uplink(actor, network, request, uplink, reception) for uplink in some)
            ):
                downlinks |= response
        return downlinks

    async def _store_uplink(
        self,
        actor: Actor,
        network: str,
        request: Request,
        uplink: ParsedUplink,
        reception: Reception | None,
    ) -> Mapping[str, Any]:
        """Store one message; the downlink of the response, if one was requested."""

        async def store(device: NetworkDevice) -> None:
            received_at = self._received_at(actor, device, uplink)
            received = ReceivedUplink(actor, device, uplink, received_at, reception)
            await self._uplinks.store(received)

        device = await self._uplinks.with_current_device(actor, network, uplink.original_id, store)
        if uplink.downlink is not None:
            await self._downlinks.apply_update(
                network, uplink, device.id, self._sent_at(actor, device, uplink)
            )
        if network == TTN:
            await self._downlinks.save_push_url(request, device.id)
        if uplink.wants_downlink:
            payload = await self._downlinks.fetch_payload(
                uplink, device.id, self._sent_at(actor, device, uplink)
            )
            return vendor.build_response(uplink.original_id, payload)
        return {}

    def _received_at(self, actor: Actor, device: NetworkDevice, uplink: ParsedUplink) -> Moment:
        now = self._clock.now()
        if uplink.dedup_key is None:
            return now
        # Another hardware of the same device may number its messages alike.
        sender = f"{device.id} {uplink.original_id}"
        return self._arrivals.first_arrival(actor.id, sender, uplink.dedup_key, now)

    def _sent_at(self, actor: Actor, device: NetworkDevice, uplink: ParsedUplink) -> Moment:
        sent_at = uplink.sent_at
        return self._received_at(actor, device, uplink) if sent_at is None else sent_at

    async def _require_all_devices(
        self, actor: Actor, network: str, uplinks: Sequence[ParsedUplink]
    ) -> None:
        """Reject a batch as a whole if one of its devices does not exist."""
        field_errors: list[FieldError] = []
        for index, uplink in enumerate(uplinks):
            try:
                await self._uplinks.find_device(actor, network, uplink.original_id)
            except NotFound as error:
                if len(field_errors) < LINES_NOTED_MAX:
                    payload = (uplink.payload or b"")[: PAYLOAD_CHARACTERS_MAX // 2].hex()
                    self._note_error(actor, network, uplink, error, payload)
                field_errors += _errors_of_line(index, error)
        if field_errors:
            raise NotFound(field_errors=field_errors)

    # --- messages that become no records ---

    def _note_invalid(
        self, actor: Actor, network: str, request: Request, body: bytes, error: InvalidMessage
    ) -> None:
        has_device = error.has_device and can_be_original_id(network, error.sent_id)
        self._uplinks.unknown_devices.note(
            actor,
            network,
            error.sent_id,
            UnknownReason.UNKNOWN if has_device else UnknownReason.MALFORMED,
            detail=error.message,
            payload=_describe(request, body),
        )

    def _note_error(
        self,
        actor: Actor,
        network: str,
        uplink: ParsedUplink,
        error: LongwireError,
        payload: str,
    ) -> None:
        self._uplinks.unknown_devices.note_error(
            actor,
            network,
            uplink.original_id,
            error,
            payload=payload,
            content=encode_kept(KeptContent(uplink)),
        )

    # --- routes ---

    def routes(self) -> list[Route]:
        vendor_routes = [
            self._route(
                f"/network/vendor/{kind}", VENDOR, partial(_parse_vendor, kind), doc, method
            )
            for kind, doc in VENDOR_DOCS.items()
            for method in VENDOR_METHODS
        ]
        others = [self._route(f"/network/{each[0]}", *each) for each in _OTHERS]
        return [*vendor_routes, *others]

    def _route(
        self, path: str, network: str, parse: Parse, doc: CallbackDoc, method: str = "POST"
    ) -> Route:
        is_get = method == "GET"
        return Route(
            method,
            path,
            partial(self.handle, network, parse),
            GROUP_TOKEN,
            object_rule="for devices of the group and below",
            tag="Networks",
            doc=doc.text,
            schemes=("groupToken", "groupTokenInQuery"),
            query=doc.build_query() if is_get else doc.query,
            raw_body=None if is_get else doc.body,
            responses=STORED_OR_DOWNLINK,
            statuses=(400, 401, 404, 408, 413, 429, 431, 503),
            authenticate=self.authenticate,
            fast_path=FastPath(
                partial(self.build_ingest_request, network, parse),
                lambda result: STORED,
                FAST_MESSAGE_BYTES_MAX,
                retried=(NotFound, StaleDevice),
            ),
            compresses_itself=True,
            takes_cors=False,
        )


# --- requests ---


def _group_token(request: Request) -> str:
    """From the header; or from the query, for networks that cannot send a header."""
    value = bearer_token(request)
    if not value:
        pairs = parse_qsl(request.query_string.decode("latin-1"))
        tokens = [text for name, text in pairs if name == "token"]
        value = tokens[0].encode("latin-1", "replace") if len(tokens) == 1 else b""
    if not value or b" " in value or not value.isascii():
        raise NotAuthenticated("Send the token of the group as bearer, or as ?token=.")
    return value.decode()


def _query_without_token(query: bytes) -> str:
    if not query:
        return ""
    pairs = query.decode("latin-1").split("&")
    kept = [each for each in pairs if unquote_plus(each.partition("=")[0]) != "token"]
    return "&".join(kept)[:QUERY_CHARACTERS_MAX]


def _describe(request: Request, body: bytes) -> str:
    """What a request says, for people: its body, or else its query."""
    said = body or _query_without_token(request.query_string).encode()
    return describe_body(said, PAYLOAD_CHARACTERS_MAX)


def _parse_values(request: Request, body: bytes) -> dict[str, Any]:
    media_type = request.headers.get(b"content-type", b"").decode("latin-1")
    return parse_body(media_type, body, request.query_string)


def _query_value(request: Request, name: str) -> str | None:
    return dict(parse_qsl(request.query_string.decode("latin-1"))).get(name)


def _parse_vendor(kind: str, request: Request, body: bytes) -> list[ParsedUplink]:
    plain = vendor.parse_plain_data(body) if kind == "data" else None
    if plain is not None:
        return [plain]
    values = _parse_values(request, body)
    if vendor.BATCH in values:
        return _parse_batch(kind, values, _query_value(request, "fields"))
    return [vendor.parse(kind, values)]


def _parse_chirpstack(request: Request, body: bytes) -> list[ParsedUplink]:
    event = _query_value(request, "event") or ""
    return [chirpstack.parse(event, _parse_values(request, body))]


def _parse_loriot(request: Request, body: bytes) -> list[ParsedUplink]:
    return [loriot.parse(_parse_values(request, body), _query_value(request, "encoding"))]


def _parse_message(
    parse: Callable[[Mapping[str, Any]], ParsedUplink], request: Request, body: bytes
) -> list[ParsedUplink]:
    return [parse(_parse_values(request, body))]


def _parse_batch(kind: str, values: Mapping[str, Any], columns: str | None) -> list[ParsedUplink]:
    """The messages of a batch; the errors of all lines are reported at once."""
    uplinks: list[ParsedUplink] = []
    field_errors: list[FieldError] = []
    first: InvalidMessage | None = None
    for index, line in enumerate(vendor.split_batch(values, columns)):
        try:
            uplinks.append(vendor.parse(kind, line))
        except InvalidMessage as error:
            first = first or error
            field_errors += _errors_of_line(index, error)
    if first is not None:
        raise InvalidMessage(
            field_errors=field_errors, sent_id=first.sent_id, has_device=first.has_device
        )
    return _request_downlinks_once(uplinks)


def _request_downlinks_once(uplinks: Sequence[ParsedUplink]) -> list[ParsedUplink]:
    """The response carries one downlink per device, so only the last request of each counts."""
    keys = [original_key(VENDOR, uplink.original_id) for uplink in uplinks]
    last = {key: index for index, key in enumerate(keys) if uplinks[index].wants_downlink}
    return [
        replace(uplink, wants_downlink=last.get(key) == index)
        for index, (key, uplink) in enumerate(zip(keys, uplinks, strict=True))
    ]


def _errors_of_line(index: int, error: LongwireError) -> list[FieldError]:
    return [
        FieldError(f"{vendor.BATCH}[{index}].{each.field}", each.message)
        for each in error.field_errors
    ]


_OTHERS: Sequence[tuple[str, Parse, CallbackDoc]] = (
    (CHIRPSTACK, _parse_chirpstack, CHIRPSTACK_DOC),
    (TTN, partial(_parse_message, ttn.parse), TTN_DOC),
    (LORIOT, _parse_loriot, LORIOT_DOC),
    (THINGPARK, partial(_parse_message, thingpark.parse), THINGPARK_DOC),
)
