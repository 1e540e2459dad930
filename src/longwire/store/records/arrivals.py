"""The ledger of arrivals, read in order: the records of some groups, whatever device sent them.

The key of the ledger begins with the group, so the arrivals of several groups are merged. A step
reads a bounded number of entries, however many groups and arrivals there are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from operator import attrgetter
from typing import Any

from longwire.dataclass import dataclass
from longwire.records import KIND_NAMES
from longwire.store import slots
from longwire.store.archive import archive_reads
from longwire.store.archive.archive_reads import ArchivedRange, PointPlan, RecordKey
from longwire.store.database import Tx
from longwire.store.records.arrival_numbers import WRITER_BITS
from longwire.store.records.arrived_records import (
    ARRIVAL_COLUMNS,
    ARRIVED_DEVICE_COLUMNS,
    ArrivedRecord,
    build_arrived,
)
from longwire.store.statement import ByEngine, Sql, Statement

# Bodies that are read before their size is known; a record can be as large as a request.
BODIES_AT_ONCE_MAX = 100
SEQS_MAX = 100_000
# A step that covers less than this share of its entries reads more of a group, so often.
EXTENDED_SHARE = 8
EXTENSIONS_MAX = 4

_OF_GROUP = """from arrival b
    where b.group_id = g.id
        {slot:b}
        and b.seq > :after
        and b.seq < :before
    order by b.seq {order}
    limit {most}"""


_ORDERS = ((True, "asc"), (False, "desc"))


# The groups whose next arrivals come first: the next `most` arrivals are in these.
LIST_NEXT_GROUPS = {
    is_ascending: Statement(
        """
select n.id, n.next_seq
from (
    select g.id, (
        select b.seq
        {next_one}
    ) as next_seq
    from {rows:groups g.id}
) n
where n.next_seq is not null
order by n.next_seq {order}
limit :most
""",
        order=order,
        next_one=Sql(_OF_GROUP, order=order, most="1"),
    )
    for is_ascending, order in _ORDERS
}

_IS_NEXT = """join arrival a
    on a.group_id = g.id
    and a.seq in (
        select b.seq
        {next_ones}
    )"""
_NEXT = """cross join lateral (
    select *
    {next_ones}
) a"""
LIST_OF_GROUPS = {
    is_ascending: Statement(
        """
select {columns}
from {rows:groups g.id}
{join_next}
order by a.seq {order}
""",
        columns=ARRIVAL_COLUMNS,
        join_next=ByEngine(
            sqlite=Sql(_IS_NEXT, next_ones=next_ones), postgres=Sql(_NEXT, next_ones=next_ones)
        ),
        order=order,
    )
    for is_ascending, order, next_ones in (
        (*each, Sql(_OF_GROUP, order=each[1], most=":per_group")) for each in _ORDERS
    )
}

LIST_SEQS = Statement("""
select a.group_id, a.seq
from arrival a
where a.group_id {in:groups}
    and a.seq > :after
    and (a.seq & :writers) <> :but
limit :most
""")

LIST_AT = Statement(
    """
select {columns}
from unnest(cast({array:groups} as bigint[]), cast({array:seqs} as bigint[])) w (group_id, seq)
cross join lateral (
    select *
    from arrival b
    where b.group_id = w.group_id
        {slot:b}
        and b.seq = w.seq
    limit 1
) a
""",
    columns=ARRIVAL_COLUMNS,
)

# Records and their devices, whose names and tags only show while they are in the group or below.
# SQLite joins in this order because of the cross joins. The limit keeps PostgreSQL from turning
# this into a join that reads all records.
_JOIN_DEVICE = """cross join device d
left join group_path p
    on p.ancestor_id = a.group_id
    and p.group_id = d.group_id"""
_OF_ARRIVAL = """s.device_number = a.device_number
        and s.stay = a.stay
        and r.device_number = a.device_number
        and r.stay = a.stay
        {slot:s}
        {slot:r=s}
        and r.ts = a.ts
        and r.seq = a.seq"""

# The same as `ARRIVED_DEVICE_COLUMNS`.
_NAMED_DEVICE_COLUMNS = """d.id, d.stay as now_stay,
    case when p.depth is null then '' else d.name end as name,
    d.type,
    case when p.depth is null then '[]' else d.tags end as tags"""

_LIST_RECORDS_ON_SQLITE = """
select a.seq, {device_columns}, r.body
from json_each({array:seqs}) w
cross join arrival a
cross join device_stay s
cross join {table} r
{join_device}
where a.group_id = :home
    and a.seq = w.value
    and {of_arrival}
    and d.number = a.device_number
