"""Settling attempts on an open transaction: delivered, retried or given up; also recovery, resends.

Whoever settles shows the fencing token of the claim; with an expired lease nothing is changed.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from longwire.clock import SECOND
from longwire.delivery import retry_policy
from longwire.delivery.channel_handlers import (
    AttemptOutcome,
    AttemptResult,
    ChannelHandler,
    ConnectorHandler,
)
from longwire.delivery.channel_worker import AttemptRecord, LeasedDelivery, Released
from longwire.delivery.destinations.base import Delivered, FailureCode, Refused, Unreachable
from longwire.model import FORWARDING, SYSTEM, Connector
from longwire.store import audit
from longwire.store import connectors as store_connectors
from longwire.store import deliveries as store
from longwire.store.database import Tx
from longwire.store.deliveries import ClaimedDelivery, OrphanedLease

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

ChannelHandlers = Mapping[str, ChannelHandler]

DEFAULT_HANDLERS: ChannelHandlers = {FORWARDING: ConnectorHandler()}

# A private RNG, so that tests may seed the global one.
_random = random.Random()


@dataclass(slots=True)
class _ChannelResults:
    """What was settled for one channel."""

    connector: Connector
    results: list[AttemptResult] = field(default_factory=list)
    disabled_reason: str | None = None


def settle(
    tx: Tx,
    writer: int,
    attempts: Sequence[AttemptRecord],
    handlers: ChannelHandlers = DEFAULT_HANDLERS,
) -> None:
    """Record the outcomes of attempts whose leases are still ours."""
    settled: dict[int, _ChannelResults] = {}
    for (number, token), group in _group_by_lease(attempts).items():
        connector = group[0].leased.connector
        channel = settled.setdefault(number, _ChannelResults(connector))
        channel.connector = connector  # as it was when these were claimed
        _settle_delivered(tx, token, group, channel)
        _release(tx, number, token, group)
        _settle_failed(tx, token, group, channel)
    for number in sorted(settled):  # the same lock order in every process: no deadlocks
        if settled[number].results:
            _publish_results(tx, writer, settled[number], handlers)


def _group_by_lease(
    attempts: Sequence[AttemptRecord],
) -> dict[tuple[int, int], list[AttemptRecord]]:
    groups: dict[tuple[int, int], list[AttemptRecord]] = defaultdict(list)
    for each in attempts:
        groups[(each.leased.connector.number, each.leased.token)].append(each)
    return groups


def _settle_delivered(
    tx: Tx, token: int, group: Sequence[AttemptRecord], channel: _ChannelResults
) -> None:
    delivered = {
        each.leased.claimed.seq: (each.leased.claimed, each.outcome)
        for each in group
        if isinstance(each.outcome, Delivered)
    }
    if delivered:
        for seq in store.succeed(tx, channel.connector.number, token, list(delivered)):
            claimed, outcome = delivered[seq]
            channel.results.append(
                AttemptResult(
                    claimed,
                    AttemptOutcome.DELIVERED,
                    answer=outcome.answer,
                    is_duplicate=outcome.is_duplicate,
                )
            )


def _release(tx: Tx, number: int, token: int, group: Sequence[AttemptRecord]) -> None:
    released = [each.leased.claimed.seq for each in group if isinstance(each.outcome, Released)]
    if released:
        store.release(tx, number, token, released)


def _settle_failed(
    tx: Tx, token: int, group: Sequence[AttemptRecord], channel: _ChannelResults
) -> None:
    for each in group:
        outcome = each.outcome
        if not isinstance(outcome, Refused | Unreachable):
            continue
        result = _retry_or_fail(tx, each.leased, token, outcome)
        if result is None:
            continue
        channel.results.append(result)
        if isinstance(outcome, Refused) and outcome.disables:
            _disable(tx, channel.connector, outcome.reason)
            channel.disabled_reason = outcome.reason


def _publish_results(
    tx: Tx, writer: int, channel: _ChannelResults, handlers: ChannelHandlers
) -> None:
    number, results = channel.connector.number, channel.results
    failed = [each for each in results if each.outcome is not AttemptOutcome.DELIVERED]
    if len(failed) < len(results):
        store_connectors.reset_failures(tx, number)
    if failed:
        reason = channel.disabled_reason or failed[-1].reason
        store_connectors.record_failure(tx, number, reason, len(failed))
    handler = handlers.get(channel.connector.purpose)
    if handler is not None:
        handler.on_results(tx, writer, channel.connector, results)


def _retry_or_fail(
    tx: Tx, leased: LeasedDelivery, token: int, outcome: Refused | Unreachable
) -> AttemptResult | None:
    """Settle a failure; None when the lease is no longer ours."""
    connector, claimed, reason = leased.connector, leased.claimed, outcome.reason
    number, seqs = connector.number, [claimed.seq]
    if _is_last_attempt(connector, claimed, outcome):
        stored_until = tx.now + connector.storing_s * SECOND if connector.storing_s else None
        changed = store.fail(tx, number, token, seqs, stored_until, reason)
        result = AttemptOutcome.FAILED
    else:
        due_at = tx.now + _delay(connector, claimed, outcome)
        changed = store.retry(tx, number, token, seqs, due_at, reason)
        result = AttemptOutcome.RETRY_SCHEDULED
    return AttemptResult(claimed, result, reason, outcome.code) if changed else None


def _is_last_attempt(
    connector: Connector, claimed: ClaimedDelivery, outcome: Refused | Unreachable
) -> bool:
    attempts_max = retry_policy.attempts_max(connector.retries_max)
    if outcome.code in SERVICE_FAILURES:
        attempts_max = max(attempts_max, SERVICE_FAILURE_ATTEMPTS_MIN)
    return outcome.is_final or claimed.attempts >= attempts_max


def _delay(connector: Connector, claimed: ClaimedDelivery, outcome: Refused | Unreachable) -> int:
    retry_after_s = outcome.retry_after_s if isinstance(outcome, Refused) else None
    delay = retry_policy.retry_delay(
        claimed.attempts, connector.retry_delay_s, _random.random(), retry_after_s
    )
    return 0 if outcome.code in SERVICE_FAILURES else delay


def _disable(tx: Tx, connector: Connector, reason: str) -> None:
    if store_connectors.disable(tx, connector):
        audit.log(
            tx,
            SYSTEM,
            f"{connector.purpose}.disable",
            connector.id,
            group_id=connector.group_id,
            detail=reason,
        )


def recover_orphans(
    tx: Tx,
    writer: int,
    expired_before: int | None = None,
    handlers: ChannelHandlers = DEFAULT_HANDLERS,
) -> int:
    """Retry or give up deliveries with expired leases; returns how many there were."""
    found = store.lock_orphaned_leases(
        tx, tx.now if expired_before is None else expired_before, ORPHANS_PER_STEP_MAX
    )
    owners = store_connectors.get_by_numbers(tx, {each.connector_number for each in found})
    attempts = []
    for orphan in found:
        connector = owners.get(orphan.connector_number)
        if connector is None:
            # The connector was deleted, and its deliveries are about to be.
            store.release(tx, orphan.connector_number, orphan.token, [orphan.seq])
        else:
            attempts.append(AttemptRecord(_lease_of_orphan(connector, orphan), ORPHANED))
    settle(tx, writer, attempts, handlers)
    return len(found)


def _lease_of_orphan(connector: Connector, orphan: OrphanedLease) -> LeasedDelivery:
    claimed = ClaimedDelivery(
        connector_number=orphan.connector_number,
        seq=orphan.seq,
        device_id="",
        kind=0,
        generation=orphan.generation,
        attempts=orphan.attempts,
        created_at=0,
        body="",
        context="",
    )
    return LeasedDelivery(connector, claimed, orphan.token, 0, 0.0)


def advance_resends(tx: Tx, deliveries_max: int) -> set[int]:
    """One step of every resend; returns the channels that have something due."""
    woken: set[int] = set()
    for each in store_connectors.lock_resends(tx):
        if store.resend(tx, each.number, each.before, deliveries_max):
            woken.add(each.number)
        elif not store.is_resending(tx, each.number, each.before):
            store_connectors.end_resend(tx, each.number)
    return woken
