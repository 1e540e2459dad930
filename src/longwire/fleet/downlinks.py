"""Messages to devices: asked for here, taken to the device by its network, and what became of them.

A message only ever comes further. It is told as an event of its device whenever it does, on the
transaction that notes it, so that every step is told once. The vendor's network fetches messages in
the answers to its own; to the others the delivery engine takes them.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from longwire import metrics
from longwire.clock import MILLISECOND, SECOND, Moment
from longwire.dates import format_date
from longwire.delivery import channels
from longwire.delivery.channels import ChannelPolicy, DispatchContext
from longwire.delivery.destinations.http import validate_url
from longwire.delivery.egress import Egress
from longwire.errors import BadInput, Conflict, FieldError, NotAllowed, not_found
from longwire.fleet import decoding
from longwire.fleet.decoding import Codec
from longwire.identity import access
from longwire.ids import new_id
from longwire.model import (
    Actor,
    Connector,
    Device,
    Downlink,
    DownlinkState,
    Page,
    PageRequest,
    ServiceEvent,
)
from longwire.networks.base import VENDOR, DownlinkUpdate
from longwire.networks.vendor import DOWNLINK_BYTES, asks
from longwire.store import audit
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store_deliveries
from longwire.store import devices as store_devices
from longwire.store import downlinks as store
from longwire.store.database import Tx
from longwire.store.devices import ReportingDevice
from longwire.store.downlinks import NetworkLink

PURPOSE = "network"
PERMISSION = "device.downlink"
CHIRPSTACK = "chirpstack"
TTN = "ttn"
NETWORKS = (VENDOR, CHIRPSTACK, TTN)

WAITING_MAX = 100  # for one device
PORT_MAX = 223  # LoRaWAN keeps those above for itself
PAYLOAD_BYTES_MAX = 242  # what LoRaWAN carries where the air is best
EXPIRES_DEFAULT_S = 86_400
EXPIRES_MAX_S = 30 * 86_400

# Tried until its time is over, which is asked before every try. There is nothing to send again.
POLICY = ChannelPolicy(retry_delay_s=30, retries_max=10_000_000, storing_s=0)

# How many messages back a network may speak of one that it has fetched.
_FETCHED_MAX = 50
# How many messages of a device are looked through for one that asked later.
_SINCE_MAX = 200

# Several webhooks tell several addresses with each message, and any of them will do. So the one
# that is known stays for so long, unless it turns out to lead nowhere.
LINK_STAYS_S = 3_600

# A message only comes further, so each of its events is told once. What the device has confirmed
# has reached it, whatever was believed before.
_PROGRESS: Mapping[DownlinkState, int] = {
    "queued": 0,
    "sent": 1,
    "failed": 2,
    "expired": 2,
    "cancelled": 2,
    "acknowledged": 3,
}
_SEVERITIES: Mapping[DownlinkState, str] = {"failed": "error", "expired": "warning"}


# --- asking for one ---


@dataclass(frozen=True, slots=True)
class DownlinkDraft:
    """A message that is to be sent; `field` is what it was given as."""

    device_id: str
    group_id: str | None
    payload: bytes
    field: str = "payload"
    port: int | None = None
    is_confirmed: bool = False
    expires_s: int = EXPIRES_DEFAULT_S


def get_device_codec(
    tx: Tx, actor: Actor, device_id: str, group_id: str | None
) -> tuple[str, Codec]:
    """The type of a device that somebody may send to, and its codec."""
    device = _get_target_device(tx, actor, device_id, group_id)
    return device.type, decoding.get_codec(tx, device.type)


def queue_downlink(
    tx: Tx, actor: Actor, dispatch: DispatchContext, draft: DownlinkDraft
) -> Downlink:
    """Let a message wait for its device, or send it on its way to the network."""
    device = _get_target_device(tx, actor, draft.device_id, draft.group_id)
    _require_route(tx, device, dispatch)
    _validate_payload(device, draft)
    if store.count_queued(tx, device.number, device.group_id) >= WAITING_MAX:
        raise Conflict(f"{WAITING_MAX} messages wait for this device already.")
    downlink = Downlink(
        id=new_id("dwn"),
        device_number=device.number,
        group_id=device.group_id,
        payload=draft.payload.hex(),
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
        channel = _outlet(tx, device.network, device.group_id)
        downlink = replace(
            downlink, seq=channels.enqueue(tx, channel, dispatch, [(device.id, downlink.id)])[0]
        )
    store.insert(tx, downlink)
    audit.log(tx, actor, "downlink.create", downlink.id, group_id=device.group_id)
    asked = {
        "payload": downlink.payload,
        **({} if downlink.port is None else {"port": downlink.port}),
        "confirmed": downlink.is_confirmed,
        "until": format_date(downlink.expires_at),
    }
    dispatch.store_events(tx, [_told(tx, device.id, downlink, asked)])
    return downlink


def _unique_expiry(tx: Tx, number: int, wanted: Moment) -> Moment:
    """When its time is over: at a moment of its own, by which it is known again in a queue."""
    taken = store.list_expiries(tx, number, wanted, wanted + MILLISECOND)
    return next(moment for moment in itertools.count(wanted) if moment not in taken)


def _get_target_device(tx: Tx, actor: Actor, device_id: str, group_id: str | None) -> Device:
    """The device, if the actor may send to it; it stays where it is until a write is over."""
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
            f"The device is on the network {device.network}; messages go to devices on "
            f"{', '.join(NETWORKS)}."
        )
    if device.network == CHIRPSTACK and CHIRPSTACK not in dispatch.networks:
        raise Conflict("The operator has not named an API of ChirpStack to this service.")
    if device.network == TTN and store.get_link(tx, device.id) is None:
        raise Conflict(
            "The Things Stack has not told yet where messages to this device go: it does with "
            "the next message of the device, if its webhook has a downlink API key."
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


# --- seeing, and taking back ---


def list_downlinks(
    tx: Tx, actor: Actor, device_id: str, group_id: str | None, request: PageRequest
) -> Page[Downlink]:
    """What was sent to a device since it is in its group, the newest first."""
    scope = access.authorize_optional_group(tx, actor, "device.read", group_id)
    device = store_devices.get(tx, scope, device_id)
    if device is None:
        raise not_found("device_id", "device")
    return store.list_page(tx, device.number, device.group_id, request)


def cancel_downlink(
    tx: Tx,
    actor: Actor,
    dispatch: DispatchContext,
    downlink_id: str,
    device_id: str,
    group_id: str | None,
) -> Downlink:
    """Take back a message that waits."""
    device = _get_target_device(tx, actor, device_id, group_id)
    downlink = store.get(tx, device.number, downlink_id)
    if downlink is None or downlink.group_id != device.group_id:
        raise not_found("downlink_id", "message to this device")
    if downlink.state != "queued":
        raise Conflict(f"The message is {downlink.state}; only what waits can be taken back.")
    if not _cancel_delivery(tx, device.network, downlink, "taken back"):
        raise Conflict("The message is being handed to the network at this moment.")
    audit.log(tx, actor, "downlink.cancel", downlink.id, group_id=device.group_id)
    return _advance(tx, dispatch, device, downlink, "cancelled", "it was taken back")


def _cancel_delivery(tx: Tx, network: str, downlink: Downlink, why: str) -> bool:
    """Keep the engine from sending it; False if it is at it just now."""
    if downlink.seq is None:
        return True
    channel = _outlet(tx, network, downlink.group_id)
    if store_deliveries.cancel(tx, channel.number, downlink.seq, why):
        return True
    delivery = store_deliveries.get(tx, channel.number, downlink.seq)
    return delivery is None or delivery.state != store_deliveries.LEASED


# --- how it comes further ---


def _advance(
    tx: Tx,
    dispatch: DispatchContext,
    device: Device | ReportingDevice,
    downlink: Downlink,
    state: DownlinkState,
    detail: str,
    *,
    reference: str | None = None,
    attempts: int = 1,
) -> Downlink:
    """The message after a step, which is noted and told; none is made backwards."""
    if _PROGRESS[state] <= _PROGRESS[downlink.state]:
        return downlink
    moved = replace(
        downlink,
        state=state,
        detail=detail,
        reference=reference or downlink.reference,
        updated_at=tx.now,
    )
    store.update_state(tx, moved)
    beside = {} if attempts == 1 else {"tries": attempts}
    told = [_told(tx, device.id, moved, beside)]
    if state == "acknowledged" and downlink.state == "queued":
        # The network was faster with its news than with its answer.
        sent = replace(moved, state="sent")
        told = [_told(tx, device.id, sent, beside), _told(tx, device.id, moved, {})]
    if device.group_id == downlink.group_id:  # whoever has the device now did not ask for it
        dispatch.store_events(tx, told)
    return moved


def _told(tx: Tx, device_id: str, downlink: Downlink, beside: Mapping[str, object]) -> ServiceEvent:
    return ServiceEvent(
        device_id,
        f"downlink{downlink.state.capitalize()}",
        tx.now,
        downlink.detail,
        _SEVERITIES.get(downlink.state),
        {"id": downlink.id, **beside},
    )


def expire_downlinks(tx: Tx, dispatch: DispatchContext, most: int) -> int:
    """Let go of messages whose time is over; how many that were."""
    overdue = store.list_expired(tx, most)
    # Before the messages themselves, as everybody does who changes them: no deadlocks.
    devices = (
        store_devices.get_reporting(tx, {each.device_id for each in overdue}) if overdue else {}
    )
    gone = 0
    for each in overdue:
        device = devices.get(each.device_id)
        downlink = device and store.get(tx, device.number, each.downlink_id)
        if not device or not downlink or downlink.state != "queued":
            continue  # somebody was faster
        if _cancel_delivery(tx, each.network, downlink, "its time was over"):
            _advance(tx, dispatch, device, downlink, "expired", "its time was over")
            gone += 1
        # Otherwise it is being handed over, and what comes of that decides.
    return gone


def _device(tx: Tx, device_id: str) -> ReportingDevice | None:
    return store_devices.get_reporting(tx, [device_id]).get(device_id)


# --- the vendor's network, which fetches them ---


def uplink_reference(ts: Moment, sequence: int | None) -> str:
    """What a message of a device is known by, if it comes once more."""
    return f"{ts}:{'' if sequence is None else sequence}"


def fetch_payload(tx: Tx, dispatch: DispatchContext, device_id: str, reference: str) -> str | None:
    """The payload that answers a message of a device: the one that waits longest, if any does.

    The same message once more is answered with the same payload.
    """
    device = _device(tx, device_id)
    if device is None:
        return None
    found = store.lock_queued_or_answered(tx, device.number, reference)
    for downlink in found:
        if downlink.reference == reference:
            return downlink.payload
    for downlink in found:
        if downlink.group_id == device.group_id and downlink.expires_at > tx.now:
            words = "the network has fetched it"
            _advance(tx, dispatch, device, downlink, "sent", words, reference=reference)
            counted = Counter({(device.group_number, "device_vendor_downlink"): 1})
            metrics.count(tx, dispatch.writer, counted)
            return downlink.payload
    return None


# --- what networks say of them ---


MatchState = Literal["known", "coming", "unknown"]


def match_update(tx: Tx, network: str, device_id: str, update: DownlinkUpdate) -> MatchState:
    """Whether a network speaks of a message of ours, or whether that may turn out in a moment."""
    device = _device(tx, device_id)
    if device is None:
        return "unknown"
    if network == VENDOR:
        return "known" if store.has_answered(tx, device.number) else "unknown"
    names = _network_ids(update)
    if store.has_reference(tx, device.number, names):
        return "known"
    if network != CHIRPSTACK or not names:
        return "unknown"
    # It names its messages itself. We learn the name when it answers, which may be now.
    channel = store_connectors.get_by_purpose(tx, PURPOSE, _outlet_id(network, device.group_id))
    is_coming = channel is not None and store.is_in_flight(tx, device.number, channel.number)
    return "coming" if is_coming else "unknown"


def _network_ids(update: DownlinkUpdate) -> list[str]:
    return [name for name in (update.id, *update.other_ids) if name is not None]


@dataclass(frozen=True, slots=True)
class UplinkInfo:
    """When a network has said something, and with which number."""

    at: Moment
    sequence: int | None


def apply_update(
    tx: Tx,
    dispatch: DispatchContext,
    network: str,
    device_id: str,
    update: DownlinkUpdate,
    uplink: UplinkInfo,
) -> None:
    """Note what became of a message, or of several, as far as they are ours."""
    device = _device(tx, device_id)
    if device is None:
        return
    found = (
        [_acknowledged(tx, device, uplink)]
        if network == VENDOR
        else [store.get_by_reference(tx, device.number, name) for name in _network_ids(update)]
    )
    for downlink in found:
        if downlink is not None:
            attempts = _attempts(tx, network, downlink)
            _advance(tx, dispatch, device, downlink, update.state, update.detail, attempts=attempts)


def _acknowledged(tx: Tx, device: ReportingDevice, uplink: UplinkInfo) -> Downlink | None:
    """What an acknowledgement of the vendor's network is about.

    It names no message. It is about what the device's last question before it was answered with,
    and that may have been nothing.
    """
    fetched = store.lock_answered(tx, device.number, _FETCHED_MAX)
    if uplink.sequence is not None:
        fetched = [each for each in fetched if _answered_uplink(each)[1] == str(uplink.sequence)]
    last = _fetched_before(fetched, uplink.at)
    if last is None or uplink.sequence is not None:
        return last
    since = store.list_data_between(
        tx, device.number, device.stay, _answered_uplink(last)[0], uplink.at, _SINCE_MAX
    )
    return None if any(map(_asks, since)) else last


def _fetched_before(fetched: Sequence[Downlink], ts: Moment) -> Downlink | None:
    """The last one that answers a message from before this moment."""
    before = [downlink for downlink in fetched if _answered_uplink(downlink)[0] <= ts]
    return max(before, key=lambda downlink: _answered_uplink(downlink)[0], default=None)


def _answered_uplink(downlink: Downlink) -> tuple[Moment, str]:
    """When the message was said that it answers, and the number of that; see `uplink_reference`."""
    moment, _, sequence = (downlink.reference or "").partition(":")
    return int(moment) if moment.isdecimal() else 0, sequence


class _Record(msgspec.Struct):
    data: str


def _asks(record: str) -> bool:
    """Whether a stored data record is of a message that waited for an answer."""
    try:
        uplink = msgspec.json.decode(msgspec.json.decode(record, type=_Record).data)
    except (msgspec.MsgspecError, RecursionError):
        return False  # data may be any text, if it did not come from a network
    return isinstance(uplink, dict) and asks(uplink)


def _attempts(tx: Tx, network: str, downlink: Downlink) -> int:
    """How often it was taken to its network, as long as the network has not answered."""
    if downlink.seq is None or downlink.state != "queued":
        return 1
    channel = _outlet(tx, network, downlink.group_id)
    delivery = store_deliveries.get(tx, channel.number, downlink.seq)
    return delivery.attempts if delivery else 1


# --- the networks that the engine takes them to ---


def _outlet_id(network: str, group_id: str) -> str:
    return f"downlink:{network}:{group_id}"


def _outlet(tx: Tx, network: str, group_id: str) -> Connector:
    return channels.get_or_create_channel(
        tx, PURPOSE, _outlet_id(network, group_id), group_id, network, POLICY
    )


def mark_sent(
    tx: Tx, dispatch: DispatchContext, device_id: str, seq: int, reference: str, attempts: int
) -> None:
    """A network has taken the message of a delivery, and calls it so."""
    device = _device(tx, device_id)
    downlink = device and store.get_by_delivery(tx, device.number, seq)
    if device and downlink:
        words = "the network has taken it"
        _advance(
            tx,
            dispatch,
            device,
            downlink,
            "sent",
            words,
            reference=reference or None,
            attempts=attempts,
        )


def mark_failed(tx: Tx, dispatch: DispatchContext, device_id: str, seq: int, reason: str) -> None:
    """No network has taken it, and none will be asked again."""
    device = _device(tx, device_id)
    downlink = device and store.get_by_delivery(tx, device.number, seq)
    if device and downlink:
        is_over = downlink.expires_at <= tx.now
        state: DownlinkState = "expired" if is_over else "failed"
        _advance(tx, dispatch, device, downlink, state, "its time was over" if is_over else reason)


def record_retry(tx: Tx, device_id: str, seq: int, reason: str) -> None:
    """Not this time; why is shown until the next try."""
    device = _device(tx, device_id)
    downlink = device and store.get_by_delivery(tx, device.number, seq)
    if downlink and downlink.state == "queued":
        store.update_state(tx, replace(downlink, detail=reason))


# --- where a network takes them ---


def _key_purpose(device_id: str) -> str:
    return f"network_link|{device_id}|key"


def needs_link_update(tx: Tx, device_id: str, url: str, key: str) -> bool:
    """Whether a link is to take the place of the one that is known."""
    known = store.get_link(tx, device_id)
    if known is None:
        return True
    if known.url == url:
        return unseal_link_key(tx, device_id, known.sealed_key) != key
    return tx.now - known.told_at >= LINK_STAYS_S * SECOND


def unseal_link_key(tx: Tx, device_id: str, sealed: str) -> str:
    return tx.keyring.unseal(sealed, _key_purpose(device_id))


def is_link_allowed(url: str, egress: Egress) -> bool:
    return not any(validate_url(url, egress))


def save_link(tx: Tx, device_id: str, url: str, key: str) -> None:
    """A network has told where messages to one of its devices go, and what opens the way."""
    device = _device(tx, device_id)
    if device is not None and needs_link_update(tx, device_id, url, key):
        sealed = tx.keyring.seal(key, _key_purpose(device_id))
        store.save_link(tx, device.number, NetworkLink(url, sealed))


def delete_link(tx: Tx, device_id: str, url: str) -> None:
    """The link leads nowhere; the next one that is told counts at once."""
    store.delete_link(tx, device_id, url)
