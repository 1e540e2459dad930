"""Devices, the groups they have been in, and what changes with every message."""

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec
import sqlalchemy as sa

from longwire.clock import Moment
from longwire.model import Device, Page, PageRequest, Scope, SequenceCounter, Stay
from longwire.store import device_monitors, device_reports, schema, slots
from longwire.store.binary_arrays import encode_array
from longwire.store.bulk import KEY, insert_many
from longwire.store.cache import DeviceCache
from longwire.store.database import DialectSql, Tx
from longwire.store.dialects import array_param, dialect_sql, in_array
from longwire.store.paging import page
from longwire.store.positions import Position
from longwire.store.scopes import reaches, within
from longwire.store.search_text import search_text

_table = schema.device
_state = schema.device_state
_stay = schema.device_stay

StateKey = tuple[int, int]  # of a device's state: the numbers of its group and of itself

# In the order of the fields of `Device`.
_COLUMNS: list[Any] = [
    *(
        _table.c[name]
        for name in (
            "number",
            "id",
            "group_id",
            "stay",
            "name",
            "type",
            "network",
            "original_id",
            "information",
            "configuration",
            "tags",
            "created_at",
            "updated_at",
            "created_by",
            "updated_by",
        )
    ),
    _state.c.battery,
    sa.func.nullif(_state.c.seen_at, schema.NEVER_SEEN).label("seen_at"),
]
_TAGS = [column.name for column in _COLUMNS].index("tags")
_SELECT = sa.select(*_COLUMNS).join(
    _state,
    sa.and_(_state.c.group_id == _table.c.group_id, _state.c.device_number == _table.c.number),
)


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

GET_REPORTING = f"""{_SELECT_REPORTING}
where id = :id"""

# On SQLite all of them as one value: between two rows the driver releases the interpreter lock, and
# the thread that writes would have to wait for it as often as there are devices.
LIST_REPORTING = dialect_sql(
    """
select {columns}
from device
where id {listed}""",
    columns=DialectSql(f"json_group_array(json_array({_REPORTING_COLUMNS}))", _REPORTING_COLUMNS),
    listed=in_array("ids"),
)

# For the cache of SQLite's one writer: grows with every commit of another connection.
GET_VERSION = "pragma data_version"

EXISTS = "select 1 from sqlite_master where type = 'table' and name = 'device'"

WATCH_CHANGES = (
    """
create temp trigger device_updated
after update on main.device
begin
    select forget_device(old.id);
end
""",
    """
create temp trigger device_deleted
after delete on main.device
begin
    select forget_device(old.id);
end
""",
)

# For a write on PostgreSQL; SQLite has one writer, which needs no lock.
LOCK_REPORTING = f"""{LIST_REPORTING.postgres}
    and slot = any(:slots){_LOCK}"""

LIST_IN_GROUP = f"""{_SELECT_REPORTING}
where group_id = :home
    and number >= :first
order by number
limit :most
"""

LIST_IN_GROUP_OF_TYPE = f"""{_SELECT_REPORTING}
where group_id = :home
    and number >= :first
    and type = :type
order by number
limit :most
"""

LOCK_COUNTERS = """
select device_number, sequence, sequence_at, missing
from device_state
where device_number = any(:numbers)
    and slot = any(:slots)
order by device_number
for update
"""

# For SQLite, as one value.
LIST_COUNTERS = """
select json_group_array(json_array(device_number, sequence, sequence_at, missing))
from device_state
where device_number in (select value from json_each(:numbers))
    and sequence is not null
"""

_SET_BATTERY = f"""
on conflict {KEY} do update
set battery = excluded.battery,
    battery_at = excluded.battery_at,
    battery_level = excluded.battery_level
where device_state.battery_at is null
    or device_state.battery_at <= excluded.battery_at
"""

_SELECT_NETWORK_DEVICE = """
select d.id, d.type, d.configuration, d.updated_at, d.network, d.group_id
from device d
join group_path p
    on p.group_id = d.group_id
    and p.ancestor_id = :home"""

