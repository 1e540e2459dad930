"""The engine: claims deliveries that are due, sends them, and settles the outcomes.

There is one kind of transaction: it settles all attempts since the last one, and claims as many
deliveries as there is capacity for (`Claimer`). Messages are sent between transactions, with none
open (`BatchSender`). A claim is a lease with a fencing token. An attempt counts from its claim, so
that a message which crashes the process is not retried without end.

Each channel has its own worker, with its own queue, window and breaker, so that a destination that
hangs does not delay the others. A receiver that has failed a few times in a row gets one batch as a
probe, after a pause; its outcome applies to all deliveries that were claimed with it. Once it is
back, deliveries that wait for a retry are brought forward.
"""

import asyncio
import contextlib
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from functools import partial

import structlog

from longwire.clock import Moment
from longwire.delivery.channel_handlers import ChannelHandlers
from longwire.delivery.connectors import replays
from longwire.delivery.connectors.handler import DEFAULT_HANDLERS
from longwire.delivery.engine import claiming
from longwire.delivery.engine.claiming import (
    ORPHANS_PER_STEP_MAX,
    Claimer,
    ClaimRequest,
    ClaimResult,
    RateWait,
    recover_from_dead_nodes,
    recover_orphans,
)
from longwire.delivery.engine.request_rate import RequestRate
from longwire.delivery.engine.sending import STOP_TIMEOUT_S, BatchSender, OnAttempt
from longwire.delivery.engine.turns import (
    CHANNELS_MAX,
    ChannelTurns,
    PendingWork,
    SlotPart,
)
from longwire.delivery.engine.worker import LEASE_S, ChannelWorker, LeasedDelivery
from longwire.delivery.http.egress import Egress
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.delivery.resends import Resender
from longwire.errors import LongwireError
from longwire.spans import Tracer
from longwire.store.database import Database, Tx, Work
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import delivery_leases
from longwire.store.pacing import write_and_pause
from longwire.store.slots import run_in_slot
from longwire.work.leases import Lease
from longwire.work.turns import CallerKey

SCAN_INTERVAL_S = 0.5
SCANS_PER_FULL_SCAN = 8
SCAN_DELAY_S = 0.02
MAINTENANCE_INTERVAL_S = 1.0
RECOVERY_INTERVAL_S = 5.0
RECOVERY_DELAY_S = 5.0  # after an outage, in which the other processes renew their leases
FAR_FUTURE = 2**62
STALLED_S = 30.0
ERROR_DELAY_S = 0.5

# Attempts are settled with the next claim, or when there are so many, or after this delay. What is
# not settled is sent again after a crash; those of one transaction wait for the one before.
SETTLE_BATCH_SIZE = 16
SETTLE_DELAY_S = 0.02

# Retries that are brought forward in a second: in the first one, and at most.
FORWARDED_MIN = 4
FORWARDED_MAX = 1_000
FORWARDED_STEPS_MAX = 8

CHANNELS_PER_SCAN_MAX = 500
GROUPS_MAX = 100_000  # of channels that are known by number

log = structlog.get_logger()


