"""Claims deliveries, settles their attempts, and takes over orphaned ones, on an open transaction.

It changes nothing in this process: what was claimed counts once it is committed. Whoever settles
shows the fencing token of the claim; with an expired lease nothing is changed.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from secrets import SystemRandom
from typing import NamedTuple

import structlog

from longwire.clock import MILLISECOND, SECOND, Moment
from longwire.delivery import retry_policy
from longwire.delivery.attempts import DELIVERED, append_attempt, build_attempt
from longwire.delivery.channel_handlers import AttemptOutcome, AttemptResult, ChannelHandlers
from longwire.delivery.connectors.handler import DEFAULT_HANDLERS
from longwire.delivery.destinations.base import (
    Delivered,
    FailureCode,
    Outcome,
    Refused,
    Unreachable,
    get_requested_pause_s,
)
from longwire.delivery.engine.request_rate import (
    AHEAD_S,
    BUSY_DELAY_S,
    get_end,
    plan_requests,
)
from longwire.delivery.engine.worker import (
    LEASE_S,
    PROBE_AFTER,
    WINDOW_MIN,
    AttemptRecord,
    ChannelWorker,
    LeasedDelivery,
    Released,
)
from longwire.delivery.exchanges import Exchange
from longwire.delivery.http.egress import Egress
from longwire.model import SYSTEM, Channel, ChannelPurpose
from longwire.store.database import Database, Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import deferrals, delivery_leases, ordered_deliveries
from longwire.store.delivery.delivery_leases import ClaimedDelivery, LeaseKey, OrphanedLease
from longwire.store.identity import audit, request_owners
from longwire.store.records.arrival_numbers import AFTER_ANY_ARRIVAL
from longwire.work.leases import Lease
from longwire.work.turns import CallerKey

CLAIMS_PER_TRANSACTION_MAX = 1_000
ORPHANS_PER_STEP_MAX = 500

TEMPLATE_TOO_EXPENSIVE = (
    "template_too_expensive: the expressions of this group use more CPU time than a group may;"
    " messages are sent later, and none is left out"
)

# Failures of this service, not of the destination: retried without delay.
SERVICE_FAILURES = frozenset((FailureCode.ORPHANED, FailureCode.STOPPED))
# A crash interrupts many deliveries that did not cause it, so it alone never exhausts the retries;
# a delivery that crashes the process each time is still given up.
SERVICE_FAILURE_ATTEMPTS_MIN = 3

ORPHANED = Unreachable(
    "the process that was sending it stopped before it recorded the outcome",
    code=FailureCode.ORPHANED,
)

_RANDOM = SystemRandom()
log = structlog.get_logger()


# --- claim ---


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a transaction is asked to claim."""

    slot: int
    token: int
    channels: Collection[int]  # those with something due
    open_versions: Mapping[int, int]  # of the channels that have a worker here
    capacities: Mapping[int, int]
    throttled: Collection[int] = ()  # whose owners have to be notified
    # Those that are ordered or have a rate; their workers are only looked at.
    special: Mapping[int, ChannelWorker] = field(default_factory=dict)


@dataclass(slots=True)
class ClaimResult:
    """What a transaction found and claimed; applied once it is committed."""

    stale: set[int] = field(default_factory=set)
    opened: dict[int, ChannelWorker] = field(default_factory=dict)
    expires_at: Moment = 0
    claimed: dict[int, list[ClaimedDelivery]] = field(default_factory=dict)
    has_more: set[int] = field(default_factory=set)  # channels with more that may be due
    rates: dict[int, "RateWait"] = field(default_factory=dict)
    callers: dict[int, CallerKey] = field(default_factory=dict)  # of channels that were looked up


class RateWait(NamedTuple):
    """When the first request of a claim may be sent, and when others may be taken."""

    first_in_s: float
    next_in_s: float


