"""Backtests of expressions: these see every record of a device, and the values at its time."""

from dataclasses import field
from functools import partial
from typing import Any, NamedTuple

import msgspec

from longwire.clock import DAY, Moment
from longwire.dataclass import dataclass
from longwire.delivery.cel.expressions import EvaluationError
from longwire.delivery.cel.stored import StoredExpression
from longwire.delivery.matching.budgets import ComputeBudgets
from longwire.fleet.measurement_plans import TypePlan, get_plan
from longwire.measurements.extraction import MeasuredValue, extract
from longwire.networks.monitoring import DEVICE_BACK, DEVICE_SILENT, SEQUENCE_RECOVERED
from longwire.notifications.backtests import ConditionReplay
from longwire.notifications.expressed_conditions import (
    build_condition_message,
    build_device_variable,
    name_values,
    read_condition,
)
from longwire.notifications.rules import Rule
from longwire.records import KIND_NAMES, SEQUENCE_GAP, EventRecord, Record, parse_record
from longwire.store.archive.archive_reads import NeedsArchive, convert_result
from longwire.store.database import Tx
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import group_limits
from longwire.store.notifications import condition_states
from longwire.store.records.arrival_numbers import (
    AFTER_ANY_ARRIVAL,
    BEFORE_ANY_ARRIVAL,
    arrival_moment,
)
from longwire.store.records.record_scans import (
    StayCursor,
    StayScan,
    find_first_arrival,
    scan_stay,
)

STEP_RECORDS_MAX = 500
LOOK_AHEAD_MAX = 1_000
WINDOW_RECORDS_MAX = 1_000  # of a kind, that are put into the order of their arrival at once
# Of one instant, which cannot be taken in parts. What is beyond is not looked at.
INSTANT_RECORDS_MAX = 10_000
# How far back values are looked for that were current at the begin.
LOOK_BACK: Moment = DAY
# Events that the service itself stores are no sign of life, and no condition sees them.
_OWN_EVENTS = (SEQUENCE_GAP, SEQUENCE_RECOVERED, DEVICE_SILENT, DEVICE_BACK)
_OWN_PREFIX = "downlink"


class PastRecord(NamedTuple):
    """A record in the order of arrival."""

    seq: int
    ts: Moment
    kind: int
    record: Record


class _PastCurrent(NamedTuple):
    """A value that was the newest, and since when."""

    at: Moment
    seq: int
    value: MeasuredValue


