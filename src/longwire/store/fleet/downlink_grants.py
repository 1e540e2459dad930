"""Downlink grants: which groups may send through the APIs that the operator has configured."""

import msgspec
import sqlalchemy as sa

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx

_table = schema.downlink_grant
_path = schema.group_path


class DownlinkGrant(msgspec.Struct, frozen=True):
    """A group and those below it may send downlinks to a network."""

    group_id: str
    network: str
    created_at: Moment


def is_granted(tx: Tx, group_id: str, network: str) -> bool:
    """Whether a group or one above it has the grant."""
    statement = (
        sa.select(_table.c.group_id)
        .join(_path, _path.c.ancestor_id == _table.c.group_id)
        .where(_path.c.group_id == group_id, _table.c.network == network)
        .limit(1)
    )
    return tx.row(statement) is not None


def insert(tx: Tx, group_id: str, network: str) -> None:
    """Add a grant, if the group does not have it."""
    key = {"group_id": group_id, "network": network}
    if tx.row(sa.select(_table.c.group_id).filter_by(**key)) is None:
        tx.execute(sa.insert(_table), {**key, "created_at": tx.now})


def delete(tx: Tx, group_id: str, network: str) -> bool:
    """Delete a grant; whether there was one."""
    condition = sa.and_(_table.c.group_id == group_id, _table.c.network == network)
    return tx.execute(sa.delete(_table).where(condition)) > 0


def list_all(tx: Tx) -> list[DownlinkGrant]:
    columns = (_table.c.group_id, _table.c.network, _table.c.created_at)
    statement = sa.select(*columns).order_by(_table.c.group_id, _table.c.network)
    return [DownlinkGrant(*tuple(row)) for row in tx.rows(statement)]
