"""Queues of networks: what waits there can be removed, and what is missing there is noticed.

ChirpStack lists the queue of a device and empties it as a whole: no single item can be removed, and
no event says that a queue was emptied. To put the others back would lose them if we died on the
way, send twice what a gateway takes at that moment, and give them other ids. So a downlink is
removed if it is alone, or if whoever asks wants all of them removed.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec

from longwire.clock import HOUR, MINUTE, Moment
from longwire.delivery.channels import DispatchContext
from longwire.delivery.destinations.base import Refused, Unreachable
from longwire.delivery.http.api_client import ApiResponse
from longwire.delivery.http.egress import Egress
from longwire.errors import Conflict, Unavailable
from longwire.fleet.downlink_api_client import DownlinkApiClient
from longwire.fleet.downlink_apis import DOWNLINK_APIS, DownlinkApi
from longwire.fleet.downlink_states import TAKEN, StateChanges
from longwire.fleet.network_apis import ATTEMPT_TIMEOUT_S, NetworkApi, NetworkApis
from longwire.model import Device, Downlink
from longwire.networks.base import QueuedItem
from longwire.store.database import Database, Tx
from longwire.store.fleet import downlinks as store
from longwire.store.fleet import reporting_devices
from longwire.store.fleet.downlinks import TakenDownlink

PER_ROUND_MAX = 1_000
DEVICES_PER_ROUND_MAX = 200
# For so long a report that a gateway sends it may be under way, also one that has waited at a
# broker while the service was down.
MISSING_FOR: Moment = 5 * MINUTE
NOT_LOOKED_AT_FOR: Moment = MINUTE  # after it was taken
# Those that have expired meanwhile: the network may have dropped them without a word.
EXPIRED_SINCE: Moment = HOUR
MISSING_MAX = 10_000
OPEN_MAX = 16  # at once in a process: a network that hangs must not use up connections

REMOVED = "it was removed from the network's queue"
EMPTIED = "the network's queue was emptied to cancel another one"
MISSING = (
    "it is no longer in the network's queue, and no gateway has reported that it sends it: the"
    " queue was emptied there, or the report was lost"
)


def is_waiting(downlink: Downlink) -> bool:
    """Whether a network has taken it and no gateway has sent it yet, as far as is known."""
    return downlink.state == "sent" and downlink.detail == TAKEN and bool(downlink.reference)


class QueuedAtNetwork(msgspec.Struct, frozen=True):
    """A downlink that waits at a network."""

    network: str
    original_id: str
    reference: str  # in the queue


class QueueNotShown(Unavailable):
    """A network answers, but not with the queue of a device."""


class NetworkQueues:
    """The queues of those networks whose API lists and empties them."""

    def __init__(self, apis: NetworkApis, egress: Egress) -> None:
        self._apis = apis
        self._egress = egress
        self._open = 0
        self.networks = frozenset(
            network
            for network, api in DOWNLINK_APIS.items()
            if api.queue is not None and apis.get(network, NetworkApi()).url
        )

    async def remove(self, queued: QueuedAtNetwork, *, with_others: bool) -> frozenset[str]:
        """Remove a downlink; the network's ids of all that were removed with it."""
        title = DOWNLINK_APIS[queued.network].title
        async with self.open(queued.network) as queue:
            items = await queue.list_items(queued.original_id)
            found = [each for each in items or () if each.id == queued.reference]
            if not found:
                raise Conflict(
                    f"The downlink is not in the queue of {title} any more: it was sent, or the"
                    " queue was emptied there."
                )
            if found[0].is_pending:
                raise Conflict("A gateway has sent the downlink, and the device may confirm it.")
            others = len(items or ()) - 1
            if others and not with_others:
                raise Conflict(
                    f"The queue of the device at {title} has {others} more, and can only be emptied"
                    " as a whole. With others=true all of them are cancelled."
                )
            await queue.empty(queued.original_id)
        return frozenset(each.id for each in items or () if each.id is not None)

    @asynccontextmanager
    async def open(self, network: str) -> AsyncIterator["_OpenQueues"]:
        """The queues of one network, over connections that are closed in the end."""
        if self._open >= OPEN_MAX:
            raise Unavailable(f"{DOWNLINK_APIS[network].title} is asked too much. Try again later.")
        self._open += 1
        api = self._apis.get(network, NetworkApi())
        client = DownlinkApiClient(DOWNLINK_APIS[network], api, self._egress)
        try:
            yield _OpenQueues(DOWNLINK_APIS[network], api, client)
        finally:
            self._open -= 1
            await client.close()


