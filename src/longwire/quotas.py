"""Quotas: how much one user or group may have. Each is a setting of the same name."""

from dataclasses import dataclass

from longwire.errors import LimitReached


@dataclass(frozen=True, slots=True)
class Quotas:
    """The operator's quotas; the defaults are generous for honest use."""

    connectors_per_group_max: int = 1_000
    notifications_per_group_max: int = 200

    def require_room(self, name: str, existing: int, *, wanted: int = 1) -> None:
        """Raise LimitReached if so many more would exceed the quota of this name.

        Lock what is counted first, where two requests at once could both find room.
        """
        maximum: int = getattr(self, name)
        if existing + wanted > maximum:
            raise LimitReached(name, maximum)
