"""Numbers of measurements over time, from summaries and, where these are due, from records.

What is answered is what a count of all records would give. A day that lies in one span is read as
a whole, the others by quarter of an hour. Hours that are marked, and what a period cuts off a
quarter, are read from the records.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import le
from typing import NamedTuple

import msgspec

from longwire.clock import DAY, HOUR, Moment
from longwire.errors import NotFound, invalid_field, not_found
from longwire.fleet import records
from longwire.fleet.measurement_plans import get_plan
from longwire.fleet.records import FOREVER
from longwire.fleet.summaries import Range, ValueScan
from longwire.measurements.calendar_spans import QUARTER, Spans
from longwire.measurements.definitions import Measurement
from longwire.measurements.summaries import (
    DAYS_PER_PAGE,
    Row,
    chain_rows,
    regroup,
    unpack,
    unpack_days,
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
QUARTER_DAYS_MAX = 100_000  # by quarter of an hour
DEVICES_PER_STEP = 20
QUARTER_DAYS_PER_STEP = 1_000
# How far back the last number before a period is looked for in what may still be due.
LOOK_BACK: Moment = 2 * DAY
MARKED_BACK: Moment = 400 * DAY  # the same where nothing is summarized yet
STAYS_MAX = 20_000


# --- what is read ---


@dataclass(frozen=True, slots=True)
class ReadPeriod:
    """From when to when numbers are read, and where summaries do not fit."""

    spans: Spans
    begin: Moment  # earlier than the spans if the last number before them is wanted
    end: Moment
    cuts: Sequence[Moment]  # where spans begin
    cuts_days: bool  # some of them within a day
    cut_quarters: Sequence[Range]  # which are read from records
    kept_from: Moment  # older records have expired; their summaries have not

    @property
    def days(self) -> range:
        return range(self.begin // DAY, -(-self.end // DAY))

    def is_whole(self, begin: Moment, end: Moment) -> bool:
        """Whether what lies between two moments belongs to one span."""
        if begin < self.begin or end > self.end:
            return False
        return bisect_right(self.cuts, begin) == bisect_left(self.cuts, end)


def plan_period(spans: Spans, *, is_counter: bool, kept_from: Moment = -FOREVER) -> ReadPeriod:
    begin, end = spans.begin, spans.end
    if is_counter:
        begin -= begin % QUARTER + LOOK_BACK
    cuts = sorted({spans.begin, *spans.boundaries[1:-1]})
    moments = (begin, *cuts, end)
    cut = [(each, each + 1) for each in moments if each % QUARTER]
    quarters = _clip(cut, QUARTER, max(begin, kept_from), end)
    cuts_days = any(each % DAY for each in moments)
    return ReadPeriod(spans, begin, end, cuts, cuts_days, quarters, kept_from)


def _clip(ranges: Iterable[Range], unit: Moment, begin: Moment, end: Moment) -> list[Range]:
    """Ranges widened to whole units, as far as they are in a period."""
    wide = [(one - one % unit, two + -two % unit) for one, two in ranges]
    clipped = [(max(one, begin), min(two, end)) for one, two in wide]
    return _join([each for each in clipped if each[0] < each[1]])


class EarlierNumber(NamedTuple):
    """A number, and about when it was."""

    begin: Moment
    value: float


class Points(NamedTuple):
    """The spans with numbers: what is known of each, by columns."""

    row: Row
    rises: Sequence[float]  # since the last number before the span
    gaps: Sequence[bool]  # whether spans without numbers lie before it


NO_POINTS = Points(Row(*([] for _ in Row._fields)), [], [])


@dataclass(slots=True)
class StayRead:
    """Reads the numbers of a measurement in a stay of a device."""

    device: int
    stay: int
    key: int
    kind: int
    rows: list[Row] = field(default_factory=list)
    oldest_page: list[EarlierNumber] = field(default_factory=list)  # days before what is read
    _scan: ValueScan | None = None

    def begin_scan(self, tx: Tx, ranges: Sequence[Range], boundaries: Sequence[Moment]) -> None:
        """Have these ranges read from records, if there may be any."""
        owner = store.get_owner(tx, self.device, self.stay)
        if owner is not None:
            plan = get_plan(tx, owner.group_id, owner.type)
            if self.kind in plan.kinds:
                kinds = {self.kind: ranges}
                self._scan = ValueScan(
                    plan, self.device, self.stay, kinds, boundaries, keys=frozenset([self.key])
                )

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


Reads = Mapping[tuple[int, int, int], StayRead]  # by device, stay and measurement


def begin_reads(tx: Tx, reads: Reads, period: ReadPeriod) -> None:
    """Read the summaries, and find out what is to be read from records."""
    devices = sorted({each.device for each in reads.values()})
    keys = sorted({each.key for each in reads.values()})
    # The marks first: what is taken away meanwhile is in the summaries then.
    ranges = _list_ranges(tx, devices, period)
    cut_of: dict[tuple[int, int], set[int]] = {each[:2]: set() for each in reads}
    first_page = period.days.start // DAYS_PER_PAGE
    last_page = -(-period.days.stop // DAYS_PER_PAGE)
    for page in store.list_pages(tx, devices, keys, first_page, last_page):
        read = reads.get(page[:3])
        if read is not None:
            if period.cuts_days:  # and else all whole days but those with something due
                row, ends = unpack_days(page.page, page.packed)
            else:
                row, ends = unpack(page.page * DAYS_PER_PAGE * DAY, DAY, page.packed), ()
            due = ranges.get(page[:2], period.cut_quarters)
            cut_of[page[:2]] |= _add_days(read, row, ends, period, due)
    by_run: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for (device, _), cut in cut_of.items():
        for run in _list_runs(sorted(cut.intersection(period.days))):
            by_run[run].add(device)
    for (begin, end), some in sorted(by_run.items(), key=lambda each: each[0]):
        for quarters in store.list_quarters(tx, sorted(some), keys, begin, end):
            read = reads.get(quarters[:3])
            if read is not None and quarters.day in cut_of[quarters[:2]]:
                left_out = ranges.get(quarters[:2], period.cut_quarters)
                row = unpack(quarters.day * DAY, QUARTER, quarters.packed)
                read.rows += _leave_out(row, period.begin, period.end, left_out)
    for read in reads.values():
        due = ranges.get((read.device, read.stay), period.cut_quarters)
        if due:
            read.begin_scan(tx, due, period.cuts)


def _list_ranges(
    tx: Tx, devices: Sequence[int], period: ReadPeriod
) -> dict[tuple[int, int], list[Range]]:
    """What is to be read from records, of stays that have marks."""
    begin, end = period.begin // HOUR, -(-period.end // HOUR)
    ranges: dict[tuple[int, int], list[Range]] = {}
    for mark in store.list_marks_of_devices(tx, devices, begin, end):
        at = mark.hour * HOUR, (mark.hour + mark.hours) * HOUR
        ranges.setdefault(mark[:2], list(period.cut_quarters)).append(at)
    begin = max(period.begin, period.kept_from)
    return {each: _clip(some, 1, begin, period.end) for each, some in ranges.items()}


def _join(ranges: Sequence[Range]) -> list[Range]:
    """Ranges that touch as one, by time."""
    joined: list[Range] = []
    for begin, end in sorted(ranges):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def _add_days(
    read: StayRead, row: Row, ends: Sequence[Moment], period: ReadPeriod, due: Sequence[Range]
) -> set[int]:
    """Add the days of a page that lie in one span and of which nothing is due; the others.

    Remembers the last one before.
    """
    days = period.days
    first = bisect_left(row.begins, days.start * DAY)
    if first:
        read.oldest_page.append(EarlierNumber(row.begins[first - 1], row.lasts[first - 1]))
    last = bisect_left(row.begins, days.stop * DAY)
    kept = [(first, last)]
    others: set[int] = set()
    if due or period.cuts_days:
        due_ends = [end for _, end in due]
        wanted: list[int] = []
        for index in range(first, last):
            begin = row.begins[index]
            day = begin // DAY
            following = bisect_right(due_ends, day * DAY)
            is_due = following < len(due) and due[following][0] < (day + 1) * DAY
            if not is_due and (not ends or period.is_whole(begin, ends[index])):
                wanted.append(index)
            else:
                others.add(day)
        kept = _list_runs(wanted)
    for begin, end in kept:
        if begin < end:
            read.rows.append(Row._make(column[begin:end] for column in row))
    return others


def _list_runs(days: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers that follow each other, as ranges."""
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


