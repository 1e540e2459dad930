"""What is said for groups of their limits and their retention; cached for each group."""

import msgspec

from longwire.clock import Moment
from longwire.group_limits import (
    EffectiveLimits,
    GroupLimits,
    OperatorLimits,
    RetentionDays,
    oldest_kept,
)
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement


def _build(number: int, limits: str, retention_days: str, updated_at: Moment) -> GroupLimits:
    return GroupLimits(
        str(number),
        msgspec.json.decode(limits, type=OperatorLimits),
        msgspec.json.decode(retention_days, type=RetentionDays),
        updated_at,
    )


# --- statements ---

EXISTS_ANY = Statement("""
select 1
from group_limits
limit 1
""")

LIST_ON_PATH = Statement(
    """
select l.group_id, l.limits, l.retention_days, l.updated_at
from group_path p
join group_limits l
    on l.group_id = p.ancestor_id
where p.group_id = :home
order by p.depth
""",
    into=_build,
)

GET_MOVED_AT = Statement(
    """
select coalesce(max(g.moved_at), 0)
from group_path p
join device_group g
    on g.id = p.ancestor_id
where p.group_id = :home
""",
    into=int,
)

# The groups for which something is said, and those below them.
LIST_CONCERNED = Statement(
    """
select distinct p.group_id
from group_limits l
join group_path p
    on p.ancestor_id = l.group_id
where p.group_id > :after
order by p.group_id
limit :most
""",
    into=int,
)

UPSERT = Statement("""
insert into group_limits (group_id, limits, retention_days, updated_at, updated_by)
values (:home, :limits, :retention_days, :at, :by)
on conflict (group_id) do update
set limits = excluded.limits,
    retention_days = excluded.retention_days,
    updated_at = excluded.updated_at,
    updated_by = excluded.updated_by
""")


def get_effective(tx: Tx, group_id: str) -> EffectiveLimits:
    """What holds for a group."""
    return tx.cache.get_auth("group limits", group_id, lambda: _load(tx, group_id))


def _load(tx: Tx, group_id: str) -> EffectiveLimits:
    service = tx.context.limits
    if not tx.cache.get_auth("group limits", "", lambda: bool(tx.fetch(EXISTS_ANY))):
        return EffectiveLimits(service)
    home = schema.group_number(group_id)
    path = tx.fetch(LIST_ON_PATH, home=home)
    return EffectiveLimits(service, tuple(path), tx.fetch(GET_MOVED_AT, home=home)[0])


def get_days(tx: Tx, name: str, group_id: str) -> int:
    """For how many days a group keeps something; 0 for ever."""
    return get_effective(tx, group_id).days[name]


def get_oldest(tx: Tx, kind: str, group_id: str) -> Moment | None:
    """Records of a group with earlier timestamps have expired; None if none ever do."""
    return oldest_kept(get_days(tx, kind, group_id), tx.now)


def has_expired(tx: Tx, kind: str, group_id: str, ts: Moment) -> bool:
    """Whether a record of a group must not be shown or used any more, deleted or not."""
    oldest = get_oldest(tx, kind, group_id)
    return oldest is not None and ts < oldest


def list_rates(tx: Tx, group_id: str) -> tuple[tuple[str, float], ...]:
    """Limits of requests per second, each of a group with those below it."""
    found = get_effective(tx, group_id).find_limits("requests_per_second")
    return tuple((each.group_id, rate) for each, rate in found)


def list_concerned(tx: Tx, after: int, most: int) -> list[int]:
    """The next groups for which something else holds than for all."""
    return tx.fetch(LIST_CONCERNED, after=after, most=most)


def save(tx: Tx, limits: GroupLimits, by: str) -> None:
    """The auth epoch is bumped."""
    tx.run(
        UPSERT,
        home=schema.group_number(limits.group_id),
        limits=msgspec.json.encode(limits.limits).decode(),
        retention_days=msgspec.json.encode(limits.retention_days).decode(),
        at=limits.updated_at,
        by=by,
    )
