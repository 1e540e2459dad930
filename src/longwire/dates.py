"""Parses and formats dates of the API."""

import functools
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from longwire.clock import DAY, MILLISECOND, MINUTE, SECOND, Moment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUTES_PER_DAY = 1_440
_MICROSECOND = timedelta(microseconds=1)


def format_date(moment: Moment) -> str:
    """RFC 3339 in UTC with milliseconds, with microseconds when there are any."""
    minute, rest = divmod(moment, MINUTE)
    second, micros = divmod(rest, SECOND)
    if micros % 1_000:
        return f"{_minute_text(minute)}{second:02d}.{micros:06d}Z"
    return f"{_minute_text(minute)}{second:02d}.{micros // 1_000:03d}Z"


def format_dates(moments: Iterable[Moment]) -> list[str]:
    """The same of many moments at few times of their days, such as the begins of spans."""
    days: dict[int, str] = {}
    times: dict[int, str] = {}
    texts = []
    for moment in moments:
        day, rest = divmod(moment, DAY)
        if rest not in times:
            times[rest] = format_date(rest).partition("T")[2]
        if day not in days:
            days[day] = _day_text(day)
        texts.append(f"{days[day]}T{times[rest]}")
    return texts


@functools.lru_cache(maxsize=4_096)
def _minute_text(minute: int) -> str:
    """The prefix up to the minute; cached because records of a list share a few of them."""
    day, rest = divmod(minute, _MINUTES_PER_DAY)
    return f"{_day_text(day)}T{rest // 60:02d}:{rest % 60:02d}:"


@functools.lru_cache(maxsize=1_024)
def _day_text(day: int) -> str:
    return (_EPOCH + timedelta(days=day)).strftime("%Y-%m-%d").zfill(10)


# RFC 3339, and its common variants: a space for the T, no seconds, no offset, a date alone. Hour 24
# is not one of them; Python takes it from 3.14 on.
_DATE_FORMATS = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?:[Tt ](?!24)\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
_DIGITS = re.compile(r"-?\d{1,16}(?:\.\d{1,6})?", re.ASCII)
_DATE_CHARACTERS = 10
# As seconds this is the year 5138, as milliseconds 1973, so the unit is unambiguous.
MILLISECONDS_FROM = 10**11
_FIRST: Moment = -62_135_596_800 * SECOND  # the year 1
_LAST: Moment = 253_402_300_800 * SECOND  # the year 10000
LATEST: Moment = _LAST - 1


def parse_date(value: str | float) -> Moment:
    """Parse a date or epoch number; ValueError if it is neither."""
    if not isinstance(value, str):
        return _parse_number(value)
    if _DATE_FORMATS.fullmatch(value):
        try:
            when = datetime.fromisoformat(value.upper())
        except ValueError as error:
            raise ValueError(f"is not a valid date: {error}") from None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return _require_in_range((when - _EPOCH) // _MICROSECOND)
    if _DIGITS.fullmatch(value):
        return _parse_number(float(value) if "." in value else int(value))
    raise ValueError(
        "is not a valid date; use a format like 2026-11-15T08:30:00Z, or seconds or milliseconds "
        "since 1970"
    )


def parse_range_end(value: str | float) -> Moment:
    """Parse the end of a range; a date without a time includes that day."""
    end = parse_date(value)
    text = str(value)
    is_date_alone = len(text) == _DATE_CHARACTERS and text[4] == "-"
    return end + DAY if is_date_alone else end


def _parse_number(number: float) -> Moment:
    if not -1e15 < number < 1e15:
        raise ValueError("is not a valid date: the number is too large")
    unit = MILLISECOND if abs(number) >= MILLISECONDS_FROM else SECOND
    moment = number * unit
    return _require_in_range(moment if isinstance(moment, int) else round(moment))


def _require_in_range(moment: Moment) -> Moment:
    if not _FIRST <= moment < _LAST:
        raise ValueError("is not a valid date between the years 1 and 9999")
    return moment


def format_optional_date(moment: Moment | None) -> str | None:
    return None if moment is None else format_date(moment)


def to_epoch_seconds(moment: Moment | None) -> int | None:
    return None if moment is None else moment // SECOND