@dataclass(frozen=True, slots=True)
class Claimer:
    """Settles and claims on an open transaction, and opens workers for channels without one."""

    database: Database
    writer: int
    egress: Egress
    handlers: ChannelHandlers
    in_flight_max: int
    is_stopping: Callable[[], bool]

    def settle_and_claim(
        self, tx: Tx, attempts: Sequence[AttemptRecord], request: ClaimRequest
    ) -> ClaimResult:
        tx.slot = request.slot
        settle(tx, self.writer, attempts, self.handlers)
        for number in sorted(request.throttled):
            store_channels.record_failure(tx, number, TEMPLATE_TOO_EXPENSIVE, 0)
        versions = store_channels.get_versions(tx, {*request.channels, *request.open_versions})
        known = request.open_versions.items()
        result = ClaimResult({number for number, known_ in known if versions.get(number) != known_})
        if self.is_stopping():
            return result
        result.expires_at = tx.now + LEASE_S * SECOND
        due = [number for number in sorted(request.channels) if number in versions]
        current = request.open_versions.keys() - result.stale
        self._open_workers(tx, [number for number in due if number not in current], result)
        share = max(1, CLAIMS_PER_TRANSACTION_MAX // max(1, len(due)))
        for number in due:
            if number in current:
                most = min(request.capacities[number], share)
            elif number in result.opened:
                most = min(WINDOW_MIN, share)
            else:
                continue
            worker = result.opened.get(number) or request.special.get(number)
            claim = _Claim(number, request.token, result.expires_at)
            if worker is not None and worker.rate is not None:
                _claim_at_rate(tx, claim, worker, most, result)
            else:
                _claim(tx, claim, worker, most, result)
        return result

    def _open_workers(self, tx: Tx, numbers: Collection[int], result: ClaimResult) -> None:
        cluster, slots = self.database.cluster, self.database.slots
        for channel in store_channels.get_by_numbers(tx, numbers).values():
            caller = get_caller(tx, channel.group_id)
            result.callers[channel.number] = caller
            if (channel.paused_until or 0) > tx.now:
                continue  # its receiver has asked for time
            is_alone = channel.failures >= PROBE_AFTER or channel.max_per_s is not None
            total = 1 if is_alone else self.in_flight_max
            if tx.slot not in cluster.list_slots(channel.number, total, slots):
                continue  # another process sends its messages, or finds out whether it responds
            try:
                build, sender = self.handlers[channel.purpose].open(tx, channel, self.egress)
                result.opened[channel.number] = ChannelWorker(channel, build, sender, caller)
            except Exception as error:
                log.exception("channel cannot be opened", channel=channel.id)
                store_channels.record_failure(
                    tx, channel.number, f"it cannot be opened: {type(error).__name__}", 1
                )


class _Claim(NamedTuple):
    """What is claimed is leased so."""

    number: int
    token: int
    expires_at: Moment


def _claim(
    tx: Tx, claim: _Claim, worker: ChannelWorker | None, most: int, result: ClaimResult
) -> None:
    """Claim what is due; of an ordered channel what has to wait for nothing else."""
    claimed: list[ClaimedDelivery] = []
    is_more = not most
    if worker is not None and worker.channel.is_ordered:
        if most:
            found = _claim_ordered(tx, claim, worker.channel, most)
            claimed, is_more = found.claimed, found.is_more
    elif most:
        number, token, expires_at = claim
        claimed = delivery_leases.claim(tx, number, most, token, expires_at)
        is_more = len(claimed) >= most
    result.claimed[claim.number] = claimed
    if is_more:
        result.has_more.add(claim.number)


def _claim_ordered(
    tx: Tx, claim: _Claim, channel: Channel, most: int
) -> ordered_deliveries.OrderedClaim:
    """But for what arrived after records that are still to be matched: those may be earlier."""
    first_seq = deferrals.get_first_seq(tx, channel.group_id)
    before_seq = AFTER_ANY_ARRIVAL if first_seq is None else first_seq
    number, token, expires_at = claim
    return ordered_deliveries.claim(tx, number, most, token, expires_at, before_seq)


def _claim_at_rate(
    tx: Tx, claim: _Claim, worker: ChannelWorker, most: int, result: ClaimResult
) -> None:
    """Claim what the next requests can carry, and take as many of these as are needed."""
    number, max_per_s = claim.number, worker.channel.max_per_s
    assert max_per_s is not None
    taken_until = store_channels.lock_rate(tx, number) if most else None
    if taken_until is None:
        result.claimed[number] = []
        result.has_more.add(number)
        if most:
            result.rates[number] = RateWait(0.0, BUSY_DELAY_S)
        return
    batch_max = worker.sender.batch_max
    taken = plan_requests(max_per_s, taken_until, tx.now, -(-most // batch_max))
    _claim(tx, claim, worker, min(most, taken.count * batch_max), result)
    used = -(-len(result.claimed[number]) // batch_max)
    if used or not taken.count:
        end = get_end(max_per_s, taken, used)
        result.rates[number] = RateWait(
            (taken.first_at - tx.now) / SECOND, (end - tx.now) / SECOND - AHEAD_S / 2
        )
        if used:
            store_channels.take_requests(tx, number, end)


def get_caller(tx: Tx, group_id: str) -> CallerKey:
    """In whose turns what a group sends is sent."""
    return CallerKey(request_owners.get_owner_id(tx, group_id), f"group {group_id}")


# --- settle: delivered, retried or given up ---


@dataclass(slots=True)
class _ChannelResults:
    """What was settled for one channel."""

    channel: Channel
    results: list[AttemptResult] = field(default_factory=list)
    pause: store_channels.RequestedPause | None = None
    gone: Channel | None = None  # the newest version whose destination is gone
    gone_reason: str = ""

    def set_gone(self, reason: str) -> None:
        if self.gone is None or self.gone.version < self.channel.version:
            self.gone, self.gone_reason = self.channel, reason

    def note_pause(self, attempt: AttemptRecord, outcome: Outcome, now: Moment) -> None:
        requested_s = get_requested_pause_s(outcome)
        if requested_s:
            # Not later than for who sent it, or what follows the pause would be taken as within.
            at = attempt.at + attempt.duration_ms * MILLISECOND if attempt.at else now
            until = at + min(requested_s, retry_policy.RETRY_AFTER_MAX_S) * SECOND
            pause = store_channels.RequestedPause(self.channel.version, until)
            self.pause = pause if self.pause is None else max(self.pause, pause)


def settle(
    tx: Tx,
    writer: int,
    attempts: Sequence[AttemptRecord],
    handlers: ChannelHandlers = DEFAULT_HANDLERS,
) -> None:
    """Record the outcomes of attempts in one slot whose leases are still ours."""
    by_lease: dict[LeaseKey, list[AttemptRecord]] = defaultdict(list)
    for each in attempts:
        leased = each.leased
        by_lease[leased.channel.number, leased.lease.token].append(each)
    by_channel: dict[int, _ChannelResults] = {}
    for lease, group in by_lease.items():
        channel = group[0].leased.channel
        settled = by_channel.setdefault(channel.number, _ChannelResults(channel))
        settled.channel = channel  # as it was when these were claimed
        _settle_delivered(tx, lease, group, settled)
        released = [each.leased.claimed.seq for each in group if isinstance(each.outcome, Released)]
        if released:
            delivery_leases.release(tx, lease, released)
        _settle_failed(tx, lease, group, settled)
        _release_next(tx, lease, group)
    # The same lock order in every process: no deadlocks.
    in_order = [by_channel[number] for number in sorted(by_channel)]
    store_channels.lock_to_disable(tx, [each.gone for each in in_order if each.gone is not None])
    _record_health(tx, in_order)
    by_purpose: dict[ChannelPurpose, list[tuple[Channel, list[AttemptResult]]]] = defaultdict(list)
    for settled in in_order:
        if settled.results:
            by_purpose[settled.channel.purpose].append((settled.channel, settled.results))
    for purpose, results in by_purpose.items():
        if purpose in handlers:
            handlers[purpose].on_results(tx, writer, results)


def _release_next(tx: Tx, lease: LeaseKey, group: Sequence[AttemptRecord]) -> None:
    """Have those be due that were held back for these."""
    ordered = [each.leased.claimed.seq for each in group if each.leased.claimed.is_ordered]
    if ordered:
        ordered_deliveries.release_next(tx, lease[0], ordered, [tx.slot])


def _settle_delivered(
    tx: Tx, lease: LeaseKey, group: Sequence[AttemptRecord], settled: _ChannelResults
) -> None:
    delivered = {
        each.leased.claimed.seq: (each, each.outcome)
        for each in group
        if isinstance(each.outcome, Delivered)
    }
    if not delivered:
        return
    logs = _log_attempts(tx, [attempt for attempt, _ in delivered.values()])
    for seq in delivery_leases.succeed(tx, lease, logs):
        attempt, outcome = delivered[seq]
        settled.results.append(
            AttemptResult(
                attempt.leased.claimed,
                AttemptOutcome.DELIVERED,
                answer=outcome.answer,
                is_duplicate=outcome.is_duplicate,
                duration_ms=attempt.sending_ms,
                exchange=_get_exchange(attempt),
            )
        )


def _settle_failed(
    tx: Tx, lease: LeaseKey, group: Sequence[AttemptRecord], settled: _ChannelResults
) -> None:
    """Retry or give up, with one statement for all that have the same reason and fate."""
    channel = settled.channel
    alike: dict[tuple[bool, str], list[AttemptRecord]] = defaultdict(list)
    failures: list[tuple[AttemptRecord, Refused | Unreachable, AttemptOutcome]] = []
    postponed: list[AttemptRecord] = []
    for each in group:
        if isinstance(outcome := each.outcome, Refused | Unreachable):
            is_last = _is_last_attempt(channel, each.leased.claimed, outcome)
            if is_last and each.is_by_proxy and isinstance(outcome, Refused):
                postponed.append(each)  # nothing is given up for a response to another
                continue
            alike[is_last, outcome.reason].append(each)
            result = AttemptOutcome.FAILED if is_last else AttemptOutcome.RETRY_SCHEDULED
            failures.append((each, outcome, result))
            settled.note_pause(each, outcome, tx.now)
    if postponed:
        due_at = tx.now + _delay(channel, postponed[0])
        seqs = [each.leased.claimed.seq for each in postponed]
        delivery_leases.postpone(tx, lease, due_at, seqs)
    changed: set[int] = set()
    for (is_last, reason), some in alike.items():
        logs = _log_attempts(tx, some)
        if is_last:
            stored_until = tx.now + channel.storing_s * SECOND if channel.storing_s else None
            changed |= delivery_leases.fail(tx, lease, reason, stored_until, logs)
        else:
            due = {each.leased.claimed.seq: tx.now + _delay(channel, each) for each in some}
            changed |= delivery_leases.retry(tx, lease, reason, due, logs)
    for each, outcome, result in failures:
        claimed = each.leased.claimed
        if claimed.seq not in changed:
            continue  # the lease is no longer ours
        settled.results.append(
            AttemptResult(
                claimed,
                result,
                outcome.reason,
                outcome.code,
                duration_ms=each.sending_ms,
                exchange=_get_exchange(each),
            )
        )
        if isinstance(outcome, Refused) and outcome.disables:
            settled.set_gone(outcome.reason)


def _is_last_attempt(
    channel: Channel, claimed: ClaimedDelivery, outcome: Refused | Unreachable
) -> bool:
    attempts_max = retry_policy.attempts_max(channel.retries_max)
    if outcome.code in SERVICE_FAILURES:
        attempts_max = max(attempts_max, SERVICE_FAILURE_ATTEMPTS_MIN)
    return outcome.is_final or claimed.attempts >= attempts_max


def _delay(channel: Channel, attempt: AttemptRecord) -> int:
    outcome = attempt.outcome
    if isinstance(outcome, Unreachable) and outcome.code in SERVICE_FAILURES:
        return 0
    retry_after_s = outcome.retry_after_s if isinstance(outcome, Refused) else None
    return retry_policy.retry_delay(
        attempt.leased.claimed.attempts,
        channel.retry_delay_s,
        _RANDOM.random(),
        retry_after_s,
        channel.retry_delays,
    )


def _log_attempts(tx: Tx, attempts: Sequence[AttemptRecord]) -> dict[int, str]:
    """The log of each delivery, encoded again only where it differs from the one before."""
    logs: dict[int, str] = {}
    known: tuple[object, ...] = ()
    log = ""
    for each in attempts:
        claimed = each.leased.claimed
        logged = (
            *(each.outcome, each.at, each.duration_ms, each.is_by_proxy),
            *(claimed.attempts, claimed.attempt_log),
        )
        if logged != known:
            known, log = logged, _log_attempt(tx, each)
        logs[claimed.seq] = log
    return logs


def _log_attempt(tx: Tx, attempt: AttemptRecord) -> str:
    """The attempts of a delivery, with this one."""
    outcome, claimed = attempt.outcome, attempt.leased.claimed
    code, status = DELIVERED, None
    if isinstance(outcome, Refused | Unreachable):
        code = outcome.code.value
    if isinstance(outcome, Refused | Delivered):
        status = outcome.status
    at = attempt.at or tx.now
    exchange = _get_exchange(attempt)
    exchange_id = None if exchange is None else exchange.id
    entry = build_attempt(at, attempt.duration_ms, code, status, claimed.attempts, exchange_id)
    return append_attempt(claimed.attempt_log, entry)


def _get_exchange(attempt: AttemptRecord) -> Exchange | None:
    """What is kept of an attempt, but for those to which another one's outcome is applied."""
    outcome = attempt.outcome
    return None if attempt.is_by_proxy or isinstance(outcome, Released) else outcome.exchange


def _record_health(tx: Tx, in_order: Sequence[_ChannelResults]) -> None:
    """What the owners see of their channels: the last error, and how many attempts failed."""
    failed = {
        each.channel.number: [
            result for result in each.results if result.outcome is not AttemptOutcome.DELIVERED
        ]
        for each in in_order
    }
    succeeded = [
        each.channel.number
        for each in in_order
        if len(failed[each.channel.number]) < len(each.results)
    ]
    recovered = store_channels.list_failing(tx, succeeded)
    for settled in in_order:
        number, gone = settled.channel.number, settled.gone
        if settled.results and gone is not None and store_channels.disable(tx, gone):
            event, reason = f"{gone.purpose}.disable", settled.gone_reason
            audit.log(tx, SYSTEM, event, gone.id, group_id=gone.group_id, detail=reason)
        if number in recovered:
            store_channels.reset_failures(tx, number)
        if failed[number]:
            reason = settled.gone_reason or failed[number][-1].reason
            store_channels.record_failure(tx, number, reason, len(failed[number]), settled.pause)
            given_up = [each for each in failed[number] if each.outcome is AttemptOutcome.FAILED]
            if given_up:
                store_channels.record_given_up(tx, number, len(given_up), given_up[0].reason)


# --- recover what a process had claimed and does not send any more ---


def recover_orphans(
    tx: Tx,
    writer: int,
    expired_before: int | None = None,
    handlers: ChannelHandlers = DEFAULT_HANDLERS,
) -> int:
    """Retry or give up deliveries with expired leases in one slot; returns how many there were."""
    before = tx.now if expired_before is None else expired_before
    found = delivery_leases.lock_orphaned_leases(tx, before, ORPHANS_PER_STEP_MAX)
    return _settle_orphans(tx, writer, found, handlers)


def recover_from_dead_nodes(
    tx: Tx, writer: int, handlers: ChannelHandlers = DEFAULT_HANDLERS
) -> int:
    """The same for deliveries that were claimed by processes which do not live any more."""
    found = delivery_leases.lock_leases_of_dead_nodes(tx, ORPHANS_PER_STEP_MAX)
    return _settle_orphans(tx, writer, found, handlers)


def _settle_orphans(
    tx: Tx, writer: int, found: Sequence[OrphanedLease], handlers: ChannelHandlers
) -> int:
    found_channels = store_channels.get_by_numbers(tx, {each.channel_number for each in found})
    attempts = []
    for orphan in found:
        channel = found_channels.get(orphan.channel_number)
        if channel is None:
            # The channel was deleted, and its deliveries are about to be.
            lease = (orphan.channel_number, orphan.token)
            delivery_leases.release(tx, lease, [orphan.seq])
            continue
        claimed = ClaimedDelivery(
            channel_number=orphan.channel_number,
            seq=orphan.seq,
            device_id="",
            kind=0,
            generation=orphan.generation,
            attempts=orphan.attempts,
            created_at=0,
            body="",
            context="",
            attempt_log=orphan.attempt_log,
            is_ordered=orphan.is_ordered,
        )
        leased = LeasedDelivery(channel, claimed, Lease(orphan.token, 0, 0.0, 0.0), tx.slot)
        attempts.append(AttemptRecord(leased, ORPHANED))
    settle(tx, writer, attempts, handlers)
    return len(found)
