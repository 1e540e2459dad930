"""Operations on downlinks, and the part of them that networks drive by callbacks."""

import typing
from collections.abc import Collection
from functools import partial
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Struct, field

from longwire.api.replies import Page, Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import DeviceId, GroupId
from longwire.clock import Moment
from longwire.decoders.base import Encoded, EncodeError, InvalidDecoder
from longwire.errors import BadInput, FieldError, invalid_field
from longwire.fleet import decoding, downlinks
from longwire.fleet.codec_guard import CodecCaller, CodecGuard, require_budget
from longwire.fleet.decoding import Codec
from longwire.model import Downlink as DownlinkValue
from longwire.model import DownlinkState
from longwire.networks.values import parse_hex
from longwire.web.fields import Body, DateText, Id, Paged, Query, words
from longwire.web.routing import Route

# A longer description of a downlink is not kept.
DESCRIPTION_CHARACTERS_MAX = 16_384

DownlinkId = Annotated[Id, Meta(examples=["dwn_vzpeqxr5mxjrq2uy6ct3mlgw"])]
Port = Annotated[
    int,
    Meta(
        ge=1, le=downlinks.PORT_MAX, description="The LoRaWAN port of the payload.", examples=[10]
    ),
]


class Downlink(Shown[DownlinkValue], kw_only=True):
    """A downlink and its state."""

    id: str
    device_id: str
    group_id: str
    payload: str
    data: (
        Annotated[
            dict[str, Any],
            Meta(description="What the payload means, by `decodeDownlink` of the codec."),
        ]
        | None
    ) = None
    port: int | None = None
    is_confirmed: bool = field(name="confirmed")
    state: Annotated[
        str,
        words("DownlinkState", typing.get_args(DownlinkState)),
        Meta(description="`queued`, `sent`, `acknowledged`, `failed`, `expired` or `cancelled`."),
    ]
    detail: Annotated[str, Meta(description="The reason of the state.")] | None = None
    created_at: DateText
    updated_at: DateText
    expires_at: DateText
    created_by: str


class DownlinkConnection(Page[Downlink]):
    """A page of downlinks."""


class DownlinkInput(Body):
    """A downlink to send: either its bytes, or values for the codec of the device type."""

    device_id: DeviceId
    group_id: GroupId | None = None
    payload: (
        Annotated[
            str,
            Meta(
                max_length=2 * downlinks.PAYLOAD_BYTES_MAX,
                description="In hex; exactly 8 bytes on the vendor's network.",
                examples=["deadbeefcafebabe"],
            ),
        ]
        | None
    ) = None
    data: (
        Annotated[
            dict[str, Any], Meta(description="Values that the codec of the device type encodes.")
        ]
        | None
    ) = None
    port: Port | None = None
    confirmed: Annotated[bool, Meta(description="Whether the device must acknowledge it.")] = False
    expires_in: Annotated[
        int, Meta(ge=1, le=downlinks.EXPIRES_MAX_S, description="Seconds until it expires.")
    ] = downlinks.EXPIRES_DEFAULT_S


class DownlinksQuery(Paged, kw_only=True):
    """Downlinks of which device; the group, if given, must be its group."""

    device_id: DeviceId
    group_id: GroupId | None = None


class DownlinkQuery(Query):
    """Which downlink of which device."""

    downlink_id: DownlinkId
    device_id: DeviceId
    group_id: GroupId | None = None
    others: Annotated[
        bool,
        Meta(
            description="Whether everything else in the network's queue of the device may be"
            " cancelled with it, where that can only be emptied as a whole."
        ),
    ] = False


class Payload(Struct, frozen=True):
    """The bytes to send, and the field of the request they come from."""

    bytes: bytes
    port: int | None
    field: str
    data: str | None = None  # JSON: what the codec says that they mean


async def _build_payload(context: AsyncContext, body: DownlinkInput) -> Payload:
    """Get the bytes of the downlink; a codec is slow, so it runs before the transaction."""
    if (body.payload is None) == (body.data is None):
        why = "give this or data" if body.payload is None else "give this or data, not both"
        raise BadInput(
            field_errors=[
                FieldError("payload", why),
                FieldError("data", why.replace("data", "payload")),
            ]
        )
    given = None if body.payload is None else _bytes_of(body.payload)
    device, codec = await context.read(
        lambda tx: downlinks.get_device_codec(tx, context.actor, body.device_id, body.group_id)
    )
    computing = context.services.computing
    is_used_up = computing.codecs.is_budget_used_up(device.group_id)
    needs_no_codec = not codec.downlink_sources or is_used_up
    if given is not None and needs_no_codec:
        return Payload(given, body.port, "payload")  # only its description is missing
    if not codec.exists and not codec.encoder_source:
        raise invalid_field("data", f"needs a codec, and the device type {device.type} has none")
    require_budget(computing.codecs, device.group_id)
    caller = CodecCaller(device.group_id, device.id)
    call = CodecCall(codec, caller, computing.codecs)
    return await computing.threads.run(device.group_id, _run_codec, call, body, given, context.now)


