"""Commits what ingest takes: requests wait in a queue, and are committed in batches one by one.

Several committers work side by side on PostgreSQL: one for each slot, since a commit holds one, and
others for large requests. They share the limit of what may wait.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any, Generic, TypeVar

import structlog

from longwire.errors import DatabaseUnreachable, LongwireError, OutcomeUnknown
from longwire.ingest.queue import IngestQueue
from longwire.store.database import Database, Tx
from longwire.work.turns import CallerKey

# SQLite: one commit at work, and one queued that starts the moment it is done. PostgreSQL does not
# serialize commits by itself, so there is one at a time, or batches would be small.
COMMITS_IN_FLIGHT_MAX = {"sqlite": 2, "postgresql": 1}

# A commit of more requests than this means that they arrive faster than they can be stored one by
# one. Of several committers, each has its part of them.
BUSY_REQUESTS = 8

# On PostgreSQL a commit has a price whatever is in it, and several processes pay it side by side.
# While requests keep coming, a process whose commits are small pauses between two of them: until as
# many records are there as were when the last one ended, stored or waiting, since whoever got a
# response sends the next. A commit of so many is worth its price in any case.
PAUSE_S = {"sqlite": 0.0, "postgresql": 0.005}
UNPAUSED_RECORDS = 64

# While the database is unreachable, it is tried so often.
RETRY_INTERVAL_S = 0.1

log = structlog.get_logger()

Request = TypeVar("Request")
Result = TypeVar("Result")
# What is stored of some requests on a transaction: their results, and channels to wake.
StoreBatch = Callable[[Tx, Sequence[Request]], tuple[Sequence[Result | LongwireError], set[int]]]
# Channels that have something to deliver, and the slot in which, if that is one.
Wake = Callable[[Collection[int], int | None], None]


class IngestCommitter(Generic[Request, Result]):
    """Queues requests and commits them in batches."""

    def __init__(
        self,
        database: Database,
        slot: int | None,
        store: StoreBatch[Request, Result],
        queue: IngestQueue[tuple[Request, Callable[[Result | Exception], None]]],
        *,
        records_per_commit_max: int,
        patience_s: float,
        wake: Wake,
        committers: int = 1,
    ) -> None:
        """`slot` is that of all devices in it, None if a request may have devices of several.

        `patience_s` is how long records wait for a database that is unreachable.
        """
        self.queue = queue
        self._database = database
        self._slot = slot
        self._store = store
        self._records_per_commit_max = records_per_commit_max
        self._patience_s = patience_s
        self._wake = wake
        self._busy_requests = max(1, BUSY_REQUESTS // committers)
        self._in_flight = 0
        self._in_flight_max = COMMITS_IN_FLIGHT_MAX[database.engine_name]
        self._unreachable_since: float | None = None
        self._held: tuple[asyncio.TimerHandle, _Batch[Request, Result]] | None = None  # to retry
        self._pause_s = PAUSE_S[database.engine_name]
        self._pause: asyncio.TimerHandle | None = None
        self._enough_records = UNPAUSED_RECORDS  # to end it
        self._resume: asyncio.TimerHandle | None = None  # when a batch is due
        self._is_postponed = False  # nothing but batches was there, in a commit of others

    def try_enqueue(
        self, sender: CallerKey, request: Request, on_result: Callable[[Result | Exception], None]
    ) -> bool:
        """Have a request stored; the result comes on the event loop. False if the queue is full."""
        if not self.queue.put(sender, (request, on_result)):
            return False
        if self._pause is not None:
            if self.queue.records >= self._enough_records:
                self._end_pause()
        else:
            self._continue()
        return True

    def stop_waiting(self) -> None:
        """The service stops: whatever waits for a database that is unreachable is refused."""
        self._patience_s = 0.0
        if self._held is not None:
            timer, batch = self._held
            timer.cancel()
            self._held = None
            self._in_flight -= 1
            self._report([*batch, *self.queue.take_all()], DatabaseUnreachable())

    def _continue(self) -> None:
        """Submit the next commit, as soon as anything is due."""
        if not self.queue or self._in_flight >= self._in_flight_max:
            return
        delay_s = self.queue.get_delay_s()
        if not delay_s:
            self._submit_commit()
        elif self._resume is None:
            self._resume = asyncio.get_running_loop().call_later(delay_s, self._on_due)

    def _on_due(self) -> None:
        self._resume = None
        if self._pause is None:
            self._continue()

    def _submit_commit(self, retried: "_Batch[Request, Result] | None" = None) -> None:
        """Queue a commit behind the one in flight, so that the disk is never idle.

        Its batch is taken when it starts, not now: everything that has arrived by then.
        """
        batch: _Batch[Request, Result] = retried or []
        try:
            commit = self._database.submit(partial(self._store_batch, batch))
        except Exception as error:
            if self._in_flight == 0:
                # Everything, not one batch: nobody would take the rest before the next record.
                batch += self.queue.take_all()
            self._report(batch, error)
            return  # else the commit in flight takes the queue, or submits the next one
        self._in_flight += 1
        commit.add_done_callback(partial(self._on_committed, batch))

    def _store_batch(
        self, batch: "_Batch[Request, Result]", tx: Tx
    ) -> tuple[Sequence[Result | LongwireError], set[int]]:
        if not batch:  # else the transaction is retried with the same batch
            # Others wait for this transaction, and would wait for a batch; but only once.
            takes_batches = not tx.shares_commit or self._is_postponed
            batch += self.queue.take(self._records_per_commit_max, takes_batches=takes_batches)
            self._is_postponed = not batch and not takes_batches
        if not batch:  # the one before, in the same transaction, has taken all
            return [], set()
        tx.slot = self._slot or 0
        began = time.monotonic()
        result = self._store(tx, [request for _, (request, _) in batch])
        self.queue.note_duration(self.queue.count(batch), time.monotonic() - began)
        return result

    def _on_committed(
        self, batch: "_Batch[Request, Result]", commit: "asyncio.Future[Any]"
    ) -> None:
        error = asyncio.CancelledError() if commit.cancelled() else commit.exception()
        is_unreachable = isinstance(error, DatabaseUnreachable)
        if is_unreachable and self._hold(batch):
            return
        if not is_unreachable:
            self._unreachable_since = None
        self._in_flight -= 1
        if is_unreachable or (error is not None and not batch):
            # It failed before it started, and so would the next.
            batch = [*batch, *self.queue.take_all()]
        self.queue.note_committed(batch)
        if self._pause_s and self._is_worth_a_pause(batch):
            self._begin_pause()
        else:
            self._continue()  # before the responses: the disk is slower than we are
        if error is not None:
            self._report(batch, error)
            return
        results, woken = commit.result()
        if woken:
            self._wake(woken, self._slot)
        self._report(batch, results)

    def _is_worth_a_pause(self, batch: "_Batch[Request, Result]") -> bool:
        """Whether more arrives than can be committed one by one, and commits are small."""
        return (
            len(batch) > self._busy_requests
            and self.queue.records - self.queue.count(batch) < UNPAUSED_RECORDS
        )

    def _begin_pause(self) -> None:
        self._enough_records = min(UNPAUSED_RECORDS, self.queue.records)
        self._pause = asyncio.get_running_loop().call_later(self._pause_s, self._end_pause)

    def _end_pause(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._continue()

    def _hold(self, batch: "_Batch[Request, Result]") -> bool:
        """Whether a batch of which nothing was stored is retried, while all others wait."""
        now = time.monotonic()
        if self._unreachable_since is None:
            self._unreachable_since = now
        if now - self._unreachable_since >= self._patience_s:
            return False
        loop = asyncio.get_running_loop()
        self._held = loop.call_later(RETRY_INTERVAL_S, self._retry), batch
        return True

    def _retry(self) -> None:
        assert self._held is not None
        _, batch = self._held
        self._held = None
        self._in_flight -= 1
        self._submit_commit(batch)

    def _report(
        self,
        batch: "_Batch[Request, Result]",
        results: Sequence[Result | Exception] | BaseException,
    ) -> None:
        if isinstance(results, BaseException):
            failure = results if isinstance(results, Exception) else OutcomeUnknown()
            results = [failure] * len(batch)
        self.queue.release(batch)
        self._database.note_writes({sender.owner for sender, _ in batch})
        for (_, (_, on_result)), result in zip(batch, results, strict=True):
            try:
                on_result(result)
            except Exception:  # one broken callback must not keep the others from their results
                log.exception("ingest result callback failed")


# With the sender.
_Batch = list[tuple[CallerKey, tuple[Request, Callable[[Result | Exception], None]]]]
