"""Deleting groups: first a group becomes unreachable, then its rows go in small steps."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.delivery import channels
from longwire.store.fleet import device_bin, device_stays, devices
from longwire.store.identity import roles
from longwire.store.jobs import jobs
from longwire.store.records import receptions

_group = schema.group
_path = schema.group_path
_member = schema.member
_client = schema.app_client
_token = schema.access_token
_role = schema.role
_channel = schema.channel
_stay = schema.device_stay
_downlink = schema.downlink

# Tables that are only ever read by group, and the rest of their keys.
_KEYED_BY_GROUP = {
    "counter": "second, name, writer",
    "activity": "hour, device_number",
    "arrival": "seq",
    "reception_size": "writer",
    "unknown_device": "network, original_key",
    "found_measurement": "type, key_number",
    "declared_measurements": "type",
}
# What makes a group reachable, or lets it act.
_DETACHED = (_client, _member, schema.downlink_grant, schema.configuration_policy, _path)
DEVICES_PER_STEP_MAX = 200


def get_due(tx: Tx) -> str | None:
    """A group whose grace period has ended."""
    statement = sa.select(_group.c.id).where(
        _group.c.deletion_at.is_not(None), _group.c.deletion_at <= tx.now
    )
    row = tx.row(statement.order_by(_group.c.deletion_at).limit(1))
    return row[0] if row else None


def list_deepest(tx: Tx, group_id: str, limit: int) -> list[str]:
    """Groups of a subtree, those below before those above."""
    statement = sa.select(_path.c.group_id).where(_path.c.ancestor_id == group_id)
    return list(tx.connection.scalars(statement.order_by(_path.c.depth.desc()).limit(limit)))


def detach(tx: Tx, group_id: str, default_role_id: str) -> int:
    """Make a group without subgroups unreachable for everybody; how many rows were changed.

    Its members, app clients, their tokens and the custom roles that only it used are deleted, and
    its connectors and notifications stop.
    """
    bump_config_epoch(tx, group_id)
    client_ids = sa.select(_client.c.id).where(_client.c.group_id == group_id)
    role_ids = _list_custom_roles(tx, group_id)
    changed = tx.execute(sa.delete(_token).where(_token.c.client_id.in_(client_ids)))
    for table in _DETACHED:
        changed += tx.execute(sa.delete(table).where(table.c.group_id == group_id))
    changed += channels.mark_group_deleted(tx, group_id)
    tx.execute(
        sa.update(_group)
        .where(_group.c.id == group_id)
        .values(
            parent_id=None,
            default_role_id=default_role_id,
            token_digest=f"deleted {group_id}".encode(),  # no digest of a token
            deletion_at=None,
            deleted_at=tx.now,
        )
    )
    roles.delete_unused(tx, role_ids)
    return changed + 1


def _list_custom_roles(tx: Tx, group_id: str) -> list[str]:
    """The custom roles in use in a group, and those that its app clients created."""
    client_ids = sa.select(_client.c.id).where(_client.c.group_id == group_id)
    statement = sa.select(_role.c.id).where(
        _role.c.is_removable,
        sa.or_(
            _role.c.id.in_(sa.select(_member.c.role_id).where(_member.c.group_id == group_id)),
            _role.c.id.in_(sa.select(_group.c.default_role_id).where(_group.c.id == group_id)),
            _role.c.id.in_(sa.select(_client.c.role_id).where(_client.c.group_id == group_id)),
            _role.c.created_by.in_(client_ids),
        ),
    )
    return list(tx.connection.scalars(statement))


def get_deleted(tx: Tx, before: Moment) -> str | None:
    """A group that was deleted before a moment, and of which something can be purged now.

    Not while its deleted channels are there, nor its last rows while its records are being erased.
    """

    def has(column: sa.Column[Any], *conditions: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        return sa.select(column).where(column == _group.c.id, *conditions).exists()

    erasing = has(schema.erasure.c.group_id)
    deleted = sa.select(_group.c.id).where(
        _group.c.deleted_at.is_not(None),
        _group.c.deleted_at < before,
        sa.or_(~has(_channel.c.group_id), has(_channel.c.group_id, channels.IS_THERE)),
    )
    row = tx.row(deleted.where(sa.or_(~erasing, has(schema.device.c.group_id))).limit(1))
    if row is None:
        # Apart, because the stays may be on other servers.
        being_erased = [found[0] for found in tx.rows(deleted.where(erasing))]
        staying = sa.select(_stay.c.group_id).where(_stay.c.group_id.in_(being_erased))
        row = tx.row(staying.limit(1)) if being_erased else None
    return row[0] if row else None


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
    purged = purged or _delete_some(tx, _downlink, [_downlink.c.id], group_id, limit)
    purged = purged or receptions.delete_some_of_group(tx, schema.group_number(group_id))
    for name, rest in _KEYED_BY_GROUP.items():
        table = schema.metadata.tables[name]
        key = [table.c[column] for column in rest.split(", ")]
        purged = purged or _delete_some(tx, table, key, group_id, limit)
    if not purged and not _is_erasing(tx, group_id):
        storage = schema.group_storage
        tx.execute(sa.delete(storage).where(storage.c.group_id == group_id))
        change = schema.config_change
        number = schema.group_number(group_id)
        tx.execute(sa.delete(change).where(change.c.group_id == number))
        for table in _DETACHED:
            tx.execute(sa.delete(table).where(table.c.group_id == group_id))
        purged = tx.execute(sa.delete(_group).where(_group.c.id == group_id))
    return purged


def _is_erasing(tx: Tx, group_id: str) -> bool:
    erasure = schema.erasure
    return tx.row(sa.select(erasure.c.stay).where(erasure.c.group_id == group_id)) is not None


def _erase_stays(tx: Tx, group_id: str, limit: int) -> int:
    """Erase the records that devices left in the group before they were transferred."""
    statement = sa.select(_stay.c.device_number, _stay.c.stay).where(_stay.c.group_id == group_id)
    gone = [(row.device_number, row.stay) for row in tx.rows(statement.limit(limit))]
    if gone:
        device_stays.erase_stays(tx, gone)
    return len(gone)


def _delete_some(
    tx: Tx, table: sa.Table, key: Sequence[sa.ColumnElement[Any]], group_id: str, limit: int
) -> int:
    some = sa.select(*key).where(table.c.group_id == group_id).limit(limit)
    is_some = key[0].in_(some) if len(key) == 1 else sa.tuple_(*key).in_(some)
    return tx.execute(sa.delete(table).where(table.c.group_id == group_id, is_some))
