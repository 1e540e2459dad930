"""Summaries of the values of devices: made from their records, and made again when those change.

Whoever stores, deletes or changes a record marks its hour. Here the hours are taken up, device by
device: all quarters of a marked hour are made again from the records that are there. So a summary
is right whatever happened before, and a step that a crash cut off is done once more.
"""

import asyncio
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import NamedTuple, TypeVar

from longwire.clock import DAY, HOUR, MINUTE, Moment
from longwire.dataclass import dataclass
from longwire.fleet import current_values
from longwire.fleet.measurement_plans import TypePlan, get_plan
from longwire.fleet.records import FOREVER
from longwire.group_limits import SUMMARY
from longwire.measurements.calendar_spans import QUARTER
from longwire.measurements.definitions import ValuePlace
from longwire.measurements.extraction import ExtractedValues, extract
from longwire.measurements.summaries import (
    Summary,
    increase_between,
    quarter_of,
    unpack_spans,
)
from longwire.records import KIND_NAMES, parse_record
from longwire.store import schema
from longwire.store.archive import archive_files
from longwire.store.archive.archive_reads import NeedsArchive, convert_result, read_with_archive
from longwire.store.cache import cache_epochs
from longwire.store.database import Database, Tx
from longwire.store.fleet import measurements as store_measurements
from longwire.store.fleet import summaries as store
from longwire.store.fleet.measurements import MeasurementKey
from longwire.store.fleet.summaries import Mark, StayOwner
from longwire.store.identity import group_limits
from longwire.store.pacing import get_pause_s
from longwire.store.records import arrival_horizon, record_expiry
from longwire.store.records.arrival_numbers import arrival_moment
from longwire.store.records.record_scans import StayCursor, StayScan, scan_stay, scan_table

MARKS_PER_PAGE = 500
# So many days of measurements are stored by one transaction; of a long mark fewer.
DAYS_PER_PART = 1_000
DAYS_OF_HISTORY = 31
HOURS_PER_DAY = DAY // HOUR
STEP_RECORDS_MAX = 500
STEP_RANGES_MAX = 20
# Clocks of processes differ a little.
SETTLED_AFTER: Moment = HOUR
DECLARED_AFTER: Moment = MINUTE  # until every process knows what has been declared

T = TypeVar("T")

# The number of a measurement, or the place of one that has none yet.
Key = int | ValuePlace
Range = tuple[Moment, Moment]


class Gathered:
    """The numbers of a quarter of an hour, one after the other."""

    __slots__ = ("first", "increase", "last", "maximum", "minimum", "numbers", "total")

    def __init__(self, value: float) -> None:
        self.numbers = 1
        self.minimum = self.maximum = self.total = self.first = self.last = value
        self.increase = 0.0

    def add(self, value: float) -> None:
        self.numbers += 1
        self.minimum = min(self.minimum, value)
        self.maximum = max(self.maximum, value)
        self.total += value
        self.increase += increase_between(self.last, value)
        self.last = value

    def summarize(self) -> Summary:
        return Summary(
            self.numbers,
            self.minimum,
            self.maximum,
            self.total,
            self.first,
            self.last,
            self.increase,
        )


