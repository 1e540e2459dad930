"""Summaries of the values of devices, and marks of the hours whose summaries are to be made again.

A record with values marks its hour in its own commit. The mark of the present hour is written once
and cached; it is only taken when that hour is long over and every transaction that began in it has
ended. Any other mark has a number of its own, so that whoever takes marks away takes those that it
has read, and a record that came meanwhile keeps its own.
"""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from longwire.clock import HOUR, Moment
from longwire.measurements.summaries import Summary, pack_day, unpack_day
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import IGNORE, OnConflict, insert_many
from longwire.store.statement import Statement

PRESENT = 0  # the number of the mark of an hour that was the present one
_OWN_NUMBERS = 2**62


class Mark(NamedTuple):
    """Some hours of a stay that are due."""

    device: int
    stay: int
    hour: int
    number: int
    hours: int


class StayOwner(NamedTuple):
    """Whose the records of a stay are."""

    group_id: str
    type: str
    device_id: str


class DeviceStay(NamedTuple):
    """A stay, and its device as the group sees it."""

    device: int
    stay: int
    group_id: str
    id: str
    type: str
    name: str  # empty if it has left
    tags: str


class DayRow(NamedTuple):
    """A day of a measurement."""

    day: int
    numbers: int
    minimum: float
    maximum: float
    total: float
    first: float
    last: float
    increase: float


class PackedDay(NamedTuple):
    key: int
    day: int
    packed: bytes


BEFORE_ANY = Mark(0, 0, schema.FIRST_HOUR, 0, 0)
_NUMBERS = DayRow._fields[1:]
_DAY_COLUMNS = ("device_number", "stay", "key_number", "day", *_NUMBERS)
_SET_DAY = OnConflict(", ".join(f"{name} = excluded.{name}" for name in _NUMBERS))
_PACKED_COLUMNS = ("device_number", "stay", "day", "key_number", "packed")
_SET_PACKED = OnConflict("packed = excluded.packed")
_MARK_COLUMNS = ("device_number", "stay", "hour", "number", "hours")

LIST_MARKS = Statement(
    """
select device_number, stay, hour, number, hours
from summary_due
where (device_number, stay, hour, number) > (:device, :stay, :hour, :number)
order by device_number, stay, hour, number
limit :most
""",
    into=Mark,
)

LIST_OF_STAY = Statement(
    """
select device_number, stay, hour, number, hours
from summary_due
where device_number = :device
    and stay = :stay
    {slot}
    and hour < :end
    and hour + hours > :begin
order by hour, number
limit :most
""",
    into=Mark,
)

LOCK_OF_STAY = Statement(
    """
select device_number, stay, hour, number, hours
from summary_due
where device_number = :device
    and stay = :stay
    {slot}
    and hour {in:hours}
{lock}
""",
    into=Mark,
)

DELETE_MARKS = Statement(
    """
delete from summary_due
where device_number = :device
    and stay = :stay
    {slot}
    and hour {in:hours}
    and number {in:numbers}
"""
)

GET_OWNER = Statement(
    """
select cast(s.group_id as text), d.type, d.id
from device_stay s
join device d
    on d.number = s.device_number
where s.device_number = :device
    and s.stay = :stay
    {slot:s}
""",
    into=StayOwner,
)

LIST_DAYS = Statement(
    """
select day, numbers, minimum, maximum, total, first, last, increase
from summary_day
where device_number = :device
    and stay = :stay
    {slot}
    and key_number = :key
    and day >= :begin
    and day < :end
order by day
""",
    into=DayRow,
)

GET_LAST_DAY = Statement(
    """
select day, numbers, minimum, maximum, total, first, last, increase
from summary_day
where device_number = :device
    and stay = :stay
    {slot}
    and key_number = :key
    and day < :before
order by day desc
limit 1
""",
    into=DayRow,
)

_LIST_PACKED = """
select key_number, day, packed
from summary_quarters
where device_number = :device
    and stay = :stay
    {slot}
    and day >= :begin
    and day < :end
"""
LIST_PACKED = Statement(_LIST_PACKED, into=PackedDay)
LIST_PACKED_OF_KEY = Statement(
    _LIST_PACKED + "    and key_number = :key\norder by day\n", into=PackedDay
)

