"""Checks the query plan of every statement that the tests make the service run.

A statement that scans a table which grows with every message works in a test and stalls an
installation with a million records. So the connections of the service record the statements
they execute, and each is explained once, after the test that ran it.

The same holds for all records of one device, and for all deliveries that a channel ever had. That
is checked on SQLite, which plans without knowing how many rows there are. PostgreSQL does know, and
with empty tables its plan says nothing.
"""

import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg

LARGE_TABLES = ("record_data", "record_event", "record_geoloc", "record_telemetry")
LARGE_TABLES += ("arrival", "delivery")

_EXPLAINED = re.compile(r"\s*(select|insert|update|delete|with)\b", re.IGNORECASE)
_LARGE = re.compile(rf"\b(?:{'|'.join(LARGE_TABLES)})\b")

# The column that a condition must be on besides the first one of the key: a device may have a
# million records, a channel a million deliveries that are done.
_SECOND_COLUMNS = {"record": ("stay",), "delivery": ("seq", "changed_at")}
# These read from one end of a channel's history, and stop.
_READS_AN_END = re.compile(
    r"where channel_number = \S+\s+limit|order by (?:delivery\.)?changed_at desc", re.IGNORECASE
)

# Modules that execute whatever they are given.
_ENGINES = {"database.py", "sqlite.py", "postgres.py", "workers.py", "upgrade.py"}
_ENGINES |= {"postgres_pipeline.py"}
# These mean all rows, and are not for a service that runs.
_ENGINES |= {"slot_count.py", "table_rows.py"}

sqlite_statements: set[str] = set()
postgres_statements: set[str] = set()


def _record(statements: set[str], sql: str) -> None:
    """Record a statement of the store; queries of the tests themselves may scan."""
    if sql not in statements and _is_from_the_store():
        statements.add(sql)


def _is_from_the_store() -> bool:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        verdict = _is_file_of_the_store(frame.f_code.co_filename)
        if verdict is not None:
            return verdict
        frame = frame.f_back
    return False


@cache
def _is_file_of_the_store(name: str) -> bool | None:
    """None for a file that executes what others give it."""
    path = Path(name)
    if "tests" in path.parts and path.name != "plans.py":
        return False
    return True if "store" in path.parts and path.name not in _ENGINES else None


def _is_of_interest(sql: str) -> bool:
    return _EXPLAINED.match(sql) is not None and _LARGE.search(sql) is not None


# --- SQLite ---


class RecordingCursor(sqlite3.Cursor):
    def execute(self, sql: str, *args: Any) -> "RecordingCursor":
        _record(sqlite_statements, sql)
        return super().execute(sql, *args)

    def executemany(self, sql: str, *args: Any) -> "RecordingCursor":
        _record(sqlite_statements, sql)
        return super().executemany(sql, *args)


