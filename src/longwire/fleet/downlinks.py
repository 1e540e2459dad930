"""Downlinks: queue, list and cancel messages to devices.

The vendor's network fetches downlinks in the responses to its callbacks; to the other networks the
delivery engine sends them.
"""

import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace

import msgspec

from longwire.clock import MILLISECOND, SECOND, Moment
from longwire.dates import format_date
from longwire.delivery import channels
from longwire.delivery.channels import DispatchContext
from longwire.errors import BadInput, Conflict, FieldError, NotAllowed, not_found
from longwire.fleet import decoding, downlink_grants, downlink_queues
from longwire.fleet.decoding import Codec
from longwire.fleet.downlink_apis import DOWNLINK_APIS
from longwire.fleet.downlink_queues import QueuedAtNetwork
from longwire.fleet.downlink_states import (
    advance,
    build_event,
    cancel_delivery,
    get_channel,
)
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import (
    Actor,
    Device,
    Downlink,
    Page,
    PageRequest,
)
from longwire.networks.base import TTN, VENDOR
from longwire.networks.lorawan import is_eui
from longwire.networks.vendor import DOWNLINK_BYTES
from longwire.store.database import Tx
from longwire.store.fleet import devices as store_devices
from longwire.store.fleet import downlinks as store
from longwire.store.identity import audit

PERMISSION = "device.downlink"
NETWORKS = (VENDOR, TTN, *DOWNLINK_APIS)
QUEUED_MAX = 100  # for one device
PORT_MAX = 223  # LoRaWAN reserves those above
PAYLOAD_BYTES_MAX = 242  # the LoRaWAN maximum at the highest data rate
EXPIRES_DEFAULT_S = 86_400
EXPIRES_MAX_S = 30 * 86_400


@dataclass(frozen=True, slots=True)
class DownlinkDraft:
    """A downlink to queue; `field` is the request field that the payload came from."""

    device_id: str
    group_id: str | None
    payload: bytes
    field: str = "payload"
    port: int | None = None
    is_confirmed: bool = False
    expires_s: int = EXPIRES_DEFAULT_S
    data: str | None = None  # JSON: what the codec says that the payload means


def get_device_codec(
    tx: Tx, actor: Actor, device_id: str, group_id: str | None
) -> tuple[Device, Codec]:
    """A device that the actor may send to, and the codec of its type."""
    device = _get_target_device(tx, actor, device_id, group_id)
    return device, decoding.get_codec(tx, device.type)


def queue_downlink(
    tx: Tx, actor: Actor, dispatch: DispatchContext, draft: DownlinkDraft
) -> Downlink:
    """Queue a downlink: until the network fetches it, or for delivery to the network."""
    device = _get_target_device(tx, actor, draft.device_id, draft.group_id)
    _require_route(tx, device, dispatch)
    _validate_payload(device, draft)
    if store.count_queued(tx, device.number, device.group_id) >= QUEUED_MAX:
        raise Conflict(f"{QUEUED_MAX} downlinks are queued for this device already.")
    downlink = Downlink(
        id=new_id("dwn"),
        device_number=device.number,
        group_id=device.group_id,
        payload=draft.payload.hex(),
        data=draft.data,
        port=None if device.network == VENDOR else draft.port,
        is_confirmed=draft.is_confirmed,
        state="queued",
        detail=None,
        reference=None,
        seq=None,
        created_at=tx.now,
        updated_at=tx.now,
        expires_at=_unique_expiry(tx, device.number, tx.now + draft.expires_s * SECOND),
        created_by=actor.id,
    )
    if device.network != VENDOR:
        channel = get_channel(tx, device.network, device.group_id)
        downlink = replace(
            downlink, seq=channels.enqueue(tx, channel, dispatch, [(device.id, downlink.id)])[0]
        )
    store.DOWNLINKS.insert(tx, downlink)
    audit.log(tx, actor, "downlink.create", downlink.id, group_id=device.group_id)
    content = {
        "payload": downlink.payload,
        **({} if downlink.data is None else {"data": msgspec.json.decode(downlink.data)}),
        **({} if downlink.port is None else {"port": downlink.port}),
        "confirmed": downlink.is_confirmed,
        "until": format_date(downlink.expires_at),
    }
    dispatch.store_events(tx, [build_event(tx, device.id, downlink, content)])
    return downlink


def _unique_expiry(tx: Tx, number: int, expires_at: Moment) -> Moment:
    """The expiry, nudged to be unique per device: ChirpStack's queue can only be matched by it."""
    taken = store.list_expiries(tx, number, expires_at, expires_at + MILLISECOND)
    return next(moment for moment in itertools.count(expires_at) if moment not in taken)


def _get_target_device(tx: Tx, actor: Actor, device_id: str, group_id: str | None) -> Device:
    """The device, if the actor may send to it; locked in a write transaction."""
    scope = access.authorize_optional_group(tx, actor, PERMISSION, group_id)
    device = (
        store_devices.lock_many(tx, scope, [device_id]).get(device_id)
        if tx.is_write
        else store_devices.get(tx, scope, device_id)
    )
    if device is not None:
        return device
    if group_id is None:
        seen = store_devices.get(tx, access.scope_all_groups(actor, "device.read"), device_id)
        if seen is not None:
            raise NotAllowed(f"This needs the permission {PERMISSION} in group {seen.group_id}.")
    raise not_found("device_id", "device")