DELETE_DAY = Statement(
    """
delete from summary_day
where device_number = :device
    and stay = :stay
    {slot}
    and key_number = :key
    and day = :day
"""
)
DELETE_PACKED = Statement(
    """
delete from summary_quarters
where device_number = :device
    and stay = :stay
    {slot}
    and day = :day
    and key_number = :key
"""
)

DELETE_STAY = tuple(
    Statement(
        """
delete from {table}
where device_number = :device
    and stay = :stay
    {slot}
""",
        table=table.name,
    )
    for table in (schema.summary_due, schema.summary_quarters, schema.summary_day)
)

_MARK_TYPE = """
insert into summary_due (device_number, stay, hour, number, hours{postgres:, slot})
select s.device_number, s.stay, :hour, :number, :hours{postgres:, s.slot}
from device d
join device_stay s
    on s.device_number = d.number
where d.type = :type
    {groups}
"""
MARK_TYPE = Statement(_MARK_TYPE, groups="")
MARK_TYPE_IN = Statement(_MARK_TYPE, groups="and s.group_id {in:groups}")


_LIST_STAYS = """
select s.device_number, s.stay, cast(s.group_id as text), d.id, d.type,
    case when d.group_id {in:groups} then d.name else '' end,
    case when d.group_id {in:groups} then d.tags else '[]' end
from device_stay s
join device d
    on d.number = s.device_number
where s.group_id {in:groups}
    and (cast(:type as text) is null or d.type = :type)
    {ids}
order by s.device_number, s.stay
limit :most
"""
LIST_STAYS = Statement(_LIST_STAYS, into=DeviceStay, ids="")
LIST_STAYS_OF = Statement(_LIST_STAYS, into=DeviceStay, ids="and d.id {in:ids}")


# --- marks ---


def mark_records(tx: Tx, records: Iterable[tuple[int, int, Moment, int]]) -> None:
    """Mark the hours of new records: (device, stay, timestamp, number of the arrival)."""
    now_hour = tx.now // HOUR
    present: set[tuple[int, ...]] = set()
    others: dict[tuple[int, int, int], int] = {}
    for device, stay, ts, seq in records:
        hour = ts // HOUR
        if hour == now_hour:
            present.add((device, stay, hour, PRESENT, 1))
        else:
            others[device, stay, hour] = seq
    fresh = tx.caches.marked_hours.list_missing(present)
    rows = [*fresh, *((*key, seq, 1) for key, seq in others.items())]
    if not rows:
        return
    insert_many(tx, schema.summary_due, _MARK_COLUMNS, sorted(rows), IGNORE, is_repeatable=True)
    if fresh:
        tx.on_commit(lambda: tx.caches.marked_hours.add(fresh))


