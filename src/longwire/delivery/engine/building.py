"""Builds the messages of a batch, right before it is sent.

Most are built at once. Those with a user's expression cost CPU time, which is charged to the budget
of their group: cheap ones are built on the event loop, others in a pool, a slice at a time.
"""

import asyncio
import contextlib
import time
from collections.abc import Sequence
from functools import partial

import structlog

from longwire.delivery.destinations.base import FailureCode, OutboundMessage, Refused
from longwire.delivery.engine.turns import PendingWork
from longwire.delivery.engine.worker import (
    LEASE_LEFT_MIN_S,
    ChannelWorker,
    LeasedDelivery,
    has_lease_left,
)
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.delivery.matching.compute_pool import BudgetUsedUp, ComputePool
from longwire.store.database import Database
from longwire.store.delivery.delivery_leases import ClaimedDelivery

# A template that takes less than sending its message does is evaluated on the event loop, if
# messages are small, and for so long before it is the turn of others.
INLINE_MESSAGE_S = 0.000_2
INLINE_CHARACTERS_MAX = 4 * 1_024
INLINE_SLICE_S = 0.001
# Others are built for so long before it is another group's turn.
BUILD_SLICE_S = 0.01
# When less is left of a lease, what was built so far is sent.
BUILD_LEASE_LEFT_MIN_S = LEASE_LEFT_MIN_S + 5.0

BUILD_FAILED = Refused(
    "the message could not be formatted because of an internal error",
    is_final=True,
    code=FailureCode.INTERNAL_ERROR,
)

log = structlog.get_logger()


class BatchBuilder:
    """Builds messages within the budgets of their groups, and within their leases."""

    def __init__(self, database: Database, budgets: ComputeBudgets, work: PendingWork) -> None:
        self._database = database
        self._budgets = budgets
        self._pool = ComputePool(budgets)
        self._work = work

    def has_budget(self, worker: ChannelWorker) -> bool:
        return not (worker.is_computed and self._budgets.is_used_up(worker.channel.group_id))

    async def build(
        self, worker: ChannelWorker, batch: Sequence[LeasedDelivery]
    ) -> tuple[list[LeasedDelivery], list[OutboundMessage]]:
        """The messages of a batch; deliveries without one have failed, or are released."""
        leased: list[LeasedDelivery] = []
        messages: list[OutboundMessage] = []
        results: list[OutboundMessage | Refused] = []
        if worker.is_computed:
            await self._compute(worker, batch, results)
        else:
            results += [_build_message(worker, each.claimed) for each in batch]
        for each, built in zip(batch, results, strict=False):
            if isinstance(built, Refused):
                self._work.add_attempts([each], built)
            else:
                leased.append(each)
                messages.append(built)
        if len(results) < len(batch):
            self._work.release_for_later(batch[len(results) :])
        return leased, messages

    async def _compute(
        self,
        worker: ChannelWorker,
        batch: Sequence[LeasedDelivery],
        results: list[OutboundMessage | Refused],
    ) -> None:
        """Build by expressions, until the budget is used up or the leases would not suffice."""
        group_id = worker.channel.group_id
        is_small = max(len(each.claimed.body) for each in batch) <= INLINE_CHARACTERS_MAX
        with contextlib.suppress(BudgetUsedUp):
            while True:
                if is_small and worker.next_build_s <= INLINE_MESSAGE_S:
                    _build_slice(worker, batch, results, INLINE_SLICE_S, self._budgets)
                else:
                    build = partial(_build_slice, worker, batch, results, BUILD_SLICE_S)
                    await self._pool.run(worker.caller, group_id, build)
                if len(results) == len(batch):
                    break
                await asyncio.sleep(0)
                has_time = has_lease_left(self._database, batch[0], BUILD_LEASE_LEFT_MIN_S)
                if not has_time or self._budgets.is_used_up(group_id):
                    break
        if not has_lease_left(self._database, batch[0]):
            results.clear()


def _build_slice(
    worker: ChannelWorker,
    batch: Sequence[LeasedDelivery],
    results: list[OutboundMessage | Refused],
    slice_s: float,
    charged: ComputeBudgets | None = None,
) -> None:
    """Build those messages of a batch that have no result yet, for about so long."""
    started = time.thread_time()
    spent_s, done = 0.0, len(results)
    for each in batch[done:]:
        results.append(_build_message(worker, each.claimed))
        spent_s = time.thread_time() - started
        if spent_s >= slice_s:
            break
    worker.build_s = spent_s / max(1, len(results) - done)
    if charged is not None:
        charged.charge(worker.channel.group_id, spent_s * 1e6)


def _build_message(worker: ChannelWorker, claimed: ClaimedDelivery) -> OutboundMessage | Refused:
    try:
        return worker.build_message(claimed)
    except Exception:
        log.exception("message cannot be built", channel=worker.channel.id)
        return BUILD_FAILED
