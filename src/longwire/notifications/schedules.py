"""Schedules: when a notification may be sent; a day of the week and a period of it, in a time zone.

A schedule means the period from the first time that local time shows its begin until the last time
that it shows its end. So at a change of daylight saving time, an hour that repeats belongs to the
period both times, and an hour that is skipped shrinks to the instant of the change.
"""

import functools
import zoneinfo
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from longwire.clock import SECOND, Moment

SUNDAY = 7
DAYS_OF_WEEK = 7
MIDNIGHT = time(0)
ONE_DAY = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CACHED_INSTANTS_MAX = 4_096
NEVER = (2**62, 2**62)


class ScheduleTime(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, rename="pascal"):
    """A time of the day."""

    hours: Annotated[int, Meta(ge=0, le=23)]
    minutes: Annotated[int, Meta(ge=0, le=59)]
    secondes: Annotated[int, Meta(ge=0, le=59)] | None = None  # as the interface has it


class Schedule(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A day of the week and a period of it."""

    day: Annotated[
        int, Meta(ge=0, le=SUNDAY, description="1 to 7 for Monday to Sunday; 0 is Sunday, too.")
    ] = msgspec.field(name="Day")
    begin: ScheduleTime | None = msgspec.field(name="From", default=None)
    end: ScheduleTime | None = msgspec.field(name="To", default=None)


def encode_schedule(schedule: Schedule) -> str:
    return msgspec.json.encode(schedule).decode()


def decode_schedule(text: str) -> Schedule:
    return msgspec.json.decode(text, type=Schedule)


def is_open(schedule: Schedule, timezone: str, moment: Moment) -> bool:
    """Whether the schedule contains this moment, in this time zone."""
    zone = get_zone(timezone)
    today = (EPOCH + timedelta(seconds=moment // SECOND)).astimezone(zone).date()
    # A period may end on the day after it begins.
    for day in (today, today - ONE_DAY):
        if day.isoweekday() == (schedule.day or SUNDAY):
            begin, end = _get_period(schedule, day, zone)
            if begin <= moment // SECOND < end:
                return True
    return False


def find_period(schedule: Schedule, timezone: str, moment: Moment) -> tuple[Moment, Moment]:
    """When the schedule is open that contains this moment, or is the next one: begin and end."""
    zone = get_zone(timezone)
    today = (EPOCH + timedelta(seconds=moment // SECOND)).astimezone(zone).date()
    for after in range(-1, 2 * DAYS_OF_WEEK):
        day = today + after * ONE_DAY
        if day.isoweekday() == (schedule.day or SUNDAY):
            begin, end = _get_period(schedule, day, zone)
            if moment // SECOND < end and begin < end:
                return begin * SECOND, end * SECOND
    return NEVER


def check_timezone(name: str) -> str | None:
    """Why the name is invalid; None if it is valid."""
    if name in _known_zones():
        return None
    return "is not a known IANA time zone such as Europe/Paris"


def get_zone(name: str) -> zoneinfo.ZoneInfo:
    """The zone of this name; UTC if this machine does not know it, unlike the one that saved it."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return zoneinfo.ZoneInfo("UTC")


@functools.cache
def _known_zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def _get_period(schedule: Schedule, day: date, zone: zoneinfo.ZoneInfo) -> tuple[int, int]:
    """Begin and end of the schedule on a day, in seconds since 1970."""
    begin = MIDNIGHT if schedule.begin is None else _time(schedule.begin)
    first = find_instant(day, begin, zone, last=False)
    if schedule.end is None:
        return first, find_instant(day + ONE_DAY, MIDNIGHT, zone, last=False)
    end = _time(schedule.end)
    end_day = day if begin < end else day + ONE_DAY
    return first, find_instant(end_day, end, zone, last=end != MIDNIGHT)


def _time(given: ScheduleTime) -> time:
    return time(given.hours, given.minutes, given.secondes or 0)


@functools.lru_cache(maxsize=CACHED_INSTANTS_MAX)
def find_instant(day: date, at: time, zone: zoneinfo.ZoneInfo, *, last: bool) -> int:
    """When local time first or last shows this; if it is skipped, when that happens."""
    shown = datetime.combine(day, at)
    # The two differ when the time is repeated or skipped; see PEP 495.
    one, other = (
        (shown.replace(tzinfo=zone, fold=fold) - EPOCH) // timedelta(seconds=1) for fold in (0, 1)
    )
    if one <= other:
        return other if last else one
    while one - other > 1:
        middle = (one + other) // 2
        if _local_time(zone, middle) < shown:
            other = middle
        else:
            one = middle
    return one


def _local_time(zone: zoneinfo.ZoneInfo, seconds: int) -> datetime:
    return (EPOCH + timedelta(seconds=seconds)).astimezone(zone).replace(tzinfo=None)
