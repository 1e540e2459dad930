"""Which notifications fire for a stored record.

Decided on the transaction that stores it, as long as that is cheap; else after its commit (see
`deferred_matching`). Plain reasons are looked up in a dictionary, so that many notifications cost
no more than one. Trigger states are locked until the transaction ends: of two processes with
records of the same device, one waits for the other.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.delivery.cel.cost import DATA_LEVELS_MAX
from longwire.delivery.cel.expressions import EvaluationError, build_cel_message
from longwire.delivery.matching.budgets import (
    COMPILED_INLINE_US,
    TOO_EXPENSIVE,
    InlineAllowance,
)
from longwire.delivery.matching.filter_outcomes import FilterOutcomes
from longwire.delivery.matching.matching import US_PER_KIB, build_device_context
from longwire.measurements.batteries import parse_battery_percent
from longwire.notifications import trigger_states
from longwire.notifications.alarms import (
    AlarmBook,
    AlarmSubject,
    Hold,
    describe_alarm,
    find_silenced,
    list_notified,
    mark_sent,
)
from longwire.notifications.firing import (
    CommitQuota,
    Firing,
    fill_texts,
    within_quota,
)
from longwire.notifications.geofences import UnusableFence
from longwire.notifications.recipients import RecipientCache
from longwire.notifications.rules import GroupRules, Rule, get_rules
from longwire.notifications.templates import FilledTexts
from longwire.notifications.trigger_states import (
    GEOFENCE_ENTER,
    AlertStatus,
    ReasonPolicy,
    Transition,
)
from longwire.records import DataRecord, EventRecord, GeolocRecord, Record, RecordKind
from longwire.store.database import Tx
from longwire.store.delivery.deferrals import DeferralPurpose, DeferralRanges
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.notifications import notifications as store
from longwire.store.notifications.alarms import Alarm
from longwire.store.notifications.notifications import Key, NotificationState
from longwire.store.records.arrived_records import ArrivedRecord
from longwire.store.records.records import RecordRow

US_PER_RULE = 5.0  # estimated CPU time: device, schedule, geofence
STATELESS_ALERT = AlertStatus()


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
    message: dict[str, Any]
    ts: Moment
    device_id: str = ""
    kind: int = RecordKind.EVENT
    reason: str = ""
    # For reasons with a duration: whether it is active, and when that was observed.
    is_active: bool | None = None
    at: Moment = 0
    is_condition_met: bool = False  # `when` was evaluated for it already
    texts: FilledTexts | None = None  # if templates were rendered already
    cause: int | None = None  # the arrival of the record
    value: float | None = None  # that is shown of its alarm

    @property
    def alarm_subject(self) -> AlarmSubject:
        """What an alarm would be about."""
        message = self.message
        return AlarmSubject(
            self.subject, message["groupId"], self.device_id or None, message.get("connectorId")
        )

    @property
    def key(self) -> Key:
        return self.rule.number, self.subject

    @property
    def is_unconditional(self) -> bool:
        """Whether it fires, and with the same texts, whatever came before it."""
        return self.is_active is None and not self.rule.throttle

    def render(self) -> "TriggerCandidate":
        texts = fill_texts(self.rule, self.message)
        return msgspec.structs.replace(self, texts=texts)


def evaluate_triggers(
    tx: Tx,
    recipients: RecipientCache,
    rows: Sequence[RecordRow],
    devices: Collection[ReportingDevice],
    batteries: Sequence[BatteryReading],
    allowance: InlineAllowance,
) -> list[Firing]:
    """The messages to send because of new records and battery levels."""
    rules = {group: get_rules(tx, group) for group in {each.group_id for each in devices}}
    if not any(each is not None and each.has_triggers for each in rules.values()):
        return []
    scanner = TriggerScanner(tx.now, rules)
    deferred = DeferralRanges(DeferralPurpose.NOTIFICATION)
    with allowance.measuring():
        candidates = list(scanner.scan(rows, devices, allowance, deferred))
    candidates += [each for battery in batteries for each in scanner.scan_battery(battery)]
    filters = scanner.filters
    # Levels of batteries are not deferred. What filters have used up must not hide one of them.
    condition_allowance = allowance.renew()
    with condition_allowance.measuring():
        firings = apply_trigger_state(tx, recipients, candidates, filters, condition_allowance)
    condition_allowance.settle()
    deferred.insert(tx)
    filters.store(tx)
    return firings


class DeferredCandidates(msgspec.Struct):
    """What the deferred evaluation of some records has found so far."""

    candidates: list[TriggerCandidate] = []
    filters: FilterOutcomes = msgspec.field(default_factory=FilterOutcomes)
    done_seq: int | None = None  # the last record that was evaluated

    @property
    def size(self) -> int:
        return len(self.candidates)

    def clear(self) -> None:
        """Drop what was stored."""
        self.candidates, self.filters, self.done_seq = [], FilterOutcomes(), None

    def add(self, candidate: TriggerCandidate | None, filters: FilterOutcomes) -> None:
        self.filters.add_all(filters)
        if candidate is None:
            return
        # Rendering is as costly as a condition, and needs no transaction either.
        self.candidates.append(candidate.render() if candidate.is_unconditional else candidate)


def evaluate_deferred(
    now: Moment,
    rules: GroupRules | None,
    records: Sequence[ArrivedRecord],
    found: DeferredCandidates,
) -> Iterator[None]:
    """Evaluate the notifications of one group for deferred records; yields after each of them."""
    for record in records:
        scanner = TriggerScanner(now, {record.device.group_id: rules})
        for observation in scanner.list_observations(record.row, record.device):
            scanner.filters = FilterOutcomes()
            found.add(scanner.check(observation), scanner.filters)
            yield
        found.done_seq = record.row.seq
        yield


class Observation(msgspec.Struct, frozen=True):
    """A record, and a notification that is interested in it."""

    rule: Rule
    row: RecordRow
    device: ReportingDevice
    message: dict[str, Any]
    reason: str
    position: tuple[float, float] | None = None

    def estimate_us(self) -> float:
        """The CPU time that it takes to check this; `EvaluationError` if that is too much."""
        prepared = self.rule.prepare(self.message)
        return US_PER_RULE + (0.0 if prepared is None else prepared.cost_us)


class TriggerScanner:
    """Finds what may trigger the notifications of some groups."""

    def __init__(self, now: Moment, rules: Mapping[str, GroupRules | None]) -> None:
        self._now = now
        self._rules = rules
        self.filters = FilterOutcomes()
        self._open: dict[int, bool] = {}

    def scan(
        self,
        rows: Sequence[RecordRow],
        devices: Collection[ReportingDevice],
        allowance: InlineAllowance,
        deferred: DeferralRanges,
    ) -> Iterator[TriggerCandidate]:
        """What the transaction may evaluate itself; of each record all notifications, or none."""
        by_number = {device.number: device for device in devices}
        for row in rows:
            device = by_number[row.device_number]
            if self._rules[device.group_id] is None:
                continue
            found = self._check_inline(row, device, allowance)
            if found is None:
                deferred.add(device.group_id, row)
            else:
                yield from found

    def _check_inline(
        self, row: RecordRow, device: ReportingDevice, allowance: InlineAllowance
    ) -> list[TriggerCandidate] | None:
        found: list[TriggerCandidate] = []
        interested, _, _ = self._list_interested(row, device)
        if not interested:
            return found
        kib = len(row.encoded.record.data or "") / 1_024
        if not allowance.take(device.group_id, len(interested) * (US_PER_RULE + US_PER_KIB * kib)):
            return None
        for observation in self.list_observations(row, device):
            if not allowance.take(device.group_id, observation.rule.compile_us):
                return None
            try:
                cost_us = observation.estimate_us()
            except EvaluationError as error:
                rule = observation.rule
                self.filters.add_failure(rule.number, rule.when, str(error))
                continue
            if not allowance.take(device.group_id, cost_us):
                return None
            candidate = self.check(observation)
            if candidate is None:
                continue
            if candidate.is_unconditional:
                texts = candidate.rule.texts
                if not allowance.take(device.group_id, texts.compile_us):
                    return None
                if not allowance.take(device.group_id, texts.estimate_us(candidate.message)):
                    return None
                candidate = candidate.render()
                if texts.error is not None:
                    self.filters.add_error(candidate.rule.number, texts.error)
            found.append(candidate)
        return found

    def list_observations(self, row: RecordRow, device: ReportingDevice) -> Iterator[Observation]:
        interested, reason, position = self._list_interested(row, device)
        message: dict[str, Any] | None = None
        for rule in self._select_rules(interested, device):
            if message is None:
                message = _build_message(row.encoded.record, device)
            yield Observation(rule, row, device, message, reason or rule.reason or "", position)

    def _list_interested(
        self, row: RecordRow, device: ReportingDevice
    ) -> tuple[Sequence[Rule], str, tuple[float, float] | None]:
        rules = self._rules[device.group_id]
        if rules is None:
            return (), "", None
        match row.encoded.record:
            case GeolocRecord(lat=float() | int() as lat, lng=float() | int() as lng):
                return rules.fenced, "", (lat, lng)
            case EventRecord(type=reason):
                return [*rules.by_reason.get(reason, ()), *rules.any_event], reason, None
            case DataRecord(reason=given):
                return rules.by_reason.get(given or "", ()), given or "", None
        return (), "", None

    def check(self, observation: Observation) -> TriggerCandidate | None:
        """Evaluate `when` and the geofence."""
        rule, row, device = observation.rule, observation.row, observation.device
        # A fix that `when` rejects, perhaps as too inaccurate, is no observation.
        if not matches_condition(rule, observation.message, self.filters):
            return None
        is_active: bool | None = None
        at: Moment = 0
        if observation.position is not None:
            if rule.fence is None:
                return None
            try:
                is_inside = rule.fence.contains(*observation.position)
            except UnusableFence as error:
                self.filters.add_error(rule.number, str(error))
                return None
            is_active = is_inside == (rule.reason == GEOFENCE_ENTER)
            at = min(row.ts, self._now)
        return TriggerCandidate(
            rule,
            device.number,
            observation.message,
            row.ts,
            device.id,
            row.kind,
            observation.reason,
            is_active,
            at,
            is_condition_met=True,
            cause=row.seq,
        )

    def scan_battery(self, battery: BatteryReading) -> Iterator[TriggerCandidate]:
        percent = parse_battery_percent(battery.text)
        rules = self._rules[battery.device.group_id]
        if percent is None or rules is None:
            return
        device, row = battery.device, battery.row
        for rule in self._select_rules(rules.battery, device):
            message = _build_message(row.encoded.record, device)
            message["battery"] = percent
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
                cause=row.seq,
                value=percent,
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
    recipients: RecipientCache,
    candidates: Sequence[TriggerCandidate],
    filters: FilterOutcomes,
    allowance: InlineAllowance,
) -> list[Firing]:
    """Store the states; what was not sent before.

    Failed evaluations of `when` are added to `filters`. Beyond the commit's quota, alerts with a
    duration are deferred to the next observation; of events, the last message counts the others.
    """
    if not candidates:
        return []
    keys = {each.key for each in candidates if each.is_active is not None or each.rule.throttle}
    states = store.lock_states(tx, keys) if keys else {}
    before = dict(states)
    quota = CommitQuota(recipients, len({each.rule.number for each in candidates}))
    fired: Counter[int] = Counter()
    advances: list[_Advance] = []
    for candidate in candidates:
        state = states.get(candidate.key)
        advance = _Advance(candidate, None, None, STATELESS_ALERT)
        if state is not None:
            after, status = _advance(candidate, state, tx.now, filters, allowance)
            advance = _Advance(candidate, state, after, status)
            if status is not None and candidate.is_active is not None:
                advance = _hold_back(tx, advance, quota, fired)
            states[candidate.key] = advance.after or state
        if advance.status is not None and advance.silenced is None:
            fired[candidate.rule.number] += 1
        advances.append(advance)
    changed = {key: state for key, state in states.items() if state != before[key]}
    if changed:
        store.save_states(tx, changed)
    return within_quota(_follow_alarms(tx, advances), quota)


class _Advance(msgspec.Struct, frozen=True):
    """What a candidate has changed, and what is to be sent."""

    candidate: TriggerCandidate
    before: NotificationState | None
    after: NotificationState | None
    status: AlertStatus | None
    silenced: Hold | None = None

    @property
    def has_alarm(self) -> bool:
        """Whether it may concern an alarm: for a reason that is raised and lasts."""
        policy = self.candidate.rule.policy
        return (
            self.candidate.is_active is not None
            and policy is not None
            and policy.notifies_start
            and (self.status is not None or self.begins or self.ends)
        )

    @property
    def begins(self) -> bool:
        return not _is_raised(self.before) and _is_raised(self.after)

    @property
    def ends(self) -> bool:
        return _is_raised(self.before) and not _is_raised(self.after)


def _hold_back(tx: Tx, advance: _Advance, quota: CommitQuota, fired: Mapping[int, int]) -> _Advance:
    """The same without its message, if there is a silence or no room for it in this commit."""
    before, after, status = advance.before, advance.after, advance.status
    assert before is not None and after is not None and status is not None
    rule = advance.candidate.rule
    silenced = find_silenced(tx, rule, rule.params.severity, advance.candidate.message)
    if silenced is not None:
        after = msgspec.structs.replace(after, fired_at=before.fired_at)
    elif quota.is_used_up(rule, fired):
        after, status = trigger_states.defer_alert(before, after, status), None
    return msgspec.structs.replace(advance, after=after, status=status, silenced=silenced)


def _is_raised(state: NotificationState | None) -> bool:
    return state is not None and state.raised_at is not None


def _follow_alarms(tx: Tx, advances: Sequence[_Advance]) -> list[Firing]:
    """Store the alarms that were raised and resolved; the messages to send."""
    keys = {each.candidate.key for each in advances if each.has_alarm}
    book = AlarmBook(tx, keys) if keys else None
    firings = []
    for each in advances:
        alarm = _follow_alarm(tx.now, book, each) if book is not None and each.has_alarm else None
        is_untold = alarm is not None and each.ends and alarm.notified_at is None
        if each.status is not None and each.silenced is None and not is_untold:
            firings.append(_build_firing(each.candidate, each.status, alarm))
            if alarm is not None and each.status.is_resolved:
                firings += _list_escalated(tx, alarm, firings[-1])
    if book is not None:
        book.save()
    return firings


def _list_escalated(tx: Tx, alarm: Alarm, firing: Firing) -> Iterator[Firing]:
    """The same message by the notification that an alarm was escalated to."""
    for rule in list_notified(tx, alarm, firing.rule, alarm.notified_at)[1:]:
        yield msgspec.structs.replace(firing, rule=rule, texts=None)


def _follow_alarm(now: Moment, book: AlarmBook, advance: _Advance) -> Alarm | None:
    """The alarm as it is now; None if there is none, as for what held at the first look."""
    candidate, after, status = advance.candidate, advance.after, advance.status
    alarm = book.get_open(candidate.key)
    if advance.ends:
        return None if alarm is None else _resolve_alarm(now, book, alarm, advance)
    if advance.begins and alarm is None and after is not None and after.raised_at is not None:
        if status is None and after.is_notified:
            return None
        alarm = book.open(candidate.rule, candidate.alarm_subject, after.raised_at, candidate.value)
    if alarm is None or status is None:
        return alarm
    hold = advance.silenced
    return book.change(hold.apply(alarm) if hold else mark_sent(alarm, candidate.rule, now))


def _resolve_alarm(now: Moment, book: AlarmBook, alarm: Alarm, advance: _Advance) -> Alarm:
    resolved = book.change(alarm, resolved_at=now, changed_at=now, due_at=None)
    if advance.silenced is None or advance.status is None or alarm.notified_at is None:
        return resolved
    return book.change(advance.silenced.apply(resolved))


def _advance(
    candidate: TriggerCandidate,
    state: NotificationState,
    now: Moment,
    filters: FilterOutcomes,
    allowance: InlineAllowance,
) -> Transition:
    rule, policy = candidate.rule, candidate.rule.policy
    if candidate.is_active is None or policy is None:
        return trigger_states.apply_event(state, now, rule.throttle)
    if _may_start_alert(candidate, state, policy) and not _meets_condition(
        candidate, filters, allowance
    ):
        return state, None
    after, status = trigger_states.apply_observation(
        state, policy, candidate.at, now, rule.throttle, is_active=candidate.is_active
    )
    if status and not policy.notifies_start and not _meets_condition(candidate, filters, allowance):
        return after, None
    return after, status


def _meets_condition(
    candidate: TriggerCandidate, filters: FilterOutcomes, allowance: InlineAllowance
) -> bool:
    return candidate.is_condition_met or matches_condition(
        candidate.rule, candidate.message, filters, allowance
    )


def _may_start_alert(
    candidate: TriggerCandidate, state: NotificationState, policy: ReasonPolicy
) -> bool:
    return bool(candidate.is_active) and policy.notifies_start and not state.is_notified


def matches_condition(
    rule: Rule,
    message: Mapping[str, Any],
    filters: FilterOutcomes,
    allowance: InlineAllowance | None = None,
) -> bool:
    """Whether `when` is true; how that went is added to `filters`.

    A failed evaluation counts as false. So does one that exceeds the allowance: it is observed
    again. A few are compiled in each transaction, however costly that is.
    """
    if rule.when is None:
        return True
    try:
        if allowance is not None:
            compile_us = min(rule.when.compile_us, COMPILED_INLINE_US)
            if not allowance.take(rule.group_id, compile_us):
                filters.add_error(rule.number, TOO_EXPENSIVE)
                return False
        prepared = rule.when.prepare(message)
        if allowance is not None and not allowance.take(rule.group_id, prepared.cost_us):
            filters.add_error(rule.number, TOO_EXPENSIVE)
            return False
        is_true = prepared.matches()
    except EvaluationError as error:
        filters.add_failure(rule.number, rule.when, str(error))
        return False
    filters.add_value(rule.number, rule.when)
    return is_true


def _build_firing(candidate: TriggerCandidate, status: AlertStatus, alarm: Alarm | None) -> Firing:
    message = copy(candidate.message)
    if status.since is not None:
        message["state"] = "resolved" if status.is_resolved else "raised"
        message["since"] = format_date(status.since)
    if alarm is not None:
        message.update(describe_alarm(alarm))
    return Firing(
        candidate.rule,
        message,
        status,
        candidate.ts,
        candidate.device_id,
        candidate.kind,
        candidate.reason,
        candidate.texts,
        candidate.cause,
    )
