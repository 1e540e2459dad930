"""Messages to devices on the wire."""

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from longwire.api.records import DeviceId
from longwire.clock import Moment
from longwire.dates import date_text
from longwire.decoders.base import BadDecoder, CannotEncode, Encoded
from longwire.decoders.catalogue import decoder_of
from longwire.delivery.channels import Dispatch
from longwire.delivery.egress import Egress
from longwire.errors import BadInput, Fault, wrong
from longwire.fleet import downlinks
from longwire.fleet.decoding import Codec
from longwire.model import Actor
from longwire.model import Downlink as DownlinkValue
from longwire.networks.base import Heard
from longwire.networks.bodies import bytes_of_hex
from longwire.store import downlinks as store
from longwire.store.database import Database
from longwire.web.routing import Call, Request, Route
from longwire.web.validation import Body, DateText, GroupId, Id, Paged, Query, Reply

DownlinkId = Annotated[Id, Meta(examples=["dwn_vzpeqxr5mxjrq2uy6ct3mlgw"])]
Port = Annotated[
    int,
    Meta(
        ge=1,
        le=downlinks.PORT_MAX,
        description="The port of the payload, on networks of LoRaWAN.",
        examples=[10],
    ),
]


class Downlink(Reply, kw_only=True):
    """A message to a device, and how far it has come."""

    id: str
    device_id: str
    group_id: str
    payload: str
    port: int | None = None
    confirmed: bool
    state: Annotated[
        str,
        Meta(description="`queued`, `sent`, `acknowledged`, `failed`, `expired` or `cancelled`."),
    ]
    detail: Annotated[str, Meta(description="How it came to that.")] | None = None
    created_at: DateText
    updated_at: DateText
    expires_at: DateText
    created_by: str


class DownlinkConnection(Reply):
    """A page of messages to a device."""

    items: list[Downlink]
    next_token: str | None = None


class DownlinkInput(Body):
    """A message to send: either its bytes, or values for the codec of the device's type."""

    device_id: DeviceId
    group_id: GroupId | None = None
    payload: (
        Annotated[
            str,
            Meta(
                max_length=2 * downlinks.PAYLOAD_BYTES_MAX,
                description="In hex; on the vendor's network exactly 8 bytes.",
                examples=["deadbeefcafebabe"],
            ),
        ]
        | None
    ) = None
    data: (
        Annotated[
            dict[str, Any],
            Meta(description="Values that the codec of the device's type turns into bytes."),
        ]
        | None
    ) = None
    port: Port | None = None
    confirmed: Annotated[bool, Meta(description="Whether the device is to confirm it.")] = False
    expires_in: Annotated[
        int,
        Meta(
            ge=1,
            le=downlinks.EXPIRES_MAX_S,
            description="Seconds after which it is not sent any more.",
        ),
    ] = downlinks.EXPIRES_DEFAULT_S


class DownlinksQuery(Paged, kw_only=True):
    """Messages to which device; the group, if given, must be its group."""

    device_id: DeviceId
    group_id: GroupId | None = None


class DownlinkQuery(Query):
    """Which message to which device."""

    downlink_id: DownlinkId
    device_id: DeviceId
    group_id: GroupId | None = None


class Payload(Struct, frozen=True):
    """The bytes that go out, and what they were given as."""

    bytes: bytes
    port: int | None
    field: str


async def prepare(database: Database, actor: Actor, body: DownlinkInput) -> Payload:
    """The bytes of the message. A codec takes its time, so it is asked with no transaction open."""
    if (body.payload is None) == (body.data is None):
        why = "give this or data" if body.payload is None else "give this or data, not both"
        raise BadInput(
            faults=[Fault("payload", why), Fault("data", why.replace("data", "payload"))]
        )
    if body.payload is not None:
        return Payload(_bytes_of(body.payload), body.port, "payload")
    type_name, codec = await database.read(
        lambda tx: downlinks.codec_for(tx, actor, body.device_id, body.group_id)
    )
    if not codec.exists:
        raise wrong("data", f"needs a codec, and the device type {type_name} has none")
    encoded = await asyncio.to_thread(_encoded, codec, body.data or {}, body.port)
    return Payload(encoded.payload, encoded.port or body.port, "data")


def _bytes_of(text: str) -> bytes:
    try:
        return bytes_of_hex(text)
    except ValueError:
        raise wrong("payload", "must be hex digits, two for each byte") from None


def _encoded(codec: Codec, values: Mapping[str, Any], port: int | None) -> Encoded:
    try:
        return decoder_of(codec.kind, codec.source).encode(values, port)
    except CannotEncode as error:
        raise wrong("data", error.reason) from None
    except BadDecoder as error:
        raise wrong("data", f"the codec of the device type cannot be used: {error}") from None


def downlink_wire(downlink: DownlinkValue, device_id: str) -> Downlink:
    return Downlink(
        id=downlink.id,
        device_id=device_id,
        group_id=downlink.group_id,
        payload=downlink.payload,
        port=downlink.port,
        confirmed=downlink.is_confirmed,
        state=downlink.state,
        detail=downlink.detail,
        created_at=date_text(downlink.created_at),
        updated_at=date_text(downlink.updated_at),
        expires_at=date_text(downlink.expires_at),
        created_by=downlink.created_by,
    )


