"""Sends claimed deliveries in batches, with no transaction open.

What is scarce is shared: attempts in flight by the owners (`AttemptSlots`), and the CPU time of
templates by the groups (`BatchBuilder`). Whoever has to wait keeps its deliveries as long as their
leases allow.

Sending and ingest share one event loop, in which each connection gets its turn: who stores faster
than both can be done waits in the requests that store, and what was accepted is not left behind.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence

import structlog

from longwire.clock import Moment
from longwire.delivery.destinations.base import (
    OUTCOME_NAMES,
    Delivered,
    FailureCode,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.engine.building import BatchBuilder
from longwire.delivery.engine.request_rate import RequestRate
from longwire.delivery.engine.turns import AttemptSlots, PendingWork, ReceiverBack
from longwire.delivery.engine.worker import (
    PAUSE_MAX_S,
    RELEASED,
    SEND_TIMEOUT_S,
    ChannelWorker,
    LeasedDelivery,
    Released,
    has_lease_left,
)
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.ids import new_id
from longwire.model import Channel
from longwire.spans import Span, Tracer, parse_traceparent
from longwire.store.database import Database
from longwire.work.turns import current_caller

STOP_TIMEOUT_S = 10.0

# While anything is in flight, the lateness of the event loop is measured so often.
LATENESS_INTERVAL_S = 0.02

# With several processes: what is sent while the database does not respond cannot be settled, and
# another process sends it again. So nothing is started once it has not responded for so long.
UNRESPONSIVE_MAX_S = 1.0
THROTTLE_DELAY_S = 0.25
THROTTLE_REPORT_INTERVAL_S = 60.0

# A span of a large batch has no more links than this, as in the SDK.
LINKS_MAX = 128

STOPPED = Unreachable("the service was stopped while sending it", code=FailureCode.STOPPED)
TIMED_OUT = Unreachable(f"did not answer within {SEND_TIMEOUT_S:.0f} s", code=FailureCode.TIMED_OUT)
SEND_FAILED = Unreachable(
    "could not be sent because of an internal error", code=FailureCode.INTERNAL_ERROR
)

log = structlog.get_logger()

OnAttempt = Callable[[str, str, float], None]  # (type of the channel, outcome, seconds)


class BatchSender:
    """Starts the batches of all workers when it is their turn; outcomes are added to `work`."""

    def __init__(
        self,
        database: Database,
        work: PendingWork,
        *,
        in_flight_max: int,
        attempts_in_flight_max: int,
        budgets: ComputeBudgets,
        on_attempt: OnAttempt,
        tracer: Tracer | None,
    ) -> None:
        self.is_stopping = False
        self._last_response = time.monotonic()  # of the database
        self._is_held_back = False
        self._database = database
        self._work = work
        self._in_flight_max = in_flight_max
        self._slots = AttemptSlots[ChannelWorker](attempts_in_flight_max)
        self._builder = BatchBuilder(database, budgets, work)
        self._on_attempt = on_attempt
        self._tracer = tracer
        self._sending: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._throttled: set[ChannelWorker] = set()
        self._throttle_timer: asyncio.TimerHandle | None = None
        self._paused: set[ChannelWorker] = set()
        self._lateness_timer: asyncio.TimerHandle | None = None

    # --- for the engine ---

    def start_batches(self, worker: ChannelWorker) -> None:
        """Send what a worker has claimed, now or when it is its turn."""
        while self._can_start(worker) and self._start_batch(worker):
            pass

    @property
    def can_settle(self) -> bool:
        """Whether outcomes can be settled, as far as is known, or nobody else would send again."""
        return (
            len(self._database.cluster.delivering) < 2
            or time.monotonic() - self._last_response < UNRESPONSIVE_MAX_S
        )

    def note_response(self, workers: Collection[ChannelWorker]) -> None:
        """The database has responded, or was not needed: go on with what was held back."""
        self._last_response = time.monotonic()
        if self._is_held_back:
            self._is_held_back = False
            for worker in workers:
                self.start_batches(worker)

    def release_pending(self, worker: ChannelWorker) -> None:
        self._work.add_attempts(worker.pending, RELEASED)
        worker.pending.clear()

    def release_expiring(self, worker: ChannelWorker) -> None:
        """Release what has waited for its turn until its lease does not suffice any more."""
        while worker.pending and not has_lease_left(self._database, worker.pending[0]):
            self._work.release_for_later([worker.pending.popleft()])

    def close(self, worker: ChannelWorker) -> None:
        task = asyncio.create_task(worker.sender.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def finish(self) -> None:
        """Wait for what is in flight, up to a limit; cancel the rest."""
        if self._sending:
            await asyncio.wait(self._sending, timeout=STOP_TIMEOUT_S)
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    async def close_all(self, workers: Collection[ChannelWorker]) -> None:
        for worker in workers:
            self.close(worker)
        await asyncio.gather(*self._closing, return_exceptions=True)
        self._throttled.clear()
        self._paused.clear()
        self._slots.clear_waiting()

    # --- whose turn it is ---

    def _can_start(self, worker: ChannelWorker) -> bool:
        if not worker.pending or worker.in_flight >= self._get_share(worker) or self.is_stopping:
            return False
        if worker.is_paused:
            return False
        if not self.can_settle:
            self._is_held_back = True
            return False
        return worker.rate is None or self._has_request(worker, worker.rate)

    def _get_share(self, worker: ChannelWorker) -> int:
        """How many of its attempts this process may have in flight."""
        total = worker.count_senders(self._in_flight_max)
        share = self._database.cluster.get_share(worker.channel.number, total)
        # Whoever sends at a limited rate has all of them.
        return share * self._in_flight_max if worker.rate and not worker.is_probing else share

    def _has_request(self, worker: ChannelWorker, rate: RequestRate) -> bool:
        """Whether a request may be sent now; otherwise it is started then, and keeps no slot."""
        wait_s = rate.get_wait_s()
        if wait_s > 0 and not rate.has_timer:
            rate.has_timer = True
            asyncio.get_running_loop().call_later(wait_s, self._resume_at_rate, worker, rate)
        return wait_s <= 0

    def _resume_at_rate(self, worker: ChannelWorker, rate: RequestRate) -> None:
        rate.has_timer = False
        if not worker.is_stale:
            self.start_batches(worker)

    def _start_batch(self, worker: ChannelWorker) -> bool:
        """Start one batch; returns False if the worker has to wait, and will be resumed."""
        caller = worker.caller
        if not self._builder.has_budget(worker):
            self._throttle(worker)
            return False
        if not self._slots.take(caller):
            self._slots.wait(caller, worker)
            return False
        batch = worker.take_batch()
        if not has_lease_left(self._database, batch[0]):
            self._slots.release(caller)
            self._work.release_for_later(batch)
            return True
        worker.in_flight += 1
        if worker.rate is not None:
            worker.rate.take()
        if self._lateness_timer is None:
            self._measure_lateness()
        task = asyncio.create_task(self._send(worker, batch))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        return True

    def _start_waiting(self) -> None:
        """Give free slots to those who wait, one each time it is their turn."""
        while (worker := self._slots.pop_next()) is not None:
            if not worker.is_stale and self._can_start(worker):
                is_started = self._start_batch(worker)
                if is_started and self._can_start(worker):
                    self._slots.wait(worker.caller, worker)

    def _measure_lateness(self) -> None:
        """Adapt the number of slots to how late the event loop is, as long as any is used."""
        loop = asyncio.get_running_loop()
        due = time.monotonic() + LATENESS_INTERVAL_S

        def measure() -> None:
            self._slots.adapt(time.monotonic() - due)
            try:
                self._start_waiting()  # which does not start another timer
            finally:
                self._lateness_timer = None
                if self._sending:
                    self._measure_lateness()

        self._lateness_timer = loop.call_later(LATENESS_INTERVAL_S, measure)

    def _throttle(self, worker: ChannelWorker) -> None:
        """Resume when the group's budget has been refilled; its owner is notified."""
        self._throttled.add(worker)
        now = time.monotonic()
        if worker.throttled_at is None or now - worker.throttled_at > THROTTLE_REPORT_INTERVAL_S:
            worker.throttled_at = now
            self._work.throttled.add(worker.channel.number)
            self._work.is_added.set()
        if self._throttle_timer is None:
            self._throttle_timer = asyncio.get_running_loop().call_later(
                THROTTLE_DELAY_S, self._resume_throttled
            )

    def _resume_throttled(self) -> None:
        self._throttle_timer = None
        throttled, self._throttled = self._throttled, set()
        for worker in throttled:
            if not worker.is_stale:
                self.start_batches(worker)

    def _pause(self, worker: ChannelWorker) -> None:
        """Send nothing until the pause has ended; leases do not last through a long one."""
        self._paused.add(worker)
        left_s = worker.get_pause_left_s(self._database.context.clock.now())
        if left_s <= PAUSE_MAX_S:
            asyncio.get_running_loop().call_later(left_s, self.resume_paused)
        else:
            self.release_pending(worker)

    def pause_until(self, worker: ChannelWorker, until: Moment) -> None:
        """Another process was asked for time."""
        now = self._database.context.clock.now()
        if until > now and not worker.is_paused:
            worker.request_pause(until)
            self._pause(worker)

    def resume_paused(self) -> None:
        """Go on with those whose pause has ended; long ones end by the service's clock."""
        now = self._database.context.clock.now()
        for worker in list(self._paused):
            if worker.is_stale or not worker.get_pause_left_s(now):
                self._paused.discard(worker)
                worker.is_paused = False
                self._work.is_added.set()
                if not worker.is_stale:
                    self.start_batches(worker)

    # --- one batch ---

    async def _send(self, worker: ChannelWorker, batch: list[LeasedDelivery]) -> None:
        current_caller.set(worker.caller)
        was_probe = worker.is_probing
        leased, messages = batch, list[OutboundMessage]()
        outcome: Outcome | Released = RELEASED
        at, began = 0, time.monotonic()
        duration_ms = 0
        try:
            leased, messages = await self._builder.build(worker, batch)
            outcome = STOPPED
            at, began = self._database.context.clock.now(), time.monotonic()
            if messages:
                outcome = await self._send_messages(worker, leased, messages, at)
        finally:
            worker.in_flight -= 1
            self._slots.release(worker.caller)
            duration_ms = int((time.monotonic() - began) * 1_000)
            self._work.add_attempts(leased, outcome, at, duration_ms)
            if worker.channel.is_ordered:
                # The next ones of these devices are claimed once this is stored.
                worker.more_in.update([each.slot for each in batch])
        if messages and was_probe and worker.speaks_for_all(outcome):
            # The probe failed: so would the others.
            self._work.add_attempts(worker.pending, outcome, at, duration_ms, is_by_proxy=True)
            worker.pending.clear()
        if worker.is_stale:
            if not worker.in_flight:
                self.close(worker)
        elif not self._slots.has_waiting:
            self.start_batches(worker)
        elif self._can_start(worker):
            self._slots.wait(worker.caller, worker)
        self._start_waiting()

    async def _send_messages(
        self,
        worker: ChannelWorker,
        leased: Sequence[LeasedDelivery],
        messages: Sequence[OutboundMessage],
        at: Moment,
    ) -> Outcome:
        began = time.monotonic()
        span = None
        if self._tracer is not None:
            span = start_span(self._tracer, worker.channel, leased)
        batch_id = new_id("bat") if worker.sender.batch_max > 1 else messages[0].id
        batch = OutboundBatch(batch_id, messages, at, "" if span is None else span.traceparent)
        outcome: Outcome = STOPPED
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                outcome = await worker.sender.send(batch)
        except TimeoutError:
            outcome = TIMED_OUT
        except Exception:
            log.exception("destination failed", channel=worker.channel.id)
            outcome = SEND_FAILED
        finally:
            if span is not None:
                end_span(span, outcome)
        was_probing = worker.is_probing
        worker.adjust(outcome, self._database.context.clock.now())
        if worker.is_paused:
            self._pause(worker)
        if not isinstance(outcome, Delivered):
            self._work.recovered.pop(worker.channel.number, None)
        elif was_probing and not worker.is_probing:
            self._work.recovered.setdefault(worker.channel.number, ReceiverBack())
        try:
            self._on_attempt(
                worker.channel.type, OUTCOME_NAMES[type(outcome)], time.monotonic() - began
            )
        except Exception:  # a metric that cannot be written must not repeat a delivery
            log.exception("attempt not counted", channel=worker.channel.id)
        return outcome


