"""Moving a database from one engine to the other, while no process uses either.

Rows are copied page by page, each page in a transaction with a note of how far that is, so a move
that was interrupted is continued. Until every row was read again in the new place and is what it
was in the old one, no process starts there. The old database is only read.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from longwire.clock import Clock
from longwire.errors import OperatorError
from longwire.process import startup
from longwire.settings import Settings
from longwire.store import instance
from longwire.store.database import Database, Tx
from longwire.store.engines import partitions, slot_count, table_rows, upgrade
from longwire.store.engines.table_rows import Row, RowPage, TableShape

DIGEST_BYTES = 16
_MODULUS = 1 << (8 * DIGEST_BYTES)
MONTHS_MAX = 120
# Facts of one place, which are not those of another.
_LOCAL_FACTS = (slot_count.SLOTS_FACT, startup.MOVING_FACT)


class MoveError(OperatorError):
    """A database cannot be moved; the message says why, and what to do."""


class TableProgress(msgspec.Struct):
    """How far a table is, and the sum of the digests of its rows."""

    rows: int = 0
    digest: str = "0"
    after: list[Any] | None = None
    is_done: bool = False

    def add(self, rows: Iterable[Row]) -> None:
        """In any order: what is added up is the same."""
        total = int(self.digest, 16)
        for row in rows:
            self.rows += 1
            total += _digest(row)
        self.digest = f"{total % _MODULUS:x}"


class Progress(msgspec.Struct):
    """What the new place notes of a move."""

    source: str  # what tells the old place, and whether it was used since
    tables: dict[str, TableProgress] = {}


Report = Callable[[str, int], None]  # a table, and how many of its rows are there


def move(source: Settings, target: Settings, report: Report) -> dict[str, int]:
    """Copy everything and compare it; how many rows each table has."""
    if target.database_slots > 1:
        raise MoveError(slot_count.NUMBERED_BY_SQLITE)
    if bool(source.database) == bool(target.database):
        raise MoveError(
            "Both are of the same engine; make a backup of one, and restore it at the other."
        )
    _require_source(source)
    with startup.lock_data_folder(source), startup.lock_data_folder(target):
        _bring_keys(source, target)
        old, _ = startup.build_database(source, Clock(), is_secondary=True)
        try:
            new, _ = startup.build_database(target, Clock())
            try:
                return old.upgrade(lambda tx: _Move(tx, new, report).run())
            finally:
                new.close()
        finally:
            old.close()


def _require_source(source: Settings) -> None:
    if not source.database and not (source.data / "longwire.db").exists():
        raise MoveError(f"There is no database in {source.data}.")
    if not startup.has_key(source):
        raise MoveError("The secret key of the database that is moved is not here.")


def _bring_keys(source: Settings, target: Settings) -> None:
    keys, _ = startup.load_keys(source)
    if not startup.has_key(target):
        startup.save_keys(target, keys)
    elif startup.load_keys(target)[0] != keys:
        raise MoveError(f"The secret key in {target.data} is another one.")


class _Move:
    """One attempt; the transaction of the old place is open all the time, so nobody starts."""

    def __init__(self, tx: Tx, new: Database, report: Report) -> None:
        self._old = tx
        self._new = new
        self._report = report
        self._progress = Progress("")
        self._counters: dict[str, int] = {}

    def run(self) -> dict[str, int]:
        self._require_ready()
        self._counters = table_rows.read_counters(self._old)
        self._progress = self._new.upgrade(self._begin)
        for table in table_rows.list_tables():
            self._copy(table)
        self._new.upgrade(lambda tx: table_rows.set_counters(tx, self._counters))
        for table in table_rows.list_tables():
            self._compare(table)
        self._new.upgrade(self._end)
        return {name: each.rows for name, each in self._progress.tables.items()}

    def _require_ready(self) -> None:
        tx = self._old
        if upgrade.get_current_revision(tx.connection) is None:
            raise MoveError("The database that is to be moved is empty.")
        if upgrade.missing_steps(tx):
            raise MoveError("It has the schema of an older version; run `longwire migrate` first.")
        if instance.get_fact(tx, startup.MOVING_FACT) is not None:
            raise MoveError("The database that is to be moved is itself a move that has not ended.")
        if tx.is_postgres:
            slot_count.require_unused(tx)

    # --- in the new place ---

    def _begin(self, tx: Tx) -> Progress:
        """Make the tables, or find how far an earlier attempt came."""
        bootstrapped_at = instance.get_fact(self._old, "bootstrapped_at") or "0"
        # Each start of a service takes a number.
        source = f"{bootstrapped_at}/{self._counters[table_rows.WRITERS]}"
        if upgrade.get_current_revision(tx.connection) is not None:
            noted = instance.get_fact(tx, startup.MOVING_FACT)
            if noted is None:
                raise MoveError("The new database has tables already; move into an empty one.")
            progress = msgspec.json.decode(noted, type=Progress)
            if progress.source != source or upgrade.missing_steps(tx):
                raise MoveError(
                    "Another database was being moved there, or this one was used since. Empty the"
                    " new one, and move again."
                )
            return progress
        upgrade.upgrade(tx)
        slot_count.require(tx, 1)
        if tx.is_postgres:
            # Nothing arrived before; records of earlier times are in the default partition.
            labels = partitions.list_labels(int(bootstrapped_at), tx.now)
            partitions.create_months(tx, labels[-MONTHS_MAX:])
        progress = Progress(source)
        _note(tx, progress)
        return progress

    def _copy(self, table: TableShape) -> None:
        progress = self._progress.tables.setdefault(table.name, TableProgress())
        while not progress.is_done:
            page = table_rows.read_page(self._old, table, _unpack(progress.after))
            self._new.upgrade(partial(self._store, table=table, page=page))
            self._report(table.name, progress.rows)

    def _store(self, tx: Tx, table: TableShape, page: RowPage) -> None:
        progress = self._progress.tables[table.name]
        if not progress.rows:
            table_rows.clear(tx, table, _LOCAL_FACTS if table.name == "instance" else ())
        rows = _leave_local_facts(table, page.rows)
        table_rows.write_rows(tx, table, rows)
        progress.add(rows)
        progress.after, progress.is_done = _pack(page.after), page.after is None
        _note(tx, self._progress)

    def _compare(self, table: TableShape) -> None:
        expected = self._progress.tables[table.name]
        here = table_rows.count_rows(self._old, table)
        if table.name == "instance":
            here -= sum(instance.get_fact(self._old, each) is not None for each in _LOCAL_FACTS)
        if here != expected.rows:
            raise MoveError(
                f"The table {table.name} was changed since the move began. Empty the new database,"
                " and move again."
            )
        found = self._new.upgrade(lambda tx: _sum(tx, table))
        if (found.rows, found.digest) != (expected.rows, expected.digest):
            raise MoveError(
                f"The table {table.name} is not the same in the new place: {expected.rows} rows,"
                f" and {found.rows} there. Empty the new database, and move again."
            )

    def _end(self, tx: Tx) -> None:
        if tx.is_postgres:
            instance.save_fact(tx, slot_count.ONE_SLOT_FACT, "sqlite")
        instance.delete_fact(tx, startup.MOVING_FACT)


def _leave_local_facts(table: TableShape, rows: list[Row]) -> list[Row]:
    if table.name != "instance":
        return rows
    return [row for row in rows if row[0] not in _LOCAL_FACTS]


def _note(tx: Tx, progress: Progress) -> None:
    instance.save_fact(tx, startup.MOVING_FACT, msgspec.json.encode(progress).decode())


def _sum(tx: Tx, table: TableShape) -> TableProgress:
    """The rows and digests of a table in the new place."""
    found = TableProgress()
    after: Row | None = None
    while not found.is_done:
        page = table_rows.read_page(tx, table, after)
        found.add(_leave_local_facts(table, page.rows))
        after, found.is_done = page.after, page.after is None
    return found


def _digest(row: Row) -> int:
    digest = hashlib.blake2b(repr(row).encode(), digest_size=DIGEST_BYTES).digest()
    return int.from_bytes(digest, "big")


def _pack(place: Row | None) -> list[Any] | None:
    """A place as JSON: bytes are in a list of their own."""
    if place is None:
        return None
    return [[each.hex()] if isinstance(each, bytes) else each for each in place]


def _unpack(packed: list[Any] | None) -> Row | None:
    if packed is None:
        return None
    return tuple(bytes.fromhex(each[0]) if isinstance(each, list) else each for each in packed)
