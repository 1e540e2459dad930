"""When a notification may be sent: one day of the week, and a span of it, on somebody's clock.

A schedule is kept and answered in the words of the interface. What it means is a span between two
instants: from the first time that the clock shows the beginning until the last time that it shows
the end. So an hour that a clock has twice belongs to the span both times, and one that it skips is
the moment at which it does so.
"""

import functools
import zoneinfo
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from longwire.clock import SECOND, Moment

SUNDAY = 7
MIDNIGHT = time(0)
A_DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INSTANTS_REMEMBERED_MAX = 4_096


class Time(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, rename="pascal"):
    """A time of the day."""

    hours: Annotated[int, Meta(ge=0, le=23)]
    minutes: Annotated[int, Meta(ge=0, le=59)]
    secondes: Annotated[int, Meta(ge=0, le=59)] | None = None  # as the interface has it


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A day of the week and a span of it."""

    day: Annotated[
        int, Meta(ge=0, le=SUNDAY, description="1 to 7 for Monday to Sunday; 0 is Sunday, too.")
    ] = msgspec.field(name="Day")
    begin: Time | None = msgspec.field(name="From", default=None)
    end: Time | None = msgspec.field(name="To", default=None)


def as_text(schedule: Schedule) -> str:
    return msgspec.json.encode(schedule).decode()


def of_text(text: str) -> Schedule:
    return msgspec.json.decode(text, type=Schedule)


def is_open(schedule: Schedule, timezone: str, moment: Moment) -> bool:
    """Whether this moment lies within the schedule, on a clock of this zone."""
    zone = zone_of(timezone)
    today = (EPOCH + timedelta(seconds=moment // SECOND)).astimezone(zone).date()
    # What begins on one day may end on the next.
    for day in (today, today - A_DAY):
        if day.isoweekday() == (schedule.day or SUNDAY):
            begin, end = _span(schedule, day, zone)
            if begin <= moment // SECOND < end:
                return True
    return False


def timezone_problem(name: str) -> str | None:
    if name in _known_zones():
        return None
    return "is no time zone that is known here; name it like Europe/Paris"


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """The zone by this name; UTC where this machine does not know one that another did."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return zoneinfo.ZoneInfo("UTC")


@functools.cache
def _known_zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _span(schedule: Schedule, day: date, zone: zoneinfo.ZoneInfo) -> tuple[int, int]:
    """Beginning and end of the schedule on a day, in seconds since 1970."""
    begin = MIDNIGHT if schedule.begin is None else _time(schedule.begin)
    first = _instant(day, begin, zone, last=False)
    if schedule.end is None:
        return first, _instant(day + A_DAY, MIDNIGHT, zone, last=False)
    end = _time(schedule.end)
    end_day = day if begin < end else day + A_DAY
    return first, _instant(end_day, end, zone, last=end != MIDNIGHT)


def _time(given: Time) -> time:
    return time(given.hours, given.minutes, given.secondes or 0)


@functools.lru_cache(maxsize=INSTANTS_REMEMBERED_MAX)
def _instant(day: date, at: time, zone: zoneinfo.ZoneInfo, *, last: bool) -> int:
    """When the clock shows this, the first or the last time; or when it skips it."""
    shown = datetime.combine(day, at)
    # What these two say differs when the clock is changed; see PEP 495.
    one, other = (
        (shown.replace(tzinfo=zone, fold=fold) - EPOCH) // timedelta(seconds=1) for fold in (0, 1)
    )
    if one <= other:
        return other if last else one
    while one - other > 1:
        middle = (one + other) // 2
        if _shows(zone, middle) < shown:
            other = middle
        else:
            one = middle
    return one


def _shows(zone: zoneinfo.ZoneInfo, seconds: int) -> datetime:
    return (EPOCH + timedelta(seconds=seconds)).astimezone(zone).replace(tzinfo=None)