@dataclass(slots=True)
class ValueScan:
    """Reads the records of some ranges of a stay, and summarizes their values by quarter."""

    plan: TypePlan
    device: int
    stay: int
    ranges: Mapping[int, Sequence[Range]]  # of each kind, by time, without overlap
    cuts: Sequence[Moment] = ()  # moments that divide a quarter
    # In which every instant stands for itself, because other stays have numbers there as well.
    by_instant: Sequence[Range] = ()
    keys: frozenset[int] | None = None  # all, and what is found beside them, unless given
    # By the begin of a quarter, or of a part of it.
    quarters: dict[Key, dict[Moment, Gathered]] = field(default_factory=dict)
    looked_at: int = 0
    # When the newest value of each measurement was, as far as somebody wants to know.
    newest: dict[Key, Moment] | None = None
    is_done: bool = False
    _parts: Iterator[tuple[int, Range]] = field(init=False)
    _kind: int = 0
    _end: Moment = 0
    _cursor: StayCursor | None = None
    # The records of one instant, which are in the order of their arrival only when all are known.
    _instant: Moment = 0
    _at_instant: list[tuple[int, Mapping[Key, float]]] = field(default_factory=list)
    _new: set[ValuePlace] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._parts = iter([(kind, each) for kind, some in self.ranges.items() for each in some])

    def step(self, tx: Tx) -> NeedsArchive[None] | None:
        """Read some more records."""
        enough = self.looked_at + STEP_RECORDS_MAX // 2
        for _ in range(STEP_RANGES_MAX):
            cursor = self._cursor or self._begin_range()
            if cursor is None:
                self.is_done = True
                return None
            name = KIND_NAMES[self._kind]
            found = scan_stay(tx, name, self.device, self.stay, cursor, self._end, STEP_RECORDS_MAX)
            if isinstance(found, NeedsArchive):
                return convert_result(found, self._take)
            self._take(found)
            if self.looked_at >= enough:
                break
        return None

    def _begin_range(self) -> StayCursor | None:
        self._end_instant()
        part = next(self._parts, None)
        if part is None:
            return None
        self._kind, (begin, self._end) = part
        self._cursor = StayCursor(begin)
        return self._cursor

    def _take(self, found: StayScan) -> None:
        # Nothing here fails, so that a step can be repeated when the connection is lost.
        plan = self.plan.kinds[self._kind]
        for ts, _, seq, body in found.items:
            if not body:
                continue
            self.looked_at += 1
            extracted = extract(plan, parse_record(self._kind, body).record)
            numbers: dict[Key, float] = {
                key: value.number
                for key, value in extracted.values.items()
                if value.number is not None and value.text is None
            }
            if self.keys is not None:
                numbers = {key: each for key, each in numbers.items() if key in self.keys}
            else:
                numbers |= self._list_new(extracted.unknown)
            if self.newest is not None:
                at = min(ts, arrival_moment(seq))
                for key in self._list_keys(extracted):
                    self.newest[key] = max(at, self.newest.get(key, at))
            if numbers:
                if ts != self._instant:
                    self._end_instant()
                    self._instant = ts
                self._at_instant.append((seq, numbers))
        self._cursor = found.cursor

    def _list_keys(self, extracted: ExtractedValues) -> Iterator[Key]:
        yield from extracted.values
        for path in extracted.unknown:
            yield ValuePlace(self._kind, path)

    def number(self, keys: Sequence[MeasurementKey]) -> None:
        """Take the numbers of what was found; what has none is dropped."""
        self.plan.add_found(keys)
        numbers = {each.place: each.number for each in keys}
        self.quarters = dict(_take_numbers(self.quarters, numbers))
        if self.newest is not None:
            self.newest = dict(_take_numbers(self.newest, numbers))

    def _list_new(self, unknown: Mapping[str, float]) -> dict[Key, float]:
        """Numbers at places that have none yet, of as many places as may be found."""
        numbers: dict[Key, float] = {}
        for path, number in unknown.items():
            place = ValuePlace(self._kind, path)
            if place in self._new or len(self._new) < self.plan.room:
                self._new.add(place)
                numbers[place] = number
        return numbers

    def _is_by_instant(self) -> bool:
        index = bisect_right(self.by_instant, (self._instant, FOREVER)) - 1
        return index >= 0 and self._instant < self.by_instant[index][1]

    def _end_instant(self) -> None:
        begin = self._instant - self._instant % QUARTER
        cut = bisect_right(self.cuts, self._instant)
        if cut:
            begin = max(begin, self.cuts[cut - 1])
        if self.by_instant and self._is_by_instant():
            begin = self._instant
        for _, numbers in sorted(self._at_instant, key=lambda each: each[0]):
            for key, value in numbers.items():
                quarters = self.quarters.setdefault(key, {})
                gathered = quarters.get(begin)
                if gathered is None:
                    quarters[begin] = Gathered(value)
                else:
                    gathered.add(value)
        self._at_instant.clear()


def _take_numbers(
    found: Mapping[Key, T], keys: Mapping[ValuePlace, int]
) -> Iterator[tuple[Key, T]]:
    for key, each in found.items():
        number = key if isinstance(key, int) else keys.get(key)
        if number is not None:
            yield number, each


class _Part(NamedTuple):
    """Some hours of a stay that are worked off together."""

    owner: StayOwner
    begin: int  # in hours
    end: int
    marks: Sequence[Mark]  # that are gone then
    rest: Sequence[Mark]  # what is left of long ones
    is_recount: bool  # because other values count
    expired: Mapping[int, Moment]  # by kind, before when records may be gone
    scan: ValueScan