def _bytes_of(text: str) -> bytes:
    try:
        return parse_hex(text)
    except ValueError:
        raise invalid_field("payload", "must be hex digits, two for each byte") from None


class CodecCall(NamedTuple):
    """Which codec is called, for whom, and who says whether it may be."""

    codec: Codec
    caller: CodecCaller
    guard: CodecGuard


def _run_codec(call: CodecCall, body: DownlinkInput, given: bytes | None, at: Moment) -> Payload:
    """Encode the values, if these were given, and decode the payload for those who list it."""
    if given is None:
        encoded = _encode(call, body)
        payload = Payload(encoded.payload, encoded.port or body.port, "data")
    else:
        payload = Payload(given, body.port, "payload")
    codec, caller, guard = call
    described = decoding.describe_downlink(codec, payload.bytes, payload.port, at, caller, guard)
    text = None if described is None else msgspec.json.encode(described).decode()
    if text is None or len(text) > DESCRIPTION_CHARACTERS_MAX:
        return payload
    return msgspec.structs.replace(payload, data=text)


def _encode(call: CodecCall, body: DownlinkInput) -> Encoded:
    codec, caller, guard = call
    try:
        return decoding.encode_downlink(codec, body.data or {}, body.port, caller, guard)
    except EncodeError as error:
        raise invalid_field("data", error.reason) from None
    except InvalidDecoder as error:
        raise invalid_field(
            "data", f"the codec of the device type cannot be used: {error}"
        ) from None


def _show(downlink: DownlinkValue, *, device_id: str) -> Downlink:
    data = None if downlink.data is None else msgspec.json.decode(downlink.data)
    return Downlink.show(downlink, device_id=device_id, data=data)


async def queue_downlink(context: AsyncContext, body: DownlinkInput) -> Downlink:
    """Send a downlink.

    It is queued until the network of the device takes it, or until it expires. Its progress is
    reported by events of the device: `downlinkQueued`, `downlinkSent`, `downlinkAcknowledged`,
    `downlinkFailed`, `downlinkExpired`.
    """
    payload = await _build_payload(context, body)
    draft = downlinks.DownlinkDraft(
        body.device_id,
        body.group_id,
        payload.bytes,
        payload.field,
        payload.port,
        body.confirmed,
        body.expires_in,
        payload.data,
    )
    queued = await context.write(
        lambda tx: downlinks.queue_downlink(tx, context.actor, context.services.dispatch, draft)
    )
    return _show(queued, device_id=body.device_id)


async def cancel_downlink(context: AsyncContext, query: DownlinkQuery) -> Downlink:
    """Cancel a downlink that is queued, or that waits in ChirpStack's queue.

    That queue can only be emptied as a whole. If the device has more in it, nothing is cancelled
    unless `others` is true: then all of them are.
    """
    names = query.downlink_id, query.device_id, query.group_id
    queues = context.services.network_queues
    queued = await context.read(lambda tx: downlinks.find_at_network(tx, context.actor, *names))
    removed: Collection[str] = ()
    if queued is not None and queued.network in queues.networks:
        removed = await queues.remove(queued, with_others=query.others)
    dispatch = context.services.dispatch
    cancelled = await context.write(
        lambda tx: downlinks.cancel_downlink(tx, context.actor, dispatch, *names, removed=removed)
    )
    return _show(cancelled, device_id=query.device_id)


def list_downlinks(context: Context, query: DownlinksQuery) -> DownlinkConnection:
    """List the downlinks of a device.

    Those queued since it is in its current group, newest first.
    """
    page = downlinks.list_downlinks(
        context.tx,
        context.actor,
        query.device_id,
        query.group_id,
        context.page_tokens.page_request(query),
    )
    show = partial(_show, device_id=query.device_id)
    return DownlinkConnection.show(context, query, page, show)


_route = partial(Route, tag="Devices", object_rule="in the group of the device")

ROUTES = [
    _route(
        "POST",
        "/device/downlink",
        queue_downlink,
        downlinks.PERMISSION,
        in_turns=True,
        conflicts="The device has no downlink route, or its queue is full.",
        is_addition=True,
    ),
    _route(
        "DELETE",
        "/device/downlink",
        cancel_downlink,
        downlinks.PERMISSION,
        conflicts="The downlink does not wait any more, or not alone.",
        is_addition=True,
    ),
    _route("GET", "/device/downlinks", list_downlinks, "device.read", is_addition=True),
]
