"""The four kinds of records: inserted in batches, read in pages.

Hot paths, so these use the driver directly.

A device may have any number of records, so every statement names the stay, or walks the stays: the
key of a record begins with device, stay and timestamp.
"""

import functools
import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.model import PageRequest
from longwire.records import (
    KIND_NAMES,
    DataRecord,
    EncodedRecord,
    parse_data_record,
    parse_record,
)
from longwire.store import archive_files, archive_reads, group_storage, schema, slots
from longwire.store.archive_reads import RecordKey
from longwire.store.bulk import insert_many, insert_new
from longwire.store.database import DialectSql, Tx
from longwire.store.devices import ReportingDevice, get_reporting
from longwire.store.dialects import array_param, by_slot, dialect_sql, in_array

# Arrivals among which records of a device or a period are looked for, newest first.
WANTED_AMONG_MAX = 5_000
WRITER_BITS = 10
PRUNE_ROWS_MAX = 1_000
# A record can be nearly as large as a request. The size of a page of more than a hundred is checked
# first, that of others afterwards, and the page ends early rather than exhaust the memory.
ITEMS_UNCHECKED_MAX = 100
PAGE_CHARACTERS_MAX = 16 * 1024 * 1024
# A device that was transferred more often than this is looked up in its latest stays only, so that
# storing a record costs no more the more often its device has moved.
EARLIER_STAYS_MAX = 32

_COLUMNS = ("device_number", "stay", "ts", "digest", "seq", "body")
ALL_TIME = (-(2**63), 2**63 - 1)

# --- statements ---


def _for_each_kind(template: str) -> dict[str, DialectSql]:
    """The statement for the table of each kind of record."""
    return {kind: by_slot(template.format(table=f"record_{kind}")) for kind in KIND_NAMES}


GET_SEQ = _for_each_kind(
    """
select seq
from {table}
where device_number = :device
    and stay = :stay
    and slot = :slot
    and ts = :ts
    and digest = :digest
"""
)

# For PostgreSQL: of some keys in one statement. The limit keeps it from reading the table instead.
LIST_SEQS = _for_each_kind(
    """
select r.seq
from unnest(
    cast(:devices as bigint[]),
    cast(:stays as integer[]),
    cast(:times as bigint[]),
    cast(:digests as bytea[])
) as k (device_number, stay, ts, digest)
cross join lateral (
    select seq
    from {table}
    where device_number = k.device_number
        and stay = k.stay
        and ts = k.ts
        and digest = k.digest
        and slot = :slot
    limit 1
) r
"""
)

# SQLite joins in this order because of the cross join; else it reads all records of the device.
EXISTS_IN_EARLIER_STAY = _for_each_kind(
    f"""
select 1
from (
    select *
    from device_stay
    where device_number = :device
        and slot = :slot
        and stay < :stay
    order by stay desc
    limit {EARLIER_STAYS_MAX}
) s
cross join {{table}} r
where r.device_number = s.device_number
    and r.slot = s.slot
    and r.stay = s.stay
    and r.ts = :ts
    and r.digest = :digest
limit 1
"""
)

# A device that has left the group belongs to another tenant: its new name must not be shown.
ARRIVAL_COLUMNS = "a.group_id, a.seq, a.kind, a.source, a.stay, a.device_number, a.ts"
ARRIVED_DEVICE_COLUMNS = """d.id, d.stay,
    case when p.depth is null then '' else d.name end,
    d.type,
    case when p.depth is null then '[]' else d.tags end"""
JOIN_ARRIVED_DEVICE = """
left join device d
    on d.number = a.device_number
left join group_path p
    on p.ancestor_id = a.group_id
    and p.group_id = d.group_id"""
# Where some of these columns are.
_SEQ, _KIND, _TS, _DEVICE_ID = 1, 2, 6, 7

_SELECT_ARRIVED = f"""
select {ARRIVAL_COLUMNS}, {ARRIVED_DEVICE_COLUMNS}
from arrival a {JOIN_ARRIVED_DEVICE}
"""

LIST_ARRIVALS = f"""{_SELECT_ARRIVED.rstrip()}
where a.group_id = :home
    and a.seq > :after
    and a.seq < :until
    and a.ts >= :begin
    and a.ts < :end_ts
order by a.seq
limit :most
"""