GET_BY_ORIGINAL_ID = f"""{_SELECT_NETWORK_DEVICE}
where d.network = :network
    and d.original_key = :original
"""

GET_IN_SUBTREE = f"""{_SELECT_NETWORK_DEVICE}
where d.id = :device
"""


def get(tx: Tx, scope: Scope, device_id: str) -> Device | None:
    row = tx.row(_SELECT.where(_table.c.id == device_id, within(_table.c.group_id, scope)))
    return _device(row) if row else None


def list_present(tx: Tx, scope: Scope, device_ids: Sequence[str]) -> frozenset[str]:
    """Those of the devices that are within the scope."""
    statement = sa.select(_table.c.id).where(
        _table.c.id.in_(device_ids), within(_table.c.group_id, scope)
    )
    return frozenset(row[0] for row in tx.rows(statement))


def list_by_ids(tx: Tx, scope: Scope, device_ids: Sequence[str]) -> list[Device]:
    """The same as values, in the order of their creation."""
    statement = _SELECT.where(_table.c.id.in_(device_ids), within(_table.c.group_id, scope))
    return [_device(row) for row in tx.rows(statement.order_by(_table.c.number))]


def get_last_number(tx: Tx) -> int:
    """The number of the newest device of all."""
    return tx.rows(sa.select(sa.func.max(_table.c.number)))[0][0] or 0


def lock_many(tx: Tx, scope: Scope, device_ids: Sequence[str]) -> dict[str, Device]:
    """Lock those of the devices that are within the scope; by id."""
    locked = (
        sa.select(_table.c.number)
        .where(_table.c.id.in_(device_ids), within(_table.c.group_id, scope))
        .order_by(_table.c.number)
        .with_for_update(of=_table)
    )
    return {device.id: device for device in _list_locked(tx, locked)}


def _list_locked(tx: Tx, locked: sa.Select[tuple[int]]) -> list[Device]:
    """Devices, locked before their states are read: these may be on another server."""
    numbers = [row[0] for row in tx.rows(locked)]
    if not numbers:
        return []
    statement = _SELECT.where(_table.c.number.in_(numbers)).order_by(_table.c.number)
    return [_device(row) for row in tx.rows(statement)]


def get_reporting(tx: Tx, device_ids: Collection[str]) -> dict[str, ReportingDevice]:
    """Devices of any group, for their records; the caller must check the group.

    In a write they are locked, so that nobody transfers or deletes them: a record belongs to the
    stay of its device at that time. SQLite has one writer, which needs no lock, and which has read
    most of them for earlier records.
    """
    cache = tx.caches.devices
    if not tx.is_write or not cache.is_watched:
        return _read_reporting(tx, device_ids)
    found: dict[str, ReportingDevice] = cache.find(device_ids, tx.fetch_raw(GET_VERSION, {})[0][0])
    if len(found) < len(device_ids):
        since = cache.changes
        read = _read_reporting(tx, [each for each in device_ids if each not in found])
        tx.on_commit(lambda: cache.put(read, since=since))
        found |= read
    return found


def watch_changes(driver: sqlite3.Connection, cache: DeviceCache) -> None:
    """Have the writer's connection of the embedded database forget devices that are changed.

    The triggers would be gone after a rollback, so this is not for a connection in a transaction.
    """
    assert not driver.in_transaction
    if driver.execute(EXISTS).fetchone() is None:
        return  # a database that is not prepared yet
    driver.create_function("forget_device", 1, cache.forget)
    for statement in WATCH_CHANGES:
        driver.execute(statement)
    cache.is_watched = True


def _read_reporting(tx: Tx, device_ids: Collection[str]) -> dict[str, ReportingDevice]:
    if tx.is_postgres and tx.is_write:
        values = {
            "ids": encode_array("TEXT", tuple(device_ids)),
            "slots": encode_array("SMALLINT", slots.list_of_ids(tx, device_ids)),
        }
        rows = tx.fetch_queued(LOCK_REPORTING, values)
    elif len(device_ids) == 1:
        rows = tx.fetch_raw(GET_REPORTING, {"id": next(iter(device_ids))})
    else:
        rows = tx.fetch_raw(LIST_REPORTING, {"ids": array_param(tx, device_ids)})
        if not tx.is_postgres:
            rows = _REPORTING_ROWS.decode(rows[0][0])
    return {row[0]: _reporting(*row) for row in rows}


