"""Numbers of measurements over time, from summaries and, where these are due, from records.

What is answered is what a count of all records would give. A day that lies in one span is read as
a whole, the others by quarter of an hour. Hours that are marked, and what a period cuts off a
quarter, are read from the records.
"""

import asyncio
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from operator import le
from typing import NamedTuple

from longwire.clock import DAY, HOUR, Moment
from longwire.errors import invalid_field
from longwire.fleet.measured_devices import MeasuredDevice
from longwire.fleet.measurement_plans import get_plan
from longwire.fleet.summaries import Range, ValueScan
from longwire.fleet.value_periods import (
    ReadPeriod,
    SpanPlaces,
    clip_ranges,
    join_ranges,
    leave_out,
    list_overlaps,
    list_runs,
    plan_period,
)
from longwire.measurements.calendar_spans import QUARTER, Spans
from longwire.measurements.summaries import (
    DAYS_PER_PAGE,
    Row,
    chain_rows,
    regroup,
    unpack,
    unpack_days,
)
from longwire.store.archive.archive_reads import NeedsArchive, convert_result, read_with_archive
from longwire.store.database import Database, Tx
from longwire.store.fleet import summaries as store
from longwire.store.fleet.summaries import PackedDay, PackedPage
from longwire.store.records.record_expiry import list_begins
from longwire.store.records.records import ALL_TIME

# Summaries of days that are read for one request, and records that are read beside them.
DAYS_MAX = 1_000_000
RECORDS_MAX = 300_000
FRESH_RECORDS_MAX = 3_000_000  # for those who would rather wait
POINTS_MAX = 10_000  # of one answer
QUARTER_DAYS_MAX = 100_000  # by quarter of an hour
DEVICES_PER_STEP = 20
QUARTER_DAYS_PER_STEP = 1_000
MARKED_BACK: Moment = 400 * DAY  # the same where nothing is summarized yet


