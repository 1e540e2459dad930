"""Schedules: a day of the week, on a clock that is put forward and back."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from longwire.clock import SECOND, Moment
from longwire.notifications import schedules
from longwire.notifications.schedules import Schedule, ScheduleTime, is_open

MONDAY, TUESDAY, SATURDAY, SUNDAY = 1, 2, 6, 7


def moment(text: str, zone: str = "UTC", fold: int = 0) -> Moment:
    shown = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold)
    return int(shown.timestamp() * SECOND)


def clock(text: str | None) -> ScheduleTime | None:
    if text is None:
        return None
    hours, minutes, *seconds = map(int, text.split(":"))
    return ScheduleTime(hours=hours, minutes=minutes, secondes=seconds[0] if seconds else None)


def on(day: int, begin: str | None = None, end: str | None = None) -> Schedule:
    return Schedule(day=day, begin=clock(begin), end=clock(end))


# 2026-11-16 is a Monday.
@pytest.mark.parametrize(
    "schedule, at, expected",
    [
        # the whole day
        (on(MONDAY), "2026-11-15T23:59:59.999999", False),
        (on(MONDAY), "2026-11-16T00:00:00", True),
        (on(MONDAY), "2026-11-16T23:59:59.999999", True),
        (on(MONDAY), "2026-11-17T00:00:00", False),
        # Sunday has two numbers
        (on(0), "2026-11-15T12:00:00", True),
        (on(SUNDAY), "2026-11-15T12:00:00", True),
        (on(0), "2026-11-16T12:00:00", False),
        # a span: the beginning belongs to it, the end does not
        (on(MONDAY, "08:00", "17:30"), "2026-11-16T07:59:59", False),
        (on(MONDAY, "08:00", "17:30"), "2026-11-16T08:00:00", True),
        (on(MONDAY, "08:00", "17:30"), "2026-11-16T17:29:59.999999", True),
        (on(MONDAY, "08:00", "17:30"), "2026-11-16T17:30:00", False),
        (on(MONDAY, "08:00", "17:30"), "2026-11-17T12:00:00", False),
        (on(MONDAY, "08:00:10", "08:00:20"), "2026-11-16T08:00:15", True),
        (on(MONDAY, "08:00:10", "08:00:20"), "2026-11-16T08:00:09", False),
        # one end alone
        (on(MONDAY, begin="18:00"), "2026-11-16T17:59:59", False),
        (on(MONDAY, begin="18:00"), "2026-11-16T23:59:59", True),
        (on(MONDAY, begin="18:00"), "2026-11-17T00:00:00", False),
        (on(MONDAY, end="06:00"), "2026-11-15T23:59:59", False),
        (on(MONDAY, end="06:00"), "2026-11-16T05:59:59", True),
        (on(MONDAY, end="06:00"), "2026-11-16T06:00:00", False),
        # past midnight, also from one week into the next
        (on(MONDAY, "22:00", "06:00"), "2026-11-16T05:00:00", False),
        (on(MONDAY, "22:00", "06:00"), "2026-11-16T22:00:00", True),
        (on(MONDAY, "22:00", "06:00"), "2026-11-17T05:59:59", True),
        (on(MONDAY, "22:00", "06:00"), "2026-11-17T06:00:00", False),
        (on(SUNDAY, "22:00", "06:00"), "2026-11-16T03:00:00", True),
        (on(MONDAY, "22:00", "00:00"), "2026-11-16T23:59:59", True),
        (on(MONDAY, "22:00", "00:00"), "2026-11-17T00:00:00", False),
        # the same time twice is a day from then on
        (on(MONDAY, "00:00", "00:00"), "2026-11-16T12:00:00", True),
        (on(MONDAY, "09:00", "09:00"), "2026-11-17T08:59:59", True),
        (on(MONDAY, "09:00", "09:00"), "2026-11-17T09:00:00", False),
    ],
)
def test_a_schedule_in_utc(schedule, at, expected):
    assert is_open(schedule, "UTC", moment(at)) is expected


@pytest.mark.parametrize(
    "schedule, zone, at, expected",
    [
        # Sunday in Paris begins while it is Saturday in UTC
        (on(SUNDAY), "Europe/Paris", "2026-11-14T23:30:00", True),
        (on(SUNDAY), "America/New_York", "2026-11-15T04:30:00", False),
        # Half past two does not exist when clocks go forward: 2:00 is 3:00, or 1:00 in UTC
        (on(SUNDAY, "02:30", "05:00"), "Europe/Paris", "2026-03-29T00:59:59", False),
        (on(SUNDAY, "02:30", "05:00"), "Europe/Paris", "2026-03-29T01:00:00", True),
        (on(SUNDAY, "02:30", "05:00"), "Europe/Paris", "2026-03-29T02:59:59", True),
        (on(SUNDAY, "02:30", "05:00"), "Europe/Paris", "2026-03-29T03:00:00", False),
        (on(SUNDAY, "01:00", "02:30"), "Europe/Paris", "2026-03-29T00:59:59", True),
        (on(SUNDAY, "01:00", "02:30"), "Europe/Paris", "2026-03-29T01:00:00", False),
        (on(SUNDAY, "02:10", "02:50"), "Europe/Paris", "2026-03-29T01:00:00", False),
        # Half past two comes twice when they go back: at 0:30 and at 1:30 in UTC
        (on(SUNDAY, "02:30", "05:00"), "Europe/Paris", "2026-10-25T00:29:59", False),
        (on(SUNDAY, "02:30", "05:00"), "Europe/Paris", "2026-10-25T00:30:00", True),
        (on(SUNDAY, "02:30", "05:00"), "Europe/Paris", "2026-10-25T01:15:00", True),
        (on(SUNDAY, "01:00", "02:30"), "Europe/Paris", "2026-10-25T00:45:00", True),
        (on(SUNDAY, "01:00", "02:30"), "Europe/Paris", "2026-10-25T01:29:59", True),
        (on(SUNDAY, "01:00", "02:30"), "Europe/Paris", "2026-10-25T01:30:00", False),
        (on(SATURDAY, "22:00", "06:00"), "Europe/Paris", "2026-10-25T04:59:59", True),
        (on(SATURDAY, "22:00", "06:00"), "Europe/Paris", "2026-10-25T05:00:00", False),
        # A day that begins at one o'clock: midnight is skipped in Beirut
        (on(SUNDAY), "Asia/Beirut", "2026-03-28T21:59:59", False),
        (on(SUNDAY), "Asia/Beirut", "2026-03-28T22:00:00", True),
        # A day that begins twice: midnight to one comes again in Havana
        (on(SUNDAY), "America/Havana", "2026-11-01T03:59:59", False),
        (on(SUNDAY), "America/Havana", "2026-11-01T04:00:00", True),
        (on(SATURDAY), "America/Havana", "2026-11-01T04:00:00", False),
        # A Friday that Samoa did without
        (on(5), "Pacific/Apia", "2011-12-30T10:30:00", False),
        (on(6), "Pacific/Apia", "2011-12-30T10:30:00", True),
    ],
)
def test_a_schedule_on_the_clocks_of_a_zone(schedule, zone, at, expected):
    assert is_open(schedule, zone, moment(at)) is expected


ZONES = st.sampled_from(
    ["UTC", "Europe/Paris", "America/Havana", "Asia/Beirut", "Australia/Lord_Howe", "Asia/Kolkata"]
)
TIMES = st.builds(
    ScheduleTime, hours=st.integers(0, 23), minutes=st.integers(0, 59), secondes=st.integers(0, 59)
)
MOMENTS = st.integers(
    moment("2025-01-01") // SECOND // 60, moment("2028-01-01") // SECOND // 60
).map(lambda minutes: minutes * 60 * SECOND)


@given(st.integers(0, 7), st.none() | TIMES, st.none() | TIMES, ZONES, MOMENTS)
def test_away_from_changes_a_schedule_is_what_the_clock_shows(day, begin, end, zone, at):
    shown = datetime.fromtimestamp(at // SECOND, UTC).astimezone(ZoneInfo(zone))
    assume((shown - timedelta(hours=30)).utcoffset() == (shown + timedelta(hours=30)).utcoffset())
    first = (begin.hours, begin.minutes, begin.secondes) if begin else (0, 0, 0)
    last = (end.hours, end.minutes, end.secondes) if end else (24, 0, 0)
    now = (shown.hour, shown.minute, shown.second)
    is_day = shown.isoweekday() == (day or 7)
    is_day_after = (shown.isoweekday() + 5) % 7 + 1 == (day or 7)
    if first < last:
        expected = is_day and first <= now < last
    else:
        expected = (is_day and now >= first) or (is_day_after and now < last)
    assert is_open(Schedule(day=day, begin=begin, end=end), zone, at) is expected


@given(ZONES, MOMENTS)
def test_at_every_moment_it_is_exactly_one_day(zone, at):
    assert sum(is_open(on(day), zone, at) for day in range(1, 8)) == 1


def test_a_schedule_is_kept_in_the_words_it_came_in():
    text = '{"Day":1,"From":{"Hours":8,"Minutes":0},"To":{"Hours":17,"Minutes":30,"Secondes":0}}'
    schedule = schedules.decode_schedule(text)
    assert schedules.encode_schedule(schedule) == text
    assert schedules.encode_schedule(schedules.decode_schedule('{"Day":0}')) == '{"Day":0}'


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"Day":8}',
        '{"Day":-1}',
        '{"Day":1,"From":{"Hours":24,"Minutes":0}}',
        '{"Day":1,"From":{"Hours":8}}',
        '{"Day":1,"To":{"Hours":8,"Minutes":60}}',
        '{"Day":1,"To":{"Hours":8,"Minutes":0,"Secondes":60}}',
    ],
)
def test_what_is_no_schedule_is_refused(text):
    with pytest.raises(msgspec.ValidationError):
        schedules.decode_schedule(text)


@pytest.mark.parametrize(
    "name, is_known",
    [
        ("Europe/Paris", True),
        ("UTC", True),
        ("Etc/GMT+5", True),
        ("europe/paris", False),
        ("Europe", False),
        ("Mars/Olympus", False),
        ("../../etc/passwd", False),
        ("/etc/localtime", False),
        ("a\0b", False),
    ],
)
def test_a_zone_has_the_name_that_the_world_knows(name, is_known):
    assert (schedules.check_timezone(name) is None) is is_known


def test_a_zone_that_this_machine_does_not_know_is_utc():
    assert is_open(on(MONDAY), "Mars/Olympus", moment("2026-11-16T00:00:00")) is True
