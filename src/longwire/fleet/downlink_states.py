"""How downlinks advance: from queued to sent, acknowledged, failed, expired or cancelled.

Each state is stored together with an event of the device, so that every event is stored once.
"""

from collections.abc import Mapping
from dataclasses import replace

from longwire.delivery import channels
from longwire.delivery.channels import ChannelPolicy, DispatchContext
from longwire.model import (
    Channel,
    ChannelPurpose,
    Device,
    Downlink,
    DownlinkState,
    ServiceEvent,
)
from longwire.store import deliveries as store_deliveries
from longwire.store import delivery_history, reporting_devices
from longwire.store import downlinks as store
from longwire.store.database import Tx
from longwire.store.delivery_states import DeliveryState
from longwire.store.reporting_devices import ReportingDevice

# Retried until the downlink expires, which is checked before every attempt. Nothing to resend.
POLICY = ChannelPolicy(retry_delay_s=30, retries_max=10_000_000, storing_s=0)
# States only advance, so each event is stored once. An acknowledgement by the device overrules all.
_PROGRESS: Mapping[DownlinkState, int] = {
    "queued": 0,
    "sent": 1,
    "failed": 2,
    "expired": 2,
    "cancelled": 2,
    "acknowledged": 3,
}
_SEVERITIES: Mapping[DownlinkState, str] = {"failed": "error", "expired": "warning"}


def advance(
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
    """Move a downlink to a later state and store its event; earlier states are ignored."""
    if _PROGRESS[state] <= _PROGRESS[downlink.state]:
        return downlink
    advanced = replace(
        downlink,
        state=state,
        detail=detail,
        reference=reference or downlink.reference,
        updated_at=tx.now,
    )
    store.update_state(tx, advanced)
    details = {} if attempts == 1 else {"tries": attempts}
    events = [build_event(tx, device.id, advanced, details)]
    if state == "acknowledged" and downlink.state == "queued":
        # The update arrived before the response of the API.
        sent = replace(advanced, state="sent")
        events = [
            build_event(tx, device.id, sent, details),
            build_event(tx, device.id, advanced, {}),
        ]
    if device.group_id == downlink.group_id:  # after a transfer, the new group gets no events
        dispatch.store_events(tx, events)
    return advanced


def build_event(
    tx: Tx, device_id: str, downlink: Downlink, details: Mapping[str, object]
) -> ServiceEvent:
    return ServiceEvent(
        device_id,
        f"downlink{downlink.state.capitalize()}",
        tx.now,
        downlink.detail,
        _SEVERITIES.get(downlink.state),
        {"id": downlink.id, **details},
    )


def lock_device(tx: Tx, device_id: str) -> ReportingDevice | None:
    return reporting_devices.get_reporting(tx, [device_id]).get(device_id)


def channel_id(network: str, group_id: str) -> str:
    return f"downlink:{network}:{group_id}"


def get_channel(tx: Tx, network: str, group_id: str) -> Channel:
    return channels.get_or_create_channel(
        tx, ChannelPurpose.DOWNLINK, channel_id(network, group_id), group_id, network, POLICY
    )


def cancel_delivery(tx: Tx, network: str, downlink: Downlink, why: str) -> bool:
    """Cancel the delivery of a downlink; False if it is in flight."""
    if downlink.seq is None:
        return True
    channel = get_channel(tx, network, downlink.group_id)
    if store_deliveries.cancel(tx, channel.number, downlink.seq, why):
        return True
    delivery = delivery_history.get(tx, channel.number, downlink.seq)
    return delivery is None or delivery.state != DeliveryState.LEASED


def mark_sent(
    tx: Tx, dispatch: DispatchContext, device_id: str, seq: int, reference: str, attempts: int
) -> None:
    """The network has accepted a delivery; `reference` is its id of the downlink."""
    device = lock_device(tx, device_id)
    downlink = device and store.get_by_delivery(tx, device.number, seq)
    if device and downlink:
        detail = "the network has taken it"
        advance(
            tx,
            dispatch,
            device,
            downlink,
            "sent",
            detail,
            reference=reference or None,
            attempts=attempts,
        )


def mark_failed(tx: Tx, dispatch: DispatchContext, device_id: str, seq: int, reason: str) -> None:
    """The delivery has failed for good."""
    device = lock_device(tx, device_id)
    downlink = device and store.get_by_delivery(tx, device.number, seq)
    if device and downlink:
        is_expired = downlink.expires_at <= tx.now
        state: DownlinkState = "expired" if is_expired else "failed"
        advance(tx, dispatch, device, downlink, state, "it has expired" if is_expired else reason)


def record_retry(tx: Tx, device_id: str, seq: int, reason: str) -> None:
    """The delivery is going to be retried; show the reason until then."""
    device = lock_device(tx, device_id)
    downlink = device and store.get_by_delivery(tx, device.number, seq)
    if downlink and downlink.state == "queued":
        store.update_state(tx, replace(downlink, detail=reason))


def expire_downlinks(tx: Tx, dispatch: DispatchContext, most: int) -> int:
    """Expire queued downlinks that are due; returns how many."""
    due = store.list_expired(tx, most)
    # Lock devices before downlinks, as all writers do: no deadlocks.
    devices = reporting_devices.get_reporting(tx, {each.device_id for each in due}) if due else {}
    expired = 0
    for each in due:
        device = devices.get(each.device_id)
        downlink = device and store.get(tx, device.number, each.downlink_id)
        if not device or not downlink or downlink.state != "queued":
            continue  # changed meanwhile
        if cancel_delivery(tx, each.network, downlink, "it has expired"):
            advance(tx, dispatch, device, downlink, "expired", "it has expired")
            expired += 1
        # Otherwise it is in flight, and the outcome of that decides.
    return expired
