"""Operations on unknown devices: what was received about ids that no device of a group has."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from msgspec import Meta, field

from longwire.api.fleet.device_shapes import Device, DeviceInput, show_device
from longwire.api.records.records import parse_published_record
from longwire.api.replies import Page, Shown
from longwire.api.services import AsyncContext, Context
from longwire.api.types import GenericReturn, GroupId, GroupPage
from longwire.errors import BadInput, LongwireError, conflicting_field
from longwire.fleet import decoding, devices, unknown_devices
from longwire.fleet.codec_guard import CodecCaller, require_budget
from longwire.fleet.decoding import DecodedData
from longwire.fleet.devices import DeviceDraft
from longwire.fleet.unknown_devices import FirstMessage
from longwire.inbound.ingest_requests import (
    ReceivedUplink,
    build_payload,
    build_published_request,
    build_request,
    decode_kept,
)
from longwire.ingest.requests import IngestRequest
from longwire.ingest.storing import store_requests
from longwire.model import Actor
from longwire.model import Device as DeviceValue
from longwire.store.database import Tx
from longwire.store.fleet.reporting_devices import NetworkDevice
from longwire.store.fleet.unknown_devices import UnknownDevice as UnknownDeviceValue
from longwire.store.fleet.unknown_devices import UnknownReason
from longwire.web.fields import CONVERTER, Count, DateText, InputLimits, Query, words
from longwire.web.routing import Route
from longwire.web.validation import decode_members

_REASON_NAMES = {
    UnknownReason.UNKNOWN: "unknown",
    UnknownReason.MALFORMED: "malformed",
    UnknownReason.OTHER_GROUP: "otherGroup",
    UnknownReason.REJECTED: "rejected",
}


class UnknownDevicePage(GroupPage, kw_only=True):
    """Which group, and which page."""

    subgroups: Annotated[
        bool, Meta(description="With what came with the tokens of the groups below it.")
    ] = False


class Dismissal(Query):
    """Which unknown devices; without network and original id, all of the group."""

    group_id: GroupId
    network: (
        Annotated[str, Meta(max_length=64, description="Only those of this network.")] | None
    ) = None
    original_id: (
        Annotated[
            str, Meta(max_length=128, description="Only this id; 404 if it is not among them.")
        ]
        | None
    ) = None
    subgroups: Annotated[bool, Meta(description="With those of all groups below it.")] = False


class UnknownDevice(Shown[UnknownDeviceValue], kw_only=True):
    """An id that messages with the token of a group were about, and that none of its devices has.

    Or that of a device whose messages cannot be taken, or not be decoded.
    """

    group_id: Annotated[GroupId, Meta(description="The group whose token the messages had.")]
    network: Annotated[
        str,
        Meta(
            description="Empty if an app client of the group has posted records.",
            examples=["chirpstack"],
        ),
    ]
    original_id: Annotated[
        str,
        Meta(
            description="As it was sent last; empty if no id could be found in the message.",
            examples=["0101010101010101"],
        ),
    ]
    first_at: Annotated[DateText, Meta(description="When the first of the messages arrived.")]
    last_at: Annotated[DateText, Meta(description="When the last one did.")]
    messages: Annotated[Count, Meta(description="How many messages arrived.", examples=[42])] = (
        field(name="count")
    )
    reason: Annotated[
        str,
        words("UnknownDeviceReason", _REASON_NAMES.values()),
        Meta(
            description="Of the last message: `unknown`, there is no such device; `malformed`, no"
            " device of the network can have this id, or the message has none; `otherGroup`, a"
            " device has this id, but the token does not reach its group; `rejected`, the device is"
            " known, but the message could not be taken, or its payload not be decoded.",
            examples=["unknown"],
            extra={CONVERTER: _REASON_NAMES.__getitem__},
        ),
    ]
    detail: (
        Annotated[
            str,
            Meta(
                description="What was wrong with the last message.",
                examples=["data: must be base64"],
            ),
        ]
        | None
    ) = None
    payload: (
        Annotated[
            str,
            Meta(
                description="What the last message said: the begin of its body, without keys; or"
                " bytes in hex. Only for callers with `record.read`.",
                examples=['{"deviceInfo":{"devEui":"0101010101010101"},"data":"ChssPQ=="}'],
            ),
        ]
        | None
    ) = None
    has_message: Annotated[
        bool,
        Meta(
            description="Whether the last message is kept as a whole, so that it can become the"
            " first records of the device: see `POST /device/unknown`.",
            examples=[True],
        ),
    ]


class UnknownDeviceConnection(Page[UnknownDevice]):
    """A page of unknown devices."""


def list_unknown_devices(context: Context, query: UnknownDevicePage) -> UnknownDeviceConnection:
    """List unknown devices of a group.

    What networks, MQTT devices and app clients have sent with the token of the group in the last
    days about ids that none of its devices has; and messages of its devices that could not be
    taken. The newest ids first. A message is listed some seconds after it arrived. Of each reason
    there are at most 200 in a group: half of them those that reported last, half of them those
    that reported most often.
    """
    page = unknown_devices.list_unknown_devices(
        context.tx,
        context.actor,
        query.group_id,
        context.page_tokens.page_request(query),
        subgroups=query.subgroups,
    )
    return UnknownDeviceConnection.show(context, query, page, _show)


def dismiss_unknown_devices(context: Context, query: Dismissal) -> GenericReturn:
    """Dismiss unknown devices.

    One, those of a network, or all. One that reports again comes back.
    """
    dismissed = unknown_devices.dismiss(
        context.tx,
        context.actor,
        query.group_id,
        network=query.network,
        original_id=query.original_id,
        subgroups=query.subgroups,
    )
    return GenericReturn(message=f"{dismissed} dismissed.")


def _show(found: UnknownDeviceValue) -> UnknownDevice:
    kept = found.kept
    return UnknownDevice.show(
        found,
        payload=None if kept is None else kept.payload,
        has_message=kept is not None and kept.content is not None,
    )


# --- the first record of a new device ---


@dataclass(frozen=True, slots=True)
class FirstRecord:
    """A message that was kept, and what its payload means."""

    message: FirstMessage
    decoded: DecodedData | None


async def _decode_first(context: AsyncContext, body: DeviceInput) -> FirstRecord:
    """The message that is kept of an id, decoded; a codec is slow, so not in the transaction."""
    group_id, original_id = body.group_id, body.original_id
    message = await context.read(
        lambda tx: unknown_devices.get_first_message(
            tx, context.actor, group_id, body.network, original_id, body.type
        )
    )
    assert message.kept.content is not None
    uplink = decode_kept(message.kept.content).uplink
    payload = None
    if uplink is not None and message.codec.exists:
        payload = build_payload(uplink, message.kept.received_at)
    if payload is None:
        return FirstRecord(message, None)
    caller = CodecCaller(group_id, original_id)
    computing = context.services.computing
    if not message.codec.is_blocking:
        decoders = computing.codecs.decoders
        return FirstRecord(message, decoding.decode_payload(message.codec, payload, decoders))
    require_budget(computing.codecs, group_id)
    decoded = await computing.threads.run(
        group_id,
        decoding.decode_payload_in_thread,
        message.codec,
        payload,
        caller,
        computing.codecs,
    )
    return FirstRecord(message, decoded)


async def create_unknown_device(context: AsyncContext, body: DeviceInput) -> Device:
    """Create an unknown device, with its last message as its first records.

    As `POST /device` creates it; in the same transaction the last message that was received of this
    id becomes records, as if the network had sent it now. 409 if none is kept: use `POST /device`.
    """
    first = await _decode_first(context, body)
    draft = DeviceDraft(body.name, body.type, body.original_id, body.network, body.tags or ())
    return show_device(await context.write(partial(_create, context, body.group_id, draft, first)))


def _create(
    context: AsyncContext, group_id: str, draft: DeviceDraft, first: FirstRecord, tx: Tx
) -> DeviceValue:
    created = devices.create_device(tx, context.actor, group_id, draft)
    request = _build_request(first, created, context.limits)
    (result,), woken = store_requests(tx, [request], context.services.sequencer)
    if isinstance(result, LongwireError):
        raise result
    context.services.dispatch.wake(tx, woken)
    return created


def _build_request(first: FirstRecord, created: DeviceValue, limits: InputLimits) -> IngestRequest:
    kept, sender = first.message.kept, first.message.sender_group
    assert kept.content is not None
    content = decode_kept(kept.content)
    actor = Actor("network", sender, group_id=sender)
    device = NetworkDevice(
        created.id,
        created.type,
        created.configuration or "",
        created.updated_at,
        created.network,
        int(created.group_id),
    )
    if content.uplink is not None:
        received = ReceivedUplink(actor, device, content.uplink, kept.received_at)
        return build_request(received, first.decoded)
    try:
        members = decode_members(content.body, limits)
        return build_published_request(
            actor,
            device,
            content.kind,
            members,
            kept.received_at,
            lambda kind, raw: parse_published_record(limits, kind, raw),
        )
    except BadInput as error:
        raise conflicting_field(
            "original_id", f"the message is no valid record: {error.message}; use POST /device"
        ) from error


ROUTES = [
    Route(
        "GET",
        "/group/unknownDevices",
        list_unknown_devices,
        "device.read",
        tag="Devices",
        object_rule="in the group; record.read for payload",
        is_addition=True,
    ),
    Route(
        "DELETE",
        "/group/unknownDevices",
        dismiss_unknown_devices,
        "device.create",
        tag="Devices",
        object_rule="in the group",
        is_addition=True,
    ),
    Route(
        "POST",
        "/device/unknown",
        create_unknown_device,
        "device.create",
        tag="Devices",
        object_rule="in groupId",
        conflicts="The original id is taken in its network, or no message is kept of it.",
        in_turns=True,
        is_addition=True,
    ),
]