"""
_LIST_RECORDS_ON_POSTGRES = """
with sent as materialized (
    select a.device_number, a.stay, a.ts, a.seq, {device_columns}
    from unnest(
        cast({array:groups} as bigint[]),
        cast({array:devices} as bigint[]),
        cast({array:stays} as integer[]),
        cast({array:moments} as bigint[]),
        cast({array:seqs} as bigint[])
    ) a (group_id, device_number, stay, ts, seq)
    {join_device}
    where d.number = a.device_number
)
select a.seq, a.id, a.now_stay, a.name, a.type, a.tags, r.body
from sent a
cross join lateral (
    select r.body
    from device_stay s
    cross join {table} r
    where {of_arrival}
    limit 1
) r
"""
_RECORD_PIECES = {"join_device": _JOIN_DEVICE, "of_arrival": _OF_ARRIVAL}
LIST_RECORDS = {
    kind: Statement(
        ByEngine(
            sqlite=Sql(
                _LIST_RECORDS_ON_SQLITE,
                device_columns=ARRIVED_DEVICE_COLUMNS,
                table=f"record_{kind}",
                **_RECORD_PIECES,
            ),
            postgres=Sql(
                _LIST_RECORDS_ON_POSTGRES,
                device_columns=_NAMED_DEVICE_COLUMNS,
                table=f"record_{kind}",
                **_RECORD_PIECES,
            ),
        )
    )
    for kind in KIND_NAMES
}

# The device of a record that is not in the tables.
GET_DEVICE = Statement(
    """
select {columns}
from device_stay s
cross join device d
left join group_path p
    on p.ancestor_id = :home
    and p.group_id = d.group_id
where s.device_number = :device
    and s.stay = :stay
    and d.number = s.device_number
