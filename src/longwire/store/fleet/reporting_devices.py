"""What storing a record needs of its device, and a network of the device it speaks of.

A hot path, so this uses the driver directly.
"""

import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from longwire.clock import Moment
from longwire.model import SequenceCounter
from longwire.store import schema, slots
from longwire.store.cache.cache import DeviceCache
from longwire.store.database import Tx
from longwire.store.engines.binary_arrays import encode_array
from longwire.store.statement import ByEngine, Statement


class ReportingDevice(msgspec.Struct, frozen=True, gc=False):
    """What storing a record needs of its device."""

    id: str
    number: int
    group_number: int
    stay: int
    name: str
    type: str
    group_id: str
    tags: str = "[]"  # JSON
    updated_at: Moment = 0
    reported_digest: int | None = None  # of the configuration that it reported last


_REPORTING_COLUMNS = "id, number, group_id, stay, name, type, tags, updated_at, reported_digest"
_SELECT_REPORTING = f"""
select {_REPORTING_COLUMNS}
from device"""
# The first lock of a transaction that stores records, in one order; what it locks later, such as
# records and the state of their devices, can then be in any order. No stronger than a transfer
# needs, so that rows which only refer to a device are not held up.
_LOCK = """
order by number
for no key update"""

GET_REPORTING = Statement(f"""{_SELECT_REPORTING}
where id = :id""")

# On SQLite all of them as one value: between two rows the driver releases the interpreter lock, and
# the thread that writes would have to wait for it as often as there are devices.
LIST_REPORTING = Statement(
    """
select {columns}
from device
where id {in:ids}""",
    columns=ByEngine(
        sqlite=f"json_group_array(json_array({_REPORTING_COLUMNS}))", postgres=_REPORTING_COLUMNS
    ),
)

# For the cache of SQLite's one writer: grows with every commit of another connection.
GET_VERSION = Statement("pragma data_version")

EXISTS = "select 1 from sqlite_master where type = 'table' and name = 'device'"

WATCH_CHANGES = (
    """
create temp trigger device_updated
after update on main.device
begin
    select evict_device(old.id);
end
""",
    """
create temp trigger device_deleted
after delete on main.device
begin
    select evict_device(old.id);
end
""",
)

# For a write on PostgreSQL; SQLite has one writer, which needs no lock.
_LOCK_SOME = f"""{_SELECT_REPORTING}
where id = any(:ids)
    {{postgres:and slot = any(:slots)}}{_LOCK}"""
LOCK_REPORTING = Statement(_LOCK_SOME)
# Without those that are locked by others.
LOCK_UNLOCKED = Statement(f"{_LOCK_SOME} skip locked")

LIST_IDS = Statement(
    """
select id
from device
where id = any(:ids)
    {postgres:and slot = any(:slots)}""",
    into=str,
)

LIST_IN_GROUP = Statement(f"""{_SELECT_REPORTING}
where group_id = :home
    and number >= :first
order by number
limit :most
""")

LIST_IN_GROUP_OF_TYPE = Statement(f"""{_SELECT_REPORTING}
where group_id = :home
    and number >= :first
    and type = :type
order by number
limit :most
""")

COUNT_NEXT = Statement("""
select max(number), count(*)
from (
    select number
    from device
    where group_id = :home
        and number > :after
    order by number
    limit :most
) next_devices
""")

# In one slot, as Citus locks no rows of several shards with one statement.
LOCK_COUNTERS = Statement("""
select device_number, sequence, sequence_at, missing
from device_state
where device_number {in:numbers}
    {slot}
order by device_number
{lock}
""")

# For SQLite, as one value.
LIST_COUNTERS = Statement("""
select json_group_array(json_array(device_number, sequence, sequence_at, missing))
from device_state
where device_number {in:numbers}
    and sequence is not null
""")

_SELECT_NETWORK_DEVICE = """
select d.id, d.type, d.configuration, d.updated_at, d.network, d.group_id
from device d
join group_path p
    on p.group_id = d.group_id
    and p.ancestor_id = :home"""

GET_BY_ORIGINAL_ID = Statement(f"""{_SELECT_NETWORK_DEVICE}
where d.network = :network
    and d.original_key = :original
""")

GET_IN_SUBTREE = Statement(f"""{_SELECT_NETWORK_DEVICE}
where d.id = :device
""")


def get_reporting(tx: Tx, device_ids: Collection[str]) -> dict[str, ReportingDevice]:
    """Devices of any group, for their records; the caller must check the group.

    In a write they are locked, so that nobody transfers or deletes them: a record belongs to the
    stay of its device at that time. SQLite has one writer, which needs no lock, and which has read
    most of them for earlier records.
    """
    cache = tx.caches.devices
    if not tx.is_write or not cache.is_watched:
        return _read_reporting(tx, device_ids)
    found: dict[str, ReportingDevice] = cache.find(device_ids, tx.fetch(GET_VERSION)[0][0])
    if len(found) < len(device_ids):
        since = cache.changes
        read = _read_reporting(tx, [each for each in device_ids if each not in found])
        tx.on_commit(lambda: cache.put(read, since=since))
        found |= read
    return found


def get_unlocked(
    tx: Tx, device_ids: Collection[str]
) -> tuple[dict[str, ReportingDevice], Collection[str]]:
    """The same on PostgreSQL, without waiting; and the ids of those that others have locked."""
    devices = _lock_reporting(tx, LOCK_UNLOCKED, device_ids)
    others = [each for each in device_ids if each not in devices]
    if not others:
        return devices, ()
    return devices, frozenset(tx.fetch_queued(LIST_IDS, **_of_slots(tx, others)))


