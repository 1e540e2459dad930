"""Checks the query plan of every statement that the tests make the service run.

A statement that scans a table which grows with every message works in a test and stalls an
installation with a million records. So the connections of the service record the text of what they
execute, and each text is explained once, after the test that brought it.
"""

import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg

LARGE_TABLES = ("record_data", "record_event", "record_geoloc", "record_telemetry")
LARGE_TABLES += ("arrival", "delivery")

_EXPLAINED = re.compile(r"\s*(select|insert|update|delete|with)\b", re.IGNORECASE)
_LARGE = re.compile(rf"\b(?:{'|'.join(LARGE_TABLES)})\b")

sqlite_statements: set[str] = set()
postgres_statements: set[str] = set()


def _record(statements: set[str], sql: str) -> None:
    """Remember a statement of the store; what tests look up by themselves may scan."""
    if sql not in statements and _is_from_the_store():
        statements.add(sql)


def _is_from_the_store() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        is_store = path.parent.name == "store" and path.parent.parent.name == "longwire"
        if is_store and path.name not in ("database.py", "sqlite.py", "postgres.py"):
            return True
        frame = frame.f_back
    return False


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
    large = _names_of_large_tables(sql)
    return [step for step in steps if _scans_large_table(step, large, partial)]


def _names_of_large_tables(sql: str) -> set[str]:
    """The large tables and the aliases that a statement gives them."""
    aliases = re.findall(rf"\b(?:{'|'.join(LARGE_TABLES)})\s+as\s+(\w+)", sql, re.IGNORECASE)
    return {*LARGE_TABLES, *aliases}


def _scans_large_table(step: str, large: set[str], partial: set[str]) -> bool:
    found = re.match(r"SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?", step)
    # A partial index has only the rows that are unfinished or failed, so reading all of it is fine.
    return found is not None and found[1] in large and found[2] not in partial


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


def postgres_scans(connection: psycopg.Connection[Any], sql: str) -> list[str]:
    """The same on PostgreSQL, which reads small tables whole unless it is discouraged."""
    partial = {
        name
        for (name,) in connection.execute(
            "select indexrelid::regclass::text from pg_index where indpred is not null"
        )
    }
    with connection.transaction(force_rollback=True):
        connection.execute("set local enable_seqscan = off")
        explained = connection.execute(f"explain (generic_plan, format json) {_numbered(sql)}")
        (plans,) = explained.fetchone() or ([],)
    nodes = [node for plan in plans for node in _nodes(plan["Plan"])]
    return [
        f"{node['Node Type']} on {node.get('Relation Name')}"
        for node in nodes
        if _reads_whole_table(node, partial)
    ]


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from _nodes(child)


def _reads_whole_table(node: dict[str, Any], partial: set[str]) -> bool:
    if not node.get("Relation Name", "").startswith(LARGE_TABLES):
        return False
    if node["Node Type"] == "Seq Scan":
        return True
    is_index = node["Node Type"] in ("Index Scan", "Index Only Scan")
    return is_index and "Index Cond" not in node and node["Index Name"] not in partial


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


_checked: set[str] = set()


def take_unchecked(statements: set[str]) -> list[str]:
    """The statements about large tables that have not been explained in this process yet."""
    new = [sql for sql in statements - _checked if _is_of_interest(sql)]
    _checked.update(statements)
    return new
