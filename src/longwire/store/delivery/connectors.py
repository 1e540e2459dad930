"""Connectors: which records are forwarded. Where to and how is their channel's."""

from collections.abc import Sequence

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Connector
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.delivery import channels
from longwire.store.delivery.channel_owners import OwnerTable
from longwire.store.statement import Statement

_table = schema.connector
_channel = schema.channel

CONNECTORS = OwnerTable(
    Connector,
    _table,
    schema.group.c.connector_count,
    fields_read=("subgroups", "device_types", "device_ids", "message_filter"),
    channel_fields_read=("is_enabled",),
)


SUM_SETTINGS = Statement("""
select coalesce(sum(
    length(w.device_ids)
    + length(w.device_types)
    + coalesce(length(w.message_filter), 0)
    + coalesce(length(c.sealed_params), 0)
), 0)
from channel c
join connector w on w.channel_number = c.number
where c.group_id = :home
    and c.deleted_at is null
""")


def sum_settings(tx: Tx, group_id: str) -> int:
    """How large the settings of all connectors of a group are, disabled ones as well."""
    return int(tx.fetch(SUM_SETTINGS, home=schema.group_number(group_id))[0][0])


def list_numbers(tx: Tx, groups: Sequence[str]) -> dict[int, str]:
    """The ids of the connectors of some groups, by number."""
    statement = (
        sa.select(_channel.c.number, _channel.c.id)
        .join(_table, _table.c.channel_number == _channel.c.number)
        .where(_channel.c.group_id.in_(groups), channels.IS_THERE)
    )
    return {row.number: row.id for row in tx.rows(statement.order_by(_channel.c.number))}


def list_for_group(tx: Tx, group_id: str) -> list[Connector]:
    """The enabled connectors that forward records of this group's devices."""
    return CONNECTORS.list_where(tx, _channel.c.is_enabled, _reaches(group_id))


def list_versions_for_group(tx: Tx, group_id: str) -> list[tuple[int, int, Moment]]:
    """Of the same: number, version and last change, in the same order."""
    statement = (
        sa.select(_channel.c.number, _channel.c.version, _channel.c.updated_at)
        .join(_table, _table.c.channel_number == _channel.c.number)
        .where(_channel.c.is_enabled, _reaches(group_id), channels.IS_THERE)
        .order_by(_channel.c.number)
    )
    return [(row.number, row.version, row.updated_at) for row in tx.rows(statement)]


def list_reaching(tx: Tx, group_id: str) -> list[Connector]:
    """The same with those that are disabled."""
    return CONNECTORS.list_where(tx, _reaches(group_id))


def _reaches(group_id: str) -> sa.ColumnElement[bool]:
    path = schema.group_path
    above = sa.select(path.c.ancestor_id).where(path.c.group_id == group_id)
    return sa.or_(
        _channel.c.group_id == group_id,
        sa.and_(_table.c.subgroups, _channel.c.group_id.in_(above)),
    )