class _OpenQueues:
    """Requests about queues of one network."""

    def __init__(self, network: DownlinkApi, api: NetworkApi, client: DownlinkApiClient) -> None:
        self._network = network
        self._api = api
        self._client = client

    async def list_items(self, original_id: str) -> list[QueuedItem] | None:
        """What waits for a device; None if the network does not know it."""
        response = await self._request("GET", original_id, "Nothing was changed.")
        if response.is_gone:
            return None
        assert self._network.queue is not None
        items = self._network.queue.parse(response.body) if response.is_success else None
        if items is None:
            raise QueueNotShown(self._explain(f"answered with status {response.status}"))
        return items

    async def empty(self, original_id: str) -> None:
        unknown = "The downlink may be removed or not; its state says so within minutes."
        response = await self._request("DELETE", original_id, unknown)
        if not response.is_success:
            raise Unavailable(self._explain(f"answered with status {response.status}"))

    async def _request(self, method: str, original_id: str, consequence: str) -> ApiResponse:
        assert self._network.queue is not None
        request = self._network.queue.build_request(original_id, self._api.secret)
        try:
            async with asyncio.timeout(ATTEMPT_TIMEOUT_S):
                response = await self._client.request(method, request)
        except TimeoutError:
            raise Unavailable(self._explain("timed out", consequence)) from None
        if isinstance(response, ApiResponse):
            return response
        if isinstance(response, Refused):
            raise QueueNotShown(self._explain(response.reason))
        reason = response.reason if isinstance(response, Unreachable) else "no answer"
        raise Unavailable(self._explain(reason, consequence))

    def _explain(self, reason: str, consequence: str = "") -> str:
        return f"{self._network.title}: {reason}. {consequence}".rstrip()


def cancel_removed(
    tx: Tx, dispatch: DispatchContext, device: Device, downlink: Downlink, removed: Collection[str]
) -> list[Downlink]:
    """Cancel a downlink of a device that was removed, and then the others that were with it."""
    found = [store.get_by_reference(tx, device.number, each) for each in sorted(removed)]
    others = [
        each
        for each in found
        if each is not None and each.id != downlink.id and each.group_id == device.group_id
    ]
    changes = StateChanges(tx, dispatch)
    cancelled = [changes.advance(device, downlink, "cancelled", REMOVED)]
    cancelled += [
        changes.advance(device, each, "cancelled", EMPTIED) for each in others if is_waiting(each)
    ]
    changes.store()
    return cancelled


class QueueWatch:
    """Looks for what networks have taken in their queues, and ends what is missing there.

    What it has missed once is kept in memory: after a restart it is looked for again.
    """

    def __init__(
        self, database: Database, dispatch: DispatchContext, queues: NetworkQueues
    ) -> None:
        self._database = database
        self._dispatch = dispatch
        self._queues = queues
        self._after: tuple[Moment, str] | None = None
        self._missing_since: dict[str, Moment] = {}

    @property
    def is_needed(self) -> bool:
        return bool(self._queues.networks)

    async def look(self) -> None:
        """One round, over a limited number; the next one goes on."""
        for network, taken in (await self._list_taken()).items():
            by_device: defaultdict[str, list[TakenDownlink]] = defaultdict(list)
            for each in taken:
                by_device[each.original_id].append(each)
            async with self._queues.open(network) as queue:
                for original_id, some in by_device.items():
                    await self._look_at(queue, original_id, some)

    async def _look_at(
        self, queue: _OpenQueues, original_id: str, taken: Sequence[TakenDownlink]
    ) -> None:
        # Of another device the answer may be another one; without any answer the round ends.
        with suppress(QueueNotShown):
            items = await queue.list_items(original_id)
            if items is not None:
                await self._compare(taken, items)

    async def _list_taken(self) -> Mapping[str, Sequence[TakenDownlink]]:
        """Those that still wait, by network; of a limited number of devices."""
        now = self._database.context.clock.now()
        after = self._after or (now - EXPIRED_SINCE, "")
        page = await self._database.read(lambda tx: store.list_taken(tx, after, PER_ROUND_MAX))
        self._after = None
        by_network: defaultdict[str, list[TakenDownlink]] = defaultdict(list)
        devices: set[str] = set()
        for each in page:
            is_looked_at = each.updated_at <= now - NOT_LOOKED_AT_FOR and each.is_at_home
            if each.network in self._queues.networks and each.detail == TAKEN and is_looked_at:
                by_network[each.network].append(each)
                devices.add(each.device_id)
            if len(devices) == DEVICES_PER_ROUND_MAX or each is page[-1]:
                is_last = each is page[-1] and len(page) < PER_ROUND_MAX
                self._after = None if is_last else (each.expires_at, each.id)
                break
        return by_network

    async def _compare(self, taken: Sequence[TakenDownlink], items: Sequence[QueuedItem]) -> None:
        now = self._database.context.clock.now()
        names = {each.id for each in items}
        ended = []
        for each in taken:
            if each.reference is None or None in names or each.reference in names:
                self._missing_since.pop(each.id, None)
            elif now - self._missing_since.setdefault(each.id, now) >= MISSING_FOR:
                ended.append(each)
        if len(self._missing_since) > MISSING_MAX:
            self._missing_since.clear()  # they are looked for again
        if ended:
            await self._database.write(lambda tx: self._end(tx, ended))
            for each in ended:
                self._missing_since.pop(each.id, None)

    def _end(self, tx: Tx, missing: Sequence[TakenDownlink]) -> None:
        # Lock devices before downlinks, as all writers do: no deadlocks.
        devices = reporting_devices.get_reporting(tx, {each.device_id for each in missing})
        locked = store.lock_many(tx, [each.id for each in missing])
        changes = StateChanges(tx, self._dispatch)
        for each in missing:
            device, downlink = devices.get(each.device_id), locked.get(each.id)
            if device is None or downlink is None or not is_waiting(downlink):
                continue
            has_expired = downlink.expires_at <= tx.now
            changes.advance(device, downlink, "expired" if has_expired else "cancelled", MISSING)
        changes.store()
