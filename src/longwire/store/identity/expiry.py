"""Rows that have expired: access tokens, sessions, codes of links, challenges."""

from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import build_limited_delete

# By table. Each has a key of one column, and an index on `expires_at`.
DELETE_EXPIRED = {
    table.name: build_limited_delete(
        table.name, table.primary_key.columns[0].name, where="expires_at <= :now"
    )
    for table in (schema.access_token, schema.session, schema.sign_in_code, schema.used_challenge)
}
EXPIRING = tuple(DELETE_EXPIRED)


def delete_expired(tx: Tx, table: str, most: int) -> int:
    """Delete up to `most` expired rows of one of these tables; how many."""
    return tx.run(DELETE_EXPIRED[table], now=tx.now, most=most)
