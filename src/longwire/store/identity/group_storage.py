"""How many records a group has, and how large they are: kept with every record that comes or goes.

Each process counts in rows of its own, as for the counters, so that none waits for another; what is
deleted is subtracted in the row of writer 0. The size is that of the stored JSON, in characters.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from longwire.clock import Moment
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import OnConflict, insert_many
from longwire.store.statement import Statement

StoredSize = tuple[int, int]  # records, and characters of their JSON

_ADD = OnConflict("""
    records = group_storage.records + excluded.records,
    characters = group_storage.characters + excluded.characters
""")

# The group in which the device stayed; a stay that was erased is known by its erasure.
GET_GROUP_OF_STAY = Statement("""
select group_id
from device_stay
where device_number = :device
    and stay = :stay
    {slot}
""")

GET_GROUP_OF_ERASURE = Statement("""
select group_id
from erasure
where device_number = :device
    and stay = :stay
""")

# For PostgreSQL. One statement, so that a stay that is erased meanwhile counts once.
SUM_TABLE = """
select coalesce(s.group_id, e.group_id), count(*), sum(length(r.body))
from {table} r
left join device_stay s
    on s.device_number = r.device_number
    and s.stay = r.stay
    {slot:s=r}
left join erasure e
    on e.device_number = r.device_number
    and e.stay = r.stay
where coalesce(s.group_id, e.group_id) is not null
group by coalesce(s.group_id, e.group_id)
"""

# Old records in a range of blocks of a partition, or of what it has on a worker for one slot.
DELETE_BLOCKS = """
delete from {table}
where ctid = any (array(
        select ctid
        from {table}
        where ctid >= cast(:begin as tid)
            and ctid < cast(:end as tid)
            and ts < :before
            {in_slot}
        limit :most
    ))
    {in_slot}
returning device_number, stay, length(body)
"""
LIFT_TIMEOUT = Statement("set local statement_timeout = 0")

LIST_GROUPS_OF_STAYS = Statement("""
select device_number, stay, group_id
from device_stay
where device_number = any(:numbers)
    {postgres:and slot = any(:slots)}
""")

LIST_GROUPS_OF_ERASURES = Statement("""
select device_number, stay, group_id
from erasure
where device_number = any(:numbers)
""")

GET_OWNER = Statement("""
select quota_user_id
from device_group
where id = :home
""")

# Of all groups that count for the quota of a user.
GET_OF_OWNER = Statement("""
select coalesce(sum(s.records), 0), coalesce(sum(s.characters), 0)
from device_group g
join group_storage s on s.group_id = g.id
where g.quota_user_id = :owner
""")

# Of a group and those below it.
GET_OF_TREE = Statement("""
select coalesce(sum(s.records), 0), coalesce(sum(s.characters), 0)
from group_path p
join group_storage s
    on s.group_id = p.group_id
where p.ancestor_id = :home
""")

GET = Statement("""
select coalesce(sum(records), 0), coalesce(sum(characters), 0)
from group_storage
where group_id = :home
""")


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
        found = tx.fetch(GET_GROUP_OF_STAY, **key) or tx.fetch(GET_GROUP_OF_ERASURE, **key)
        for (group,) in found:
            add(tx, 0, {group: (records, characters)})


def subtract_table(tx: Tx, table: str) -> None:
    """Subtract all records of a partition that is about to be dropped, however long it takes."""
    if tx.statements is not None:
        tx.statements.lift_deadline()
    tx.run(LIFT_TIMEOUT)
    found = tx.fetch(Statement(SUM_TABLE, table=table))
    add(tx, 0, {group: (-records, -int(characters)) for group, records, characters in found})


def delete_blocks(
    tx: Tx, table: str, slot: int | None, blocks: range, before: Moment, most: int
) -> int:
    """Delete some records older than a moment, in these blocks of a partition; how many.

    With a slot they are the blocks of its shard, in which there may be other slots.
    """
    values = {"begin": f"({blocks.start},0)", "end": f"({blocks.stop},0)", "before": before}
    statement = Statement(DELETE_BLOCKS, table=table, in_slot="" if slot is None else "{slot}")
    gone = tx.fetch(statement, **values, most=most, slot=slot)
    if gone:
        _subtract(tx, gone)
    return len(gone)


def _subtract(tx: Tx, gone: Sequence[tuple[int, int, int]]) -> None:
    """Subtract records, each with its device, stay and size, from what their groups have."""
    numbers = sorted({device for device, _, _ in gone})
    held = sorted({slots.get_slot_by_number(tx, each) for each in numbers})
    # In this order: a stay that is erased meanwhile is found by one of the two, or by both.
    rows = tx.fetch(LIST_GROUPS_OF_STAYS, numbers=numbers, slots=held)
    rows += tx.fetch(LIST_GROUPS_OF_ERASURES, numbers=numbers)
    groups = {(device, stay): group for device, stay, group in rows}
    less: defaultdict[int, list[int]] = defaultdict(list)
    for device, stay, size in gone:
        if (device, stay) in groups:
            less[groups[device, stay]].append(size)
    add(tx, 0, {group: (-len(sizes), -sum(sizes)) for group, sizes in less.items()})


def get(tx: Tx, group_number: int) -> StoredSize:
    """What a group has."""
    records, characters = tx.fetch(GET, home=group_number)[0]
    return int(records), int(characters)


def get_of_tree(tx: Tx, group_number: int) -> StoredSize:
    """What a group has with those below it."""
    records, characters = tx.fetch(GET_OF_TREE, home=group_number)[0]
    return int(records), int(characters)


def get_owner(tx: Tx, group_number: int) -> str:
    """Whose quota a group counts for."""
    found = tx.fetch(GET_OWNER, home=group_number)
    return str(found[0][0]) if found else ""


def get_of_owner(tx: Tx, owner_id: str) -> StoredSize:
    """What there is of all groups that count for the quota of a user."""
    records, characters = tx.fetch(GET_OF_OWNER, owner=owner_id)[0]
    return int(records), int(characters)