class Engine:
    """Sends what is due, for every channel, until it is cancelled."""

    def __init__(
        self,
        database: Database,
        writer: int,
        egress: Egress,
        *,
        handlers: ChannelHandlers = DEFAULT_HANDLERS,
        in_flight_max: int = 16,
        attempts_in_flight_max: int = 1_000,
        budgets: ComputeBudgets | None = None,
        resend_per_s: int = 100,
        on_attempt: OnAttempt = lambda kind, outcome, seconds: None,
        tracer: Tracer | None = None,
    ) -> None:
        self._tracer = tracer
        self._database = database
        self._writer = writer
        self._handlers = handlers
        self._in_flight_max = in_flight_max
        self._work = PendingWork(ChannelTurns(CHANNELS_MAX[database.engine_name]))
        self._sender = BatchSender(
            database,
            self._work,
            in_flight_max=in_flight_max,
            attempts_in_flight_max=attempts_in_flight_max,
            budgets=budgets
            or ComputeBudgets(database.context.clock, ms_per_s=1_000, burst_ms=60_000),
            on_attempt=on_attempt,
            tracer=tracer,
        )
        self._claimer = Claimer(
            database, writer, egress, handlers, in_flight_max, lambda: self._sender.is_stopping
        )
        self._resender = Resender(database, resend_per_s)
        self._recovery = LeaseRecovery(database, writer, handlers, in_flight_max)
        self._workers: dict[int, ChannelWorker] = {}
        self._callers: dict[int, CallerKey] = {}  # of channels, also of those without a worker here
        self._scan_cursors: dict[int, int] = {}  # by slot
        self._scans = 0
        self._last_scan = time.monotonic()
        self._loop: asyncio.AbstractEventLoop | None = None  # while it runs
        self._last_progress = time.monotonic()
        self._last_transaction = 0.0

    # --- for other modules ---

    @property
    def is_progressing(self) -> bool:
        """For the health of the service."""
        return time.monotonic() - self._last_progress < STALLED_S

    def wake(self, numbers: Collection[int], slot: int | None = None) -> None:
        """Deliveries for these channels were enqueued, in a slot if that is known."""
        due = self._work.due
        if self._database.slots == 1:
            due.update((number, 0) for number in numbers)
        elif slot is None:
            # A scan finds out where; one for all who wake meanwhile.
            soon = time.monotonic() - SCAN_INTERVAL_S + SCAN_DELAY_S
            self._last_scan = min(self._last_scan, soon)
        else:
            # What belongs to another process is found there.
            due.update((each, slot) for each in numbers if slot in self._list_own_slots(each))
        self._work.is_added.set()

    def wake_threadsafe(self, numbers: Collection[int]) -> None:
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(self.wake, numbers)

    async def run(self) -> None:
        """Run until cancelled; then finish what is in flight, and release the rest."""
        self._loop = asyncio.get_running_loop()
        self._sender.is_stopping = False
        self._note_progress()
        if self._database.engine_name == "sqlite":
            await self._run_safely(self._take_over)
        maintenance = asyncio.create_task(self._run_maintenance())
        main = asyncio.create_task(self._run_main())
        try:
            # Not cancelled inside of a transaction: it would still be committed, and its claims
            # would be leased to nobody.
            done, _ = await asyncio.wait({maintenance, main}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._sender.is_stopping = True
            self._loop = None
            self._work.is_added.set()
            maintenance.cancel()
            await asyncio.wait({maintenance, main}, timeout=STOP_TIMEOUT_S)
            main.cancel()  # in case it hangs
            await self._stop()

    # --- the main loop ---

    async def _run_main(self) -> None:
        """Wait until there is work, and do it."""
        while not self._sender.is_stopping:
            timeout_s = self._last_scan + SCAN_INTERVAL_S - time.monotonic()
            if self._work.attempts:
                timeout_s = min(timeout_s, SETTLE_DELAY_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._work.is_added.wait()
            # Also under load: retries become due without a wake-up.
            if time.monotonic() - self._last_scan >= SCAN_INTERVAL_S:
                if not await self._run_safely(self._scan):
                    continue
                self._last_scan = time.monotonic()
                self._sender.note_response(list(self._workers.values()))
                self._sender.resume_paused()
            self._work.is_added.clear()
            if not self._needs_transaction() or await self._run_safely(self._run_transaction):
                self._note_progress()

    def _note_progress(self) -> None:
        self._last_progress = time.monotonic()
        self._sender.note_response(list(self._workers.values()))

    def _needs_transaction(self) -> bool:
        """Whether anything can be claimed, or enough is unsettled, or for long enough.

        A transaction costs about the same for one delivery as for a hundred, and delays ingest.
        """
        work = self._work
        for number, slot in list(work.due):
            worker = self._workers.get(number)
            if worker is not None and worker.is_full:
                worker.more_in.add(slot)
                work.due.discard((number, slot))
        if work.due or work.throttled or len(work.attempts) >= SETTLE_BATCH_SIZE:
            return True
        if any(worker.wants_claim for worker in self._workers.values()):
            return True
        return bool(work.attempts) and time.monotonic() - self._last_transaction >= SETTLE_DELAY_S

    async def _run_safely(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Run a step; returns whether it succeeded. Errors are followed by a short delay."""
        try:
            await step()
        except LongwireError:
            await asyncio.sleep(ERROR_DELAY_S)  # the database is unavailable
            return False
        except Exception:
            log.exception("delivery engine step failed")
            await asyncio.sleep(ERROR_DELAY_S)
            return False
        return True

    async def _stop(self) -> None:
        """Wait for what is in flight, up to a limit; release the rest."""
        for worker in self._workers.values():
            self._sender.release_pending(worker)
        await self._sender.finish()
        self._work.due.clear()
        await self._run_safely(self._run_transaction)
        await self._sender.close_all(self._workers.values())
        self._workers.clear()  # the supervisor may run the engine again

    # --- which channels have something due ---

    async def _scan(self) -> None:
        """Find channels with something due, and workers whose channel was changed."""
        cluster, slots = self._database.cluster, self._database.slots
        self._scans += 1
        # Mostly in our own slots; now and then in all, since one process probes for all others, and
        # with fewer attempts than processes the slots of each channel are divided differently.
        is_alike = len(cluster.delivering) <= self._in_flight_max
        scanned: Collection[int] = range(slots)
        if is_alike and self._scans % SCANS_PER_FULL_SCAN:
            scanned = cluster.list_slots(0, self._in_flight_max, slots)
        open_numbers = [*self._workers]

        def find(tx: Tx) -> tuple[dict[int, list[int]], dict[int, int], dict[int, Moment]]:
            due = {}
            for slot in scanned:
                after = self._scan_cursors.get(slot, 0)
                due[slot] = delivery_leases.list_due_channels(
                    tx, slot, CHANNELS_PER_SCAN_MAX, after
                )
            versions = store_channels.get_versions(tx, open_numbers)
            return due, versions, store_channels.get_pauses(tx, open_numbers)

        due, versions, pauses = await self._database.read(find)
        for number in open_numbers:
            worker = self._workers.get(number)
            if worker is None:
                continue
            # One process probes. Not dropped after the attempt: a transaction may be claiming.
            total = worker.count_senders(self._in_flight_max)
            if versions.get(number) != worker.channel.version or not cluster.get_share(
                number, total
            ):
                self._drop_worker(number)
            else:
                worker.more_in.intersection_update(self._list_own_slots(number))
                self._sender.pause_until(worker, pauses.get(number, 0))
        for worker in self._workers.values():
            self._sender.release_expiring(worker)
        for slot, numbers in due.items():
            self._work.due.update((number, slot) for number in numbers)
            self._scan_cursors[slot] = numbers[-1] if len(numbers) == CHANNELS_PER_SCAN_MAX else 0

    def _list_own_slots(self, number: int) -> Collection[int]:
        """The slots in which this process sends the messages of a channel."""
        worker = self._workers.get(number)
        total = self._in_flight_max
        if worker is not None:
            total = worker.count_senders(total)
        return self._database.cluster.list_slots(number, total, self._database.slots)

    # --- the transaction ---

    async def _run_transaction(self) -> None:
        """One transaction for each slot that has anything to settle or to claim."""
        self._last_transaction = time.monotonic()
        claiming = {
            (number, slot)
            for number, worker in self._workers.items()
            if worker.wants_claim
            for slot in worker.more_in
        }
        parts = self._work.take_turn(claiming, self._get_caller, takes_all=self._sender.is_stopping)
        throttled, self._work.throttled = self._work.throttled, set()
        try:
            while parts:
                part = parts.pop()
                await self._run_part(part, parts, throttled)
                throttled = set()
        finally:
            for part in parts:
                self._work.restore(part)

    def _get_caller(self, number: int) -> CallerKey:
        """In whose turn a channel is claimed for; alone, if it was never looked up."""
        worker = self._workers.get(number)
        if worker is not None:
            return worker.caller
        return self._callers.get(number) or CallerKey.alone(f"channel {number}")

    async def _run_part(
        self, part: SlotPart, others: Collection[SlotPart], throttled: Collection[int]
    ) -> None:
        """Settle and claim in one slot; channels may have something due in the other parts, too."""
        workers = {
            number: worker
            for number, worker in self._workers.items()
            if number in part.channels or worker.pending
        }
        shares = Counter([number for each in others for number in each.channels])
        request = ClaimRequest(
            slot=part.slot,
            token=delivery_leases.new_writer_token(self._writer),
            channels=part.channels,
            open_versions={n: worker.channel.version for n, worker in workers.items()},
            capacities={n: -(-worker.capacity // (1 + shares[n])) for n, worker in workers.items()},
            throttled=throttled,
            special={n: worker for n, worker in workers.items() if worker.is_special},
        )
        attempts, began = part.attempts, time.monotonic()
        try:
            result = await self._database.write(
                lambda tx: self._claimer.settle_and_claim(tx, attempts, request)
            )
        except LongwireError:
            self._work.restore(part)
            raise
        except Exception:
            # If one handler fails each time, the other channels must not wait for it for ever.
            log.exception("settling failed; settling without handlers")
            self._work.restore(part)
            settle = partial(
                claiming.settle, writer=self._writer, attempts=attempts, handlers=DEFAULT_HANDLERS
            )
            await self._database.write(partial(run_in_slot, part.slot, settle))
            self._work.discard_first(len(attempts))
            return
        except BaseException:
            self._work.restore(part)
            raise
        lease = Lease(request.token, result.expires_at, began, began + LEASE_S)
        self._apply(result, request.slot, lease)
        self._note_progress()

    def _apply(self, result: ClaimResult, slot: int, lease: Lease) -> None:
        for number in result.stale:
            self._drop_worker(number)
        self._workers |= result.opened
        if len(self._callers) > GROUPS_MAX:
            self._callers.clear()
        self._callers |= result.callers
        for number, claimed in result.claimed.items():
            worker = self._workers[number]
            leased = [LeasedDelivery(worker.channel, each, lease, slot) for each in claimed]
            if worker.rate is not None and number in result.rates:
                self._wait_for_rate(worker.rate, result.rates[number], not worker.pending)
            worker.add_claimed(slot, leased, is_more=number in result.has_more)
            self._sender.start_batches(worker)

    def _wait_for_rate(self, rate: RequestRate, wait: RateWait, is_idle: bool) -> None:
        """Claim again when there are requests."""
        rate.delay(*wait, is_idle=is_idle)
        if wait.next_in_s > 0:
            wake = self._work.is_added.set
            asyncio.get_running_loop().call_later(wait.next_in_s, wake)

    def _drop_worker(self, number: int) -> None:
        """The channel was changed or deleted; release what is not in flight."""
        worker = self._workers.pop(number, None)
        if worker is None:
            return
        worker.is_stale = True
        self._work.due.update((number, each.slot) for each in worker.pending)
        self._work.due.update((number, slot) for slot in (*worker.more_in, 0))
        self._sender.release_pending(worker)
        if not worker.in_flight:
            self._sender.close(worker)

    # --- maintenance ---

    async def _run_maintenance(self) -> None:
        """Until cancelled. Resends and replays take their time, and nothing waits for that."""
        advance_replays = partial(
            replays.advance_replays, self._database, self._writer, self.wake, self._tracer
        )
        async with asyncio.TaskGroup() as tasks:
            for step, interval_s in (
                (partial(self._resender.advance, self.wake), MAINTENANCE_INTERVAL_S),
                (advance_replays, MAINTENANCE_INTERVAL_S),
                (self._bring_forward, MAINTENANCE_INTERVAL_S),
                (self._recovery.recover_from_dead_nodes, MAINTENANCE_INTERVAL_S),
                (self._recovery.recover, RECOVERY_INTERVAL_S),
            ):
                tasks.create_task(self._repeat(step, interval_s))

    async def _bring_forward(self) -> None:
        """Retry earlier what waits for receivers that are back: a few, then twice as many.

        Until one of them is not delivered: then the others wait for their time. Each once, as
        another process may be the one that sends them.
        """
        recovered = self._work.recovered
        for number, back in list(recovered.items()):
            # By now what failed before is settled.
            back.since = back.since or self._database.context.clock.now()
            most = min(FORWARDED_MAX, FORWARDED_MIN << min(back.steps, FORWARDED_STEPS_MAX))
            bring = partial(
                delivery_leases.bring_forward, number=number, since=back.since, most=most
            )
            found = await write_and_pause(self._database, bring)
            if found:
                self.wake({number})
            back.steps += 1
            if found < most and recovered.get(number) is back:
                del recovered[number]

    async def _repeat(self, step: Callable[[], Awaitable[None]], interval_s: float) -> None:
        """After each interval; at once if it took longer, as it pauses by itself."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(max(0.0, began + interval_s - time.monotonic()))
            began = time.monotonic()
            await self._run_safely(step)

    async def _take_over(self) -> None:
        """Take over every lease of an embedded database, which has no other process.

        But for attempts that an earlier run of this engine could not settle; their outcome is
        known. If they cannot be settled now either, leases are recovered when they expire.
        """
        attempts = list(self._work.attempts)
        await self._database.write(
            lambda tx: claiming.settle(tx, self._writer, attempts, self._handlers)
        )
        self._work.discard_first(len(attempts))
        await self._recovery.recover(expired_before=FAR_FUTURE)


class LeaseRecovery:
    """Takes over what a process had claimed and does not send any more, in our slots."""

    def __init__(
        self, database: Database, writer: int, handlers: ChannelHandlers, in_flight_max: int
    ) -> None:
        self._database = database
        self._writer = writer
        self._handlers = handlers
        self._in_flight_max = in_flight_max
        self._living: set[int] | None = None  # None: what dead ones had was not looked for yet

    async def recover(self, expired_before: int | None = None) -> None:
        """Take over deliveries whose lease has expired."""
        await self._recover_slots(
            lambda tx: recover_orphans(tx, self._writer, expired_before, self._handlers)
        )

    async def recover_from_dead_nodes(self) -> None:
        """Take over what another process had claimed, once it is gone."""
        held_since = self._database.held_since
        if self._database.engine_name == "sqlite" or held_since is None:
            return
        if time.monotonic() - held_since < RECOVERY_DELAY_S:
            return
        living = set(self._database.cluster.delivering)
        if self._living is None or self._living - living:
            await self._recover_slots(
                lambda tx: recover_from_dead_nodes(tx, self._writer, self._handlers)
            )
        self._living = living

    async def _recover_slots(self, recover: Work[int]) -> None:
        """Recover what there is in each of our slots, in steps."""
        slots = self._database.slots
        for slot in self._database.cluster.list_slots(0, self._in_flight_max, slots):
            found = ORPHANS_PER_STEP_MAX
            while found == ORPHANS_PER_STEP_MAX:
                found = await write_and_pause(self._database, partial(run_in_slot, slot, recover))
