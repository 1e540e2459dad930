"""What the operator does with single deliveries, by the command line."""

from collections import Counter

from longwire import metrics
from longwire.errors import Conflict, NotFound
from longwire.ids import parse_delivery_id
from longwire.model import SYSTEM, Channel, ChannelPurpose
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import deliveries as store
from longwire.store.delivery import delivery_history
from longwire.store.identity import audit

# Counters are kept per writer and summed; commands count as writer 0.
COMMAND_WRITER = 0

# Purposes whose deliveries belong to an object with a state of its own, which is cancelled instead.
CANCEL_ELSEWHERE = {
    ChannelPurpose.DOWNLINK: "cancel the downlink with DELETE /device/downlink",
    ChannelPurpose.REGISTRATION: "a registration ends when its device is deleted",
}


def retry_delivery(tx: Tx, message_id: str) -> None:
    """Make a delivery due now: one that is queued, or one that failed and is kept for a resend."""
    channel, seq = _get_delivery(tx, message_id)
    if not store.retry_now(tx, channel.number, seq):
        raise Conflict(f"{message_id} is neither queued nor kept for a resend.")
    audit.log(tx, SYSTEM, "delivery.retry", message_id, group_id=channel.group_id)


def cancel_delivery(tx: Tx, message_id: str) -> None:
    """Give up on a delivery that is queued."""
    channel, seq = _get_delivery(tx, message_id)
    if channel.purpose in CANCEL_ELSEWHERE:
        hint = CANCEL_ELSEWHERE[channel.purpose]
        raise Conflict(f"{message_id} cannot be cancelled here: {hint}.")
    event = delivery_history.get(tx, channel.number, seq)
    if event is None or not store.cancel(tx, channel.number, seq):
        raise Conflict(f"{message_id} is not queued; only a queued message can be cancelled.")
    if event.generation == 0 and channel.purpose == ChannelPurpose.CONNECTOR:
        counter = (int(channel.group_id), "connector_message_error")
        metrics.count(tx, COMMAND_WRITER, Counter({counter: 1}))
    audit.log(tx, SYSTEM, "delivery.cancel", message_id, group_id=channel.group_id)


def _get_delivery(tx: Tx, message_id: str) -> tuple[Channel, int]:
    key = parse_delivery_id(message_id)
    channel = store_channels.get_by_numbers(tx, [key[0]]).get(key[0]) if key else None
    if key is None or channel is None or delivery_history.get(tx, *key) is None:
        raise NotFound(f"There is no message {message_id}.")
    return channel, key[1]
