"""Spans begin where a clock on the wall says so: compared with asking that clock every quarter."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import DAY, HOUR, SECOND, Moment
from longwire.dates import format_date, parse_date
from longwire.measurements.calendar_spans import QUARTER, CalendarSpan, list_boundaries

ZONES = [
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Asia/Kolkata",  # half an hour
    "Asia/Kathmandu",  # three quarters
    "Australia/Lord_Howe",  # changes by half an hour
    "America/Havana",  # changes at midnight
    "America/Santiago",
    "Africa/Casablanca",  # changes around Ramadan
    "Pacific/Apia",  # left out a day in 2011
]


def ask_the_clock(moment: Moment, span: CalendarSpan, zone: ZoneInfo) -> object:
    """What the span of a moment is called."""
    local = datetime.fromtimestamp(moment // SECOND, UTC).astimezone(zone)
    if span is CalendarSpan.HOUR:
        return local.date(), local.hour, local.utcoffset()
    if span is CalendarSpan.DAY:
        return local.date()
    if span is CalendarSpan.WEEK:
        return local.date() - timedelta(days=local.weekday())
    return (local.year, local.month) if span is CalendarSpan.MONTH else local.year


def walk(begin: Moment, end: Moment, span: CalendarSpan, zone: ZoneInfo) -> list[Moment]:
    first, last = begin - begin % QUARTER, end
    name = ask_the_clock(first, span, zone)
    while ask_the_clock(first - QUARTER, span, zone) == name:
        first -= QUARTER
    found, at = [first], first
    while at < last:
        at += QUARTER
        following = ask_the_clock(at, span, zone)
        if following != name:
            found.append(at)
            name = following
            last = max(at, end)
            if at >= end:
                return found
        elif at >= last:
            last = at + QUARTER
    return found


@given(
    st.sampled_from(ZONES),
    st.sampled_from([CalendarSpan.HOUR, CalendarSpan.DAY, CalendarSpan.WEEK, CalendarSpan.MONTH]),
    st.integers(parse_date("1995-01-01") // SECOND, parse_date("2037-01-01") // SECOND),
    st.integers(1, 9 * DAY // SECOND),
)
def test_spans_are_those_of_a_clock_on_the_wall(
    zone_name: str, span: CalendarSpan, begin_s: int, length_s: int
) -> None:
    begin, zone = begin_s * SECOND, ZoneInfo(zone_name)
    end = begin + length_s * SECOND
    assert list_boundaries(begin, end, span, zone) == walk(begin, end, span, zone)


@pytest.mark.parametrize(
    ("zone_name", "span", "begin", "end", "lengths"),
    [
        ("Europe/Paris", "day", "2026-03-28T23:00:00Z", "2026-03-30T22:00:00Z", [23, 24]),
        ("Europe/Paris", "day", "2026-10-24T22:00:00Z", "2026-10-26T23:00:00Z", [25, 24]),
        ("Europe/Paris", "hour", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z", [1, 1]),
        ("Asia/Kolkata", "hour", "2026-01-01T00:31:00Z", "2026-01-01T01:30:00Z", [1]),
        ("Asia/Kolkata", "hour", "2026-01-01T00:29:00Z", "2026-01-01T00:31:00Z", [1, 1]),
        (
            "Australia/Lord_Howe",
            "hour",
            "2026-04-04T14:00:00Z",
            "2026-04-04T16:00:00Z",
            [1, 0.5, 1],
        ),
        ("Europe/Paris", "week", "2026-03-29T12:00:00Z", "2026-03-29T13:00:00Z", [7 * 24 - 1]),
        ("Europe/Paris", "month", "2026-02-10T00:00:00Z", "2026-03-02T00:00:00Z", [672, 743]),
        ("Europe/Paris", "year", "2026-02-10T00:00:00Z", "2026-03-02T00:00:00Z", [8760]),
        ("Pacific/Apia", "day", "2011-12-29T11:00:00Z", "2011-12-30T11:00:00Z", [24, 24]),
    ],
)
def test_spans_are_as_long_as_they_are(
    zone_name: str, span: str, begin: str, end: str, lengths: list[float]
) -> None:
    found = list_boundaries(
        parse_date(begin), parse_date(end), CalendarSpan(span), ZoneInfo(zone_name)
    )
    shown = [format_date(each) for each in found]
    assert [(b - a) / HOUR for a, b in pairwise(found)] == lengths, shown
    assert found[0] <= parse_date(begin) < found[1]
    assert found[-2] < parse_date(end) <= found[-1]
