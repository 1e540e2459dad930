"""Periods of time that are read from summaries or from records, and ranges within them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from longwire.clock import DAY, Moment
from longwire.fleet.summaries import Range
from longwire.measurements.calendar_spans import QUARTER, Spans
from longwire.measurements.summaries import DAYS_PER_PAGE, Row

# How far back the last number before a period is looked for in what may still be due.
LOOK_BACK: Moment = 2 * DAY
_NO_CUTS: Set[Moment] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadPeriod:
    """From when to when numbers are read, and where summaries do not fit."""

    spans: Spans
    begin: Moment  # earlier than the spans if the last number before them is wanted
    end: Moment
    cuts: Sequence[Moment]  # where spans begin
    # By the day: the span that begins within it; 0 if there are several, or the period itself
    # begins or ends there.
    cut_of_day: Mapping[int, Moment]
    # The same by the page of days: at which times of a day; None where days have 0.
    cuts_of_page: Mapping[int, Set[Moment] | None]
    cut_quarters: Sequence[Range]  # which are read from records

    @property
    def days(self) -> range:
        return range(self.begin // DAY, -(-self.end // DAY))

    @property
    def cuts_days(self) -> bool:
        return bool(self.cut_of_day)

    def is_page_whole(self, page: int, first_quarters: bytes, last_quarters: bytes) -> bool:
        """Whether what lies between two quarters of each day of a page belongs to one span."""
        cuts = self.cuts_of_page.get(page, _NO_CUTS)
        if not cuts:
            return cuts is not None
        begin, end = min(first_quarters) * QUARTER, (max(last_quarters) + 1) * QUARTER
        return all(cut <= begin or cut >= end for cut in cuts)

    def is_whole(self, day: int, begin: Moment, end: Moment) -> bool:
        """Whether what lies between two moments of a day belongs to one span."""
        cut = self.cut_of_day.get(day)
        if cut is None:
            return True
        if cut:
            return cut <= begin or cut >= end
        if begin < self.begin or end > self.end:
            return False
        return bisect_right(self.cuts, begin) == bisect_left(self.cuts, end)


class SpanPlaces(dict[Moment, int]):
    """In which span a moment lies; remembered, since devices report at the same times."""

    def __init__(self, spans: Spans) -> None:
        super().__init__()
        self._boundaries = spans.boundaries

    def __missing__(self, moment: Moment) -> int:
        place = self[moment] = bisect_right(self._boundaries, moment) - 1
        return place


def plan_period(spans: Spans, *, is_counter: bool) -> ReadPeriod:
    begin, end = spans.begin, spans.end
    if is_counter:
        begin -= begin % QUARTER + LOOK_BACK
    cuts = sorted({spans.begin, *spans.boundaries[1:-1]})
    moments = (begin, *cuts, end)
    cut = [(each, each + 1) for each in moments if each % QUARTER]
    quarters = clip_ranges(cut, QUARTER, begin, end)
    cut_of_day: dict[int, Moment] = {}
    for each in cuts:
        if each % DAY:
            day = each // DAY
            cut_of_day[day] = 0 if day in cut_of_day else each
    cut_of_day |= {each // DAY: 0 for each in (begin, end) if each % DAY}
    cuts_of_page: dict[int, set[Moment] | None] = {}
    for day, cut_at in cut_of_day.items():
        times = cuts_of_page.setdefault(day // DAYS_PER_PAGE, set())
        if not cut_at:
            cuts_of_page[day // DAYS_PER_PAGE] = None
        elif times is not None:
            times.add(cut_at % DAY)
    return ReadPeriod(spans, begin, end, cuts, cut_of_day, cuts_of_page, quarters)


def clip_ranges(ranges: Iterable[Range], unit: Moment, begin: Moment, end: Moment) -> list[Range]:
    """Ranges widened to whole units, as far as they are in a period."""
    wide = [(one - one % unit, two + -two % unit) for one, two in ranges]
    clipped = [(max(one, begin), min(two, end)) for one, two in wide]
    return join_ranges([each for each in clipped if each[0] < each[1]])


def join_ranges(ranges: Sequence[Range]) -> list[Range]:
    """Ranges that touch as one, by time."""
    joined: list[Range] = []
    for begin, end in sorted(ranges):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def list_overlaps(lists: Iterable[Sequence[Range]]) -> list[Range]:
    """What lies in ranges of more than one list; those of a list do not touch each other."""
    moments = sorted(
        moment for some in lists for begin, end in some for moment in ((begin, 1), (end, -1))
    )
    overlaps: list[Range] = []
    depth = 0
    for (at, step), (following, _) in pairwise(moments):
        depth += step
        if depth > 1 and at < following:
            overlaps.append((at, following))
    return join_ranges(overlaps)


def list_runs(days: Sequence[int]) -> list[tuple[int, int]]:
    """Numbers that follow each other, as ranges."""
    runs: list[tuple[int, int]] = []
    for day in days:
        if runs and runs[-1][1] == day:
            runs[-1] = (runs[-1][0], day + 1)
        else:
            runs.append((day, day + 1))
    return runs


def leave_out(row: Row, begin: Moment, end: Moment, ranges: Sequence[Range]) -> Iterator[Row]:
    """The parts of a row in a period, without what is read from records."""
    at = begin
    for left_out_begin, left_out_end in (*ranges, (end, end)):
        first, last = bisect_left(row.begins, at), bisect_left(row.begins, left_out_begin)
        if first < last:
            yield Row._make(column[first:last] for column in row)
        at = max(at, left_out_end)
