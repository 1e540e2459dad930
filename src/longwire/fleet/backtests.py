"""Backtests over what devices have sent: read in steps, and no more than has to be looked at.

Of a limit, summaries of days and quarters of an hour say where values can change nothing; the rest
is read from records, as are hours that are marked. Values are taken in the order of their arrival,
so that those that came late are ignored as they were then. A request reads so much, and what it
knows then goes on in the next one.
"""

import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from dataclasses import field
from functools import partial
from math import inf
from typing import NamedTuple

import msgspec

from longwire.clock import DAY, HOUR, Moment
from longwire.dataclass import dataclass
from longwire.errors import TooManyRequests
from longwire.fleet.backtest_expressions import ExpressedReplay, skip_instant
from longwire.fleet.computing import Computing
from longwire.fleet.measurement_plans import get_plan, refresh_found
from longwire.fleet.summaries import Range
from longwire.fleet.value_periods import join_ranges
from longwire.measurements.calendar_spans import QUARTER
from longwire.measurements.extraction import KindPlan, extract, narrow_plan
from longwire.measurements.summaries import DAYS_PER_PAGE, unpack
from longwire.model import PageRequest
from longwire.notifications.alarm_conditions import (
    AlarmCondition,
    ConditionState,
    ValueLimit,
)
from longwire.notifications.backtests import BacktestedAlarm, ConditionReplay, count_messages
from longwire.notifications.rules import Rule
from longwire.records import KIND_NAMES, parse_record
from longwire.store.archive.archive_reads import NeedsArchive, convert_result, read_with_archive
from longwire.store.database import Database, Tx
from longwire.store.fleet import reporting_devices
from longwire.store.fleet import summaries as store
from longwire.store.fleet.reporting_devices import ReportingDevice
from longwire.store.identity import group_limits
from longwire.store.records.arrival_numbers import arrival_moment
from longwire.store.records.record_expiry import list_begins
from longwire.store.records.record_scans import (
    StayCursor,
    StayScan,
    find_first_arrival,
    scan_stay,
)

# Of one request: what ends it, at the next chance.
RECORDS_MAX = 100_000
SECONDS_MAX = 5.0
ALARMS_MAX = 10_000
STEP_RECORDS_MAX = 1_000
RUN_RECORDS_MAX = 5_000  # that are put into the order of their arrival at once
DEVICES_AT_ONCE_MAX = 500
# How many of the next records are looked at for some that arrived before.
LOOK_AHEAD_MAX = 1_000
DAYS_PER_STEP = 31
# Runs of values that follow each other within this are read at once.
_GAP_MAX = HOUR


class Segment(NamedTuple):
    """A span of time with values, and between which these lie."""

    begin: Moment
    end: Moment
    minimum: float = -inf
    maximum: float = inf
    is_day: bool = False  # of which more is known by quarter of an hour


class PastValue(NamedTuple):
    """A value of a record."""

    seq: int
    ts: Moment
    number: float


