"""Monitoring of what no record reports: silent devices, connectors that fail or give messages up.

Every process monitors, in small steps: it reads what may have changed, and checks it again on the
transaction that fires. There the trigger state is locked, so that only one process fires.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import structlog

from longwire.clock import SECOND, Moment
from longwire.dates import format_date
from longwire.delivery.matching.budgets import InlineAllowance
from longwire.delivery.matching.filter_outcomes import FilterOutcomes
from longwire.errors import LongwireError
from longwire.notifications import trigger_states
from longwire.notifications.firing import TakeSequenceNumbers, fire
from longwire.notifications.recipients import RecipientCache
from longwire.notifications.rules import Rule, get_rules
from longwire.notifications.trigger_states import (
    CONFIGURATION_DRIFT,
    CONNECTOR_FAILING,
    CONNECTOR_RECOVERED,
    DEVICE_SILENT,
    MESSAGES_FAILED,
)
from longwire.notifications.triggers import (
    TriggerCandidate,
    apply_trigger_state,
    matches_condition,
)
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.delivery import channels as store_channels
from longwire.store.delivery import dead_letters
from longwire.store.identity import groups as store_groups
from longwire.store.notifications import notifications as store
from longwire.store.notifications.notifications import (
    DriftState,
    LastSeen,
    MonitoredConnector,
    NotificationState,
)
from longwire.store.pacing import write_and_pause

INTERVAL_S = 1.0
# Checking a device takes a microsecond or two. The pause after a round grows with the fleet, to
# about fifty times the work.
PAUSE_PER_DEVICE_S = 0.0001
PAUSE_PER_RULE_S = 0.01
DEVICES_PER_STEP_MAX = 5_000
# Others wait for a step, which renders and stores a message for each change and recipient.
CHANGES_PER_STEP_MAX = 20
CHANGES_PER_ROUND_MAX = 1_000  # of a rule; exceeded by up to those of its last devices
# Estimated CPU time of `when` in one step, in microseconds.
US_PER_STEP_MAX = 100_000.0

MONITORED_REASONS = (
    DEVICE_SILENT,
    CONFIGURATION_DRIFT,
    CONNECTOR_FAILING,
    CONNECTOR_RECOVERED,
    MESSAGES_FAILED,
)

log = structlog.get_logger()

Wake = Callable[[Collection[int]], None]


class MonitoringStep(msgspec.Struct, frozen=True):
    """What one step of checking a rule found."""

    subjects: list[int]  # those whose state may have changed
    checked: int = 0  # how many devices were read
    next_after: int | None = None  # where the next step starts; None after the last
    filters: FilterOutcomes = msgspec.field(default_factory=FilterOutcomes)


# A rule, by its number, and a group in which it monitors: its own, or one below.
Place = tuple[int, str]


class MonitoringRound(msgspec.Struct, frozen=True):
    """What one round over all rules leaves to the next one."""

    pause_s: float  # until then
    places: Mapping[Place, int]  # where rules continue; the others start over


async def run_monitor(database: Database, take_seqs: TakeSequenceNumbers, wake: Wake) -> None:
    """Check all monitored conditions periodically, until cancelled."""
    places: Mapping[Place, int] = {}
    while True:
        pause_s = 0.0
        try:
            done = await check_all(database, take_seqs, wake, places)
            pause_s, places = done.pause_s, done.places
        except LongwireError:
            pass  # the database is unavailable; the next round retries
        except Exception:
            log.exception("monitoring round failed")
        await asyncio.sleep(max(INTERVAL_S, pause_s))


async def check_all(
    database: Database, take_seqs: TakeSequenceNumbers, wake: Wake, places: Mapping[Place, int]
) -> MonitoringRound:
    """One round over all monitored rules.

    A rule with many changes continues in the next round, so that others do not wait for it.
    """
    pause_s = 0.0
    continued: dict[Place, int] = {}
    for rule, group_id in await database.read(_list_monitored_rules):
        after: int | None = places.get((rule.number, group_id), 0)
        changes = 0
        while after is not None and changes < CHANGES_PER_ROUND_MAX:
            step = await _check_some(database, rule, group_id, after, take_seqs, wake)
            pause_s += step.checked * PAUSE_PER_DEVICE_S
            changes += len(step.subjects)
            after = step.next_after
        if after is not None:
            continued[rule.number, group_id] = after
        pause_s += PAUSE_PER_RULE_S
    return MonitoringRound(pause_s, continued)


async def _check_some(
    database: Database,
    rule: Rule,
    group_id: str,
    after: int,
    take_seqs: TakeSequenceNumbers,
    wake: Wake,
) -> MonitoringStep:
    read_step = partial(_read_step, rule=rule, group_id=group_id, after=after)
    step = await database.read(read_step)
    if step.filters.failures:
        await database.write(partial(_record_failures, filters=step.filters))
    for start in range(0, len(step.subjects), CHANGES_PER_STEP_MAX):
        some = step.subjects[start : start + CHANGES_PER_STEP_MAX]
        changes = partial(
            notify_changes, rule=rule, group_id=group_id, only=some, take_seqs=take_seqs
        )
        await write_and_pause(database, changes, wake)
    return step


def _list_monitored_rules(tx: Tx) -> list[tuple[Rule, str]]:
    """Each with its group, and with those below if it is for subgroups."""
    return [
        (rule, monitored)
        for group_id in store.list_groups_with_reasons(tx, MONITORED_REASONS)
        if (rules := get_rules(tx, group_id)) is not None
        for rule in rules.by_number.values()
        if rule.group_id == group_id and rule.reason in MONITORED_REASONS and rule.is_open(tx.now)
        for monitored in _list_groups(tx, rule)
    ]


def _list_groups(tx: Tx, rule: Rule) -> Sequence[str]:
    if not rule.params.subgroups:
        return [rule.group_id]
    return sorted(store_groups.list_subtree(tx, rule.group_id), key=int)


def _read_step(tx: Tx, rule: Rule, group_id: str, after: int) -> MonitoringStep:
    next_after, checked = None, 0
    if rule.reason == DEVICE_SILENT:
        before = tx.now - rule.params.silent_after * SECOND
        devices, next_after, checked = store.list_silence_changes(
            tx, rule.number, group_id, before, after, DEVICES_PER_STEP_MAX
        )
        candidates = _check_silence(tx, rule, group_id, devices)
    elif rule.reason == CONFIGURATION_DRIFT:
        drift, next_after, checked = store.list_drift_changes(
            tx, rule.number, group_id, after, DEVICES_PER_STEP_MAX
        )
        candidates = _check_drift(tx, rule, group_id, drift)
    else:
        health = store.list_connector_health(tx, rule.number, group_id)
        candidates = _check_connectors(tx, rule, group_id, health)
    filters = FilterOutcomes()
    allowance = InlineAllowance(us_per_group_max=US_PER_STEP_MAX, us_max=US_PER_STEP_MAX)
    subjects = [each.subject for each in candidates if _may_fire(each, filters, allowance)]
    return MonitoringStep(subjects, checked, next_after, filters)


def _may_fire(
    candidate: TriggerCandidate, filters: FilterOutcomes, allowance: InlineAllowance
) -> bool:
    policy = candidate.rule.policy
    starts = policy is not None and policy.notifies_start and candidate.is_active
    return not starts or matches_condition(candidate.rule, candidate.message, filters, allowance)


def _record_failures(tx: Tx, filters: FilterOutcomes) -> None:
    """Store that `when` could not be evaluated, unless that is stored already.

    The same subjects are checked again in every round, and count once.
    """
    known = store_channels.get_by_numbers(tx, list(filters.failures))
    if any(
        each.error_message != store_channels.describe_filter_error(filters.failures[each.number])
        for each in known.values()
    ):
        filters.store(tx)


def notify_changes(
    tx: Tx, rule: Rule, group_id: str, only: Collection[int], take_seqs: TakeSequenceNumbers
) -> set[int]:
    """Check some subjects again and fire; returns the channels that have something to send."""
    cache_epochs.refresh_epochs(tx)  # another process may just have disabled the notification
    rules = get_rules(tx, group_id)
    current = rules.by_number.get(rule.number) if rules is not None else None
    if current is None or current.reason != rule.reason or not current.is_open(tx.now):
        return set()
    if current.reason == DEVICE_SILENT:
        devices = store.list_last_seen(tx, rule.number, group_id, only)
        candidates = _check_silence(tx, current, group_id, devices)
    elif current.reason == CONFIGURATION_DRIFT:
        drift = store.list_drift(tx, rule.number, group_id, only)
        candidates = _check_drift(tx, current, group_id, drift)
    else:
        numbers = [store.connector_subject(each) for each in only]
        health = store.list_connector_health(tx, rule.number, group_id, numbers)
        candidates = _check_connectors(tx, current, group_id, health)
        if current.reason == MESSAGES_FAILED:
            _forget_given_up(tx, health)
    filters = FilterOutcomes()
    recipients = RecipientCache(tx)
    firings = apply_trigger_state(tx, recipients, candidates, filters, InlineAllowance())
    filters.store(tx)
    return fire(tx, take_seqs, firings, recipients)


def _describe_device(tx: Tx, group_id: str, device: LastSeen | DriftState) -> dict[str, Any]:
    """The message about a device, as far as no record is the reason for it."""
    return {
        "kind": "device",
        "deviceId": device.id,
        "deviceName": device.name,
        "deviceType": device.type,
        "groupId": group_id,
        "tags": msgspec.json.decode(device.tags),
        "timestamp": format_date(tx.now),
    }


def _check_silence(
    tx: Tx, rule: Rule, group_id: str, devices: Sequence[LastSeen]
) -> list[TriggerCandidate]:
    """Devices that became silent, or that are no longer."""
    silent_after = rule.params.silent_after * SECOND
    return [
        TriggerCandidate(
            rule,
            each.number,
            {**_describe_device(tx, group_id, each), "seenAt": format_date(each.at)},
            tx.now,
            each.id,
            reason=DEVICE_SILENT,
            is_active=is_silent,
            at=each.at,
        )
        for each in devices
        if rule.matches_device(each.id, each.type)
        and _is_change(
            rule, each.state, tx.now, is_active=(is_silent := tx.now - each.at >= silent_after)
        )
    ]


def _check_drift(
    tx: Tx, rule: Rule, group_id: str, devices: Sequence[DriftState]
) -> list[TriggerCandidate]:
    """Devices that began to drift, or that do not any more."""
    return [
        TriggerCandidate(
            rule,
            each.number,
            _describe_device(tx, group_id, each),
            tx.now,
            each.id,
            reason=CONFIGURATION_DRIFT,
            is_active=is_drifting,
            at=tx.now,
        )
        for each in devices
        if rule.matches_device(each.id, each.type)
        and _is_change(
            rule, each.state, tx.now, is_active=(is_drifting := each.drifted_at is not None)
        )
    ]


def _check_connectors(
    tx: Tx, rule: Rule, group_id: str, connectors: Sequence[MonitoredConnector]
) -> list[TriggerCandidate]:
    check = _check_given_up if rule.reason == MESSAGES_FAILED else _check_health
    return check(tx, rule, group_id, connectors)


def _describe_connector(tx: Tx, group_id: str, connector: MonitoredConnector) -> dict[str, Any]:
    return {
        "kind": "connector",
        "connectorId": connector.id,
        "connectorName": connector.name,
        "connectorType": connector.type,
        "groupId": group_id,
        "timestamp": format_date(tx.now),
        "failures": connector.failures,
        "error": connector.error,
        "enabled": connector.is_enabled,
    }


def _check_health(
    tx: Tx, rule: Rule, group_id: str, connectors: Sequence[MonitoredConnector]
) -> list[TriggerCandidate]:
    """Connectors that began to fail, or recovered."""
    return [
        TriggerCandidate(
            rule,
            store.connector_subject(each.number),
            _describe_connector(tx, group_id, each),
            tx.now,
            reason=rule.reason or "",
            is_active=is_failing,
            at=tx.now,
        )
        for each in connectors
        if (is_failing := _is_failing(each, rule.params.failing_after)) is not None
        and _is_change(rule, each.state, tx.now, is_active=is_failing)
    ]


def _check_given_up(
    tx: Tx, rule: Rule, group_id: str, connectors: Sequence[MonitoredConnector]
) -> list[TriggerCandidate]:
    """Connectors that gave messages up, or of which none is left that could be resent."""
    return [
        TriggerCandidate(
            rule,
            store.connector_subject(each.number),
            {
                **_describe_connector(tx, group_id, each),
                "messages": each.given_up,
                "error": each.given_up_error,
            },
            tx.now,
            reason=MESSAGES_FAILED,
            is_active=has_given_up,
            at=tx.now,
            value=each.given_up,
        )
        for each in connectors
        if _is_change(rule, each.state, tx.now, is_active=(has_given_up := _has_given_up(tx, each)))
    ]


def _has_given_up(tx: Tx, connector: MonitoredConnector) -> bool:
    """Whether there is something to take care of that was not known before.

    What is not kept for a resend is taken care of once somebody acknowledges it.
    """
    if not connector.given_up or connector.given_up_at is None:
        return False
    state = connector.state
    if state.raised_at is None and connector.given_up_at <= (state.as_of or 0):
        return False
    if not connector.storing_s:
        return True
    return dead_letters.get_oldest_dead_letter_ts(tx, connector.number) is not None


def _forget_given_up(tx: Tx, connectors: Sequence[MonitoredConnector]) -> None:
    """What an alarm was about that ends now is not counted, and is no reason, in the next one."""
    for each in connectors:
        if each.given_up and each.state.raised_at is not None and not _has_given_up(tx, each):
            store_channels.reset_known_given_up(tx, each.number, each.given_up)


def _is_failing(health: MonitoredConnector, failing_after: int) -> bool | None:
    """Whether a connector fails; None below the threshold, where nothing changes.

    One that the service disabled because of its receiver counts as failing. Enabled again, it has
    to deliver something before it counts as working.
    """
    if not health.is_enabled or health.failures >= failing_after:
        return True
    return None if health.failures else False


def _is_change(rule: Rule, state: NotificationState, now: Moment, *, is_active: bool) -> bool:
    """Whether the state would change, or an alert is still to be sent."""
    if is_active != (state.raised_at is not None):
        return True
    policy = rule.policy
    if not is_active or state.is_notified or policy is None or not policy.notifies_start:
        return False
    return not trigger_states.has_throttled_alert(state, now, rule.throttle)
