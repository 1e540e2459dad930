"""The rows of all tables, a page at a time: what is moved from one engine to the other."""

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from longwire.dataclass import dataclass
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.slots import BUCKETS
from longwire.store.statement import Sql, Statement

PAGE_ROWS = 10_000
WRITERS = schema.writer_number.name
# Who serves a database, and what its processes do at the moment.
_OF_PROCESSES = frozenset(("lease", "node"))

READ = """
select {columns}
from {table}
{where}
{grouping}
order by {places}
{limit}
"""
COUNT = "select count(*) from (select {keys} from {table} {grouping}) each"
CLEAR = "delete from {table}"
CLEAR_BUT = "delete from {table} where not ({key} {in:kept})"
INSERT = "insert into {table} ({columns}) values ({values})"
COPY = "copy {table} ({columns}) from stdin"
GET_LARGEST = "select coalesce(max({column}), 0) from {table}"

LIST_SQLITE_COUNTERS = Statement("select name, seq from sqlite_sequence")
CLEAR_SQLITE_COUNTER = Statement("delete from sqlite_sequence where name = :name")
SET_SQLITE_COUNTER = Statement("insert into sqlite_sequence (name, seq) values (:name, :value)")
GET_USER_VERSION = Statement("pragma user_version")
SET_USER_VERSION = "pragma user_version = {number}"
LIST_SEQUENCES = Statement("""
select sequencename, coalesce(last_value, 0)
from pg_sequences
where schemaname = current_schema()
""")
SET_SEQUENCE = Statement("select setval(cast(:name as regclass), :value)")

Row = tuple[Any, ...]


class RowPage(NamedTuple):
    """Some rows of a table, and the place after them; None at the end."""

    rows: list[Row]
    after: Row | None


