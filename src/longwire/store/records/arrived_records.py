"""Records as they arrived: found by group and order of arrival, with their devices.

Of replays, previews, traces and live streams. What is in the archive is not among them, nor what
has expired by the retention of its group.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.records import KIND_NAMES, parse_record
from longwire.store import slots
from longwire.store.database import Tx
from longwire.store.fleet.reporting_devices import ReportingDevice, get_reporting
from longwire.store.identity import group_limits
from longwire.store.records.records import EARLIER_STAYS_MAX, RecordRow, for_each_kind
from longwire.store.statement import Statement

# Arrivals among which records of a device or a period are looked for, newest first.
WANTED_AMONG_MAX = 5_000

# A device that has left the group belongs to another tenant: its new name must not be shown.
ARRIVAL_COLUMNS = "a.group_id, a.seq, a.kind, a.source, a.stay, a.device_number, a.ts"
ARRIVED_DEVICE_COLUMNS = """d.id, d.stay,
    case when p.depth is null then '' else d.name end,
    d.type,
    case when p.depth is null then '[]' else d.tags end"""
# Where some of these columns are.
_GROUP, _SEQ, _KIND, _TS, _DEVICE_ID = 0, 1, 2, 6, 7

_SELECT_ARRIVED = f"""select {ARRIVAL_COLUMNS}, {ARRIVED_DEVICE_COLUMNS}
from arrival a
left join device d
    on d.number = a.device_number
left join group_path p
    on p.ancestor_id = a.group_id
    and p.group_id = d.group_id"""

LIST_ARRIVALS = Statement(
    """
{select_arrived}
where a.group_id = :home
    and a.seq > :after
    and a.seq < :until
    and a.ts >= :begin
    and a.ts < :end_ts
order by a.seq
limit :most
""",
    select_arrived=_SELECT_ARRIVED,
)

LOOK_AHEAD = Statement("""
select count(*), max(ahead.seq)
from (
    select a.seq
    from arrival a
    where a.group_id = :home
        and a.seq > :after
        and a.seq < :until
    order by a.seq
    limit :most
) ahead
""")

LIST_LATEST_ARRIVALS = Statement(
    """
{select_arrived}
where a.group_id = :home
order by a.seq desc
limit :most
""",
    select_arrived=_SELECT_ARRIVED,
)

GET_ARRIVAL = Statement(
    """
{select_arrived}
where a.group_id = :home
    and a.seq = :seq
""",
    select_arrived=_SELECT_ARRIVED,
)

FIND_GROUP = Statement(
    """
select group_id
from arrival
where group_id {in:groups}
    and seq = :seq
limit 1
""",
    into=int,
)

LIST_GROUPS_OF_DEVICE = Statement(f"""
select group_id, max(stay)
from device_stay
where device_number = :device
group by group_id
order by 2 desc
limit {EARLIER_STAYS_MAX}
""")

# The stay is gone when the records of it were erased, and they are hidden until they are deleted.
GET_ARRIVED = for_each_kind(
    """
select r.digest, r.body
from device_stay s
cross join {table} r
where s.device_number = :device
    and s.stay = :stay
    {slot:s}
    and r.device_number = s.device_number
    and r.stay = s.stay
    {slot:r=s}
    and r.ts = :ts
    and r.seq = :seq
"""
)

# For PostgreSQL: of some arrivals in one statement.
LIST_ARRIVED = for_each_kind(
    """
select r.seq, r.digest, r.body
from unnest(
    cast({array:devices} as bigint[]),
    cast({array:stays} as integer[]),
    cast({array:times} as bigint[]),
    cast({array:seqs} as bigint[])
) as k (device_number, stay, ts, seq)
cross join lateral (
    select a.seq, a.digest, a.body
    from device_stay s
    cross join {table} a
    where s.device_number = k.device_number
        and s.stay = k.stay
        {slot:s}
        and a.device_number = k.device_number
        and a.stay = k.stay
        {slot:a}
        and a.ts = k.ts
        and a.seq = k.seq
    limit 1
) r
"""
)
# Bodies are read until there are enough of them, so many at a time.
READ_TOGETHER = 25


class ArrivedRecord(msgspec.Struct, frozen=True):
    """A stored record, with its device as it is today."""

    row: RecordRow
    device: ReportingDevice


def list_arrivals(
    tx: Tx,
    group_number: int,
    after_seq: int,
    until_seq: int,
    begin: Moment,
    end: Moment,
    most: int,
    *,
    with_expired: bool = False,
) -> list[ArrivedRecord | int]:
    """Records that arrived in a group between two arrivals, with timestamps in a period.

    In order of arrival. For a record that was deleted meanwhile, or has expired, only its `seq`.
    Arrivals between the two are read until there are enough in the period: see `look_ahead`.
    """
    rows = tx.fetch(
        LIST_ARRIVALS,
        home=group_number,
        after=after_seq,
        until=until_seq,
        begin=begin,
        end_ts=end,
        most=most,
    )
    found = _read_stored(tx, rows if with_expired else _list_kept(tx, rows))
    return [found.get(row[_SEQ], row[_SEQ]) for row in rows]


def _list_kept(tx: Tx, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Those of some arrivals whose records have not expired."""
    expired = group_limits.has_expired
    return [
        row for row in rows if not expired(tx, KIND_NAMES[row[_KIND]], str(row[_GROUP]), row[_TS])
    ]


