"""Hours, days, weeks, months and years as people in a time zone have them.

A span begins where the clock on the wall says so: a day of a change of summer time has 23 or 25
hours, and an hour of Mumbai begins at half past in UTC. Every boundary falls on a quarter of an
hour, as the offsets of all time zones have done for decades.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from longwire.clock import DAY, HOUR, MINUTE, SECOND, Moment
from longwire.dataclass import dataclass

QUARTER: Moment = 15 * MINUTE

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_ONE_DAY = timedelta(days=1)
_MONTHS_PER_YEAR = 12


@dataclass(frozen=True, slots=True)
class Spans:
    """A period, and where its spans begin; the first and the last may reach beyond it."""

    begin: Moment
    end: Moment
    boundaries: Sequence[Moment]  # one more than there are spans
    previous: Moment  # where the span before the first one begins

    def __len__(self) -> int:
        return len(self.boundaries) - 1


def list_even(begin: Moment, end: Moment, span: Moment) -> Spans:
    """Spans of one length; the first begins with the period, the last may end later."""
    return Spans(begin, end, range(begin, end + span, span), begin - span)


class CalendarSpan(StrEnum):
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"  # from Monday on
    MONTH = "month"
    YEAR = "year"


# A span is never shorter, but for an hour that a change of time cuts.
LENGTHS: dict[CalendarSpan, Moment] = {
    CalendarSpan.HOUR: HOUR,
    CalendarSpan.DAY: 23 * HOUR,
    CalendarSpan.WEEK: 7 * DAY - HOUR,
    CalendarSpan.MONTH: 28 * DAY - HOUR,
    CalendarSpan.YEAR: 365 * DAY - HOUR,
}


def list_boundaries(begin: Moment, end: Moment, span: CalendarSpan, zone: ZoneInfo) -> list[Moment]:
    """Where the spans that have a part of a period begin, and where the last one ends."""
    if span is CalendarSpan.HOUR:
        return _list_hours(begin, end, zone)
    boundaries: list[Moment] = []
    for day in _list_dates(_to_local(begin, zone).date(), span):
        moment = _begin_of(day, zone)
        # A day that a country left out has no length.
        if not boundaries or moment > boundaries[-1]:
            boundaries.append(moment)
        if moment >= end:
            return boundaries
    return boundaries


def _list_dates(first: date, span: CalendarSpan) -> Iterator[date]:
    if span is CalendarSpan.DAY or span is CalendarSpan.WEEK:
        is_day = span is CalendarSpan.DAY
        day = first if is_day else first - first.weekday() * _ONE_DAY
        while True:
            yield day
            day += _ONE_DAY if is_day else 7 * _ONE_DAY
    months = 1 if span is CalendarSpan.MONTH else _MONTHS_PER_YEAR
    index = first.year * _MONTHS_PER_YEAR + (first.month - 1 if months == 1 else 0)
    while True:
        yield date(index // _MONTHS_PER_YEAR, index % _MONTHS_PER_YEAR + 1, 1)
        index += months


def _begin_of(day: date, zone: ZoneInfo) -> Moment:
    """The first moment of a day; where its midnight is left out, when the clock is changed."""
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    return (midnight - _EPOCH) // _MICROSECOND


def _list_hours(begin: Moment, end: Moment, zone: ZoneInfo) -> list[Moment]:
    offset = _offset(begin, zone)
    at = begin - (begin + offset) % HOUR
    while _offset(at, zone) != offset:  # the clock was changed within this hour
        at += QUARTER
    boundaries = [at]
    while at < end:
        offset = _offset(at, zone)
        following = at + HOUR - (at + offset) % HOUR
        if _offset(following, zone) != offset:
            at += QUARTER - at % QUARTER
            while _offset(at, zone) == offset:
                at += QUARTER
        elif following + DAY <= end and _offset(following + DAY, zone) == offset:
            boundaries += range(following, following + DAY, HOUR)
            at = following + DAY
        else:
            at = following
        boundaries.append(at)
    return boundaries


def _offset(moment: Moment, zone: ZoneInfo) -> Moment:
    offset = _to_local(moment, zone).utcoffset()
    return 0 if offset is None else offset // _MICROSECOND


def _to_local(moment: Moment, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(moment // SECOND, zone)
