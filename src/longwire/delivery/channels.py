"""Channels: built, sealed, and enqueued to.

Connectors and notifications have one that users configure. The others are routes that nobody
configures, created when the first message is to leave through them; the engine serves all alike.
"""

from collections.abc import Callable, Collection, Sequence

import msgspec

from longwire.clock import Moment
from longwire.dataclass import dataclass
from longwire.model import SYSTEM, Actor, Channel, ChannelPurpose, ServiceEvent
from longwire.records import RecordKind
from longwire.store import locks
from longwire.store.database import Tx
from longwire.store.delivery import channels as store
from longwire.store.delivery import deliveries as store_deliveries
from longwire.store.delivery import delivery_history
from longwire.store.delivery.deliveries import NewDelivery
from longwire.store.delivery.delivery_states import DeliveryState

# The channel's purpose says what a message is; in the queue each counts as an event.


@dataclass(frozen=True, slots=True)
class DispatchContext:
    """What an operation needs to enqueue messages and events, apart from its transaction."""

    writer: int  # the number of this process
    take_sequence_numbers: Callable[[Moment, int], Sequence[int]]
    store_events: Callable[[Tx, Sequence[ServiceEvent]], None]  # events of devices
    networks: frozenset[str] = frozenset()  # those with an API configured by the operator
    # Wakes the engine of this process for these channels, after the commit.
    wake: Callable[[Tx, Collection[int]], None] = lambda tx, numbers: None


class ChannelPolicy(msgspec.Struct, frozen=True):
    """How often a message is retried, and how long a failed one is kept for a resend."""

    retry_delay_s: int | None = None
    retries_max: int | None = None
    storing_s: int = 0


def get_or_create_channel(
    tx: Tx,
    purpose: ChannelPurpose,
    channel_id: str,
    group_id: str,
    type_name: str,
    policy: ChannelPolicy,
) -> Channel:
    """The channel of a route."""
    found = store.get_by_purpose(tx, purpose, channel_id)
    if found is not None:
        return found
    # Of two concurrent creators one finds the other's channel.
    locks.acquire_lock(tx, "channel", channel_id)
    found = store.get_by_purpose(tx, purpose, channel_id)
    if found is not None:
        return found
    channel = build_channel(tx, SYSTEM, purpose, channel_id, group_id, type_name, policy)
    return store.insert(tx, channel)


def build_channel(
    tx: Tx,
    actor: Actor,
    purpose: ChannelPurpose,
    channel_id: str,
    group_id: str,
    type_name: str,
    policy: ChannelPolicy,
) -> Channel:
    """A new, enabled channel; the store gives it its number."""
    return Channel(
        number=0,
        id=channel_id,
        group_id=group_id,
        purpose=purpose,
        type=type_name,
        created_at=tx.now,
        updated_at=tx.now,
        created_by=actor.id,
        updated_by=actor.id,
        storing_s=policy.storing_s,
        retry_delay_s=policy.retry_delay_s,
        retries_max=policy.retries_max,
    )


def seal_params(tx: Tx, channel: Channel, text: str) -> str:
    return tx.keyring.seal(text, _seal_purpose(channel))


def unseal_params(tx: Tx, channel: Channel) -> str:
    if channel.sealed_params is None:
        raise ValueError(f"a channel for {channel.purpose} has no parameters")
    return tx.keyring.unseal(channel.sealed_params, _seal_purpose(channel))


def _seal_purpose(channel: Channel) -> str:
    return f"{channel.purpose}|{channel.id}|params"


def enqueue(
    tx: Tx, channel: Channel, dispatch: DispatchContext, items: Sequence[tuple[str, str]]
) -> list[int]:
    """Enqueue a delivery for each (device id, body); returns their sequence numbers."""
    seqs = list(dispatch.take_sequence_numbers(tx.now, len(items)))
    store_deliveries.insert(
        tx,
        [
            NewDelivery(channel.number, seq, device_id, RecordKind.EVENT, tx.now, body, "")
            for seq, (device_id, body) in zip(seqs, items, strict=True)
        ],
    )
    dispatch.wake(tx, {channel.number})
    return seqs


def cancel_delivery(tx: Tx, channel: Channel, seq: int, why: str) -> bool:
    """Cancel a delivery; False if it is in flight."""
    if store_deliveries.cancel(tx, channel.number, seq, why):
        return True
    delivery = delivery_history.get(tx, channel.number, seq)
    return delivery is None or delivery.state != DeliveryState.LEASED
