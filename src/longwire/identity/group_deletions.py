"""Deleting groups: an empty one at once, one with everything in it after a grace period."""

from dataclasses import replace

from longwire.clock import HOUR, MINUTE
from longwire.errors import Conflict
from longwire.identity import access, groups
from longwire.identity.bootstrap import MEMBER
from longwire.identity.groups import GroupView
from longwire.model import SYSTEM, Actor, Group
from longwire.store.cache import cache_epochs
from longwire.store.database import Tx
from longwire.store.fleet import device_types
from longwire.store.identity import audit
from longwire.store.identity import group_deletions as store
from longwire.store.identity import groups as store_groups
from longwire.store.notifications.contact_points import CONTACT_POINTS

GROUPS_PER_STEP_MAX = 20
ROWS_PER_STEP_MAX = 1_000
# A request that began before the deletion may still be at work in the group.
PURGE_AFTER = MINUTE


def delete(
    tx: Tx, actor: Actor, group_id: str, *, is_recursive: bool, grace_hours: int
) -> GroupView:
    """Delete an empty group; or, if recursive, schedule its deletion with everything in it."""
    group = _get_locked(tx, actor, group_id)
    groups.require_can_take_out(tx, actor, group)
    content = _describe_content(tx, group)
    if not content:
        view = groups.build_view(tx, actor, group)
        _delete_now(tx, actor, group_id)
        return view
    if not is_recursive:
        raise Conflict(
            f"The group has {content}. Send recursive=true to delete it with everything in it"
            f" after {grace_hours} hours."
        )
    if group.deletion_at is None:
        scheduled = replace(group, deletion_at=tx.now + grace_hours * HOUR)
        store_groups.GROUPS.save(tx, group, scheduled)
        group = scheduled
        name = group.name
        audit.log(tx, actor, "group.scheduleDeletion", group_id, group_id=group_id, name=name)
    return groups.build_view(tx, actor, group)


def cancel(tx: Tx, actor: Actor, group_id: str) -> GroupView:
    """Cancel a scheduled deletion, as whoever could schedule it."""
    group = _get_locked(tx, actor, group_id)
    groups.require_can_take_out(tx, actor, group)
    if group.deletion_at is None or group.deletion_at <= tx.now:
        raise Conflict("No deletion of this group is scheduled, or it has begun.")
    kept = replace(group, deletion_at=None)
    store_groups.GROUPS.save(tx, group, kept)
    name = group.name
    audit.log(tx, actor, "group.cancelDeletion", group_id, group_id=group_id, name=name)
    return groups.build_view(tx, actor, kept)


def delete_due(tx: Tx) -> int:
    """Delete some groups whose grace period has ended, from below; how many rows were changed."""
    due = store.get_due(tx)
    changed = 0
    if due is not None:
        for group_id in store.list_deepest(tx, due, GROUPS_PER_STEP_MAX):
            changed += _delete_now(tx, SYSTEM, group_id)
            if changed >= ROWS_PER_STEP_MAX:
                break
    return changed


def purge(tx: Tx) -> int:
    """Delete some rows of deleted groups; how many, 0 when there is nothing to do."""
    group_id = store.get_deleted(tx, tx.now - PURGE_AFTER)
    return 0 if group_id is None else store.purge(tx, group_id, ROWS_PER_STEP_MAX)


def _get_locked(tx: Tx, actor: Actor, group_id: str) -> Group:
    cache_epochs.bump_auth_epoch(tx)
    cache_epochs.bump_config_epoch(tx, group_id)  # before the row is locked, as everywhere
    scope = access.authorize(tx, actor, "group.update", group_id)
    store_groups.lock(tx, group_id)
    group = store_groups.get(tx, scope, group_id)
    assert group is not None  # one has no permission in a group that is not there
    return group


def _describe_content(tx: Tx, group: Group) -> str:
    """What a group has that is lost with it; empty for an empty one."""
    counts = {
        "subgroups": store_groups.count_below(tx, group.id),
        "devices": group.device_count,
        "connectors": group.connector_count,
        "notifications": group.notification_count,
        "contact points": CONTACT_POINTS.count_in_group(tx, group.id),
        "device types": device_types.TYPES.count(tx, group_id=group.id),
    }
    return ", ".join(f"{count} {noun}" for noun, count in counts.items() if count)


def _delete_now(tx: Tx, actor: Actor, group_id: str) -> int:
    cache_epochs.bump_auth_epoch(tx)
    changed = store.detach(tx, group_id, MEMBER)
    audit.log(tx, actor, "group.delete", group_id, group_id=group_id)
    return changed