class SummaryWork:
    """Works off marks, in one process."""

    def __init__(
        self,
        database: Database,
        on_progress: Callable[[float], None] = lambda behind_s: None,
    ) -> None:
        self._database = database
        self._on_progress = on_progress
        # Everything that was marked before is worked off; None before the first round has ended.
        self.complete_until: Moment | None = None

    async def run_round(self) -> None:
        """Everything that is due, once."""
        round_began = time.monotonic()
        settled = await self._database.read(find_settled)
        after: Mark | None = store.BEFORE_ANY
        while after is not None:
            began = time.monotonic()
            self._on_progress(began - round_began)
            page = await self._database.read(partial(_list_due, after=after))
            await asyncio.sleep(get_pause_s(time.monotonic() - began))
            for device, stay in page.stays:
                while await self._work_off(device, stay):
                    pass
            after = page.last
        self._on_progress(0)
        self.complete_until = settled - DECLARED_AFTER

    async def _work_off(self, device: int, stay: int) -> bool:
        """A part of what is due of a stay; whether there was any."""
        began = time.monotonic()
        part = await self._database.write(partial(_begin, device=device, stay=stay))
        if part is None:
            return False
        while not part.scan.is_done:
            await read_with_archive(self._database, part.scan.step)
        if any(isinstance(key, ValuePlace) for key in part.scan.quarters):
            await self._database.write(partial(_number_found, part=part))
        is_stored = await self._database.write(partial(_store, part=part))
        await asyncio.sleep(get_pause_s(time.monotonic() - began))
        return is_stored


class _Page(NamedTuple):
    stays: Sequence[tuple[int, int]]
    last: Mark | None


def _list_due(tx: Tx, after: Mark) -> _Page:
    """The stays with a mark that is due, in a page of marks."""
    settled = find_settled(tx)
    marks = store.list_marks(tx, after, MARKS_PER_PAGE)
    due = {(each.device, each.stay): None for each in marks if is_due(each, settled)}
    return _Page(list(due), marks[-1] if len(marks) == MARKS_PER_PAGE else None)


def find_settled(tx: Tx) -> Moment:
    """Every commit that began before it has ended."""
    return arrival_moment(arrival_horizon.get_settled_seq(tx, 0))


def is_due(mark: Mark, settled: Moment) -> bool:
    """Whether every commit is over that may still store records as they were before the mark."""
    if mark.hours > 1:
        return store.marked_at(mark) < settled - DECLARED_AFTER
    return mark.number != store.PRESENT or mark.hour < (settled - SETTLED_AFTER) // HOUR


def _begin(tx: Tx, device: int, stay: int) -> _Part | None:
    """The first hours of a stay that are due; None if there are none."""
    cache_epochs.refresh_epochs(tx)  # what another process has just declared counts
    settled = find_settled(tx)
    listed = store.list_marks_of(
        tx, device, stay, -schema.ALL_HOURS, schema.ALL_HOURS, MARKS_PER_PAGE
    )
    due = [each for each in listed if is_due(each, settled)]
    if not due:
        return None
    owner = store.get_owner(tx, device, stay)
    if owner is None:  # of a device that is deleted, and may be restored
        return None
    plan = get_plan(tx, owner.group_id, owner.type)
    expired = record_expiry.list_of_group(tx, schema.group_number(owner.group_id))
    kinds = [kind for kind, each in plan.kinds.items() if each.has_values]
    hours = [each.hour for each in due if each.hours == 1]
    long = [each for each in due if each.hours > 1]
    start = None
    if long:
        start = _find_hour(tx, device, stay, kinds, min(each.hour for each in long))
        hours += [] if start is None else [start]
    if not hours:
        return _Part(owner, 0, 0, long, [], True, expired, ValueScan(plan, device, stay, {}))
    most_days = _count_days(plan)
    begin = min(hours)
    if start is None:
        end = _find_end(hours, most_days)
    else:
        end = begin + min(most_days, DAYS_OF_HISTORY) * HOURS_PER_DAY
    wanted = {hour for hour in hours if hour < end}
    if start is not None:
        wanted |= set(range(start, end))
    taken = [each for each in due if each.hour < end or (start is None and each.hours > 1)]
    rest = [
        each._replace(hour=end, hours=each.hour + each.hours - end)
        for each in taken
        if start is not None and each.hour + each.hours > end
    ]
    first = store.get_first_moment(group_limits.get_oldest(tx, SUMMARY, owner.group_id))
    ranges = {kind: _join_hours(wanted, max(first, expired.get(kind, first))) for kind in kinds}
    scan = ValueScan(plan, device, stay, ranges, newest={} if long else None)
    return _Part(owner, begin, end, taken, rest, bool(long), expired, scan)