class RecordingConnection(sqlite3.Connection):
    def cursor(self, factory: Any = RecordingCursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        _record(sqlite_statements, sql)
        return super().execute(sql, *args)

    def executemany(self, sql: str, *args: Any) -> sqlite3.Cursor:
        _record(sqlite_statements, sql)
        return super().executemany(sql, *args)


def sqlite_scans(connection: sqlite3.Connection, sql: str) -> list[str]:
    """Steps of the statement's plan that read a large table from its first row to its last."""
    names = set(re.findall(r"(?<!:):([a-z_]\w*)", sql))
    values: Any = dict.fromkeys(names) if names else (None,) * sql.count("?")
    steps = [row[3] for row in connection.execute(f"explain query plan {sql}", values)]
    partial = {
        name
        for (name,) in connection.execute(
            "select name from sqlite_master where type = 'index' and sql like '% where %'"
        )
    }
    tables = _names_of_large_tables(sql)
    return [step for step in steps if _reads_too_much(step, tables, partial, sql)]


def _names_of_large_tables(sql: str) -> dict[str, str]:
    """The large tables, by their names and the aliases that a statement gives them."""
    given = rf"\b({'|'.join(LARGE_TABLES)})\s+(?:as\s+)?(\w+)"
    aliases = {alias: table for table, alias in re.findall(given, sql, re.IGNORECASE)}
    return {**aliases, **{table: table for table in LARGE_TABLES}}


def _reads_too_much(step: str, tables: dict[str, str], partial: set[str], sql: str) -> bool:
    found = re.match(
        r"(SCAN|SEARCH) (\w+)(?: EXISTS)?"
        r"(?: USING (?:PRIMARY KEY|(?:COVERING )?INDEX (\w+)))?(?: \((.*)\))?",
        step,
    )
    # A partial index has only the rows that are unfinished or failed, so reading all of it is fine.
    if found is None or found[2] not in tables or found[3] in partial:
        return False
    return found[1] == "SCAN" or _reads_whole_prefix(tables[found[2]], found[4] or "", sql)


def _reads_whole_prefix(table: str, conditions: str, sql: str) -> bool:
    """Whether nothing but the first column of the key limits what is read."""
    needed = _SECOND_COLUMNS.get(table.partition("_")[0])
    if needed is None or _READS_AN_END.search(sql):
        return False
    return not any(re.search(rf"\b{column}\b", conditions) for column in needed)


# --- PostgreSQL ---


class RecordingPostgresCursor(psycopg.Cursor[Any]):
    def execute(self, query: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(query, str):
            _record(postgres_statements, query)
        return super().execute(query, *args, **kwargs)

    def executemany(self, query: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(query, str):
            _record(postgres_statements, query)
        super().executemany(query, *args, **kwargs)


def record_postgres(sql: str) -> None:
    """A statement that does not go through a cursor."""
    _record(postgres_statements, sql)


_INDEXES = """
select
    indexrelid::regclass::text,
    indrelid::regclass::text,
    pg_get_indexdef(indexrelid, 1, true),
    indpred is not null
from pg_index
"""


def postgres_scans(connection: psycopg.Connection[Any], sql: str) -> list[str]:
    """The same on PostgreSQL, which reads small tables whole unless it is discouraged."""
    # Tables and first columns, by the names of indexes that have every row of a large table.
    whole = {
        name: (table, first_column)
        for name, table, first_column, is_partial in connection.execute(_INDEXES)
        if table.startswith(LARGE_TABLES) and not is_partial
    }
    with connection.transaction(force_rollback=True):
        for way in ("seqscan", "hashjoin", "mergejoin", "material"):
            connection.execute(f"set local enable_{way} = off")
        explained = connection.execute(f"explain (generic_plan, format json) {_numbered(sql)}")
        (plans,) = explained.fetchone() or ([],)
    nodes = [node for plan in plans for node in _nodes(plan["Plan"])]
    return [node["Node Type"] for node in nodes if _reads_whole_table(node, whole)]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _reads_whole_table(node: dict[str, Any], whole: dict[str, tuple[str, str]]) -> bool:
    if node["Node Type"] == "Seq Scan":
        return str(node["Relation Name"]).startswith(LARGE_TABLES)
    if node.get("Index Name") not in whole:
        return False
    # Without a condition on its first column an index is read from its first entry to its last.
    _, first_column = whole[node["Index Name"]]
    return re.search(rf"\b{first_column}\b", node.get("Index Cond", "")) is None


def _numbered(sql: str) -> str:
    """The statement with `$1`, `$2` instead of the driver's `%(name)s` and `%s`."""
    names: dict[str, int] = {}
    count = iter(range(1, 1_000))

    def number(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return f"${next(count)}"
        if name not in names:
            names[name] = next(count)
        return f"${names[name]}"

    return re.sub(r"%(?:\((\w+)\))?s", number, sql).replace("%%", "%")


# --- after each test ---

# A prepared database on each engine; statements wait until there is one.
sqlite_file: Path | None = None
postgres_url: str | None = None
_explained: set[str] = set()


def find_scans() -> dict[str, list[str]]:
    """The steps that scan a large table, by statement, of what has not been explained yet."""
    scans: dict[str, list[str]] = {}
    if sqlite_file is not None and (new := _take_new(sqlite_statements)):
        with closing(sqlite3.connect(sqlite_file)) as connection:
            scans |= {sql: sqlite_scans(connection, sql) for sql in new}
    if postgres_url is not None and (new := _take_new(postgres_statements)):
        with psycopg.connect(postgres_url) as server:
            scans |= {sql: postgres_scans(server, sql) for sql in new}
    return {sql: steps for sql, steps in scans.items() if steps}


def _take_new(statements: set[str]) -> list[str]:
    new = statements - _explained
    _explained.update(new)
    return [sql for sql in new if _is_of_interest(sql)]