@dataclass(slots=True)
class ExpressedReplay:
    """An expression for the records of a device in its present stay, a window of time at once."""

    device: ReportingDevice
    rule: Rule
    replay: ConditionReplay
    begin: Moment
    end: Moment
    looked_at: int = 0
    failed: int = 0
    is_done: bool = False
    begins_at: Moment | None = None
    _first: Moment = 0  # of what is evaluated
    _plan: TypePlan | None = None
    _configuration: str | None = None
    _kind: int = 0  # that is read
    _cursor: StayCursor | None = None
    _cut: Moment = 0  # the end of the window
    _of_kind: int = 0
    _records: list[PastRecord] = field(default_factory=list)
    _values: dict[int, _PastCurrent] = field(default_factory=dict)
    _seen: Moment | None = None
    _newer: int | None = None  # the first arrival behind the window

    @property
    def may_stop(self) -> bool:
        return self._kind == 0 and self._cursor is None and self.begin > self._first

    @property
    def is_evaluable(self) -> bool:
        """Whether a window was read."""
        return self._newer is not None

    def step(self, tx: Tx) -> NeedsArchive[None] | None:
        """Read some more records."""
        if self._plan is None:
            self._begin(tx)
        if self._kind == len(KIND_NAMES):
            self._newer = self._find_newer(tx)
            return None
        if self._cursor is None:
            if self._kind == 0:
                self._cut = min(self.begin + DAY, self.end)
                if self._cut >= tx.now:
                    self._cut = self.end
            self._cursor = StayCursor(self.begin)
        device, kind = self.device, KIND_NAMES[self._kind]
        scan = scan_stay(
            tx, kind, device.number, device.stay, self._cursor, self._cut, STEP_RECORDS_MAX
        )
        return convert_result(scan, self._take)

    def _find_newer(self, tx: Tx) -> int:
        """The first arrival among the next records: what came after it was late."""
        device, cut = self.device, self._cut
        newest = max((each.seq for each in self._records), default=BEFORE_ANY_ARRIVAL)
        until = arrival_moment(newest) + 1
        if until <= cut:
            return AFTER_ANY_ARRIVAL
        place = device.number, device.stay, cut, until, LOOK_AHEAD_MAX
        found = [find_first_arrival(tx, kind, *place) for kind in KIND_NAMES]
        return min((each for each in found if each is not None), default=AFTER_ANY_ARRIVAL)

    def _begin(self, tx: Tx) -> None:
        device = self.device
        self._plan = get_plan(tx, device.group_id, device.type)
        configurations = condition_states.list_configurations(tx, [device.number])
        self._configuration = configurations.get(device.number)
        oldest = group_limits.get_oldest(tx, KIND_NAMES[0], device.group_id)
        if oldest is not None and oldest > self.begin:
            self.begin = self.begins_at = oldest
        self._first = self.begin
        self.begin -= LOOK_BACK

    def _take(self, scan: StayScan) -> None:
        # Nothing here fails, so that a step can be repeated when the connection is lost.
        for ts, _, seq, body in scan.items:
            if body:
                record = parse_record(self._kind, body).record
                self._records.append(PastRecord(seq, ts, self._kind, record))
        self.looked_at += len(scan.items)
        self._of_kind += len(scan.items)
        self._cursor = cursor = skip_instant(scan, self._of_kind)
        if cursor is not None:
            is_much = self._of_kind >= WINDOW_RECORDS_MAX
            if not is_much or scan.items[0][0] == cursor.ts:
                return
            self._cut = cursor.ts
            self._records = [each for each in self._records if each.ts < self._cut]
            self._cursor = None
        self._kind += 1
        self._of_kind = 0

    def evaluate(self, budgets: ComputeBudgets) -> None:
        """Evaluate what was read; on another thread, with no transaction open."""
        with budgets.charging(self.rule.group_id):
            for each in sorted(self._records, key=lambda each: each.seq):
                self._evaluate(each)
        self._records, self._newer, self._kind = [], None, 0
        self.begin = self._cut
        self.is_done = self.begin >= self.end

    def _evaluate(self, past: PastRecord) -> None:
        assert self._plan is not None
        assert self._newer is not None
        at = min(past.ts, arrival_moment(past.seq))
        plan = self._plan.kinds.get(past.kind)
        if plan is not None:
            for key, value in extract(plan, past.record).values.items():
                known = self._values.get(key)
                if known is None or (known.at, known.seq) < (at, past.seq):
                    self._values[key] = _PastCurrent(at, past.seq, value)
        seen = self._seen
        is_late = past.seq > self._newer or (seen is not None and at < seen)
        if is_late or _is_own_event(past.record):
            return
        self._seen = at
        if past.ts < self._first:
            return
        current = {key: each.value for key, each in self._values.items()}
        described = build_device_variable(self.device, self._configuration, seen)
        values = name_values(self._plan.named, current)
        message = build_condition_message(past.record, self.device, values, described)
        reading = read_condition(self.rule, at, partial(self._matches, message))
        if reading is not None:
            self.replay.take([reading])
        elif self.replay.state.last is not None:
            # The device was there, whatever it said.
            last = msgspec.structs.replace(self.replay.state.last, at=at)
            self.replay.state = msgspec.structs.replace(self.replay.state, last=last)

    def _matches(self, message: dict[str, Any], expression: StoredExpression) -> bool | None:
        try:
            return expression.matches(message)
        except EvaluationError:
            self.failed += 1
            return None


def skip_instant(scan: StayScan, count: int) -> StayCursor | None:
    """Where a scan goes on after so many records: behind an instant that has too many of them."""
    cursor = scan.cursor
    if cursor is None or count < INSTANT_RECORDS_MAX or scan.items[0][0] < cursor.ts:
        return cursor
    return StayCursor(cursor.ts + 1)


def _is_own_event(record: Record) -> bool:
    if not isinstance(record, EventRecord):
        return False
    return record.type in _OWN_EVENTS or (record.type or "").startswith(_OWN_PREFIX)
