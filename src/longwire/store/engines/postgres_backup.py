"""Copies of a PostgreSQL database while it is used: each table as text, all of one snapshot."""

import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from longwire.dataclass import dataclass
from longwire.errors import OperatorError
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.statement import Statement

# Where a chunk ends depends on the rows in it, not on what is before them, so rows that are
# inserted or deleted change the chunks around them only.
CHUNK_BYTES_MIN = 64 * 1024
CHUNK_BYTES_MAX = 1024 * 1024
_BOUNDARY_MASK = 0x3FF  # one row in a thousand, once a chunk has its least size

BEGIN = "begin transaction isolation level repeatable read, read only"
NO_TIMEOUTS = """
set idle_in_transaction_session_timeout = 0;
set statement_timeout = 0
"""
GET_REVISION = "select version_num from alembic_version"
GET_KEY = "select value from instance where name = 'key_fingerprint'"
GET_SEQUENCES = """
select sequencename, coalesce(last_value, 0)
from pg_sequences
where schemaname = current_schema()
"""
GET_MONTHS = """
select distinct right(c.relname, 6) as label
from pg_inherits i
join pg_class c on c.oid = i.inhrelid
where c.relname ~ '_p[0-9]{6}$'
order by label
"""
COUNT_TABLES = Statement("""
select count(*)
from pg_class
where relkind in ('r', 'p') and relnamespace = cast(current_schema() as regnamespace)
""")


class PostgresFailed(OperatorError):
    """The server cannot be reached, or refuses what a backup needs."""


class NotEmpty(OperatorError):
    """A backup is restored into an empty database only."""


@dataclass(frozen=True, slots=True)
class SnapshotFacts:
    revision: str
    key_fingerprint: str
    sequences: dict[str, int]
    months: tuple[str, ...]  # that have partitions


class Snapshot:
    """An open transaction that sees the database as it was at its begin."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection

    def read_facts(self) -> SnapshotFacts:
        execute = self._connection.execute
        revision, key = execute(GET_REVISION).fetchone(), execute(GET_KEY).fetchone()
        if revision is None or key is None:
            raise OperatorError("This database has not been prepared; there is nothing to back up.")
        sequences = {str(name): int(str(value)) for name, value in execute(GET_SEQUENCES)}
        months = tuple(str(row[0]) for row in execute(GET_MONTHS))
        return SnapshotFacts(str(revision[0]), str(key[0]), sequences, months)

    def read_table(self, name: str) -> Iterator[bytes]:
        """The rows of a table, in chunks."""
        columns = _list_columns(name)
        statement = sql.SQL("copy (select {} from {}) to stdout").format(
            sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(name)
        )
        with self._connection.cursor().copy(statement) as copy:
            yield from split_rows(bytes(each) for each in copy)


def list_tables() -> list[str]:
    """Those that others refer to come first."""
    return [str(table.name) for table in schema.metadata.sorted_tables]


def _list_columns(name: str) -> list[str]:
    """With the slot of rows that have it from their transaction; that of others is computed."""
    table = schema.metadata.tables[name]
    has_slot = table.info.get(schema.SLOT_BY) == schema.TRANSACTION
    return [*table.columns.keys(), *(["slot"] if has_slot else [])]


@contextmanager
def _connect(
    url: str, *, autocommit: bool = False
) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection; an error of it is reported in one line."""
    try:
        connection = psycopg.connect(url, autocommit=autocommit)
    except psycopg.ProgrammingError:
        # Not repeated here, nor as the cause: there may be a password in it.
        raise PostgresFailed("The URL of the database is invalid.") from None
    except psycopg.Error as error:
        raise PostgresFailed(f"PostgreSQL cannot be reached: {error}") from error
    try:
        with connection:
            yield connection
    except psycopg.Error as error:
        raise PostgresFailed(f"PostgreSQL: {error}") from error


@contextmanager
def open_snapshot(url: str) -> Iterator[Snapshot]:
    with _connect(url, autocommit=True) as connection:
        connection.execute(NO_TIMEOUTS)
        connection.execute(BEGIN)
        connection.execute(GET_REVISION)  # the snapshot is taken by the first statement
        yield Snapshot(connection)


def split_rows(rows: Iterable[bytes]) -> Iterator[bytes]:
    """Cut a stream of rows into chunks, at places that its content decides."""
    collected: list[bytes] = []
    size = 0
    for row in rows:
        collected.append(row)
        size += len(row)
        is_boundary = size >= CHUNK_BYTES_MIN and not zlib.crc32(row) & _BOUNDARY_MASK
        if is_boundary or size >= CHUNK_BYTES_MAX:
            yield b"".join(collected)
            collected, size = [], 0
    if collected:
        yield b"".join(collected)


def require_empty(tx: Tx) -> None:
    if tx.fetch(COUNT_TABLES)[0][0]:
        raise NotEmpty("This database has tables already; restore into an empty one.")


class Restoration:
    """Fills the tables of a new database, in the transaction that has created them."""

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection

    def write_table(self, name: str, chunks: Iterable[bytes]) -> None:
        columns = _list_columns(name)
        # What a new schema has in it from the start is in the backup as well.
        self._connection.execute(sql.SQL("delete from {}").format(sql.Identifier(name)))
        statement = sql.SQL("copy {} ({}) from stdin").format(
            sql.Identifier(name), sql.SQL(", ").join(map(sql.Identifier, columns))
        )
        with self._connection.cursor().copy(statement) as copy:
            for chunk in chunks:
                copy.write(chunk)

    def set_sequence(self, name: str, value: int) -> None:
        if value:
            self._connection.execute("select setval(%s, %s)", (name, value))


@contextmanager
def open_restoration(tx: Tx) -> Iterator[Restoration]:
    try:
        tx.driver.execute(NO_TIMEOUTS)
        yield Restoration(tx.driver)
    except psycopg.Error as error:
        raise PostgresFailed(f"PostgreSQL: {error}") from error
