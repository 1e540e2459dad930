"""Dates: accepted and refused formats, and the one that is returned."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longwire.clock import DAY, MILLISECOND, SECOND
from longwire.dates import (
    format_date,
    format_optional_date,
    parse_date,
    parse_range_end,
    to_epoch_seconds,
)

HALF_PAST_EIGHT = 1_794_731_400 * SECOND  # 2026-11-15T08:30:00Z
MIDNIGHT = 1_794_700_800 * SECOND  # 2026-11-15T00:00:00Z
FIRST = -62_135_596_800 * SECOND  # 0001-01-01T00:00:00Z
LAST = 253_402_300_800 * SECOND - 1  # the last microsecond of the year 9999

FORMATS = {
    # with an offset
    "2026-11-15T08:30:00Z": HALF_PAST_EIGHT,
    "2026-11-15t08:30:00z": HALF_PAST_EIGHT,
    "2026-11-15 08:30:00Z": HALF_PAST_EIGHT,
    "2026-11-15T08:30:00+00:00": HALF_PAST_EIGHT,
    "2026-11-15T08:30:00-00:00": HALF_PAST_EIGHT,
    "2026-11-15T14:00:00+05:30": HALF_PAST_EIGHT,
    "2026-11-14T23:30:00-09:00": HALF_PAST_EIGHT,
    "2026-11-16T08:29:00+23:59": HALF_PAST_EIGHT,
    "2026-11-15T08:30Z": HALF_PAST_EIGHT,
    # fractions of a second, down to microseconds
    "2026-11-15T08:30:00.5Z": HALF_PAST_EIGHT + 500_000,
    "2026-11-15T08:30:00,5Z": HALF_PAST_EIGHT + 500_000,
    "2026-11-15T08:30:00.123Z": HALF_PAST_EIGHT + 123_000,
    "2026-11-15T08:30:00.123456+00:00": HALF_PAST_EIGHT + 123_456,
    "2026-11-15T08:30:00.123456789Z": HALF_PAST_EIGHT + 123_456,
    # without an offset it is UTC
    "2026-11-15T08:30:00": HALF_PAST_EIGHT,
    "2026-11-15 08:30:00.000001": HALF_PAST_EIGHT + 1,
    "2026-11-15T08:30": HALF_PAST_EIGHT,
    "2026-11-15": MIDNIGHT,
    # seconds and milliseconds since 1970
    "1794731400": HALF_PAST_EIGHT,
    "1794731400.25": HALF_PAST_EIGHT + 250_000,
    "1794731400000": HALF_PAST_EIGHT,
    "1794731400123": HALF_PAST_EIGHT + 123_000,
    "1794731400123.456": HALF_PAST_EIGHT + 123_456,
    "0": 0,
    "2026": 2_026 * SECOND,  # not a year
    "-1": -SECOND,
    "99999999999": 99_999_999_999 * SECOND,  # the largest number of seconds
    "100000000000": 100_000_000_000 * MILLISECOND,  # the smallest number of milliseconds
    "-100000000000": -100_000_000_000 * MILLISECOND,
    # the ends of the calendar
    "0001-01-01": FIRST,
    "1969-12-31T23:59:59.999999Z": -1,
    "2024-02-29": 1_709_164_800 * SECOND,
    "9999-12-31T23:59:59.999999Z": LAST,
}

WRONG = [
    "",
    " ",
    "now",
    "null",
    "2026-11",
    "2026-11-15T",
    "2026-11-15T08",
    "2026-11-15T08:30:00ZZ",
    "2026-11-15T08:30:00 Z",
    " 2026-11-15",
    "2026-11-15\n",
    "2026-11-15T08:30:00.Z",
    "2026-11-15T08:30:00.1234567890Z",
    "2026-11-15T08:30:00+0100",
    "2026-11-15T08:30:00+1:00",
    "2026-11-15T08:30:00+24:00",
    "2026-11-15T08:30:00 UTC",
    "2026-11-15Z",
    "20261115T083000Z",
    "2026-W46-7",
    "2026-319",
    "15.11.2026",
    "11/15/2026",
    "26-11-15",
    "+2026-11-15",
    "-2026-11-15",
    "2026-02-29",
    "2026-13-01",
    "2026-00-10",
    "2026-11-31",
    "2026-11-15T24:00:00Z",
    "2026-11-15T08:60:00Z",
    "2026-11-15T23:59:60Z",  # a leap second has no Unix timestamp
    "0000-01-01",
    "0001-01-01T00:00:00+01:00",  # before the year 1 in UTC
    "9999-12-31T23:59:59-01:00",  # in the year 10000 in UTC
    "1e9",
    "0x10",
    "1_000",
    "1,5",
    "+5",
    ".5",
    "5.",
    "inf",
    "nan",
    "253402300800000",  # the first millisecond of the year 10000
    "1794731400000000",  # microseconds
    "9" * 5_000,
    "\u0662\u0660\u0662\u0666-\u0661\u0661-\u0661\u0665",  # non-ASCII digits
    "\u0661\u0667\u0669\u0664\u0667\u0663\u0661\u0664\u0660\u0660",
    "2026-11-15T08:3\u0660:00Z",
]


@pytest.mark.parametrize(("text", "moment"), FORMATS.items())
def test_a_date_is_accepted_in_every_usual_format(text: str, moment: int) -> None:
    assert parse_date(text) == moment


@pytest.mark.parametrize("text", WRONG)
def test_an_invalid_date_is_refused_with_a_message(text: str) -> None:
    with pytest.raises(ValueError, match=r"^is not a valid date"):
        parse_date(text)


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        (1_794_731_400, HALF_PAST_EIGHT),
        (1_794_731_400.0, HALF_PAST_EIGHT),
        (1_794_731_400.123456, HALF_PAST_EIGHT + 123_456),
        (1_794_731_400_123, HALF_PAST_EIGHT + 123_000),
        (1_794_731_400_123.456, HALF_PAST_EIGHT + 123_456),
        (0, 0),
        (-0.0, 0),
        (-1.5, -1_500_000),
        (253_402_300_799_999, LAST + 1 - MILLISECOND),
    ],
)
def test_a_number_is_seconds_or_milliseconds(number: float, moment: int) -> None:
    assert parse_date(number) == moment


@pytest.mark.parametrize(
    "number",
    [
        253_402_300_800_000,
        -62_135_596_800_001,
        10**15,
        -(10**15),
        10**400,
        1e300,
        float("inf"),
        float("nan"),
    ],
)
def test_a_number_outside_the_calendar_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match=r"^is not a valid date"):
        parse_date(number)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("2026-11-15", MIDNIGHT + DAY),  # to the end of that day
        ("9999-12-31", LAST + 1),
        ("2026-11-15T00:00:00Z", MIDNIGHT),
        ("2026-11-15T00:00", MIDNIGHT),
        ("2026-11-15T08:30:00.5Z", HALF_PAST_EIGHT + 500_000),
        ("1794700800", MIDNIGHT),  # as long as a date, but not one
        ("-179470080", -179_470_080 * SECOND),
        ("1794700800000", MIDNIGHT),
    ],
)
def test_only_a_date_alone_ends_a_range_with_its_day(text: str, end: int) -> None:
    assert parse_range_end(text) == end


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (HALF_PAST_EIGHT, "2026-11-15T08:30:00.000Z"),
        (HALF_PAST_EIGHT + 59 * SECOND + 999_000, "2026-11-15T08:30:59.999Z"),
        (HALF_PAST_EIGHT + 120_000, "2026-11-15T08:30:00.120Z"),
        (HALF_PAST_EIGHT + 123_456, "2026-11-15T08:30:00.123456Z"),
        (HALF_PAST_EIGHT + 1, "2026-11-15T08:30:00.000001Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (FIRST, "0001-01-01T00:00:00.000Z"),
        (LAST, "9999-12-31T23:59:59.999999Z"),
    ],
)
def test_a_date_is_formatted_in_utc_with_microseconds_only_if_not_zero(
    moment: int, text: str
) -> None:
    assert format_date(moment) == text


@given(st.integers(FIRST, LAST))
def test_a_formatted_date_can_be_parsed(moment: int) -> None:
    assert parse_date(format_date(moment)) == moment


@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),  # noqa: DTZ001 (the zone is added)
    st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59)),
)
def test_every_offset_gives_the_same_instant(when: datetime, offset: timedelta) -> None:
    minutes = round(offset / timedelta(minutes=1))
    sign = "-" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)
    local = (when + timedelta(minutes=minutes)).isoformat()
    meant = (when.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )
    assert parse_date(f"{local}{sign}{hours:02}:{rest:02}") == meant


def test_an_unknown_date_is_left_out() -> None:
    assert format_optional_date(None) is None
    assert format_optional_date(HALF_PAST_EIGHT) == "2026-11-15T08:30:00.000Z"
    assert to_epoch_seconds(None) is None
    assert to_epoch_seconds(HALF_PAST_EIGHT + 999_999) == HALF_PAST_EIGHT // SECOND