def _join_stays(reads: Sequence[StayRead]) -> Row | None:
    """The numbers of all stays by time; in one quarter those of the earlier stay are first.

    Both stays have numbers in one quarter of an hour only if records of before a transfer arrive
    after it.
    """
    rows = [row for read in reads for row in read.rows]
    if not rows:
        return None
    row = rows[0] if len(rows) == 1 else chain_rows(rows)
    begins = row.begins
    if all(map(le, begins, begins[1:])):
        return row
    order = sorted(range(len(begins)), key=begins.__getitem__)
    return Row._make([column[index] for index in order] for column in row)


class SpanPlaces(dict[Moment, int]):
    """In which span a moment lies; remembered, since devices report at the same times."""

    def __init__(self, spans: Spans) -> None:
        super().__init__()
        self._boundaries = spans.boundaries

    def __missing__(self, moment: Moment) -> int:
        place = self[moment] = bisect_right(self._boundaries, moment) - 1
        return place


def build_points(
    spans: Spans, reads: Sequence[StayRead], places: SpanPlaces, *, is_counter: bool
) -> Points:
    """The points of a device; a span without numbers has none."""
    row = _join_stays(reads)
    if row is None:
        return NO_POINTS
    earlier: EarlierNumber | None = None
    if is_counter:
        before = bisect_left(row.begins, spans.begin)
        candidates = [number for read in reads for number in read.oldest_page]
        if before:
            candidates = [EarlierNumber(row.begins[before - 1], row.lasts[before - 1])]
            row = Row._make(column[before:] for column in row)
        earlier = max(candidates, default=None)
    if not row.begins:
        return NO_POINTS
    found = [places[each] for each in row.begins]
    row = regroup(row, found, is_counter=is_counter)
    used = sorted(set(found))
    boundaries = spans.boundaries
    row = row._replace(begins=[boundaries[each] for each in used])
    value = row.firsts[0] if earlier is None else earlier.value
    previous = (value, *row.lasts[:-1])
    rises = [
        rise + (first - last if first >= last else first)
        for rise, last, first in zip(row.increases, previous, row.firsts, strict=True)
    ]
    is_dense = used[-1] - used[0] == len(used) - 1
    gaps = [False] * len(used)
    if not is_dense:
        gaps[1:] = [one + 1 < two for one, two in pairwise(used)]
    if earlier is not None:
        gaps[0] = used[0] > 0 or earlier.begin < spans.previous
    return Points(row, rises, gaps)


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