# --- what a trace says about how a message left ---


def start_span(tracer: Tracer, channel: Channel, leased: Sequence[LeasedDelivery]) -> Span | None:
    """In the trace of the request that stored the record, however long ago and wherever it was.

    If that request was not traced, neither is the attempt.
    """
    traced = [each.claimed.traceparent for each in leased if each.claimed.traceparent is not None]
    parsed = [parse_traceparent(each) for each in traced[: LINKS_MAX + 1]]
    parents = [each for each in parsed if each is not None]
    if not parents:
        return None
    attributes = {
        "longwire.channel.id": channel.id,
        "longwire.channel.purpose": channel.purpose.value,
        "longwire.messages": len(leased),
        "longwire.attempt": leased[0].claimed.attempts,
    }
    return tracer.start_attempt(channel.type, parents, attributes)


def end_span(span: Span, outcome: Outcome) -> None:
    attributes: dict[str, str | int] = {"longwire.outcome": OUTCOME_NAMES[type(outcome)]}
    if isinstance(outcome, Refused | Delivered) and outcome.status is not None:
        attributes["http.response.status_code"] = outcome.status
    if isinstance(outcome, Refused | Unreachable):
        attributes["error.type"] = outcome.code.value
    span.end(attributes, is_error=not isinstance(outcome, Delivered))
