"""Configuration policies of groups and device types."""

from collections.abc import Collection
from typing import Any

from longwire.model import ConfigurationPolicy, Scope
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.identity.scopes import reaches
from longwire.store.statement import Statement

GET_OF_GROUP = Statement(
    """
select policy, updated_at, updated_by
from configuration_policy
where group_id = :home
""",
    into=ConfigurationPolicy,
)

GET_OF_TYPE = Statement(
    """
select policy, updated_at, updated_by
from configuration_policy
where type = :type
""",
    into=ConfigurationPolicy,
)

LIST_OF_GROUPS = Statement("""
select cast(group_id as text), policy
from configuration_policy
where group_id {in:groups}
""")

_SAVE = """
insert into configuration_policy (group_id, type, policy, updated_at, updated_by)
values (:home, :type, :policy, :at, :by)
on conflict ({holder}) do update
set policy = excluded.policy,
    updated_at = excluded.updated_at,
    updated_by = excluded.updated_by
"""
SAVE_OF_GROUP = Statement(_SAVE, holder="group_id")
SAVE_OF_TYPE = Statement(_SAVE, holder="type")

DELETE_OF_GROUP = Statement("""
delete from configuration_policy
where group_id = :home
""")

DELETE_OF_TYPE = Statement("""
delete from configuration_policy
where type = :type
""")


def get_of_group(tx: Tx, scope: Scope, group_id: str) -> ConfigurationPolicy | None:
    if not reaches(scope, group_id):
        return None
    return tx.first(GET_OF_GROUP, home=schema.group_number(group_id))


def get_of_type(tx: Tx, type_name: str) -> ConfigurationPolicy | None:
    return tx.first(GET_OF_TYPE, type=type_name)


def list_of_groups(tx: Tx, group_ids: Collection[str]) -> dict[str, str]:
    """The policies of some groups, by group; what they want holds for all groups below them."""
    groups = [schema.group_number(each) for each in group_ids]
    return dict(tx.fetch(LIST_OF_GROUPS, groups=groups))


def save_of_group(tx: Tx, group_id: str, policy: ConfigurationPolicy) -> None:
    """Add a policy, or replace the one there is; changes come one after another by their epoch."""
    home = schema.group_number(group_id)
    tx.run(SAVE_OF_GROUP, home=home, type=None, **_columns_of(policy))


def save_of_type(tx: Tx, type_name: str, policy: ConfigurationPolicy) -> None:
    """The same for a type."""
    tx.run(SAVE_OF_TYPE, home=None, type=type_name, **_columns_of(policy))


def delete_of_group(tx: Tx, group_id: str) -> None:
    tx.run(DELETE_OF_GROUP, home=schema.group_number(group_id))


def delete_of_type(tx: Tx, type_name: str) -> None:
    tx.run(DELETE_OF_TYPE, type=type_name)


def _columns_of(policy: ConfigurationPolicy) -> dict[str, Any]:
    return {"policy": policy.policy, "at": policy.updated_at, "by": policy.updated_by}