TakePoints = Callable[[MeasuredDevice, Points], None]


async def read_devices(
    database: Database,
    devices: Sequence[MeasuredDevice],
    spans: Spans,
    take: TakePoints,
    *,
    is_counter: bool,
    kept_from: Moment = -FOREVER,
    records_max: int | None = None,
) -> Moment | None:
    """Read the points of devices in steps, so that others have their turns between them.

    They are taken one after the other, on a thread. Returns from when on there may be more than
    what was read, if there may be.
    """
    _require_bounded(len(devices), spans)
    period = plan_period(spans, is_counter=is_counter, kept_from=kept_from)
    places = SpanPlaces(spans)
    gave_up: list[Moment] = []
    left = RECORDS_MAX if records_max is None else records_max
    per_step = DEVICES_PER_STEP
    if period.cuts_days:
        per_step = max(1, min(per_step, QUARTER_DAYS_PER_STEP // len(period.days)))

    def take_all(some: Sequence[tuple[MeasuredDevice, Sequence[StayRead]]]) -> None:
        for device, listed in some:
            take(device, build_points(spans, listed, places, is_counter=is_counter))

    for start in range(0, len(devices), per_step):
        some = [(each, _list_reads(each)) for each in devices[start:][:per_step]]
        reads = {(read.device, read.stay, read.key): read for _, listed in some for read in listed}
        left -= await _read_all(database, reads, period, left, gave_up)
        if is_counter:
            left -= await _read_earlier(database, reads, period, left, gave_up)
        await asyncio.to_thread(take_all, some)
    return min(gave_up, default=None)


def _list_reads(device: MeasuredDevice) -> list[StayRead]:
    return [StayRead(device.number, stay, each.key, each.kind) for stay, each in device.stays]


async def _read_all(
    database: Database, reads: Reads, period: ReadPeriod, most: int, gave_up: list[Moment]
) -> int:
    """Read the numbers of a period from summaries and at most so many records; how many."""
    await database.read(partial(begin_reads, reads=reads, period=period))
    looked_at = 0
    for unfinished in [each for each in reads.values() if each.has_records]:
        while unfinished.has_records and looked_at < most:
            looked_at += await read_with_archive(database, unfinished.step)
        if unfinished.has_records:
            gave_up.append(unfinished.give_up())
    return looked_at


async def _read_earlier(
    database: Database, reads: Reads, period: ReadPeriod, most: int, gave_up: list[Moment]
) -> int:
    """Find the last number of each stay that has none shortly before the spans."""
    begin = period.spans.begin
    lacking = {
        each: read
        for each, read in reads.items()
        if all(row.begins[0] >= begin for row in read.rows)
    }
    devices, keys = {each[0] for each in lacking}, {each[2] for each in lacking}
    if not lacking:
        return 0
    page = period.days.start // DAYS_PER_PAGE
    first, last = (period.begin - MARKED_BACK) // HOUR, -(-period.begin // HOUR)
    marked: dict[tuple[int, int], int] = {}

    def find(tx: Tx) -> None:
        for mark in store.list_marks_of_devices(tx, devices, first, last):
            stay = mark.device, mark.stay
            marked[stay] = min(marked.get(stay, last), max(first, mark.hour))
        for each in store.list_last_pages(tx, devices, keys, page):
            read = lacking.get(each[:3])
            if read is not None and not read.oldest_page:
                row, _ = unpack_days(each.page, each.packed)
                read.oldest_page.append(EarlierNumber(row.begins[-1], row.lasts[-1]))

    await database.read(find)
    looked_at = 0
    for key, read in lacking.items():
        if key[:2] in marked:
            at = max((each.begin for each in read.oldest_page), default=marked[key[:2]] * HOUR)
            at -= at % DAY
            before = ReadPeriod(period.spans, at, period.begin, (), False, (), period.kept_from)
            again = replace(read, rows=[], oldest_page=[])
            left = most - looked_at
            looked_at += await _read_all(database, {key: again}, before, left, gave_up)
            row = _join_stays([again])
            if row is not None:
                read.oldest_page.append(EarlierNumber(row.begins[-1], row.lasts[-1]))
    return looked_at


def _require_bounded(devices: int, spans: Spans) -> None:
    days = (spans.end - spans.begin) // DAY + 1
    if len(spans) > days and devices * days > QUARTER_DAYS_MAX:
        raise invalid_field(
            "begin_date",
            f"{devices} devices have more than {QUARTER_DAYS_MAX} days in this range, too many "
            "for spans of less than a day; ask for less time, or for fewer devices",
        )
    if devices * days > DAYS_MAX:
        raise invalid_field(
            "begin_date",
            f"{devices} devices have more than {DAYS_MAX} days in this range; ask for less time, "
            "or for fewer devices",
        )


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
    only_type = None if wanted.ids else wanted.type
    listed = store.list_stays(tx, numbers, only_type, wanted.ids, STAYS_MAX + 1)
    _require_found(wanted.ids, {each.id for each in listed})
    if len(listed) > STAYS_MAX:
        raise invalid_field("group_id", f"has more than {STAYS_MAX} devices; ask for some of them")
    for each in listed:
        if wanted.type not in (None, each.type):
            continue
        key = each.group_id, each.type
        if key not in resolved:
            resolved[key] = resolve(tx, *key, name)
        found = resolved[key]
        if found is not None and set(wanted.tags).issubset(msgspec.json.decode(each.tags)):
            stays.setdefault(each.device, []).append((each.stay, found))
            shown[each.device] = each.id, each.name
    devices = [MeasuredDevice(*shown[number], number, some) for number, some in stays.items()]
    known = [each.measurement for each in resolved.values() if each is not None]
    if len({(each.value_class, each.unit) for each in known}) > 1:
        raise invalid_field(
            "type", "is needed: types here have a measurement of this name in several units"
        )
    return GroupMembers(devices, known[0] if known else None, bool(resolved))


def _require_found(wanted: Sequence[str], found: Collection[str]) -> None:
    missing = [index for index, each in enumerate(wanted) if each not in found]
    names = [f"device_id[{index}]" if len(wanted) > 1 else "device_id" for index in missing]
    errors = [error for each in names for error in not_found(each, "device").field_errors]
    if errors:
        raise NotFound(field_errors=errors)


def resolve(tx: Tx, group_id: str, type_name: str, name: str) -> ResolvedMeasurement | None:
    """The measurement of this name of a type's devices in a group."""
    found = get_plan(tx, group_id, type_name).named.get(name)
    return None if found is None else ResolvedMeasurement(*found)
