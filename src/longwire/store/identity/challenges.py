"""Challenges that were redeemed, until they expire: none is redeemed twice."""

from longwire.clock import Moment
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines.bulk import IGNORE, insert_many

_table = schema.used_challenge


def redeem(tx: Tx, challenge_id: str, expires_at: Moment) -> bool:
    """Mark a challenge as used; False if it was."""
    row = (challenge_id, expires_at)
    return insert_many(tx, _table, ("id", "expires_at"), [row], IGNORE) > 0
