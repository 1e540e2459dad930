"""Moments in the interface's spelling."""

from datetime import UTC, datetime, timedelta

from longwire.clock import SECOND, Moment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_text(moment: Moment) -> str:
    """RFC 3339 in UTC with milliseconds, with microseconds when there are any."""
    when = _EPOCH + timedelta(microseconds=moment)
    precision = "microseconds" if moment % 1_000 else "milliseconds"
    return when.replace(tzinfo=None).isoformat(timespec=precision) + "Z"


def optional_date_text(moment: Moment | None) -> str | None:
    return None if moment is None else date_text(moment)


def epoch_seconds(moment: Moment | None) -> int | None:
    return None if moment is None else moment // SECOND
