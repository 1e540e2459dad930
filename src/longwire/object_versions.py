"""What updates of all objects have in common: versions, and texts that may be removed.

The version of an object is the millisecond of its last update; clients may not have more digits.

An update that names the version it is based on is refused if there is another by now.
"""

from enum import Enum

from longwire.clock import MILLISECOND, Moment
from longwire.dates import format_date
from longwire.errors import ChangedMeanwhile


class Removal(Enum):
    """In an update: the field is to have no value."""

    REMOVED = "removed"


REMOVED = Removal.REMOVED
NewText = str | Removal | None  # None leaves it as it is


def update_text(new: NewText, current: str | None) -> str | None:
    if isinstance(new, Removal):
        return None
    return current if new is None else new


def require_version(updated_at: Moment, expected: Moment | None) -> None:
    """Refuse an update that is based on another version; without one it is based on any."""
    if expected is not None and expected // MILLISECOND != updated_at // MILLISECOND:
        raise ChangedMeanwhile(format_date(updated_at))


def next_version(now: Moment, updated_at: Moment) -> Moment:
    """The time of an update: in another millisecond than the last one."""
    return max(now, (updated_at // MILLISECOND + 1) * MILLISECOND)
