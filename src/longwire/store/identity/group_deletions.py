"""Deleting groups: first a group becomes unreachable, then its rows go in small steps."""

from typing import Any

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.delivery import channels
from longwire.store.fleet import device_bin, device_stays, device_types, devices
from longwire.store.identity import roles
from longwire.store.jobs import jobs
from longwire.store.records import receptions
from longwire.store.statement import Statement, build_limited_delete

# Tables that are only ever read by group, and the rest of their keys.
_KEYED_BY_GROUP = {
    "downlink": "id",
    "counter": "second, name, writer",
    "activity": "hour, device_number",
    "arrival": "seq",
    "reception_size": "writer",
    "record_expiry": "kind",
    "unknown_device": "network, original_key",
    "alarm": "id",
    "change_message": "seq",
    "silence": "id",
    "contact_window": "contact",
    "share": "id",
    "found_measurement": "type, key_number",
    "declared_measurements": "type",
}
# What makes a group reachable, or lets it act.
_DETACHED = (
    *("app_client", "member", "downlink_grant", "configuration_policy", "group_limits"),
    "group_path",
)
DEVICES_PER_STEP_MAX = 200

GET_DUE = Statement(
    """
select id
from device_group
where deletion_at is not null
    and deletion_at <= :now
order by deletion_at
limit 1
""",
    into=str,
)

LIST_DEEPEST = Statement(
    """
select group_id
from group_path
where ancestor_id = :home
order by depth desc
limit :most
""",
    into=str,
)

DELETE_TOKENS = Statement("""
delete from access_token
where client_id in (
    select id
    from app_client
    where group_id = :home
)
""")

DETACH = Statement("""
update device_group
set parent_id = null,
    default_role_id = :default_role_id,
    token_digest = :token_digest,
    deletion_at = null,
    deleted_at = :now
where id = :home
""")

LIST_CUSTOM_ROLES = Statement(
    """
select id
from role
where is_removable
    and (
        id in (
            select role_id
            from member
            where group_id = :home
        )
        or id in (
            select default_role_id
            from device_group
            where id = :home
        )
        or id in (
            select role_id
            from app_client
            where group_id = :home
        )
        or created_by in (
            select id
            from app_client
            where group_id = :home
        )
    )
""",
    into=str,
)

_DELETED = """
select g.id
from device_group g
where g.deleted_at is not null
    and g.deleted_at < :before
    and (
        not exists (
            select 1
            from channel
            where group_id = g.id
        )
        or exists (
            select 1
            from channel
            where group_id = g.id
                and deleted_at is null
        )
    )
    and {also}
"""
_IS_ERASING = """exists (
        select 1
        from erasure
        where group_id = g.id
    )"""
GET_DELETED = Statement(
    _DELETED + "limit 1",
    into=int,
    also=f"""(
        not {_IS_ERASING}
        or exists (
            select 1
            from device
            where group_id = g.id
        )
    )""",
)
LIST_ERASING = Statement(_DELETED, into=int, also=_IS_ERASING)
FIND_STAY = Statement(
    """
select group_id
from device_stay
where group_id {in:homes}
limit 1
""",
    into=int,
)

LIST_STAYS = Statement("""
select device_number, stay
from device_stay
where group_id = :home
limit :most
""")

FIND_ERASURE = Statement("""
select stay
from erasure
where group_id = :home
limit 1
""")

DELETE_GROUP = Statement("""
delete from device_group
where id = :home
""")


def _delete_of_group(table: str) -> Statement[tuple[Any, ...]]:
    return Statement(f"""
delete from {table}
where group_id = :home
""")


DELETE_DETACHED = [_delete_of_group(each) for each in _DETACHED]
DELETE_LAST = [_delete_of_group(each) for each in ("group_storage", "config_change", *_DETACHED)]
DELETE_SOME = [
    build_limited_delete(table, key, within="group_id = :home")
    for table, key in _KEYED_BY_GROUP.items()
]


def get_due(tx: Tx) -> str | None:
    """A group whose grace period has ended."""
    return tx.first(GET_DUE, now=tx.now)


def list_deepest(tx: Tx, group_id: str, limit: int) -> list[str]:
    """Groups of a subtree, those below before those above."""
    return tx.fetch(LIST_DEEPEST, home=schema.group_number(group_id), most=limit)


def detach(tx: Tx, group_id: str, default_role_id: str) -> int:
    """Make a group without subgroups unreachable for everybody; how many rows were changed.

    Its members, app clients, their tokens and the custom roles that only it used are deleted, and
    its connectors and notifications stop.
    """
    bump_config_epoch(tx, group_id)
    home = schema.group_number(group_id)
    role_ids = tx.fetch(LIST_CUSTOM_ROLES, home=home)
    changed = sum(tx.run(each, home=home) for each in (DELETE_TOKENS, *DELETE_DETACHED))
    changed += channels.mark_group_deleted(tx, group_id)
    tx.run(
        DETACH,
        home=home,
        default_role_id=default_role_id,
        token_digest=f"deleted {group_id}".encode(),  # no digest of a token
        now=tx.now,
    )
    roles.delete_unused(tx, role_ids)
    return changed + 1


def get_deleted(tx: Tx, before: Moment) -> str | None:
    """A group that was deleted before a moment, and of which something can be purged now.

    Not while its deleted channels are there, nor its last rows while its records are being erased.
    """
    found = tx.first(GET_DELETED, before=before)
    if found is None:
        # Apart, because the stays may be on other servers.
        erasing = tx.fetch(LIST_ERASING, before=before)
        found = tx.first(FIND_STAY, homes=erasing) if erasing else None
    return None if found is None else str(found)


def purge(tx: Tx, group_id: str, limit: int) -> int:
    """Delete some rows of a deleted group, and at last the group; how many rows.

    A request that was authorized before the deletion may have added more of what `detach` deletes.
    """
    if channels.mark_group_deleted(tx, group_id):
        return 1  # the rest once their deliveries are deleted
    devices_max = min(limit, DEVICES_PER_STEP_MAX)
    purged = devices.delete_some_of_group(tx, group_id, devices_max)
    purged = purged or device_bin.erase_some_of_group(tx, group_id, devices_max)
    purged = purged or jobs.delete_some_of_group(tx, group_id, limit)
    purged = purged or _erase_stays(tx, group_id, limit)
    home = schema.group_number(group_id)
    purged = purged or receptions.delete_some_of_group(tx, home)
    for statement in DELETE_SOME:
        purged = purged or tx.run(statement, home=home, most=limit)
    if not purged and tx.first(FIND_ERASURE, home=home) is None:
        for statement in DELETE_LAST:
            tx.run(statement, home=home)
        purged = tx.run(DELETE_GROUP, home=home)
        device_types.delete_orphaned(tx)
    return purged


def _erase_stays(tx: Tx, group_id: str, limit: int) -> int:
    """Erase the records that devices left in the group before they were transferred."""
    gone = tx.fetch(LIST_STAYS, home=schema.group_number(group_id), most=limit)
    if gone:
        device_stays.erase_stays(tx, gone)
    return len(gone)
