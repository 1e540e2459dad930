"""Conditions on measurements, evaluated on the transaction that stores the values of records.

The state of a condition that is not met is no row: only values that meet a condition, and devices
with a state, cost more than a comparison. A value is late if a newer one is the current value of
the device. The devices are locked, so that of several processes one evaluates a device at a time.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from longwire.clock import Moment
from longwire.delivery.matching.budgets import InlineAllowance
from longwire.measurements.extraction import MeasuredValue
from longwire.notifications.alarm_conditions import (
    AlarmCondition,
    ConditionReading,
    ConditionState,
    find_due,
    is_repeated,
    step,
)
from longwire.notifications.alarms import AlarmChange, GetNamed, apply_changes
from longwire.notifications.expressed_conditions import (
    ExpressedReading,
    ExpressionReader,
    list_rows,
)
from longwire.notifications.firing import Firing, TakeSequenceNumbers, fire
from longwire.notifications.recipients import RecipientCache
from longwire.notifications.rules import MeasuredRules, Rule, get_rules, index_rules
from longwire.store.database import Tx
from longwire.store.fleet import current_values as store_values
from longwire.store.fleet import reporting_devices
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.notifications import condition_states as store
from longwire.store.notifications import notifications as store_notifications
from longwire.store.notifications.condition_states import (
    ConditionKey,
    DueCondition,
    StoredCondition,
)
from longwire.store.records.records import RecordRow


class MeasuredRecord(NamedTuple):
    """The values of a record, by the numbers of their measurements."""

    device: ReportingDevice
    at: Moment  # never in the future
    seq: int
    values: Mapping[int, MeasuredValue]


class NewRecords(NamedTuple):
    """The records of a commit that conditions may be about."""

    rows: Sequence[RecordRow]  # without the service's own events
    devices: Mapping[str, ReportingDevice]
    measured: Sequence[MeasuredRecord]


def list_watched_groups(tx: Tx, devices: Iterable[ReportingDevice]) -> set[str]:
    """The groups of devices in which there are conditions on values."""
    groups = {each.group_id for each in devices}
    return {
        each
        for each in groups
        if (rules := get_rules(tx, each)) and (rules.measured or rules.expressed)
    }


def evaluate_values(
    tx: Tx,
    recipients: RecipientCache,
    records: NewRecords,
    get_named: GetNamed,
    allowance: InlineAllowance,
) -> list[Firing]:
    """Evaluate the conditions for new values, before these are stored; the messages to send."""
    reader = ExpressionReader(tx, records.devices.values(), get_named, allowance)
    expressed = list_rows(records.rows, records.devices, reader)
    numbers = {each.device.number for each in records.measured}
    numbers |= {device.number for _, device in expressed}
    if not numbers:
        return []
    evaluation = _Evaluation(tx, numbers, get_named, reader.seen.copy())
    wanted = evaluation.find_wanted(records.measured)
    if wanted:
        evaluation.load_values(wanted)
        for record in sorted(records.measured, key=lambda each: each.seq):
            evaluation.take(record, wanted)
    values = {each.seq: each.values for each in records.measured} if expressed else {}
    for row, device in expressed:
        for each in reader.read(row, device, values.get(row.seq, {})):
            evaluation.take_expressed(each)
    reader.filters.store(tx)
    evaluation.save(is_lazy=True)
    return apply_changes(tx, recipients, evaluation.changes)


def evaluate_due(
    tx: Tx, take_seqs: TakeSequenceNumbers, due: Sequence[DueCondition], get_named: GetNamed
) -> set[int]:
    """Evaluate conditions that are due by the clock; the channels that have something to send."""
    devices = reporting_devices.get_reporting(tx, {each.device_id for each in due})
    by_number = {each.number: each for each in devices.values()}
    evaluation = _Evaluation(tx, by_number, get_named, store.list_seen(tx, by_number))
    evaluation.load_due(by_number, due)
    evaluation.save(is_lazy=False)
    recipients = RecipientCache(tx)
    firings = apply_changes(tx, recipients, evaluation.changes)
    return fire(tx, take_seqs, firings, recipients)


class _Evaluation:
    """The conditions of some devices in one transaction."""

    def __init__(
        self,
        tx: Tx,
        devices: Collection[int],
        get_named: GetNamed,
        seen: Mapping[int, Moment],
    ) -> None:
        """`seen` is when devices were last seen, those with conditions that are expressions."""
        self._tx = tx
        self._seen = seen
        self._get_named = get_named
        self._stored = store.list_of_devices(tx, devices)
        self._has_state = {device for device, _ in self._stored}
        self._rules: dict[tuple[str, str], dict[int, MeasuredRules]] = {}
        # The value in force, by device and measurement.
        self._values: dict[tuple[int, int], tuple[Moment, float]] = {}
        self._states: dict[ConditionKey, tuple[Rule, ReportingDevice, ConditionState]] = {}
        self.changes: list[AlarmChange] = []

    def find_wanted(self, records: Sequence[MeasuredRecord]) -> set[tuple[int, int]]:
        """Values that may change something, by device and measurement."""
        wanted = set()
        for record in records:
            device = record.device
            rules = self._get_rules(device)
            for key, value in record.values.items():
                if key in rules and self._may_change(rules[key], device, value):
                    wanted.add((device.number, key))
        return wanted

    def _may_change(
        self, measured: MeasuredRules, device: ReportingDevice, value: MeasuredValue
    ) -> bool:
        number = value.number
        if number is None or value.text is not None:
            return False
        if device.number in self._has_state:
            return True
        if not measured.may_change(number):
            return False
        for rule in measured.rules:
            condition = rule.condition
            assert condition is not None
            assert condition.limit is not None
            if (
                condition.limit.is_met(number) or condition.on_stale == "raise"
            ) and rule.matches_device(device.id, device.type):
                return True
        return False

    def _get_rules(self, device: ReportingDevice) -> Mapping[int, MeasuredRules]:
        """The rules for the devices of a group that are of one type, by measurement."""
        place = (device.group_id, device.type)
        found = self._rules.get(place)
        if found is None:
            found = self._rules[place] = {}
            rules = get_rules(self._tx, device.group_id)
            named = self._get_named(device) if rules is not None and rules.measured else {}
            for name, some in rules.measured.items() if rules is not None else ():
                if name in named:
                    key = named[name][0]
                    present = found.get(key)
                    found[key] = index_rules([*present.rules, *some.rules]) if present else some
        return found

    def load_values(self, wanted: Collection[tuple[int, int]]) -> None:
        devices, keys = {each[0] for each in wanted}, {each[1] for each in wanted}
        for each in store_values.list_columns(self._tx, devices, keys):
            if each.number is not None and each.text is None:
                self._values[each.device, each.key] = each.ts, each.number

    def take(self, record: MeasuredRecord, wanted: Collection[tuple[int, int]]) -> None:
        """Evaluate the values of a record, unless they are late."""
        device, at = record.device, record.at
        rules = self._get_rules(device)
        for key, value in record.values.items():
            place = (device.number, key)
            number = value.number
            if place not in wanted or number is None or value.text is not None:
                continue
            before = self._values.get(place)
            if before is not None and at < before[0]:
                continue
            for rule in rules[key].rules:
                if not rule.matches_device(device.id, device.type):
                    continue
                assert rule.condition is not None
                assert rule.condition.limit is not None
                reading = rule.condition.limit.read(at, number)
                if before is None or not self._is_repeated(rule, device, before[0], reading):
                    self._step(rule, rule.condition, device, key, reading, record.seq)
            self._values[place] = at, number

    def _is_repeated(
        self, rule: Rule, device: ReportingDevice, last_at: Moment, reading: ConditionReading
    ) -> bool:
        place = (device.number, rule.number)
        stored = self._stored.get(place)
        if stored is None or place in self._states:
            return False
        assert rule.condition is not None
        return is_repeated(rule.condition, stored, last_at, reading)

    def take_expressed(self, expressed: ExpressedReading) -> None:
        rule = expressed.rule
        assert rule.condition is not None
        self._step(rule, rule.condition, expressed.device, None, expressed.reading, expressed.seq)

    def _step(
        self,
        rule: Rule,
        condition: AlarmCondition,
        device: ReportingDevice,
        key: int | None,
        event: ConditionReading | Moment,
        cause: int | None = None,
    ) -> None:
        place = (device.number, rule.number)
        state = self._get_state(rule, condition, device, key)
        after, transitions = step(condition, state, event)
        self._states[place] = rule, device, after
        if transitions:
            measurement = self._get_named(device).get(rule.params.measurement or "", (0, None))[1]
            self.changes += [
                AlarmChange(rule, device, each, measurement, cause) for each in transitions
            ]

    def _get_state(
        self, rule: Rule, condition: AlarmCondition, device: ReportingDevice, key: int | None
    ) -> ConditionState:
        place = (device.number, rule.number)
        present = self._states.get(place)
        if present is not None:
            return present[2]
        in_force = None if key is None else self._values.get((device.number, key))
        last = None
        if in_force is not None and condition.limit is not None:
            last = condition.limit.read(*in_force)
        stored = self._stored.get(place)
        seen = self._seen.get(device.number)
        if condition.limit is None and stored is not None and seen is not None:
            # What the last record said is what is pending.
            is_met, is_clear = stored.met_since is not None, stored.clear_since is not None
            last = ConditionReading(seen, is_met, is_clear)
        if stored is None:
            return ConditionState(last=last)
        return ConditionState(
            last=last,
            met_since=stored.met_since,
            met_messages=stored.met_messages,
            clear_since=stored.clear_since,
            raised_at=stored.raised_at,
            value=stored.value,
            worst=stored.worst,
            has_no_data=stored.has_no_data,
            is_stale=stored.is_stale,
        )

    # --- by the clock ---

    def load_due(self, devices: Mapping[int, ReportingDevice], due: Sequence[DueCondition]) -> None:
        """Evaluate those that are due; without those that nobody asks for any more."""
        found: list[tuple[Rule, ReportingDevice, int | None]] = []
        for each in due:
            device = devices.get(each.device_number)
            place = (each.device_number, each.notification_number)
            if device is None or place not in self._stored:
                continue
            rule = self._find_rule(device, each.notification_number)
            if rule is None:
                self._drop(place)
            else:
                named = self._get_named(device).get(rule.params.measurement or "")
                found.append((rule, device, None if named is None else named[0]))
        wanted = {(device.number, key) for _, device, key in found if key is not None}
        if wanted:
            self.load_values(wanted)
        for rule, device, key in found:
            assert rule.condition is not None
            self._step(rule, rule.condition, device, key, self._tx.now)

    def _find_rule(self, device: ReportingDevice, number: int) -> Rule | None:
        rules = get_rules(self._tx, device.group_id)
        rule = None if rules is None else rules.by_number.get(number)
        if (
            rule is None
            or rule.condition is None
            or not rule.matches_device(device.id, device.type)
        ):
            return None
        return rule

    def _drop(self, place: ConditionKey) -> None:
        """Of a disabled notification nothing is due; of another one there is no state."""
        number = place[1]
        known = store_notifications.NOTIFICATIONS.get_by_numbers(self._tx, [number])
        if number in known and not known[number].is_enabled:
            store.clear_due(self._tx, place)
        else:
            store.save(self._tx, {place: None})

    # --- states ---

    def save(self, *, is_lazy: bool) -> None:
        """Store what has changed; lazily, a later due time alone is no change.

        It is found when the earlier one is due, and no record of a device writes it.
        """
        changed: dict[ConditionKey, StoredCondition | None] = {}
        for place, (rule, device, state) in self._states.items():
            assert rule.condition is not None
            before = self._stored.get(place)
            after = _to_stored(device, rule.condition, state)
            if after != before and not (is_lazy and _is_later(before, after)):
                changed[place] = after
        if changed:
            store.save(self._tx, changed)


def _to_stored(
    device: ReportingDevice, condition: AlarmCondition, state: ConditionState
) -> StoredCondition | None:
    due_at = find_due(condition, state)
    if state.is_blank and due_at is None:
        return None
    return StoredCondition(
        device.group_number,
        state.met_since,
        state.met_messages,
        state.clear_since,
        state.raised_at,
        state.value,
        state.worst,
        state.has_no_data,
        state.is_stale,
        due_at,
    )


def _is_later(before: StoredCondition | None, after: StoredCondition | None) -> bool:
    """Whether nothing else differs than that it is due later."""
    if before is None or after is None or before.due_at is None or after.due_at is None:
        return False
    same = msgspec.structs.replace(after, due_at=before.due_at)
    return same == before and after.due_at >= before.due_at
