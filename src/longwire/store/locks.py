"""Named locks: one transaction at a time, over all processes, until its end.

For what no row stands for yet, such as an id that two requests want to create.
"""

import hashlib

from longwire.store.database import Tx
from longwire.store.statement import Statement

LOCK_NAME = Statement("select pg_advisory_xact_lock(:key)")


def acquire_lock(tx: Tx, kind: str, name: str) -> None:
    """Wait for the lock; SQLite has one writer, which needs none.

    Take it before any row is locked, so that no two transactions wait for each other.
    """
    if tx.is_postgres:
        digest = hashlib.blake2b(f"{kind}:{name}".encode(), digest_size=8).digest()
        tx.fetch(LOCK_NAME, key=int.from_bytes(digest, signed=True))
