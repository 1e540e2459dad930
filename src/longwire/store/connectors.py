"""Connectors: what is forwarded where, and their last errors."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import SYSTEM, Connector, Page, PageRequest, Scope
from longwire.store import schema
from longwire.store.cache_epochs import bump_config_epoch
from longwire.store.database import Tx
from longwire.store.dialects import array_param, dialect_sql, in_array
from longwire.store.paging import page
from longwire.store.scopes import within

_table = schema.connector
_IS_THERE = _table.c.deleted_at.is_(None)
_FORWARDS = _table.c.purpose == "connector"

_READ_BY_MATCHING = ("subgroups", "device_types", "device_ids", "message_filter", "is_enabled")
# What ingest caches of channels of a purpose; the others are not cached.
CACHED_PURPOSES: Mapping[str, Sequence[str]] = {
    "connector": _READ_BY_MATCHING,
    "notification": (*_READ_BY_MATCHING, "type", "sealed_params"),
}


GET_VERSIONS = dialect_sql(
    """
select number, version
from connector
where number {listed}
    and is_enabled
    and deleted_at is null
""",
    listed=in_array("numbers"),
)

RESET_FAILURES = """
update connector
set failures = 0
where number = :number
    and failures > 0
"""


# --- for users ---


def get(tx: Tx, scope: Scope, connector_id: str) -> Connector | None:
    row = tx.row(
        sa.select(_table).where(
            _table.c.id == connector_id, _FORWARDS, _IS_THERE, within(_table.c.group_id, scope)
        )
    )
    return to_connector(row) if row else None


def list_page(tx: Tx, scope: Scope, group_id: str, request: PageRequest) -> Page[Connector]:
    statement = sa.select(_table).where(
        _table.c.group_id == group_id, _FORWARDS, _IS_THERE, within(_table.c.group_id, scope)
    )
    return page(tx, statement, [_table.c.number], request, to_connector)


def id_exists(tx: Tx, connector_id: str) -> bool:
    """Whether a connector has this id, in any group."""
    return tx.row(sa.select(_table.c.number).where(_table.c.id == connector_id)) is not None


def insert(tx: Tx, connector: Connector) -> Connector:
    """Insert a connector; returns it with its number."""
    if connector.purpose in CACHED_PURPOSES:
        bump_config_epoch(tx, connector.group_id)
    tx.execute(sa.insert(_table), _row(connector))
    if connector.purpose == "connector":
        adjust_count(tx, connector.group_id, 1)
    row = tx.rows(sa.select(_table).where(_table.c.id == connector.id))[0]
    return to_connector(row)


def save(tx: Tx, connector: Connector) -> None:
    """Update a connector, under a new version; its health is not changed."""
    if _changes_matching(tx, connector):
        bump_config_epoch(tx, connector.group_id)
    values = _row(connector) | {"version": _table.c.version + 1}
    for name in ("error_at", "error_message", "failures", "resend_before"):
        del values[name]
    tx.execute(sa.update(_table).where(_table.c.number == connector.number).values(values))


def _changes_matching(tx: Tx, connector: Connector) -> bool:
    """Whether a field changes that ingest has cached; a new name must not evict anything."""
    fields_read = CACHED_PURPOSES.get(connector.purpose, ())
    if not fields_read:
        return False
    row = tx.rows(sa.select(_table).where(_table.c.number == connector.number))[0]
    stored = to_connector(row)
    return any(getattr(stored, name) != getattr(connector, name) for name in fields_read)


def mark_deleted(tx: Tx, connector: Connector) -> None:
    """Hide it and free its id; its deliveries are deleted in small steps."""
    if connector.purpose in CACHED_PURPOSES:
        bump_config_epoch(tx, connector.group_id)
    tx.execute(
        sa.update(_table)
        .where(_table.c.number == connector.number)
        .values(
            id=f"deleted:{connector.number}",
            deleted_at=tx.now,
            version=_table.c.version + 1,
            is_enabled=False,
            resend_before=None,
        )
    )
    if connector.purpose == "connector":
        adjust_count(tx, connector.group_id, -1)


def adjust_count(tx: Tx, group_id: str, difference: int) -> None:
    group = schema.group
    tx.execute(
        sa.update(group)
        .where(group.c.id == group_id)
        .values(connector_count=group.c.connector_count + difference)
    )


def begin_resend(tx: Tx, connector: Connector) -> bool:
    """Start a resend; False if one is running."""
    return bool(
        tx.execute(
            sa.update(_table)
            .where(_table.c.number == connector.number, _table.c.resend_before.is_(None))
            .values(resend_before=tx.now)
        )
    )


def list_numbers(tx: Tx, groups: Sequence[str]) -> dict[int, str]:
    """The ids of the connectors of some groups, by number."""
    statement = sa.select(_table.c.number, _table.c.id).where(
        _table.c.group_id.in_(groups), _FORWARDS, _IS_THERE
    )
    return {row.number: row.id for row in tx.rows(statement.order_by(_table.c.number))}


# --- for ingest ---


def list_for_group(tx: Tx, group_id: str) -> list[Connector]:
    """The enabled connectors that forward records of this group's devices."""
    path = schema.group_path
    above = sa.select(path.c.ancestor_id).where(path.c.group_id == group_id)
    statement = sa.select(_table).where(
        _table.c.is_enabled,
        _FORWARDS,
        _IS_THERE,
        sa.or_(
            _table.c.group_id == group_id,
            sa.and_(_table.c.subgroups, _table.c.group_id.in_(above)),
        ),
    )
    return [to_connector(row) for row in tx.rows(statement.order_by(_table.c.number))]