def get_reporting_with_counts(
    tx: Tx, device_ids: Collection[str]
) -> tuple[dict[str, ReportingDevice], dict[int, SequenceCounter]]:
    """The same, with the sequence counters of those devices by their numbers.

    In a write the counters are locked; on PostgreSQL in the order of `update_last_seen`, so that
    two writes of the same devices do not deadlock.
    """
    devices = get_reporting(tx, device_ids)
    numbers = [device.number for device in devices.values()]
    if tx.is_postgres:
        values = {"numbers": numbers, "slots": slots.list_of_ids(tx, devices)}
        rows = tx.fetch_raw(LOCK_COUNTERS, values)
        return devices, {row[0]: _count(*row[1:]) for row in rows if row[1] is not None}
    cache = tx.caches.devices
    counts = cache.find_counters(numbers) if tx.is_write and cache.is_watched else {}
    unknown = [each for each in numbers if each not in counts]
    if unknown:
        found = tx.fetch_raw(LIST_COUNTERS, {"numbers": array_param(tx, unknown)})
        counts |= {row[0]: _count(*row[1:]) for row in _COUNTED_ROWS.decode(found[0][0])}
    return devices, counts


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


def list_page(tx: Tx, scope: Scope, group_id: str, request: PageRequest) -> Page[Device]:
    statement = _SELECT.where(_table.c.group_id == group_id, within(_table.c.group_id, scope))
    return page(tx, statement, [_table.c.number], request, _device)