def queue_downlink(call: Call, body: DownlinkInput, payload: Payload) -> Downlink:
    """Send a message to a device.

    It waits until the network of the device takes it, or until its time is over. How far it is, is
    told by events of the device: `downlinkQueued`, `downlinkSent`, `downlinkAcknowledged`,
    `downlinkFailed`, `downlinkExpired`.
    """
    wish = downlinks.Wish(
        body.device_id,
        body.group_id,
        payload.bytes,
        payload.field,
        payload.port,
        body.confirmed,
        body.expires_in,
    )
    return downlink_wire(downlinks.queue(call.tx, call.actor, call.dispatch, wish), body.device_id)


def cancel_downlink(call: Call, query: DownlinkQuery) -> Downlink:
    """Take back a message to a device, while it waits."""
    taken_back = downlinks.cancel(
        call.tx,
        call.actor,
        call.dispatch,
        query.downlink_id,
        query.device_id,
        query.group_id,
    )
    return downlink_wire(taken_back, query.device_id)


def list_downlinks(call: Call, query: DownlinksQuery) -> DownlinkConnection:
    """List the messages to a device.

    Those that were sent since it is in its group, the newest first.
    """
    page = downlinks.in_order(
        call.tx, call.actor, query.device_id, query.group_id, call.pages.open(query)
    )
    return DownlinkConnection(
        items=[downlink_wire(each, query.device_id) for each in page.items],
        next_token=call.pages.close(query, page),
    )


# --- what networks fetch and tell, in messages of their own ---

URL_CHARACTERS_MAX = 2_048
KEY = re.compile(r"[\x21-\x7e]{1,4096}")
# How long a network may wait whose news has overtaken its answer.
ANSWER_WAIT_S = 0.2
ANSWER_WAITS_MAX = 10


class Desk:
    """Where messages to devices are handed out, and what became of them is heard."""

    def __init__(self, database: Database, dispatch: Dispatch, egress: Egress) -> None:
        self._database = database
        self._dispatch = dispatch
        self._egress = egress

    async def fetch(self, heard: Heard, device_id: str) -> str | None:
        """The payload that answers a message of a device; it counts as sent from here on."""
        reference = downlinks.reference_of(_said_at(heard), heard.sequence)
        if not await self._database.read(lambda tx: store.has_something(tx, device_id, reference)):
            return None
        return await self._database.write(
            lambda tx: downlinks.fetch(tx, self._dispatch, device_id, reference)
        )

    async def hear(self, network: str, heard: Heard, device_id: str) -> None:
        """Note what became of a message, if that is what a network tells."""
        news = heard.downlink
        if news is None:
            return
        for _ in range(ANSWER_WAITS_MAX):
            prospect = await self._database.read(
                lambda tx: downlinks.prospect(tx, network, device_id, news)
            )
            if prospect != "coming":
                break
            await asyncio.sleep(ANSWER_WAIT_S)
        if prospect == "known":
            said = downlinks.Said(_said_at(heard), heard.sequence)
            await self._database.write(
                lambda tx: downlinks.hear(tx, self._dispatch, network, device_id, news, said)
            )

    async def learn(self, request: Request, device_id: str) -> None:
        """Keep where messages to a device go, if a network tells and it is not what we know."""
        url = request.headers.get(b"x-downlink-push", b"").decode("latin-1")
        key = request.headers.get(b"x-downlink-apikey", b"").decode("latin-1")
        if not KEY.fullmatch(key) or not 0 < len(url) <= URL_CHARACTERS_MAX:
            return
        if not downlinks.is_link_usable(url, self._egress):
            return  # the message is not refused for that; the next message to the device is
        if await self._database.read(lambda tx: downlinks.is_link_wanted(tx, device_id, url, key)):
            await self._database.write(lambda tx: downlinks.keep_link(tx, device_id, url, key))


def _said_at(heard: Heard) -> Moment:
    return next((each.ts for each in heard.readings if each.ts is not None), 0)


_IN_GROUP = "in the group of the device"

ROUTES = [
    Route(
        method="POST",
        path="/device/downlink",
        handler=queue_downlink,
        prepares=prepare,
        needs=downlinks.PERMISSION,
        rule=_IN_GROUP,
        tag="Devices",
        conflicts="There is no way to the device, or too much waits for it.",
        is_addition=True,
    ),
    Route(
        method="DELETE",
        path="/device/downlink",
        handler=cancel_downlink,
        needs=downlinks.PERMISSION,
        rule=_IN_GROUP,
        tag="Devices",
        conflicts="The message does not wait any more.",
        is_addition=True,
    ),
    Route(
        method="GET",
        path="/device/downlinks",
        handler=list_downlinks,
        needs="device.read",
        rule=_IN_GROUP,
        tag="Devices",
        is_addition=True,
    ),
]
