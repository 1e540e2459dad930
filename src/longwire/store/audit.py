"""The audit log: one row for every change, in the transaction of the change."""

from typing import Any

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Actor, AuditEntry, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.paging import page
from longwire.store.scopes import reaches

# By id, which is their order, so that no index by time is needed.
PRUNE = """
delete from audit
where id in (
    select id
    from (
        select id, at
        from audit
        order by id
        limit :most
    ) oldest
    where at < :before
)
"""


def log(
    tx: Tx,
    actor: Actor,
    action: str,
    object_id: str,
    *,
    group_id: str | None = None,
    detail: str = "",
) -> None:
    """Log that `actor` did `action` to `object_id`. Never pass a secret in `detail`."""
    tx.execute(
        sa.insert(schema.audit),
        {
            "at": tx.now,
            "actor_kind": actor.kind,
            "actor_id": actor.id,
            "action": action,
            "object_id": object_id,
            "group_id": group_id,
            "address": tx.origin.address,
            "request_id": tx.origin.request_id,
            "detail": detail,
        },
    )


def list_page(tx: Tx, scope: Scope, group_id: str, request: PageRequest) -> Page[AuditEntry]:
    """The entries of a group, newest first."""
    table = schema.audit
    statement = sa.select(table).where(table.c.group_id == group_id)
    if not reaches(scope, group_id):
        return Page([])
    return page(tx, statement, [table.c.id], request, _entry, ascending=False)


def _entry(row: sa.Row[Any]) -> AuditEntry:
    return AuditEntry(
        at=row.at,
        actor_kind=row.actor_kind,
        actor_id=row.actor_id,
        action=row.action,
        object_id=row.object_id,
        group_id=row.group_id,
        address=row.address,
        request_id=row.request_id,
        detail=row.detail,
    )


def list_latest(tx: Tx, limit: int, *, group_id: str | None = None) -> list[dict[str, object]]:
    """The newest rows first, for the operator."""
    table = schema.audit
    statement = sa.select(table).order_by(table.c.id.desc()).limit(limit)
    if group_id is not None:
        statement = statement.where(table.c.group_id == group_id)
    return [dict(row._mapping) for row in tx.rows(statement)]


def prune(tx: Tx, before: Moment, most: int) -> int:
    """Delete some of the rows before a moment, the oldest first; how many."""
    return tx.execute_raw(PRUNE, {"before": before, "most": most})
