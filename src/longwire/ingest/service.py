"""Ingest: requests are queued, committed in batches, and get their results after the commit.

There is no timer. Whatever arrives while one commit is on its way to the disk goes into the next,
so an idle service responds at once and a busy one commits hundreds of records together. The queue
is bounded. A response is sent only after the commit.

While PostgreSQL is unreachable, as during the promotion of a standby, what was not sent to it yet
waits in the same queue, for a limited time.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import msgspec

from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.errors import Unavailable
from longwire.ingest.committer import IngestCommitter, Wake
from longwire.ingest.queue import IngestQueue, RecordBudget
from longwire.ingest.requests import (
    DevicesLocked,
    IngestRequest,
    IngestResult,
    IngestResults,
    OnResult,
    UnknownRecordDevices,
)
from longwire.ingest.sequencer import Sequencer
from longwire.ingest.storing import store_requests
from longwire.model import Actor
from longwire.spans import current_span
from longwire.storage_quota import StorageQuota
from longwire.store.database import Database, Tx
from longwire.store.slots import find_common_slot

# On PostgreSQL, where transactions overlap, requests with more records than this have commits of
# their own, so that others do not wait for the commit of somebody's large one. So have requests
# with devices that somebody is changing, a thousand at a time perhaps.
LARGE_RECORDS = 500


class Ingest:
    """Takes requests, and has them committed in batches: by slot, where there are several.

    The records of one request are stored in one transaction, whatever devices they are of, so
    requests with devices of several slots have a committer of their own.
    """

    def __init__(
        self,
        database: Database,
        sequencer: Sequencer,
        *,
        waiting_records_max: int = 20_000,
        records_per_commit_max: int = 1_000,
        patience_s: float = 0.0,
        wake: Wake = lambda channels, slot: None,
        budgets: ComputeBudgets | None = None,
        on_deferred: Callable[[], None] | None = None,
        storage_quota: StorageQuota | None = None,
        on_unknown: Callable[[Actor, UnknownRecordDevices], None] = lambda sender, error: None,
    ) -> None:
        """`patience_s` is how long records wait for a database that is unreachable.

        `on_unknown` gets what app clients post about devices that they do not know, on any thread.
        """
        self._slots = database.slots
        self._budget = RecordBudget(waiting_records_max)
        slots: list[int | None] = [*range(self._slots)]
        if self._slots > 1:
            slots.append(None)

        def store(
            waits: bool, tx: Tx, requests: Sequence[IngestRequest]
        ) -> tuple[IngestResults, set[int]]:
            options = budgets, on_deferred, storage_quota
            results, woken = store_requests(
                tx, requests, sequencer, *options, waits_for_locks=waits
            )
            for request, result in zip(requests, results, strict=True):
                if isinstance(result, UnknownRecordDevices) and request.actor.kind == "client":
                    tx.on_commit(partial(on_unknown, request.actor, result))
            return results, woken

        def create_committer(
            slot: int | None, *, waits_for_locks: bool = True
        ) -> IngestCommitter[IngestRequest, IngestResult]:
            return IngestCommitter(
                database,
                slot,
                partial(store, waits_for_locks),
                IngestQueue(self._budget, lambda queued: len(queued[0].items)),
                records_per_commit_max=records_per_commit_max,
                patience_s=patience_s,
                wake=wake,
                committers=len(slots),
            )

        is_parallel = database.engine_name == "postgresql"
        self._small = [create_committer(slot, waits_for_locks=not is_parallel) for slot in slots]
        self._large = [create_committer(slot) for slot in slots] if is_parallel else self._small
        self._large_requests = _LargeRequests()
        self.committers = [*self._small, *(self._large if is_parallel else ())]

    @property
    def waiting(self) -> int:
        """Records that are not committed yet."""
        return self._budget.records

    async def store(self, request: IngestRequest) -> IngestResult:
        """Store the records of one request; returns after the commit."""
        span = current_span.get()
        if span is not None:
            request = msgspec.structs.replace(request, span=span)
        future: asyncio.Future[IngestResult] = asyncio.get_running_loop().create_future()
        if not self.try_enqueue(request, partial(_settle, future)):
            raise Unavailable("Too many records are waiting to be stored; nothing was changed.")
        return await future

    def try_enqueue(self, request: IngestRequest, on_result: OnResult) -> bool:
        """The same with a callback, called on the event loop. False if the queue is full."""
        slot = 0 if self._slots == 1 else self._find_slot(request)
        caller = request.actor.caller
        if self._large is self._small:
            return self._small[slot].try_enqueue(caller, request, on_result)
        if not self._large_requests.includes(request):
            on_result = partial(self._on_result, slot, request, on_result)
            return self._small[slot].try_enqueue(caller, request, on_result)
        return self._large_requests.try_enqueue(self._large[slot], request, on_result)

    def _on_result(
        self,
        slot: int,
        request: IngestRequest,
        on_result: OnResult,
        result: IngestResult | Exception,
    ) -> None:
        """Whose device is being changed waits for that where others do not wait with them."""
        if not isinstance(result, DevicesLocked) or not self._large_requests.try_enqueue(
            self._large[slot], request, on_result
        ):
            on_result(result)

    def _find_slot(self, request: IngestRequest) -> int:
        """The slot of all devices; -1, which is the place of such a committer, if of several."""
        slot = find_common_slot(self._slots, (item.record.device_id for item in request.items))
        return -1 if slot is None else slot

    def stop_waiting(self) -> None:
        """The service stops: whatever waits for a database that is unreachable is refused."""
        for committer in self.committers:
            committer.stop_waiting()


class _LargeRequests:
    """Requests that have commits of their own, and whoever follows them there.

    What comes from the same owner or of the same devices meanwhile would wait for their locks, and
    everybody in its commit with it.
    """

    def __init__(self) -> None:
        self._owners: Counter[str] = Counter()
        self._devices: Counter[str] = Counter()

    def includes(self, request: IngestRequest) -> bool:
        if len(request.items) > LARGE_RECORDS:
            return True
        if not self._owners:
            return False
        return request.actor.caller.owner in self._owners or any(
            item.record.device_id in self._devices for item in request.items
        )

    def try_enqueue(
        self,
        committer: IngestCommitter[IngestRequest, IngestResult],
        request: IngestRequest,
        on_result: OnResult,
    ) -> bool:
        caller = request.actor.caller
        devices = {item.record.device_id for item in request.items}

        def leave() -> None:
            _decrement(self._owners, [caller.owner])
            _decrement(self._devices, devices)

        def on_committed(result: IngestResult | Exception) -> None:
            leave()
            on_result(result)

        # First: if the database takes nothing, the result is there before it is enqueued.
        self._owners[caller.owner] += 1
        self._devices.update(devices)
        is_enqueued = committer.try_enqueue(caller, request, on_committed)
        if not is_enqueued:
            leave()
        return is_enqueued


def _decrement(counter: Counter[str], keys: Iterable[str]) -> None:
    for key in keys:
        counter[key] -= 1
        if not counter[key]:
            del counter[key]


def _settle(future: "asyncio.Future[IngestResult]", result: IngestResult | Exception) -> None:
    if future.done():
        return  # the client disconnected; what was committed stays
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(result)
