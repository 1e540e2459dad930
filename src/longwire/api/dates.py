"""Moments in the interface's spelling."""

import functools
from datetime import UTC, datetime, timedelta

from longwire.clock import MINUTE, SECOND, Moment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_text(moment: Moment) -> str:
    """RFC 3339 in UTC with milliseconds, with microseconds when there are any."""
    minute, rest = divmod(moment, MINUTE)
    second, micros = divmod(rest, SECOND)
    if micros % 1_000:
        return f"{_minute_text(minute)}{second:02d}.{micros:06d}Z"
    return f"{_minute_text(minute)}{second:02d}.{micros // 1_000:03d}Z"


@functools.lru_cache(maxsize=4_096)
def _minute_text(minute: int) -> str:
    """The part that is the same for a whole minute; a list of records shares a few of them."""
    return (_EPOCH + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:").zfill(17)


def optional_date_text(moment: Moment | None) -> str | None:
    return None if moment is None else date_text(moment)


def epoch_seconds(moment: Moment | None) -> int | None:
    return None if moment is None else moment // SECOND
