"""What has a channel that users configure: connectors and notifications, read joined with it."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import sqlalchemy as sa

from longwire.model import ChannelOwner, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.delivery import channels
from longwire.store.identity.scopes import within
from longwire.store.paging import page

_channel = schema.channel

Owner = TypeVar("Owner", bound=ChannelOwner)


@dataclass(frozen=True, slots=True)
class OwnerTable(Generic[Owner]):
    """The table of connectors, or of notifications."""

    owner_type: type[Owner]
    table: sa.Table
    count: sa.Column[int]  # of a group: how many it has
    # What ingest caches, of the owner and of its channel; a new name must not evict anything.
    fields_read: Sequence[str]
    channel_fields_read: Sequence[str]

    def get(self, tx: Tx, scope: Scope, owner_id: str) -> Owner | None:
        found = self.list_where(tx, _channel.c.id == owner_id, within(_channel.c.group_id, scope))
        return found[0] if found else None

    def get_by_numbers(self, tx: Tx, numbers: Collection[int]) -> dict[int, Owner]:
        found = self.list_where(tx, _channel.c.number.in_(numbers)) if numbers else []
        return {each.number: each for each in found}

    def list_where(self, tx: Tx, *conditions: sa.ColumnElement[bool]) -> list[Owner]:
        statement = self._select().where(*conditions).order_by(_channel.c.number)
        return [self._to_owner(row) for row in tx.rows(statement)]

    def list_page(
        self, tx: Tx, scope: Scope, request: PageRequest, group_id: str | None
    ) -> Page[Owner]:
        """Those of a group, or all that a scope reaches."""
        statement = self._select().where(within(_channel.c.group_id, scope))
        if group_id is not None:
            statement = statement.where(_channel.c.group_id == group_id)
        return page(tx, statement, [_channel.c.number], request, self._to_owner)

    def count_in_group(self, tx: Tx, group_id: str) -> int:
        """How many a group has, disabled ones as well."""
        row = tx.row(sa.select(self.count).where(schema.group.c.id == group_id))
        return int(row[0]) if row else 0

    def insert(self, tx: Tx, owner: Owner) -> Owner:
        """Insert it and its channel; returns it with its number."""
        bump_config_epoch(tx, owner.group_id)
        channel = channels.insert(tx, owner.channel)
        tx.execute(sa.insert(self.table), self._row(owner) | {"channel_number": channel.number})
        self._adjust_count(tx, owner.group_id, 1)
        return replace(owner, channel=channel)

    def save(self, tx: Tx, owner: Owner) -> None:
        """Update it and its channel, under a new version; what it has done is not changed."""
        stored = self.get_by_numbers(tx, [owner.number])[owner.number]
        if self._list_cached(stored) != self._list_cached(owner):
            bump_config_epoch(tx, owner.group_id)
        channels.save(tx, owner.channel)
        key = self.table.c.channel_number
        tx.execute(sa.update(self.table).where(key == owner.number).values(self._row(owner)))

    def mark_deleted(self, tx: Tx, owner: Owner) -> None:
        """Hide it; its deliveries are deleted in small steps."""
        bump_config_epoch(tx, owner.group_id)
        channels.mark_deleted(tx, owner.channel)
        self._adjust_count(tx, owner.group_id, -1)

    def _adjust_count(self, tx: Tx, group_id: str, difference: int) -> None:
        group = schema.group
        statement = sa.update(group).where(group.c.id == group_id)
        tx.execute(statement.values({self.count: self.count + difference}))

    def _list_cached(self, owner: Owner) -> list[object]:
        return [
            *(getattr(owner, name) for name in self.fields_read),
            *(getattr(owner.channel, name) for name in self.channel_fields_read),
        ]

    # --- rows to values and back ---

    def _select(self) -> sa.Select[Any]:
        joined = self.table.join(_channel, _channel.c.number == self.table.c.channel_number)
        return sa.select(_channel, self.table).select_from(joined).where(channels.IS_THERE)

    def _row(self, owner: Owner) -> dict[str, Any]:
        values = {name: getattr(owner, name) for name in self._list_fields()}
        return {
            name: json.dumps(value, ensure_ascii=False) if isinstance(value, tuple) else value
            for name, value in values.items()
            if name not in _SET_BY_EVENTS
        }

    def _to_owner(self, row: sa.Row[Any]) -> Owner:
        mapping = row._mapping
        values = {name: mapping[name] for name in self._list_fields()}
        values |= {name: tuple(json.loads(values[name])) for name in _LISTS if name in values}
        return self.owner_type(channel=channels.to_channel(row), **values)

    def _list_fields(self) -> list[str]:
        # Not by `fields`, which takes longer than reading the row.
        return [name for name in self.owner_type.__dataclass_fields__ if name != "channel"]


_LISTS = ("device_types", "device_ids", "tags")
_SET_BY_EVENTS = ("fired_at", "sent_at")
