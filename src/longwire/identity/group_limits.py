"""What limits a group: set by the operator, and how long it keeps records: by who may change it."""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from longwire.clock import Moment
from longwire.errors import BadInput, FieldError
from longwire.group_limits import (
    KEPT,
    EffectiveLimits,
    GroupLimits,
    OperatorLimits,
    RetentionDays,
)
from longwire.identity import access
from longwire.model import Actor
from longwire.object_versions import next_version, require_version
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.identity import audit, group_storage
from longwire.store.identity import group_limits as store
from longwire.store.identity.group_storage import StoredSize

PERMISSION = "group.limit"
LIMITS = ("stored_records_max", "stored_bytes_max", "requests_per_second")


@dataclass(frozen=True, slots=True)
class EffectiveValue:
    """What holds for a group, and where it is said: in itself, above it, or for all."""

    name: str
    value: float  # 0 for no limit, and for ever
    source: str
    group_id: str | None = None  # where it is said, if the caller may see that
    longest: int = 0  # days that the group may say itself
    used: int | None = None


@dataclass(frozen=True, slots=True)
class LimitsView:
    """The limits of a group, and what it has stored."""

    own: GroupLimits
    limits: Sequence[EffectiveValue]
    retention: Sequence[EffectiveValue]
    stored: StoredSize
    stored_below: StoredSize  # with the groups below it


def get(tx: Tx, actor: Actor, group_id: str) -> LimitsView:
    access.authorize(tx, actor, "group.read", group_id)
    return _build_view(tx, actor, group_id)


def set_limits(
    tx: Tx,
    actor: Actor,
    group_id: str,
    limits: OperatorLimits,
    if_updated_at: Moment | None = None,
) -> LimitsView:
    """Limit a group and those below it, in place of what was said before."""
    cache_epochs.bump_auth_epoch(tx)
    access.require_operator(actor, PERMISSION)
    access.authorize(tx, actor, "group.update", group_id)
    _require_within(tx, limits.retention_days_max, EffectiveLimits(tx.context.limits), "limits.")
    own = _get_own(tx, group_id)
    changed = replace(own, limits=limits)
    _save(tx, actor, own, changed, if_updated_at)
    before, after = {"limits": own.limits}, {"limits": limits}
    return _log_change(tx, actor, "group.updateLimits", group_id, before, after)


def set_retention(
    tx: Tx,
    actor: Actor,
    group_id: str,
    days: RetentionDays,
    if_updated_at: Moment | None = None,
) -> LimitsView:
    """Say how long a group and those below it keep records, in place of what was said before."""
    cache_epochs.bump_auth_epoch(tx)
    access.authorize(tx, actor, "group.update", group_id)
    _require_within(tx, days, store.get_effective(tx, group_id), "")
    own = _get_own(tx, group_id)
    changed = replace(own, retention_days=days)
    _save(tx, actor, own, changed, if_updated_at)
    before, after = {"retention_days": own.retention_days}, {"retention_days": days}
    return _log_change(tx, actor, "group.updateRetention", group_id, before, after)


def _log_change(
    tx: Tx, actor: Actor, action: str, group_id: str, before: audit.Fields, after: audit.Fields
) -> LimitsView:
    audit.log(tx, actor, action, group_id, group_id=group_id, before=before, after=after)
    return _build_view(tx, actor, group_id)


def _get_own(tx: Tx, group_id: str) -> GroupLimits:
    path = store.get_effective(tx, group_id).path
    return path[0] if path and path[0].group_id == group_id else GroupLimits(group_id)


def _require_within(tx: Tx, days: RetentionDays, bound: EffectiveLimits, prefix: str) -> None:
    """Refuse what is longer than it may be; the error names all of it."""
    field = "retention_days_max" if prefix else "retention_days"
    errors = []
    for name in KEPT:
        wanted, longest = days.get(name), bound.get_longest(name)
        if wanted is not None and longest and not 0 < wanted <= longest:
            said = "0, which is for ever," if wanted == 0 else f"{wanted:,}"
            text = f"is {said} and may be at most {longest:,} days by the operator's limit"
            errors.append(FieldError(f"{prefix}{field}.{name}", text))
    if errors:
        raise BadInput(field_errors=errors)


def _save(
    tx: Tx, actor: Actor, own: GroupLimits, changed: GroupLimits, if_updated_at: Moment | None
) -> None:
    require_version(own.updated_at, if_updated_at)
    updated_at = next_version(tx.now, own.updated_at)
    store.save(tx, replace(changed, updated_at=updated_at), actor.id)


def _build_view(tx: Tx, actor: Actor, group_id: str) -> LimitsView:
    effective = store.get_effective(tx, group_id)
    stored = group_storage.get(tx, int(group_id))
    limits: list[EffectiveValue] = []
    for name in LIMITS:
        used = _get_used(stored, name)
        found = effective.find_limits(name)
        limits += [_build_value(tx, actor, group_id, each, name, value) for each, value in found]
        if not found:
            value = getattr(effective.service, name)
            limits.append(EffectiveValue(name, value, "service", used=used))
    retention = []
    for name in KEPT:
        said, longest = effective.find_retention(name), effective.get_longest(name)
        source, known = _describe_source(tx, actor, group_id, said)
        days = effective.days[name]
        retention.append(EffectiveValue(name, days, source, known, longest))
    below = group_storage.get_of_tree(tx, int(group_id))
    return LimitsView(_get_own(tx, group_id), limits, retention, stored, below)


def _build_value(
    tx: Tx, actor: Actor, group_id: str, said: GroupLimits, name: str, value: float
) -> EffectiveValue:
    source, known = _describe_source(tx, actor, group_id, said)
    used = None
    if known is not None:
        used = _get_used(group_storage.get_of_tree(tx, int(known)), name)
    return EffectiveValue(name, value, source, known, used=used)


def _get_used(size: StoredSize, name: str) -> int | None:
    sizes = {"stored_records_max": size[0], "stored_bytes_max": size[1]}
    return sizes.get(name)


def _describe_source(
    tx: Tx, actor: Actor, group_id: str, said: GroupLimits | None
) -> tuple[str, str | None]:
    """Where something is said, and the group if the caller may see it."""
    if said is None:
        return "service", None
    if said.group_id == group_id:
        return "group", group_id
    is_seen = "group.read" in access.get_permissions(tx, actor, said.group_id)
    return "inherited", said.group_id if is_seen else None