def look_ahead(
    tx: Tx, group_number: int, after_seq: int, until_seq: int, most: int
) -> tuple[int, int]:
    """How many arrivals there are between two, at most so many, and the last of these."""
    values = {"home": group_number, "after": after_seq, "until": until_seq, "most": most}
    count, last_seq = tx.fetch(LOOK_AHEAD, **values)[0]
    return count, after_seq if last_seq is None else last_seq


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
        found += tx.fetch(LIST_LATEST_ARRIVALS, home=number, most=looked_at_max)
    found.sort(key=lambda row: row[_SEQ], reverse=True)
    found = found[:looked_at_max]
    if is_wanted is not None:
        found = [row for row in found if is_wanted(row[_DEVICE_ID], row[_TS])]
    latest: list[ArrivedRecord] = []
    size = 0
    for record in _read_arrived(tx, _list_kept(tx, found)[:most], characters_max):
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
    size = 0
    for start in range(0, len(rows), READ_TOGETHER):
        stored = _read_stored(tx, rows[start : start + READ_TOGETHER])
        found |= stored
        size += sum(len(record.row.encoded.body) for record in stored.values())
        if size > characters_max:
            break
    return [found[row[_SEQ]] for row in rows if row[_SEQ] in found]


def find_of_device(tx: Tx, device_id: str, seq: int) -> ArrivedRecord | None:
    """The record of an arrival in any of the groups that its device is or was in."""
    device = get_reporting(tx, [device_id]).get(device_id)
    if device is None:
        return None
    groups = tx.fetch(LIST_GROUPS_OF_DEVICE, device=device.number)
    found = (find_in_group(tx, group, seq) for group, _ in groups)
    return next(filter(None, found), None)


def find_group(tx: Tx, group_ids: Sequence[str], seq: int) -> int | None:
    """The number of that one of some groups in which an arrival was."""
    return tx.first(FIND_GROUP, groups=[int(each) for each in group_ids], seq=seq)


def find_in_group(tx: Tx, group_number: int, seq: int) -> ArrivedRecord | None:
    """The record of an arrival, if its device and the record still exist and it has not expired.

    The group of its device is the one in which it arrived.
    """
    found = tx.fetch(GET_ARRIVAL, home=group_number, seq=seq)
    return next(iter(_read_arrived(tx, _list_kept(tx, found), 0)), None)


def _record_key(row: tuple[Any, ...]) -> tuple[int, int, Moment, int]:
    """Device, stay, timestamp and number of an arrival."""
    _, seq, _, _, then, number, ts, *_ = row
    return number, then, ts, seq


def _read_stored(tx: Tx, rows: Sequence[tuple[Any, ...]]) -> dict[int, ArrivedRecord]:
    """The records of some arrivals, by their numbers."""
    by_seq = {row[_SEQ]: row for row in rows if row[_DEVICE_ID] is not None}
    if tx.is_postgres:
        found = _list_bodies(tx, list(by_seq.values()))
    else:
        found = [body for row in by_seq.values() for body in _get_body(tx, row)]
    return {seq: build_arrived(by_seq[seq], digest, body) for seq, digest, body in found}


def _list_bodies(tx: Tx, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    parts: dict[tuple[int, int], list[tuple[int, int, Moment, int]]] = defaultdict(list)
    for row in rows:
        key = _record_key(row)
        parts[row[_KIND], slots.get_slot_by_number(tx, key[0])].append(key)
    found: list[tuple[Any, ...]] = []
    for (kind, slot), keys in parts.items():
        devices, stays, times, seqs = map(list, zip(*keys, strict=True))
        values = {"slot": slot, "devices": devices, "stays": stays, "times": times, "seqs": seqs}
        found += tx.fetch(LIST_ARRIVED[KIND_NAMES[kind]], **values)
    return found


def _get_body(tx: Tx, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    number, stay, ts, seq = _record_key(row)
    key = slots.key_of(tx, number)
    found = tx.fetch(GET_ARRIVED[KIND_NAMES[row[_KIND]]], **key, stay=stay, ts=ts, seq=seq)
    return [(seq, *each) for each in found]


def build_arrived(row: tuple[Any, ...], digest: bytes, body: str) -> ArrivedRecord:
    """From the columns of an arrival and of its record."""
    group, seq, kind, source, then, number, ts, device_id, stay, name, type_name, tags = row
    return ArrivedRecord(
        RecordRow(kind, group, number, then, ts, digest, seq, parse_record(kind, body), source),
        ReportingDevice(device_id, number, group, stay, name, type_name, str(group), tags),
    )
