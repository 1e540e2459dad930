"""The epoch of everything that decides who may do what."""

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx

_MOVE = sa.update(schema.auth_epoch).values(epoch=schema.auth_epoch.c.epoch + 1)


def bump_auth_epoch(tx: Tx) -> None:
    """Call this before changing a token, role, membership, client or the shape of the tree.

    Every process forgets what it remembered of them, this one before it answers. The row is locked
    until the commit, so such changes happen one after another: two people cannot move two groups
    under each other at the same moment.
    """
    if not tx.changes_rights:
        tx.changes_rights = True
        tx.execute(_MOVE)


def refresh_auth_epoch(tx: Tx) -> None:
    """Notice what other processes have changed by now, instead of within a second."""
    if tx.is_postgres:
        tx.memory.saw_epoch(tx.fetch_raw("select epoch from auth_epoch", {})[0][0])


def epoch_and_time(tx: Tx) -> tuple[int, Moment]:
    """The epoch, and the moment by the clock that all processes share."""
    if tx.connection.dialect.name == "postgresql":
        clock = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger)
        row = tx.rows(sa.select(schema.auth_epoch.c.epoch.label("epoch"), clock.label("now")))[0]
        return row.epoch, row.now
    return tx.rows(sa.select(schema.auth_epoch.c.epoch))[0][0], tx.now