def _count_days(plan: TypePlan) -> int:
    """How many days of a stay are made at once."""
    return max(1, DAYS_PER_PART // max(1, len(plan.declared) + len(plan.found)))


def _find_end(hours: Sequence[int], most_days: int) -> int:
    """The end of the first so many days that have one of some hours."""
    days = sorted({hour // HOURS_PER_DAY for hour in hours})
    return (days[:most_days][-1] + 1) * HOURS_PER_DAY


def _find_hour(tx: Tx, device: int, stay: int, kinds: Iterable[int], hour: int) -> int | None:
    """The hour of the next record from an hour on."""
    begin, found = hour * HOUR, []
    for kind in kinds:
        name = KIND_NAMES[kind]
        items = scan_table(tx, name, device, stay, StayCursor(begin), FOREVER, 1).items
        files = archive_files.list_files(tx, name, (device, device), begin, FOREVER)
        found += [ts // HOUR for ts, *_ in items]
        found += [max(begin, each.begin) // HOUR for each in files]
    return min(found, default=None)


def _join_hours(hours: Iterable[int], first: Moment) -> list[Range]:
    """Hours from a moment on that follow each other, as ranges."""
    ranges: list[Range] = []
    for hour in sorted(hours):
        begin = hour * HOUR
        if begin < first:
            continue
        if ranges and ranges[-1][1] == begin:
            begin, _ = ranges.pop()
        ranges.append((begin, (hour + 1) * HOUR))
    return ranges


def _store(tx: Tx, part: _Part) -> bool:
    """Store what was found; nothing if another worker was faster.

    Nor if records of it may have been deleted meanwhile: then it is made again, without them.
    """
    home = schema.group_number(part.owner.group_id)
    if record_expiry.list_of_group(tx, home) != part.expired:
        return True
    if not store.take_marks(tx, part.marks):
        return False
    for mark in part.rest:
        store.put_mark(tx, mark)
    scan = part.scan
    made = {
        (key, begin): gathered.summarize()
        for key, quarters in scan.quarters.items()
        if isinstance(key, int)
        for begin, gathered in quarters.items()
    }
    first, last = part.begin * HOUR // DAY, part.end * HOUR // DAY
    days: dict[tuple[int, int], dict[int, Summary]] = {}
    for each in store.list_quarters_of_stay(tx, scan.device, scan.stay, first, last + 1):
        days[each.key, each.day] = unpack_spans(each.packed)
    before = {key: dict(quarters) for key, quarters in days.items()}
    places = store_measurements.list_places(tx, {key for key, _ in days})
    for (key, day), quarters in days.items():
        for begin, end in scan.ranges.get(places[key].place.kind, ()):
            for index in _list_quarters(day, begin, end):
                quarters.pop(index, None)
    for (key, begin), summary in made.items():
        days.setdefault((key, begin // DAY), {})[quarter_of(begin)] = summary
    changed = {key: each for key, each in days.items() if each != before.get(key)}
    store.save_days(tx, scan.device, scan.stay, changed)
    if part.is_recount:
        newest = {key: ts for key, ts in (scan.newest or {}).items() if isinstance(key, int)}
        device_id, is_all = part.owner.device_id, not part.rest
        current_values.refresh_recounted(tx, device_id, scan.stay, newest, is_all=is_all)
    return True


def _list_quarters(day: int, begin: Moment, end: Moment) -> range:
    """The quarters of a day that are in a period."""
    first, last = max(begin, day * DAY), min(end, (day + 1) * DAY)
    return range((first - day * DAY) // QUARTER, (last - day * DAY) // QUARTER)


def _number_found(tx: Tx, part: _Part) -> None:
    """Give numbers to what was found, as many as there may be."""
    scan = part.scan
    unknown = [key for key in scan.quarters if isinstance(key, ValuePlace)]
    new = list(store_measurements.get_keys(tx, unknown[: scan.plan.room]).values())
    group = schema.group_number(part.owner.group_id)
    store_measurements.insert_found(tx, group, part.owner.type, new)
    tx.on_commit(partial(scan.number, new))