def watch_changes(driver: sqlite3.Connection, cache: DeviceCache) -> None:
    """Have the writer's connection of the embedded database evict devices that are changed.

    The triggers would be gone after a rollback, so this is not for a connection in a transaction.
    """
    assert not driver.in_transaction
    if driver.execute(EXISTS).fetchone() is None:
        return  # a database that is not prepared yet
    driver.create_function("evict_device", 1, cache.evict)
    for statement in WATCH_CHANGES:
        driver.execute(statement)
    cache.is_watched = True


def _read_reporting(tx: Tx, device_ids: Collection[str]) -> dict[str, ReportingDevice]:
    if tx.is_postgres and tx.is_write:
        return _lock_reporting(tx, LOCK_REPORTING, device_ids)
    if len(device_ids) == 1:
        rows = tx.fetch(GET_REPORTING, id=next(iter(device_ids)))
    else:
        rows = tx.fetch(LIST_REPORTING, ids=device_ids)
        if not tx.is_postgres:
            rows = _REPORTING_ROWS.decode(rows[0][0])
    return {row[0]: _reporting(*row) for row in rows}


def _lock_reporting(
    tx: Tx, statement: Statement[tuple[Any, ...]], device_ids: Collection[str]
) -> dict[str, ReportingDevice]:
    rows = tx.fetch_queued(statement, **_of_slots(tx, device_ids))
    return {row[0]: _reporting(*row) for row in rows}


def _of_slots(tx: Tx, device_ids: Collection[str]) -> dict[str, Any]:
    return {
        "ids": encode_array("TEXT", tuple(device_ids)),
        "slots": encode_array("SMALLINT", slots.list_of_ids(tx, device_ids)),
    }


def get_counts(tx: Tx, devices: Mapping[str, ReportingDevice]) -> dict[int, SequenceCounter]:
    """The sequence counters of devices by their numbers.

    In a write the counters are locked; on PostgreSQL behind their devices, so in any order.
    """
    numbers = [device.number for device in devices.values()]
    counts: dict[int, SequenceCounter] = {}
    if tx.is_postgres:
        for slot in slots.list_of_ids(tx, devices):
            rows = tx.fetch(LOCK_COUNTERS, numbers=numbers, slot=slot)
            counts |= {row[0]: _count(*row[1:]) for row in rows if row[1] is not None}
        return counts
    cache = tx.caches.devices
    if tx.is_write and cache.is_watched:
        counts |= cache.find_counters(numbers)
    unknown = [each for each in numbers if each not in counts]
    if unknown:
        found = tx.fetch(LIST_COUNTERS, numbers=unknown)
        counts |= {row[0]: _count(*row[1:]) for row in _COUNTED_ROWS.decode(found[0][0])}
    return counts


_MISSING = msgspec.json.Decoder(tuple[tuple[int, int], ...])
_REPORTING_ROWS = msgspec.json.Decoder(
    list[tuple[str, int, int, int, str, str, str, Moment, int | None]]
)
_COUNTED_ROWS = msgspec.json.Decoder(list[tuple[int, int, Moment, str | None]])


def _count(sequence: int, at: Moment, missing: str | None) -> SequenceCounter:
    return SequenceCounter(sequence, at, _MISSING.decode(missing) if missing else ())


def _reporting(
    device_id: str,
    number: int,
    group_number: int,
    stay: int,
    name: str,
    type_name: str,
    tags: str,
    updated_at: Moment,
    reported_digest: int | None,
) -> ReportingDevice:
    return ReportingDevice(
        device_id,
        number,
        group_number,
        stay,
        name,
        type_name,
        str(group_number),
        tags,
        updated_at,
        reported_digest,
    )


def count_next(tx: Tx, group_number: int, after: int, most: int) -> tuple[int, int]:
    """The last number of the next devices of a group, and how many these are."""
    values = {"home": group_number, "after": after, "most": most}
    last, count = tx.fetch(COUNT_NEXT, **values)[0]
    return last or after, count


def list_in_group(
    tx: Tx, group_id: str, type_name: str | None, first: int, most: int
) -> list[ReportingDevice]:
    """The devices of a group, perhaps of one type, from a number on."""
    values: dict[str, Any] = {"home": schema.group_number(group_id), "first": first, "most": most}
    if type_name is None:
        rows = tx.fetch(LIST_IN_GROUP, **values)
    else:
        rows = tx.fetch(LIST_IN_GROUP_OF_TYPE, **values, type=type_name)
    return [_reporting(*row) for row in rows]


class NetworkDevice(msgspec.Struct, frozen=True):
    """A device by its network's id, with the version (`updated_at`) that was read.

    Without a version, a message is stored whatever has changed meanwhile.
    """

    id: str
    type: str
    configuration: str
    updated_at: Moment | None
    network: str
    group_number: int


def get_by_original_id(
    tx: Tx, group_id: str, network: str, original_key: str
) -> NetworkDevice | None:
    """The device of a network's id, in a group or below it."""
    values = {"home": schema.group_number(group_id), "network": network, "original": original_key}
    rows = tx.fetch(GET_BY_ORIGINAL_ID, **values)
    return NetworkDevice(*rows[0]) if rows else None


def get_in_subtree(tx: Tx, group_id: str, device_id: str) -> NetworkDevice | None:
    """The device of this id, in a group or below it."""
    values = {"home": schema.group_number(group_id), "device": device_id}
    rows = tx.fetch(GET_IN_SUBTREE, **values)
    return NetworkDevice(*rows[0]) if rows else None
