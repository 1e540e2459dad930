"""Challenges that were redeemed, until they expire: none is redeemed twice."""

import sqlalchemy as sa

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.bulk import insert_many
from longwire.store.database import Tx

_table = schema.used_challenge


def redeem(tx: Tx, challenge_id: str, expires_at: Moment) -> bool:
    """Mark a challenge as used; False if it was."""
    then = "on conflict (id) do nothing"
    return insert_many(tx, _table, ("id", "expires_at"), [(challenge_id, expires_at)], then) > 0


def prune(tx: Tx, limit: int) -> int:
    """Forget up to `limit` challenges that have expired; how many."""
    expired = sa.select(_table.c.id).where(_table.c.expires_at <= tx.now).limit(limit)
    return tx.execute(sa.delete(_table).where(_table.c.id.in_(expired)))