# --- for other purposes than forwarding ---


def get_by_purpose(tx: Tx, purpose: str, connector_id: str) -> Connector | None:
    """The channel of another purpose, by its id."""
    row = tx.row(
        sa.select(_table).where(_table.c.id == connector_id, _table.c.purpose == purpose, _IS_THERE)
    )
    return to_connector(row) if row else None


# --- for the engine ---


def get_by_numbers(tx: Tx, numbers: Collection[int]) -> dict[int, Connector]:
    if not numbers:
        return {}
    statement = sa.select(_table).where(_table.c.number.in_(numbers), _IS_THERE)
    return {row.number: to_connector(row) for row in tx.rows(statement)}


def get_versions(tx: Tx, numbers: Collection[int]) -> dict[int, int]:
    """The versions of those that are enabled."""
    return dict(tx.fetch_raw(GET_VERSIONS, {"numbers": array_param(tx, numbers)}))


def record_failure(tx: Tx, number: int, message: str, failures: int) -> None:
    """Count failed attempts, and keep the last error."""
    tx.execute(
        sa.update(_table)
        .where(_table.c.number == number)
        .values(error_at=tx.now, error_message=message, failures=_table.c.failures + failures)
    )


def record_filter_error(tx: Tx, number: int, message: str) -> None:
    """Keep the error of a filter that could not be evaluated; the message did not match."""
    tx.execute(
        sa.update(_table)
        .where(_table.c.number == number)
        .values(error_at=tx.now, error_message=f"the filter could not be evaluated: {message}")
    )


def reset_failures(tx: Tx, number: int) -> None:
    """The last attempt succeeded."""
    tx.execute_raw(RESET_FAILURES, {"number": number})


def disable(tx: Tx, connector: Connector) -> bool:
    """Disable it because its destination is gone; False if it was changed or disabled meanwhile."""
    if connector.purpose in CACHED_PURPOSES:
        bump_config_epoch(tx, connector.group_id)
    return bool(
        tx.execute(
            sa.update(_table)
            .where(
                _table.c.number == connector.number,
                _table.c.version == connector.version,
                _table.c.is_enabled,
            )
            .values(
                is_enabled=False,
                version=_table.c.version + 1,
                updated_at=tx.now,
                updated_by=SYSTEM.id,
            )
        )
    )


@dataclass(frozen=True, slots=True)
class Resend:
    """A running resend of the dead letters that failed before a moment."""

    number: int
    group_id: str
    before: Moment


def lock_resends(tx: Tx) -> list[Resend]:
    """Running resends that no other process has locked."""
    statement = (
        sa.select(_table.c.number, _table.c.group_id, _table.c.resend_before)
        .where(_table.c.resend_before.is_not(None), _IS_THERE)
        .order_by(_table.c.number)
        .with_for_update(skip_locked=True)
    )
    return [Resend(row.number, row.group_id, row.resend_before) for row in tx.rows(statement)]


def has_resends(tx: Tx) -> bool:
    statement = sa.select(_table.c.number).where(_table.c.resend_before.is_not(None), _IS_THERE)
    return tx.row(statement.limit(1)) is not None


def end_resend(tx: Tx, number: int) -> None:
    tx.execute(sa.update(_table).where(_table.c.number == number).values(resend_before=None))


def list_deleted(tx: Tx) -> list[int]:
    """Numbers of deleted connectors, whose deliveries are deleted first."""
    return [
        row[0]
        for row in tx.rows(sa.select(_table.c.number).where(_table.c.deleted_at.is_not(None)))
    ]


def delete(tx: Tx, number: int) -> None:
    tx.execute(sa.delete(schema.replay).where(schema.replay.c.connector_number == number))
    tx.execute(sa.delete(_table).where(_table.c.number == number))


# --- for the operator ---


def list_all(tx: Tx) -> list[Connector]:
    statement = sa.select(_table).where(_IS_THERE).order_by(_table.c.number)
    return [to_connector(row) for row in tx.rows(statement)]


# --- rows to values and back ---

_FIELDS = tuple(field.name for field in fields(Connector))
_LISTS = ("device_types", "device_ids", "tags")


def _row(connector: Connector) -> dict[str, Any]:
    values = {name: getattr(connector, name) for name in _FIELDS}
    del values["number"]
    for name in _LISTS:
        values[name] = json.dumps(values[name], ensure_ascii=False)
    return values


def to_connector(row: sa.Row[Any]) -> Connector:
    values = dict(row._mapping)
    for name in _LISTS:
        values[name] = tuple(json.loads(values[name]))
    return Connector(**{name: values[name] for name in _FIELDS})
