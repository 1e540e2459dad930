"""When a report is due, and which period it is about; pure.

Due is the first moment at which the clock on the wall shows the time, or at which it is past it:
02:30 on the day on which the clock goes from two to three is three o'clock.
"""

import zoneinfo
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from longwire.clock import SECOND, Moment
from longwire.notifications.schedules import find_instant, get_zone

EVERY = ("day", "week", "month")
_ONE_DAY = timedelta(days=1)
_DAYS_PER_MONTH_MAX = 31


@dataclass(frozen=True, slots=True)
class ReportSchedule:
    """How often, and at which time of the day in a time zone."""

    every: str
    at: time
    timezone: str

    @property
    def zone(self) -> zoneinfo.ZoneInfo:
        return get_zone(self.timezone)

    def next_due(self, after: Moment) -> Moment:
        """When it is due for the first time behind a moment."""
        days = self._list_days(self._find_day(after))
        return next(due for each in days if (due := self._due_on(each)) > after)

    def last_period(self, at: Moment) -> tuple[date, date]:
        """The last whole day, week or month before the day of a moment: from, and until before."""
        until = self._begin_of(self._find_day(at))
        return self._begin_of(until - _ONE_DAY), until

    def period_due(self, due: Moment, at: Moment) -> tuple[tuple[date, date], int]:
        """The period to send at a moment; how many were due since and are not sent any more."""
        day, missed = self._find_day(due), -1
        for each in self._list_days(day):
            if self._due_on(each) > at:
                break
            if self._due_on(each) >= due:
                day, missed = each, missed + 1
        return (self._begin_of(day - _ONE_DAY), day), max(0, missed)

    def to_moment(self, day: date) -> Moment:
        """When a day begins."""
        return find_instant(day, time(0), self.zone, last=False) * SECOND

    def _find_day(self, moment: Moment) -> date:
        return datetime.fromtimestamp(moment // SECOND, UTC).astimezone(self.zone).date()

    def _due_on(self, day: date) -> Moment:
        return find_instant(day, self.at, self.zone, last=False) * SECOND

    def _list_days(self, first: date) -> Iterator[date]:
        """The days on which it is due, from the one before a day on."""
        day = self._begin_of(first - _ONE_DAY)
        while True:
            yield day
            day = self._following(day)

    def _begin_of(self, day: date) -> date:
        """The first day of the day, week or month."""
        if self.every == "week":
            return day - day.weekday() * _ONE_DAY
        return day.replace(day=1) if self.every == "month" else day

    def _following(self, begin: date) -> date:
        if self.every == "month":
            return (begin + _DAYS_PER_MONTH_MAX * _ONE_DAY).replace(day=1)
        return begin + (7 if self.every == "week" else 1) * _ONE_DAY
