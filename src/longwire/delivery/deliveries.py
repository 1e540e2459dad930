"""What an operator does to single messages, by hand."""

from collections import Counter

from longwire import metrics
from longwire.errors import Conflict, NotFound
from longwire.ids import delivery_key
from longwire.model import FORWARDING, SYSTEM, Connector
from longwire.store import audit
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store
from longwire.store.database import Tx

# Counters of commands stand beside those of any process; they add up.
COMMAND_WRITER = 0

# What has a life of its own beside its delivery is ended where that life is kept.
TOLD_ELSEWHERE = {
    "network": "a message to a device is taken back with DELETE /device/downlink",
    "registration": "a registration ends when its device is deleted",
}


def retry(tx: Tx, message_id: str) -> None:
    """Make a message due now: one that waits, or one that failed and was kept."""
    connector, seq = _find(tx, message_id)
    if not store.retry_now(tx, connector.number, seq):
        raise Conflict(f"{message_id} neither waits, nor is it kept after it failed.")
    audit.note(tx, SYSTEM, "delivery.retry", message_id, group_id=connector.group_id)


def cancel(tx: Tx, message_id: str) -> None:
    """Give up on a message that waits."""
    connector, seq = _find(tx, message_id)
    if connector.purpose in TOLD_ELSEWHERE:
        raise Conflict(
            f"{message_id} cannot be cancelled here: {TOLD_ELSEWHERE[connector.purpose]}."
        )
    event = store.get(tx, connector.number, seq)
    if event is None or not store.cancel(tx, connector.number, seq):
        raise Conflict(f"{message_id} does not wait; only what waits can be cancelled.")
    if event.generation == 0 and connector.purpose == FORWARDING:
        ended = (int(connector.group_id), "connector_message_error")
        metrics.count(tx, COMMAND_WRITER, Counter({ended: 1}))
    audit.note(tx, SYSTEM, "delivery.cancel", message_id, group_id=connector.group_id)


def _find(tx: Tx, message_id: str) -> tuple[Connector, int]:
    key = delivery_key(message_id)
    connector = store_connectors.by_number(tx, [key[0]]).get(key[0]) if key else None
    if key is None or connector is None or store.get(tx, *key) is None:
        raise NotFound(f"There is no message {message_id}.")
    return connector, key[1]
