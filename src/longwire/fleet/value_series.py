"""Numbers of measurements over time, from summaries and, where these are due, from records.

What is answered is what a count of all records would give. A day that lies in one span is read as
a whole, the others by quarter of an hour. Hours that are marked, and what a period cuts off a
quarter, are read from the records.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import msgspec

from longwire.clock import DAY, HOUR, Moment
from longwire.errors import invalid_field
from longwire.fleet import records
from longwire.fleet.measurement_plans import get_plan
from longwire.fleet.summaries import Range, ValueScan
from longwire.measurements.calendar_spans import QUARTER, Spans
from longwire.measurements.definitions import Measurement
from longwire.measurements.summaries import (
    Row,
    Summary,
    chain_rows,
    increase_between,
    unpack_day,
)
from longwire.model import Actor
from longwire.store import schema
from longwire.store.archive.archive_reads import NeedsArchive, convert_result, read_with_archive
from longwire.store.database import Database, Tx
from longwire.store.fleet import device_stays
from longwire.store.fleet import summaries as store
from longwire.store.fleet.reporting_devices import ReportingDevice

# Summaries of days that are read for one request, and records that are read beside them.
DAYS_MAX = 1_000_000
RECORDS_MAX = 300_000
FRESH_RECORDS_MAX = 3_000_000  # for those who would rather wait
POINTS_MAX = 10_000  # of one answer
DEVICES_PER_STEP = 20
# How far back the last number before a period is looked for in what may still be due.
LOOK_BACK: Moment = 2 * DAY
MARKS_MAX = 20_000
STAYS_MAX = 20_000


class EarlierNumber(NamedTuple):
    """A number, and about when it was."""

    begin: Moment
    value: float


class Point(NamedTuple):
    """The numbers of a span."""

    begin: Moment
    summary: Summary
    increase: float  # since the last number before the span
    has_gap: bool  # a span without numbers lies before it


@dataclass(slots=True)
class StayRead:
    """Reads the numbers of a measurement in a stay of a device."""

    device: int
    stay: int
    key: int
    kind: int
    begin: Moment
    end: Moment
    boundaries: Sequence[Moment] = ()  # none of them within what is read as a whole
    reads_records: bool = False  # and no summaries, which the boundaries would cut
    rows: list[Row] = field(default_factory=list)
    earlier: EarlierNumber | None = None  # the last number before
    _scan: ValueScan | None = None

    def begin_read(self, tx: Tx) -> None:
        """Read the summaries, and find out what is to be read from records."""
        # The marks first: what is taken away meanwhile is in the summaries then.
        ranges = self._list_ranges(tx)
        first, last = self.begin // DAY, -(-self.end // DAY)
        cut = {each // DAY for each in (self.begin, self.end, *self.boundaries) if each % DAY}
        for begin, end in ranges:
            cut.update(range(begin // DAY, -(-end // DAY)))
        whole: list[store.DayRow] = []
        if not self.reads_records and any(day not in cut for day in range(first, last)):
            listed = store.list_days(tx, self.device, self.stay, self.key, first, last)
            whole = [each for each in listed if each.day not in cut]
        if whole:
            days, *columns = zip(*whole, strict=True)
            self.rows.append(Row([day * DAY for day in days], *columns))
        if not self.reads_records:
            self.rows += self._read_quarters(tx, cut, first, last, ranges)
        before = store.get_last_day(tx, self.device, self.stay, self.key, first)
        self.earlier = None if before is None else EarlierNumber(before.day * DAY, before.last)
        owner = store.get_owner(tx, self.device, self.stay) if ranges else None
        if owner is not None:
            plan = get_plan(tx, owner.group_id, owner.type)
            if self.kind in plan.kinds:
                boundaries = self.boundaries if self.reads_records else ()
                kinds = {self.kind: ranges}
                self._scan = ValueScan(plan, self.device, self.stay, kinds, boundaries)

    def _list_ranges(self, tx: Tx) -> list[Range]:
        """What is to be read from records, by time."""
        if self.reads_records:
            return [(self.begin, self.end)]
        marks = store.list_marks_of(
            tx,
            *(self.device, self.stay, self.begin // HOUR, -(-self.end // HOUR), MARKS_MAX),
        )
        ranges = [(each.hour * HOUR, (each.hour + each.hours) * HOUR) for each in marks]
        ranges += [
            (each - each % QUARTER, each + -each % QUARTER) for each in (self.begin, self.end)
        ]
        joined: list[Range] = []
        for begin, end in sorted(ranges):
            begin, end = max(begin, self.begin), min(end, self.end)
            if joined and begin <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(joined[-1][1], end))
            elif begin < end:
                joined.append((begin, end))
        return joined

    def _read_quarters(
        self, tx: Tx, days: Iterable[int], first: int, last: int, ranges: Sequence[Range]
    ) -> Iterator[Row]:
        for begin, end in _list_runs(sorted(day for day in days if first <= day < last)):
            for packed in store.list_packed_of(tx, self.device, self.stay, self.key, begin, end):
                row = unpack_day(packed.day * DAY, packed.packed)
                yield from _leave_out(row, self.begin, self.end, ranges)

    def step(self, tx: Tx) -> NeedsArchive[int] | int:
        """Read some records; how many."""
        scan = self._scan
        if scan is None:
            return 0
        return convert_result(scan.step(tx), partial(self._take, scan, scan.looked_at))

    def _take(self, scan: ValueScan, before: int, _: None) -> int:
        if scan.is_done:
            found = sorted(scan.quarters.get(self.key, {}).items())
            if found:
                begins = [begin for begin, _ in found]
                columns = zip(*(each.summarize() for _, each in found), strict=True)
                self.rows.append(Row(begins, *columns))
            self._scan = None
        return scan.looked_at - before

    @property
    def has_records(self) -> bool:
        """Whether records are to be read."""
        return self._scan is not None

    def give_up(self) -> Moment:
        """Read no more records; from when on there may be more than what was read."""
        assert self._scan is not None
        begin = min(begin for begin, _ in self._scan.ranges[self.kind])
        self._scan = None
        return begin


def _list_runs(days: Sequence[int]) -> list[tuple[int, int]]:
    """Days that follow each other, as ranges."""
    runs: list[tuple[int, int]] = []
    for day in days:
        if runs and runs[-1][1] == day:
            runs[-1] = (runs[-1][0], day + 1)
        else:
            runs.append((day, day + 1))
    return runs


def _leave_out(row: Row, begin: Moment, end: Moment, ranges: Sequence[Range]) -> Iterator[Row]:
    """The parts of a row in a period, without what is read from records."""
    at = begin
    for left_out_begin, left_out_end in (*ranges, (end, end)):
        first, last = bisect_left(row.begins, at), bisect_left(row.begins, left_out_begin)
        if first < last:
            yield Row._make(column[first:last] for column in row)
        at = max(at, left_out_end)


def join_stays(reads: Sequence[StayRead]) -> Row | None:
    """The numbers of all stays by time; at one time those of the earlier stay are first."""
    rows = [row for read in reads for row in read.rows]
    if not rows:
        return None
    row = chain_rows(rows)
    begins = row.begins
    if all(earlier <= later for earlier, later in pairwise(begins)):
        return row
    order = sorted(range(len(begins)), key=begins.__getitem__)
    return Row._make([column[index] for index in order] for column in row)


def find_last(reads: Sequence[StayRead]) -> EarlierNumber | None:
    """The last number of a device before the end of what was read, or before its begin."""
    row = join_stays(reads)
    if row is not None:
        return EarlierNumber(row.begins[-1], row.lasts[-1])
    return max((each.earlier for each in reads if each.earlier is not None), default=None)


def build_points(
    spans: Spans, reads: Sequence[StayRead], earlier: EarlierNumber | None
) -> list[Point]:
    """The points of a device; a span without numbers has none."""
    row = join_stays(reads)
    if row is None:
        return []
    boundaries = spans.boundaries
    points: list[Point] = []
    # The first span that had to have a number, for there to be no gap.
    expected = 0
    if earlier is not None and earlier.begin < 2 * boundaries[0] - boundaries[1]:
        expected = -1
    at = 0
    for index in range(len(spans)):
        is_last = index == len(spans) - 1
        end = len(row.begins) if is_last else bisect_left(row.begins, boundaries[index + 1], at)
        if end == at:
            continue
        summary = row.summarize(at, end)
        rise = summary.increase
        has_gap = earlier is not None and index > expected
        if earlier is not None:
            rise += increase_between(earlier.value, summary.first)
        points.append(Point(boundaries[index], summary, rise, has_gap))
        earlier, expected, at = EarlierNumber(boundaries[index], summary.last), index + 1, end
    return points


# --- devices ---


@dataclass(frozen=True, slots=True)
class ResolvedMeasurement:
    """A measurement, and the number by which its values are stored."""

    key: int
    measurement: Measurement

    @property
    def kind(self) -> int:
        return self.measurement.place.kind


@dataclass(frozen=True, slots=True)
class WantedDevices:
    """Which devices of some groups; all that are given must hold."""

    type: str | None = None
    tags: Sequence[str] = ()
    ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """A device whose numbers are read, in its stays that may be read."""

    id: str
    name: str  # empty if it has left
    number: int
    stays: Sequence[tuple[int, ResolvedMeasurement]]


@dataclass(slots=True)
class DeviceRead:
    """Reads the numbers of a device."""

    device: MeasuredDevice
    spans: Spans
    takes_earlier: bool  # for what a counter rose since then
    _reads: list[StayRead] = field(init=False)
    _earlier: list[StayRead] = field(init=False)

    def __post_init__(self) -> None:
        spans, number = self.spans, self.device.number
        period = spans.begin, spans.end, spans.boundaries, not spans.is_aligned
        self._reads = [
            StayRead(number, stay, each.key, each.kind, *period) for stay, each in self.device.stays
        ]
        before = spans.begin - LOOK_BACK
        self._earlier = [
            StayRead(number, stay, each.key, each.kind, before, spans.begin)
            for stay, each in self.device.stays
            if self.takes_earlier
        ]

    @property
    def _all(self) -> Sequence[StayRead]:
        return (*self._earlier, *self._reads)

    def begin_read(self, tx: Tx) -> None:
        for each in self._all:
            each.begin_read(tx)

    def list_unfinished(self) -> list[StayRead]:
        return [each for each in self._all if each.has_records]

    def build_points(self) -> list[Point]:
        return build_points(self.spans, self._reads, find_last(self._earlier))


class ReadSeries(NamedTuple):
    """Points by device, and from when on there may be more than what was read."""

    devices: Sequence[tuple[MeasuredDevice, Sequence[Point]]]
    incomplete_from: Moment | None


async def read_devices(
    database: Database,
    devices: Sequence[MeasuredDevice],
    spans: Spans,
    *,
    takes_earlier: bool,
    records_max: int = RECORDS_MAX,
) -> ReadSeries:
    """Read the points of devices in steps, so that others have their turns between them."""
    _require_bounded(len(devices), spans)
    found: list[tuple[MeasuredDevice, Sequence[Point]]] = []
    gave_up: list[Moment] = []
    looked_at = 0
    for start in range(0, len(devices), DEVICES_PER_STEP):
        some = [
            DeviceRead(each, spans, takes_earlier) for each in devices[start:][:DEVICES_PER_STEP]
        ]
        await database.read(partial(_begin_all, some))
        for unfinished in [each for one in some for each in one.list_unfinished()]:
            while unfinished.has_records and looked_at < records_max:
                looked_at += await read_with_archive(database, unfinished.step)
            if unfinished.has_records:
                gave_up.append(unfinished.give_up())
        found += [(each.device, each.build_points()) for each in some]
    return ReadSeries(found, min(gave_up, default=None))


def _require_bounded(devices: int, spans: Spans) -> None:
    days = (spans.end - spans.begin) // DAY + 1
    if devices * days > DAYS_MAX:
        raise invalid_field(
            "begin_date",
            f"{devices} devices have more than {DAYS_MAX} days in this range; ask for less time, "
            "or for fewer devices",
        )


def _begin_all(reads: Sequence[DeviceRead], tx: Tx) -> None:
    for each in reads:
        each.begin_read(tx)


# --- which devices ---


def find_device(
    tx: Tx, actor: Actor, device: ReportingDevice, name: str
) -> tuple[MeasuredDevice, Measurement | None]:
    """A device in the stays that the actor may read, and its measurement, if it has such a one."""
    permitted = records.permitted_stays(tx, actor, "record.read", device)
    groups = {0: device.group_id}
    if device.stay:
        groups = {each.number: each.group_id for each in device_stays.list_stays(tx, device)}
    stays = []
    found: ResolvedMeasurement | None = None
    for stay in permitted:
        resolved = resolve(tx, groups[stay], device.type, name)
        if resolved is not None:
            stays.append((stay, resolved))
            found = resolved
    measured = MeasuredDevice(device.id, device.name, device.number, stays)
    return measured, None if found is None else found.measurement


class GroupMembers(NamedTuple):
    """Devices with a measurement; whether there were others."""

    devices: Sequence[MeasuredDevice]
    measurement: Measurement | None
    has_any: bool


def find_in_groups(
    tx: Tx, group_ids: Sequence[str], wanted: WantedDevices, name: str
) -> GroupMembers:
    """The devices that are or were in some groups and have a measurement."""
    numbers = [schema.group_number(each) for each in group_ids]
    stays: dict[int, list[tuple[int, ResolvedMeasurement]]] = {}
    shown: dict[int, tuple[str, str]] = {}
    resolved: dict[tuple[str, str], ResolvedMeasurement | None] = {}
    listed = store.list_stays(tx, numbers, wanted.type, wanted.ids, STAYS_MAX + 1)
    if len(listed) > STAYS_MAX:
        raise invalid_field("group_id", f"has more than {STAYS_MAX} devices; ask for some of them")
    for each in listed:
        key = each.group_id, each.type
        if key not in resolved:
            resolved[key] = resolve(tx, *key, name)
        found = resolved[key]
        if found is not None and set(wanted.tags).issubset(msgspec.json.decode(each.tags)):
            stays.setdefault(each.device, []).append((each.stay, found))
            shown[each.device] = each.id, each.name
    devices = [MeasuredDevice(*shown[number], number, some) for number, some in stays.items()]
    known = (each.measurement for each in resolved.values() if each is not None)
    return GroupMembers(devices, next(known, None), bool(resolved))


def resolve(tx: Tx, group_id: str, type_name: str, name: str) -> ResolvedMeasurement | None:
    """The measurement of this name of a type's devices in a group."""
    found = get_plan(tx, group_id, type_name).named.get(name)
    return None if found is None else ResolvedMeasurement(*found)
