"""What has a channel that users configure, such as connectors, read joined with it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Generic, TypeVar

from longwire.model import ChannelOwner, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.cache.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.delivery import channels
from longwire.store.delivery.channels import CHANNELS
from longwire.store.identity.scopes import fetch_within, for_scopes
from longwire.store.notifications import alarms
from longwire.store.rows import Rows
from longwire.store.statement import Statement

Owner = TypeVar("Owner", bound=ChannelOwner)


class OwnerTable(Generic[Owner]):
    """The table of connectors, of notifications, or of contact points.

    Of the owner and of its channel, `fields_read` and `channel_fields_read` are what ingest caches:
    a new name must not evict anything.
    """

    def __init__(
        self,
        owner_type: type[Owner],
        name: str,
        fields_read: Sequence[str],
        channel_fields_read: Sequence[str],
    ) -> None:
        number = {"channel_number": lambda owner: owner.number}
        table = schema.metadata.tables[name]
        self._rows = Rows(owner_type, table, "channel_number", derived=number)
        self._fields_read = fields_read
        self._channel_fields_read = channel_fields_read
        self.fields = frozenset(column.name for column in self._rows.columns)
        self._select = f"""
select {CHANNELS.sql("c")}, {self._rows.sql("o")}
from {name} o
join channel c
    on c.number = o.channel_number
where c.deleted_at is null"""
        self._get = for_scopes(
            f"{self._select} and c.id = :id and {{within}}", within={"within": "c.group_id"}
        )
        self._get_by_numbers = self.where("c.number {in:numbers}")
        self._pages = [
            for_scopes(
                f"""{self._select}
    and {{within}}
    and c.number > :after
    {in_group}
order by c.number
limit :most
""",
                within={"within": "c.group_id"},
            )
            for in_group in ("", "and c.group_id = :home")
        ]
        count = f"{name}_count"  # of a group: how many it has
        self._get_count = Statement(f"""
select {count}
from device_group
where id = :home
""")
        self._add_to_count = Statement(f"""
update device_group
set {count} = {count} + :difference
where id = :home
""")

    def where(self, condition: str) -> Statement[Any]:
        """A statement for `fetch`: those (`o`) whose channels (`c`) fulfil a condition."""
        return Statement(f"""{self._select}
    and {condition}
order by c.number
""")

    def fetch(self, tx: Tx, statement: Statement[Any], **values: Any) -> list[Owner]:
        return [self._to_owner(row) for row in tx.fetch(statement, **values)]

    def get(self, tx: Tx, scope: Scope, owner_id: str) -> Owner | None:
        found = fetch_within(tx, scope, self._get, id=owner_id)
        return self._to_owner(found[0]) if found else None

    def get_by_numbers(self, tx: Tx, numbers: Collection[int]) -> dict[int, Owner]:
        found = self.fetch(tx, self._get_by_numbers, numbers=numbers) if numbers else []
        return {each.number: each for each in found}

    def list_page(
        self, tx: Tx, scope: Scope, request: PageRequest, group_id: str | None
    ) -> Page[Owner]:
        """Those of a group, or all that a scope reaches."""
        after = request.after[0] if request.after is not None else 0
        values = {"after": after, "most": request.limit + 1}
        if group_id is not None:
            values["home"] = schema.group_number(group_id)
        rows = fetch_within(tx, scope, self._pages[group_id is not None], **values)
        items = [self._to_owner(row) for row in rows[: request.limit]]
        return Page(items, (items[-1].number,) if len(rows) > len(items) else None)

    def count_in_group(self, tx: Tx, group_id: str) -> int:
        """How many a group has, disabled ones as well."""
        row = tx.first(self._get_count, home=schema.group_number(group_id))
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
        # What was wrong with it, if it is a connector.
        alarms.close_of_subjects(tx, [-owner.number], "the connector was deleted")
        self._adjust_count(tx, owner.group_id, -1)

    def _adjust_count(self, tx: Tx, group_id: str, difference: int) -> None:
        home = schema.group_number(group_id)
        tx.run(self._add_to_count, home=home, difference=difference)

    def _list_cached(self, owner: Owner) -> list[object]:
        return [
            *(getattr(owner, name) for name in self._fields_read),
            *(getattr(owner.channel, name) for name in self._channel_fields_read),
        ]

    def _to_owner(self, row: Sequence[Any]) -> Owner:
        return self._rows.parse(row[len(CHANNELS.columns) :], channel=CHANNELS.parse(row))
