"""Leases: what one process does for all of them, until the lease expires."""

from longwire.clock import Moment
from longwire.store.database import Tx
from longwire.store.statement import Statement

ACQUIRE = Statement("""
insert into lease (name, holder, until_at)
values (:name, :holder, :until_at)
on conflict (name) do update
set holder = excluded.holder,
    until_at = excluded.until_at
where lease.holder = excluded.holder
    or lease.until_at <= :now
""")

RELEASE = Statement("""
update lease
set until_at = :now
where name = :name
    and holder = :holder
""")


def acquire(tx: Tx, name: str, holder: str, lasts: Moment) -> bool:
    """Acquire or renew a lease; False while another process holds it."""
    until_at = tx.now + lasts
    return bool(tx.run(ACQUIRE, name=name, holder=holder, until_at=until_at, now=tx.now))


def release(tx: Tx, name: str, holder: str) -> None:
    """Release the lease, so that another process can acquire it at once."""
    tx.run(RELEASE, name=name, holder=holder, now=tx.now)
