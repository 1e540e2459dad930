"""The four kinds of records, inserted in batches.

A hot path, so this uses the driver directly.

A device may have any number of records, so every statement names the stay, or walks the stays: the
key of a record begins with device, stay and timestamp.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from longwire.clock import Moment
from longwire.records import KIND_NAMES, EncodedRecord
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import IGNORE, insert_many, insert_new
from longwire.store.statement import Statement

# A device that was transferred more often than this is looked up in its latest stays only, so that
# storing a record costs no more the more often its device has moved.
EARLIER_STAYS_MAX = 32

_COLUMNS = ("device_number", "stay", "ts", "digest", "seq", "body")
ALL_TIME = (-(2**63), 2**63 - 1)


def for_each_kind(text: str, *, into: Any = None, **pieces: Any) -> dict[str, Statement[Any]]:
    """The statement for the `{table}` of each kind of record."""
    return {
        kind: Statement(text, into=into, table=f"record_{kind}", **pieces) for kind in KIND_NAMES
    }


GET_SEQ = for_each_kind(
    """
select seq
from {table}
where device_number = :device
    and stay = :stay
    {slot}
    and ts = :ts
    and digest = :digest
""",
    into=int,
)

# For PostgreSQL: of some keys in one statement. The limit keeps it from reading the table instead.
LIST_SEQS = for_each_kind(
    """
select r.seq
from unnest(
    cast({array:devices} as bigint[]),
    cast({array:stays} as integer[]),
    cast({array:times} as bigint[]),
    cast({array:digests} as bytea[])
) as k (device_number, stay, ts, digest)
cross join lateral (
    select seq
    from {table}
    where device_number = k.device_number
        and stay = k.stay
        and ts = k.ts
        and digest = k.digest
        {slot}
    limit 1
) r
""",
    into=int,
)

# SQLite joins in this order because of the cross join; else it reads all records of the device.
EXISTS_IN_EARLIER_STAY = for_each_kind(
    """
select 1
from (
    select *
    from device_stay
    where device_number = :device
        {slot}
        and stay < :stay
    order by stay desc
    limit {stays_max}
) s
cross join {table} r
where r.device_number = s.device_number
    {slot:r=s}
    and r.stay = s.stay
    and r.ts = :ts
    and r.digest = :digest
limit 1
""",
    stays_max=str(EARLIER_STAYS_MAX),
)

# For PostgreSQL: the numbers of those rows of which the same is true, in one statement.
LIST_IN_EARLIER_STAYS = for_each_kind(
    """
select k.seq
from unnest(
    cast({array:devices} as bigint[]),
    cast({array:stays} as integer[]),
    cast({array:times} as bigint[]),
    cast({array:digests} as bytea[]),
    cast({array:seqs} as bigint[])
) as k (device_number, stay, ts, digest, seq)
cross join lateral (
    select 1
    from (
        select *
        from device_stay
        where device_number = k.device_number
            {slot}
            and stay < k.stay
        order by stay desc
        limit {stays_max}
    ) s
    cross join lateral (
        select 1
        from {table}
        where device_number = s.device_number
            {slot}
            and stay = s.stay
            and ts = k.ts
            and digest = k.digest
        limit 1
    ) r
    limit 1
) found
""",
    into=int,
    stays_max=str(EARLIER_STAYS_MAX),
)

COUNT = for_each_kind(
    """
select count(*)
from {table}
where device_number = :device
    and stay = :stay
    {slot}
""",
    into=int,
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

    cause: ClassVar[None] = None  # of a message about it; changes have one


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
        stored = insert_many(tx, table, _COLUMNS, values, IGNORE, is_repeatable=True)
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


def _find_seqs(
    tx: Tx, statements: Mapping[str, Statement[int]], rows: Sequence[RecordRow]
) -> set[int]:
    """What one of the statements for several keys finds for these rows, on PostgreSQL."""
    parts: dict[tuple[int, int], list[RecordRow]] = defaultdict(list)
    for row in rows:
        parts[row.kind, slots.get_slot_by_number(tx, row.device_number)].append(row)
    found: set[int] = set()
    for (kind, slot), some in parts.items():
        found.update(
            tx.fetch(
                statements[KIND_NAMES[kind]],
                slot=slot,
                devices=[row.device_number for row in some],
                stays=[row.stay for row in some],
                times=[row.ts for row in some],
                digests=[row.digest for row in some],
                seqs=[row.seq for row in some],
            )
        )
    return found


def _is_stored(tx: Tx, row: RecordRow) -> bool:
    """Whether this row was stored, not the same record before it."""
    return bool(tx.first(GET_SEQ[KIND_NAMES[row.kind]], **_key(tx, row)) == row.seq)


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
    return bool(tx.fetch(EXISTS_IN_EARLIER_STAY[KIND_NAMES[row.kind]], **_key(tx, row)))


def count(tx: Tx, kind: str, device_number: int, stays: Sequence[int]) -> int:
    key = slots.key_of(tx, device_number)
    return sum(tx.fetch(COUNT[kind], **key, stay=stay)[0] for stay in stays)
