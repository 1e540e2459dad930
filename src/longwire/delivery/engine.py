"""The engine: claims deliveries that are due, sends them, and settles the outcomes.

There is one kind of transaction: it settles all attempts since the last one, and claims as many
deliveries as there is capacity for. Messages are sent between transactions, with none open. A claim
is a lease with a fencing token. An attempt counts from its claim, so that a message which crashes
the process is not retried without end.

Each channel has its own worker, with its own queue, window and breaker, so that a destination that
hangs does not delay the others. A destination that was unreachable a few times in a row gets one
batch as a probe; its outcome applies to all deliveries that were claimed with it.

What is scarce is shared by the groups: transactions (`ChannelTurns`), attempts in flight
(`AttemptSlots`), and the CPU time of templates (`ComputePool`). Whoever has to wait keeps its
deliveries as long as their leases allow.
"""

import asyncio
import contextlib
import time
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from longwire.clock import SECOND, Moment
from longwire.delivery import replays
from longwire.delivery.attempt_slots import AttemptSlots
from longwire.delivery.attempt_spans import end_attempt, start_attempt
from longwire.delivery.budgets import ComputeBudgets
from longwire.delivery.channel_turns import CHANNELS_MAX, ChannelTurns
from longwire.delivery.channel_worker import (
    PROBE_AFTER,
    RELEASED,
    WINDOW_MIN,
    AttemptRecord,
    ChannelWorker,
    LeasedDelivery,
    Released,
)
from longwire.delivery.compute_pool import BudgetUsedUp, ComputePool
from longwire.delivery.destinations.base import (
    OUTCOME_NAMES,
    FailureCode,
    OutboundBatch,
    OutboundMessage,
    Outcome,
    Refused,
    Unreachable,
)
from longwire.delivery.egress import Egress
from longwire.delivery.settlement import (
    DEFAULT_HANDLERS,
    ORPHANS_PER_STEP_MAX,
    STOPPED,
    ChannelHandlers,
    advance_resends,
    recover_from_dead_nodes,
    recover_orphans,
    settle,
)
from longwire.errors import LongwireError
from longwire.ids import new_id
from longwire.model import Channel
from longwire.spans import Tracer
from longwire.store import channels as store_channels
from longwire.store import delivery_leases
from longwire.store.database import Database, Tx
from longwire.store.delivery_leases import ClaimedDelivery
from longwire.store.fair_queue import current_caller

SEND_TIMEOUT_S = 15.0
LEASE_S = 30
# An attempt that could outlive its lease is not started.
LEASE_LEFT_MIN_S = SEND_TIMEOUT_S + 2.0
SCAN_INTERVAL_S = 0.5
SCANS_PER_FULL_SCAN = 8
SCAN_DELAY_S = 0.02
MAINTENANCE_INTERVAL_S = 1.0
RECOVERY_INTERVAL_S = 5.0
SETTLED_AFTER_S = 5.0
STALLED_S = 30.0
ERROR_DELAY_S = 0.5
STOP_TIMEOUT_S = 10.0

# Attempts are settled with the next claim, or when there are so many, or after this delay.
SETTLE_BATCH_SIZE = 256
SETTLE_DELAY_S = 0.05

# Ingest has priority: while it is saturated, so many batches start per second.
BUSY_BATCHES_PER_S = 500
BUSY_BURST_S = 0.05
BUSY_SETTLE_DELAY_S = 0.25
# While anything is in flight, the lateness of the event loop is measured so often.
LATENESS_INTERVAL_S = 0.02

# A template that takes less than sending its message does is evaluated on the event loop, if
# messages are small, and for so long before it is the turn of others.
INLINE_MESSAGE_S = 0.000_2
INLINE_CHARACTERS_MAX = 4 * 1_024
INLINE_SLICE_S = 0.001
# Others are built for so long before it is another group's turn.
BUILD_SLICE_S = 0.01
# When less is left of a lease, what was built so far is sent.
BUILD_LEASE_LEFT_MIN_S = LEASE_LEFT_MIN_S + 5.0
THROTTLE_DELAY_S = 0.25
THROTTLE_REPORT_INTERVAL_S = 60.0

