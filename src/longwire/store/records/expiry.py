"""Rows that have expired: access tokens, sessions, codes of links, challenges."""

import sqlalchemy as sa

from longwire.store import schema
from longwire.store.database import Tx

# Each with a key of one column, and an index on `expires_at`.
EXPIRING = (schema.access_token, schema.session, schema.sign_in_code, schema.used_challenge)


def delete_expired(tx: Tx, table: sa.Table, limit: int) -> int:
    """Delete up to `limit` expired rows of one of these tables; how many."""
    (key,) = table.primary_key.columns
    expired = sa.select(key).where(table.c.expires_at <= tx.now).limit(limit)
    return tx.execute(sa.delete(table).where(key.in_(expired)))