def list_by_numbers(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[Device]:
    """Devices in the order of their numbers as given; those that are gone are left out."""
    rows = tx.rows(_SELECT.where(_table.c.number.in_(numbers)))
    found = {device.number: device for device in map(_device, rows)}
    return [
        found[number]
        for number in numbers
        if number in found and reaches(scope, found[number].group_id)
    ]


def list_in_group(
    tx: Tx, group_id: str, type_name: str | None, first: int, most: int
) -> list[ReportingDevice]:
    """The devices of a group, perhaps of one type, from a number on."""
    values: dict[str, Any] = {"home": schema.group_number(group_id), "first": first, "most": most}
    if type_name is None:
        rows = tx.fetch_raw(LIST_IN_GROUP, values)
    else:
        rows = tx.fetch_raw(LIST_IN_GROUP_OF_TYPE, {**values, "type": type_name})
    return [_reporting(*row) for row in rows]


def list_taken_keys(tx: Tx, network: str, original_keys: Sequence[str]) -> frozenset[str]:
    """Those of the original ids that a device of the network has, in any group."""
    statement = sa.select(_table.c.original_key).where(
        _table.c.network == network, _table.c.original_key.in_(original_keys)
    )
    return frozenset(row[0] for row in tx.rows(statement))


def list_by_original_keys(
    tx: Tx, network: str, original_keys: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """(id, group id) of the devices of a network with these original ids, in any group."""
    statement = sa.select(_table.c.original_key, _table.c.id, _table.c.group_id).where(
        _table.c.network == network, _table.c.original_key.in_(original_keys)
    )
    return {row.original_key: (row.id, row.group_id) for row in tx.rows(statement)}


def is_type_used(tx: Tx, name: str) -> bool:
    return tx.row(sa.select(_table.c.number).where(_table.c.type == name).limit(1)) is not None


def insert(tx: Tx, devices: Sequence[Device], original_keys: Sequence[str]) -> list[Device]:
    """Insert devices of one group; returns them with their numbers."""
    rows = [_row(device, key) for device, key in zip(devices, original_keys, strict=True)]
    if tx.is_postgres:
        taken = slots.take_numbers(tx, [device.id for device in devices])
        placed = [
            {"number": number, "slot": slots.get_slot_by_number(tx, number)} for number in taken
        ]
        rows = [row | place for row, place in zip(rows, placed, strict=True)]
    tx.execute(sa.insert(_table), rows)
    statement = sa.select(_table.c.id, _table.c.number).where(
        _table.c.id.in_([device.id for device in devices])
    )
    numbers = {row.id: row.number for row in tx.rows(statement)}
    inserted = [replace(device, number=numbers[device.id]) for device in devices]
    insert_many(
        tx,
        _stay,
        ("device_number", "stay", "group_id"),
        [(device.number, device.stay, schema.group_number(device.group_id)) for device in inserted],
    )
    insert_many(
        tx,
        _state,
        ("group_id", "device_number"),
        [(schema.group_number(device.group_id), device.number) for device in inserted],
    )
    adjust_count(tx, devices[0].group_id, len(devices))
    return inserted


def save(tx: Tx, device: Device) -> None:
    save_many(tx, [device])


def save_many(tx: Tx, devices: Sequence[Device]) -> None:
    if devices:
        tx.execute(_SAVE, [_changeable(device) for device in devices])
        device_reports.invalidate(tx, [device.number for device in devices])


_CHANGEABLE = (
    *("name", "type", "information", "configuration", "tags", "updated_at", "updated_by"),
)
_SAVE = (
    sa.update(_table)
    .where(_table.c.number == sa.bindparam("of_number"))
    .values({name: sa.bindparam(name) for name in (*_CHANGEABLE, "name_key", "search_key")})
)


def _changeable(device: Device) -> dict[str, Any]:
    values = {name: getattr(device, name) for name in _CHANGEABLE}
    return {
        **values,
        "tags": encode_tags(device.tags),
        **_search_keys(device),
        "of_number": device.number,
    }


def transfer(tx: Tx, devices: Sequence[Device], group_id: str, by: str) -> None:
    """Start a stay in another group."""
    numbers = [device.number for device in devices]
    tx.execute(
        sa.update(_table)
        .where(_table.c.number.in_(numbers))
        .values(group_id=group_id, stay=_table.c.stay + 1, updated_at=tx.now, updated_by=by)
    )
    tx.execute(
        sa.update(_state)
        .where(_state.c.device_number.in_(numbers))
        # Its position is of a record that the new group does not see.
        .values(group_id=group_id, lat=None, lng=None, radius=None, position_at=None)
    )
    _delete_notification_states(tx, numbers)
    # The new group must not send downlinks to the networks of the old one.
    link = schema.network_link
    tx.execute(sa.delete(link).where(link.c.device_number.in_(numbers)))
    _begin_stays(tx, devices, group_id)
    adjust_count(tx, devices[0].group_id, -len(devices))
    adjust_count(tx, group_id, len(devices))


def begin_new_stay(tx: Tx, device: ReportingDevice) -> None:
    """Start a new stay in the same group, so that the records of the last one can be erased."""
    tx.execute(
        sa.update(_table).where(_table.c.number == device.number).values(stay=device.stay + 1)
    )
    _begin_stays(tx, [device], device.group_id)


def delete(tx: Tx, devices: Sequence[Device]) -> None:
    """Delete devices; their records are erased in small steps."""
    numbers = [device.number for device in devices]
    erase_all_stays(tx, numbers)
    for table in DEVICE_TABLES:
        tx.execute(sa.delete(table).where(table.c.device_number.in_(numbers)))
    delete_dependents(tx, numbers)
    tx.execute(sa.delete(_table).where(_table.c.number.in_(numbers)))
    adjust_count(tx, devices[0].group_id, -len(devices))


# What belongs to a device, a row in each; it is deleted with the device, and restored with it.
DEVICE_TABLES = (_state, schema.device_report, schema.registration, schema.network_link)


def delete_dependents(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete what waits for devices that are deleted: checks, downlinks, notification states."""
    device_monitors.delete(tx, numbers)
    downlink = schema.downlink
    tx.execute(sa.delete(downlink).where(downlink.c.device_number.in_(numbers)))
    _delete_notification_states(tx, numbers)


def delete_some_of_group(tx: Tx, group_id: str, limit: int) -> int:
    """Delete some devices of a group that is deleted; how many."""
    locked = (
        sa.select(_table.c.number)
        .where(_table.c.group_id == group_id)
        .order_by(_table.c.number)
        .limit(limit)
        .with_for_update(of=_table, skip_locked=True)
    )
    found = _list_locked(tx, locked)
    if found:
        delete(tx, found)
    return len(found)


def _delete_notification_states(tx: Tx, numbers: Sequence[int]) -> None:
    """The notifications of the group that devices leave drop their state."""
    state = schema.notification_state
    tx.execute(sa.delete(state).where(state.c.subject.in_(numbers)))


# --- stays ---

ERASE_STAY = """
insert into erasure (device_number, stay, group_id)
select device_number, stay, group_id
from device_stay
where device_number = :device
    and stay = :stay
"""


def list_stays(tx: Tx, device: ReportingDevice | Device) -> list[Stay]:
    """The groups a device is or was in, as far as there may be records of that time."""
    statement = sa.select(_stay).where(_stay.c.device_number == device.number)
    return [Stay(row.stay, row.group_id) for row in tx.rows(statement.order_by(_stay.c.stay))]


def erase_stays(tx: Tx, gone: Sequence[tuple[int, int]]) -> None:
    """Hide the records of some stays at once; maintenance deletes them."""
    tx.touched_devices.update(device_number for device_number, _ in gone)
    for device_number, stay in gone:
        tx.execute_raw(ERASE_STAY, {"device": device_number, "stay": stay})
        tx.execute(
            sa.delete(_stay).where(_stay.c.device_number == device_number, _stay.c.stay == stay)
        )


def erase_all_stays(tx: Tx, numbers: Sequence[int]) -> None:
    """The same for all stays of some devices."""
    statement = sa.select(_stay.c.device_number, _stay.c.stay)
    stays = tx.rows(statement.where(_stay.c.device_number.in_(numbers)))
    erase_stays(tx, [(row.device_number, row.stay) for row in stays])


def _begin_stays(tx: Tx, devices: Sequence[Device | ReportingDevice], group_id: str) -> None:
    tx.touched_devices.update(device.number for device in devices)
    device_reports.forget(tx, [device.number for device in devices])
    insert_many(
        tx,
        _stay,
        ("device_number", "stay", "group_id"),
        [(device.number, device.stay + 1, schema.group_number(group_id)) for device in devices],
    )


# --- what changes with every message ---


_LATER_SEEN = (
    "case when device_state.seen_at > excluded.seen_at"
    " then device_state.seen_at else excluded.seen_at end"
)
_LATER_POSITION = ", ".join(
    f"{name} = case when device_state.position_at > excluded.position_at"
    f" then device_state.{name} else excluded.{name} end"
    for name in ("lat", "lng", "radius", "position_at")
)


def update_last_seen(
    tx: Tx,
    seen: Mapping[StateKey, Moment],
    counts: Mapping[int, SequenceCounter],
    positions: Mapping[StateKey, Position],
) -> None:
    """Advance `seen_at` of devices, and store the sequence counters and positions of some.

    Sorted, so that processes do not deadlock.
    """
    cache = tx.caches.devices
    if counts and cache.is_watched:
        cache.forget_counters(counts)
        tx.on_commit(lambda: cache.put_counters(counts))
    states = [(*key, at) for key, at in sorted(seen.items())]
    insert_many(
        tx,
        _state,
        ("group_id", "device_number", "seen_at"),
        [each for each in states if each[1] not in counts and each[:2] not in positions]
        if counts or positions
        else states,
        f"on conflict {KEY} do update set seen_at = excluded.seen_at"
        " where device_state.seen_at < excluded.seen_at",
        is_repeatable=True,
    )
    insert_many(
        tx,
        _state,
        ("group_id", "device_number", "seen_at", "sequence", "sequence_at", "missing"),
        [
            (*state, counted.number, counted.at, _missing(counted))
            for state in states
            if (counted := counts.get(state[1])) is not None
        ],
        f"on conflict {KEY} do update set seen_at = {_LATER_SEEN},"
        " sequence = excluded.sequence, sequence_at = excluded.sequence_at,"
        " missing = excluded.missing",
        is_repeatable=True,
    )
    if positions:
        insert_many(
            tx,
            _state,
            ("group_id", "device_number", "seen_at", "lat", "lng", "radius", "position_at"),
            [
                (*state, position.lat, position.lng, position.radius, position.at)
                for state in states
                if (position := positions.get(state[:2])) is not None
            ],
            f"on conflict {KEY} do update set seen_at = {_LATER_SEEN}, {_LATER_POSITION}",
            is_repeatable=True,
        )


def _missing(counted: SequenceCounter) -> str | None:
    return msgspec.json.encode(counted.missing).decode() if counted.missing else None


def set_battery(
    tx: Tx, device: ReportingDevice, battery: str, percent: float | None, at: Moment
) -> None:
    """Set the battery of a status message, unless a newer one was stored."""
    columns = ("group_id", "device_number", "battery", "battery_at", "battery_level")
    row = (device.group_number, device.number, battery, at, battery_level(percent))
    insert_many(tx, _state, columns, [row], _SET_BATTERY)


class NetworkDevice(msgspec.Struct, frozen=True):
    """A device by its network's id, with the version (`updated_at`) that was read."""

    id: str
    type: str
    configuration: str
    updated_at: Moment
    network: str
    group_number: int


def get_by_original_id(
    tx: Tx, group_id: str, network: str, original_key: str
) -> NetworkDevice | None:
    """The device of a network's id, in a group or below it."""
    values = {"home": schema.group_number(group_id), "network": network, "original": original_key}
    rows = tx.fetch_raw(GET_BY_ORIGINAL_ID, values)
    return NetworkDevice(*rows[0]) if rows else None


def get_in_subtree(tx: Tx, group_id: str, device_id: str) -> NetworkDevice | None:
    """The device of this id, in a group or below it."""
    values = {"home": schema.group_number(group_id), "device": device_id}
    rows = tx.fetch_raw(GET_IN_SUBTREE, values)
    return NetworkDevice(*rows[0]) if rows else None


def adjust_count(tx: Tx, group_id: str, difference: int) -> None:
    group = schema.group
    tx.execute(
        sa.update(group)
        .where(group.c.id == group_id)
        .values(device_count=group.c.device_count + difference)
    )


# --- rows to values and back ---


def _row(device: Device, original_key: str) -> dict[str, Any]:
    return {
        "id": device.id,
        "group_id": device.group_id,
        "stay": device.stay,
        "name": device.name,
        "type": device.type,
        "network": device.network,
        "original_id": device.original_id,
        "original_key": original_key,
        **_search_keys(device),
        "information": device.information,
        "configuration": device.configuration,
        "tags": encode_tags(device.tags),
        "created_at": device.created_at,
        "updated_at": device.updated_at,
        "created_by": device.created_by,
        "updated_by": device.updated_by,
    }


def encode_tags(tags: Sequence[str]) -> str:
    return json.dumps(tags, ensure_ascii=False)


def _search_keys(device: Device) -> dict[str, str]:
    """The name as it is sorted, and what a search looks into: name, original id and tags."""
    searched = "\n".join([device.name, device.original_id, *device.tags])
    return {"name_key": search_text(device.name), "search_key": search_text(searched)}


def battery_level(percent: float | None) -> int:
    """A charge as it is sorted; unknown ones come after all others."""
    if percent is None or not 0 <= percent <= 100:
        return schema.BATTERY_UNKNOWN
    return round(percent * 100)


def _device(row: sa.Row[Any]) -> Device:
    values: list[Any] = list(row)
    values[_TAGS] = tuple(json.loads(values[_TAGS]))
    return Device(*values)
