"""APIs of networks, and what the channels to them share: loading, sending, settling.

The queue of a channel has only ids. The request is loaded right before each attempt, so that
nothing is sent that is cancelled, expired, or of a deleted device, and secrets are unsealed only
for the request.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

import msgspec

from longwire.clock import Moment
from longwire.delivery.channel_handlers import AttemptResult
from longwire.delivery.destinations.base import (
    Delivered,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.errors import LongwireError
from longwire.ids import format_delivery_id
from longwire.store.database import Database, Tx
from longwire.store.delivery import delivery_history
from longwire.store.delivery.delivery_leases import ClaimedDelivery

REPLY_CHARACTERS_MAX = 200
DATABASE_UNAVAILABLE = Unreachable("the database is unavailable")
# Shorter than the engine's timeout, which it takes for an outage of the channel.
ATTEMPT_TIMEOUT_S = 12.0


# --- configuration ---


class NetworkApi(msgspec.Struct, frozen=True):
    """The API of a network, as the operator has configured it; without a URL there is none."""

    url: str = ""
    login: str = ""
    secret: str = ""

    def __repr__(self) -> str:
        return f"NetworkApi({self.url})"

    def url_for(self, path: str) -> str:
        return self.url.rstrip("/") + path


NetworkApis = Mapping[str, NetworkApi]  # by network


def configured_networks(apis: NetworkApis) -> frozenset[str]:
    return frozenset(network for network, api in apis.items() if api.url)


# --- sending ---

Request = TypeVar("Request")
RouteRequest = TypeVar("RouteRequest", contravariant=True)


class NetworkRoute(Protocol[RouteRequest]):
    """How requests reach one network."""

    is_shared: bool  # one endpoint for all devices, so that its outage concerns all of them

    async def push(self, request: RouteRequest, at: Moment) -> Outcome: ...

    async def close(self) -> None: ...


class NetworkSender(Generic[Request]):
    """Loads the request of a message and pushes it; one at a time for each device, in order."""

    batch_max = 1

    def __init__(
        self,
        database: Database,
        load: Callable[[Tx, OutboundMessage], Request | Outcome],
        route: NetworkRoute[Request],
    ) -> None:
        self._database = database
        self._load = load
        self._route = route
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def send(self, batch: OutboundBatch) -> Outcome:
        lock = self._locks.setdefault(batch.single.device_id, asyncio.Lock())
        outcome: Outcome = Unreachable("timed out")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ATTEMPT_TIMEOUT_S), lock:
                outcome = await self._send_pending(batch)
        if isinstance(outcome, Unreachable) and not self._route.is_shared:
            # Other devices may have other endpoints, so the channel must not back off.
            return Refused(outcome.reason, is_final=outcome.is_final)
        return outcome

    async def _send_pending(self, batch: OutboundBatch) -> Outcome:
        try:
            found = await self._database.read(lambda tx: self._load(tx, batch.single))
        except LongwireError:
            return DATABASE_UNAVAILABLE
        if isinstance(found, Delivered | Refused | Unreachable):
            return found
        return await self._route.push(found, batch.at)

    async def close(self) -> None:
        await self._route.close()


def build_message(claimed: ClaimedDelivery) -> OutboundMessage:
    """Only ids: the content is loaded right before each attempt."""
    return OutboundMessage(
        id=format_delivery_id(claimed.channel_number, claimed.seq),
        kind="",
        group_id="",
        device_id=claimed.device_id,
        device_type="",
        body=claimed.body.encode(),
        content_type="",
    )


# --- settling ---


def results_by_device(tx: Tx, results: Sequence[AttemptResult]) -> list[tuple[str, AttemptResult]]:
    """The results with the ids of their devices, as far as these exist; in order of requests."""
    orphans: dict[int, list[int]] = defaultdict(list)  # of a process that died
    for each in results:
        if not each.claimed.device_id:
            orphans[each.claimed.channel_number].append(each.claimed.seq)
    found = {
        number: delivery_history.list_device_ids(tx, number, seqs)
        for number, seqs in orphans.items()
    }

    def get_device_id(claimed: ClaimedDelivery) -> str | None:
        return claimed.device_id or found[claimed.channel_number].get(claimed.seq)

    in_order = sorted(results, key=lambda result: result.claimed.seq)
    return [
        (device_id, each)
        for each in in_order
        if (device_id := get_device_id(each.claimed)) is not None
    ]


def sanitize_reply(reply: str | None, hidden: Sequence[str]) -> str:
    """Text of a network that may be shown: one line, printable, truncated, without secrets."""
    text = " ".join((reply or "").split())
    is_secret = any(secret and secret.casefold() in text.casefold() for secret in hidden)
    return "" if is_secret or not text.isprintable() else text[:REPLY_CHARACTERS_MAX]
