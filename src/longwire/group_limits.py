"""What limits a group, and how long it keeps what its devices report. Pure.

The operator limits all groups by settings, and one group with those below it by limits of its own.
Within these a group says itself how long records are kept. Of what is said on the way up from a
group, the nearest holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property

import msgspec

from longwire.clock import DAY, Moment
from longwire.dataclass import dataclass
from longwire.records import KIND_NAMES

SUMMARY = "summary"
# What has a retention of its own: each kind of record, and the summaries of values.
KEPT = (*KIND_NAMES, SUMMARY)
DAYS_MAX = 100_000


class RetentionDays(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """For how many days each is kept: 0 for ever, None as long as without it."""

    data: int | None = None
    event: int | None = None
    geoloc: int | None = None
    telemetry: int | None = None
    summary: int | None = None

    def get(self, name: str) -> int | None:
        days: int | None = getattr(self, name)
        return days


class OperatorLimits(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What the operator limits of a group and those below it: 0 for no limit, None as for all."""

    stored_records_max: int | None = None
    stored_bytes_max: int | None = None
    requests_per_second: float | None = None
    retention_days_max: RetentionDays = RetentionDays()


class GroupLimits(msgspec.Struct, frozen=True):
    """What is said for one group."""

    group_id: str
    limits: OperatorLimits = OperatorLimits()
    retention_days: RetentionDays = RetentionDays()
    updated_at: Moment = 0


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What the operator's settings say for all groups; 0 for no limit, and for ever."""

    retention_days: Mapping[str, int] = field(default_factory=dict)
    stored_records_max: int = 0
    stored_bytes_max: int = 0
    requests_per_second: float = 0.0

    def get_days(self, name: str) -> int:
        return self.retention_days.get(name, 0)


@dataclass(frozen=True)
class EffectiveLimits:
    """What holds for a group."""

    service: ServiceLimits
    path: Sequence[GroupLimits] = ()  # of itself and those above it, the nearest first
    moved_at: Moment = 0  # itself or one above it; 0 if none was

    @cached_property
    def days(self) -> Mapping[str, int]:
        """How long each is kept; 0 for ever."""
        return {name: self._get_days(name) for name in KEPT}

    @property
    def changed_at(self) -> Moment:
        """When something of this was said last, or came to hold by a move."""
        return max(self.moved_at, *(each.updated_at for each in self.path), 0)

    def get_longest(self, name: str) -> int:
        """How long the group may have something kept; 0 for ever."""
        rows = (each.limits.retention_days_max.get(name) for each in self.path)
        own = next((days for days in rows if days is not None), 0)
        return get_shorter(own, self.service.get_days(name))

    def find_retention(self, name: str) -> GroupLimits | None:
        """Where it is said how long something is kept."""
        return next((each for each in self.path if each.retention_days.get(name) is not None), None)

    def find_limits(self, name: str) -> Sequence[tuple[GroupLimits, float]]:
        """All limits of a name, of which each holds for its group with those below it."""
        found = ((each, getattr(each.limits, name)) for each in self.path)
        return [(each, value) for each, value in found if value is not None]

    def _get_days(self, name: str) -> int:
        longest, said = self.get_longest(name), self.find_retention(name)
        days = None if said is None else said.retention_days.get(name)
        return longest if days is None else get_shorter(days, longest)


def get_shorter(days: int, others: int) -> int:
    return min(filter(None, (days, others)), default=0)


def oldest_kept(days: int, now: Moment) -> Moment | None:
    """What is older has expired; None if nothing ever does."""
    return now - days * DAY if days else None