# --- what is read ---


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
    first: Moment = ALL_TIME[0]  # what is earlier has expired
    rows: list[Row] = field(default_factory=list)
    oldest_page: list[EarlierNumber] = field(default_factory=list)  # days before what is read
    _scan: ValueScan | None = None

    def begin_scan(
        self,
        tx: Tx,
        ranges: Sequence[Range],
        boundaries: Sequence[Moment],
        by_instant: Sequence[Range],
    ) -> None:
        """Have these ranges read from records, if there may be any."""
        owner = store.get_owner(tx, self.device, self.stay)
        if owner is not None:
            plan = get_plan(tx, owner.group_id, owner.type)
            if self.kind in plan.kinds:
                kinds = {self.kind: ranges}
                keys = frozenset([self.key])
                self._scan = ValueScan(
                    plan, self.device, self.stay, kinds, boundaries, by_instant, keys
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


ReadKey = tuple[int, int, int]  # device, stay and measurement
Reads = Mapping[ReadKey, StayRead]


def begin_reads(tx: Tx, reads: Reads, period: ReadPeriod) -> None:
    """Read the summaries, and find out what is to be read from records."""
    devices = sorted({each.device for each in reads.values()})
    keys = sorted({each.key for each in reads.values()})
    begins = list_begins(tx, [(each.device, each.stay, each.kind) for each in reads.values()])
    # The marks first: what is taken away meanwhile is in the summaries then.
    for key, read in reads.items():
        begins[key[:2]] = max(begins[key[:2]], read.first)
    ranges = _list_ranges(tx, begins, period)
    first_page = period.days.start // DAYS_PER_PAGE
    last_page = -(-period.days.stop // DAYS_PER_PAGE)
    listed = store.list_pages(tx, devices, keys, first_page, last_page)
    opened = (_open_page(each, period, reads[each[:3]]) for each in listed if each[:3] in reads)
    pages = [each for each in opened if each.row.begins]  # not all of it has expired
    cut_of: dict[tuple[int, int], set[int]] = {each[:2]: set() for each in reads}
    claims = {each: list(ranges[each[:2]]) for each in reads}
    shared = _find_shared_days(claims, pages, period)
    for page in pages:
        due = ranges[page.key[:2]]
        cut: Set[int] = shared.get(page.key[0], frozenset())
        cut_of[page.key[:2]] |= _add_days(reads[page.key], page, period, due, cut)
    rows: defaultdict[ReadKey, list[Row]] = defaultdict(list)
    for quarters in _list_quarters(tx, cut_of, keys, period):
        if quarters[:3] in reads and quarters.day * DAY >= reads[quarters[:3]].first:
            row = unpack(quarters.day * DAY, QUARTER, quarters.packed)
            rows[quarters[:3]].append(row)
            if quarters.day in shared.get(quarters.device, ()):
                claims[quarters[:3]] += [(each, each + QUARTER) for each in row.begins]
    by_instant = _find_shared_quarters(claims, shared, period, begins)
    for key, read in reads.items():
        scanned: Sequence[Range] = ranges[key[:2]]
        mixed = by_instant.get(read.device, ())
        if mixed:
            scanned = join_ranges([*scanned, *list_overlaps([mixed, join_ranges(claims[key])])])
        for row in rows[key]:
            read.rows += leave_out(row, period.begin, period.end, scanned)
        if scanned:
            read.begin_scan(tx, scanned, period.cuts, mixed)


class _DaysPage(NamedTuple):
    """The days of a page, and between which of its quarters each has numbers."""

    key: ReadKey
    number: int
    row: Row
    first_quarters: bytes
    last_quarters: bytes


def _open_page(page: PackedPage, period: ReadPeriod, read: StayRead) -> _DaysPage:
    row = unpack(page.page * DAYS_PER_PAGE * DAY, DAY, page.packed)
    size = len(row.begins)
    firsts, lasts = page.packed[-2 * size : -size], page.packed[-size:]
    expired = bisect_left(row.begins, read.first)
    if expired:
        row = Row._make(column[expired:] for column in row)
        firsts, lasts = firsts[expired:], lasts[expired:]
    if period.cuts_days:  # and else it does not matter where in its day a number lies
        begins = [day + each * QUARTER for day, each in zip(row.begins, firsts, strict=True)]
        row = row._replace(begins=begins)
    return _DaysPage(page[:3], page.page, row, firsts, lasts)


def _list_quarters(
    tx: Tx, days: Mapping[tuple[int, int], set[int]], keys: Sequence[int], period: ReadPeriod
) -> Iterator[PackedDay]:
    """The quarters of some days of each stay."""
    wanted: defaultdict[int, set[int]] = defaultdict(set)
    for (device, _), own in days.items():
        wanted[device] |= own.intersection(period.days)
    by_run: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for device, of_stays in wanted.items():
        for run in list_runs(sorted(of_stays)):
            by_run[run].add(device)
    for (begin, end), devices in sorted(by_run.items(), key=lambda each: each[0]):
        for quarters in store.list_quarters(tx, sorted(devices), keys, begin, end):
            if quarters.day in days.get(quarters[:2], ()):
                yield quarters


def _find_shared_days(
    claims: Mapping[ReadKey, Sequence[Range]], pages: Sequence[_DaysPage], period: ReadPeriod
) -> dict[int, set[int]]:
    """Days in which several stays of a device may have numbers, by the device."""
    stays = Counter(device for device, _, _ in claims)
    days: dict[ReadKey, set[int]] = {each: set() for each in claims if stays[each[0]] > 1}
    for key, own in days.items():
        for begin, end in claims[key]:
            own.update(range(begin // DAY, -(-end // DAY)))
    for page in pages:
        if page.key in days:
            days[page.key].update(begin // DAY for begin in page.row.begins)
    seen: defaultdict[int, set[int]] = defaultdict(set)
    shared: defaultdict[int, set[int]] = defaultdict(set)
    for (device, _, _), own in days.items():
        shared[device] |= seen[device].intersection(own, period.days)
        seen[device] |= own
    return shared


def _find_shared_quarters(
    claims: Mapping[ReadKey, Sequence[Range]],
    devices: Iterable[int],
    period: ReadPeriod,
    begins: Mapping[tuple[int, int], Moment],
) -> dict[int, list[Range]]:
    """What several stays of a device may have numbers of, as far as there are records of it."""
    found = {}
    for device in devices:
        of_stays = [at for (number, _), at in begins.items() if number == device]
        begin = max(period.begin, *of_stays)
        own = [join_ranges(some) for key, some in claims.items() if key[0] == device]
        found[device] = clip_ranges(list_overlaps(own), QUARTER, begin, period.end)
    return found


def _list_ranges(
    tx: Tx, begins: Mapping[tuple[int, int], Moment], period: ReadPeriod
) -> dict[tuple[int, int], Sequence[Range]]:
    """What is to be read from the records of each stay, from a moment of it on."""
    devices = sorted({device for device, _ in begins})
    begin, end = period.begin // HOUR, -(-period.end // HOUR)
    ranges: dict[tuple[int, int], list[Range]] = {}
    for mark in store.list_marks_of_devices(tx, devices, begin, end):
        at = mark.hour * HOUR, (mark.hour + mark.hours) * HOUR
        ranges.setdefault(mark[:2], list(period.cut_quarters)).append(at)
    found: dict[tuple[int, int], Sequence[Range]] = {}
    for each, begin in begins.items():
        some: Sequence[Range] = ranges.get(each, period.cut_quarters)
        if each in ranges or begin > period.begin:
            some = clip_ranges(some, 1, max(period.begin, begin), period.end)
        found[each] = some
    return found


def _add_days(
    read: StayRead, page: _DaysPage, period: ReadPeriod, due: Sequence[Range], cut: Set[int]
) -> set[int]:
    """Add the days of a page that lie in one span and of which nothing is due; the others.

    Days in `cut` are among the others. Remembers the last one before.
    """
    days, row = period.days, page.row
    first = bisect_left(row.begins, days.start * DAY)
    if first:
        at = row.begins[first - 1] // DAY * DAY + page.last_quarters[first - 1] * QUARTER
        read.oldest_page.append(EarlierNumber(at, row.lasts[first - 1]))
    last = bisect_left(row.begins, days.stop * DAY)
    kept = [(first, last)]
    others: set[int] = set()
    is_whole = period.is_page_whole(page.number, page.first_quarters, page.last_quarters)
    if due or cut or not is_whole:
        due_ends = [end for _, end in due]
        wanted: list[int] = []
        for index in range(first, last):
            begin = row.begins[index]
            day = begin // DAY
            is_cut = day in cut
            if due:
                following = bisect_right(due_ends, day * DAY)
                is_cut |= following < len(due) and due[following][0] < (day + 1) * DAY
            end = day * DAY + (page.last_quarters[index] + 1) * QUARTER
            if not is_cut and (is_whole or period.is_whole(day, begin, end)):
                wanted.append(index)
            else:
                others.add(day)
        kept = list_runs(wanted)
    for begin, end in kept:
        if end - begin == len(row.begins):  # as most are: nothing is copied
            read.rows.append(row)
        elif begin < end:
            read.rows.append(Row._make(column[begin:end] for column in row))
    return others


def _join_stays(reads: Sequence[StayRead]) -> Row | None:
    """The numbers of all stays by time.

    Stays have numbers in one quarter of an hour if records of before a transfer arrive after it;
    each instant of it is a row then, and at one instant what the earlier stay has arrived first.
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


TakePoints = Callable[[MeasuredDevice, Points], None]


async def read_devices(
    database: Database,
    devices: Sequence[MeasuredDevice],
    spans: Spans,
    take: TakePoints,
    *,
    is_counter: bool,
    records_max: int | None = None,
) -> Moment | None:
    """Read the points of devices in steps, so that others have their turns between them.

    They are taken one after the other, on a thread. Returns from when on there may be more than
    what was read, if there may be.
    """
    _require_bounded(len(devices), spans)
    period = plan_period(spans, is_counter=is_counter)
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
    return [
        StayRead(device.number, stay, each.key, each.kind, each.first)
        for stay, each in device.stays
    ]


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
                row, ends = unpack_days(each.page, each.packed)
                if ends[-1] > read.first:
                    read.oldest_page.append(EarlierNumber(ends[-1] - QUARTER, row.lasts[-1]))

    await database.read(find)
    looked_at = 0
    for key, read in lacking.items():
        if key[:2] in marked:
            at = max((each.begin for each in read.oldest_page), default=marked[key[:2]] * HOUR)
            at -= at % DAY
            before = ReadPeriod(period.spans, at, period.begin, (), {}, {}, ())
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
