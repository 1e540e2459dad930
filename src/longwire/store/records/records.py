"""The four kinds of records, inserted in batches.

A hot path, so this uses the driver directly.

A device may have any number of records, so every statement names the stay, or walks the stays: the
key of a record begins with device, stay and timestamp.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.records import KIND_NAMES, EncodedRecord
from longwire.store import schema, slots
from longwire.store.database import DialectSql, Tx
from longwire.store.engines.bulk import insert_many, insert_new
from longwire.store.engines.dialects import by_slot

# A device that was transferred more often than this is looked up in its latest stays only, so that
# storing a record costs no more the more often its device has moved.
EARLIER_STAYS_MAX = 32

_COLUMNS = ("device_number", "stay", "ts", "digest", "seq", "body")
ALL_TIME = (-(2**63), 2**63 - 1)


def for_each_kind(template: str) -> dict[str, DialectSql]:
    """The statement for the table of each kind of record."""
    return {kind: by_slot(template.format(table=f"record_{kind}")) for kind in KIND_NAMES}


GET_SEQ = for_each_kind(
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
LIST_SEQS = for_each_kind(
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
EXISTS_IN_EARLIER_STAY = for_each_kind(
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

# For PostgreSQL: the numbers of those rows of which the same is true, in one statement.
LIST_IN_EARLIER_STAYS = for_each_kind(
    f"""
select k.seq
from unnest(
    cast(:devices as bigint[]),
    cast(:stays as integer[]),
    cast(:times as bigint[]),
    cast(:digests as bytea[]),
    cast(:seqs as bigint[])
) as k (device_number, stay, ts, digest, seq)
cross join lateral (
    select 1
    from (
        select *
        from device_stay
        where device_number = k.device_number
            and slot = :slot
            and stay < k.stay
        order by stay desc
        limit {EARLIER_STAYS_MAX}
    ) s
    cross join lateral (
        select 1
        from {{table}}
        where device_number = s.device_number
            and slot = :slot
            and stay = s.stay
            and ts = k.ts
            and digest = k.digest
        limit 1
    ) r
    limit 1
) found
"""
)

COUNT = for_each_kind(
    """
select count(*)
from {table}
where device_number = :device
    and stay = :stay
    and slot = :slot
"""
)


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
    tx.cache.touched_devices.update(row.device_number for row in fresh)
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
    stored = _find_seqs(tx, LIST_SEQS, rows)
    return [row for row in rows if row.seq in stored]


def _find_seqs(tx: Tx, statements: Mapping[str, DialectSql], rows: Sequence[RecordRow]) -> set[int]:
    """What one of the statements for several keys finds for these rows, on PostgreSQL."""
    parts: dict[tuple[int, int], list[RecordRow]] = defaultdict(list)
    for row in rows:
        parts[row.kind, slots.get_slot_by_number(tx, row.device_number)].append(row)
    found: set[int] = set()
    for (kind, slot), some in parts.items():
        values = {
            "slot": slot,
            "devices": [row.device_number for row in some],
            "stays": [row.stay for row in some],
            "times": [row.ts for row in some],
            "digests": [row.digest for row in some],
            "seqs": [row.seq for row in some],
        }
        found.update(seq for (seq,) in tx.fetch_raw(statements[KIND_NAMES[kind]], values))
    return found


def _is_stored(tx: Tx, row: RecordRow) -> bool:
    """Whether this row was stored, not the same record before it."""
    found = tx.fetch_raw(GET_SEQ[KIND_NAMES[row.kind]], _key(tx, row))
    return bool(found) and found[0][0] == row.seq


def _key(tx: Tx, row: RecordRow) -> dict[str, Any]:
    key = slots.key_of(tx, row.device_number)
    return {**key, "stay": row.stay, "ts": row.ts, "digest": row.digest}


def without_earlier(tx: Tx, rows: Sequence[RecordRow]) -> Sequence[RecordRow]:
    """Those rows that were not stored already during an earlier stay of their device."""
    moved = [row for row in rows if row.stay]
    if not moved:
        return rows
    if tx.is_postgres:
        earlier = _find_seqs(tx, LIST_IN_EARLIER_STAYS, moved)
    else:
        earlier = {row.seq for row in moved if _exists_in_earlier_stay(tx, row)}
    return [row for row in rows if row.seq not in earlier]


def _exists_in_earlier_stay(tx: Tx, row: RecordRow) -> bool:
    return bool(tx.fetch_raw(EXISTS_IN_EARLIER_STAY[KIND_NAMES[row.kind]], _key(tx, row)))


def count(tx: Tx, kind: str, device_number: int, stays: Sequence[int]) -> int:
    key = slots.key_of(tx, device_number)
    return sum(tx.fetch_raw(COUNT[kind], {**key, "stay": stay})[0][0] for stay in stays)
