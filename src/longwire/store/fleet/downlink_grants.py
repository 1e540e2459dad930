"""Downlink grants: which groups may send through the APIs that the operator has configured."""

import msgspec

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement


class DownlinkGrant(msgspec.Struct, frozen=True):
    """A group and those below it may send downlinks to a network."""

    group_id: str
    network: str
    created_at: Moment


IS_GRANTED = Statement("""
select 1
from downlink_grant g
join group_path p
    on p.ancestor_id = g.group_id
where p.group_id = :home
    and g.network = :network
limit 1
""")

INSERT = Statement("""
insert into downlink_grant (group_id, network, created_at)
values (:home, :network, :now)
on conflict do nothing
""")

DELETE = Statement("""
delete from downlink_grant
where group_id = :home
    and network = :network
""")

LIST_ALL = Statement(
    """
select cast(group_id as text), network, created_at
from downlink_grant
order by downlink_grant.group_id, network
""",
    into=DownlinkGrant,
)


def is_granted(tx: Tx, group_id: str, network: str) -> bool:
    """Whether a group or one above it has the grant."""
    return bool(tx.fetch(IS_GRANTED, home=schema.group_number(group_id), network=network))


def insert(tx: Tx, group_id: str, network: str) -> None:
    """Add a grant, if the group does not have it."""
    tx.run(INSERT, home=schema.group_number(group_id), network=network, now=tx.now)


def delete(tx: Tx, group_id: str, network: str) -> bool:
    """Delete a grant; whether there was one."""
    return tx.run(DELETE, home=schema.group_number(group_id), network=network) > 0


def list_all(tx: Tx) -> list[DownlinkGrant]:
    return tx.fetch(LIST_ALL)
