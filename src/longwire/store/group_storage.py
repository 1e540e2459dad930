"""How many records a group has, and how large they are: kept with every record that comes or goes.

Each process counts in rows of its own, as for the counters, so that none waits for another; what is
deleted is subtracted in the row of writer 0. The size is that of the stored JSON, in characters.
"""

from collections.abc import Mapping

from longwire.clock import Moment
from longwire.store import schema, slots
from longwire.store.bulk import KEY, insert_many
from longwire.store.database import DialectSql, Tx
from longwire.store.dialects import by_slot

_ADD = f"""
on conflict {KEY} do update
set records = group_storage.records + excluded.records,
    characters = group_storage.characters + excluded.characters
"""
# In a statement of its own; what is subtracted counts in the first slot.
_ADDED = DialectSql(
    _ADD.strip().replace(KEY, "(group_id, writer)"),
    _ADD.strip().replace(KEY, "(group_id, writer, slot)"),
)

# The group in which the device stayed; a stay that was erased is known by its erasure.
GET_GROUP_OF_STAY = by_slot(
    """
select group_id
from device_stay
where device_number = :device
    and stay = :stay
    and slot = :slot
"""
)

GET_GROUP_OF_ERASURE = """
select group_id
from erasure
where device_number = :device
    and stay = :stay
"""

# For PostgreSQL, as is the next one.
SUM_TABLE = """
select s.group_id, count(*), sum(length(r.body))
from {table} r
join device_stay s
    on s.device_number = r.device_number
    and s.stay = r.stay
    and s.slot = r.slot
group by s.group_id
"""

SUM_ERASED_OF_TABLE = """
select s.group_id, count(*), sum(length(r.body))
from {table} r
join erasure s
    on s.device_number = r.device_number
    and s.stay = r.stay
group by s.group_id
"""

# Old records in a range of blocks of a partition.
DELETE_BLOCKS = f"""
with gone as (
    delete from {{table}}
    where ctid = any (array(
        select ctid
        from {{table}}
        where ctid >= cast(:begin as tid)
            and ctid < cast(:end as tid)
            and ts < :before
        limit :most
    ))
    returning device_number, stay, length(body) as characters
), subtracted as (
    insert into group_storage (group_id, writer, records, characters)
    select s.group_id, 0, -count(*), -sum(r.characters)
    from gone r
    cross join lateral (
        select group_id
        from device_stay
        where device_number = r.device_number
            and stay = r.stay
        union all
        select group_id
        from erasure
        where device_number = r.device_number
            and stay = r.stay
    ) s
    group by s.group_id
    {_ADDED.postgres}
)
select count(*)
from gone
"""

GET = """
select coalesce(sum(records), 0), coalesce(sum(characters), 0)
from group_storage
where group_id = :home
"""


def add(tx: Tx, writer: int, stored: Mapping[int, tuple[int, int]]) -> None:
    """Add (records, characters) by group."""
    insert_many(
        tx,
        schema.group_storage,
        ("group_id", "writer", "records", "characters"),
        [(group, writer, *more) for group, more in sorted(stored.items())],
        _ADD,
    )


def add_for_stay(tx: Tx, device_number: int, stay: int, records: int, characters: int) -> None:
    """Add, or subtract, for the group that a device was in during a stay."""
    if records or characters:
        key = {**slots.key_of(tx, device_number), "stay": stay}
        found = tx.fetch_raw(GET_GROUP_OF_STAY, key) or tx.fetch_raw(GET_GROUP_OF_ERASURE, key)
        for (group,) in found:
            add(tx, 0, {group: (records, characters)})


def subtract_table(tx: Tx, table: str) -> None:
    """Subtract all records of a partition that is about to be dropped, however long it takes."""
    tx.lift_deadline()
    tx.execute_raw("set local statement_timeout = 0", {})
    for statement in (SUM_TABLE, SUM_ERASED_OF_TABLE):
        found = tx.fetch_raw(statement.format(table=table), {})
        add(tx, 0, {group: (-records, -int(characters)) for group, records, characters in found})


def delete_blocks(tx: Tx, table: str, begin: int, end: int, before: Moment, most: int) -> int:
    """Delete some records older than a moment, between two blocks of a partition; how many."""
    values = {"begin": f"({begin},0)", "end": f"({end},0)", "before": before, "most": most}
    return int(tx.fetch_raw(DELETE_BLOCKS.format(table=table), values)[0][0])


def get(tx: Tx, group_number: int) -> tuple[int, int]:
    """(records, characters) of a group."""
    records, characters = tx.fetch_raw(GET, {"home": group_number})[0]
    return int(records), int(characters)
