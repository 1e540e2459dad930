"""Conditions that are expressions: over a record, current values, and the device."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from longwire.clock import Moment
from longwire.dates import format_date
from longwire.delivery.cel.expressions import EvaluationError, build_cel_message, name_root
from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.matching.budgets import (
    COMPILED_INLINE_US,
    TOO_EXPENSIVE,
    InlineAllowance,
)
from longwire.delivery.matching.filter_outcomes import FilterOutcomes
from longwire.delivery.matching.matching import build_device_context
from longwire.measurements.extraction import MeasuredValue
from longwire.notifications.alarm_conditions import ConditionReading
from longwire.notifications.alarms import GetNamed, NamedMeasurements
from longwire.notifications.rules import Rule, get_rules
from longwire.records import Record
from longwire.store.database import Tx
from longwire.store.fleet import current_values as store_values
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.notifications import condition_states as store
from longwire.store.records.records import RecordRow


class ExpressedReading(NamedTuple):
    """What an expression says about a record."""

    rule: Rule
    device: ReportingDevice
    reading: ConditionReading
    seq: int


class ExpressionReader:
    """Evaluates such conditions for the records of one transaction, in the order of arrival."""

    def __init__(
        self,
        tx: Tx,
        devices: Collection[ReportingDevice],
        get_named: GetNamed,
        allowance: InlineAllowance,
    ) -> None:
        self._tx = tx
        self._get_named = get_named
        self._allowance = allowance
        groups = {each.group_id for each in devices}
        by_group = {each: rules.expressed for each in groups if (rules := get_rules(tx, each))}
        self._rules = {
            device.number: wanted
            for device in (devices if any(by_group.values()) else ())
            if (wanted := _select_rules(by_group.get(device.group_id, ()), device))
        }
        numbers = list(self._rules)
        self.seen: dict[int, Moment] = store.list_seen(tx, numbers) if numbers else {}
        self._configurations = store.list_configurations(tx, numbers) if numbers else {}
        self._values: dict[int, dict[int, MeasuredValue]] = {}
        self.filters = FilterOutcomes()

    @property
    def is_idle(self) -> bool:
        """Whether there is no such condition for any of the devices."""
        return not self._rules

    def is_wanted(self, device: ReportingDevice) -> bool:
        return device.number in self._rules

    def read(
        self, row: RecordRow, device: ReportingDevice, values: Mapping[int, MeasuredValue]
    ) -> Iterator[ExpressedReading]:
        """The readings of a record with these values, unless it is late."""
        at = min(row.ts, self._tx.now)
        seen = self.seen.get(device.number)
        if seen is not None and at < seen:
            return
        current = self._values[device.number]
        current.update(values)
        message = self._build_message(row, device, current)
        self.seen[device.number] = at
        for rule in self._rules[device.number]:
            reading = read_condition(rule, at, partial(self._matches, rule, message))
            if reading is not None:
                yield ExpressedReading(rule, device, reading, row.seq)

    def _matches(
        self, rule: Rule, message: dict[str, Any], expression: StoredExpression
    ) -> bool | None:
        try:
            # A few are compiled in each transaction, however costly that is.
            compile_us = min(expression.compile_us, COMPILED_INLINE_US)
            is_affordable = self._allowance.take(rule.group_id, compile_us)
            if is_affordable:
                prepared = expression.prepare(message)
                is_affordable = self._allowance.take(rule.group_id, prepared.cost_us)
            if not is_affordable:
                # Its owner sees how many records were skipped, as of a filter that fails.
                self.filters.add_failure(rule.number, expression, TOO_EXPENSIVE)
                return None
            is_true = prepared.matches()
        except EvaluationError as error:
            self.filters.add_failure(rule.number, expression, str(error))
            return None
        self.filters.add_value(rule.number, expression)
        return is_true

    def load_values(self, devices: Collection[ReportingDevice]) -> None:
        """The current values of all of these devices, as they are before this transaction."""
        keys = {key for each in devices for key, _ in self._get_named(each).values()}
        self._values = {each.number: {} for each in devices}
        if keys:
            for each in store_values.list_columns(self._tx, self._values, keys):
                self._values[each.device][each.key] = MeasuredValue(each.number, each.text)

    def _build_message(
        self, row: RecordRow, device: ReportingDevice, current: Mapping[int, MeasuredValue]
    ) -> dict[str, Any]:
        described = build_device_variable(
            device, self._configurations.get(device.number), self.seen.get(device.number)
        )
        values = name_values(self._get_named(device), current)
        return build_condition_message(row.encoded.record, device, values, described)


def read_condition(
    rule: Rule, at: Moment, matches: Callable[[StoredExpression], bool | None]
) -> ConditionReading | None:
    """Met, clear or neither; None if that cannot be said."""
    assert rule.met_by is not None
    is_met = matches(rule.met_by)
    if is_met is None:
        return None
    is_clear: bool | None = not is_met
    if rule.clear_by is not None and not is_met:
        is_clear = matches(rule.clear_by)
    return None if is_clear is None else ConditionReading(at, is_met, is_clear)


def build_condition_message(
    record: Record, device: ReportingDevice, values: Mapping[str, Any], described: Mapping[str, Any]
) -> dict[str, Any]:
    """What a condition sees: the record as `message`, current values, and the device."""
    message = build_cel_message(record, build_device_context(device))
    message[name_root("values")] = values
    message[name_root("device")] = described
    return message


def name_values(named: NamedMeasurements, current: Mapping[int, MeasuredValue]) -> dict[str, Any]:
    return {name: _to_bare(current[key]) for name, (key, _) in named.items() if key in current}


def build_device_variable(
    device: ReportingDevice, configuration: str | None, seen: Moment | None
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": device.id,
        "name": device.name,
        "type": device.type,
        "tags": json.loads(device.tags),
    }
    with suppress(ValueError, RecursionError):
        described["configuration"] = json.loads(configuration or "{}")
    if seen is not None:
        described["seenAt"] = format_date(seen)
    return described


def _select_rules(rules: Sequence[Rule], device: ReportingDevice) -> list[Rule]:
    return [each for each in rules if each.matches_device(device.id, device.type)]


def _to_bare(value: MeasuredValue) -> Any:
    return value.number if value.text is None else json.loads(value.text)


def list_rows(
    rows: Sequence[RecordRow], devices: Mapping[str, ReportingDevice], reader: ExpressionReader
) -> list[tuple[RecordRow, ReportingDevice]]:
    """The records that conditions are about, in the order of arrival; loads what these see."""
    if reader.is_idle:
        return []
    pairs = [(row, devices[row.encoded.record.device_id]) for row in rows]
    wanted = [(row, device) for row, device in pairs if reader.is_wanted(device)]
    if wanted:
        reader.load_values({device.number: device for _, device in wanted}.values())
    return sorted(wanted, key=lambda pair: pair[0].seq)
