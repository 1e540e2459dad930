"""Configuration policies of groups and device types."""

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from longwire.model import ConfigurationPolicy, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.scopes import within

_policy = schema.configuration_policy


def get_of_group(tx: Tx, scope: Scope, group_id: str) -> ConfigurationPolicy | None:
    statement = sa.select(_policy).where(
        _policy.c.group_id == group_id, within(_policy.c.group_id, scope)
    )
    row = tx.row(statement)
    return _to_policy(row) if row else None


def get_of_type(tx: Tx, type_name: str) -> ConfigurationPolicy | None:
    row = tx.row(sa.select(_policy).where(_policy.c.type == type_name))
    return _to_policy(row) if row else None


def list_of_groups(tx: Tx, group_ids: Collection[str]) -> dict[str, str]:
    """The policies of some groups, by group; what they want holds for all groups below them."""
    statement = sa.select(_policy.c.group_id, _policy.c.policy).where(
        _policy.c.group_id.in_(group_ids)
    )
    return {row.group_id: row.policy for row in tx.rows(statement)}


def save_of_group(tx: Tx, group_id: str, policy: ConfigurationPolicy) -> None:
    _save(tx, _policy.c.group_id == group_id, {"group_id": group_id}, policy)


def save_of_type(tx: Tx, type_name: str, policy: ConfigurationPolicy) -> None:
    _save(tx, _policy.c.type == type_name, {"type": type_name}, policy)


def delete_of_group(tx: Tx, group_id: str) -> None:
    tx.execute(sa.delete(_policy).where(_policy.c.group_id == group_id))


def delete_of_type(tx: Tx, type_name: str) -> None:
    tx.execute(sa.delete(_policy).where(_policy.c.type == type_name))


def _save(
    tx: Tx, is_held: sa.ColumnElement[bool], holder: dict[str, str], policy: ConfigurationPolicy
) -> None:
    """Add a policy, or replace the one there is; changes come one after another by their epoch."""
    values = {
        "policy": policy.policy,
        "updated_at": policy.updated_at,
        "updated_by": policy.updated_by,
    }
    if not tx.execute(sa.update(_policy).where(is_held).values(values)):
        tx.execute(sa.insert(_policy), {**holder, **values})


def _to_policy(row: sa.Row[Any]) -> ConfigurationPolicy:
    return ConfigurationPolicy(row.policy, row.updated_at, row.updated_by)
