"""How downlinks advance: from queued to sent, acknowledged, failed, expired or cancelled.

Each state is stored together with an event of the device, so that every event is stored once.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
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
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery import delivery_history
from longwire.store.fleet import downlinks as store
from longwire.store.fleet import reporting_devices
from longwire.store.fleet.reporting_devices import ReportingDevice

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
TAKEN = "the network has taken it"  # of one that is sent, until a gateway sends it
_EXPIRED = "it has expired"
_REPLACED = "the hardware of the device was replaced"
OPEN_MAX = 1_000  # of a device that are ended in one transaction; a hundred at most are queued


class StateChanges:
    """Downlinks that change in a transaction, and the events of that, to be stored together."""

    def __init__(self, tx: Tx, dispatch: DispatchContext) -> None:
        self._tx = tx
        self._dispatch = dispatch
        self._changed: list[Downlink] = []
        self._events: list[ServiceEvent] = []

    def advance(
        self,
        device: Device | ReportingDevice,
        downlink: Downlink,
        state: DownlinkState,
        detail: str,
        *,
        reference: str | None = None,
        attempts: int = 1,
    ) -> Downlink:
        """Move a downlink to a later state, with its event; earlier states are ignored."""
        if _PROGRESS[state] <= _PROGRESS[downlink.state]:
            return downlink
        advanced = replace(
            downlink,
            state=state,
            detail=detail,
            reference=reference or downlink.reference,
            updated_at=self._tx.now,
        )
        self._changed.append(advanced)
        if device.group_id == downlink.group_id:  # after a transfer, the new group gets no events
            self._add_events(device.id, downlink, advanced, attempts)
        return advanced

    def _add_events(
        self, device_id: str, before: Downlink, advanced: Downlink, attempts: int
    ) -> None:
        details = {} if attempts == 1 else {"tries": attempts}
        if advanced.state == "acknowledged" and before.state == "queued":
            # The update arrived before the response of the API.
            sent = replace(advanced, state="sent")
            self._events.append(build_event(self._tx, device_id, sent, details))
            details = {}
        self._events.append(build_event(self._tx, device_id, advanced, details))

    def mark_sent(
        self, device: ReportingDevice, downlink: Downlink, reference: str, attempts: int
    ) -> None:
        """The network has accepted it; `reference` is its id of the downlink."""
        self.advance(
            device, downlink, "sent", TAKEN, reference=reference or None, attempts=attempts
        )

    def mark_failed(self, device: ReportingDevice, downlink: Downlink, reason: str) -> None:
        """Its delivery has failed for good."""
        if downlink.expires_at <= self._tx.now:
            self.advance(device, downlink, "expired", _EXPIRED)
        else:
            self.advance(device, downlink, "failed", reason)

    def record_retry(self, downlink: Downlink, reason: str) -> None:
        """Its delivery is going to be retried; show the reason until then."""
        if downlink.state == "queued" and downlink.detail != reason:
            self._changed.append(replace(downlink, detail=reason))

    def refine(self, downlink: Downlink, detail: str) -> None:
        """The network says more about it by now: no other state, so no event."""
        if downlink.detail != detail:
            self._changed.append(replace(downlink, detail=detail))

    def store(self) -> None:
        store.update_states(self._tx, self._changed)
        if self._events:
            self._dispatch.store_events(self._tx, self._events)


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
    changes = StateChanges(tx, dispatch)
    advanced = changes.advance(
        device, downlink, state, detail, reference=reference, attempts=attempts
    )
    changes.store()
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
    return channels.cancel_delivery(tx, channel, downlink.seq, why)


def end_downlinks(tx: Tx, dispatch: DispatchContext, device: Device) -> None:
    """Nothing more is sent to hardware that is replaced, nor will it acknowledge anything.

    One that is being sent right now is cancelled as well: then no attempt follows.
    """
    changes = StateChanges(tx, dispatch)
    for each in store.lock_open(tx, device.number, OPEN_MAX):
        if each.state == "queued":
            cancel_delivery(tx, device.network, each, _REPLACED)
            changes.advance(device, each, "cancelled", _REPLACED)
        else:
            changes.advance(device, each, "failed", _REPLACED)
    changes.store()


def lock_by_deliveries(
    tx: Tx, deliveries: Collection[tuple[str, int]]
) -> dict[int, tuple[ReportingDevice, Downlink]]:
    """The downlinks of (device id, delivery number), with their devices, by delivery number."""
    if not deliveries:
        return {}
    devices = reporting_devices.get_reporting(tx, {device_id for device_id, _ in deliveries})
    keys = {
        (devices[device_id].number, seq): devices[device_id]
        for device_id, seq in deliveries
        if device_id in devices
    }
    found = store.lock_by_deliveries(tx, keys)
    return {key[1]: (device, found[key]) for key, device in keys.items() if key in found}


def expire_downlinks(tx: Tx, dispatch: DispatchContext, most: int) -> int:
    """Expire queued downlinks that are due; returns how many."""
    due = store.list_expired(tx, most)
    if not due:
        return 0
    # Lock devices before downlinks, as all writers do: no deadlocks.
    devices = reporting_devices.get_reporting(tx, {each.device_id for each in due})
    locked = store.lock_many(tx, [each.downlink_id for each in due])
    queued = [
        (devices[each.device_id], each.network, locked[each.downlink_id])
        for each in due
        # Unless changed meanwhile.
        if each.device_id in devices
        and each.downlink_id in locked
        and locked[each.downlink_id].state == "queued"
    ]
    in_flight = _cancel_deliveries(tx, [(network, downlink) for _, network, downlink in queued])
    expired = [
        (device, downlink) for device, _, downlink in queued if downlink.seq not in in_flight
    ]
    changes = StateChanges(tx, dispatch)
    for device, downlink in expired:
        changes.advance(device, downlink, "expired", _EXPIRED)
    changes.store()
    return len(expired)


def _cancel_deliveries(tx: Tx, queued: Sequence[tuple[str, Downlink]]) -> set[int]:
    """Cancel the deliveries of (network, downlink); returns those in flight, which decide."""
    seqs: dict[str, list[int]] = defaultdict(list)
    for network, downlink in queued:
        if downlink.seq is not None:
            seqs[channel_id(network, downlink.group_id)].append(downlink.seq)
    in_flight: set[int] = set()
    for each, number in store_channels.get_numbers(tx, ChannelPurpose.DOWNLINK, seqs).items():
        cancelled = store_deliveries.cancel_many(tx, number, seqs[each], _EXPIRED)
        left = [seq for seq in seqs[each] if seq not in cancelled]
        if left:
            in_flight |= delivery_history.list_leased(tx, number, left)
    return in_flight
