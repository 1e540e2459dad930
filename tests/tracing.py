"""Which statements SQLite runs, to see that their number does not grow with that of the rows."""

from collections.abc import Iterator
from contextlib import contextmanager

from longwire.store.database import Tx


@contextmanager
def traced(tx: Tx) -> Iterator[list[str]]:
    """What the transaction runs in this block; on PostgreSQL nothing is seen."""
    statements: list[str] = []
    if tx.is_postgres:
        yield statements
        return
    tx.driver.set_trace_callback(statements.append)
    try:
        yield statements
    finally:
        tx.driver.set_trace_callback(None)
