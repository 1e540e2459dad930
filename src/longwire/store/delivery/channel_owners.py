"""What has a channel that users configure: connectors and notifications, read joined with it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from longwire.model import ChannelOwner, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.delivery import channels
from longwire.store.delivery.channels import CHANNELS
from longwire.store.identity.scopes import within
from longwire.store.paging import page
from longwire.store.rows import Rows

_channel = schema.channel

Owner = TypeVar("Owner", bound=ChannelOwner)


class OwnerTable(Generic[Owner]):
    """The table of connectors, or of notifications.

    Of the owner and of its channel, `fields_read` and `channel_fields_read` are what ingest caches:
    a new name must not evict anything.
    """

    def __init__(
        self,
        owner_type: type[Owner],
        table: sa.Table,
        count: sa.Column[int],  # of a group: how many it has
        fields_read: Sequence[str],
        channel_fields_read: Sequence[str],
    ) -> None:
        number = {"channel_number": lambda owner: owner.number}
        self._rows = Rows(owner_type, table, "channel_number", derived=number)
        self._count = count
        self._fields_read = fields_read
        self._channel_fields_read = channel_fields_read
        joined = table.join(_channel, _channel.c.number == table.c.channel_number)
        columns = [*CHANNELS.columns, *self._rows.columns]
        self._select = sa.select(*columns).select_from(joined).where(channels.IS_THERE)

    def get(self, tx: Tx, scope: Scope, owner_id: str) -> Owner | None:
        found = self.list_where(tx, _channel.c.id == owner_id, within(_channel.c.group_id, scope))
        return found[0] if found else None

    def get_by_numbers(self, tx: Tx, numbers: Collection[int]) -> dict[int, Owner]:
        found = self.list_where(tx, _channel.c.number.in_(numbers)) if numbers else []
        return {each.number: each for each in found}

    def list_where(self, tx: Tx, *conditions: sa.ColumnElement[bool]) -> list[Owner]:
        statement = self._select.where(*conditions).order_by(_channel.c.number)
        return [self._to_owner(row) for row in tx.rows(statement)]

    def list_page(
        self, tx: Tx, scope: Scope, request: PageRequest, group_id: str | None
    ) -> Page[Owner]:
        """Those of a group, or all that a scope reaches."""
        statement = self._select.where(within(_channel.c.group_id, scope))
        if group_id is not None:
            statement = statement.where(_channel.c.group_id == group_id)
        return page(tx, statement, [_channel.c.number], request, self._to_owner)

    def count_in_group(self, tx: Tx, group_id: str) -> int:
        """How many a group has, disabled ones as well."""
        row = tx.row(sa.select(self._count).where(schema.group.c.id == group_id))
        return int(row[0]) if row else 0

    def insert(self, tx: Tx, owner: Owner) -> Owner:
        """Insert it and its channel; returns it with its number."""
        bump_config_epoch(tx, owner.group_id)
        channel = channels.insert(tx, owner.channel)
        inserted = replace(owner, channel=channel)
        self._rows.insert(tx, inserted)
        self._adjust_count(tx, owner.group_id, 1)
        return inserted

    def save(self, tx: Tx, before: Owner, after: Owner) -> None:
        """Update it and its channel, which is locked, under a new version."""
        if self._list_cached(before) != self._list_cached(after):
            bump_config_epoch(tx, after.group_id)
        channels.save(tx, before.channel, after.channel)
        self._rows.save(tx, before, after)

    def mark_deleted(self, tx: Tx, owner: Owner) -> None:
        """Hide it; its deliveries are deleted in small steps."""
        bump_config_epoch(tx, owner.group_id)
        channels.mark_deleted(tx, owner.channel)
        self._adjust_count(tx, owner.group_id, -1)

    def _adjust_count(self, tx: Tx, group_id: str, difference: int) -> None:
        group = schema.group
        statement = sa.update(group).where(group.c.id == group_id)
        tx.execute(statement.values({self._count: self._count + difference}))

    def _list_cached(self, owner: Owner) -> list[object]:
        return [
            *(getattr(owner, name) for name in self._fields_read),
            *(getattr(owner.channel, name) for name in self._channel_fields_read),
        ]

    def _to_owner(self, row: Sequence[Any]) -> Owner:
        return self._rows.parse(row[len(CHANNELS.columns) :], channel=CHANNELS.parse(row))
