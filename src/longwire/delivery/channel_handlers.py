"""What deliveries are for.

The engine keeps, claims, sends and retries whatever lies in its queue. A purpose says how a message
is put together and where it goes, and hears what became of it, in the transaction that settles it.
Forwarding what devices say is one purpose; what else is to leave the service and must not be lost
takes the same way, under another name.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from longwire import metrics
from longwire.delivery import connectors
from longwire.delivery.destinations.base import Message, Refused, Sender
from longwire.delivery.egress import Egress
from longwire.model import Connector
from longwire.store.database import Tx
from longwire.store.deliveries import Claimed

End = Literal["delivered", "failed", "waiting"]  # the last: for the next try

Shape = Callable[[Claimed], Message | Refused]


class Ending(msgspec.Struct, frozen=True):
    """How a try ended."""

    claimed: Claimed  # without its body, if whoever tried it is gone
    end: End
    reason: str = ""  # why it was not delivered
    answer: str = ""  # what the other side had to say, if the purpose wants to know


class Purpose(Protocol):
    """What some deliveries are for."""

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[Shape, Sender]:
        """The way out, as it is set up now."""

    def ended(self, tx: Tx, writer: int, connector: Connector, endings: Sequence[Ending]) -> None:
        """Tries that ended; on the transaction that settles them."""


class Forwarding:
    """Connectors: records of devices to the customer's own systems."""

    def open(self, tx: Tx, connector: Connector, egress: Egress) -> tuple[Shape, Sender]:
        params = connectors.open_params(tx, connector)
        shaper = connectors.Shaper.of(connector, params)

        def shape(claimed: Claimed) -> Message | Refused:
            return shaper.message(
                claimed.seq, claimed.kind, claimed.device_id, claimed.body, claimed.context
            )

        return shape, connectors.destination_of(connector, params, egress)

    def ended(self, tx: Tx, writer: int, connector: Connector, endings: Sequence[Ending]) -> None:
        """Count: for the delivery the first time it ends, for the retries each time."""
        counted: Counter[tuple[int, str]] = Counter()
        group = int(connector.group_id)
        for each in endings:
            well = "processed" if each.end == "delivered" else "error"
            if each.claimed.generation == 0 and each.end != "waiting":
                counted[(group, f"connector_message_{well}")] += 1
            if each.claimed.attempts > 1 or each.claimed.generation > 0:
                counted[(group, "connector_retry_message_started")] += 1
                counted[(group, f"connector_retry_message_{well}")] += 1
        metrics.count(tx, writer, counted)
