"""Summaries of the values of devices, and marks of the hours whose summaries are to be made again.

A record with values marks its hour in its own commit. The mark of the present hour is written once
and cached; it is only taken when that hour is long over and every transaction that began in it has
ended. Any other mark has a number of its own, so that whoever takes marks away takes those that it
has read, and a record that came meanwhile keeps its own.
"""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from longwire.clock import DAY, HOUR, Moment
from longwire.measurements.summaries import (
    DAYS_PER_PAGE,
    DaySummary,
    Summary,
    list_days,
    pack,
    pack_days,
    sum_up_day,
)
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import IGNORE, OnConflict, insert_many
from longwire.store.statement import Statement

PRESENT = 0  # the number of the mark of an hour that was the present one
_OWN_NUMBERS = 2**62
_NUMBERS_PER_MOMENT = 1_000  # of marks of everything that a device has stored


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


class PackedPage(NamedTuple):
    """Some days of a measurement of a stay."""

    device: int
    stay: int
    key: int
    page: int
    packed: bytes


class PackedDay(NamedTuple):
    """The quarters of an hour of a day of a measurement of a stay."""

    device: int
    stay: int
    key: int
    day: int
    packed: bytes


BEFORE_ANY = Mark(0, 0, schema.FIRST_HOUR, 0, 0)
_PAGE_COLUMNS = ("device_number", "stay", "key_number", "page", "packed")
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

LIST_OF_DEVICES = Statement(
    """
select device_number, stay, hour, number, hours
from summary_due
where device_number {in:devices}
    and hour < :end
    and hour + hours > :begin
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

_SELECT_PAGES = """
select device_number, stay, key_number, page, packed
from summary_days
"""
LIST_PAGES = Statement(
    _SELECT_PAGES
    + """
where device_number {in:devices}
    and key_number {in:keys}
    and page >= :begin
    and page < :end
order by device_number, stay, page
""",
    into=PackedPage,
)
LIST_PAGES_OF_STAY = Statement(
    _SELECT_PAGES
    + """
where device_number = :device
    and stay = :stay
    {slot}
    and key_number {in:keys}
    and page {in:pages}
""",
    into=PackedPage,
)

# The newest one before another.
LIST_LAST_PAGES = Statement(
    _SELECT_PAGES
    + """
where (device_number, stay, key_number, page) in (
    select device_number, stay, key_number, max(page)
    from summary_days
    where device_number {in:devices}
        and key_number {in:keys}
        and page < :before
    group by device_number, stay, key_number
)
""",
    into=PackedPage,
)

_SELECT_QUARTERS = """
select device_number, stay, key_number, day, packed
from summary_quarters
"""
LIST_QUARTERS = Statement(
    _SELECT_QUARTERS
    + """
where device_number {in:devices}
    and key_number {in:keys}
    and day >= :begin
    and day < :end
order by device_number, stay, day
""",
    into=PackedDay,
)
LIST_QUARTERS_OF_STAY = Statement(
    _SELECT_QUARTERS
    + """
where device_number = :device
    and stay = :stay
    {slot}
    and day >= :begin
    and day < :end
""",
    into=PackedDay,
)

DELETE_PAGE = Statement(
    """
delete from summary_days
where device_number = :device
    and stay = :stay
    {slot}
    and key_number = :key
    and page = :page
"""
)
DELETE_QUARTERS = Statement(
    """
delete from summary_quarters
where device_number = :device
    and stay = :stay
    {slot}
    and day = :day
    and key_number = :key
"""
)

LIST_NEXT_STAYS = Statement("""
select device_number, stay, cast(group_id as text)
from device_stay
where (device_number, stay) > (:device, :stay)
order by device_number, stay
limit :most
""")
DELETE_OLD_QUARTERS = Statement(
    """
delete from summary_quarters
where device_number = :device
    and stay = :stay
    {slot}
    and day < :day
"""
)
DELETE_OLD_PAGES = Statement(
    """
delete from summary_days
where device_number = :device
    and stay = :stay
    {slot}
    and page < :page
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
    for table in (schema.summary_due, schema.summary_quarters, schema.summary_days)
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
        "number": _number_now(tx),
        "hours": schema.ALL_HOURS,
    }
    if group_ids is None:
        tx.run(MARK_TYPE, **values)
    else:
        groups = [schema.group_number(each) for each in group_ids]
        tx.run(MARK_TYPE_IN, **values, groups=groups)


def mark_all_of_device(tx: Tx, device: int, stays: Iterable[int]) -> None:
    """Mark everything that a device has stored."""
    number = _number_now(tx)
    rows = [(device, stay, schema.FIRST_HOUR, number, schema.ALL_HOURS) for stay in stays]
    insert_many(tx, schema.summary_due, _MARK_COLUMNS, rows)


def _number_now(tx: Tx) -> int:
    """A number of its own that says when it was given."""
    return -(tx.now * _NUMBERS_PER_MOMENT + secrets.randbelow(_NUMBERS_PER_MOMENT)) - 2


def marked_at(mark: Mark) -> Moment:
    """When a long mark was made."""
    return (-mark.number - 2) // _NUMBERS_PER_MOMENT


def list_marks(tx: Tx, after: Mark, most: int) -> list[Mark]:
    """The next marks, by device."""
    device, stay, hour, number, _ = after
    return tx.fetch(LIST_MARKS, device=device, stay=stay, hour=hour, number=number, most=most)


