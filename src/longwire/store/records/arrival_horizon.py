"""Up to which number all arrivals are there; for PostgreSQL, where transactions overlap.

Arrivals are numbered by moments, and a transaction may end long after it was given its numbers: it
waits for a lock, for the disk, or its process was paused. So before it takes numbers, it announces
a moment before which none of them will be, by a shared advisory lock. The server releases the lock
after it has made visible what the transaction stored. Nothing is to come below the oldest
announcement, however long that transaction takes.

Clocks of processes differ a little, so readers stay some seconds behind the present as well.
"""

from longwire.clock import MILLISECOND, Moment
from longwire.store.cache import cache_epochs
from longwire.store.database import NotOnStandby, Tx
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.statement import Statement

ANNOUNCEMENTS = 71_055_120  # any number, the same in every process
# A key of a lock has 31 bits for the milliseconds, which is three weeks.
_PERIOD_MS = 2**31

ANNOUNCE = Statement("""
select pg_advisory_xact_lock_shared(:locks, cast(:moment_ms as integer))
""")

# With the epochs that every transaction with records asks for, in one round trip.
ANNOUNCE_AND_SELECT_EPOCHS = Statement("""
with announced as materialized (
    select pg_advisory_xact_lock_shared(:locks, cast(:moment_ms as integer))
)
select e.name, e.epoch
from announced
cross join cache_epoch e
""")

LIST_ANNOUNCED = Statement(
    """
select objid
from pg_locks
where locktype = 'advisory'
    and database = (select oid from pg_database where datname = current_database())
    and classid = :locks
    and objsubid = 2
""",
    into=int,
)


def announce_arrivals(tx: Tx) -> None:
    """Announce numbers that this transaction will take, and see the epochs of others.

    Sent with what is fetched next.
    """
    if not tx.is_postgres:
        return
    values = {"locks": ANNOUNCEMENTS, "moment_ms": tx.now // MILLISECOND % _PERIOD_MS}
    if cache_epochs.may_refresh(tx):
        since = tx.caches.observed_epochs
        tx.queue(
            ANNOUNCE_AND_SELECT_EPOCHS,
            lambda rows: tx.caches.observe(cache_epochs.build_epochs(tx, since, rows)),
            **values,
        )
    else:
        tx.queue(ANNOUNCE, lambda rows: None, **values)


def get_announced_moment(tx: Tx) -> Moment:
    """The moment for the numbers that this transaction takes, once it has announced them."""
    # Not that of the begin: from then to the announcement, nobody knew of this transaction.
    return tx.context.clock.now() if tx.is_postgres else tx.now


def get_settled_seq(tx: Tx, behind: Moment) -> int:
    """Arrivals up to this number are there, or never will be; `behind` the present at least.

    It holds for what is read in later statements.
    """
    settled = tx.now - behind
    if tx.standby is not None:  # which knows nothing of locks on the primary
        if tx.standby.settled_seq is None:
            raise NotOnStandby
        return min(tx.standby.settled_seq, first_seq(settled) - 1)
    if tx.is_postgres:
        now_ms = tx.now // MILLISECOND
        for moment_ms in tx.fetch(LIST_ANNOUNCED, locks=ANNOUNCEMENTS):
            age_ms = (now_ms - moment_ms) % _PERIOD_MS
            if age_ms < _PERIOD_MS // 2:  # else its clock is a little ahead of ours
                settled = min(settled, (now_ms - age_ms) * MILLISECOND)
    return first_seq(settled) - 1