def _require_route(tx: Tx, device: Device, dispatch: DispatchContext) -> None:
    if device.network not in NETWORKS:
        raise Conflict(
            f"The device is on the network {device.network}; downlinks need one of "
            f"{', '.join(NETWORKS)}."
        )
    if device.network in DOWNLINK_APIS:
        _require_api(tx, device, dispatch)
    if device.network == TTN and store.get_link(tx, device.id) is None:
        raise Conflict(
            "The Things Stack has not sent a downlink URL for this device yet. It does with the "
            "next uplink, if its webhook has a downlink API key."
        )


def _require_api(tx: Tx, device: Device, dispatch: DispatchContext) -> None:
    """Whether the group may send to this device with the operator's key of the network."""
    if device.network not in dispatch.networks:
        title = DOWNLINK_APIS[device.network].title
        raise Conflict(f"The operator has not configured an API of {title}.")
    downlink_grants.require(tx, device.group_id, device.network)
    if not is_eui(device.original_id):
        raise Conflict(
            "The original id of the device is not an EUI of 16 hex digits, so no network knows it."
        )


def _validate_payload(device: Device, draft: DownlinkDraft) -> None:
    field_errors = []
    size = len(draft.payload)
    if device.network == VENDOR:
        if size != DOWNLINK_BYTES:
            field_errors.append(
                FieldError(
                    draft.field, f"must make {DOWNLINK_BYTES} bytes on this network, not {size}"
                )
            )
    else:
        if not 0 < size <= PAYLOAD_BYTES_MAX:
            field_errors.append(
                FieldError(draft.field, f"must make 1 to {PAYLOAD_BYTES_MAX} bytes, not {size}")
            )
        if draft.port is None:
            field_errors.append(FieldError("port", "is required on this network"))
        elif not 1 <= draft.port <= PORT_MAX:
            field_errors.append(FieldError("port", f"must be from 1 to {PORT_MAX}"))
    if field_errors:
        raise BadInput(field_errors=field_errors)


def list_downlinks(
    tx: Tx, actor: Actor, device_id: str, group_id: str | None, request: PageRequest
) -> Page[Downlink]:
    """The downlinks of a device since it is in its group, newest first."""
    scope = access.authorize_optional_group(tx, actor, "device.read", group_id)
    device = store_devices.get(tx, scope, device_id)
    if device is None:
        raise not_found("device_id", "device")
    return store.list_page(tx, device.number, device.group_id, request)


def find_at_network(
    tx: Tx, actor: Actor, downlink_id: str, device_id: str, group_id: str | None
) -> QueuedAtNetwork | None:
    """Where a downlink waits that is to be cancelled; None if that is not at a network."""
    device = _get_target_device(tx, actor, device_id, group_id)
    downlink = store.DOWNLINKS.get(tx, downlink_id)
    if downlink is None or downlink.device_number != device.number:
        return None
    if downlink.group_id != device.group_id or not downlink_queues.is_waiting(downlink):
        return None
    api = DOWNLINK_APIS.get(device.network)
    if api is None or api.queue is None:
        return None
    downlink_grants.require(tx, device.group_id, device.network)
    return QueuedAtNetwork(device.network, device.original_id, downlink.reference or "")


def cancel_downlink(
    tx: Tx,
    actor: Actor,
    dispatch: DispatchContext,
    downlink_id: str,
    device_id: str,
    group_id: str | None,
    *,
    removed: Collection[str] = (),
) -> Downlink:
    """Cancel a queued downlink, or one that was removed from its network's queue with others."""
    device = _get_target_device(tx, actor, device_id, group_id)
    downlink = store.get(tx, device.number, downlink_id)
    if downlink is None or downlink.group_id != device.group_id:
        raise not_found("downlink_id", "message to this device")
    if removed and downlink_queues.is_waiting(downlink):
        cancelled = downlink_queues.cancel_removed(tx, dispatch, device, downlink, removed)
        for each in cancelled:
            audit.log(tx, actor, "downlink.cancel", each.id, group_id=device.group_id)
        return cancelled[0]
    if downlink.state != "queued":
        raise Conflict(_explain_state(downlink))
    if not cancel_delivery(tx, device.network, downlink, "cancelled"):
        raise Conflict("The downlink is being sent to the network right now.")
    audit.log(tx, actor, "downlink.cancel", downlink.id, group_id=device.group_id)
    return advance(tx, dispatch, device, downlink, "cancelled", "it was cancelled")


def _explain_state(downlink: Downlink) -> str:
    if downlink.state == "sent":
        return (
            "The downlink is sent; it can only be cancelled while it is queued, or waits in the"
            " queue of a network whose API empties that."
        )
    return f"The downlink is {downlink.state}; only queued ones can be cancelled."
