"""Slots: a number of parts that devices, and all that their records cause, are divided into.

A fleet that outgrows one server of a database needs rows that know where they belong. On PostgreSQL
everything that a record touches carries the slot of its device, as a part of the key, and a commit
of records holds one slot. There is one slot unless the operator asks for more; SQLite, with its one
writer, has no such column.

The slot follows from the id of a device, so that whoever has the id knows it without asking. The
number of a device carries it as well, in its lowest bits, so the same holds for the number.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar

import sqlalchemy as sa

from longwire.store.database import Tx, Work
from longwire.store.schema import SLOT_BY
from longwire.store.statement import Statement

T = TypeVar("T")

SLOT = "slot"  # the column

# The finest parts. A slot is one of them, or several: their number is a power of two as well.
BUCKETS = 64

# For PostgreSQL.
TAKE_NUMBERS = Statement(
    """
select nextval('device_number_seq')
from generate_series(1, :count)
""",
    into=int,
)


def bucket_of(device_id: str) -> int:
    """Which of the finest parts a device belongs to, whatever the number of slots."""
    return sha256(device_id.encode()).digest()[0] % BUCKETS


def get_slot_by_id(tx: Tx, device_id: str) -> int:
    """The slot of a device, by its id."""
    return bucket_of(device_id) % tx.slots if tx.slots > 1 else 0


def find_common_slot(count: int, device_ids: Iterable[str]) -> int | None:
    """The slot of all these devices, if it is one of `count`; None if they are in several."""
    found = {bucket_of(each) % count for each in set(device_ids)}
    return found.pop() if len(found) == 1 else None


def get_slot_by_number(tx: Tx, device_number: int) -> int:
    """The same, by its number."""
    return device_number % tx.slots


def key_of(tx: Tx, device_number: int) -> dict[str, Any]:
    """The values by which a statement finds the rows of one device."""
    return {"device": device_number, "slot": device_number % tx.slots}


def list_of_ids(tx: Tx, device_ids: Iterable[str]) -> list[int]:
    """The slots of some devices."""
    if tx.slots == 1:
        return [0]
    return sorted({bucket_of(each) % tx.slots for each in device_ids})


def take_numbers(tx: Tx, device_ids: Sequence[str]) -> list[int]:
    """New numbers for devices on PostgreSQL, in order; each carries the part of its device."""
    taken = tx.fetch(TAKE_NUMBERS, count=len(device_ids))
    return [
        number * BUCKETS + bucket_of(each) for number, each in zip(taken, device_ids, strict=True)
    ]


def fetch_rows(
    tx: Tx, table: sa.Table, column: str, device_numbers: Sequence[int]
) -> list[dict[str, Any]]:
    """The rows that belong to devices, by the column that has their numbers; as for `insert`."""
    statement = sa.select(table).where(table.c[column].in_(device_numbers))
    return [dict(row._mapping) for row in tx.rows(statement)]


def insert(tx: Tx, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows that belong to devices, with their slots where there are several."""
    found_by = table.info.get(SLOT_BY)
    if tx.slots == 1 or found_by is None:
        # A snapshot may have a slot of another number of slots.
        tx.execute(sa.insert(table), [{**row, SLOT: 0} if SLOT in row else row for row in rows])
        return
    columns = [sa.column(column.name, column.type) for column in table.c if column.name != SLOT]
    slotted = sa.table(table.name, *columns, sa.column(SLOT, sa.SmallInteger))
    slotted_rows = [{**row, SLOT: get_slot_by_number(tx, row[found_by])} for row in rows]
    tx.execute(sa.insert(slotted), slotted_rows)


def change_in_slots(tx: Tx, statement: Statement[Any], values: Mapping[str, Any], most: int) -> int:
    """Change some rows of one slot after the other; how many."""
    changed = 0
    for slot in range(tx.slots):
        if changed < most:
            changed += len(tx.fetch(statement, **values, slot=slot, most=most - changed))
    return changed


def run_in_slot(slot: int, work: Work[T], tx: Tx) -> T:
    """Have a transaction count in a slot, and claim and settle there."""
    tx.slot = slot
    return work(tx)
