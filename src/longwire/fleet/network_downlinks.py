"""What networks do with downlinks in their own messages: fetch them, and report on them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import msgspec

from longwire import metrics
from longwire.clock import Moment
from longwire.delivery.channels import DispatchContext
from longwire.fleet.downlink_states import (
    StateChanges,
    advance,
    channel_id,
    get_channel,
    lock_device,
)
from longwire.measurements.values import facts_of
from longwire.model import (
    ChannelPurpose,
    Downlink,
)
from longwire.networks.base import CHIRPSTACK, THINGPARK, VENDOR, DownlinkUpdate
from longwire.networks.vendor import requests_downlink
from longwire.records import DataRecord
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import delivery_history
from longwire.store.fleet import downlinks as store
from longwire.store.fleet.reporting_devices import ReportingDevice

# The id by which these report a downlink is stored with the response of their API.
_IDS_IN_RESPONSE = frozenset((CHIRPSTACK, THINGPARK))
# An acknowledgement is matched with so many fetched downlinks at most.
_FETCHED_MAX = 50
# So many uplinks are searched for a later one that requested a downlink.
_SINCE_MAX = 200


def uplink_reference(ts: Moment, sequence: int | None) -> str:
    """Identifies an uplink, also when the network repeats it."""
    return f"{ts}:{'' if sequence is None else sequence}"


def fetch_payload(tx: Tx, dispatch: DispatchContext, device_id: str, reference: str) -> str | None:
    """The payload that answers an uplink: the one that was queued first, if any.

    A repeated uplink gets the same payload again.
    """
    device = lock_device(tx, device_id)
    if device is None:
        return None
    found = store.lock_queued_or_answered(tx, device.number, reference)
    for downlink in found:
        if downlink.reference == reference:
            return downlink.payload
    for downlink in found:
        if downlink.group_id == device.group_id and downlink.expires_at > tx.now:
            detail = "the network has fetched it"
            advance(tx, dispatch, device, downlink, "sent", detail, reference=reference)
            counted = Counter({(device.group_number, "device_vendor_downlink"): 1})
            metrics.count(tx, dispatch.writer, counted)
            return downlink.payload
    return None


class MatchState(Enum):
    """Whether an update is about a downlink of ours."""

    MATCHED = "matched"
    PENDING = "pending"
    UNMATCHED = "unmatched"


def match_update(
    tx: Tx, network: str, device_id: str, update: DownlinkUpdate, sent_at: Moment
) -> MatchState:
    """Whether an update is about a downlink of ours, or may turn out to be in a moment."""
    device = lock_device(tx, device_id)
    if device is None:
        return MatchState.UNMATCHED
    if network == VENDOR:
        return MatchState.MATCHED if store.has_answered(tx, device.number) else MatchState.UNMATCHED
    if update.is_of_last_confirmed:
        is_ours = store.has_unacknowledged(tx, device.number, sent_at)
        return MatchState.MATCHED if is_ours else MatchState.UNMATCHED
    names = _network_ids(update)
    if store.has_reference(tx, device.number, names):
        return MatchState.MATCHED
    if network not in _IDS_IN_RESPONSE or not names:
        return MatchState.UNMATCHED
    # The response may be in flight.
    channel = store_channels.get_by_purpose(
        tx, ChannelPurpose.DOWNLINK, channel_id(network, device.group_id)
    )
    is_in_flight = channel is not None and store.is_in_flight(tx, device.number, channel.number)
    return MatchState.PENDING if is_in_flight else MatchState.UNMATCHED


def _network_ids(update: DownlinkUpdate) -> list[str]:
    return [name for name in (update.id, *update.other_ids) if name is not None]


@dataclass(frozen=True, slots=True)
class UplinkInfo:
    """Time and sequence number of the message that carries an update."""

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
    """Apply an update to those of its downlinks that are ours."""
    device = lock_device(tx, device_id)
    if device is None:
        return
    if network == VENDOR:
        found = [_acknowledged(tx, device, uplink)]
    elif update.is_of_last_confirmed:
        found = [_only_unacknowledged(tx, device, uplink)]
    else:
        found = [store.get_by_reference(tx, device.number, name) for name in _network_ids(update)]
    changes = StateChanges(tx, dispatch)
    for downlink in found:
        if downlink is not None and downlink.state == update.state == "sent":
            changes.refine(downlink, update.detail)
        elif downlink is not None and (downlink.state, update.state) == ("cancelled", "sent"):
            changes.refine(downlink, f"it was cancelled, but {update.detail}")
        elif downlink is not None:
            attempts = _attempts(tx, network, downlink)
            changes.advance(device, downlink, update.state, update.detail, attempts=attempts)
    changes.store()


def _only_unacknowledged(tx: Tx, device: ReportingDevice, uplink: UplinkInfo) -> Downlink | None:
    """The downlink that an uplink acknowledges by its flag alone, if it can only be one."""
    found = store.lock_unacknowledged(tx, device.number, uplink.at)
    return found[0] if len(found) == 1 else None


def _acknowledged(tx: Tx, device: ReportingDevice, uplink: UplinkInfo) -> Downlink | None:
    """The downlink of an acknowledgement of the vendor's network, which names none.

    It is about the response to the last uplink before it that requested a downlink, and that
    response may have been empty.
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
    return None if any(map(_requested_downlink, since)) else last


def _fetched_before(fetched: Sequence[Downlink], ts: Moment) -> Downlink | None:
    """The downlink that answers the last uplink until this time."""
    before = [downlink for downlink in fetched if _answered_uplink(downlink)[0] <= ts]
    return max(before, key=lambda downlink: _answered_uplink(downlink)[0], default=None)


def _answered_uplink(downlink: Downlink) -> tuple[Moment, str]:
    """Time and sequence number of the uplink that it answers; see `uplink_reference`."""
    moment, _, sequence = (downlink.reference or "").partition(":")
    return int(moment) if moment.isdecimal() else 0, sequence


def _requested_downlink(record: DataRecord) -> bool:
    """Whether a data record is of an uplink that requested a downlink."""
    try:
        uplink = msgspec.json.decode(record.data)
    except (msgspec.MsgspecError, RecursionError):
        return False  # data may be any text, if it did not come from a network
    return isinstance(uplink, dict) and requests_downlink(facts_of(uplink))


def _attempts(tx: Tx, network: str, downlink: Downlink) -> int:
    """The number of delivery attempts, until the network has accepted it."""
    if downlink.seq is None or downlink.state != "queued":
        return 1
    channel = get_channel(tx, network, downlink.group_id)
    delivery = delivery_history.get(tx, channel.number, downlink.seq)
    return delivery.attempts if delivery else 1
