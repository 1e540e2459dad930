"""States over time: the words, booleans and numbers of a measurement, each where it changes.

There are no summaries of words. They are read from the records, in steps, and the work is bounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import partial
from typing import NamedTuple

from longwire.clock import DAY, Moment
from longwire.dataclass import dataclass
from longwire.fleet.measured_devices import MeasuredDevice, ResolvedMeasurement
from longwire.fleet.measurement_plans import get_plan
from longwire.measurements.extraction import KindPlan, MeasuredValue, extract
from longwire.records import KIND_NAMES, parse_record
from longwire.store.archive.archive_reads import NeedsArchive, convert_result, read_with_archive
from longwire.store.database import Database, Tx
from longwire.store.fleet import summaries as store
from longwire.store.identity import group_limits
from longwire.store.records.record_scans import StayCursor, StayScan, scan_stay

RECORDS_MAX = 50_000  # of one request
CHANGES_MAX = 2_000  # of one device
STEP_RECORDS_MAX = 500
# How far back the state is looked for that was in force at the begin: as far as the range is long,
# and not further than this.
LOOK_BACK: Moment = 2 * DAY


class StateChange(NamedTuple):
    """From when on a device was in a state."""

    at: Moment
    value: MeasuredValue


@dataclass(slots=True)
class StateScan:
    """Reads the states of a device, step by step."""

    device: MeasuredDevice
    begin: Moment
    end: Moment
    records_max: int
    looked_at: int = 0
    examined_until: Moment | None = None  # if the work was too much
    is_done: bool = False
    _values: list[tuple[Moment, int, MeasuredValue]] = field(default_factory=list)
    _stays: Iterator[tuple[int, ResolvedMeasurement]] = field(init=False)
    _stay: tuple[int, ResolvedMeasurement] | None = None
    _cursor: StayCursor | None = None

    def __post_init__(self) -> None:
        self._stays = iter(self.device.stays)

    @property
    def _first(self) -> Moment:
        return self.begin - min(LOOK_BACK, self.end - self.begin)

    def step(self, tx: Tx) -> NeedsArchive[None] | None:
        """Read some more records."""
        if self._cursor is None:
            self._stay = next(self._stays, None)
            self._cursor = StayCursor(self._first)
        if self._stay is None:
            self.is_done = True
            return None
        stay, measurement = self._stay
        owner = store.get_owner(tx, self.device.number, stay)
        plan = None
        if owner is not None:
            plan = get_plan(tx, owner.group_id, owner.type).kinds.get(measurement.kind)
        if owner is None or plan is None:  # its records are erased, or have no such value
            self._cursor = None
            return None
        kind = KIND_NAMES[measurement.kind]
        oldest = group_limits.get_oldest(tx, kind, owner.group_id)
        cursor = self._cursor
        if oldest is not None and cursor.ts < oldest:
            cursor = StayCursor(oldest)
        scan = scan_stay(tx, kind, self.device.number, stay, cursor, self.end, STEP_RECORDS_MAX)
        return convert_result(scan, partial(self._take, plan, measurement.key))

    def _take(self, plan: KindPlan, key: int, scan: StayScan) -> None:
        # Nothing here fails, so that a step can be repeated when the connection is lost.
        for ts, _, seq, body in scan.items:
            if not body:
                continue
            self.looked_at += 1
            value = extract(plan, parse_record(plan.kind, body).record).values.get(key)
            if value is not None:
                self._values.append((ts, seq, value))
        self._cursor = scan.cursor
        if scan.cursor is not None and self.looked_at >= self.records_max:
            self.examined_until = max(scan.cursor.ts, self.begin)
            self.is_done = True

    def list_changes(self) -> Sequence[StateChange]:
        """By time; of one instant the later arrival counts."""
        changes: list[StateChange] = []
        for ts, _, value in sorted(self._values, key=lambda each: each[:2]):
            at = max(ts, self.begin)
            if changes and changes[-1].at == at:
                changes.pop()
            if not changes or changes[-1].value != value:
                changes.append(StateChange(at, value))
        if len(changes) > CHANGES_MAX:
            self.examined_until = changes[CHANGES_MAX].at
            del changes[CHANGES_MAX:]
        return changes


async def read_states(
    database: Database,
    devices: Sequence[MeasuredDevice],
    begin: Moment,
    end: Moment,
) -> Sequence[StateScan]:
    """The states of devices in a range, read in steps, so that others have their turns."""
    scans = []
    left = RECORDS_MAX
    for index, device in enumerate(devices):
        scan = StateScan(device, begin, end, left // (len(devices) - index))
        while not scan.is_done:
            await read_with_archive(database, scan.step)
        left -= min(left, scan.looked_at)
        scans.append(scan)
    return scans
