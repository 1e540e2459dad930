"""Devices: created, found, changed, transferred and deleted."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from longwire.model import Device, Page, PageRequest, Scope
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.fleet import current_values, device_reports, unknown_devices
from longwire.store.fleet.device_stays import begin_stays, erase_all_stays
from longwire.store.identity.scopes import fetch_within, for_scopes, reaches
from longwire.store.notifications import alarms, condition_states, device_monitors
from longwire.store.rows import GroupRows
from longwire.store.search_text import search_text
from longwire.store.statement import Sql, Statement

DEVICES = GroupRows(
    Device,
    schema.device,
    "number",
    derived={
        # The name as it is sorted, and what a search looks into.
        "name_key": lambda device: search_text(device.name),
        "search_key": lambda device: search_text(
            "\n".join([device.name, device.original_id, *device.tags])
        ),
    },
)
_SELECT = Sql(
    """
select {columns}, s.battery, nullif(s.seen_at, {never})
from device d
join device_state s
    on s.group_id = d.group_id
    and s.device_number = d.number
""",
    columns=DEVICES.sql("d"),
    never=str(schema.NEVER_SEEN),
)
GET = for_scopes(
    """{select}
where d.id = :id
    and {within}
""",
    within={"within": "d.group_id"},
    select=_SELECT,
)
LIST_BY_IDS = for_scopes(
    """{select}
where d.id {in:ids}
    and {within}
order by d.number
""",
    within={"within": "d.group_id"},
    select=_SELECT,
)
LIST_BY_NUMBERS = Statement(
    """{select}
where d.number {in:numbers}
order by d.number
""",
    select=_SELECT,
)
LIST_PAGE = for_scopes(
    """{select}
where d.group_id = :home
    and {within}
    and d.number > :after
order by d.number
limit :most
""",
    within={"within": "d.group_id"},
    select=_SELECT,
)
LIST_PRESENT = for_scopes(
    """
select id
from device
where id {in:ids}
    and {within}
""",
    within={"within": "group_id"},
    into=str,
)
LOCK_MANY = for_scopes(
    """
select d.number
from device d
where d.id {in:ids}
    and {within}
order by d.number
{lock:d}
""",
    within={"within": "d.group_id"},
    into=int,
)
LOCK_SOME_OF_GROUP = Statement(
    """
select number
from device
where group_id = :home
order by number
limit :most
{skip_locked:device}
""",
    into=int,
)
GET_LAST_NUMBER = Statement(
    """
select coalesce(max(number), 0)
from device
""",
    into=int,
)
LIST_BY_ORIGINAL_KEYS = Statement("""
select original_key, id, group_id
from device
where network = :network
    and original_key {in:keys}
""")
LIST_NUMBERS = Statement("""
select id, number
from device
where id {in:ids}
""")
# Columns that statements of their own change: what a device is, where it is, and since when.
_FIXED = {
    *("number", "id", "group_id", "stay", "joined_at", "created_at", "created_by"),
    *("network", "original_id"),
}
_CHANGEABLE = [name for name in DEVICES.column_names if name not in _FIXED]
SAVE = Statement(f"""
update device
set {", ".join(f"{name} = :{name}" for name in _CHANGEABLE)}
where number = :number
""")
SET_IDENTITY = Statement("""
update device
set network = :network,
    original_id = :original_id,
    original_key = :original_key
where number = :number
""")
TRANSFER = Statement("""
update device
set group_id = :home,
    stay = stay + 1,
    updated_at = :now,
    updated_by = :by,
    joined_at = :now
where number {in:numbers}
""")
# Its position is of a record that the new group does not see.
TRANSFER_STATES = Statement("""
update device_state
set group_id = :home,
    lat = null,
    lng = null,
    radius = null,
    position_at = null
where device_number {in:numbers}
""")
DELETE_MANY = Statement("""
delete from device
where number {in:numbers}
""")
# What belongs to a device, a row in each; it is deleted with the device, and restored with it.
DEVICE_TABLES = (
    schema.device_state,
    schema.device_report,
    schema.registration,
    schema.network_link,
)
DELETE_OF_DEVICES = {
    table.name: Statement(f"""
delete from {table.name}
where device_number {{in:numbers}}
""")
    for table in (*DEVICE_TABLES, schema.current_value, schema.downlink)
}
DELETE_STATES = Statement("""
delete from notification_state
where subject {in:numbers}
""")
ADJUST_COUNT = Statement("""
update device_group
set device_count = device_count + :difference
where id = :home
""")

COUNT_OF_TYPE = Statement(
    """
select count(*)
from (
    select 1
    from device
    where type = :type
    limit :most
) used
""",
    into=int,
)

COUNT_BELOW = Statement(
    """
