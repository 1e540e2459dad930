"""Ways out that nobody has to set up: made when something is to leave by them the first time.

They are rows beside the connectors, with a purpose of their own, and the engine serves them alike.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import msgspec

from longwire.clock import Moment
from longwire.model import SYSTEM, Connector, Told
from longwire.store import auth_epoch
from longwire.store import connectors as store
from longwire.store import deliveries as store_deliveries
from longwire.store.database import Tx
from longwire.store.deliveries import Fresh
from longwire.store.records import KINDS

# What such a message is about is said by its outlet; in the queue it counts as an event.
_KIND = KINDS.index("event")


@dataclass(frozen=True, slots=True)
class Dispatch:
    """What sending something on its way needs beside a transaction."""

    writer: int  # the number of this process
    number: Callable[[Moment, int], Sequence[int]]  # numbers for so many deliveries
    tell: Callable[[Tx, Sequence[Told]], None]  # stores events of devices
    networks: frozenset[str] = frozenset()  # those whose API the operator has named
    # Says to the engine of this process, after the commit, where there is something to deliver.
    wake: Callable[[Tx, Collection[int]], None] = lambda tx, numbers: None


class Policy(msgspec.Struct, frozen=True):
    """How long something is tried, and how long it is kept if that was in vain."""

    retry_delay_s: int | None = None
    retries_max: int | None = None
    storing_s: int = 0


def outlet(
    tx: Tx, purpose: str, outlet_id: str, group_id: str, type_name: str, policy: Policy
) -> Connector:
    """The way out of this id; it is made if there is none."""
    found = store.of_purpose(tx, purpose, outlet_id)
    if found is not None:
        return found
    auth_epoch.change(tx)  # one after the other: of two who need it first, one makes it
    found = store.of_purpose(tx, purpose, outlet_id)
    if found is not None:
        return found
    return store.insert(
        tx,
        Connector(
            number=0,
            id=outlet_id,
            group_id=group_id,
            version=1,
            name=None,
            description=None,
            type=type_name,
            sealed_params="",
            subgroups=False,
            device_types=(),
            device_ids=(),
            message_filter=None,
            format="",
            storing_s=policy.storing_s,
            retry_delay_s=policy.retry_delay_s,
            retries_max=policy.retries_max,
            tags=(),
            is_enabled=True,
            created_at=tx.now,
            updated_at=tx.now,
            created_by=SYSTEM.id,
            updated_by=SYSTEM.id,
            purpose=purpose,
        ),
    )


def send(
    tx: Tx, outlet: Connector, dispatch: Dispatch, what: Sequence[tuple[str, str]]
) -> list[int]:
    """Queue something for each (device, body); the numbers of the deliveries."""
    seqs = list(dispatch.number(tx.now, len(what)))
    store_deliveries.insert(
        tx,
        [
            Fresh(outlet.number, seq, device_id, _KIND, tx.now, body, "")
            for seq, (device_id, body) in zip(seqs, what, strict=True)
        ],
    )
    dispatch.wake(tx, {outlet.number})
    return seqs