COUNT_ARRIVALS = """
select count(*)
from (
    select a.seq
    from arrival a
    where a.group_id = :home
        and a.seq > :after
        and a.seq < :until
    limit :most
) counted
"""

LIST_LATEST_ARRIVALS = f"""{_SELECT_ARRIVED.rstrip()}
where a.group_id = :home
order by a.seq desc
limit :most
"""

GET_ARRIVAL = f"""{_SELECT_ARRIVED.rstrip()}
where a.group_id = :home
    and a.seq = :seq
"""

FIND_GROUP = dialect_sql(
    """
select group_id
from arrival
where group_id {groups}
    and seq = :seq
limit 1
""",
    groups=in_array("groups"),
)

LIST_GROUPS_OF_DEVICE = f"""
select group_id, max(stay)
from device_stay
where device_number = :device
group by group_id
order by 2 desc
limit {EARLIER_STAYS_MAX}
"""

# The stay is gone when the records of it were erased, and they are hidden until they are deleted.
GET_ARRIVED = _for_each_kind(
    """
select r.digest, r.body
from device_stay s
cross join {table} r
where s.device_number = :device
    and s.stay = :stay
    and s.slot = :slot
    and r.device_number = s.device_number
    and r.stay = s.stay
    and r.slot = s.slot
    and r.ts = :ts
    and r.seq = :seq
"""
)

_LIST_DATA = """
select {columns}
from record_data
where device_number = :device
    and stay = :stay
    and slot = :slot
    and ts >= :begin
    and ts < :end{beyond}
order by ts, digest
limit :most
"""
_DATA_COLUMNS = "stay, ts, digest, seq, body"
_DATA_AFTER = "\n    and (ts, digest) > (:ts, :digest)"
LIST_DATA = by_slot(_LIST_DATA.format(columns=_DATA_COLUMNS, beyond=""))
LIST_DATA_AFTER = by_slot(_LIST_DATA.format(columns=_DATA_COLUMNS, beyond=_DATA_AFTER))
LIST_DATA_SIZES = by_slot(_LIST_DATA.format(columns="length(body)", beyond=""))
LIST_DATA_SIZES_AFTER = by_slot(_LIST_DATA.format(columns="length(body)", beyond=_DATA_AFTER))

UPDATE_BODY = by_slot(
    """
update record_data
set body = :body
where device_number = :device
    and stay = :stay
    and slot = :slot
    and ts = :ts
    and digest = :digest
    and seq = :seq
    and body = :old
"""
)

COUNT = _for_each_kind(
    """
select count(*)
from {table}
where device_number = :device
    and stay = :stay
    and slot = :slot
"""
)

DELETE_AT = _for_each_kind(
    """
delete from {table}
where device_number = :device
    and stay = :stay
    and slot = :slot
    and ts = :ts
returning stay, length(body)
"""
)

GET_ERASURE = """
select device_number, stay
from erasure
limit 1
"""

DELETE_ERASURE = """
delete from erasure
where device_number = :device
    and stay = :stay
"""

DELETE_STAY = _for_each_kind(
    """
delete from {table}
where (device_number, stay, ts, digest) in (
    select device_number, stay, ts, digest
    from {table}
    where device_number = :device
        and stay = :stay
        and slot = :slot
    limit :most
)
returning stay, length(body)
"""
)

DELETE_OLDER = _for_each_kind(
    """
delete from {table}
where (device_number, stay, ts, digest) in (
    select r.device_number, r.stay, r.ts, r.digest
    from device_stay s
    cross join {table} r
    where s.device_number = :device
        and s.slot = :slot
        and r.device_number = s.device_number
        and r.stay = s.stay
        and r.slot = s.slot
        and r.ts < :before
    limit :most
)
returning stay, length(body)
"""
)

GET_NEXT_DEVICE = """
select number
from device
where number > :after
order by number
limit 1
"""


class RecordRow(msgspec.Struct, frozen=True, gc=False):
    """A record about to be stored; a Struct, because one is created for every record."""

    kind: int  # a `RecordKind`
    group_number: int
    device_number: int
    stay: int
    ts: Moment
    digest: bytes
    seq: int
    encoded: EncodedRecord
    source: int = 0  # an `ArrivalSource`


