"""Records on PostgreSQL are cut into months, so that old ones go by dropping a table.

Partitions are made ahead, before anything needs them. What lies outside of the months made so far,
such as the record of a device whose clock is decades off, is kept in a default partition.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from longwire.clock import SECOND, Moment
from longwire.records import KIND_NAMES
from longwire.store.database import Tx
from longwire.store.engines import citus
from longwire.store.identity import group_storage
from longwire.store.records.arrival_numbers import first_seq
from longwire.store.statement import Statement

MONTHS_AHEAD = 2
# 2 MB: some thousand records, of which few or all may be old.
BLOCKS_PER_STEP = 256
PRUNE_ROWS_MAX = 1_000
PARTITION_LOCK = 7_105_511_994  # any number, the same in every process

WAIT_FOR_TURN = Statement("select pg_advisory_xact_lock(:lock)")

LIST_PRESENT = Statement(
    """
select c.relname
from pg_inherits i
join pg_class c
    on c.oid = i.inhrelid
""",
    into=str,
)

# Those of one partition.
CREATE = """
create table {name} (like {table} including all)
"""
# What came before its time waits in the default partition and moves over.
MOVE_EARLY = """
with early as (
    delete from {table}_default
    where {column} >= :begin
        and {column} < :end
    returning *
)
insert into {name}
select *
from early
"""
ATTACH = """
alter table {table} attach partition {name} for values from ({begin}) to ({end})
"""
HAS_ROWS = """
select 1
from {name}
limit 1
"""
LOCK = """
lock table {name} in access exclusive mode
"""
DROP = """
drop table {name}
"""
# Who stores something waits for a partition that is locked, so that must not wait for long itself.
SET_LOCK_TIMEOUT = Statement("set local lock_timeout = '1s'")


def create_ahead(tx: Tx) -> None:
    """Make the partitions of this month and the next ones, where they are missing."""
    if not tx.is_postgres:
        return
    _wait_for_turn(tx)
    present = _present(tx)
    for offset in range(MONTHS_AHEAD + 1):
        begin, end, label = _month(tx.now, offset)
        for kind in KIND_NAMES:
            _make(tx, present, f"record_{kind}", "ts", label, begin, end)
        _make(tx, present, "arrival", "seq", label, first_seq(begin), first_seq(end))


def create_months(tx: Tx, labels: Iterable[str]) -> None:
    """Make the partitions of months by their names, where they are missing."""
    present = _present(tx)
    for label in labels:
        begin, end = _start(int(label[:4]) * 12 + int(label[4:]) - 1), _end_of(label)
        for kind in KIND_NAMES:
            _make(tx, present, f"record_{kind}", "ts", label, begin, end)
        _make(tx, present, "arrival", "seq", label, first_seq(begin), first_seq(end))


def list_labels(first: Moment, last: Moment) -> list[str]:
    """The names of all months from one moment to another."""
    begin, end = (_index_of(each) for each in (first, last))
    return [f"{index // 12:04d}{index % 12 + 1:02d}" for index in range(begin, end + 1)]


def drop_before(tx: Tx, kind: str, oldest: Moment) -> list[str]:
    """Drop the partitions of a kind with nothing but expired records; their names."""
    if not tx.is_postgres:
        return []
    _wait_for_turn(tx)
    table = f"record_{kind}"
    this_month = _label(tx.now)
    over = [
        name
        for name in sorted(_present(tx))
        if name.startswith(f"{table}_p")
        and (label := name.rpartition("_p")[2]) < this_month
        and _end_of(label) <= oldest
    ]
    for name in over:
        group_storage.subtract_table(tx, name)
        tx.run(Statement(DROP, name=name))
    return over


def list_months(tx: Tx, kind: str, before: Moment) -> list[str]:
    """The partitions of a kind for months that ended before a moment."""
    month = re.compile(rf"record_{kind}_p(\d{{6}})")
    present = sorted(_present(tx)) if tx.is_postgres else []
    return [name for name in present if (m := month.fullmatch(name)) and _end_of(m[1]) <= before]


def drop_if_empty(tx: Tx, name: str) -> bool:
    """Drop a partition whose records were moved away; whether it was dropped."""
    _wait_for_turn(tx)
    tx.run(SET_LOCK_TIMEOUT)
    has_rows = Statement(HAS_ROWS, name=name)
    if name not in _present(tx) or tx.fetch(has_rows):
        return False
    tx.run(Statement(LOCK, name=name))
    if tx.fetch(has_rows):
        return False
    tx.run(Statement(DROP, name=name))
    return True


class Place(NamedTuple):
    """Where a walk through the partitions of a kind is."""

    name: str
    slot: int | None  # of those whose rows are in tables of their own
    block: int
    end: int


COUNT_BLOCKS = Statement("""
select pg_relation_size(cast(:name as regclass)) / cast(current_setting('block_size') as integer)
""")

# Asked of the table in which a slot is, whose name is not known here.
COUNT_BLOCKS_OF_SLOT = """
select pg_relation_size(tableoid) / cast(current_setting('block_size') as integer)
from {table}
where slot = :slot
order by device_number
limit 1
"""


def delete_older(
    tx: Tx, kind: str, before: Moment, place: Place | None
) -> tuple[int, Place | None]:
    """Delete some records older than a moment, in the partitions that have others as well.

    Block by block, as they are on the disk: there is no index by time, and looking at each device
    takes longer the more there are. Returns how many, and where to continue; None at the end. What
    is appended to a partition meanwhile is left to the next walk.
    """
    table = f"record_{kind}"
    month = re.compile(rf"{table}_p(\d{{6}})")
    mixed = [
        name
        for name in sorted(_present(tx))
        if name == f"{table}_default"
        or ((found := month.fullmatch(name)) and _begin_of(found[1]) < before)
    ]
    if place is None or place.name not in mixed or place.block >= place.end:
        return 0, _find_next(tx, mixed, place)
    most = PRUNE_ROWS_MAX
    name, slot, block, end = place
    blocks = range(block, block + BLOCKS_PER_STEP)
    deleted = group_storage.delete_blocks(tx, name, slot, blocks, before, most)
    return deleted, Place(name, slot, block if deleted == most else blocks.stop, end)


def _find_next(tx: Tx, names: Sequence[str], place: Place | None) -> Place | None:
    """The first block of the next table, of those that have any."""
    own_slots = range(tx.slots) if citus.is_distributed(tx) else [None]
    for name, slot in itertools.product(names, own_slots):
        is_later = place is None or (name, slot or 0) > (place.name, place.slot or 0)
        if is_later and (blocks := _count_blocks(tx, name, slot)):
            return Place(name, slot, 0, blocks)
    return None


def _count_blocks(tx: Tx, name: str, slot: int | None) -> int:
    if slot is None:
        return int(tx.fetch(COUNT_BLOCKS, name=name)[0][0])
    return tx.first(Statement(COUNT_BLOCKS_OF_SLOT, into=int, table=name), slot=slot) or 0


def _wait_for_turn(tx: Tx) -> None:
    """One process at a time; the others then find it done."""
    tx.fetch(WAIT_FOR_TURN, lock=PARTITION_LOCK)


def _make(
    tx: Tx, present: set[str], table: str, column: str, label: str, begin: int, end: int
) -> None:
    name = f"{table}_p{label}"
    if name in present:
        return
    tx.run(Statement(CREATE, name=name, table=table))
    tx.run(Statement(MOVE_EARLY, name=name, table=table, column=column), begin=begin, end=end)
    tx.run(Statement(ATTACH, name=name, table=table, begin=str(begin), end=str(end)))


def _present(tx: Tx) -> set[str]:
    return set(tx.fetch(LIST_PRESENT))


def _month(now: Moment, offset: int) -> tuple[Moment, Moment, str]:
    """Where the month so many months ahead begins and ends, and its name."""
    index = _index_of(now) + offset
    return _start(index), _start(index + 1), f"{index // 12:04d}{index % 12 + 1:02d}"


def _index_of(moment: Moment) -> int:
    day = datetime.fromtimestamp(moment / SECOND, UTC)
    return day.year * 12 + day.month - 1


def _label(now: Moment) -> str:
    return _month(now, 0)[2]


def _begin_of(label: str) -> Moment:
    return _start(int(label[:4]) * 12 + int(label[4:]) - 1)


def _end_of(label: str) -> Moment:
    return _start(int(label[:4]) * 12 + int(label[4:]))


def _start(index: int) -> Moment:
    return int(datetime(index // 12, index % 12 + 1, 1, tzinfo=UTC).timestamp()) * SECOND