""",
    columns=ARRIVED_DEVICE_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class Arrival:
    """An entry of the ledger; the record itself is not read yet, and may be deleted."""

    row: tuple[Any, ...]  # with the columns `ARRIVAL_COLUMNS`

    @property
    def group_number(self) -> int:
        return int(self.row[0])

    @property
    def seq(self) -> int:
        return int(self.row[1])

    @property
    def kind(self) -> int:
        return int(self.row[2])

    @property
    def stay(self) -> int:
        return int(self.row[4])

    @property
    def device_number(self) -> int:
        return int(self.row[5])

    @property
    def ts(self) -> int:
        return int(self.row[6])


_SEQ_OF = attrgetter("seq")


@dataclass(frozen=True, slots=True)
class ArrivalStep:
    """Entries in order. Between the begin of the step and `covered_to` there are no others."""

    arrivals: list[Arrival]
    covered_to: int | None  # None when there are no more


@dataclass(slots=True)
class _Merge:
    """Entries of several groups, and how far each was read."""

    ascending: bool
    arrivals: list[Arrival] = field(default_factory=list)
    # The last entry of each group that may have more behind it; None: of groups that are not read.
    ends: dict[int | None, int] = field(default_factory=dict)

    def read(self, tx: Tx, groups: Sequence[int], values: Mapping[str, Any], most: int) -> None:
        """Read the next entries of some groups, of each no more than this."""
        listed = {**values, "groups": groups, "per_group": most}
        counts: Counter[int] = Counter()
        for group in groups:
            self.ends.pop(group, None)
        for row in self._order(_fetch(tx, LIST_OF_GROUPS[self.ascending], listed), tx):
            counts[row[0]] += 1
            if counts[row[0]] > most:
                continue  # each slot has so many, and these are not the first of all
            each = Arrival(row)
            self.arrivals.append(each)
            if counts[row[0]] == most:
                self.ends[row[0]] = each.seq

    def _order(self, rows: list[tuple[Any, ...]], tx: Tx) -> list[tuple[Any, ...]]:
        """As they are in each slot, over all of them; `seq` is the second column."""
        if tx.slots > 1:
            rows.sort(key=lambda row: row[1], reverse=not self.ascending)
        return rows

    def list_next_groups(
        self, tx: Tx, groups: Sequence[int], values: Mapping[str, Any], most: int
    ) -> list[tuple[int, int]]:
        """The groups whose next arrivals come first, with these."""
        listed = {**values, "groups": groups}
        first: dict[int, int] = {}
        for group, seq in self._order(_fetch(tx, LIST_NEXT_GROUPS[self.ascending], listed), tx):
            first.setdefault(group, seq)
        return list(islice(first.items(), most))

    @property
    def nearest(self) -> tuple[int | None, int] | None:
        """The group that was read least far, and to where; None if all were to their ends."""
        choose = min if self.ascending else max
        return choose(self.ends.items(), key=lambda each: each[1], default=None)

    @property
    def covered(self) -> list[Arrival]:
        """In order, those behind which no other can come."""
        found = sorted(self.arrivals, key=lambda each: each.seq, reverse=not self.ascending)
        if self.nearest is None:
            return found
        _, end = self.nearest
        return [each for each in found if (each.seq <= end if self.ascending else each.seq >= end)]


def _fetch(
    tx: Tx, statement: Statement[tuple[Any, ...]], values: Mapping[str, Any]
) -> list[tuple[Any, ...]]:
    """The rows of every slot: which of them an arrival is in is not known by its group."""
    return [row for slot in range(tx.slots) for row in tx.fetch(statement, **values, slot=slot)]


def list_step(
    tx: Tx, groups: Sequence[int], after: int, before: int, most: int, *, ascending: bool
) -> ArrivalStep:
    """The next entries of some groups between two others, at most `most` of them."""
    values = {"after": after, "before": before, "most": most}
    merge = _Merge(ascending)
    if len(groups) > 1:
        found = merge.list_next_groups(tx, groups, values, most)
        groups = [number for number, _ in found]
        if len(found) == most:
            merge.ends[None] = found[-1][1]  # the other groups have nothing before it
    if not groups:
        return ArrivalStep([], None)
    merge.read(tx, groups, values, max(1, most // len(groups)))
    covered = merge.covered
    for _ in range(EXTENSIONS_MAX):
        # Few groups may have most of the arrivals, and the others stand still.
        if merge.nearest is None or len(covered) >= most // EXTENDED_SHARE:
            break
        group, end = merge.nearest
        if group is None:
            break
        beyond = {"after": end} if ascending else {"before": end}
        merge.read(tx, [group], {**values, **beyond}, most)
        covered = merge.covered
    if len(covered) > most:
        return ArrivalStep(covered[:most], covered[most - 1].seq)
    return ArrivalStep(covered, None if merge.nearest is None else merge.nearest[1])


def list_seqs(tx: Tx, groups: Sequence[int], after: int, but: int = -1) -> list[tuple[int, int]]:
    """Group and number of what arrived in the last seconds, in no order.

    Without what the process with the number `but` has stored.
    """
    writers = (1 << WRITER_BITS) - 1
    found: list[Any] = tx.fetch(
        LIST_SEQS, groups=groups, after=after, writers=writers, but=but, most=SEQS_MAX
    )
    return found


def list_at(tx: Tx, keys: Sequence[tuple[int, int]]) -> list[Arrival]:
    """The entries with these groups and numbers, in the order of their numbers; PostgreSQL only."""
    values = {"groups": [group for group, _ in keys], "seqs": [seq for _, seq in keys]}
    return sorted((Arrival(row) for row in _fetch(tx, LIST_AT, values)), key=_SEQ_OF)


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """The record of an entry: what is known of its device, and its JSON."""

    arrival: Arrival
    device: tuple[Any, ...]  # with the columns `ARRIVED_DEVICE_COLUMNS`
    body: str

    def build(self) -> ArrivedRecord:
        return build_arrived((*self.arrival.row, *self.device), b"", self.body)


def iterate_records(
    tx: Tx, arrivals: Sequence[Arrival]
) -> Iterator[tuple[Arrival, FoundRecord | None]]:
    """The entries with their records, read a hundred at a time.

    None for one that is not in the tables: it is deleted, or in the archive.
    """
    waiting = iter(arrivals)
    while some := list(islice(waiting, BODIES_AT_ONCE_MAX)):
        found = _read_records(tx, some)
        for each in some:
            row = found.get(each.seq)
            yield each, None if row is None else FoundRecord(each, row[:-1], row[-1])


def _read_records(tx: Tx, arrivals: Sequence[Arrival]) -> dict[int, tuple[Any, ...]]:
    """Device and JSON by the number of the arrival; by slot, or on SQLite by group."""
    parts: dict[tuple[int, int], list[Arrival]] = defaultdict(list)
    for each in arrivals:
        part = slots.get_slot_by_number(tx, each.device_number) if tx.is_postgres else each.row[0]
        parts[each.kind, part].append(each)
    found: dict[int, tuple[Any, ...]] = {}
    for (kind, part), some in parts.items():
        values: dict[str, Any] = {"home": part}
        if tx.is_postgres:
            values = {
                "slot": part,
                "groups": [each.row[0] for each in some],
                "devices": [each.device_number for each in some],
                "stays": [each.stay for each in some],
                "moments": [each.ts for each in some],
            }
        values["seqs"] = [each.seq for each in some]
        rows = tx.fetch(LIST_RECORDS[KIND_NAMES[kind]], **values)
        found |= {row[0]: row[1:] for row in rows}
    return found


@dataclass(frozen=True, slots=True)
class ArchivedArrivals:
    """What is needed of the archive for some entries, and what it will be."""

    plan: PointPlan
    devices: Mapping[int, FoundRecord]  # by the number of the arrival; without their JSON

    def build(self, archived: ArchivedRange) -> list[FoundRecord]:
        return [replace(self.devices[each.seq], body=each.body) for each in archived.records]


def find_archived(tx: Tx, missing: Sequence[Arrival]) -> ArchivedArrivals | None:
    """For entries whose records are not in the tables, in order; None if the archive has none."""
    entries = {each.seq: each for each in missing}
    devices: dict[int, FoundRecord] = {}

    def exists(key: RecordKey) -> bool:
        each = entries[key[4]]
        values = {"home": each.row[0], "device": each.device_number, "stay": each.stay}
        for row in tx.fetch(GET_DEVICE, **values):
            devices[each.seq] = FoundRecord(each, row, "")
        return each.seq in devices

    keys = [
        (KIND_NAMES[each.kind], each.device_number, each.stay, each.ts, each.seq)
        for each in missing
    ]
    plan = archive_reads.plan_points(tx, keys, exists)
    return None if plan is None else ArchivedArrivals(plan, devices)