def arrival_moment(seq: int) -> Moment:
    """When the record of this `seq` arrived."""
    return seq >> WRITER_BITS


def first_seq(moment: Moment) -> int:
    """Every `seq` of this moment or later is at least this.

    Nothing arrives outside of what eight bytes can number, which is the years 1684 to 2255.
    """
    return max(-(2**53), min(moment, 2**53 - 1)) << WRITER_BITS


# --- insert ---


def insert(tx: Tx, rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Insert records; returns those that were new. Their devices are locked."""
    fresh: list[RecordRow] = []
    kinds = sorted({row.kind for row in rows})
    for number in kinds:
        mine = [row for row in rows if row.kind == number] if len(kinds) > 1 else rows
        table = schema.record[KIND_NAMES[number]]
        values = [
            (row.device_number, row.stay, row.ts, row.digest, row.seq, row.encoded.body)
            for row in mine
        ]
        stored = insert_many(
            tx, table, _COLUMNS, values, "on conflict do nothing", is_repeatable=True
        )
        fresh += mine if stored == len(mine) else _list_stored(tx, mine)
    tx.touched_devices.update(row.device_number for row in fresh)
    # In order of arrival, whatever their kinds.
    return sorted(fresh, key=lambda row: row.seq) if len(kinds) > 1 else fresh


def insert_arrivals(tx: Tx, fresh: Sequence[RecordRow]) -> None:
    """Insert new records into the ledger of arrivals."""
    insert_new(
        tx,
        schema.arrival,
        ("group_id", "seq", "kind", "source", "stay", "device_number", "ts"),
        [
            (row.group_number, row.seq, row.kind, row.source, row.stay, row.device_number, row.ts)
            for row in fresh
        ],
    )


def _list_stored(tx: Tx, rows: Sequence[RecordRow]) -> list[RecordRow]:
    """Those rows of one kind that were stored, not the same record before them."""
    if not tx.is_postgres:
        return [row for row in rows if _is_stored(tx, row)]
    parts: dict[int, list[RecordRow]] = defaultdict(list)
    for row in rows:
        parts[slots.get_slot_by_number(tx, row.device_number)].append(row)
    stored: set[int] = set()
    for slot, some in parts.items():
        values = {
            "slot": slot,
            "devices": [row.device_number for row in some],
            "stays": [row.stay for row in some],
            "times": [row.ts for row in some],
            "digests": [row.digest for row in some],
        }
        found = tx.fetch_raw(LIST_SEQS[KIND_NAMES[rows[0].kind]], values)
        stored.update(seq for (seq,) in found)
    return [row for row in rows if row.seq in stored]


def _is_stored(tx: Tx, row: RecordRow) -> bool:
    """Whether this row was stored, not the same record before it."""
    found = tx.fetch_raw(GET_SEQ[KIND_NAMES[row.kind]], _key(tx, row))
    return bool(found) and found[0][0] == row.seq


def _key(tx: Tx, row: RecordRow) -> dict[str, Any]:
    key = slots.key_of(tx, row.device_number)
    return {**key, "stay": row.stay, "ts": row.ts, "digest": row.digest}


# --- replay ---


class ArrivedRecord(msgspec.Struct, frozen=True):
    """A stored record, with its device as it is today."""

    row: RecordRow
    device: ReportingDevice


def list_arrivals(
    tx: Tx, group_number: int, after_seq: int, until_seq: int, begin: Moment, end: Moment, most: int
) -> list[ArrivedRecord | int]:
    """Records that arrived in a group between two arrivals, with timestamps in a period.

    In order of arrival. For a record that was deleted meanwhile, only its `seq`.
    """
    rows = tx.fetch_raw(
        LIST_ARRIVALS,
        {
            "home": group_number,
            "after": after_seq,
            "until": until_seq,
            "begin": begin,
            "end_ts": end,
            "most": most,
        },
    )
    return [_stored_record(tx, row) or row[_SEQ] for row in rows]


def count_arrivals(tx: Tx, group_number: int, after_seq: int, until_seq: int, most: int) -> int:
    """How many arrivals there are between two, at most so many."""
    values = {"home": group_number, "after": after_seq, "until": until_seq, "most": most}
    return int(tx.fetch_raw(COUNT_ARRIVALS, values)[0][0])


def list_latest(
    tx: Tx,
    group_numbers: Sequence[int],
    most: int,
    characters_max: int,
    *,
    is_wanted: Callable[[str, Moment], bool] | None = None,
) -> list[ArrivedRecord]:
    """The last records that arrived in some groups, newest first; fewer if they are large.

    If only some devices and timestamps are wanted, they are looked for among the last arrivals.
    """
    found: list[tuple[Any, ...]] = []
    looked_at_max = most if is_wanted is None else WANTED_AMONG_MAX
    for number in group_numbers:
        found += tx.fetch_raw(LIST_LATEST_ARRIVALS, {"home": number, "most": looked_at_max})
    found.sort(key=lambda row: row[_SEQ], reverse=True)
    if is_wanted is not None:
        found = [row for row in found[:looked_at_max] if is_wanted(row[_DEVICE_ID], row[_TS])]
    latest: list[ArrivedRecord] = []
    size = 0
    for record in _read_arrived(tx, found[:most], characters_max):
        latest.append(record)
        size += len(record.row.encoded.body)
        if size > characters_max:
            break
    return latest


def _read_arrived(
    tx: Tx, rows: Sequence[tuple[Any, ...]], characters_max: int
) -> list[ArrivedRecord]:
    """The records of some arrivals; of large ones only the first, a little more than is wanted."""
    found: dict[int, ArrivedRecord] = {}
    missing: dict[int, list[tuple[Any, ...]]] = {}
    size = 0
    for row in rows:
        record = _stored_record(tx, row)
        if record is not None:
            found[row[_SEQ]] = record
            size += len(record.row.encoded.body)
            if size > characters_max:
                break
        elif row[_DEVICE_ID] is not None:
            missing.setdefault(row[_KIND], []).append(row)
    # Once for each kind: see `archive_reads`.
    for kind, some in sorted(missing.items()):
        keys = [_record_key(row) for row in some]
        archived = archive_reads.find_existing(tx, KIND_NAMES[kind], keys)
        for row in some:
            each = archived.get(row[_SEQ])
            if each is not None:
                found[row[_SEQ]] = build_arrived(row, each.digest, each.body)
    return [found[row[_SEQ]] for row in rows if row[_SEQ] in found]


def find_of_device(tx: Tx, device_id: str, seq: int) -> ArrivedRecord | None:
    """The record of an arrival in any of the groups that its device is or was in."""
    device = get_reporting(tx, [device_id]).get(device_id)
    if device is None:
        return None
    groups = tx.fetch_raw(LIST_GROUPS_OF_DEVICE, {"device": device.number})
    found = (find_in_group(tx, group, seq) for group, _ in groups)
    return next(filter(None, found), None)


def find_group(tx: Tx, group_ids: Sequence[str], seq: int) -> int | None:
    """The number of that one of some groups in which an arrival was."""
    numbers = array_param(tx, [int(each) for each in group_ids])
    found = tx.fetch_raw(FIND_GROUP, {"groups": numbers, "seq": seq})
    return found[0][0] if found else None


def find_in_group(tx: Tx, group_number: int, seq: int) -> ArrivedRecord | None:
    """The record of an arrival, if its device and the record still exist.

    The group of its device is the one in which it arrived.
    """
    found = tx.fetch_raw(GET_ARRIVAL, {"home": group_number, "seq": seq})
    return next(iter(_read_arrived(tx, found, 0)), None)


def _record_key(row: tuple[Any, ...]) -> RecordKey:
    _, seq, _, _, then, number, ts, *_ = row
    return number, then, ts, seq


def _stored_record(tx: Tx, row: tuple[Any, ...]) -> ArrivedRecord | None:
    """Unless it is in the archive."""
    _, seq, kind, _, then, number, ts, device_id, *_ = row
    if device_id is None:
        return None
    found = tx.fetch_raw(
        GET_ARRIVED[KIND_NAMES[kind]],
        {**slots.key_of(tx, number), "stay": then, "ts": ts, "seq": seq},
    )
    return build_arrived(row, *found[0]) if found else None


def build_arrived(row: tuple[Any, ...], digest: bytes, body: str) -> ArrivedRecord:
    """From the columns of an arrival and of its record."""
    group, seq, kind, source, then, number, ts, device_id, stay, name, type_name, tags = row
    return ArrivedRecord(
        RecordRow(kind, group, number, then, ts, digest, seq, parse_record(kind, body), source),
        ReportingDevice(device_id, number, group, stay, name, type_name, str(group), tags),
    )


def exists_in_earlier_stay(tx: Tx, row: RecordRow) -> bool:
    """Whether the record was stored during an earlier stay of its device."""
    return bool(tx.fetch_raw(EXISTS_IN_EARLIER_STAY[KIND_NAMES[row.kind]], _key(tx, row)))


# --- redecode ---


class StoredDataRecord(msgspec.Struct, frozen=True):
    """A data record of a device as it is stored."""

    stay: int
    ts: Moment
    digest: bytes
    seq: int
    body: str
    record: DataRecord


def list_data(
    tx: Tx,
    device_number: int,
    stay: int,
    begin: Moment | None,
    end: Moment | None,
    after: tuple[Moment, bytes] | tuple[()],
    most: int,
    characters_max: int,
) -> list[StoredDataRecord]:
    """Data records of a stay, in the order of their key, after one of them.

    They end with the one that exceeds the size, if there is one.
    """
    values: dict[str, Any] = {
        **slots.key_of(tx, device_number),
        "stay": stay,
        "begin": ALL_TIME[0] if begin is None else begin,
        "end": ALL_TIME[1] if end is None else end,
        "most": most,
    }
    if after:
        values["ts"], values["digest"] = after
    sizes = tx.fetch_raw(LIST_DATA_SIZES_AFTER if after else LIST_DATA_SIZES, values)
    totals = itertools.accumulate(length for (length,) in sizes)
    values["most"] = min(most, 1 + sum(total <= characters_max for total in totals))
    rows = tx.fetch_raw(LIST_DATA_AFTER if after else LIST_DATA, values)
    return [
        StoredDataRecord(stay, ts, digest, seq, body, parse_data_record(body))
        for _, ts, digest, seq, body in rows
    ]


def update_body(tx: Tx, device_number: int, record: StoredDataRecord, body: str) -> bool:
    """Replace the body of a data record, unless it was changed or deleted."""
    tx.touched_devices.add(device_number)
    values = {
        **slots.key_of(tx, device_number),
        "body": body,
        "stay": record.stay,
        "ts": record.ts,
        "digest": record.digest,
        "seq": record.seq,
        "old": record.body,
    }
    is_updated = bool(tx.execute_raw(UPDATE_BODY, values))
    if is_updated:
        more = len(body) - len(record.body)
        group_storage.add_for_stay(tx, device_number, record.stay, 0, more)
    return is_updated


# --- list ---


class RecordPage(msgspec.Struct, frozen=True):
    """A page of records as a JSON array without its brackets."""

    device_number: int
    text: str
    oldest: Moment | None  # of those in it and of the next one
    last_key: tuple[int, int] | None = None


def list_page(
    tx: Tx,
    kind: str,
    device_number: int,
    stays: Sequence[int],
    begin: Moment | None,
    end: Moment | None,
    request: PageRequest,
    *,
    ascending: bool,
) -> RecordPage:
    """Bodies by timestamp, ties in order of arrival; the other way round when not ascending."""
    wanted = [
        _PageQuery(
            kind,
            device_number,
            stay,
            ALL_TIME[0] if begin is None else begin,
            ALL_TIME[1] if end is None else end,
            request.limit,
            request.after,
            ascending,
        )
        for stay in stays
    ]
    if request.limit <= ITEMS_UNCHECKED_MAX:
        unchecked = _read_page(tx, wanted, device_number, request.limit, ascending=ascending)
        if len(unchecked.text) <= PAGE_CHARACTERS_MAX:
            return unchecked
    limit = min(each.count_that_fit(tx) for each in wanted)
    wanted = [msgspec.structs.replace(each, limit=limit) for each in wanted]
    return _read_page(tx, wanted, device_number, limit, ascending=ascending)


def _read_page(
    tx: Tx, wanted: Sequence["_PageQuery"], device_number: int, limit: int, *, ascending: bool
) -> RecordPage:
    if len(wanted) == 1 and not tx.is_postgres:
        joined = _joined_page(tx, wanted[0])
        if joined is not None:
            return joined
    found = [row for each in wanted for row in each.rows(tx)]
    if len(wanted) > 1:
        found.sort(key=lambda row: (row[1], row[2]), reverse=not ascending)
    if not found:
        return RecordPage(device_number, "", None)
    text = ",".join(row[0] for row in found[:limit])
    oldest = min(found[0][1], found[-1][1])
    if len(found) <= limit:
        return RecordPage(device_number, text, oldest)
    last = found[limit - 1]
    return RecordPage(device_number, text, oldest, (last[1], last[2]))


_PAGE = """
from {table}
where device_number = :device
    and stay = :stay
    and slot = :slot
    and ts >= :begin
    and ts < :end{beyond}"""

_LIST_SIZES = f"""
select length(body){_PAGE}
order by {{order}}
limit :most
"""

_LIST_PAGE = f"""
select body, ts, seq{_PAGE}
order by {{order}}
limit :most
"""

# SQLite takes `body` from the row that has the largest or smallest `ts`.
_JOIN_PAGE = f"""
select group_concat(body), group_concat(ts), group_concat(seq), body, {{last}}
from (
    select body, ts, seq{_PAGE}
    order by {{order_by_key}}
    limit :most
)
"""


@functools.cache
def _page_sql(template: str, kind: str, ascending: bool, has_predecessor: bool) -> DialectSql:
    # The first half lets the key find the place, the second leaves out what was seen.
    beyond = "\n    and ts {0}= :ts\n    and (ts {0} :ts or seq {0} :seq)"
    statement = template.format(
        table=f"record_{kind}",
        beyond=beyond.format(">" if ascending else "<") if has_predecessor else "",
        order="ts, seq" if ascending else "ts desc, seq desc",
        order_by_key="ts" if ascending else "ts desc",
        last="max(ts)" if ascending else "min(ts)",
    )
    return by_slot(statement)


class _PageQuery(msgspec.Struct, frozen=True):
    """Which records of one stay, in which order, and after which."""

    kind: str
    device_number: int
    stay: int
    begin: Moment
    end: Moment
    limit: int
    after: tuple[int | str, ...] | None
    ascending: bool

    def count_that_fit(self, tx: Tx) -> int:
        """How many of the records fit into a page; at least one."""
        size = 0
        for index, (length,) in enumerate(tx.fetch_raw(self._sql(_LIST_SIZES), self._values(tx))):
            size += length
            if size > PAGE_CHARACTERS_MAX:
                return max(1, index)
        return self.limit

    def rows(self, tx: Tx) -> list[tuple[Any, ...]]:
        """(body, ts, seq) of one more than wanted."""
        return tx.fetch_raw(self._sql(_LIST_PAGE), self._values(tx))

    def joined(self, tx: Tx) -> tuple[str | None, str | None, str | None, str | None]:
        """The bodies, instants and seqs of one more than wanted, joined, and the last body."""
        bodies, instants, seqs, body, _ = tx.fetch_raw(self._sql(_JOIN_PAGE), self._values(tx))[0]
        return bodies, instants, seqs, body

    def _sql(self, template: str) -> DialectSql:
        return _page_sql(template, self.kind, self.ascending, self.after is not None)

    def _values(self, tx: Tx) -> dict[str, Any]:
        values: dict[str, Any] = {
            "device": self.device_number,
            "slot": slots.get_slot_by_number(tx, self.device_number),
            "stay": self.stay,
            "begin": self.begin,
            "end": self.end,
            "most": self.limit + 1,
        }
        if self.after is not None:
            values["ts"], values["seq"] = self.after
        return values


def _joined_page(tx: Tx, wanted: _PageQuery) -> RecordPage | None:
    """A page that SQLite concatenates, when no two of its records share a timestamp; else None.

    One row is fetched instead of a hundred, each of which would release and take the interpreter
    lock: a quarter of the CPU time of a page. The order of records of one timestamp is not known
    here.
    """
    bodies, instants, seqs, last_body = wanted.joined(tx)
    if bodies is None or instants is None or seqs is None or last_body is None:
        return RecordPage(wanted.device_number, "", None)
    at = instants.split(",")
    if len(set(at)) != len(at):
        return None
    oldest = min(int(at[0]), int(at[-1]))
    if len(at) <= wanted.limit:
        return RecordPage(wanted.device_number, bodies, oldest)
    # The last one only shows that there is another page.
    key = (int(at[-2]), int(seqs.split(",")[-2]))
    return RecordPage(wanted.device_number, bodies[: -len(last_body) - 1], oldest, key)


def list_page_rows(
    tx: Tx,
    kind: str,
    device_number: int,
    stays: Sequence[int],
    period: tuple[Moment, Moment],
    request: PageRequest,
    *,
    ascending: bool,
) -> tuple[list[tuple[str, Moment, int]], int]:
    """(body, ts, seq) in no order of one more than a page has, and how many fit into it."""
    limit, after = request.limit, request.after
    wanted = [
        _PageQuery(kind, device_number, stay, *period, limit, after, ascending) for stay in stays
    ]
    limit = min(each.count_that_fit(tx) for each in wanted)
    fitting = [msgspec.structs.replace(each, limit=limit) for each in wanted]
    return [(body, ts, seq) for each in fitting for body, ts, seq in each.rows(tx)], limit


def count(tx: Tx, kind: str, device_number: int, stays: Sequence[int]) -> int:
    key = slots.key_of(tx, device_number)
    return sum(tx.fetch_raw(COUNT[kind], {**key, "stay": stay})[0][0] for stay in stays)


def delete_at(tx: Tx, kind: str, device_number: int, stays: Sequence[int], ts: Moment) -> int:
    """Delete all records of one kind at one timestamp; how many."""
    values = {**slots.key_of(tx, device_number), "ts": ts}
    archive_files.bury(tx, kind, device_number, stays, ts)
    return sum(_delete(tx, DELETE_AT[kind], {**values, "stay": stay}) for stay in stays)


def _delete(tx: Tx, sql: DialectSql, values: Mapping[str, Any]) -> int:
    """Delete records of a device, and subtract them from what its groups have; how many."""
    tx.touched_devices.add(values["device"])
    deleted = tx.fetch_raw(sql, values)
    sizes: defaultdict[int, list[int]] = defaultdict(list)
    for stay, size in deleted:
        sizes[stay].append(size)
    for stay, gone in sorted(sizes.items()):
        group_storage.add_for_stay(tx, values["device"], stay, -len(gone), -sum(gone))
    return len(deleted)


# --- retention ---


def delete_erased(tx: Tx) -> int:
    """Delete some records of erased stays; how many, 0 when there is nothing to do."""
    waiting = tx.fetch_raw(GET_ERASURE, {})
    if not waiting:
        return 0
    values = {**slots.key_of(tx, waiting[0][0]), "stay": waiting[0][1]}
    deleted = 0
    for kind in KIND_NAMES:
        most = PRUNE_ROWS_MAX - deleted
        deleted += _delete(tx, DELETE_STAY[kind], {**values, "most": most})
        if deleted >= PRUNE_ROWS_MAX:
            return deleted
    tx.execute_raw(DELETE_ERASURE, values)
    return max(deleted, 1)


def delete_older(tx: Tx, kind: str, after_device: int, before: Moment) -> tuple[int, int | None]:
    """Delete some records older than a moment, of the next device.

    Device by device, so that no index by time is needed and no step is large. Returns how many were
    deleted and the device to continue after; None at the end.
    """
    following = tx.fetch_raw(GET_NEXT_DEVICE, {"after": after_device})
    if not following:
        return 0, None
    device = following[0][0]
    values = {**slots.key_of(tx, device), "before": before, "most": PRUNE_ROWS_MAX}
    deleted = _delete(tx, DELETE_OLDER[kind], values)
    return deleted, after_device if deleted == PRUNE_ROWS_MAX else device
