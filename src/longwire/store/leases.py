"""Leases: what one process does for all of them, until the lease expires."""

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx

_table = schema.lease
_FIRST = sa.text(
    "insert into lease (name, holder, until_at) values (:name, :holder, :until_at)"
    " on conflict (name) do nothing"
)


def acquire(tx: Tx, name: str, holder: str, lasts: Moment) -> bool:
    """Acquire or renew a lease; False while another process holds it."""
    until_at = tx.now + lasts
    is_free = (_table.c.holder == holder) | (_table.c.until_at <= tx.now)
    taken = tx.execute(
        sa.update(_table)
        .where(_table.c.name == name, is_free)
        .values(holder=holder, until_at=until_at)
    )
    asked = {"name": name, "holder": holder, "until_at": until_at}
    return bool(taken or tx.execute(_FIRST, asked))


def release(tx: Tx, name: str, holder: str) -> None:
    """Release the lease, so that another process can acquire it at once."""
    tx.execute(
        sa.update(_table)
        .where(_table.c.name == name, _table.c.holder == holder)
        .values(until_at=tx.now)
    )
