"""Quotas: how much one user or group may have. Each is a setting of the same name."""

from dataclasses import dataclass

from longwire.errors import LimitReached


@dataclass(frozen=True, slots=True)
class Quotas:
    """The operator's quotas; the defaults are generous for honest use."""

    groups_per_owner_max: int = 100_000
    members_per_group_max: int = 10_000
    roles_per_creator_max: int = 1_000
    app_clients_per_group_max: int = 1_000
    push_tokens_per_user_max: int = 100
    passkeys_per_user_max: int = 20
    device_types_per_group_max: int = 200
    device_type_bytes_per_group_max: int = 16 * 1024 * 1024
    connectors_per_group_max: int = 1_000
    connector_bytes_per_group_max: int = 8 * 1024 * 1024
    notifications_per_group_max: int = 200
    contact_points_per_group_max: int = 200
    reports_per_group_max: int = 50
    shares_per_group_max: int = 200
    notification_bytes_per_group_max: int = 8 * 1024 * 1024
    silences_per_group_max: int = 100
    jobs_per_group_max: int = 20
    export_bytes_per_owner_max: int = 256 * 1024 * 1024

    def require_room(self, name: str, existing: int, *, wanted: int = 1) -> None:
        """Raise LimitReached if so many more would exceed the quota of this name.

        Lock what is counted first, where two requests at once could both find room.
        """
        maximum: int = getattr(self, name)
        if existing + wanted > maximum:
            raise LimitReached(name, maximum)


DEFAULT_QUOTAS = Quotas()
