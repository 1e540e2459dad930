"""Devices: created, found, changed, transferred and deleted."""

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from longwire.model import Device, Page, PageRequest, Scope
from longwire.store import schema, slots
from longwire.store.database import Tx
from longwire.store.engines.bulk import insert_many
from longwire.store.fleet import current_values, device_reports, unknown_devices
from longwire.store.fleet.device_stays import begin_stays, erase_all_stays
from longwire.store.identity.scopes import reaches, within
from longwire.store.notifications import alarms, condition_states, device_monitors
from longwire.store.paging import page
from longwire.store.rows import GroupRows
from longwire.store.search_text import search_text
from longwire.store.statement import Statement

_table = schema.device
_state = schema.device_state
_stay = schema.device_stay

DEVICES = GroupRows(
    Device,
    _table,
    "number",
    derived={
        # The name as it is sorted, and what a search looks into.
        "name_key": lambda device: search_text(device.name),
        "search_key": lambda device: search_text(
            "\n".join([device.name, device.original_id, *device.tags])
        ),
    },
)
_SEEN_AT = sa.func.nullif(_state.c.seen_at, schema.NEVER_SEEN)
_SELECT = sa.select(*DEVICES.columns, _state.c.battery, _SEEN_AT.label("seen_at")).join(
    _state,
    sa.and_(_state.c.group_id == _table.c.group_id, _state.c.device_number == _table.c.number),
)


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
    rows = [
        DEVICES.to_row(device) | {"original_key": key}
        for device, key in zip(devices, original_keys, strict=True)
    ]
    for row in rows:
        del row["number"]  # the database counts it up
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
    unknown_devices.delete_of_devices(tx, [device.number for device in inserted])
    adjust_count(tx, devices[0].group_id, len(devices))
    return inserted


def save(tx: Tx, device: Device) -> None:
    save_many(tx, [device])


def save_many(tx: Tx, devices: Sequence[Device]) -> None:
    if devices:
        tx.execute(_SAVE, [_changeable(device) for device in devices])
        device_reports.invalidate(tx, [device.number for device in devices])


def set_identity(tx: Tx, device: Device, original_key: str) -> None:
    """Store by which id of which network a device is known; `save` stores the rest."""
    unknown_devices.delete_of_devices(tx, [device.number])
    tx.execute(
        sa.update(_table)
        .where(_table.c.number == device.number)
        .values(network=device.network, original_id=device.original_id, original_key=original_key)
    )
    unknown_devices.delete_of_devices(tx, [device.number])


_CHANGEABLE = (
    "name",
    "name_key",
    "search_key",
    "type",
    "information",
    "configuration",
    "tags",
    "updated_at",
    "updated_by",
)
_SAVE = (
    sa.update(_table)
    .where(_table.c.number == sa.bindparam("of_number"))
    .values({name: sa.bindparam(name) for name in _CHANGEABLE})
)


def _changeable(device: Device) -> dict[str, Any]:
    row = DEVICES.to_row(device)
    return {name: row[name] for name in _CHANGEABLE} | {"of_number": device.number}


def transfer(tx: Tx, devices: Sequence[Device], group_id: str, by: str) -> None:
    """Start a stay in another group."""
    numbers = [device.number for device in devices]
    tx.execute(
        sa.update(_table)
        .where(_table.c.number.in_(numbers))
        .values(
            group_id=group_id,
            stay=_table.c.stay + 1,
            updated_at=tx.now,
            updated_by=by,
            joined_at=tx.now,
        )
    )
    tx.execute(
        sa.update(_state)
        .where(_state.c.device_number.in_(numbers))
        # Its position is of a record that the new group does not see.
        .values(group_id=group_id, lat=None, lng=None, radius=None, position_at=None)
    )
    _delete_notification_states(tx, numbers, "the device was moved to another group")
    # The new group must not send downlinks to the networks of the old one.
    link = schema.network_link
    tx.execute(sa.delete(link).where(link.c.device_number.in_(numbers)))
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
        tx.execute(sa.delete(table).where(table.c.device_number.in_(numbers)))
    delete_dependents(tx, numbers)
    tx.execute(sa.delete(_table).where(_table.c.number.in_(numbers)))
    adjust_count(tx, devices[0].group_id, -len(devices))


# What belongs to a device, a row in each; it is deleted with the device, and restored with it.
DEVICE_TABLES = (_state, schema.device_report, schema.registration, schema.network_link)


def delete_dependents(tx: Tx, numbers: Sequence[int]) -> None:
    """Delete what waits for devices that are deleted: checks, downlinks, notification states.

    And what was kept of their messages.
    """
    device_monitors.delete(tx, numbers)
    unknown_devices.delete_of_devices(tx, numbers)
    downlink = schema.downlink
    tx.execute(sa.delete(downlink).where(downlink.c.device_number.in_(numbers)))
    _delete_notification_states(tx, numbers, "the device was deleted")


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


def _delete_notification_states(tx: Tx, numbers: Sequence[int], resolution: str) -> None:
    """The notifications of the group that devices leave drop their state; alarms are closed."""
    state = schema.notification_state
    tx.execute(sa.delete(state).where(state.c.subject.in_(numbers)))
    condition_states.delete_of_devices(tx, numbers)
    alarms.close_of_subjects(tx, numbers, resolution)


def adjust_count(tx: Tx, group_id: str, difference: int) -> None:
    group = schema.group
    tx.execute(
        sa.update(group)
        .where(group.c.id == group_id)
        .values(device_count=group.c.device_count + difference)
    )


def encode_tags(tags: Sequence[str]) -> str:
    return json.dumps(tags, ensure_ascii=False)


def _device(row: Sequence[Any]) -> Device:
    battery, seen_at = row[len(DEVICES.columns) :][:2]
    return DEVICES.parse(row, battery=battery, seen_at=seen_at)
