"""Settling attempts on an open transaction: delivered, retried or given up; also recovery.

Whoever settles shows the fencing token of the claim; with an expired lease nothing is changed.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longwire.clock import SECOND
from longwire.delivery.destinations.base import Delivered, FailureCode, Refused, Unreachable
from longwire.delivery.engine import retry_policy
from longwire.delivery.engine.attempts import DELIVERED, append_attempt, build_attempt
from longwire.delivery.engine.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    ChannelHandler,
    ConnectorHandler,
)
from longwire.delivery.engine.leases import AttemptRecord, LeasedDelivery, Released
from longwire.model import SYSTEM, Channel, ChannelPurpose
from longwire.store.database import Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import delivery_leases
from longwire.store.delivery.delivery_leases import ClaimedDelivery, LeaseKey, OrphanedLease
from longwire.store.identity import audit

ORPHANS_PER_STEP_MAX = 500

# Failures of this service, not of the destination: retried without delay.
SERVICE_FAILURES = frozenset((FailureCode.ORPHANED, FailureCode.STOPPED))
# A crash interrupts many deliveries that did not cause it, so it alone never exhausts the retries;
# a delivery that crashes the process each time is still given up.
SERVICE_FAILURE_ATTEMPTS_MIN = 3

ORPHANED = Unreachable(
    "the process that was sending it stopped before it recorded the outcome",
    code=FailureCode.ORPHANED,
)
STOPPED = Unreachable("the service was stopped while sending it", code=FailureCode.STOPPED)

ChannelHandlers = Mapping[ChannelPurpose, ChannelHandler]

DEFAULT_HANDLERS: ChannelHandlers = {ChannelPurpose.CONNECTOR: ConnectorHandler()}

# A private RNG, so that tests may seed the global one.
_random = random.Random()


@dataclass(slots=True)
class _ChannelResults:
    """What was settled for one channel."""

    channel: Channel
    results: list[AttemptResult] = field(default_factory=list)
    gone: Channel | None = None  # the newest version whose destination is gone
    gone_reason: str = ""

    def set_gone(self, reason: str) -> None:
        if self.gone is None or self.gone.version < self.channel.version:
            self.gone, self.gone_reason = self.channel, reason


def settle(
    tx: Tx,
    writer: int,
    attempts: Sequence[AttemptRecord],
    handlers: ChannelHandlers = DEFAULT_HANDLERS,
) -> None:
    """Record the outcomes of attempts whose leases are still ours."""
    by_channel: dict[int, _ChannelResults] = {}
    for lease, group in _group_by_lease(attempts).items():
        channel = group[0].leased.channel
        settled = by_channel.setdefault(channel.number, _ChannelResults(channel))
        settled.channel = channel  # as it was when these were claimed
        _settle_delivered(tx, lease, group, settled)
        _release(tx, lease, group)
        _settle_failed(tx, lease, group, settled)
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


def _group_by_lease(
    attempts: Sequence[AttemptRecord],
) -> dict[LeaseKey, list[AttemptRecord]]:
    groups: dict[LeaseKey, list[AttemptRecord]] = defaultdict(list)
    for each in attempts:
        leased = each.leased
        groups[(leased.channel.number, leased.slot, leased.token)].append(each)
    return groups


def _settle_delivered(
    tx: Tx, lease: LeaseKey, group: Sequence[AttemptRecord], settled: _ChannelResults
) -> None:
    delivered = {
        each.leased.claimed.seq: (each, each.outcome)
        for each in group
        if isinstance(each.outcome, Delivered)
    }
    if delivered:
        logs = _log_attempts(tx, [attempt for attempt, _ in delivered.values()])
        for seq in delivery_leases.succeed(tx, lease, logs):
            attempt, outcome = delivered[seq]
            settled.results.append(
                AttemptResult(
                    attempt.leased.claimed,
                    AttemptOutcome.DELIVERED,
                    answer=outcome.answer,
                    is_duplicate=outcome.is_duplicate,
                    duration_ms=_duration(attempt),
                )
            )


def _duration(attempt: AttemptRecord) -> int | None:
    """How long it took, if it was sent at all."""
    return attempt.duration_ms if attempt.at else None


def _log_attempts(tx: Tx, attempts: Sequence[AttemptRecord]) -> dict[int, str]:
    """The log of each delivery, encoded again only where it differs from the one before."""
    logs: dict[int, str] = {}
    known: tuple[object, ...] = ()
    log = ""
    for each in attempts:
        claimed = each.leased.claimed
        logged = (each.outcome, each.at, each.duration_ms, claimed.attempts, claimed.attempt_log)
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
    entry = build_attempt(at, attempt.duration_ms, code, status, claimed.attempts)
    return append_attempt(claimed.attempt_log, entry)


def _release(tx: Tx, lease: LeaseKey, group: Sequence[AttemptRecord]) -> None:
    released = [each.leased.claimed.seq for each in group if isinstance(each.outcome, Released)]
    if released:
        delivery_leases.release(tx, lease, released)


def _settle_failed(
    tx: Tx, lease: LeaseKey, group: Sequence[AttemptRecord], settled: _ChannelResults
) -> None:
    """Retry or give up, with one statement for all that have the same reason and fate."""
    alike: dict[tuple[bool, str], list[AttemptRecord]] = defaultdict(list)
    failures: list[tuple[AttemptRecord, Refused | Unreachable, AttemptOutcome]] = []
    for each in group:
        if isinstance(outcome := each.outcome, Refused | Unreachable):
            is_last = _is_last_attempt(settled.channel, each.leased.claimed, outcome)
            alike[is_last, outcome.reason].append(each)
            result = AttemptOutcome.FAILED if is_last else AttemptOutcome.RETRY_SCHEDULED
            failures.append((each, outcome, result))
    changed: set[int] = set()
    for (is_last, reason), some in alike.items():
        fail = _give_up if is_last else _retry_later
        changed |= fail(tx, settled.channel, lease, reason, some)
    for each, outcome, result in failures:
        claimed = each.leased.claimed
        if claimed.seq not in changed:
            continue  # the lease is no longer ours
        duration_ms = _duration(each)
        settled.results.append(
            AttemptResult(claimed, result, outcome.reason, outcome.code, duration_ms=duration_ms)
        )
        if isinstance(outcome, Refused) and outcome.disables:
            settled.set_gone(outcome.reason)


def _give_up(
    tx: Tx, channel: Channel, lease: LeaseKey, reason: str, attempts: Sequence[AttemptRecord]
) -> set[int]:
    stored_until = tx.now + channel.storing_s * SECOND if channel.storing_s else None
    return delivery_leases.fail(tx, lease, reason, stored_until, _log_attempts(tx, attempts))


def _retry_later(
    tx: Tx, channel: Channel, lease: LeaseKey, reason: str, attempts: Sequence[AttemptRecord]
) -> set[int]:
    due = {each.leased.claimed.seq: tx.now + _delay(channel, each) for each in attempts}
    return delivery_leases.retry(tx, lease, reason, due, _log_attempts(tx, attempts))


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
        number = settled.channel.number
        if settled.results and settled.gone is not None:
            _disable(tx, settled.gone, settled.gone_reason)
        if number in recovered:
            store_channels.reset_failures(tx, number)
        if failed[number]:
            reason = settled.gone_reason or failed[number][-1].reason
            store_channels.record_failure(tx, number, reason, len(failed[number]))


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
        attempt.leased.claimed.attempts, channel.retry_delay_s, _random.random(), retry_after_s
    )


def _disable(tx: Tx, channel: Channel, reason: str) -> None:
    if store_channels.disable(tx, channel):
        audit.log(
            tx,
            SYSTEM,
            f"{channel.purpose}.disable",
            channel.id,
            group_id=channel.group_id,
            detail=reason,
        )


def recover_orphans(
    tx: Tx,
    writer: int,
    slot: int,
    expired_before: int | None = None,
    handlers: ChannelHandlers = DEFAULT_HANDLERS,
) -> int:
    """Retry or give up deliveries of a slot with expired leases; returns how many there were."""
    tx.slot = slot
    before = tx.now if expired_before is None else expired_before
    found = delivery_leases.lock_orphaned_leases(tx, slot, before, ORPHANS_PER_STEP_MAX)
    return _settle_orphans(tx, writer, found, handlers)


def recover_from_dead_nodes(
    tx: Tx, writer: int, slot: int, handlers: ChannelHandlers = DEFAULT_HANDLERS
) -> int:
    """The same for deliveries that were claimed by processes which do not live any more."""
    tx.slot = slot
    found = delivery_leases.lock_leases_of_dead_nodes(tx, slot, ORPHANS_PER_STEP_MAX)
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
            lease = (orphan.channel_number, tx.slot, orphan.token)
            delivery_leases.release(tx, lease, [orphan.seq])
        else:
            attempts.append(AttemptRecord(_lease_of_orphan(channel, orphan, tx.slot), ORPHANED))
    settle(tx, writer, attempts, handlers)
    return len(found)


def _lease_of_orphan(channel: Channel, orphan: OrphanedLease, slot: int) -> LeasedDelivery:
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
    )
    return LeasedDelivery(channel, claimed, orphan.token, 0, 0.0, slot)