def list_marks_of(tx: Tx, device: int, stay: int, begin: int, end: int, most: int) -> list[Mark]:
    """The marks of a stay that have a part of some hours."""
    key = slots.key_of(tx, device)
    return tx.fetch(LIST_OF_STAY, **key, stay=stay, begin=begin, end=end, most=most)


def list_marks_of_devices(tx: Tx, devices: Collection[int], begin: int, end: int) -> list[Mark]:
    """The marks of devices that have a part of some hours."""
    return tx.fetch(LIST_OF_DEVICES, devices=devices, begin=begin, end=end)


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


def list_pages(
    tx: Tx, devices: Collection[int], keys: Collection[int], begin: int, end: int
) -> list[PackedPage]:
    """Some pages of days, by device, stay and time."""
    return tx.fetch(LIST_PAGES, devices=devices, keys=keys, begin=begin, end=end)


def list_last_pages(
    tx: Tx, devices: Collection[int], keys: Collection[int], before: int
) -> list[PackedPage]:
    """Of each stay and measurement the newest page of days before another."""
    return tx.fetch(LIST_LAST_PAGES, devices=devices, keys=keys, before=before)


def list_quarters(
    tx: Tx, devices: Collection[int], keys: Collection[int], begin: int, end: int
) -> list[PackedDay]:
    """The quarters of some days, by device, stay and time."""
    return tx.fetch(LIST_QUARTERS, devices=devices, keys=keys, begin=begin, end=end)


def list_quarters_of_stay(tx: Tx, device: int, stay: int, begin: int, end: int) -> list[PackedDay]:
    """The quarters of some days, of all measurements."""
    key = slots.key_of(tx, device)
    return tx.fetch(LIST_QUARTERS_OF_STAY, **key, stay=stay, begin=begin, end=end)


def save_days(
    tx: Tx, device: int, stay: int, days: Mapping[tuple[int, int], Mapping[int, Summary]]
) -> None:
    """Store the quarters of days, by the measurement and the day; there may be none."""
    slot = slots.key_of(tx, device)
    kept = [(each, quarters) for each, quarters in sorted(days.items(), key=_key) if quarters]
    packed = [(device, stay, day, key, pack(quarters)) for (key, day), quarters in kept]
    insert_many(
        tx, schema.summary_quarters, _PACKED_COLUMNS, packed, _SET_PACKED, is_repeatable=True
    )
    for (key, day), quarters in days.items():
        if not quarters:
            tx.run(DELETE_QUARTERS, **slot, stay=stay, key=key, day=day)
    summed = {each: sum_up_day(quarters) if quarters else None for each, quarters in days.items()}
    _save_pages(tx, device, stay, summed)


def _key(item: tuple[tuple[int, int], object]) -> tuple[int, int]:
    return item[0]


def _save_pages(
    tx: Tx, device: int, stay: int, days: Mapping[tuple[int, int], DaySummary | None]
) -> None:
    """Change days in their pages; None has no numbers."""
    slot = slots.key_of(tx, device)
    numbers = {day // DAYS_PER_PAGE for _, day in days}
    listed = tx.fetch(
        LIST_PAGES_OF_STAY, **slot, stay=stay, keys={key for key, _ in days}, pages=numbers
    )
    pages = {(each.key, each.page): list_days(each.packed) for each in listed}
    changed = {}
    for (key, day), summary in days.items():
        number, index = divmod(day, DAYS_PER_PAGE)
        page = changed[key, number] = pages.setdefault((key, number), {})
        if summary is None:
            page.pop(index, None)
        else:
            page[index] = summary
    for (key, number), page in changed.items():
        if not page:
            tx.run(DELETE_PAGE, **slot, stay=stay, key=key, page=number)
    rows = [
        (device, stay, key, number, pack_days(page))
        for (key, number), page in sorted(changed.items(), key=_key)
        if page
    ]
    insert_many(tx, schema.summary_days, _PAGE_COLUMNS, rows, _SET_PACKED, is_repeatable=True)


def get_first_moment(oldest: Moment | None) -> Moment:
    """From when on summaries are kept: they are deleted by whole pages of days."""
    if oldest is None:
        return schema.FIRST_HOUR * HOUR
    return oldest // (DAYS_PER_PAGE * DAY) * DAYS_PER_PAGE * DAY


def list_next_stays(tx: Tx, after: tuple[int, int], most: int) -> list[tuple[int, int, str]]:
    """The next stays, with the group of each."""
    device, stay = after
    return tx.fetch(LIST_NEXT_STAYS, device=device, stay=stay, most=most)


def delete_older(tx: Tx, device: int, stay: int, first: Moment) -> int:
    """Delete the summaries of a stay before a moment; how many rows."""
    key = {**slots.key_of(tx, device), "stay": stay}
    deleted = tx.run(DELETE_OLD_QUARTERS, **key, day=first // DAY)
    return deleted + tx.run(DELETE_OLD_PAGES, **key, page=first // (DAYS_PER_PAGE * DAY))


def delete_stay(tx: Tx, device: int, stay: int) -> None:
    """Delete all of a stay whose records are deleted."""
    for statement in DELETE_STAY:
        tx.run(statement, **slots.key_of(tx, device), stay=stay)