def mark_changed(tx: Tx, records: Iterable[tuple[int, int, Moment]]) -> None:
    """Mark the hours of records that were deleted or changed: (device, stay, timestamp)."""
    hours = sorted({(device, stay, ts // HOUR) for device, stay, ts in records})
    rows = [(*hour, -secrets.randbelow(_OWN_NUMBERS) - 2, 1) for hour in hours]
    insert_many(tx, schema.summary_due, _MARK_COLUMNS, rows)


def mark_all_of_type(tx: Tx, type_name: str, group_ids: Iterable[str] | None) -> None:
    """Mark everything that the devices of a type have stored in some groups, or in all."""
    values = {
        "type": type_name,
        "hour": schema.FIRST_HOUR,
        "number": -secrets.randbelow(_OWN_NUMBERS) - 2,
        "hours": schema.ALL_HOURS,
    }
    if group_ids is None:
        tx.run(MARK_TYPE, **values)
    else:
        groups = [schema.group_number(each) for each in group_ids]
        tx.run(MARK_TYPE_IN, **values, groups=groups)


def list_marks(tx: Tx, after: Mark, most: int) -> list[Mark]:
    """The next marks, by device."""
    device, stay, hour, number, _ = after
    return tx.fetch(LIST_MARKS, device=device, stay=stay, hour=hour, number=number, most=most)


def list_marks_of(tx: Tx, device: int, stay: int, begin: int, end: int, most: int) -> list[Mark]:
    """The marks of a stay that have a part of some hours."""
    key = slots.key_of(tx, device)
    return tx.fetch(LIST_OF_STAY, **key, stay=stay, begin=begin, end=end, most=most)


def take_marks(tx: Tx, marks: Sequence[Mark]) -> bool:
    """Delete some marks of a stay; none if another worker has taken one of them."""
    if not marks:
        return True
    key = {**slots.key_of(tx, marks[0].device), "stay": marks[0].stay}
    locked = tx.fetch(LOCK_OF_STAY, **key, hours=sorted({each.hour for each in marks}))
    if not set(locked).issuperset(marks):
        return False
    present = [each for each in marks if each.number == PRESENT]
    others = [each for each in marks if each.number != PRESENT]
    for some in (present, others):
        if some:
            hours, numbers = {each.hour for each in some}, {each.number for each in some}
            tx.run(DELETE_MARKS, **key, hours=hours, numbers=numbers)
    tx.on_commit(lambda: tx.caches.marked_hours.remove(present))
    return True


def put_mark(tx: Tx, mark: Mark) -> None:
    """Insert what is left of a long mark."""
    insert_many(tx, schema.summary_due, _MARK_COLUMNS, [mark])


def get_owner(tx: Tx, device: int, stay: int) -> StayOwner | None:
    """Whose the records of a stay are; None if they are erased."""
    return tx.first(GET_OWNER, **slots.key_of(tx, device), stay=stay)


def list_stays(
    tx: Tx, group_numbers: Sequence[int], type_name: str | None, ids: Sequence[str], most: int
) -> list[DeviceStay]:
    """The stays in some groups, by device; of some devices, unless none is named."""
    values = {"groups": group_numbers, "type": type_name, "most": most}
    return tx.fetch(LIST_STAYS_OF, **values, ids=ids) if ids else tx.fetch(LIST_STAYS, **values)


# --- summaries ---


def list_days(tx: Tx, device: int, stay: int, key: int, begin: int, end: int) -> list[DayRow]:
    slot = slots.key_of(tx, device)
    return tx.fetch(LIST_DAYS, **slot, stay=stay, key=key, begin=begin, end=end)


def get_last_day(tx: Tx, device: int, stay: int, key: int, before: int) -> DayRow | None:
    """The last day before another one."""
    slot = slots.key_of(tx, device)
    return tx.first(GET_LAST_DAY, **slot, stay=stay, key=key, before=before)


def list_packed(tx: Tx, device: int, stay: int, begin: int, end: int) -> list[PackedDay]:
    """The quarters of some days, of all measurements."""
    slot = slots.key_of(tx, device)
    return tx.fetch(LIST_PACKED, **slot, stay=stay, begin=begin, end=end)


def list_packed_of(
    tx: Tx, device: int, stay: int, key: int, begin: int, end: int
) -> list[PackedDay]:
    """The quarters of some days, of one measurement."""
    slot = slots.key_of(tx, device)
    return tx.fetch(LIST_PACKED_OF_KEY, **slot, stay=stay, key=key, begin=begin, end=end)


def save_days(
    tx: Tx, device: int, stay: int, days: Mapping[tuple[int, int], Mapping[int, Summary]]
) -> None:
    """Store the quarters of days, by the measurement and the day; there may be none."""
    slot = slots.key_of(tx, device)
    totals: list[tuple[float, ...]] = []
    packed: list[tuple[int | bytes, ...]] = []
    for (key, day), quarters in sorted(days.items(), key=lambda each: each[0]):
        if quarters:
            found = pack_day(quarters)
            row = unpack_day(0, found)
            totals.append((device, stay, key, day, *row.summarize(0, len(row.begins))))
            packed.append((device, stay, day, key, found))
        else:
            tx.run(DELETE_DAY, **slot, stay=stay, key=key, day=day)
            tx.run(DELETE_PACKED, **slot, stay=stay, key=key, day=day)
    insert_many(tx, schema.summary_day, _DAY_COLUMNS, totals, _SET_DAY, is_repeatable=True)
    insert_many(
        tx, schema.summary_quarters, _PACKED_COLUMNS, packed, _SET_PACKED, is_repeatable=True
    )


def delete_stay(tx: Tx, device: int, stay: int) -> None:
    """Delete all of a stay whose records are deleted."""
    for statement in DELETE_STAY:
        tx.run(statement, **slots.key_of(tx, device), stay=stay)