@dataclass(slots=True)
class LimitReplay:
    """A limit for the values of a device in its present stay, step by step."""

    device: ReportingDevice
    limit: ValueLimit
    measurement: str
    replay: ConditionReplay
    begin: Moment
    end: Moment  # of timestamps
    looked_at: int = 0
    skipped: int = 0  # summaries, in place of records
    is_done: bool = False
    begins_at: Moment | None = None  # of its records, if these are kept for so long only
    _is_begun: bool = False
    _key: int = 0
    _plan: KindPlan | None = None
    _segments: list[Segment] = field(default_factory=list)
    _due: Sequence[Range] = ()
    _run_end: Moment | None = None
    _cursor: StayCursor | None = None
    _values: list[PastValue] = field(default_factory=list)
    _run_records: int = 0
    _cut: Moment | None = None  # what was read ends here, and is to be taken

    @property
    def may_stop(self) -> bool:
        """Whether what follows `begin` has not been looked at yet."""
        return self._run_end is None

    def step(self, tx: Tx) -> NeedsArchive[None] | None:
        """Read some more; what happens to it then does not fail, so that it can be repeated."""
        if not self._is_begun:
            self._begin(tx)
        if self._cut is not None:
            return self._look_ahead(tx, self._cut)
        if self._run_end is None and not self._begin_run(tx):
            return None
        assert self._run_end is not None
        assert self._cursor is not None
        scan = self._scan(tx, self._cursor, self._run_end, STEP_RECORDS_MAX)
        return convert_result(scan, self._take)

    def _scan(
        self, tx: Tx, cursor: StayCursor, end: Moment, most: int
    ) -> StayScan | NeedsArchive[StayScan]:
        assert self._plan is not None
        kind = KIND_NAMES[self._plan.kind]
        return scan_stay(tx, kind, self.device.number, self.device.stay, cursor, end, most)

    # --- what there is to read ---

    def _begin(self, tx: Tx) -> None:
        self._is_begun = True
        device = self.device
        plan = get_plan(tx, device.group_id, device.type)
        found = plan.named.get(self.measurement)
        if found is None:
            self.is_done = True
            return
        self._key, measurement = found
        kind = measurement.place.kind
        self._plan = narrow_plan(plan.kinds[kind], self._key)
        self.begins_at = find_first_moment(tx, device, kind)
        self.begin = max(self.begin, self.begins_at or self.begin)
        if self.begin >= self.end:
            self.is_done = True
        elif self.replay.needs_every_value:
            self._segments = [Segment(self.begin, self.end)]
        else:
            self._list_segments(tx)

    def _list_segments(self, tx: Tx) -> None:
        """By time; the marks first, what is taken away meanwhile is in the summaries then."""
        device, begin = self.device, self.begin
        # A record may still mark the present hour, and those with later timestamps are few.
        end = min(self.end, tx.now - tx.now % HOUR)
        due = [(end, self.end)]
        due += [(begin, begin + -begin % QUARTER), (end - end % QUARTER, end)]
        for mark in store.list_marks_of_devices(
            tx, [device.number], begin // HOUR, -(-end // HOUR)
        ):
            if mark.stay == device.stay:
                due.append((mark.hour * HOUR, (mark.hour + mark.hours) * HOUR))
        clipped = [(max(one, begin), min(two, self.end)) for one, two in due]
        self._due = join_ranges([each for each in clipped if each[0] < each[1]])
        self._segments = [Segment(*each) for each in self._due]
        first, last = begin // DAY // DAYS_PER_PAGE, end // DAY // DAYS_PER_PAGE + 1
        for page in store.list_pages(tx, [device.number], [self._key], first, last):
            if page.stay == device.stay:
                row = unpack(page.page * DAYS_PER_PAGE * DAY, DAY, page.packed)
                for day, low, high in zip(row.begins, row.minima, row.maxima, strict=True):
                    self._add_day(day, low, high, end)
        self._segments.sort()

    def _add_day(self, day: Moment, low: float, high: float, end: Moment) -> None:
        if day + DAY <= self.begin or day >= end:
            return
        is_cut = day < self.begin or day + DAY > end or self._is_due(day, day + DAY)
        bounds = (-inf, inf) if is_cut else (low, high)
        self._segments.append(Segment(day, day + DAY, *bounds, is_day=True))

    def _is_due(self, begin: Moment, end: Moment) -> bool:
        following = bisect_right(self._due, begin, key=lambda each: each[1])
        return following < len(self._due) and self._due[following][0] < end

    def _expand_days(self, tx: Tx, day: Moment) -> None:
        """Replace this day, and others behind it that are not quiet, by their quarters."""
        until = day + DAYS_PER_STEP * DAY
        wanted, kept = set(), []
        for each in self._segments:
            is_quiet = self.replay.is_quiet(each.minimum, each.maximum)
            if each.is_day and each.begin < until and (each.begin == day or not is_quiet):
                wanted.add(each.begin // DAY)
            else:
                kept.append(each)
        device = self.device
        listed = store.list_quarters(tx, [device.number], [self._key], min(wanted), max(wanted) + 1)
        for packed in listed:
            if packed.stay != device.stay or packed.day not in wanted:
                continue
            row = unpack(packed.day * DAY, QUARTER, packed.packed)
            for begin, low, high in zip(row.begins, row.minima, row.maxima, strict=True):
                is_inside = begin >= self.begin and begin + QUARTER <= self.end
                if is_inside and not self._is_due(begin, begin + QUARTER):
                    kept.append(Segment(begin, begin + QUARTER, low, high))
        self._segments = sorted(kept)

    def _begin_run(self, tx: Tx) -> bool:
        """Find the next records that have to be read; whether there are any."""
        for _ in range(STEP_RECORDS_MAX):
            self._skip_ignored()
            if not self._segments:
                self.is_done = True
                return False
            first = self._segments[0]
            if not first.is_day:
                break
            self._expand_days(tx, first.begin)
        else:
            return False
        end = first.end
        for each in self._segments[1:]:
            if each.is_day or each.begin > end + _GAP_MAX or not self._extends(each):
                break
            end = max(end, each.end)
        self._run_end, self._cursor = end, StayCursor(first.begin)
        return True

    def _skip_ignored(self) -> None:
        count = 0
        for each in self._segments:
            if not self.replay.ignores(each.minimum, each.maximum):
                break
            count += 1
        self.skipped += count
        if count:
            self.begin = self._segments[count - 1].end
            del self._segments[:count]

    def _extends(self, segment: Segment) -> bool:
        """Whether a run goes on with this one."""
        is_quiet = self.replay.is_quiet(segment.minimum, segment.maximum)
        due_at = self.replay.due_at
        if self.replay.state.is_blank or due_at is not None:
            return not is_quiet or (due_at is not None and segment.begin <= due_at)
        return not self.replay.ignores(segment.minimum, segment.maximum)

    # --- what was read ---

    def _take(self, scan: StayScan) -> None:
        plan, key = self._plan, self._key
        assert plan is not None
        for ts, _, seq, body in scan.items:
            if not body:
                continue
            self.looked_at += 1
            value = extract(plan, parse_record(plan.kind, body).record).values.get(key)
            if value is not None and value.number is not None and value.text is None:
                self._values.append(PastValue(seq, ts, value.number))
        self._run_records += len(scan.items)
        self._cursor = cursor = skip_instant(scan, self._run_records)
        if cursor is None:
            cut = self._run_end
        elif self._run_records >= RUN_RECORDS_MAX and scan.items[0][0] < cursor.ts:
            cut = cursor.ts  # of the records of one instant all are read again
            self._values = [each for each in self._values if each.ts < cut]
        else:
            return
        self._cut = cut
        newest = max((each.seq for each in self._values), default=None)
        if cut is None or newest is None or arrival_moment(newest) < cut:
            self._finish_run()

    def _look_ahead(self, tx: Tx, cut: Moment) -> NeedsArchive[None] | None:
        """Find out what of it came late, behind newer ones."""
        newest = max(each.seq for each in self._values)
        until = arrival_moment(newest) + 1
        if tx.context.archive is None:
            assert self._plan is not None
            kind, device = KIND_NAMES[self._plan.kind], self.device
            first = find_first_arrival(
                tx, kind, device.number, device.stay, cut, until, LOOK_AHEAD_MAX
            )
            if first is None or first > newest:
                self._finish_run()
                return None
        scan = self._scan(tx, StayCursor(cut), until, LOOK_AHEAD_MAX)
        return convert_result(scan, self._take_ahead)

    def _take_ahead(self, scan: StayScan) -> None:
        plan, newest = self._plan, max(each.seq for each in self._values)
        assert plan is not None
        for _, _, seq, body in scan.items:
            if seq < newest and body:
                self.looked_at += 1
                values = extract(plan, parse_record(plan.kind, body).record).values
                if self._key in values:
                    newest = seq
        self._values = [each for each in self._values if each.seq <= newest]
        self._finish_run()

    def _finish_run(self) -> None:
        cut = self._cut
        assert cut is not None
        read = self.limit.read
        self.replay.take(
            [read(min(ts, arrival_moment(seq)), number) for seq, ts, number in sorted(self._values)]
        )
        self._values, self._run_end, self._cursor, self._cut = [], None, None, None
        self._run_records = 0
        self.begin = cut
        self._segments = [
            each._replace(begin=max(each.begin, cut)) for each in self._segments if each.end > cut
        ]


def find_first_moment(tx: Tx, device: ReportingDevice, kind: int) -> Moment | None:
    """From when on all records of a kind are there, if not from the first on."""
    oldest = group_limits.get_oldest(tx, KIND_NAMES[kind], device.group_id)
    begins = list_begins(tx, [(device.number, device.stay, kind)])
    expired = begins[device.number, device.stay]
    return max(expired, oldest) if oldest is not None else (expired if expired > 0 else None)


# --- several devices ---


@dataclass(frozen=True, slots=True)
class Backtest:
    """A condition, and where it is tried: devices of some groups, and a range of time."""

    rule: Rule
    condition: AlarmCondition
    group_ids: Sequence[str]  # sorted
    begin: Moment
    until: Moment  # not later than now
    end: Moment  # of timestamps: those in the future count as of their arrival

    @property
    def measurement(self) -> str:
        return self.rule.params.measurement or ""


class DeviceAlarms(NamedTuple):
    """The alarms of a device by time."""

    device_id: str
    alarms: Sequence[BacktestedAlarm]


class _Carried(msgspec.Struct, frozen=True):
    """What is known of a device whose values were too many for one request."""

    at: Moment
    state: ConditionState
    notified_at: Moment | None


@dataclass(slots=True)
class BacktestPage:
    """What some devices would have raised, and what was looked at for it."""

    items: list[DeviceAlarms] = field(default_factory=list)
    messages: int = 0
    devices: int = 0
    records: int = 0
    summaries: int = 0
    failed: int = 0  # records for which the expression could not be evaluated
    examined_from: Moment | None = None
    examined_until: Moment | None = None  # of the last device, if it goes on there
    last_key: tuple[int | str, ...] | None = None

    @property
    def alarms(self) -> int:
        return sum(len(each.alarms) for each in self.items)


async def run_page(
    database: Database, computing: Computing, backtest: Backtest, request: PageRequest
) -> BacktestPage:
    """Examine the next devices, at most so many, in steps that leave others their turns."""
    run = _PageRun(database, computing, backtest)
    await run.examine(request)
    return run.page


class _PageRun:
    """One request: the devices of some groups, one after the other."""

    def __init__(self, database: Database, computing: Computing, backtest: Backtest) -> None:
        self._database = database
        self._computing = computing
        self._backtest = backtest
        self._began = time.monotonic()
        self.page = BacktestPage()

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._began > SECONDS_MAX

    @property
    def _is_enough(self) -> bool:
        page = self.page
        return page.records >= RECORDS_MAX or page.alarms >= ALARMS_MAX or self._is_late

    async def examine(self, request: PageRequest) -> None:
        group, number, carried = _open_position(request)
        page = self.page
        has_moved = False
        async for each, at, device in self._walk(group, number):
            is_full = device is not None and page.devices >= request.limit
            ends = self._is_late if device is None else self._is_enough
            if is_full or (has_moved and ends):
                page.last_key = (each, at, "")
                return
            has_moved = True
            known = carried if (each, at) == (group, number) else None
            if device is not None and not await self._run_device(device, known):
                return

    async def _walk(
        self, begin_group: str, begin_number: int
    ) -> AsyncIterator[tuple[str, int, ReportingDevice | None]]:
        """The groups from a place in one of them on, and behind each its devices."""
        for group in await self._list_groups():
            if group < begin_group:
                continue
            first = begin_number
            if group != begin_group:
                first = 0
                yield group, first, None
            is_last = False
            while not is_last:
                listed = await self._list_devices(group, first)
                for device in listed:
                    yield group, device.number, device
                    first = device.number + 1
                is_last = len(listed) < DEVICES_AT_ONCE_MAX

    async def _list_groups(self) -> Sequence[str]:
        """Those in which there may be a device for it."""
        wanted, group_ids = self._backtest.rule.device_id, self._backtest.group_ids
        if wanted is None:
            return group_ids
        read = partial(reporting_devices.get_reporting, device_ids=[wanted])
        found = await self._database.read(read)
        return [each.group_id for each in found.values() if each.group_id in group_ids]

    async def _list_devices(self, group: str, first: int) -> list[ReportingDevice]:
        rule, name = self._backtest.rule, self._backtest.measurement
        only_type = next(iter(rule.device_types)) if len(rule.device_types) == 1 else None

        def list_devices(tx: Tx) -> list[ReportingDevice]:
            if name:
                refresh_found(tx, [group], [name])
            if rule.device_id is None:
                return reporting_devices.list_in_group(
                    tx, group, only_type, first, DEVICES_AT_ONCE_MAX
                )
            found = reporting_devices.get_reporting(tx, [rule.device_id]).values()
            return [each for each in found if each.group_id == group and each.number >= first]

        return await self._database.read(list_devices)

    async def _run_device(self, device: ReportingDevice, carried: _Carried | None) -> bool:
        """Examine a device; whether it is done."""
        backtest, page = self._backtest, self.page
        if not backtest.rule.matches_device(device.id, device.type):
            return True
        condition = backtest.condition
        replay = ConditionReplay(condition, None if carried is None else carried.state)
        begin = backtest.begin if carried is None else carried.at
        page.devices += 1
        if condition.limit is None:
            at = await self._run_expressed(device, replay, begin)
        else:
            at = await self._run_limited(device, replay, condition.limit, begin)
        if at is None:
            replay.finish(backtest.until)
        notified_at = None if carried is None else carried.notified_at
        for alarm in replay.alarms:
            messages, notified_at = count_messages(
                backtest.rule, alarm, notified_at, backtest.until
            )
            page.messages += messages
        if replay.alarms:
            page.items.append(DeviceAlarms(device.id, replay.alarms))
        if at is None:
            return True
        text = msgspec.json.encode(_Carried(at, replay.state, notified_at)).decode()
        page.examined_until = at
        page.last_key = (device.group_id, device.number, text)
        return False

    async def _run_limited(
        self,
        device: ReportingDevice,
        replay: ConditionReplay,
        limit: ValueLimit,
        begin: Moment,
    ) -> Moment | None:
        """Examine values; where it is enough, or None at the end."""
        backtest, page = self._backtest, self.page
        name, end = backtest.measurement, backtest.end
        device_replay = LimitReplay(device, limit, name, replay, begin, end)
        before = page.records
        while not device_replay.is_done:
            if device_replay.may_stop and device_replay.looked_at and self._is_enough:
                break
            await read_with_archive(self._database, device_replay.step)
            page.records = before + device_replay.looked_at
        page.summaries += device_replay.skipped
        self._narrow(device_replay.begins_at)
        return None if device_replay.is_done else device_replay.begin

    async def _run_expressed(
        self, device: ReportingDevice, replay: ConditionReplay, begin: Moment
    ) -> Moment | None:
        """The same with an expression, for every record."""
        backtest, page = self._backtest, self.page
        device_replay = ExpressedReplay(device, backtest.rule, replay, begin, backtest.end)
        before = page.records
        group, budgets = backtest.rule.group_id, self._computing.previews
        while not device_replay.is_done:
            is_begun = bool(page.records or page.devices > 1)
            if (
                device_replay.may_stop
                and is_begun
                and (self._is_enough or budgets.is_used_up(group))
            ):
                break
            if budgets.is_used_up(group):
                raise TooManyRequests(
                    "This condition takes too long for so many records; wait, or ask for less.",
                    retry_after_s=10,
                )
            await read_with_archive(self._database, device_replay.step)
            if device_replay.is_evaluable:
                await self._computing.threads.run(group, device_replay.evaluate, budgets)
            page.records = before + device_replay.looked_at
        page.failed += device_replay.failed
        self._narrow(device_replay.begins_at)
        return None if device_replay.is_done else device_replay.begin

    def _narrow(self, begins_at: Moment | None) -> None:
        """Say from when on all records of the devices are there."""
        if begins_at is not None and begins_at > self._backtest.begin:
            self.page.examined_from = max(begins_at, self.page.examined_from or begins_at)


def _open_position(request: PageRequest) -> tuple[str, int, _Carried | None]:
    """The group and the device to begin with, and what is known of that already."""
    if request.after is None:
        return "", 0, None
    group, number, text = request.after
    carried = msgspec.json.decode(str(text), type=_Carried) if text else None
    return str(group), int(number), carried
