"""Which notifications fire for a stored record, decided on the transaction that stores it.

Plain reasons are looked up in a dictionary, so that many notifications cost no more than one.
Trigger states are locked until the transaction ends: of two processes with records of the same
device, one waits for the other.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.delivery.cel.cost import DATA_LEVELS_MAX
from longwire.delivery.cel.expressions import EvaluationError, build_cel_message
from longwire.delivery.matching import build_device_context
from longwire.notifications import trigger_states
from longwire.notifications.firing import (
    CommitQuota,
    Firing,
    RecipientCache,
    TakeSequenceNumbers,
    fire,
    within_quota,
)
from longwire.notifications.rules import GroupRules, Rule, get_rules
from longwire.notifications.trigger_states import (
    GEOFENCE_ENTER,
    AlertStatus,
    ReasonPolicy,
    Transition,
)
from longwire.records import DataRecord, EventRecord, GeolocRecord, Record, RecordKind
from longwire.store import channels as store_channels
from longwire.store import notifications as store
from longwire.store.database import Tx
from longwire.store.devices import ReportingDevice
from longwire.store.notifications import Key, NotificationState
from longwire.store.records import RecordRow

STATELESS_ALERT = AlertStatus()

FilterErrors = dict[int, str]  # by notification: why its `when` could not be evaluated


class BatteryReading(msgspec.Struct, frozen=True):
    """A battery level from a network, and the record that it came with."""

    device: ReportingDevice
    text: str
    at: Moment
    row: RecordRow


class TriggerCandidate(msgspec.Struct, frozen=True):
    """Something that may make a notification fire."""

    rule: Rule
    subject: int
    message: Mapping[str, Any]
    ts: Moment
    device_id: str = ""
    kind: int = RecordKind.EVENT
    reason: str = ""
    # For reasons with a duration: whether it is active, and when that was observed.
    is_active: bool | None = None
    at: Moment = 0

    @property
    def key(self) -> Key:
        return self.rule.number, self.subject


def evaluate_triggers(
    tx: Tx,
    take_seqs: TakeSequenceNumbers,
    rows: Sequence[RecordRow],
    devices: Collection[ReportingDevice],
    batteries: Sequence[BatteryReading] = (),
) -> set[int]:
    """Fire for new records and battery levels; returns the channels that have something to send."""
    rules = {group: get_rules(tx, group) for group in {each.group_id for each in devices}}
    if not any(rules.values()):
        return set()
    errors: FilterErrors = {}
    candidates = list(TriggerScanner(tx.now, rules, errors).scan(rows, devices, batteries))
    ready = apply_trigger_state(tx, take_seqs, candidates, errors) if candidates else set()
    for number, reason in sorted(errors.items()):
        store_channels.record_filter_error(tx, number, reason)
    return ready


class TriggerScanner:
    """Finds what may trigger the notifications of some groups."""

    def __init__(
        self, now: Moment, rules: Mapping[str, GroupRules | None], errors: FilterErrors
    ) -> None:
        self._now = now
        self._rules = rules
        self._errors = errors
        self._open: dict[int, bool] = {}

    def scan(
        self,
        rows: Sequence[RecordRow],
        devices: Collection[ReportingDevice],
        batteries: Sequence[BatteryReading],
    ) -> Iterator[TriggerCandidate]:
        by_number = {device.number: device for device in devices}
        for row in rows:
            device = by_number[row.device_number]
            rules = self._rules[device.group_id]
            if rules is None:
                continue
            match row.encoded.record:
                case GeolocRecord(lat=float() | int() as lat, lng=float() | int() as lng):
                    yield from self._scan_position(rules.fenced, row, device, lat, lng)
                case EventRecord(type=reason):
                    interested = [*rules.by_reason.get(reason, ()), *rules.any_event]
                    yield from self._scan_reason(interested, row, device, reason)
                case DataRecord(reason=given):
                    named = rules.by_reason.get(given or "", ())
                    yield from self._scan_reason(named, row, device, given or "")
        for battery in batteries:
            rules = self._rules[battery.device.group_id]
            if rules is not None:
                yield from self._scan_battery(rules.battery, battery)

    def _scan_reason(
        self, rules: Sequence[Rule], row: RecordRow, device: ReportingDevice, reason: str
    ) -> Iterator[TriggerCandidate]:
        message: dict[str, Any] | None = None
        for rule in self._select_rules(rules, device):
            if message is None:
                message = _build_message(row.encoded.record, device)
            if self._matches(rule, message):
                yield TriggerCandidate(
                    rule, device.number, message, row.ts, device.id, row.kind, reason
                )

    def _scan_position(
        self,
        fenced: Sequence[Rule],
        row: RecordRow,
        device: ReportingDevice,
        lat: float,
        lng: float,
    ) -> Iterator[TriggerCandidate]:
        message: dict[str, Any] | None = None
        for rule in self._select_rules(fenced, device):
            if message is None:
                message = _build_message(row.encoded.record, device)
            # A fix that `when` rejects, perhaps as too inaccurate, is no observation.
            if rule.fence is None or not self._matches(rule, message):
                continue
            is_inside = rule.fence.contains(lat, lng)
            yield TriggerCandidate(
                rule,
                device.number,
                message,
                row.ts,
                device.id,
                row.kind,
                rule.reason or "",
                is_inside == (rule.reason == GEOFENCE_ENTER),
                min(row.ts, self._now),
            )

    def _scan_battery(
        self, rules: Sequence[Rule], battery: BatteryReading
    ) -> Iterator[TriggerCandidate]:
        percent = parse_battery_percent(battery.text)
        if percent is None:
            return
        device, row = battery.device, battery.row
        for rule in self._select_rules(rules, device):
            message = _build_message(row.encoded.record, device) | {"battery": percent}
            yield TriggerCandidate(
                rule,
                device.number,
                message,
                row.ts,
                device.id,
                row.kind,
                rule.reason or "",
                percent < rule.params.battery_below,
                battery.at,
            )

    def _select_rules(self, rules: Sequence[Rule], device: ReportingDevice) -> Iterator[Rule]:
        for rule in rules:
            if rule.matches_device(device.id, device.type) and self._is_open(rule):
                yield rule

    def _is_open(self, rule: Rule) -> bool:
        if rule.schedule is None:
            return True
        if rule.number not in self._open:
            self._open[rule.number] = rule.is_open(self._now)
        return self._open[rule.number]

    def _matches(self, rule: Rule, message: Mapping[str, Any]) -> bool:
        return matches_condition(rule, message, self._errors)


def parse_battery_percent(text: str) -> float | None:
    """The charge; None if the network reported something else, such as a voltage."""
    try:
        percent = float(text)
    except ValueError:
        return None
    return int(percent) if percent.is_integer() else percent


def _build_message(record: Record, device: ReportingDevice) -> dict[str, Any]:
    message = build_cel_message(record, build_device_context(device))
    if _is_deep(message.get("data")):
        # No expression can reach it, and encoding it again could exceed the recursion limit.
        message["data"] = record.data
    return message


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DATA_LEVELS_MAX):
        level = [
            each
            for found in level
            if isinstance(found, dict | list)
            for each in (found.values() if isinstance(found, dict) else found)
        ]
        if not level:
            return False
    return True


# --- states ---


def apply_trigger_state(
    tx: Tx,
    take_seqs: TakeSequenceNumbers,
    candidates: Sequence[TriggerCandidate],
    errors: FilterErrors,
) -> set[int]:
    """Fire what was not sent before; returns the channels that have something to send.

    Failed evaluations of `when` are added to `errors`. Beyond the commit's quota, alerts with a
    duration are deferred to the next observation; of events, the last message counts the others.
    """
    keys = {each.key for each in candidates if each.is_active is not None or each.rule.throttle}
    states = store.lock_states(tx, keys) if keys else {}
    before = dict(states)
    recipients = RecipientCache(tx)
    quota = CommitQuota(recipients, len({each.rule.number for each in candidates}))
    fired: Counter[int] = Counter()
    firings = []
    for candidate in candidates:
        status: AlertStatus | None = STATELESS_ALERT
        state = states.get(candidate.key)
        if state is not None:
            after, status = _advance(candidate, state, tx.now, errors)
            has_duration = candidate.is_active is not None
            if status and has_duration and quota.is_used_up(candidate.rule, fired):
                after, status = trigger_states.defer_alert(state, after, status), None
            states[candidate.key] = after
        if status is not None:
            fired[candidate.rule.number] += 1
            firings.append(_build_firing(candidate, status))
    changed = {key: state for key, state in states.items() if state != before[key]}
    if changed:
        store.save_states(tx, changed)
    return fire(tx, take_seqs, within_quota(firings, quota), recipients) if firings else set()


def _advance(
    candidate: TriggerCandidate, state: NotificationState, now: Moment, errors: FilterErrors
) -> Transition:
    rule, policy = candidate.rule, candidate.rule.policy
    if candidate.is_active is None or policy is None:
        return trigger_states.apply_event(state, now, rule.throttle)
    if _may_start_alert(candidate, state, policy) and not matches_condition(
        rule, candidate.message, errors
    ):
        return state, None
    after, status = trigger_states.apply_observation(
        state, policy, candidate.at, now, rule.throttle, is_active=candidate.is_active
    )
    if (
        status
        and not policy.notifies_start
        and not matches_condition(rule, candidate.message, errors)
    ):
        return after, None
    return after, status


def _may_start_alert(
    candidate: TriggerCandidate, state: NotificationState, policy: ReasonPolicy
) -> bool:
    return bool(candidate.is_active) and policy.notifies_start and not state.is_notified


def matches_condition(rule: Rule, message: Mapping[str, Any], errors: FilterErrors) -> bool:
    """Whether `when` is true; a failed evaluation counts as false and is added to `errors`."""
    try:
        return rule.matches(message)
    except EvaluationError as error:
        errors[rule.number] = str(error)
        return False


def _build_firing(candidate: TriggerCandidate, status: AlertStatus) -> Firing:
    message = dict(candidate.message)
    if status.since is not None:
        message["state"] = "over" if status.is_resolved else "raised"
        message["since"] = format_date(status.since)
    return Firing(
        candidate.rule,
        message,
        status,
        candidate.ts,
        candidate.device_id,
        candidate.kind,
        candidate.reason,
    )