CHANNELS_PER_SCAN_MAX = 500
CLAIMS_PER_TRANSACTION_MAX = 1_000
GROUPS_MAX = 100_000  # of channels that are known by number
FAR_FUTURE = 2**62

TIMED_OUT = Unreachable(f"did not answer within {SEND_TIMEOUT_S:.0f} s", code=FailureCode.TIMED_OUT)
SEND_FAILED = Unreachable(
    "could not be sent because of an internal error", code=FailureCode.INTERNAL_ERROR
)
BUILD_FAILED = Refused(
    "the message could not be formatted because of an internal error",
    is_final=True,
    code=FailureCode.INTERNAL_ERROR,
)
TEMPLATE_TOO_EXPENSIVE = (
    "template_too_expensive: the expressions of this group use more CPU time than a group may;"
    " messages are sent later, and none is left out"
)

log = structlog.get_logger()

OnAttempt = Callable[[str, str, float], None]  # (type of the channel, outcome, seconds)


DueChannel = tuple[int, int]  # a channel that may have something due, and in which slot


@dataclass(frozen=True, slots=True)
class SlotPart:
    """What there is to do in a slot: attempts to settle, and channels to claim for."""

    slot: int = 0
    attempts: list[AttemptRecord] = field(default_factory=list)
    channels: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a transaction is asked to claim."""

    slot: int
    token: int
    channels: Collection[int]  # those with something due
    open_versions: Mapping[int, int]  # of the channels that have a worker here
    capacities: Mapping[int, int]
    throttled: Collection[int] = ()  # whose owners have to be notified


@dataclass(slots=True)
class ClaimResult:
    """What a transaction found and claimed; applied once it is committed."""

    stale: set[int] = field(default_factory=set)
    opened: dict[int, ChannelWorker] = field(default_factory=dict)
    expires_at: Moment = 0
    claimed: dict[int, list[ClaimedDelivery]] = field(default_factory=dict)
    requested: dict[int, int] = field(default_factory=dict)
    groups: dict[int, str] = field(default_factory=dict)  # of channels that were looked up


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
        is_busy: Callable[[], bool] = lambda: False,
        tracer: Tracer | None = None,
    ) -> None:
        self._tracer = tracer
        self._database = database
        self._writer = writer
        self._egress = egress
        self._handlers = handlers
        self._in_flight_max = in_flight_max
        self._slots = AttemptSlots[ChannelWorker](attempts_in_flight_max)
        self._groups: dict[int, str] = {}  # of channels, also of those without a worker here
        self._turns = ChannelTurns(CHANNELS_MAX[database.engine_name])
        self._budgets = budgets or ComputeBudgets(
            database.context.clock, ms_per_s=1_000, burst_ms=60_000
        )
        self._compute_pool = ComputePool(self._budgets)
        self._throttled: set[ChannelWorker] = set()
        self._throttle_timer: asyncio.TimerHandle | None = None
        self._unreported: set[int] = set()  # throttled channels
        self._resend_per_s = resend_per_s
        self._on_attempt = on_attempt
        self._is_busy = is_busy
        self._workers: dict[int, ChannelWorker] = {}
        self._unsettled: list[AttemptRecord] = []
        self._due: set[DueChannel] = set()
        self._scan_cursors: dict[int, int] = {}  # by slot
        self._scans = self._turn = 0
        self._last_scan = time.monotonic()
        self._wake_event = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        self._deferred: deque[ChannelWorker] = deque()
        self._next_start = 0.0
        self._resume_timer: asyncio.TimerHandle | None = None
        self._lateness_timer: asyncio.TimerHandle | None = None
        self._is_stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None  # while it runs
        self._last_progress = time.monotonic()
        self._last_transaction = 0.0
        self._living: set[int] | None = None  # None: what dead ones had was not looked for yet

    # --- for other modules ---

    @property
    def is_progressing(self) -> bool:
        """For the health of the service."""
        return time.monotonic() - self._last_progress < STALLED_S

    def wake(self, numbers: Collection[int], slot: int | None = None) -> None:
        """Deliveries for these channels were enqueued, in a slot if that is known."""
        if self._database.slots == 1:
            self._due.update((number, 0) for number in numbers)
        elif slot is None:
            # A scan finds out where; one for all who wake meanwhile.
            soon = time.monotonic() - SCAN_INTERVAL_S + SCAN_DELAY_S
            self._last_scan = min(self._last_scan, soon)
        else:
            # What belongs to another process is found there.
            self._due.update((each, slot) for each in numbers if slot in self._list_own_slots(each))
        self._wake_event.set()

    def _list_own_slots(self, number: int) -> Collection[int]:
        """The slots in which this process sends the messages of a channel."""
        worker = self._workers.get(number)
        total = 1 if worker is not None and worker.is_probing else self._in_flight_max
        return self._database.cluster.list_slots(number, total, self._database.slots)

    def wake_threadsafe(self, numbers: Collection[int]) -> None:
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has just been closed
                loop.call_soon_threadsafe(self.wake, numbers)

    async def run(self) -> None:
        """Run until cancelled; then finish what is in flight, and release the rest."""
        self._loop = asyncio.get_running_loop()
        self._is_stopping = False
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
            self._is_stopping = True
            self._loop = None
            self._wake_event.set()
            maintenance.cancel()
            await asyncio.wait({maintenance, main}, timeout=STOP_TIMEOUT_S)
            main.cancel()  # in case it hangs
            await self._stop()

    # --- the main loop ---

    async def _run_main(self) -> None:
        while not self._is_stopping:
            await self._run_once()

    async def _run_once(self) -> None:
        """Wait until there is work, and do it."""
        timeout_s = self._last_scan + SCAN_INTERVAL_S - time.monotonic()
        if self._unsettled:
            timeout_s = min(timeout_s, SETTLE_DELAY_S)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._wake_event.wait()
        # Also under load: retries become due without a wake-up.
        if time.monotonic() - self._last_scan >= SCAN_INTERVAL_S:
            if not await self._run_safely(self._scan):
                return
            self._last_scan = time.monotonic()
        self._wake_event.clear()
        if not self._needs_transaction() or await self._run_safely(self._run_transaction):
            self._last_progress = time.monotonic()

    def _needs_transaction(self) -> bool:
        """Whether anything can be claimed, or enough is unsettled, or for long enough.

        A transaction costs about the same for one delivery as for a hundred, and delays ingest.
        """
        for number, slot in list(self._due):
            worker = self._workers.get(number)
            if worker is not None and worker.is_full:
                worker.more_in.add(slot)
                self._due.discard((number, slot))
        if self._due or self._unreported or len(self._unsettled) >= SETTLE_BATCH_SIZE:
            return True
        if any(worker.wants_claim for worker in self._workers.values()):
            return True
        delay_s = BUSY_SETTLE_DELAY_S if self._is_busy() else SETTLE_DELAY_S
        return bool(self._unsettled) and time.monotonic() - self._last_transaction >= delay_s

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

    async def _scan(self) -> None:
        """Find channels with something due, and workers whose channel was changed."""
        slots, cursors, open_numbers = (
            self._list_scanned_slots(),
            self._scan_cursors,
            [*self._workers],
        )
        due, versions = await self._database.read(
            lambda tx: (
                {
                    slot: delivery_leases.list_due_channels(
                        tx, slot, CHANNELS_PER_SCAN_MAX, cursors.get(slot, 0)
                    )
                    for slot in slots
                },
                store_channels.get_versions(tx, open_numbers),
            )
        )
        cluster = self._database.cluster
        for number in open_numbers:
            worker = self._workers.get(number)
            if worker is None:
                continue
            is_changed = versions.get(number) != worker.channel.version
            # One process probes. Not dropped in `_send`: a transaction may be claiming for it.
            total = 1 if worker.is_probing else self._in_flight_max
            if is_changed or not cluster.get_share(number, total):
                self._drop_worker(number)
            else:
                worker.more_in.intersection_update(self._list_own_slots(number))
        self._release_expiring()
        for slot, numbers in due.items():
            self._due.update((number, slot) for number in numbers)
            self._scan_cursors[slot] = numbers[-1] if len(numbers) == CHANNELS_PER_SCAN_MAX else 0

    def _list_scanned_slots(self) -> Collection[int]:
        """Mostly our own; now and then all, since one process probes a channel for all others."""
        self._scans += 1
        cluster, slots = self._database.cluster, self._database.slots
        # With fewer attempts than processes, the slots of each channel are divided differently.
        is_alike = len(cluster.delivering) <= self._in_flight_max
        if is_alike and self._scans % SCANS_PER_FULL_SCAN:
            return cluster.list_slots(0, self._in_flight_max, slots)
        return range(slots)

    # --- the transaction ---

    async def _run_transaction(self) -> None:
        """One transaction for each slot that has anything to settle or to claim."""
        self._last_transaction = time.monotonic()
        attempts, due = self._take_turn()
        throttled, self._unreported = self._unreported, set()
        if not (attempts or due or throttled):
            return
        parts = self._divide(attempts, due)
        try:
            while parts:
                part = parts.pop()
                shares = Counter([number for each in parts for number in each.channels])
                await self._run_part(part, shares, throttled)
                throttled = set()
        finally:
            for part in parts:
                self._restore(part)

    def _divide(
        self, attempts: Sequence[AttemptRecord], due: Collection[DueChannel]
    ) -> list[SlotPart]:
        """What there is to do in each slot, another one first each time; at least one part."""
        parts: defaultdict[int, SlotPart] = defaultdict(SlotPart)
        for each in attempts:
            parts[each.leased.slot].attempts.append(each)
        for number, slot in due:
            parts[slot].channels.add(number)
        in_order = sorted(parts or {0: SlotPart()})
        self._turn += 1
        turn = self._turn % len(in_order)
        return [replace(parts[slot], slot=slot) for slot in in_order[turn:] + in_order[:turn]]

    async def _run_part(
        self, part: SlotPart, shares: Mapping[int, int], throttled: Collection[int]
    ) -> None:
        """`shares` are the other parts in which channels may have something due."""
        request = self._build_request(part, shares, throttled)
        attempts = part.attempts
        began = time.monotonic()
        try:
            result = await self._database.write(
                lambda tx: self._settle_and_claim(tx, attempts, request)
            )
        except LongwireError:
            self._restore(part)
            raise
        except Exception:
            # If one handler fails each time, the other channels must not wait for it for ever.
            log.exception("settling failed; settling without handlers")
            self._restore(part)
            await self._database.write(
                lambda tx: settle(tx, self._writer, attempts, DEFAULT_HANDLERS)
            )
            self._unsettled = self._unsettled[len(attempts) :]
            return
        except BaseException:
            self._restore(part)
            raise
        self._apply(result, request, began + LEASE_S)

    def _take_turn(self) -> tuple[list[AttemptRecord], set[DueChannel]]:
        """What to settle, and the channels to claim for; the rest is left to the next one."""
        attempts, self._unsettled = self._unsettled, []
        due, self._due = self._due | self._list_claiming(), set()
        wanting = {each.leased.channel.number: each.leased.channel.group_id for each in attempts}
        for number in {number for number, _ in due} - wanting.keys():
            worker = self._workers.get(number)
            # The group of a channel that was never looked up is not known: it has its own turn.
            known = self._groups.get(number) or f"channel {number}"
            wanting[number] = known if worker is None else worker.channel.group_id
        chosen = wanting.keys() if self._is_stopping else self._turns.choose(wanting)
        if len(chosen) < len(wanting):
            self._unsettled = [each for each in attempts if _number(each) not in chosen]
            self._due = {each for each in due if each[0] not in chosen}
            attempts = [each for each in attempts if _number(each) in chosen]
            due -= self._due
            self._wake_event.set()
        return attempts, due

    def _list_claiming(self) -> set[DueChannel]:
        return {
            (number, slot)
            for number, worker in self._workers.items()
            if worker.wants_claim
            for slot in worker.more_in
        }

    def _build_request(
        self, part: SlotPart, shares: Mapping[int, int], throttled: Collection[int]
    ) -> ClaimRequest:
        relevant = {
            number: worker
            for number, worker in self._workers.items()
            if number in part.channels or worker.pending
        }
        return ClaimRequest(
            slot=part.slot,
            token=delivery_leases.new_token(self._writer),
            channels=part.channels,
            open_versions={n: worker.channel.version for n, worker in relevant.items()},
            capacities={
                n: -(-worker.capacity // (1 + shares.get(n, 0))) for n, worker in relevant.items()
            },
            throttled=throttled,
        )

    def _restore(self, part: SlotPart) -> None:
        self._unsettled = part.attempts + self._unsettled
        self._due.update((number, part.slot) for number in part.channels)

    def _settle_and_claim(
        self, tx: Tx, attempts: Sequence[AttemptRecord], request: ClaimRequest
    ) -> ClaimResult:
        """The whole transaction; changes nothing in this process."""
        tx.slot = request.slot
        settle(tx, self._writer, attempts, self._handlers)
        for number in sorted(request.throttled):
            store_channels.record_failure(tx, number, TEMPLATE_TOO_EXPENSIVE, 0)
        result = ClaimResult()
        versions = store_channels.get_versions(tx, {*request.channels, *request.open_versions})
        result.stale = {
            number
            for number, version in request.open_versions.items()
            if versions.get(number) != version
        }
        if self._is_stopping:
            return result
        result.expires_at = tx.now + LEASE_S * SECOND
        due = [number for number in sorted(request.channels) if number in versions]
        current = request.open_versions.keys() - result.stale
        result.opened = self._open_workers(
            tx, request.slot, [each for each in due if each not in current], result.groups
        )
        share = max(1, CLAIMS_PER_TRANSACTION_MAX // max(1, len(due)))
        for number in due:
            if number in current or number in result.opened:
                capacity = request.capacities[number] if number in current else WINDOW_MIN
                _claim(tx, number, min(capacity, share), request, result)
        return result

    def _open_workers(
        self, tx: Tx, slot: int, numbers: Collection[int], groups: dict[int, str]
    ) -> dict[int, ChannelWorker]:
        opened: dict[int, ChannelWorker] = {}
        cluster, slots = self._database.cluster, self._database.slots
        for channel in store_channels.get_by_numbers(tx, numbers).values():
            groups[channel.number] = channel.group_id
            total = 1 if channel.failures >= PROBE_AFTER else self._in_flight_max
            if slot not in cluster.list_slots(channel.number, total, slots):
                continue  # another process sends its messages, or finds out whether it responds
            try:
                opened[channel.number] = self._open_worker(tx, channel)
            except Exception as error:
                log.exception("channel cannot be opened", channel=channel.id)
                store_channels.record_failure(
                    tx, channel.number, f"it cannot be opened: {type(error).__name__}", 1
                )
        return opened

    def _open_worker(self, tx: Tx, channel: Channel) -> ChannelWorker:
        build_message, sender = self._handlers[channel.purpose].open(tx, channel, self._egress)
        return ChannelWorker(channel, build_message, sender)

    def _apply(
        self, result: ClaimResult, request: ClaimRequest, expires_at_monotonic: float
    ) -> None:
        token, slot = request.token, request.slot
        for number in result.stale:
            self._drop_worker(number)
        self._workers |= result.opened
        if len(self._groups) > GROUPS_MAX:
            self._groups.clear()
        self._groups |= result.groups
        for number, claimed in result.claimed.items():
            worker = self._workers[number]
            leased = [
                LeasedDelivery(
                    worker.channel, each, token, result.expires_at, expires_at_monotonic, slot
                )
                for each in claimed
            ]
            worker.add_claimed(slot, leased, result.requested[number])
            self._start_batches(worker)

    def _drop_worker(self, number: int) -> None:
        """The channel was changed or deleted; release what is not in flight."""
        worker = self._workers.pop(number, None)
        if worker is None:
            return
        worker.is_stale = True
        self._due.update((number, each.slot) for each in worker.pending)
        self._due.update((number, slot) for slot in (*worker.more_in, 0))
        self._release_pending(worker)
        if not worker.in_flight:
            self._close(worker)

    def _release_pending(self, worker: ChannelWorker) -> None:
        self._add_unsettled(worker.pending, RELEASED)
        worker.pending.clear()

    def _release_expiring(self) -> None:
        """Release what has waited for its turn until its lease does not suffice any more."""
        for worker in self._workers.values():
            while worker.pending and not self._has_lease_left(worker.pending[0]):
                self._release_for_later(worker, [worker.pending.popleft()])

    def _release_for_later(self, worker: ChannelWorker, batch: Sequence[LeasedDelivery]) -> None:
        """Release what could not be sent in its time, and claim it again."""
        self._add_unsettled(batch, RELEASED)
        self._due.update((worker.channel.number, each.slot) for each in batch)

    def _add_unsettled(
        self,
        leased: Collection[LeasedDelivery],
        outcome: Outcome | Released,
        at: Moment = 0,
        duration_ms: int = 0,
    ) -> None:
        self._unsettled += [AttemptRecord(each, outcome, at, duration_ms) for each in leased]
        self._wake_event.set()

    def _close(self, worker: ChannelWorker) -> None:
        task = asyncio.create_task(worker.sender.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # --- sending ---

    def _start_batches(self, worker: ChannelWorker) -> None:
        while self._can_start(worker) and self._start_batch(worker):
            pass

    def _can_start(self, worker: ChannelWorker) -> bool:
        total = 1 if worker.is_probing else self._in_flight_max
        in_flight_max = self._database.cluster.get_share(worker.channel.number, total)
        return bool(worker.pending) and worker.in_flight < in_flight_max and not self._is_stopping

    def _start_batch(self, worker: ChannelWorker) -> bool:
        """Start one batch; returns False if the worker has to wait, and will be resumed."""
        group_id = worker.channel.group_id
        if worker.is_computed and self._budgets.is_used_up(group_id):
            self._throttle(worker)
            return False
        if not self._slots.take(group_id):
            self._slots.wait(group_id, worker)
            return False
        if not self._take_send_slot():
            self._slots.release(group_id)
            self._defer(worker)
            return False
        batch = worker.take_batch()
        if not self._has_lease_left(batch[0]):
            self._slots.release(group_id)
            self._release_for_later(worker, batch)
            return True
        worker.in_flight += 1
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
                    self._slots.wait(worker.channel.group_id, worker)

    def _measure_lateness(self) -> None:
        """Adapt the number of slots to how late the event loop is, as long as any is used."""
        loop = asyncio.get_running_loop()
        due = time.monotonic() + LATENESS_INTERVAL_S

        def measure() -> None:
            if not self._is_busy():  # else ingest is what makes it late, and starts are limited
                self._slots.adapt(time.monotonic() - due)
            try:
                self._start_waiting()  # which does not start another timer
            finally:
                self._lateness_timer = None
                if self._sending:
                    self._measure_lateness()

        self._lateness_timer = loop.call_later(LATENESS_INTERVAL_S, measure)

    def _has_lease_left(self, leased: LeasedDelivery, left_min_s: float = LEASE_LEFT_MIN_S) -> bool:
        held_since = self._database.held_since
        if held_since is None or leased.expires_at_monotonic - LEASE_S < held_since:
            return False  # this process was taken for dead, and others have what it had claimed
        by_wall_clock = (leased.expires_at - self._database.context.clock.now()) / SECOND
        left_s = min(by_wall_clock, leased.expires_at_monotonic - time.monotonic())
        return left_s >= left_min_s

    def _take_send_slot(self) -> bool:
        """Whether another batch may start now; rate limited while ingest is saturated."""
        if not self._is_busy():
            return True
        now = time.monotonic()
        start = max(self._next_start, now - BUSY_BURST_S)
        if start > now:
            return False
        self._next_start = start + 1 / BUSY_BATCHES_PER_S
        return True

    def _defer(self, worker: ChannelWorker) -> None:
        """Start later, in turn with all workers that are deferred."""
        if worker not in self._deferred:
            self._deferred.append(worker)
        if self._resume_timer is None:
            self._resume_timer = asyncio.get_running_loop().call_later(
                1 / BUSY_BATCHES_PER_S, self._resume_deferred
            )

    def _resume_deferred(self) -> None:
        self._resume_timer = None
        for _ in range(len(self._deferred)):
            worker = self._deferred.popleft()
            if not worker.is_stale:
                self._start_batches(worker)
            if self._deferred and self._deferred[-1] is worker:
                return  # no slot is left; the next worker is first then

    def _throttle(self, worker: ChannelWorker) -> None:
        """Resume when the group's budget has been refilled; its owner is notified."""
        self._throttled.add(worker)
        now = time.monotonic()
        if worker.throttled_at is None or now - worker.throttled_at > THROTTLE_REPORT_INTERVAL_S:
            worker.throttled_at = now
            self._unreported.add(worker.channel.number)
            self._wake_event.set()
        if self._throttle_timer is None:
            self._throttle_timer = asyncio.get_running_loop().call_later(
                THROTTLE_DELAY_S, self._resume_throttled
            )

    def _resume_throttled(self) -> None:
        self._throttle_timer = None
        throttled, self._throttled = self._throttled, set()
        for worker in throttled:
            if not worker.is_stale:
                self._start_batches(worker)

    async def _send(self, worker: ChannelWorker, batch: list[LeasedDelivery]) -> None:
        current_caller.set(f"group {worker.channel.group_id}")
        was_probe = worker.is_probing
        leased, messages = batch, list[OutboundMessage]()
        outcome: Outcome | Released = RELEASED
        at, began = 0, time.monotonic()
        duration_ms = 0
        try:
            leased, messages = await self._build_messages(worker, batch)
            outcome = STOPPED
            at, began = self._database.context.clock.now(), time.monotonic()
            if messages and self._tracer is None:
                outcome = await self._send_messages(worker, messages, at)
            elif messages:
                outcome = await self._send_traced(worker, leased, messages, at)
        finally:
            worker.in_flight -= 1
            self._slots.release(worker.channel.group_id)
            duration_ms = int((time.monotonic() - began) * 1_000)
            self._add_unsettled(leased, outcome, at, duration_ms)
        is_down = isinstance(outcome, Unreachable) and not outcome.is_final
        if messages and was_probe and worker.is_probing and is_down:
            # The probe failed: so would the others.
            self._add_unsettled(worker.pending, outcome, at, duration_ms)
            worker.pending.clear()
        if worker.is_stale:
            if not worker.in_flight:
                self._close(worker)
        elif not self._slots.has_waiting:
            self._start_batches(worker)
        elif self._can_start(worker):
            self._slots.wait(worker.channel.group_id, worker)
        self._start_waiting()

    async def _build_messages(
        self, worker: ChannelWorker, batch: Sequence[LeasedDelivery]
    ) -> tuple[list[LeasedDelivery], list[OutboundMessage]]:
        """The messages of a batch; deliveries without one have failed, or are released."""
        leased: list[LeasedDelivery] = []
        messages: list[OutboundMessage] = []
        results: list[OutboundMessage | Refused] = []
        if worker.is_computed:
            await self._compute_messages(worker, batch, results)
        else:
            results += [_build_message(worker, each.claimed) for each in batch]
        for each, built in zip(batch, results, strict=False):
            if isinstance(built, Refused):
                self._unsettled.append(AttemptRecord(each, built))
            else:
                leased.append(each)
                messages.append(built)
        if len(results) < len(batch):
            self._release_for_later(worker, batch[len(results) :])
        return leased, messages

    async def _compute_messages(
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
                if is_small and worker.build_s <= INLINE_MESSAGE_S:
                    _build_slice(worker, batch, results, INLINE_SLICE_S, self._budgets)
                else:
                    build = partial(_build_slice, worker, batch, results, BUILD_SLICE_S)
                    await self._compute_pool.run(group_id, build)
                if len(results) == len(batch):
                    break
                await asyncio.sleep(0)
                has_time = self._has_lease_left(batch[0], BUILD_LEASE_LEFT_MIN_S)
                if not has_time or self._budgets.is_used_up(group_id):
                    break
        if not self._has_lease_left(batch[0]):
            results.clear()

    async def _send_traced(
        self,
        worker: ChannelWorker,
        leased: Sequence[LeasedDelivery],
        messages: Sequence[OutboundMessage],
        at: Moment,
    ) -> Outcome:
        assert self._tracer is not None
        span = start_attempt(self._tracer, worker.channel, leased)
        if span is None:
            return await self._send_messages(worker, messages, at)
        outcome: Outcome = STOPPED
        try:
            outcome = await self._send_messages(worker, messages, at, span.traceparent)
        finally:
            end_attempt(span, outcome)
        return outcome

    async def _send_messages(
        self,
        worker: ChannelWorker,
        messages: Sequence[OutboundMessage],
        at: Moment,
        traceparent: str = "",
    ) -> Outcome:
        began = time.monotonic()
        batch_id = new_id("bat") if worker.sender.batch_max > 1 else messages[0].id
        batch = OutboundBatch(batch_id, messages, at, traceparent)
        outcome: Outcome
        try:
            async with asyncio.timeout(SEND_TIMEOUT_S):
                outcome = await worker.sender.send(batch)
        except TimeoutError:
            outcome = TIMED_OUT
        except Exception:
            log.exception("destination failed", channel=worker.channel.id)
            outcome = SEND_FAILED
        worker.adjust_window(outcome)
        try:
            self._on_attempt(
                worker.channel.type, OUTCOME_NAMES[type(outcome)], time.monotonic() - began
            )
        except Exception:  # a metric that cannot be written must not repeat a delivery
            log.exception("attempt not counted", channel=worker.channel.id)
        return outcome

    async def _stop(self) -> None:
        """Wait for what is in flight, up to a limit; release the rest."""
        for worker in self._workers.values():
            self._release_pending(worker)
        if self._sending:
            await asyncio.wait(self._sending, timeout=STOP_TIMEOUT_S)
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        self._due.clear()
        await self._run_safely(self._run_transaction)
        for worker in self._workers.values():
            self._close(worker)
        await asyncio.gather(*self._closing, return_exceptions=True)
        # The supervisor may run the engine again.
        self._workers.clear()
        self._deferred.clear()
        self._throttled.clear()
        self._slots.clear_waiting()

    # --- maintenance ---

    async def _run_maintenance(self) -> None:
        last_recovery = time.monotonic()
        while True:
            await asyncio.sleep(MAINTENANCE_INTERVAL_S)
            await self._run_safely(self._advance_resends)
            await self._run_safely(
                lambda: replays.advance_replays(
                    self._database, self._writer, self.wake, self._tracer
                )
            )
            await self._run_safely(self._recover_from_dead_nodes)
            if time.monotonic() - last_recovery >= RECOVERY_INTERVAL_S:
                last_recovery = time.monotonic()
                await self._run_safely(self._recover)

    async def _take_over(self) -> None:
        """An embedded database has no other process: every lease is orphaned.

        But for attempts that an earlier run of this engine could not settle; their outcome is
        known. If they cannot be settled now either, leases are recovered when they expire.
        """
        attempts = list(self._unsettled)
        await self._database.write(lambda tx: settle(tx, self._writer, attempts, self._handlers))
        self._unsettled = self._unsettled[len(attempts) :]
        await self._recover(expired_before=FAR_FUTURE)

    async def _recover(self, expired_before: int | None = None) -> None:
        """Take over deliveries whose lease has expired."""
        await self._recover_slots(
            lambda slot, tx: recover_orphans(tx, self._writer, slot, expired_before, self._handlers)
        )

    async def _recover_slots(self, recover: Callable[[int, Tx], int]) -> None:
        """Recover what there is in each of our slots, in steps."""
        slots = self._database.slots
        for slot in self._database.cluster.list_slots(0, self._in_flight_max, slots):
            found = ORPHANS_PER_STEP_MAX
            while found == ORPHANS_PER_STEP_MAX:
                found = await self._database.write(partial(recover, slot))

    async def _recover_from_dead_nodes(self) -> None:
        """Take over what another process had claimed, once it is gone."""
        held_since = self._database.held_since
        if self._database.engine_name == "sqlite" or held_since is None:
            return
        if time.monotonic() - held_since < SETTLED_AFTER_S:
            return  # after an outage of the database, the others have time to renew their leases
        living = set(self._database.cluster.delivering)
        if self._living is None or self._living - living:
            await self._recover_slots(
                lambda slot, tx: recover_from_dead_nodes(tx, self._writer, slot, self._handlers)
            )
        self._living = living

    async def _advance_resends(self) -> None:
        if await self._database.read(store_channels.has_resends):
            woken = await self._database.write(lambda tx: advance_resends(tx, self._resend_per_s))
            if woken:
                self.wake(woken)


def _number(attempt: AttemptRecord) -> int:
    return attempt.leased.channel.number


def _claim(tx: Tx, number: int, most: int, request: ClaimRequest, result: ClaimResult) -> None:
    result.requested[number] = most
    result.claimed[number] = (
        delivery_leases.claim(tx, number, request.slot, most, request.token, result.expires_at)
        if most
        else []
    )


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
