"""Days and times as people write them in their language, the months by their names."""

from datetime import UTC, date, datetime

from longwire.clock import SECOND, Moment
from longwire.translations.catalogue import translate

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


def format_day(language: str, day: date) -> str:
    is_first = day.day == 1  # which French counts, and no other one
    number = translate(language, "format.first_of_month") if is_first else str(day.day)
    month = translate(language, f"month.{_MONTHS[day.month - 1]}")
    return translate(language, "format.day", day=number, month=month, year=day.year)


def format_moment(language: str, moment: Moment, *, with_seconds: bool = False) -> str:
    """A time of a day, in UTC, which it says."""
    at = datetime.fromtimestamp(moment // SECOND, UTC)
    time = f"{at:%H:%M:%S}" if with_seconds else f"{at:%H:%M}"
    return translate(language, "format.moment", day=format_day(language, at.date()), time=time)


def format_period(language: str, first: date, last: date) -> str:
    """One day, or from the first to the last one."""
    if first == last:
        return format_day(language, first)
    days = {"first": format_day(language, first), "last": format_day(language, last)}
    return translate(language, "format.period", **days)
