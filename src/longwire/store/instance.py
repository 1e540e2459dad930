"""Facts about the database as a whole."""

import secrets

from longwire.store import schema
from longwire.store.database import Database, NodeRole, Tx
from longwire.store.records.arrival_numbers import WRITER_BITS
from longwire.store.statement import ByEngine, Statement

GET_DATABASE_BYTES = Statement(
    ByEngine(
        sqlite="select page_count * page_size from pragma_page_count, pragma_page_size",
        postgres="select pg_database_size(current_database())",
    )
)
PROBE = "write_probe"
PROBE_BYTES = 64 * 1024
WRITERS_MAX = 1 << WRITER_BITS

NEXT_WRITER = Statement(f"select nextval('{schema.writer_number.name}')")
GET_USER_VERSION = Statement("pragma user_version")
SET_USER_VERSION = "pragma user_version = {number}"

GET_FACT = Statement(
    """
select value
from instance
where name = :name
""",
    into=str,
)

INSERT_FACT = Statement("""
insert into instance (name, value)
values (:name, :value)
""")

SAVE_FACT = Statement("""
insert into instance (name, value)
values (:name, :value)
on conflict (name) do update
set value = excluded.value
""")


DELETE_FACT = Statement("""
delete from instance
where name = :name
""")


def get_fact(tx: Tx, name: str) -> str | None:
    return tx.first(GET_FACT, name=name)


def insert_fact(tx: Tx, name: str, value: str) -> None:
    tx.run(INSERT_FACT, name=name, value=value)


def get_database_bytes(tx: Tx) -> int:
    """The size of the database, without the write-ahead log."""
    return int(tx.fetch(GET_DATABASE_BYTES)[0][0])


def probe_growth(tx: Tx) -> None:
    """Write something that needs space, to see whether a write succeeds; `end_probe` frees it."""
    save_fact(tx, PROBE, secrets.token_hex(PROBE_BYTES // 2))


def end_probe(tx: Tx) -> None:
    save_fact(tx, PROBE, "")


def save_fact(tx: Tx, name: str, value: str) -> None:
    """Insert or update a fact."""
    tx.run(SAVE_FACT, name=name, value=value)


def delete_fact(tx: Tx, name: str) -> None:
    tx.run(DELETE_FACT, name=name)


def hold_writer_number(database: Database, role: NodeRole = NodeRole.SERVE) -> int:
    """A number of this process that no other writer of the database has, until it is closed.

    Another one at every start: even if the clock was set back meanwhile, the sequence numbers of
    this process differ from those of the last one.
    """
    first = database.upgrade(_next_writer) % WRITERS_MAX
    return database.hold_writer_number(first, WRITERS_MAX, role)


def _next_writer(tx: Tx) -> int:
    if tx.is_postgres:
        return int(tx.fetch(NEXT_WRITER)[0][0])
    # SQLite has no sequences, but a number in the head of its file that is the owner's to use.
    number = int(tx.fetch(GET_USER_VERSION)[0][0]) + 1
    tx.run(Statement(SET_USER_VERSION, number=str(number % WRITERS_MAX)))
    return number