select count(*)
from (
    select 1
    from device d
    join group_path p
        on p.group_id = d.group_id
        and p.ancestor_id = :home
    where d.type {in:types}
    limit :most
) used
""",
    into=int,
)

LIST_USED_TYPES = Statement(
    """
select distinct type
from device
where type {in:types}
    and group_id {in:homes}
""",
    into=str,
)


def get(tx: Tx, scope: Scope, device_id: str) -> Device | None:
    rows = fetch_within(tx, scope, GET, id=device_id)
    return _device(rows[0]) if rows else None


def list_present(tx: Tx, scope: Scope, device_ids: Sequence[str]) -> frozenset[str]:
    """Those of the devices that are within the scope."""
    return frozenset(fetch_within(tx, scope, LIST_PRESENT, ids=device_ids))


def list_by_ids(tx: Tx, scope: Scope, device_ids: Sequence[str]) -> list[Device]:
    """The same as values, in the order of their creation."""
    return [_device(row) for row in fetch_within(tx, scope, LIST_BY_IDS, ids=device_ids)]


def get_last_number(tx: Tx) -> int:
    """The number of the newest device of all."""
    return tx.fetch(GET_LAST_NUMBER)[0]


def lock_many(tx: Tx, scope: Scope, device_ids: Sequence[str]) -> dict[str, Device]:
    """Lock those of the devices that are within the scope; by id."""
    numbers = fetch_within(tx, scope, LOCK_MANY, ids=device_ids)
    return {device.id: device for device in _list_locked(tx, numbers)}


def _list_locked(tx: Tx, numbers: Sequence[int]) -> list[Device]:
    """Devices, locked before their states are read: these may be on another server."""
    if not numbers:
        return []
    return [_device(row) for row in tx.fetch(LIST_BY_NUMBERS, numbers=numbers)]


def list_page(tx: Tx, scope: Scope, group_id: str, request: PageRequest) -> Page[Device]:
    values = {
        "home": schema.group_number(group_id),
        "after": 0 if request.after is None else request.after[0],
        "most": request.limit + 1,
    }
    rows = fetch_within(tx, scope, LIST_PAGE, **values)
    items = [_device(row) for row in rows[: request.limit]]
    return Page(items, (items[-1].number,) if len(rows) > request.limit else None)


def list_by_numbers(tx: Tx, scope: Scope, numbers: Sequence[int]) -> list[Device]:
    """Devices in the order of their numbers as given; those that are gone are left out."""
    rows = tx.fetch(LIST_BY_NUMBERS, numbers=numbers)
    found = {device.number: device for device in map(_device, rows)}
    return [
        found[number]
        for number in numbers
        if number in found and reaches(scope, found[number].group_id)
    ]


def list_taken_keys(tx: Tx, network: str, original_keys: Sequence[str]) -> frozenset[str]:
    """Those of the original ids that a device of the network has, in any group."""
    return frozenset(list_by_original_keys(tx, network, original_keys))


def list_by_original_keys(
    tx: Tx, network: str, original_keys: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """(id, group id) of the devices of a network with these original ids, in any group."""
    found = tx.fetch(LIST_BY_ORIGINAL_KEYS, network=network, keys=original_keys)
    return {key: (device_id, str(home)) for key, device_id, home in found}


def count_of_type(tx: Tx, name: str, most: int) -> int:
    """How many devices have a type, counted up to a number."""
    return tx.fetch(COUNT_OF_TYPE, type=name, most=most)[0]


def count_below(tx: Tx, group_id: str, types: Collection[str], most: int) -> int:
    """How many devices in a group and below it have some types, counted up to a number."""
    home = schema.group_number(group_id)
    return tx.fetch(COUNT_BELOW, home=home, types=types, most=most)[0]


def list_used_types(
    tx: Tx, group_numbers: Collection[int], names: Collection[str]
) -> frozenset[str]:
    """Those of some types that devices of some groups have."""
    return frozenset(tx.fetch(LIST_USED_TYPES, homes=group_numbers, types=names))


def insert(tx: Tx, devices: Sequence[Device], original_keys: Sequence[str]) -> list[Device]:
    """Insert devices of one group; returns them with their numbers."""
    ids = [device.id for device in devices]
    rows = [
        DEVICES.to_row(device)
        | {"original_key": key, "group_id": schema.group_number(device.group_id)}
        for device, key in zip(devices, original_keys, strict=True)
    ]
    for row in rows:
        del row["number"]  # the database counts it up
    if tx.is_postgres:
        for row, number in zip(rows, slots.take_numbers(tx, ids), strict=True):
            row |= {"number": number, "slot": slots.get_slot_by_number(tx, number)}
    columns = tuple(rows[0])
    insert_many(tx, schema.device, columns, [tuple(row.values()) for row in rows])
    numbers = dict(tx.fetch(LIST_NUMBERS, ids=ids))
    inserted = [replace(device, number=numbers[device.id]) for device in devices]
    insert_many(
        tx,
        schema.device_stay,
        ("device_number", "stay", "group_id"),
        [(device.number, device.stay, schema.group_number(device.group_id)) for device in inserted],
    )
    insert_many(
        tx,
        schema.device_state,
        ("group_id", "device_number"),
        [(schema.group_number(device.group_id), device.number) for device in inserted],
    )
    unknown_devices.delete_of_devices(tx, [device.number for device in inserted])
    adjust_count(tx, devices[0].group_id, len(devices))
    return inserted


def save(tx: Tx, device: Device) -> None:
    save_many(tx, [device])


def save_many(tx: Tx, devices: Sequence[Device]) -> None:
    if devices:
        tx.run_many(SAVE, [_changeable(device) for device in devices])
        device_reports.invalidate(tx, [device.number for device in devices])


def set_identity(tx: Tx, device: Device, original_key: str) -> None:
    """Store by which id of which network a device is known; `save` stores the rest."""
    unknown_devices.delete_of_devices(tx, [device.number])
    values = {"original_id": device.original_id, "original_key": original_key}
    tx.run(SET_IDENTITY, number=device.number, network=device.network, **values)
    unknown_devices.delete_of_devices(tx, [device.number])


def _changeable(device: Device) -> dict[str, Any]:
    row = DEVICES.to_row(device)
    return {name: row[name] for name in _CHANGEABLE} | {"number": device.number}


def transfer(tx: Tx, devices: Sequence[Device], group_id: str, by: str) -> None:
    """Start a stay in another group."""
    numbers = [device.number for device in devices]
    home = schema.group_number(group_id)
    tx.run(TRANSFER, numbers=numbers, home=home, now=tx.now, by=by)
    tx.run(TRANSFER_STATES, numbers=numbers, home=home)
    _delete_notification_states(tx, numbers, "the device was moved to another group")
    # The new group must not send downlinks to the networks of the old one.
    delete_rows(tx, "network_link", numbers)
    begin_stays(tx, devices, group_id)
    # The new group sees what comes from now on.
    current_values.delete(tx, numbers)
    unknown_devices.delete_of_devices(tx, numbers)
    adjust_count(tx, devices[0].group_id, -len(devices))
    adjust_count(tx, group_id, len(devices))


def delete(tx: Tx, devices: Sequence[Device]) -> None:
    """Delete devices; their records are erased in small steps."""
    numbers = [device.number for device in devices]
    erase_all_stays(tx, numbers)
    for table in (*DEVICE_TABLES, schema.current_value):
        delete_rows(tx, table.name, numbers)
    delete_dependents(tx, numbers)
    tx.run(DELETE_MANY, numbers=numbers)
    adjust_count(tx, devices[0].group_id, -len(devices))


def delete_rows(tx: Tx, table: str, numbers: Sequence[int]) -> None:
    """Delete the rows of devices in a table of theirs."""
    tx.run(DELETE_OF_DEVICES[table], numbers=numbers)


def delete_dependents(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete what waits for devices that are deleted: checks, downlinks, notification states.

    And what was kept of their messages.
    """
    device_monitors.delete(tx, numbers)
    unknown_devices.delete_of_devices(tx, numbers)
    delete_rows(tx, "downlink", numbers)
    _delete_notification_states(tx, numbers, "the device was deleted")


def delete_some_of_group(tx: Tx, group_id: str, limit: int) -> int:
    """Delete some devices of a group that is deleted; how many."""
    numbers = tx.fetch(LOCK_SOME_OF_GROUP, home=schema.group_number(group_id), most=limit)
    found = _list_locked(tx, numbers)
    if found:
        delete(tx, found)
    return len(found)


def _delete_notification_states(tx: Tx, numbers: Sequence[int], resolution: str) -> None:
    """The notifications of the group that devices leave drop their state; alarms are closed."""
    tx.run(DELETE_STATES, numbers=numbers)
    condition_states.delete_of_devices(tx, numbers)
    alarms.close_of_subjects(tx, numbers, resolution)


def adjust_count(tx: Tx, group_id: str, difference: int) -> None:
    tx.run(ADJUST_COUNT, home=schema.group_number(group_id), difference=difference)


def encode_tags(tags: Sequence[str]) -> str:
    return json.dumps(tags, ensure_ascii=False)


def _device(row: Sequence[Any]) -> Device:
    battery, seen_at = row[len(DEVICES.columns) :][:2]
    return DEVICES.parse(row, battery=battery, seen_at=seen_at)