@dataclass(frozen=True, slots=True)
class TableShape:
    """What has to be known of a table in order to copy it."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    booleans: tuple[int, ...]  # places among the columns
    doubles: tuple[int, ...]
    has_rowid: bool  # on SQLite
    refers_to_itself: bool  # so its rows are written at once
    is_counted: bool  # on PostgreSQL in several rows, which add up

    def normalize(self, row: Sequence[Any]) -> Row:
        """The row as both engines have it: SQLite has no booleans, and no zero with a minus."""
        values = list(row)
        for place in self.booleans:
            values[place] = None if values[place] is None else bool(values[place])
        for place in self.doubles:
            values[place] = None if values[place] is None else float(values[place]) + 0.0
        return tuple(values)

    def locate(self, tx: Tx) -> tuple[str, ...]:
        """The columns that its rows are read in the order of."""
        return ("rowid",) if self.has_rowid and not tx.is_postgres else self.key

    def combine(self, column: str) -> str:
        if column in self.key:
            return _quote(column)
        # The longest that something has taken is the only one that does not add up.
        return f"max({column})" if column == "max_ms" else f"cast(sum({column}) as bigint)"

    def group(self, tx: Tx) -> str:
        is_grouped = self.is_counted and tx.is_postgres
        return f"group by {_join(self.key)}" if is_grouped else ""


@functools.cache
def list_tables() -> tuple[TableShape, ...]:
    """All but those of processes; a table that others refer to comes before them."""
    tables = schema.metadata.sorted_tables
    return tuple(_describe(table) for table in tables if table.name not in _OF_PROCESSES)


def _describe(table: sa.Table) -> TableShape:
    types = [column.type for column in table.columns]
    columns = tuple(column.name for column in table.columns)
    return TableShape(
        name=table.name,
        columns=columns,
        key=tuple(column.name for column in table.primary_key),
        booleans=tuple(at for at, each in enumerate(types) if isinstance(each, sa.Boolean)),
        doubles=tuple(at for at, each in enumerate(types) if isinstance(each, sa.Double)),
        has_rowid=table.dialect_options["sqlite"]["with_rowid"] is not False,
        refers_to_itself=any(each.column.table is table for each in table.foreign_keys),
        is_counted=table.info.get(schema.SLOT_BY) == schema.TRANSACTION
        and not any(isinstance(each, sa.LargeBinary) for each in types),
    )


def read_page(tx: Tx, table: TableShape, after: Row | None) -> RowPage:
    places = table.locate(tx)
    combines = bool(table.group(tx))
    columns = [table.combine(each) if combines else _quote(each) for each in table.columns]
    names = [f"place_{index}" for index in range(len(places))]
    where = f"where ({_join(places)}) > ({', '.join(f':{each}' for each in names)})"
    statement = Statement(
        READ,
        columns=", ".join([*map(_quote, places), *columns]),
        table=_quote(table.name),
        where=Sql("" if after is None else where),
        grouping=table.group(tx),
        places=_join(places),
        limit="" if table.refers_to_itself else f"limit {PAGE_ROWS}",
    )
    found = tx.fetch(statement, **dict(zip(names, after or (), strict=bool(after))))
    is_last = table.refers_to_itself or len(found) < PAGE_ROWS
    rows = [table.normalize(row[len(places) :]) for row in found]
    return RowPage(rows, None if is_last else tuple(found[-1][: len(places)]))


def count_rows(tx: Tx, table: TableShape) -> int:
    """As many as reading all pages gives."""
    grouping = table.group(tx)
    keys = _join(table.key)
    statement = Statement(COUNT, keys=keys, table=_quote(table.name), grouping=grouping)
    return int(tx.fetch(statement)[0][0])


def clear(tx: Tx, table: TableShape, kept: Sequence[str] = ()) -> None:
    """Delete what a new schema has from its start, but rows with some keys."""
    if kept:
        tx.run(Statement(CLEAR_BUT, table=_quote(table.name), key=table.key[0]), kept=list(kept))
    else:
        tx.run(Statement(CLEAR, table=_quote(table.name)))


def write_rows(tx: Tx, table: TableShape, rows: Sequence[Row]) -> None:
    columns = _join(table.columns)
    name = _quote(table.name)
    if not tx.is_postgres:
        values = ", ".join("?" * len(table.columns))
        statement = INSERT.format(table=name, columns=columns, values=values)
        tx.driver.executemany(statement, rows)
        return
    with tx.driver.cursor().copy(COPY.format(table=name, columns=columns)) as copy:
        for row in rows:
            copy.write_row(row)


# --- numbers that are never given twice ---


def read_counters(tx: Tx) -> dict[str, int]:
    """The last number of each table that numbers its rows, and of processes."""
    if tx.is_postgres:
        tables = {f"{table}_{column}_seq": table for table, column in _list_counting().items()}
        found = tx.fetch(LIST_SEQUENCES)
        counters = {tables.get(name, str(name)): int(value) for name, value in found}
        # The number of a device has its part in the lowest digits.
        return {**counters, "device": (counters["device"] + 1) * BUCKETS}
    counters = {str(name): int(value) for name, value in tx.fetch(LIST_SQLITE_COUNTERS)}
    for table, column in _list_counting().items():
        statement = Statement(GET_LARGEST, column=column, table=_quote(table))
        counters[table] = max(counters.get(table, 0), tx.fetch(statement)[0][0])
    counters[WRITERS] = tx.fetch(GET_USER_VERSION)[0][0]
    return counters


def set_counters(tx: Tx, counters: dict[str, int]) -> None:
    used = {name: value for name, value in counters.items() if value}
    if not tx.is_postgres:
        tx.run(Statement(SET_USER_VERSION, number=str(used.pop(WRITERS, 0))))
        for name, value in used.items():
            tx.run(CLEAR_SQLITE_COUNTER, name=name)
            tx.run(SET_SQLITE_COUNTER, name=name, value=value)
        return
    counting = _list_counting()
    present = {name for name, _ in tx.fetch(LIST_SEQUENCES)}
    for name, value in used.items():
        sequence = f"{name}_{counting[name]}_seq" if name in counting else name
        if sequence in present:
            tx.fetch(SET_SEQUENCE, name=sequence, value=value)


def _list_counting() -> dict[str, str]:
    return {
        table.name: column.name
        for table in schema.metadata.sorted_tables
        if (column := table.autoincrement_column) is not None
    }


def _join(names: Sequence[str]) -> str:
    return ", ".join(map(_quote, names))


def _quote(name: str) -> str:
    return name if name == "rowid" else f'"{name}"'
