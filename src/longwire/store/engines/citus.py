"""A PostgreSQL with the extension Citus: what records touch is spread over servers, by slot.

All else stays where it is, on the coordinator. A commit of records holds one slot, so it writes to
one worker. The statements are the same as without the extension.
"""

from typing import NamedTuple

from longwire.errors import OperatorError
from longwire.store import schema
from longwire.store.database import Tx
from longwire.store.engines import slot_count
from longwire.store.statement import Statement

HAS_EXTENSION = Statement("""
select 1
from pg_extension
where extname = 'citus'
""")

# Not without the extension: the server would not know the names.
LIST_DISTRIBUTED = Statement("""
select cast(logicalrelid as text)
from pg_dist_partition
where partmethod = 'h'
""")

COUNT_SHARDS = Statement("""
select count(*), count(distinct p.groupid)
from pg_dist_shard s
join pg_dist_placement p
    on p.shardid = s.shardid
where s.logicalrelid = cast(:name as regclass)
""")

# One after the other in one transaction; parallel connections would not see each other's tables.
SET_SEQUENTIAL = Statement("""
select set_config('citus.multi_shard_modify_mode', 'sequential', true)
""")

LIST_OUTER_KEYS = Statement("""
select conname
from pg_constraint
where conrelid = cast(:name as regclass)
    and contype = 'f'
""")

DISTRIBUTE = Statement("""
select create_distributed_table(:name, 'slot', shard_count => :shards)
""")

DISTRIBUTE_COLOCATED = Statement("""
select create_distributed_table(:name, 'slot', colocate_with => :first_table)
""")


FIRST_TABLE = "arrival"  # all others are colocated with it


class CitusMissing(OperatorError):
    """The tables cannot be distributed here."""


class Layout(NamedTuple):
    shards: int
    servers: int  # that have them


def list_tables() -> list[str]:
    """What a record touches: the tables with the slot in their key, the same in every order."""
    return [
        table.name
        for table in schema.metadata.sorted_tables
        if schema.SLOT_BY in table.info and "slot" not in table.c
    ]


def distribute(tx: Tx) -> list[str]:
    """Distribute what is not yet, while no process uses the database; the names of these tables."""
    if not _has_extension(tx):
        raise CitusMissing(
            "The extension Citus is not in this database; have it installed on all servers, run"
            " `create extension citus` in the database of each, and add the workers."
        )
    count = slot_count.get(tx) or 1
    if count == 1:
        raise CitusMissing(
            "This database has one slot, which cannot be divided; run `longwire migrate --slots 32`"
            " first, with as many as there may ever be workers, or more."
        )
    present = {name for (name,) in tx.fetch(LIST_DISTRIBUTED)}
    missing = [name for name in list_tables() if name not in present]
    missing.sort(key=lambda name: name != FIRST_TABLE)
    if missing:
        slot_count.require_unused(tx)
        tx.fetch(SET_SEQUENTIAL)
    for name in missing:
        _distribute_one(tx, name, count)
    return missing


def _distribute_one(tx: Tx, name: str, shards: int) -> None:
    # A worker does not have the tables of the coordinator, so it cannot look into them.
    for (key,) in tx.fetch(LIST_OUTER_KEYS, name=name):
        tx.run(Statement("alter table {name} drop constraint {key}", name=name, key=key))
    if name == FIRST_TABLE:
        tx.fetch(DISTRIBUTE, name=name, shards=shards)
    else:
        tx.fetch(DISTRIBUTE_COLOCATED, name=name, first_table=FIRST_TABLE)


def get_layout(tx: Tx) -> Layout | None:
    """How the tables are distributed; None if they are not."""
    if not is_distributed(tx):
        return None
    return Layout(*tx.fetch(COUNT_SHARDS, name=FIRST_TABLE)[0])


def is_distributed(tx: Tx) -> bool:
    """Whether each slot has tables of its own, on some server."""
    return _has_extension(tx) and FIRST_TABLE in {name for (name,) in tx.fetch(LIST_DISTRIBUTED)}


def change_slots(tx: Tx, count: int) -> None:
    """As `slot_count.change`, unless the rows are where their slots have put them."""
    if get_layout(tx) is not None:
        raise slot_count.SlotsFixed(
            "The tables are distributed by their slots, whose number is fixed; restore a backup"
            " into a new database with another one."
        )
    slot_count.change(tx, count)


def _has_extension(tx: Tx) -> bool:
    return tx.is_postgres and bool(tx.fetch(HAS_EXTENSION))
